"""The six models of Serrano & Smith (2019) as they are trained and traced."""

import numpy as np
import torch
from torch import Tensor

from attn_core.archive import sample
from attn_core.computing import outputs_of
from attn_core.corpora.batches import Documents, Encoded
from attn_core.corpora.schedules import schedule
from attn_core.decoding import output_change, output_slope
from attn_core.flat import Flat, flat
from attn_core.models.hierarchical import Hierarchical, build, from_arrays, owners, softmax_within, sum_within
from attn_core.plateau import train
from attn_core.runs import Run
from attn_core.traces import Traces
from attn_core.tracing import cut, over_chunks
from attn_core.training import Trained

TEXTS, WORDS = 256, 16_384
"""Documents and words traced side by side."""

DELETED = 300
"""Test documents, the first of the corpus's fixed sample, whose items are left out one by one."""

MOST_ITEMS = 1_000
"""Longer documents are passed over: the cost of leaving out grows with the square."""


def fit(run: Run, data: Encoded, matrix: np.ndarray, device: str, progress: bool) -> Trained:
    """One training with the schedule of the run's corpus; see `plateau.train`."""
    plan, (shape, kind) = schedule(run.corpus), run.encoder.split("_")
    splits = {name: flat(part, shape == "han", f"{data.name} {name}") for name, part in data.splits.items()}
    model = build(run.encoder, matrix, outputs_of(run, data), run.hidden or 50, plan.dropout(run.encoder)).to(device)
    return train(
        model, splits, seed=run.seed, epochs=run.epochs, batch=run.batch, learning_rate=run.learning_rate,
        decay=run.decay, cap=plan.cap[shape], patience=plan.patience[kind], clip=plan.clip[kind], progress=progress,
    )  # fmt: skip


def read(run: Run, arrays: dict[str, np.ndarray], data: Encoded, device: str, progress: bool) -> Traces:
    """Traces of the test set; leave-one-out of its first DELETED documents in the corpus's fixed order, else NaN."""
    model = from_arrays(run.encoder, arrays).requires_grad_(False).to(device)
    documents = data.splits["test"]
    return trace(model, documents, sample(documents.doc_ids, data.name)[:DELETED], data.name, progress)


def trace(
    model: Hierarchical, documents: Documents, deleted: np.ndarray, name: str = "these texts", progress: bool = True
) -> Traces:
    """Traces of the documents in their order, one entry an item: a sentence of a HAN, a word of a FLAN.

    gradient: signed <e, dp/de>, p of the predicted class, summed over the item's words; the attention over the items
    is held constant, that over the words of a sentence is not. leave_one_out: signed change of p when the item is
    deleted from the document and the network run again; of the documents `deleted` (rows) alone, NaN elsewhere, where
    an item is the only one and in documents of more than MOST_ITEMS. A sentence's vector does not depend on other
    sentences, so of a HAN only what comes after the vectors is run again. The model must be in evaluation mode; nothing
    of it is changed.
    """
    texts = flat(documents, model.sentence is not None, name)
    device = model.decoder.weight.device

    def work(rows: np.ndarray) -> dict[str, np.ndarray]:
        return {key: value.cpu().numpy() for key, value in read_items(model, texts, rows).items()}

    parts, items = cut(texts.lengths, TEXTS, WORDS), np.diff(texts.offsets)
    found = over_chunks(work, parts, texts.lengths.astype(float), items, device.type, progress)
    tops = np.maximum.reduceat(found["score"], texts.offsets[:-1])
    found["score"] -= np.repeat(tops, items)
    left_out = np.full(len(found["score"]), np.nan, np.float32)
    traces = Traces(
        doc_id=documents.doc_ids, label=documents.labels, offsets=texts.offsets.astype(np.int64),
        bias=model.decoder.bias.detach().float().cpu().numpy(), leave_one_out=left_out, **found,
    )  # fmt: skip
    several = deleted[(traces.lengths[deleted] > 1) & (traces.lengths[deleted] <= MOST_ITEMS)]
    if len(several) == 0:
        return traces
    part = traces.take(several)
    logits = over_chunks(
        lambda row: {"logits": logits_without(model, texts, several[row]).cpu().numpy()},
        list(np.arange(len(several))[:, None]), part.lengths.astype(float) ** 2, part.lengths, device.type, progress,
    )["logits"]  # fmt: skip
    items = np.concatenate([np.arange(texts.offsets[row], texts.offsets[row + 1]) for row in several])
    left_out[items] = output_change(part, logits)
    return traces


def read_items(model: Hierarchical, texts: Flat, rows: np.ndarray) -> dict[str, Tensor]:
    """Score (N,), contribution (N, K) and gradient (N,) of the items of some documents."""
    with torch.inference_mode(False), torch.enable_grad():  # over_chunks runs without gradients
        given = texts.inputs(rows, model.decoder.weight.device)
        counts, lengths = given["counts"], given.get("sentence_lengths")
        e = model.embedding(given["words"]).detach().requires_grad_()  # (W, E)
        h = model.document.encoder.mix(model.products(given["words"], lengths, e), counts)
        score = model.document.attention(h).detach()
        contribution = h @ model.decoder.weight.t()  # (N, K)
        logits = sum_within(softmax_within(score, counts)[:, None] * contribution, counts) + model.decoder.bias
        (slope,) = torch.autograd.grad(logits, e, output_slope(logits.detach()))
    gradient = (e.detach() * slope).sum(1)
    if lengths is not None:
        gradient = torch.zeros_like(score).index_add_(0, owners(lengths), gradient)
    return {"score": score, "contribution": contribution.detach(), "gradient": gradient}


def logits_without(model: Hierarchical, texts: Flat, row: np.ndarray) -> Tensor:
    """Logits (n, K) of one document (row (1,)) without each of its n > 1 items in turn."""
    given = texts.inputs(row, model.decoder.weight.device)
    products = model.products(given["words"], given.get("sentence_lengths"))  # (n, ...)
    n = len(products)
    size = max(1, WORDS // (n - 1))  # deletions side by side
    parts = []
    for missing in torch.arange(n, device=products.device).split(size):
        kept = torch.arange(n - 1, device=products.device).repeat(len(missing), 1)  # (B, n - 1)
        kept = kept + (kept >= missing[:, None])
        parts.append(model.decode(products[kept.flatten()], torch.full_like(missing, n - 1)))
    return torch.cat(parts)
