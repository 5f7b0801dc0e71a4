"""Serrano & Smith's models and training: Adam, halved on a plateau, stopped early (specification section 3.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.documents import Documents, flat
from attn_core.models.classifier import to_arrays
from attn_core.models.hierarchical import Hierarchical
from attn_core.tracing import inputs
from attn_core.training import Arrays, BatchLoss, Trained, accuracy, descend, passes


@dataclass(frozen=True)
class SerranoSmith:
    """The authors' recipe: Adam at torch's defaults but for the rate (fused, which changes no arithmetic) and decay, 0
    in the paper; cross-entropy, mean over the batch.

    Parameters
    ----------
    epochs, batch : int
        Passes over the training texts at most, and how many of them are a step.
    learning_rate, decay : float
        Halved is the rate after an epoch whose dev accuracy is not above 1.0001 times the best so far.
    patience : int
        Epochs without a strictly better dev accuracy after which training stops.
    clip : tuple
        ('norm', limit of the whole gradient) or ('value', limit of each number).
    cap : int
        Words of a batch, see `batches`.
    """

    epochs: int = 60
    batch: int = 64
    learning_rate: float = 4e-4
    decay: float = 0.0
    patience: int = 5
    clip: tuple[str, float] = ("norm", 10.0)
    cap: int = 9_000

    def train(self, model: Hierarchical, splits: Mapping[str, Documents], seed: int, progress: bool = True) -> Trained:
        """Train a model in place on 'train' and 'dev' of the splits; keep the checkpoint of the best dev accuracy.

        The caller seeds torch, which draws the dropout; seed: of the batches' order. AttnError as in `flat`.
        """
        optimiser = torch.optim.Adam(model.parameters(), lr=self.learning_rate, weight_decay=self.decay, fused=True)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimiser, mode="max", factor=0.5, patience=0, threshold=1e-4, threshold_mode="rel"
        )
        texts, dev = (flat(splits[name], model.sentence is not None, name) for name in ("train", "dev"))
        next_batches = partial(batches, texts, self.batch, self.cap, np.random.default_rng(seed))
        best = -1.0
        best_epoch = 0
        weights: Arrays = {}
        history = []

        def step(rows: np.ndarray) -> Tensor:
            return descend(optimiser, mean_loss(model, texts, rows), partial(clip_gradients, model, *self.clip))

        for epoch, loss in passes(model, self.epochs, next_batches, step, progress):
            dev_accuracy = accuracy(model, dev)
            rate = optimiser.param_groups[0]["lr"]
            history.append({"epoch": epoch, "loss": loss, "dev_accuracy": dev_accuracy, "learning_rate": rate})
            if dev_accuracy > best:
                best = dev_accuracy
                best_epoch = epoch
                weights = to_arrays(model)
            plateau.step(dev_accuracy)
            if epoch - best_epoch >= self.patience:
                break
        return Trained({"dev": weights}, history)


def clip_gradients(model: nn.Module, kind: str, limit: float) -> None:
    """Clip the gradients in place, see `SerranoSmith`."""
    clip = nn.utils.clip_grad_value_ if kind == "value" else nn.utils.clip_grad_norm_
    clip(model.parameters(), limit)


def mean_loss(model: Hierarchical, texts: Documents, rows: np.ndarray) -> BatchLoss:
    """The mean loss of the documents in `rows`, which is descended."""
    labels = torch.as_tensor(texts.labels[rows], device=model.decoder.weight.device)
    loss = nn.functional.cross_entropy(model(**inputs(model, texts, rows)), labels)
    return BatchLoss(loss, loss.detach().double() * len(rows))


def batches(texts: Documents, size: int, cap: int, rng: np.random.Generator, noise: float = 0.1) -> list[np.ndarray]:
    """One epoch of batches as row indices, in random order; every document is in exactly one.

    Documents are sorted by their number of items times 1 + u, u uniform within +-noise, and cut into groups of `size`.
    A group whose longest sentence (FLAN: text) times its documents exceeds `cap` words is cut into as many equal parts
    as that product is caps, or into single documents. (The authors' second key, the longest sentence, never acts.)
    """
    items = np.diff(texts.items)
    order = np.argsort(items * rng.uniform(1 - noise, 1 + noise, len(texts)), kind="stable")
    longest = texts.longest
    pieces: list[np.ndarray] = []
    for start in range(0, len(order), size):
        group = order[start : start + size]
        caps = -(-int(longest[group].max()) * len(group) // cap)  # rounded up
        pieces += np.array_split(group, min(caps, len(group)))
    return [pieces[i] for i in rng.permutation(len(pieces))]
