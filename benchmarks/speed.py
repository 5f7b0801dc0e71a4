"""`make bench`: seconds of our forms beside those of `benchmarks.plain`, the same work in one process, in turn.

Texts, words and weights are drawn by chance, with the sizes of SST and of Jain & Wallace's BiLSTM with additive
attention: what a pass costs does not depend on what the words say. No data are needed. Processor seconds of one
thread, which other work on the machine hardly changes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import process_time

import numpy as np
import pandas as pd
import torch

from attn_core.device import threads
from attn_core.documents import END, START, Documents
from attn_core.experiments import draws as random
from attn_core.experiments.correlation import kendall_ragged
from attn_core.experiments.permutation import permutation
from attn_core.experiments.search import search
from attn_core.models.classifier import Classifier, build
from attn_core.traces import Traces
from attn_core.tracing import trace
from attn_lab.more.erasure import removals
from benchmarks import plain
from benchmarks.measured import put, stamped

VOCABULARY = 13_826
TRAIN = 6_355
TEST = 1_725
"""Words and texts of SST."""

SEARCHED = 20
"""Steps of the plain search that are timed."""


@dataclass(frozen=True)
class Task:
    """ours(), plain() -> what each does; share: of the whole work what the plain one does."""

    phase: str
    ours: Callable[[], object]
    plain: Callable[[], object]
    share: float = 1.0


def texts(count: int, words: int, seed: int = 0, long: bool = False) -> Documents:
    """Random texts with SST's lengths: mean 20, 4 to 48, start and end included; long: with IMDB's, mean 180."""
    rng = np.random.default_rng(seed)
    shape, mean, longest = (4.0, 182, 402) if long else (4.5, 20.2, 48)
    lengths = np.clip(rng.gamma(shape, mean / shape, count).round().astype(int), 4, longest)
    offsets = np.cumsum([0, *lengths])
    share = 1 / np.arange(1, words - 3)  # Zipf's law: how often words come again counts here
    ids = rng.choice(np.arange(4, words), offsets[-1], p=share / share.sum()).astype(np.int32)
    ids[offsets[:-1]] = START
    ids[offsets[1:] - 1] = END
    return Documents(ids, offsets, rng.integers(0, 2, count), np.arange(count))


def vectors(words: int, width: int = 300) -> np.ndarray:
    """Random word vectors (V, width); the pad's is zero."""
    table = np.random.default_rng(0).normal(0, 0.3, (words, width)).astype(np.float32)
    table[0] = 0.0
    return table


def classifier(encoder: str = "lstm", outputs: int = 1) -> Classifier:
    """An untrained model with additive attention."""
    torch.manual_seed(0)
    return build(encoder, "tanh", vectors(VOCABULARY), outputs)


def items(documents: int = 200, length: int = 180, classes: int = 5) -> Traces:
    """Traces of one document length whose items speak, on average, for their document's class: a decision survives
    about as many removals as a BiLSTM's on IMDB."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, classes, documents)
    value = (
        rng.normal(0, 1, (documents, length, classes)) + 0.7 * np.eye(classes)[label][:, None]
    )
    score = rng.normal(0, 1.0, (documents, length))
    return Traces(
        doc_id=np.arange(documents),
        label=label,
        offsets=np.arange(documents + 1) * length,
        score=(score - score.max(axis=1, keepdims=True)).ravel().astype(np.float32),
        contribution=value.reshape(-1, classes).astype(np.float32),
        bias=rng.normal(0, 0.1, classes).astype(np.float32),
    )


def tasks() -> Iterator[Task]:
    """All rows: tests on traces alone, the plain forms of two on a part of the texts; and items erased in four orders,
    by attention, and three at random."""
    traces = trace(
        classifier().eval(), texts(TEST, VOCABULARY), leave_one_out=False, progress=False
    ).rounded()
    pair = (traces.attention, np.abs(traces.gradient), traces.offsets)
    yield Task(
        "Kendall τ (one pair)", partial(kendall_ragged, *pair), partial(plain.kendall, *pair)
    )
    by_length = plain.by_length(traces.lengths)
    eighth = traces.take(np.concatenate(by_length[4::8]))
    share = len(eighth) / len(traces)
    yield Task(
        "permutation (100 draws)",
        partial(permutation, traces),
        partial(plain.permutation, eighth),
        share,
    )
    searched = traces.take(np.concatenate(by_length[13::27]))
    starts = 3 * random.normals(0, "starts", searched.doc_id, searched.offsets, 5)
    yield Task(
        "adversarial search (k 5; 500 steps)",
        partial(search, traces, progress=False),
        partial(plain.search, searched, starts, SEARCHED),
        SEARCHED / 500 * len(searched) / len(traces),
    )
    erased = items()
    values = np.stack([erased.score, *np.random.default_rng(0).random((3, len(erased.score)))])
    ranks = np.argsort(np.argsort(-values.reshape(4, len(erased), -1)))
    phase = "items erased until the decision flips (200 × 180)"
    yield Task(phase, partial(removals, erased), partial(plain.removals, erased, ranks))


def seconds(task: Task, patience: float = 2.0) -> tuple[float, float]:
    """(ours, plain) of the whole work: minima of at least two runs in turn, the plain one's scaled by its share."""
    times = []
    began = process_time()
    with threads(1):
        while len(times) < 2 or (len(times) < 5 and process_time() - began < patience):
            times.append([timed(task.ours), timed(task.plain)])
    ours, written = np.min(times, axis=0)
    return ours, written / task.share


def timed(work: Callable[[], object]) -> float:
    """Processor seconds of one call."""
    start = process_time()
    work()
    return process_time() - start


def write() -> pd.DataFrame:
    """Print each row as it is measured; phase, threads, seconds, plain."""
    print(f"{'seconds':>54} {'ours':>9} {'plain':>9} {'ratio':>7}")
    rows = []
    for task in tasks():
        ours, written = seconds(task)
        print(
            f"{task.phase:>54} {ours:>9.3g} {written:>9.3g} {written / ours:>7.1f}", flush=True
        )
        rows.append({"phase": task.phase, "threads": 1, "seconds": ours, "plain": written})
    return pd.DataFrame(rows)


def keep() -> None:
    """The same into the stored table."""
    put("speed.csv", stamped(write()), digits=4)
