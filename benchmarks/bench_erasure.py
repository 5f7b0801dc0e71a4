"""Multi-weight removal against one forward per removal: of the decoder alone, and of the network after the encoder."""

from collections.abc import Iterator
from time import process_time

import numpy as np
import torch

from attn_core.experiments import draws as random
from attn_core.experiments.erasure import NEVER, RANKINGS, document_table, removals
from attn_core.models.hierarchical import build
from attn_core.traces import Traces
from benchmarks.cost import exponent
from tests import plain_erasure as plain

LENGTHS = (45, 90, 180, 360, 720, 1440, 2880)
ITEMS = 72_000
"""Items timed together at each length."""

ORDERS = RANKINGS[:-1]
"""The twin has no optimum: it would try every subset."""


def leaning(length: int, documents: int, classes: int, seed: int = 0) -> Traces:
    """Traces whose items speak, on average, for their document's class, so that decisions survive about as many
    removals as those of Jain and Wallace's BiLSTM on IMDB."""
    rng = np.random.default_rng(seed)
    offsets = np.arange(documents + 1) * length
    label = rng.integers(0, max(classes, 2), documents)
    own = np.where(label == 1, 1.0, -1.0)[:, None] if classes == 1 else np.eye(classes)[label]
    value = rng.normal(0, 1, (documents, length, classes)) + 0.7 * own[:, None]
    score = rng.normal(0, 1.0, (documents, length))
    score -= score.max(axis=1, keepdims=True)
    return Traces(
        doc_id=np.arange(documents),
        label=label,
        offsets=offsets,
        score=score.ravel().astype(np.float32),
        contribution=value.reshape(-1, classes).astype(np.float32),
        bias=rng.normal(0, 0.1, classes).astype(np.float32),
    )


def seconds(work, repeats: int = 5) -> float:
    """Processor seconds of the fastest of some calls: other work on the machine does not count."""
    times = []
    for _ in range(repeats):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def twin(traces: Traces) -> int:
    """Every order of every document, one decoder forward per removal until the decision flips; returns how many."""
    draws = random.uniforms(0, "removal", traces.doc_id, traces.offsets)[0]
    ranked = [(row, {name: orders[name] for name in ORDERS}) for row, orders in plain.orders(traces, draws)]
    found = plain.removals(traces, ranked)
    sizes = [int(n) if removed == NEVER else removed
             for counts in found.values()
             for n, (removed, _, _) in zip(traces.lengths, counts, strict=True)]  # fmt: skip
    return sum(sizes)


def network_forward(length: int, classes: int) -> float:
    """Processor seconds of one pass of an untrained flan_rnn's attention and decoder over encoded words, one thread.

    Serrano & Smith too run again only what follows the tested attention.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(0)
        model = build("flan_rnn", np.random.default_rng(0).normal(size=(50, 200)).astype(np.float32), classes).eval()
        counts = torch.tensor([length])
        h = model.document.encoder(model.items(torch.randint(1, 50, (length,)), None), counts)
        weights = torch.full((length,), 1 / length)

        def forward():
            kept = weights / weights.sum()
            return int(model.decoder((kept[:, None] * h).sum(0)).argmax())

        taken = seconds(lambda: [forward() for _ in range(50)]) / 50
    torch.set_num_threads(threads)
    return taken


def compare(length: int, classes: int, sample: int = 6) -> dict[str, float]:
    """Seconds a document: fast (ORDERS and the optimum), decoder and network twin (ORDERS); removals the twins make."""
    traces = leaning(length, ITEMS // length, classes)
    _ = traces.attention, traces.outputs
    few = traces.take(np.arange(sample))
    _ = few.attention, few.outputs
    count = twin(few) / sample
    return {
        "fast": seconds(lambda: removals(traces)) / len(traces),
        "decoder": seconds(lambda: twin(few), 3) / sample,
        "network": count * network_forward(length, classes),
        "removals": count,
    }


def by_length(classes: int = 5, lengths: tuple[int, ...] = LENGTHS) -> tuple[list[float], float]:
    """Seconds a document at each length, and the exponent of their growth over the longer half."""
    taken = []
    for length in lengths:
        traces = leaning(length, ITEMS // length, classes)
        _ = traces.attention, traces.outputs
        taken.append(seconds(lambda: removals(traces)) / len(traces))  # noqa: B023
    half = len(lengths) // 2
    return taken, exponent(lengths[half:], taken[half:])["slope"]


def rows(long: bool = False) -> Iterator[dict]:
    """Rows of `make bench`; the twins stop at the first flip and leave out the optimum, which the fast form has."""
    for classes in (1, 5):
        found = compare(180, classes)
        for kind in ("decoder", "network"):
            yield {
                "name": f"removal orders, 180 items, {max(classes, 2)} classes, {kind} twin",
                "seconds": found["fast"],
                "plain": found[kind],
                "ratio": found[kind] / found["fast"],
                "note": f"a document; {found['removals']:.0f} removals; plain: one forward of the {kind} each",
            }
    lengths = LENGTHS if long else LENGTHS[:5]
    taken, grown = by_length(lengths=lengths)
    told = ", ".join(f"{length}: {1e3 * each:.2f} ms" for length, each in zip(lengths, taken, strict=True))
    yield {
        "name": "removal orders by length, 5 classes",
        "seconds": taken[-1],
        "note": f"{told}; grows as n^{grown:.2f}",
    }
    traces = leaning(180, 400, 5)
    yield {"name": "erasure table, 400 x 180, 5 classes", "seconds": seconds(lambda: document_table(traces), 2)}
