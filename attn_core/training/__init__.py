"""How models are trained and read: one recipe a file.

    jain      single texts and pairs: the loop and its two checkpoints      Jain & Wallace 2019
    serrano   HAN and FLAN: rate halved on a plateau, stopped early         Serrano & Smith 2019
    guide     networks under the attention weights of another model         Wiegreffe & Pinter 2019, section 3.4
    imitate   adversaries that imitate a model and leave its attention      Wiegreffe & Pinter 2019, section 4
    cls       a pretrained transformer read at [CLS]                        not in the three papers

Each is a `Recipe`, called with torch seeded by the run's seed; `penalties` are added to the loss of jain's.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm

from attn_core.corpora.documents import Documents, Encoded
from attn_core.device import compute_device as compute_device
from attn_core.errors import AttnError
from attn_core.run import Run
from attn_core.traces import Arrays as Arrays
from attn_core.traces import Traces, cut
from attn_core.tracing import inputs

TIDIED = 50
"""Batches of an epoch after which memory that lies free is given back, and at its end; not of fewer, where it costs a
tenth of the time."""


@dataclass(frozen=True)
class Trained:
    """What one training leaves: weights by selection ('dev', 'test'), one history row per epoch."""

    weights: dict[str, Arrays]
    history: list[dict[str, float]]


class Recipe(Protocol):
    """How the runs of a family are trained and read: a module of this package, or the like.

    matrix (V, width): start vectors. bases: the trained weights of `run.bases(run)`.
    """

    def fit(self, run: Run, data: Encoded, matrix: np.ndarray, progress: bool, *bases: Arrays) -> Trained:
        """Train a run's model."""

    def read(self, run: Run, arrays: Arrays, data: Encoded, progress: bool, *bases: Arrays) -> Traces | pd.DataFrame:
        """Traces of the test set from trained weights; of a model without such, a table of its documents."""


def outputs_of(run: Run, data: Encoded) -> int:
    """Logits of a run's model: one for two classes of single texts, else one a class."""
    classes = len(data.statistics["classes"])
    return 1 if classes == 2 and run.family not in ("pair", "hierarchical") else classes


class BatchLoss(NamedTuple):
    """The loss of one batch."""

    descended: Tensor  # what the optimiser descends
    summed: Tensor  # the documents' losses, float64, without penalties


def descend(optimiser: torch.optim.Optimizer, loss: BatchLoss) -> Tensor:
    """One step of the optimiser; returns the sum of the documents' losses."""
    optimiser.zero_grad()
    loss.descended.backward()
    optimiser.step()
    return loss.summed


def progress_bar(epochs: int, documents: int, progress: bool) -> tqdm:
    """The bar of a training, over the documents of all its epochs."""
    keep_memory()
    return tqdm(total=epochs * documents, desc="training", unit="text", disable=not progress)


def train_epoch(
    model: nn.Module,
    epoch: int,
    batches: list[np.ndarray],
    step: Callable[[np.ndarray], Tensor],
    bar: tqdm,
) -> float:
    """One pass over the batches, each the rows of its documents: the mean loss of a document.

    step(rows) trains on one batch and gives the sum of its documents' losses on the model's device: only the end of the
    epoch waits for it. The model is left ready to be evaluated. AttnError where the mean is not finite.
    """
    model.train()
    total: Tensor | float = 0.0
    for number, rows in enumerate(batches, 1):
        total = total + step(rows)
        bar.update(len(rows))
        if number % TIDIED == 0 or number == len(batches) > TIDIED:
            keep_memory()
    model.eval()
    loss = float(total) / sum(map(len, batches))
    if not np.isfinite(loss):
        raise AttnError(
            f"the training diverged: loss {loss} in epoch {epoch}; "
            "lower learning_rate, or the divergence of an adversary"
        )
    bar.set_postfix_str(f"loss {loss:.3f}")
    return loss


def accuracy(model: nn.Module, documents: Documents, imposed: np.ndarray | None = None) -> float:
    """Share of documents whose largest logit is their label's, by forward passes over texts of like length.

    imposed: see `tracing.inputs`; documents of HAN and FLAN as `documents.flat` makes them.
    """
    correct = 0
    with torch.inference_mode():
        for rows in cut(documents.lengths, texts=512, tokens=16_384):
            predicted = model(**inputs(model, documents, rows, imposed)).argmax(1).cpu().numpy()
            correct += int((predicted == documents.labels[rows]).sum())
    return correct / len(documents)


@contextmanager
def without_denormals() -> Iterator[None]:
    """Numbers below 1e-38 count as 0 in here.

    An adversary of large divergence gives most words such weights, and so does a network that is guided by it: nothing
    depends on them, but the processor takes far longer (IMDB, divergence 0.01: 1.6 batches a second, 3.7 without).
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def keep_memory() -> None:
    """Let the C library (glibc, else without effect) keep what is freed from now on, and give back what was freed until
    now: no numbers change.

    Every step takes and frees the same large blocks; by default each comes fresh from the system, at one page fault
    per 4 kB, which costs a third of a step on long texts. Kept for ever, blocks of many sizes add up to half a GB.
    """
    with suppress(AttributeError, OSError, TypeError):
        libc = ctypes.CDLL(None)
        libc.malloc_trim(0)
        for option in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD in malloc.h
            libc.mallopt(option, 1 << 30)
