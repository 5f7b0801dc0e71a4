"""Trained adversaries: a fresh model that imitates a base's outputs and moves away from its attention.

Wiegreffe & Pinter 2019, section 4, in the form of their code: the batch's loss is
(sum TVD / 2 - divergence * sum KL(adversary's attention || base's)) * sum of the batch's class weights, with TVD / 2
half of |p - p_base| and KL summed over the real tokens. Gold labels enter only as that positive factor, which Adam
nearly cancels; beside it the L2 term is small. divergence 0 is the control that only imitates.
"""

import time
from collections.abc import Callable

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
from attn_core.training import Trained, outputs_of, trained, without_denormals
from attn_core.training.jain import adam, attended, positive_weight

PATIENCE = 10
"""Epochs in a row without a lower training loss after which the training ends."""


def fit(
    run: Run, data: Encoded, matrix: np.ndarray, device: str, progress: bool,
    weights_of: Callable[[Run], dict[str, np.ndarray]],
) -> Trained:  # fmt: skip
    """Train against the base's outputs and attention on the training set; the checkpoint has the lowest training loss.

    Fresh initialisation from the run's seed, optimiser and batches as in `jain.train`. The loss is that of the
    batches as they come, each before its own step; the weights kept are those at the end of the epoch, the same for
    both selections: neither dev nor test takes part. History, per epoch: loss (per document), tvd (|p - p_base|), kl
    and jsd on the training set, as the epoch goes; <split>_jsd and <split>_tvd on dev and test at its end.
    """
    if outputs_of(run, data) != 1:
        raise AttnError(f"adversary on {run.corpus}: adversaries are trained for two classes (one logit)")
    with torch.random.fork_rng(devices=[]):  # this training starts from its own seed alone
        guide = weights_of(run.base)
        base = {name: attended(run.base, guide, part, device, progress) for name, part in data.splits.items()}
    model = classifier.build(run.encoder, run.attention, matrix, 1, run.hidden).to(device)
    training = data.splits["train"]
    targets = base["train"].p.astype(np.float32), log_attention(base["train"])
    weight = positive_weight(training) if run.class_weights else 1.0
    factor = np.where(training.labels == 1, weight, 1.0)
    optimiser = adam(dict(model.named_parameters()), True, run)
    rng = np.random.default_rng(run.seed)
    history, kept, best, worse = [], to_arrays(model), np.inf, 0
    start = time.perf_counter()
    rows = lambda: batches(training, run.batch, rng)
    summed = lambda rows: step(model, training, rows, *targets, factor[rows].sum(), run.divergence, optimiser)
    with without_denormals():
        for epoch, means in trained(model, run.epochs, len(training), rows, summed, progress):
            row = dict(zip(("loss", "tvd", "kl", "jsd"), means.tolist(), strict=True))
            for split in ("dev", "test"):
                own = trace(model, data.splits[split], gradient=False, leave_one_out=False, progress=False)
                row |= against(base[split], own)[["jsd", "tvd"]].mean().add_prefix(f"{split}_").to_dict()
            history.append({"epoch": epoch, **row})
            worse = 0 if row["loss"] < best else worse + 1
            if worse == 0:
                best, kept = row["loss"], to_arrays(model)
            if worse == PATIENCE:
                break
    return Trained({"dev": kept, "test": kept}, history, time.perf_counter() - start)


def read(
    run: Run, arrays: dict[str, np.ndarray], data: Encoded, device: str, progress: bool, weights_of=None
) -> Traces:
    """Traces of the test set without gradient and leave-one-out: attention and output are what is compared."""
    return attended(run, arrays, data.splits["test"], device, progress)


def log_attention(traces: Traces) -> np.ndarray:
    """Logarithms (T,) float32 of the attention, from the scores: finite where the weights themselves round to 0."""
    score = traces.score.astype(np.float64)
    total = totals(np.exp(score), traces.offsets)  # at least 1: the largest score is 0
    return (score - np.log(total)[traces.owner]).astype(np.float32)


def step(
    model: Classifier, documents: Documents, rows: np.ndarray, p: np.ndarray, logs: np.ndarray, factor: float,
    divergence: float, optimiser: torch.optim.Optimizer,
) -> Tensor:  # fmt: skip
    """One optimiser step on the documents in `rows`; the batch's sums of loss, |p - p_base|, KL and JSD, (4,).

    p (D,), logs (T,): the base's outputs and log-attention of all documents. factor: the batch's class weights, summed.
    """
    device = next(model.parameters()).device
    found, own, mask = attend(model, **inputs(model, documents, rows))
    theirs = torch.as_tensor(placed(logs, documents, rows), device=device)
    value, change, kl = loss(found, own, torch.as_tensor(p[rows], device=device), theirs, divergence, factor)
    optimiser.zero_grad(set_to_none=True)
    value.backward()
    optimiser.step()
    with torch.no_grad():
        middle = torch.logaddexp(own, theirs) - np.log(2.0)
        jsd = 0.5 * (own.exp() * (own - middle) + theirs.exp() * (theirs - middle)).masked_fill(~mask, 0.0)
    return torch.stack([value, change.sum(), kl.sum(), jsd.sum(-1).sum()]).detach().double()


def attend(model: Classifier, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Probability of class 1 (B,), log-attention (B, L) with 0 off the real tokens, and the mask of these (B, L)."""
    mask = real_tokens(ids, lengths)
    h = model.encoder(ids, lengths, mask)
    logs = model.scores(h, mask).log_softmax(-1)
    context = (logs.exp()[:, None] @ h).squeeze(1)
    # A weight of 0 times a logarithm of minus infinity would be NaN, in the loss and in its gradient.
    return model.decoder(context).squeeze(-1).sigmoid(), logs.masked_fill(~mask, 0.0), mask


def loss(
    p: Tensor, logs: Tensor, base_p: Tensor, base_logs: Tensor, divergence: float, factor: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The batch's loss, see the module; |p - p_base| (B,); KL(own || base) of the attentions (B,), logs (B, L)."""
    change, kl = (p - base_p).abs(), (logs.exp() * (logs - base_logs)).sum(-1)  # logs are 0 off real tokens
    return (0.5 * change.sum() - divergence * kl.sum()) * factor, change, kl
