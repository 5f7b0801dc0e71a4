"""Evaluation, gradient importance and leave-one-out of a test set of SST's size, against the plain form."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch

from attn_core import fast
from attn_core.corpora.documents import Documents
from attn_core.models.classifier import Classifier
from attn_core.tracing import probabilities, trace
from benchmarks.cost import fastest
from tests import plain_network as plain

VOCABULARY = 13_826
INPUT, RECURRENT, ATTENTION = 2 * 300 * 1024, 2 * 128 * 1024, 2 * 256 * 128
"""Floating-point operations per token of a BiLSTM (both directions) and of additive attention."""
FAST, SLOW = 490e9, 217e9
"""Floating-point operations per second of one-layer products through oneDNN and MKL on the machine of the design."""


def sst_lengths(documents: int = 1725, seed: int = 0) -> np.ndarray:
    """Words per text like SST's test set: mean 18.2, at most 46."""
    draw = np.random.default_rng(seed).gamma(4.5, 20.2 / 4.5, documents)
    return np.clip(np.round(draw), 3, 48).astype(np.int64) - 2


def long_lengths(documents: int = 500, seed: int = 0) -> np.ndarray:
    """Words per text of long texts: mean 184, at most 340."""
    draw = np.random.default_rng(seed).normal(186, 45, documents)
    return np.clip(np.round(draw), 30, 342).astype(np.int64) - 2


def operations(documents: Documents) -> dict[str, float]:
    """Counted operations by task: products alone, input products once per token, states shared between deletions."""
    tokens, words = float(documents.lengths.sum()), (documents.lengths - 2).astype(float)
    forward = tokens * (INPUT + RECURRENT + ATTENTION)
    pairs = float((words * (words - 1)).sum())  # (deleted word, later word), both directions
    return {
        "evaluation": forward,
        "gradient": 2 * forward,
        "leave-one-out": forward + pairs * (RECURRENT + ATTENTION) / 2,
    }


def tasks(model: Classifier) -> dict[str, tuple[Callable, int]]:
    """Task -> what is timed (documents), texts the plain form is timed on."""
    return {
        "evaluation": (lambda texts: probabilities(model, texts), 300),
        "gradient": (lambda texts: trace(model, texts, leave_one_out=False, progress=False), 100),
        "leave-one-out": (lambda texts: trace(model, texts, gradient=False, progress=False), 40),
    }


def compare(encoder: str, lengths: np.ndarray, size: str, repeats: int, share: float = 1.0) -> Iterator[dict]:
    """One row per task; minima over repeats.

    The plain form runs on texts evenly spread over the lengths, scaled to all, on one thread: its products are too
    small to share (on an idle machine a second thread gained 16 % at most, on a busy one it cost a factor of 20).
    """
    threads = torch.get_num_threads()
    documents = plain.random_documents(lengths, VOCABULARY)
    model = plain.random_model(encoder, "tanh", VOCABULARY)
    by_length = np.argsort(documents.lengths)
    counted = operations(documents) if encoder == "lstm" else {}
    for task, (work, sample) in tasks(model).items():
        few = max(3, int(sample * share))
        chosen = by_length[((np.arange(few) + 0.5) / few * len(documents)).astype(int)]
        work(documents.take(chosen))  # warm up
        seconds = fastest(partial(work, documents), repeats)
        torch.set_num_threads(1)
        with fast.off():
            scaled = fastest(partial(work, documents.take(chosen)), 2) * len(documents) / few
        torch.set_num_threads(threads)
        row = {"name": f"{task}, {encoder}, {size}", "seconds": seconds, "plain": scaled, "ratio": scaled / seconds}
        note = f"plain form, one thread, {few} texts scaled"
        if task in counted:
            row |= {"floor": counted[task] / FAST, "distance": seconds / (counted[task] / FAST)}
            note += f"; floor at 490 GFLOP/s, {counted[task] / SLOW:.2f} s at 217"
        yield row | {"note": note}


def rows(long: bool = False) -> Iterator[dict]:
    """Rows of `make bench`; gradient and leave-one-out include the pass for attention and contributions.

    Input products are made once per distinct word, which the floor, counted per token, does not assume.
    """
    yield from compare("lstm", sst_lengths(), "1,725 texts of 20", repeats=7)
    yield from compare("cnn", sst_lengths(), "1,725 texts of 20", repeats=5)
    yield from compare("average", sst_lengths(), "1,725 texts of 20", repeats=5)
    if long:
        yield from compare("lstm", long_lengths(), "500 texts of 186", repeats=2, share=0.2)
