"""`make bench`: seconds of our forms beside those of `benchmarks.plain`, the same work in one process, in turn.

Texts, words and weights are drawn by chance, with the sizes of SST and of Jain & Wallace's BiLSTM with additive
attention: what a pass costs does not depend on what the words say. No data are needed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np
import torch

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

FILE = "measured/speed.csv"
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


def texts(count: int, seed: int = 0) -> Documents:
    """Random texts with SST's lengths: mean 20, 4 to 48, start and end included."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.gamma(4.5, 20.2 / 4.5, count).round().astype(int), 4, 48)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    share = 1 / np.arange(1, VOCABULARY - 3)  # Zipf's law: how often words come again counts here
    ids = rng.choice(np.arange(4, VOCABULARY), offsets[-1], p=share / share.sum()).astype(np.int32)
    ids[offsets[:-1]] = START
    ids[offsets[1:] - 1] = END
    return Documents(ids, offsets, rng.integers(0, 2, count), np.arange(count))


def classifier(seed: int = 0) -> Classifier:
    """An untrained BiLSTM with additive attention."""
    torch.manual_seed(seed)
    vectors = np.random.default_rng(seed).normal(0, 0.3, (VOCABULARY, 300)).astype(np.float32)
    vectors[0] = 0.0
    return build("lstm", "tanh", vectors)


def items(documents: int = 200, length: int = 180, classes: int = 5, seed: int = 0) -> Traces:
    """Traces of one document length whose items speak, on average, for their document's class: a decision survives
    about as many removals as a BiLSTM's on IMDB."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, documents)
    value = rng.normal(0, 1, (documents, length, classes)) + 0.7 * np.eye(classes)[label][:, None]
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
    """All rows, each phase of the authors' code under the name it has in data/reported/baseline_timings.csv."""
    traces = trace(classifier().eval(), texts(TEST), leave_one_out=False, progress=False).rounded()
    yield from experiments(traces)
    yield erasing(items())


def experiments(traces: Traces) -> Iterator[Task]:
    """Tests on traces alone; the plain forms of two on a part of the texts."""
    x = traces.attention
    y = np.abs(traces.gradient)
    yield Task(
        "Kendall τ (one pair)",
        lambda: kendall_ragged(x, y, traces.offsets),
        lambda: plain.kendall(x, y, traces.offsets),
    )
    by_length = plain.by_length(traces.lengths)
    eighth = traces.take(np.concatenate(by_length[4::8]))
    yield Task(
        "permutation (100 draws)",
        lambda: permutation(traces),
        lambda: plain.permutation(eighth),
        share=len(eighth) / len(traces),
    )
    searched = traces.take(np.concatenate(by_length[13::27]))
    starts = 3 * random.normals(0, "starts", searched.doc_id, searched.offsets, 5)
    yield Task(
        "adversarial search (k 5; 500 steps)",
        lambda: search(traces, progress=False),
        lambda: plain.search(searched, starts, SEARCHED),
        share=SEARCHED / 500 * len(searched) / len(traces),
    )


def erasing(traces: Traces) -> Task:
    """Items erased in four orders: by attention, and three at random."""
    values = np.stack([traces.score, *np.random.default_rng(0).random((3, len(traces.score)))])
    order = np.argsort(-values.reshape(4, len(traces), -1))
    ranks = np.argsort(order).reshape(4, -1)
    return Task(
        "items erased until the decision flips (200 × 180)",
        lambda: removals(traces),
        lambda: plain.removals(traces, ranks),
    )


def seconds(task: Task, threads: int, patience: float = 2.0) -> tuple[float, float]:
    """(ours, plain) of the whole work: minima of at least two runs in turn, the plain one's scaled by its share.

    On one thread processor seconds, which other work on the machine hardly changes; on more the clock's.
    """
    clock = process_time if threads == 1 else perf_counter
    threads_before = torch.get_num_threads()
    torch.set_num_threads(threads)
    times = []
    began = perf_counter()
    while len(times) < 2 or (len(times) < 5 and perf_counter() - began < patience):
        times.append([timed(task.ours, clock), timed(task.plain, clock)])
    torch.set_num_threads(threads_before)
    ours, written = np.min(times, axis=0)
    return ours, written / task.share


def timed(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """Seconds of one call."""
    start = clock()
    work()
    return clock() - start


def measure() -> Iterator[dict]:
    """Rows of the table: phase, threads, seconds, plain."""
    for task in tasks():
        for threads in sorted({1, torch.get_num_threads()}):
            ours, written = seconds(task, threads)
            yield {"phase": task.phase, "threads": threads, "seconds": ours, "plain": written}
