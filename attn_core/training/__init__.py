"""How models are trained and read: one recipe a file.

    jain      single texts and pairs: the loop and its two checkpoints      Jain & Wallace 2019
    serrano   HAN and FLAN: rate halved on a plateau, stopped early         Serrano & Smith 2019
    guide     networks under the attention weights of another model         Wiegreffe & Pinter 2019, section 3.4
    imitate   adversaries that imitate a model and leave its attention      Wiegreffe & Pinter 2019, section 4

Each has `fit(run, data, matrix, progress, *bases) -> Trained`, called with torch seeded by the run's seed, and
`read(run, arrays, data, progress, *bases) -> Traces` of the test set. matrix (V, width): start vectors. bases: the
trained weights of `run.bases(run)`, each as named arrays.
"""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from attn_core.corpora.documents import Documents, Encoded
from attn_core.errors import AttnError, one_line
from attn_core.models.hierarchical import Hierarchical
from attn_core.run import Run
from attn_core.traces import cut
from attn_core.tracing import inputs


@dataclass(frozen=True)
class Trained:
    """What one training leaves: weights by selection ('dev', 'test') as named arrays, one history row per epoch."""

    weights: dict[str, dict[str, np.ndarray]]
    history: list[dict[str, float]]


def compute_device() -> str:
    """'cuda' where a GPU is at hand, else 'cpu'; $ATTN_DEVICE overrides ('cuda:1' names the second GPU)."""
    device = os.environ.get("ATTN_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    if device.partition(":")[0] not in ("cpu", "cuda"):
        raise AttnError(f"ATTN_DEVICE is {device!r}; known: cpu, cuda, cuda:0 and so on")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise AttnError(f"torch has no device {device!r} here ({one_line(error)}); unset ATTN_DEVICE") from error
    if device != "cpu":  # TF32 is no single precision
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    return device


def outputs_of(run: Run, data: Encoded) -> int:
    """Logits of a run's model: one for two classes of single texts, else one a class."""
    classes = len(data.statistics["classes"])
    return 1 if classes == 2 and run.family not in ("pair", "hierarchical") else classes


def trained(
    model: nn.Module, optimiser: torch.optim.Optimizer, epochs: int, documents: int, batches: Callable,
    losses: Callable, progress: bool,
) -> Iterator[tuple[int, float]]:  # fmt: skip
    """Train: after each epoch its number and the mean loss of a document, the model ready to be evaluated.

    batches() gives one epoch's rows; losses(rows) what the optimiser descends and the batch's sum of losses, on the
    model's device: only an epoch waits for it. AttnError where the mean is not finite.
    """
    keep_memory()
    with tqdm(total=epochs * documents, desc="training", unit="text", disable=not progress) as bar:
        for epoch in range(epochs):
            model.train()
            total = 0.0
            for rows in batches():
                loss, summed = losses(rows)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
                total += summed
                bar.update(len(rows))
            model.eval()
            mean = float(total) / documents
            if not np.isfinite(mean):
                advice = "lower learning_rate, or the divergence of an adversary"
                raise AttnError(f"the training diverged: loss {mean} in epoch {epoch}; {advice}")
            bar.set_postfix_str(f"loss {mean:.3f}")
            yield epoch, mean


def accuracy(model: nn.Module, documents: Documents, given: np.ndarray | None = None) -> float:
    """Share of documents whose largest logit is their label's, by forward passes over texts of like length.
    given: see `tracing.inputs`; documents of HAN and FLAN as `documents.flat` makes them."""
    right = 0
    with torch.inference_mode():
        for rows in cut(documents.lengths, texts=512, tokens=16_384):
            if isinstance(model, Hierarchical):
                arguments = documents.inputs(rows, model.decoder.weight.device)
            else:
                arguments = inputs(model, documents, rows, given)
            right += int((model(**arguments).argmax(1).cpu().numpy() == documents.labels[rows]).sum())
    return right / len(documents)


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
