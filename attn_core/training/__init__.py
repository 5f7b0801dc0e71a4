"""How models are trained and read: one recipe a file.

    jain      single texts and pairs: the loop and its two checkpoints      Jain & Wallace 2019
    serrano   HAN and FLAN: rate halved on a plateau, stopped early         Serrano & Smith 2019
    guide     networks under the attention weights of another model         Wiegreffe & Pinter 2019, section 3.4
    imitate   adversaries that imitate a model and leave its attention      Wiegreffe & Pinter 2019, section 4

Each has `fit(run, data, matrix, device, progress, weights_of) -> Trained`, called with torch seeded by the run's seed,
and `read(run, arrays, data, device, progress, weights_of) -> Traces` of the test set. matrix (V, width): start vectors.
weights_of(run): the trained weights of another run, a base, as named arrays.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from attn_core.corpora.documents import Encoded
from attn_core.errors import AttnError
from attn_core.run import Run
from attn_core.traces import cut


@dataclass(frozen=True)
class Trained:
    """What one training leaves: weights by selection ('dev', 'test') as named arrays, one history row per epoch."""

    weights: dict[str, dict[str, np.ndarray]]
    history: list[dict[str, float]]
    seconds: float


def outputs_of(run: Run, data: Encoded) -> int:
    """Logits of a run's model: one for two classes of single texts, else one a class."""
    classes = len(data.statistics["classes"])
    return 1 if classes == 2 and run.family not in ("pair", "hierarchical") else classes


def trained(
    model: nn.Module, epochs: int, documents: int, batches: Callable, step: Callable, progress: bool
) -> Iterator[tuple[int, np.ndarray]]:
    """Train: after each epoch its number and the mean loss of a document, the model ready to be evaluated.

    batches() gives one epoch's rows; step(rows) makes one step and returns a batch's sum of losses, or several such
    sums, on the model's device: only an epoch waits for it. AttnError where a mean is not finite.
    """
    keep_memory()
    with tqdm(total=epochs * documents, desc="training", unit="text", disable=not progress) as bar:
        for epoch in range(epochs):
            model.train()
            total = 0.0
            for rows in batches():
                total += step(rows)
                bar.update(len(rows))
            model.eval()
            mean = torch.as_tensor(total).cpu().numpy() / documents
            if not np.isfinite(mean).all():
                advice = "lower learning_rate, or the divergence of an adversary"
                raise AttnError(f"the training diverged: loss {mean} in epoch {epoch}; {advice}")
            bar.set_postfix_str(f"loss {np.ravel(mean)[0]:.3f}")
            yield epoch, mean


def accuracy(model: nn.Module, labels: np.ndarray, lengths: np.ndarray, inputs: Callable) -> float:
    """Share of documents whose largest logit is their label's, by plain forward passes over texts of like length.
    inputs(rows): the model's arguments for these."""
    right = 0
    with torch.inference_mode():
        for rows in cut(lengths, texts=512, tokens=16_384):
            right += int((model(**inputs(rows)).argmax(1).cpu().numpy() == labels[rows]).sum())
    return right / len(labels)


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
    """Let the C library (glibc, else without effect) keep freed memory: no numbers change.

    Every step takes and frees the same large blocks; by default each comes fresh from the system, at one page fault
    per 4 kB, which costs a third of a step on long texts.
    """
    trim_threshold, mmap_threshold = -1, -3
    try:
        for option in (trim_threshold, mmap_threshold):
            ctypes.CDLL(None).mallopt(option, 1 << 30)
    except (AttributeError, OSError, TypeError):
        pass
