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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from attn_core.corpora.documents import Encoded
from attn_core.run import Run


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


@contextmanager
def without_denormals() -> Iterator[None]:
    """Numbers below 1e-38 count as 0 in here.

    An adversary of large divergence gives most words such weights: nothing depends on them, but the processor takes far
    longer over them (IMDB, divergence 0.01: 1.6 batches a second with them, 3.7 without; same losses), also where a
    network is guided by it.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def keep_memory() -> None:
    """Let the C library keep freed memory for later: no numbers change, a step on long texts takes a third less time.

    Every step takes and frees the same large blocks; by default each comes fresh from the system, at one page fault
    per 4 kB. Without effect where the C library is not glibc.
    """
    trim_threshold, mmap_threshold = -1, -3
    try:
        for option in (trim_threshold, mmap_threshold):
            ctypes.CDLL(None).mallopt(option, 1 << 30)
    except (AttributeError, OSError, TypeError):
        pass
