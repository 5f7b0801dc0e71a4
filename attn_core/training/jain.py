"""Jain & Wallace's models, single texts and pairs: the training loop and the choice of checkpoint.

Their final code (specification, section 3.5). What of it is Wiegreffe & Pinter's is the `imposed` attention.
"""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from attn_core import checks
from attn_core.documents import Documents, batches
from attn_core.models.classifier import Classifier, to_arrays
from attn_core.models.paired import Paired
from attn_core.traces import sigmoid
from attn_core.tracing import forward, inputs
from attn_core.training import (
    Arrays,
    BatchLoss,
    Penalty,
    Start,
    Trained,
    Transform,
    accuracy,
    descend,
    passes,
    without_denormals,
)


@dataclass(frozen=True)
class Schedule:
    """What training a model and an adversary share: Adam with amsgrad and coupled L2 decay, by the fused kernel, which
    changes no arithmetic.

    Parameters
    ----------
    epochs, batch : int
        Passes over the training texts, and how many of them are a step.
    learning_rate, decay : float
        Of Adam.
    class_weights : bool
        Whether a positive text counts N_neg / N_pos of the training set in the loss of one logit.
    """

    epochs: int = 8
    batch: int = 32
    learning_rate: float = 1e-3
    decay: float = 1e-5
    class_weights: bool = True


@dataclass(frozen=True)
class JainWallace(Schedule):
    """The authors' recipe.

    One logit (text classification): no decay on attention; binary cross-entropy, summed over the batch; checkpoints by
    ROC AUC. Several logits (questions, inference): decay on everything, cross-entropy, mean over the batch, no class
    weights; checkpoints by accuracy.
    """

    def train(
        self,
        model: Classifier | Paired,
        splits: Mapping[str, Documents],
        seed: int,
        imposed: Mapping[str, np.ndarray] | None = None,
        transform: Transform = lambda documents, rng: documents,
        penalty: Penalty | None = None,
        start: Start = lambda model: None,
        progress: bool = True,
    ) -> Trained:
        """Train a model in place and keep the dev-chosen and the test-chosen checkpoint of the same training.

        A checkpoint is kept when its value is strictly above the best so far, never from the first epoch unless it is
        the only one; the last weights where none is. All epochs are run, unless both values are at 1, which nothing
        exceeds (the authors go on; what is kept is the same). 'dev' is the authors' final code, 'test' what they did
        for the paper's Table 2.

        Parameters
        ----------
        model : Classifier or Paired
            As it starts, on its device; the caller seeds torch before it is built.
        splits : mapping
            'train', 'dev' and 'test' -> documents.
        seed : int
            Of the batches' order.
        imposed : mapping, optional
            Split -> attention weights (T,) over its documents' words (start and end not counted), which take the place
            of the model's own in training and in the choice of checkpoints (Wiegreffe & Pinter 2019, section 3.4).
        transform, penalty, start : optional
            Hooks, see `training`.
        progress : bool
            A bar with the time left.

        Returns
        -------
        Trained
            Weights by selection, 'dev' and 'test'; a row an epoch.
        """
        texts = documents = splits["train"]
        imposed = checked(imposed or {}, splits)
        weight = positive_weight(documents) if self.class_weights else 1.0
        start(model)
        optimiser = adam(model, self.learning_rate, self.decay, penalty.parameters if penalty else ())
        rng = np.random.default_rng(seed)
        changes = np.random.default_rng([seed, 1])  # its own, so that the batches are those of the training without
        quality_of, name = (roc_auc, "auc") if model.outputs == 1 else (accuracy, "accuracy")
        best = {"dev": 0.0, "test": 0.0}
        weights: dict[str, Arrays] = {}
        history = []

        def next_batches() -> list[np.ndarray]:
            nonlocal texts
            texts = transform(documents, changes)
            return batches(documents, self.batch, rng)

        def step(rows: np.ndarray) -> Tensor:
            return descend(optimiser, losses(model, texts, rows, weight, imposed.get("train"), penalty))

        with without_denormals() if imposed else nullcontext():
            for epoch, loss in passes(model, self.epochs, next_batches, step, progress):
                quality = {split: quality_of(model, splits[split], imposed.get(split)) for split in best}
                row = {"epoch": epoch, "loss": loss}
                history.append(row | {f"dev_{name}": quality["dev"], f"test_{name}": quality["test"]})
                counts = epoch > 0 or self.epochs == 1
                better = {split: value for split, value in quality.items() if counts and value > best[split]}
                best |= better
                weights |= dict.fromkeys(better, to_arrays(model))  # one copy, of both where both are better
                if min(best.values()) >= 1.0:
                    break
        return Trained(dict.fromkeys(best, to_arrays(model)) | weights, history)


def adam(
    model: Classifier | Paired, learning_rate: float = 1e-3, decay: float = 1e-5, further: Iterable[Tensor] = ()
) -> torch.optim.Adam:
    """The optimiser of `JainWallace`, for further parameters, too, which do not decay."""
    decayed: list[Tensor] = []
    undecayed: list[Tensor] = []
    for name, parameter in model.named_parameters():
        free = model.outputs == 1 and name.startswith("attention.")
        (undecayed if free else decayed).append(parameter)
    groups = [{"params": decayed, "weight_decay": decay}, {"params": [*undecayed, *further], "weight_decay": 0.0}]
    return torch.optim.Adam(groups, lr=learning_rate, amsgrad=True, fused=True)


def checked(imposed: Mapping[str, np.ndarray], splits: Mapping[str, Documents]) -> dict[str, np.ndarray]:
    """The weights of each split, see `checks.weights`."""
    return {name: checks.weights("imposed", values, splits[name].word_offsets) for name, values in imposed.items()}


def positive_weight(documents: Documents) -> float:
    """N_neg / N_pos, what a positive document counts in the loss."""
    positives = int(documents.labels.sum())
    return (len(documents) - positives) / max(positives, 1)


def losses(
    model: Classifier | Paired,
    documents: Documents,
    rows: np.ndarray,
    weight: float = 1.0,
    imposed: np.ndarray | None = None,
    penalty: Penalty | None = None,
) -> BatchLoss:
    """The loss of the documents in `rows`. weight: of positive documents. imposed (T,): see
    `JainWallace.train`."""
    arguments = inputs(model, documents, rows, imposed)
    logits, h, scores = model.opened(**arguments)
    addition = 0.0 if penalty is None else penalty(arguments["ids"], h, scores.softmax(-1), scores.isfinite())
    labels = torch.as_tensor(documents.labels[rows], device=logits.device)
    if model.outputs == 1:
        loss_of = nn.BCEWithLogitsLoss(reduction="sum", pos_weight=torch.tensor([weight], device=logits.device))
        loss = loss_of(logits, labels[:, None].float())
        return BatchLoss(loss + addition, loss.detach().double())
    loss = nn.functional.cross_entropy(logits, labels)  # a mean over the batch, so the penalty is one, too
    return BatchLoss(loss + addition / len(rows), loss.detach().double() * len(rows))


def roc_auc(model: Classifier | Paired, documents: Documents, imposed: np.ndarray | None = None) -> float:
    """ROC AUC of a one-logit model on a split; NaN where only one class occurs. imposed (T,): see
    `JainWallace.train`."""
    from sklearn.metrics import roc_auc_score

    if len(np.unique(documents.labels)) < 2:
        return float("nan")
    traces = forward(model, documents)
    p = traces.p if imposed is None else sigmoid(traces.logits_under(imposed)[:, 0])
    return float(roc_auc_score(documents.labels, p))
