"""How models are trained: one recipe a file, a dataclass that trains a model on documents.

    jain      single texts and pairs: the loop and its two checkpoints      Jain & Wallace 2019
              with imposed=…, under the attention weights of another model  Wiegreffe & Pinter 2019, section 3.4
    serrano   HAN and FLAN: rate halved on a plateau, stopped early         Serrano & Smith 2019
    imitate   adversaries that imitate a model and leave its attention      Wiegreffe & Pinter 2019, section 4

Jain & Wallace's loop has three hooks, for anybody: `Transform`, `Penalty` and `Start`.
"""

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from attn_core import checks
from attn_core.documents import Documents
from attn_core.errors import AttnError
from attn_core.traces import Arrays as Arrays
from attn_core.traces import cut
from attn_core.tracing import check, forward, inputs

TIDIED = 50
"""Batches of an epoch after which memory that lies free is given back, and at its end; not of fewer, where it costs a
tenth of the time."""


@dataclass(frozen=True)
class Trained:
    """What one training leaves: weights by selection ('dev', 'test'), one history row per epoch."""

    weights: dict[str, Arrays]
    history: list[dict[str, float]]


Transform = Callable[[Documents, np.random.Generator], Documents]
"""Called once an epoch: the training texts as they are read in it, of the same lengths."""

Start = Callable[[nn.Module], None]
"""Called once, on the fresh model, which it changes in place."""


class Penalty(Protocol):
    """What is added to a loss: the sum over a batch's documents; its parameters are trained with the model."""

    parameters: Sequence[nn.Parameter] = ()

    def __call__(self, ids: Tensor, h: Tensor, attention: Tensor, mask: Tensor) -> Tensor:
        """Of ids (B, L), states h (B, L, H), attention (B, L) and mask (B, L), True where words are."""


class BatchLoss(NamedTuple):
    """The loss of one batch."""

    descended: Tensor  # what the optimiser descends
    summed: Tensor  # the documents' losses, float64, without penalties


def train(model: nn.Module, splits: Mapping[str, Documents], recipe: Any, seed: int, **further: Any) -> Trained:
    """Train a model in place by `JainWallace`, `SerranoSmith` or `Adversary`, with torch seeded; it keeps the weights
    that were chosen on the development set. further: what the recipe's `train` takes besides."""
    checks.whole("seed", seed)
    for documents in splits.values():
        check(model, documents)
    torch.manual_seed(seed)
    trained = recipe.train(model, splits, seed, **further)
    model.load_state_dict({name: torch.tensor(array) for name, array in trained.weights["dev"].items()})
    return trained


def weights_of(model: nn.Module, splits: Mapping[str, Documents]) -> Arrays:
    """A model's attention, (T,) a split, to be imposed on another one."""
    return {name: forward(model, documents).attention.astype(np.float32) for name, documents in splits.items()}


def descend(optimiser: torch.optim.Optimizer, loss: BatchLoss, clip: Callable = lambda: None) -> Tensor:
    """One step of the optimiser; returns the sum of the documents' losses. clip: called once there are gradients."""
    optimiser.zero_grad()
    loss.descended.backward()
    clip()
    optimiser.step()
    return loss.summed


def passes(
    model: nn.Module,
    epochs: int,
    batches_of: Callable[[], list[np.ndarray]],
    step: Callable[[np.ndarray], Tensor],
    progress: bool,
) -> Iterator[tuple[int, float]]:
    """Train a model in place: after each epoch its number and the mean loss of a document, with the model left ready to
    be evaluated. AttnError where the mean is not finite.

    batches_of(): an epoch's batches, each the rows of its documents. step(rows) trains on one batch and gives the sum
    of its documents' losses on the model's device: only the end of the epoch waits for it. progress: a bar.
    """
    keep_memory()
    with tqdm(desc="training", unit="text", disable=not progress) as bar:
        for epoch in range(epochs):
            model.train()
            total: Tensor | float = 0.0
            batches = batches_of()
            documents = sum(map(len, batches))
            bar.total = epochs * documents
            for number, rows in enumerate(batches, 1):
                total = total + step(rows)
                bar.update(len(rows))
                if number % TIDIED == 0 or number == len(batches) > TIDIED:
                    keep_memory()
            model.eval()
            loss = float(total) / documents
            if not np.isfinite(loss):
                raise AttnError(
                    f"the training diverged: loss {loss} in epoch {epoch}; "
                    "lower learning_rate, or the divergence of an adversary"
                )
            bar.set_postfix_str(f"loss {loss:.3f}")
            yield epoch, loss


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
