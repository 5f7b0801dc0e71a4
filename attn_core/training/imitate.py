"""Trained adversaries: a fresh model that imitates a base's outputs and moves away from its attention.

Wiegreffe & Pinter 2019, section 4, in the form of their code: the batch's loss is
(sum TVD / 2 - divergence * sum KL(adversary's attention || base's)) * sum of the batch's class weights, with TVD / 2
half of |p - p_base| and KL summed over the real tokens. Gold labels enter only as that positive factor, which Adam
nearly cancels; beside it the L2 term is small. divergence 0 is the control that only imitates.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from attn_core.documents import Documents, batches
from attn_core.errors import AttnError
from attn_core.experiments.distance import against
from attn_core.models.classifier import Classifier, real_tokens, to_arrays, weighted_sum
from attn_core.traces import Traces, totals
from attn_core.tracing import at_positions, forward, inputs
from attn_core.training import BatchLoss, Trained, descend, passes, without_denormals
from attn_core.training.jain import Schedule, adam, positive_weight

PATIENCE = 10
"""Epochs in a row without a lower training loss after which the training ends."""


@dataclass(frozen=True)
class Adversary(Schedule):
    """The authors' recipe, with the optimiser, batches and parameters of a `Schedule`.

    The loss is that of the batches as they come, each before its own step; the checkpoint has the lowest training loss,
    the weights at the end of the epoch: neither dev nor test takes part.

    Parameters
    ----------
    divergence : float
        What the distance to the target's attention counts.
    """

    divergence: float = 1e-3

    def train(
        self,
        model: Classifier,
        splits: Mapping[str, Documents],
        seed: int,
        target: Mapping[str, Traces],
        progress: bool = True,
    ) -> Trained:
        """Train a fresh model of one logit in place; see `JainWallace.train`.

        target: split -> traces of the imitated model. The weights are the same for both selections. History, per epoch:
        the loss per document, and <split>_jsd and <split>_tvd (|p - p_base|) on dev and test at its end. AttnError for
        a model of several logits.
        """
        if model.outputs != 1:
            raise AttnError("adversaries are trained for two classes (one logit)")
        optimiser = adam(model, self.learning_rate, self.decay)
        documents = splits["train"]
        targets = Targets(target["train"])
        positive = positive_weight(documents) if self.class_weights else 1.0
        class_weight = np.where(documents.labels == 1, positive, 1.0)  # (D,)
        next_batches = partial(batches, documents, self.batch, np.random.default_rng(seed))
        lowest = np.inf
        weights = to_arrays(model)
        epochs_without_gain = 0
        history = []

        def step(rows: np.ndarray) -> Tensor:
            loss = losses(model, documents, rows, targets, class_weight[rows].sum(), self.divergence)
            return descend(optimiser, loss)

        with without_denormals():
            for epoch, loss in passes(model, self.epochs, next_batches, step, progress):
                row = {"epoch": epoch, "loss": loss}
                for split in ("dev", "test"):
                    traces = forward(model, splits[split])
                    distance = against(target[split], traces)[["jsd", "tvd"]].mean()
                    row |= distance.add_prefix(f"{split}_").to_dict()
                history.append(row)
                epochs_without_gain += 1
                if loss < lowest:
                    lowest = loss
                    weights = to_arrays(model)
                    epochs_without_gain = 0
                if epochs_without_gain == PATIENCE:
                    break
        return Trained({"dev": weights, "test": weights}, history)


class Targets:
    """What is imitated, and what is moved away from: p (D,) and log_attention (T,) of a base, float32."""

    def __init__(self, traces: Traces) -> None:
        self.p = traces.p.astype(np.float32)
        # From the scores: finite where the weights themselves round to 0.
        score = traces.score.astype(np.float64)
        total = totals(np.exp(score), traces.offsets)  # (D,) at least 1: the largest score is 0
        self.log_attention = (score - np.log(total)[traces.owner]).astype(np.float32)


def losses(
    model: Classifier,
    documents: Documents,
    rows: np.ndarray,
    targets: Targets,
    class_weight: float,
    divergence: float,
) -> BatchLoss:
    """The loss of the documents in `rows`, see the module. class_weight: the batch's class weights, summed."""
    p, log_attention = attend(model, **inputs(model, documents, rows))
    base_p = torch.as_tensor(targets.p[rows], device=p.device)
    base_log_attention = torch.as_tensor(at_positions(targets.log_attention, documents, rows), device=p.device)
    loss = adversarial_loss(p, log_attention, base_p, base_log_attention, divergence, class_weight)
    return BatchLoss(loss, loss.detach().double())


def adversarial_loss(
    p: Tensor,
    log_attention: Tensor,
    base_p: Tensor,
    base_log_attention: Tensor,
    divergence: float,
    class_weight: float,
) -> Tensor:
    """The batch's loss, see the module, of outputs (B,) and log-attentions (B, L)."""
    tvd = 0.5 * (p - base_p).abs().sum()
    kl = (log_attention.exp() * (log_attention - base_log_attention)).sum(-1).sum()  # logarithms: 0 off real tokens
    return (tvd - divergence * kl) * class_weight


def attend(model: Classifier, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Probability of class 1 (B,) and log-attention (B, L) with 0 off the real tokens."""
    h, scores = model.states_and_scores(ids, lengths)
    log_attention = scores.log_softmax(-1)
    p = model.decoder(weighted_sum(log_attention.exp(), h)).squeeze(-1).sigmoid()
    # A weight of 0 times a logarithm of minus infinity would be NaN, in the loss and in its gradient.
    return p, log_attention.masked_fill(~real_tokens(ids, lengths), 0.0)
