"""Serrano & Smith's models and training: Adam, halved on a plateau, stopped early (specification section 3.2)."""

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
from attn_core.training import Trained, accuracy, compute_device, outputs_of, trained

DELETED = 300
"""Test documents, the first of the corpus's fixed sample, whose items are left out one by one."""


def fit(run: Run, data: Encoded, matrix: np.ndarray, progress: bool) -> Trained:
    """One training with the schedule of the run's corpus; see `train`."""
    plan, shape = schedule(run.corpus, run.encoder), run.encoder.split("_")[0]
    splits = {name: flat(part, shape == "han", f"{data.name} {name}") for name, part in data.splits.items()}
    model = build(run.encoder, matrix, outputs_of(run, data), run.hidden or 50, plan["dropout"])
    model = model.to(compute_device())
    return train(model, splits, run, plan["cap"], plan["patience"], plan["clip"], progress)


def read(run: Run, arrays: dict[str, np.ndarray], data: Encoded, progress: bool) -> Traces:
    """Traces of the test set; leave-one-out of its first DELETED documents in the corpus's fixed order, else NaN."""
    model = from_arrays(run.encoder, arrays).requires_grad_(False).to(compute_device())
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
    optimiser = torch.optim.Adam(model.parameters(), lr=run.learning_rate, weight_decay=run.decay, fused=True)
    optimiser.register_step_pre_hook(lambda *_: clipped(model, *clip))
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimiser, mode="max", factor=0.5, patience=0, threshold=1e-4, threshold_mode="rel"
    )
    texts, dev, rng = splits["train"], splits["dev"], np.random.default_rng(run.seed)
    best, best_epoch, weights, history = -1.0, 0, {}, []
    rows = lambda: batches(texts, run.batch, cap, rng)
    summed = lambda rows: losses(model, texts, rows)
    for epoch, loss in trained(model, optimiser, run.epochs, len(texts), rows, summed, progress):
        found, rate = accuracy(model, dev), optimiser.param_groups[0]["lr"]
        history.append({"epoch": epoch, "loss": loss, "dev_accuracy": found, "learning_rate": rate})
        if found > best:
            best, best_epoch, weights = found, epoch, to_arrays(model)
        plateau.step(found)
        if epoch - best_epoch >= patience:
            break
    return Trained({"dev": weights}, history)


def clipped(model: nn.Module, kind: str, limit: float) -> None:
    """Clip the gradients in place, see `train`."""
    clip = nn.utils.clip_grad_value_ if kind == "value" else nn.utils.clip_grad_norm_
    clip(model.parameters(), limit)


def losses(model: Hierarchical, texts: Documents, rows: np.ndarray) -> tuple[Tensor, Tensor]:
    """The mean loss of the documents in `rows`, which a step descends, and its sum."""
    device = model.decoder.weight.device
    labels = torch.as_tensor(texts.labels[rows], device=device)
    loss = nn.functional.cross_entropy(model(**texts.inputs(rows, device)), labels)
    return loss, loss.detach().double() * len(rows)


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
