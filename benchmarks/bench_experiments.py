"""The experiments on traces of SST's size, against their plain forms on a sample of the documents."""

from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np

from attn_core import fast
from attn_core.experiments import document_table, summary_table
from attn_core.experiments import draws as random
from attn_core.experiments.correlation import correlation, kendall_ragged
from attn_core.experiments.optimum import exact, sparse
from attn_core.experiments.permutation import permutation
from attn_core.experiments.search import search
from attn_core.experiments.yardsticks import best_permutation
from attn_core.traces import Traces
from tests import plain

BANDWIDTH, FUNCTIONS = 81e9, 3e9
"""Bytes copied and exponentials or logarithms taken per second by two threads of the reference machine."""


def synthetic(documents: int, mean: float, longest: int, seed: int = 0) -> Traces:
    """Traces with gamma-distributed lengths; attention leans to large contributions, importances to attention."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.gamma(4.5, mean / 4.5, documents).round().astype(int), 4, longest)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    contribution = rng.normal(0, 2, (offsets[-1], 1)).astype(np.float32)
    score = rng.normal(0, 1.5, offsets[-1]) + 0.3 * np.abs(contribution[:, 0])
    score -= np.repeat(np.maximum.reduceat(score, offsets[:-1]), lengths)
    importance = (contribution[:, 0] * np.exp(score) + rng.normal(0, 0.1, (2, offsets[-1]))).astype(np.float32)
    return Traces(
        doc_id=np.arange(documents),
        label=rng.integers(0, 2, documents),
        offsets=offsets,
        score=score.astype(np.float32),
        contribution=contribution,
        bias=np.full(1, 0.1, np.float32),
        gradient=importance[0],
        leave_one_out=importance[1],
    ).rounded()


def synthetic_pairs(documents: int, mean: float, hidden: int, outputs: int, seed: int = 0) -> Traces:
    """Traces of text pairs with gamma-distributed lengths, a hidden layer and a readout."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.gamma(5, mean / 5, documents).round().astype(int), 2, 1000)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    score = rng.normal(0, 2, offsets[-1])
    importance = rng.normal(size=(2, offsets[-1])).astype(np.float32)
    return Traces(
        doc_id=np.arange(documents),
        label=rng.integers(0, outputs, documents),
        offsets=offsets,
        score=(score - np.repeat(np.maximum.reduceat(score, offsets[:-1]), lengths)).astype(np.float32),
        contribution=rng.normal(0, 1, (offsets[-1], hidden)).astype(np.float32),
        bias=np.zeros(outputs, np.float32),
        gradient=importance[0],
        leave_one_out=np.abs(importance[1]),
        query=rng.normal(0, 0.5, (documents, hidden)).astype(np.float32),
        readout=rng.normal(0, 3 / hidden**0.5, (outputs, hidden)).astype(np.float32),
    ).rounded()


def seconds(work: Callable[[], object], repeats: int = 5, patience: float = 8.0) -> float:
    """Shortest of several runs; no new one is begun after `patience` seconds."""
    found, start = [], perf_counter()
    while not found or (len(found) < repeats and perf_counter() - start < patience):
        began = perf_counter()
        work()
        found.append(perf_counter() - began)
    return min(found)


def plainly(work: Callable) -> Callable:
    """The same by its plain form."""
    return fast.off()(work)


def row(
    name: str, quick: float, plain_seconds: float | None = None, floor: float | None = None, note: str = ""
) -> dict:
    """One line of the table."""
    return {
        "name": name,
        "seconds": quick,
        "plain": plain_seconds,
        "ratio": plain_seconds and plain_seconds / quick,
        "floor": floor,
        "distance": floor and quick / floor,
        "note": note,
    }


def of_size(name: str, traces: Traces, sample: int) -> Iterator[dict]:
    """The rows of one set of traces; plain twins run on `sample` documents spread over it and are scaled up."""
    few = traces.take(np.linspace(0, len(traces) - 1, sample).astype(int))
    scale, tokens, levels = len(traces) / sample, int(traces.offsets[-1]), int(traces.lengths.max()).bit_length()
    for each in (traces, few):
        _ = each.attention, each.predicted  # computed once and kept by the traces
    x, y = traces.attention, np.abs(traces.gradient)
    yield row(
        f"Kendall tau, one pair of rankings, {name}",
        seconds(lambda: kendall_ragged(x, y, traces.offsets)),
        scale * seconds(lambda: plain.kendall(few.attention, np.abs(few.gradient), few.offsets), 2),
        note="SciPy's, text by text, is the plain form",
    )
    yield row(f"correlation, four pairs, {name}", seconds(lambda: correlation(traces)))
    order = np.concatenate(
        [random.permutations(0, "permutation", np.array([d]), n, 100)[0] for d, n in enumerate(few.lengths)], axis=1
    )
    yield row(
        f"permutation x 100, {name}",
        seconds(lambda: permutation(traces)),
        scale * seconds(lambda: plain.median_change(few, order), 2),
        100 * (5 * tokens * 16 / BANDWIDTH + len(traces) / FUNCTIONS),
        "floor: five passes over the permuted weights",
    )
    yield row(
        f"exact optimum, {name}",
        seconds(lambda: exact(traces, 0.01)),
        4 * scale * seconds(lambda: plain.exact(few.take(np.arange(1, sample, 4)), 0.01), 1),
        levels * tokens * 2 * 16 / BANDWIDTH,
        "floor: one sort of two arrays",
    )
    yield row(f"best permutation, {name}", seconds(lambda: best_permutation(traces, 0.01), 3))
    yield searched(name, traces, few.take(np.array([sample // 3, sample // 2])))


def searched(name: str, traces: Traces, two: Traces) -> dict:
    """The row of the search; its twin runs 25 steps on two documents."""
    steps, tokens = 25, int(traces.offsets[-1])
    starts = 3 * random.normals(0, "starts", two.doc_id, two.offsets, 5)
    twin = seconds(lambda: plainly(search)(two, starts=starts, steps=steps), 2)
    work = 20 * tokens + 5 * len(traces) * (0 if traces.query is None else traces.query.shape[1])
    note = "15 logarithms and 5 exponentials a token and step" + (
        ", 5 tanh a hidden number" * (traces.query is not None)
    )
    return row(
        f"search, 5 adversaries x 500 steps, {name}",
        seconds(lambda: search(traces, progress=False), 3),
        twin * len(traces) / 2 * 500 / steps,
        500 * work / FUNCTIONS,
        f"floor: {note}, two threads (runs on one)",
    )


def of_pairs(name: str, traces: Traces, sample: int) -> Iterator[dict]:
    """The rows of text pairs; plain twins run on `sample` documents and are scaled up."""
    few = traces.take(np.linspace(0, len(traces) - 1, sample).astype(int))
    for each in (traces, few):
        _ = each.attention, each.outputs
    order = [random.permutations(0, "permutation", np.array([d]), n, 100)[0] for d, n in enumerate(few.lengths)]
    order = np.concatenate(order, axis=1)
    yield row(
        f"permutation x 100, {name}",
        seconds(lambda: permutation(traces), 3),
        len(traces) / sample * seconds(lambda: plain.median_change(few, order), 2),
        100 * len(traces) * traces.query.shape[1] / FUNCTIONS,
        "floor: a tanh for every hidden number and permutation",
    )
    yield row(f"bracket's lower end at 0.01, {name}", seconds(lambda: sparse(traces, 0.01), 2))
    yield searched(name, traces, few.take(np.array([sample // 3, sample // 2])))


def rows(long: bool = False) -> Iterator[dict]:
    """Rows of `make bench`; long adds 500 documents of 186 tokens and the optimum of documents of 2,000."""
    traces = synthetic(1725, 18.2, 52)
    yield from of_size("SST", traces, 40)
    table = document_table(traces)
    yield row("document table, SST", seconds(lambda: document_table(traces), 2))
    yield row("summary table, SST", seconds(lambda: summary_table(table), 3))
    yield from of_pairs("1,000 pairs of SNLI's size", synthetic_pairs(1000, 14, 128, 3), 12)
    yield from of_pairs("250 pairs of bAbI 2's size", synthetic_pairs(250, 95, 32, 36), 12)
    if long:
        yield from of_size("500 x 186", synthetic(500, 186, 400), 8)
        longest = synthetic(300, 2000, 4000)
        x, y = longest.attention, np.abs(longest.gradient)
        yield row("exact optimum, 300 x 2000", seconds(lambda: exact(longest, 0.01), 3))
        yield row("Kendall tau, one pair, 300 x 2000", seconds(lambda: kendall_ragged(x, y, longest.offsets), 3))
