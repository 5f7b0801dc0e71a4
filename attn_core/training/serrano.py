"""Serrano & Smith's models and training: Adam, halved on a plateau, stopped early (specification section 3.2)."""

import time

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.corpora.catalogue import schedule
from attn_core.corpora.documents import Documents, Encoded, flat
from attn_core.models.classifier import to_arrays
from attn_core.models.hierarchical import Hierarchical, build, from_arrays
from attn_core.run import Run
from attn_core.store import sample
from attn_core.traces import Traces
from attn_core.tracing import trace_items
from attn_core.training import Trained, accuracy, outputs_of, trained

DELETED = 300
"""Test documents, the first of the corpus's fixed sample, whose items are left out one by one."""


def fit(run: Run, data: Encoded, matrix: np.ndarray, device: str, progress: bool, weights_of=None) -> Trained:
    """One training with the schedule of the run's corpus; see `train`."""
    plan, (shape, kind) = schedule(run.corpus), run.encoder.split("_")
    splits = {name: flat(part, shape == "han", f"{data.name} {name}") for name, part in data.splits.items()}
    model = build(run.encoder, matrix, outputs_of(run, data), run.hidden or 50, plan.dropout(run.encoder)).to(device)
    return train(model, splits, run, plan.cap[shape], plan.patience[kind], plan.clip[kind], progress)


def read(
    run: Run, arrays: dict[str, np.ndarray], data: Encoded, device: str, progress: bool, weights_of=None
) -> Traces:
    """Traces of the test set; leave-one-out of its first DELETED documents in the corpus's fixed order, else NaN."""
    model = from_arrays(run.encoder, arrays).requires_grad_(False).to(device)
    documents = data.splits["test"]
    return trace_items(model, documents, sample(documents.doc_ids, data.name)[:DELETED], data.name, progress)


def train(
    model: Hierarchical, splits: dict[str, Documents], run: Run, cap: int, patience: int, clip: tuple[str, float],
    progress: bool,
) -> Trained:  # fmt: skip
    """Train a model on splits 'train' and 'dev' as the run's fields say; keep the checkpoint of the best dev accuracy.

    Cross-entropy, mean over the batch; Adam at torch's defaults but for the rate (fused, which changes no arithmetic)
    and `decay`, 0 in the paper. After an epoch whose dev accuracy is not above 1.0001 times the best so far the rate is
    halved. Training stops after `patience` epochs without a strictly better dev accuracy, at the latest after
    `epochs`. clip: ('norm', limit of the whole gradient) or ('value', limit of each number). cap: see `batches`.
    """
    device = model.decoder.weight.device
    loss_of = nn.CrossEntropyLoss()
    optimiser = torch.optim.Adam(model.parameters(), lr=run.learning_rate, weight_decay=run.decay, fused=True)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimiser, mode="max", factor=0.5, patience=0, threshold=1e-4, threshold_mode="rel"
    )
    texts, dev, rng = splits["train"], splits["dev"], np.random.default_rng(run.seed)
    best, best_epoch, weights, history = -1.0, 0, {}, []
    start = time.perf_counter()
    rows = lambda: batches(texts, run.batch, cap, rng)
    summed = lambda rows: step(model, texts, rows, loss_of, optimiser, clip, device) * len(rows)
    for epoch, loss in trained(model, run.epochs, len(texts), rows, summed, progress):
        found = accuracy(model, dev.labels, dev.lengths, lambda rows: dev.inputs(rows, device))
        rate = optimiser.param_groups[0]["lr"]
        history.append({"epoch": epoch, "loss": float(loss), "dev_accuracy": found, "learning_rate": rate})
        if found > best:
            best, best_epoch, weights = found, epoch, to_arrays(model)
        plateau.step(found)
        if epoch - best_epoch >= patience:
            break
    return Trained({"dev": weights}, history, time.perf_counter() - start)


def step(model: Hierarchical, texts: Documents, rows: np.ndarray, loss_of, optimiser, clip, device) -> Tensor:
    """One optimiser step on the documents in `rows`; returns the batch's mean loss."""
    labels = torch.as_tensor(texts.labels[rows], device=device)
    loss = loss_of(model(**texts.inputs(rows, device)), labels)
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    kind, limit = clip
    if kind == "value":
        nn.utils.clip_grad_value_(model.parameters(), limit)
    elif (norm := nn.utils.get_total_norm([p.grad for p in model.parameters()])) > limit:  # a rare case
        nn.utils.clip_grads_with_norm_(model.parameters(), limit, norm)
    optimiser.step()
    return loss.detach().double()


def batches(texts: Documents, size: int, cap: int, rng: np.random.Generator, noise: float = 0.1) -> list[np.ndarray]:
    """One epoch of batches as row indices, in random order; every document is in exactly one.

    Documents are sorted by their number of items times 1 + u, u uniform within +-noise, and cut into groups of `size`.
    A group whose longest sentence (FLAN: text) times its documents exceeds `cap` words is cut into as many equal parts
    as that product is caps, or into single documents. (The authors' second key, the longest sentence, never acts.)
    """
    order = np.argsort(np.diff(texts.items) * rng.uniform(1 - noise, 1 + noise, len(texts)), kind="stable")
    longest = texts.longest
    parts = []
    for start in range(0, len(order), size):
        group = order[start : start + size]
        pieces = -(-int(longest[group].max()) * len(group) // cap)
        parts += np.array_split(group, min(pieces, len(group)))
    return [parts[i] for i in rng.permutation(len(parts))]
