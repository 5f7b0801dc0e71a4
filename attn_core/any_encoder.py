"""Traces of a text classifier whose encoder or attention `tracing` has no fast form for.

By autograd, every deletion encoded anew. Slow (n + 2 forward passes for a text of n words) and general: any module with
the calling form of models/encoders.py will do that reads the ids through its `embedding` alone. Jain & Wallace 2019,
Algorithm 1, with signs kept, as in `tracing.trace`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from attn_core.corpora.batches import Documents, pad
from attn_core.errors import AttnError
from attn_core.models.classifier import Classifier, real_tokens
from attn_core.traces import Traces

ROWS = 256
"""Shortened texts that are encoded at once."""

TEXTS = 64
"""Whole texts of like length that are encoded at once."""


def trace_any(
    model: Classifier, documents: Documents, gradient: bool = True, leave_one_out: bool = True, progress: bool = False
) -> Traces:
    """Traces of the documents in their order, unrounded, as `tracing.trace` makes them."""
    device = model.decoder.weight.device
    if not gradient and not leave_one_out:
        return read_batches(model, documents, device)
    found: dict[str, list[np.ndarray]] = {"score": [], "contribution": [], "gradient": [], "leave_one_out": []}
    rows = [
        torch.as_tensor(ids, dtype=torch.long, device=device)
        for ids in np.split(documents.ids, documents.offsets[1:-1])
    ]
    for ids in tqdm(rows, desc="tracing", delay=2, disable=not progress):
        score, contribution, slope, chosen, p = one_text(model, ids, gradient)
        found["score"].append(score - score.max())
        found["contribution"].append(contribution)
        if gradient:
            found["gradient"].append(slope)
        if leave_one_out:
            found["leave_one_out"].append(deletions(model, ids, chosen) - p)
    return as_traces(model, documents, {name: np.concatenate(parts) for name, parts in found.items() if parts})


def as_traces(model: Classifier, documents: Documents, arrays: dict[str, np.ndarray]) -> Traces:
    """Token arrays of the documents, in their order, as traces."""
    arrays = {name: values.astype(np.float32) for name, values in arrays.items()}
    offsets = np.concatenate([[0], np.cumsum(documents.lengths - 2)]).astype(np.int64)
    bias = model.decoder.bias.detach().float().cpu().numpy()
    return Traces(doc_id=documents.doc_ids, label=documents.labels, offsets=offsets, bias=bias, **arrays)


def read_batches(model: Classifier, documents: Documents, device: torch.device) -> Traces:
    """Scores and contributions alone, by batches of like length: what every epoch of a training asks for."""
    order = np.argsort(-documents.lengths, kind="stable")
    starts = np.concatenate([[0], np.cumsum(documents.lengths - 2)])
    score = np.empty(starts[-1])
    contribution = np.empty((starts[-1], model.outputs))
    for rows in np.array_split(order, -(-len(order) // TEXTS)):
        ids, lengths = (torch.as_tensor(part, device=device) for part in pad(documents, rows))
        with torch.no_grad():
            mask = real_tokens(ids, lengths)
            h = model.encoder(ids, lengths, mask)
            scores, values = model.scores(h, mask), h @ model.decoder.weight.t()
            scores = scores - scores.amax(1, keepdim=True)
        tokens = np.concatenate([np.arange(starts[row], starts[row + 1]) for row in rows])
        score[tokens], contribution[tokens] = scores[mask].cpu().numpy(), values[mask].cpu().numpy()
    return as_traces(model, documents, {"score": score, "contribution": contribution})


def one_text(
    model: Classifier, ids: Tensor, gradient: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int, float]:
    """Scores (n,), contributions (n, K), gradients (n,) or None, the class whose p counts, p of one text (n + 2,)."""
    lengths = torch.tensor([len(ids)], device=ids.device)
    with torch.no_grad():
        h = model.encode(ids[None], lengths)
        score = model.scores(h, real_tokens(ids[None], lengths))
        attention = score.softmax(-1)
        logits = model.decoder((attention[:, None] @ h).squeeze(1))
    chosen = 1 if logits.shape[1] == 1 else int(logits.argmax())
    p = probability(logits, chosen).item()
    contribution = (h[0, 1:-1] @ model.decoder.weight.t()).detach().cpu().numpy()
    slope = slopes(model, ids, h, attention, chosen) if gradient else None
    return score[0, 1:-1].cpu().numpy(), contribution, slope, chosen, p


def slopes(model: Classifier, ids: Tensor, h: Tensor, attention: Tensor, chosen: int) -> np.ndarray:
    """<e_t, dp/de_t> (n,) of a text whose states are h (1, n + 2, H), its attention held constant."""
    lengths = torch.tensor([len(ids)], device=ids.device)
    with torch.inference_mode(False), torch.enable_grad(), own_rows(model.encoder.embedding, ids) as (e, places):
        with torch.backends.cudnn.flags(enabled=False):  # it gives recurrent encoders no gradient outside training mode
            again = model.encode(places[None], lengths)
        logits = model.decoder((attention.clone()[:, None] @ again).squeeze(1))
        p = probability(logits, chosen)[0]
        slope = torch.autograd.grad(p, e, allow_unused=True)[0]
    if slope is None or not torch.allclose(again, h, rtol=1e-3, atol=1e-4):
        raise AttnError(
            f"{type(model.encoder).__name__}: it reads the words otherwise than by its `embedding`, where the "
            "gradients are taken; without them: trace(..., gradient=False)"
        )
    return (slope * e)[places][1:-1].sum(-1).detach().cpu().numpy()


@contextmanager
def own_rows(embedding: nn.Embedding, ids: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """For a while the embedding's table is this text's: (table (n + 3, E), the tokens' rows (n + 2,)).

    So a word that stands twice has two vectors, each with its own gradient, whichever way an encoder looks them up.
    Row 0 stays that of the pad.
    """
    whole, words = embedding.weight, embedding.num_embeddings
    table = nn.Parameter(torch.cat([whole[:1], whole[ids]]).detach())
    embedding.weight, embedding.num_embeddings = table, len(table)
    try:
        yield table, torch.arange(1, len(table), device=ids.device)
    finally:
        embedding.weight, embedding.num_embeddings = whole, words


def deletions(model: Classifier, ids: Tensor, chosen: int) -> np.ndarray:
    """p (n,) of the text without each of its n words; NaN for a text of one word."""
    words = len(ids) - 2
    if words == 1:
        return np.array([np.nan])
    keep = ~torch.eye(len(ids), dtype=torch.bool, device=ids.device)[1:-1]
    shorter = ids.expand(words, -1)[keep].reshape(words, len(ids) - 1)
    with torch.no_grad():
        parts = [model(part, torch.full((len(part),), len(ids) - 1, device=ids.device)) for part in shorter.split(ROWS)]
        return probability(torch.cat(parts), chosen).cpu().numpy()


def probability(logits: Tensor, chosen: int) -> Tensor:
    """p of class 1 from one logit, of class `chosen` from several; (B,) float64."""
    logits = logits.double()
    return logits[:, 0].sigmoid() if logits.shape[1] == 1 else logits.softmax(1)[:, chosen]
