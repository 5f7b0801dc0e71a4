"""Trained adversaries: a fresh model that imitates a base's outputs and moves away from its attention.

Wiegreffe & Pinter 2019, section 4, in the form of their code: the batch's loss is
(sum TVD / 2 - divergence * sum KL(adversary's attention || base's)) * sum of the batch's class weights, with TVD / 2
half of |p - p_base| and KL summed over the real tokens. Gold labels enter only as that positive factor, which Adam
nearly cancels; beside it the L2 term is small. divergence 0 is the control that only imitates.
"""

import numpy as np
import torch
from torch import Tensor

from attn_core.corpora.documents import Documents, Encoded, batches
from attn_core.errors import AttnError
from attn_core.experiments.distance import against
from attn_core.models import classifier
from attn_core.models.classifier import Classifier, real_tokens, to_arrays
from attn_core.run import Run
from attn_core.traces import Traces, totals
from attn_core.tracing import inputs, placed, trace
from attn_core.training import Trained, compute_device, outputs_of, trained, without_denormals
from attn_core.training.jain import adam, attended, positive_weight

PATIENCE = 10
"""Epochs in a row without a lower training loss after which the training ends."""


def fit(run: Run, data: Encoded, matrix: np.ndarray, progress: bool, base: dict[str, np.ndarray]) -> Trained:
    """Train against the base's outputs and attention on the training set; the checkpoint has the lowest training loss.

    Fresh initialisation from the run's seed, optimiser and batches as in `jain.train`. The loss is that of the
    batches as they come, each before its own step; the weights kept are those at the end of the epoch, the same for
    both selections: neither dev nor test takes part. History, per epoch: the loss per document, and <split>_jsd and
    <split>_tvd (|p - p_base|) on dev and test at its end.
    """
    if outputs_of(run, data) != 1:
        raise AttnError(f"adversary on {run.corpus}: adversaries are trained for two classes (one logit)")
    theirs = {split: attended(run.base, base, part, progress) for split, part in data.splits.items()}
    model = classifier.build(run.encoder, run.attention, matrix, 1, run.hidden).to(compute_device())
    training = data.splits["train"]
    targets = theirs["train"].p.astype(np.float32), log_attention(theirs["train"])
    weight = positive_weight(training) if run.class_weights else 1.0
    factor = np.where(training.labels == 1, weight, 1.0)
    rng = np.random.default_rng(run.seed)
    history, kept, best, worse = [], to_arrays(model), np.inf, 0
    rows = lambda: batches(training, run.batch, rng)
    summed = lambda rows: losses(model, training, rows, *targets, factor[rows].sum(), run.divergence)
    with without_denormals():
        for epoch, mean in trained(model, adam(model, run), run.epochs, len(training), rows, summed, progress):
            history.append({"epoch": epoch, "loss": mean})
            for split in ("dev", "test"):
                own = trace(model, data.splits[split], gradient=False, leave_one_out=False, progress=False)
                history[-1] |= against(theirs[split], own)[["jsd", "tvd"]].mean().add_prefix(f"{split}_").to_dict()
            worse = 0 if mean < best else worse + 1
            if worse == 0:
                best, kept = mean, to_arrays(model)
            if worse == PATIENCE:
                break
    return Trained({"dev": kept, "test": kept}, history)


def read(run: Run, arrays: dict[str, np.ndarray], data: Encoded, progress: bool, *_) -> Traces:
    """Traces of the test set without gradient and leave-one-out: attention and output are what is compared."""
    return attended(run, arrays, data.splits["test"], progress)


def log_attention(traces: Traces) -> np.ndarray:
    """Logarithms (T,) float32 of the attention, from the scores: finite where the weights themselves round to 0."""
    score = traces.score.astype(np.float64)
    total = totals(np.exp(score), traces.offsets)  # at least 1: the largest score is 0
    return (score - np.log(total)[traces.owner]).astype(np.float32)


def losses(
    model: Classifier, documents: Documents, rows: np.ndarray, p: np.ndarray, logs: np.ndarray, factor: float,
    divergence: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The loss of the documents in `rows`, see the module: as it is descended, and as a number.

    p (D,), logs (T,): the base's outputs and log-attention of all documents. factor: the batch's class weights, summed.
    """
    own = attend(model, **inputs(model, documents, rows))
    base = (torch.as_tensor(part, device=own[0].device) for part in (p[rows], placed(logs, documents, rows)))
    found = loss(*own, *base, divergence, factor)
    return found, found.detach().double()


def attend(model: Classifier, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Probability of class 1 (B,) and log-attention (B, L) with 0 off the real tokens."""
    h, scores = model.read(ids, lengths)
    logs = scores.log_softmax(-1)
    context = (logs.exp()[:, None] @ h).squeeze(1)
    # A weight of 0 times a logarithm of minus infinity would be NaN, in the loss and in its gradient.
    return model.decoder(context).squeeze(-1).sigmoid(), logs.masked_fill(~real_tokens(ids, lengths), 0.0)


def loss(p: Tensor, logs: Tensor, base_p: Tensor, base_logs: Tensor, divergence: float, factor: float) -> Tensor:
    """The batch's loss, see the module, of outputs (B,) and log-attentions (B, L)."""
    kl = (logs.exp() * (logs - base_logs)).sum(-1).sum()  # logs are 0 off real tokens
    return (0.5 * (p - base_p).abs().sum() - divergence * kl) * factor
