"""Serrano & Smith's models and training: Adam, halved on a plateau, stopped early (specification section 3.2)."""

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.corpora.catalogue import schedule
from attn_core.corpora.documents import Documents, Encoded, flat
from attn_core.corpora.order import fixed_order
from attn_core.models.classifier import to_arrays
from attn_core.models.hierarchical import Hierarchical, build, from_arrays
from attn_core.run import Run
from attn_core.traces import Traces
from attn_core.tracing import inputs, trace_items
from attn_core.training import Arrays, Trained, accuracy, compute_device, outputs_of, progress_bar, train_epoch

DELETED = 300
"""Test documents, the first of the corpus's fixed sample, whose items are left out one by one."""


def fit(run: Run, data: Encoded, matrix: np.ndarray, progress: bool, *bases: Arrays) -> Trained:
    """One training with the schedule of the run's corpus; see `train`."""
    plan = schedule(run.corpus, run.encoder)
    sentences = run.encoder.startswith("han")
    splits = {name: flat(documents, sentences, f"{data.name} {name}") for name, documents in data.splits.items()}
    model = build(run.encoder, matrix, outputs_of(run, data), run.hidden or 50, plan["dropout"])
    return train(model.to(compute_device()), splits, run, plan, progress)


def read(run: Run, arrays: Arrays, data: Encoded, progress: bool, *bases: Arrays) -> Traces:
    """Traces of the test set; leave-one-out of its first DELETED documents in the corpus's fixed order, else NaN."""
    model = from_arrays(run.encoder, arrays).requires_grad_(False).to(compute_device())
    documents = data.splits["test"]
    deleted = fixed_order(documents.doc_ids, data.name)[:DELETED]
    return trace_items(model, documents, deleted, data.name, progress)


def train(
    model: Hierarchical,
    splits: dict[str, Documents],
    run: Run,
    plan: dict,
    progress: bool,
) -> Trained:
    """Train a model on splits 'train' and 'dev' as the run's fields say; keep the checkpoint of the best dev accuracy.

    Cross-entropy, mean over the batch; Adam at torch's defaults but for the rate (fused, which changes no arithmetic)
    and `decay`, 0 in the paper. After an epoch whose dev accuracy is not above 1.0001 times the best so far the rate is
    halved. plan: what `catalogue.schedule` says of patience, the epochs without a strictly better dev accuracy after
    which training stops, at the latest after `epochs`; of clip, ('norm', limit of the whole gradient) or ('value',
    limit of each number); and of cap, see `batches`.
    """
    optimiser = torch.optim.Adam(model.parameters(), lr=run.learning_rate, weight_decay=run.decay, fused=True)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimiser, mode="max", factor=0.5, patience=0, threshold=1e-4, threshold_mode="rel"
    )
    texts = splits["train"]
    rng = np.random.default_rng(run.seed)
    best = -1.0
    best_epoch = 0
    weights: Arrays = {}
    history = []

    def step(rows: np.ndarray) -> Tensor:
        loss = mean_loss(model, texts, rows)
        optimiser.zero_grad()
        loss.backward()
        clip_gradients(model, *plan["clip"])
        optimiser.step()
        return loss.detach().double() * len(rows)

    with progress_bar(run.epochs, len(texts), progress) as bar:
        for epoch in range(run.epochs):
            loss = train_epoch(model, epoch, batches(texts, run.batch, plan["cap"], rng), step, bar)
            dev_accuracy = accuracy(model, splits["dev"])
            rate = optimiser.param_groups[0]["lr"]
            history.append({"epoch": epoch, "loss": loss, "dev_accuracy": dev_accuracy, "learning_rate": rate})
            if dev_accuracy > best:
                best = dev_accuracy
                best_epoch = epoch
                weights = to_arrays(model)
            plateau.step(dev_accuracy)
            if epoch - best_epoch >= plan["patience"]:
                break
    return Trained({"dev": weights}, history)


def clip_gradients(model: nn.Module, kind: str, limit: float) -> None:
    """Clip the gradients in place, see `train`."""
    clip = nn.utils.clip_grad_value_ if kind == "value" else nn.utils.clip_grad_norm_
    clip(model.parameters(), limit)


def mean_loss(model: Hierarchical, texts: Documents, rows: np.ndarray) -> Tensor:
    """The mean loss of the documents in `rows`."""
    labels = torch.as_tensor(texts.labels[rows], device=model.decoder.weight.device)
    return nn.functional.cross_entropy(model(**inputs(model, texts, rows)), labels)


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
