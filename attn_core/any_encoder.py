"""Traces of a text classifier whose encoder or attention `tracing` has no fast form for.

By autograd, every deletion encoded anew. Slow (n + 2 forward passes for a text of n words) and general: any module with
the calling form of models/encoders.py will do that calls its `embedding` on the ids (B, L) as they come. Jain & Wallace
2019, Algorithm 1, with signs kept, as in `tracing.trace`.
"""

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from attn_core.corpora.batches import Documents
from attn_core.errors import AttnError
from attn_core.models.classifier import Classifier, real_tokens
from attn_core.traces import Traces

ROWS = 256
"""Shortened texts that are encoded at once."""


def trace_any(
    model: Classifier, documents: Documents, gradient: bool = True, leave_one_out: bool = True, progress: bool = False
) -> Traces:
    """Traces of the documents in their order, unrounded, as `tracing.trace` makes them."""
    device = model.decoder.weight.device
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
    arrays = {name: np.concatenate(parts).astype(np.float32) for name, parts in found.items() if parts}
    offsets = np.concatenate([[0], np.cumsum(documents.lengths - 2)]).astype(np.int64)
    bias = model.decoder.bias.detach().float().cpu().numpy()
    return Traces(doc_id=documents.doc_ids, label=documents.labels, offsets=offsets, bias=bias, **arrays)


def one_text(
    model: Classifier, ids: Tensor, gradient: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int, float]:
    """Scores (n,), contributions (n, K), gradients (n,) or None, the class whose p counts, p of one text (n + 2,)."""
    held: list[Tensor] = []
    hook = model.encoder.embedding.register_forward_hook(lambda module, inputs, e: held.append(e.requires_grad_()))
    try:
        with torch.inference_mode(False), torch.enable_grad():
            lengths = torch.tensor([len(ids)], device=ids.device)
            h = model.encode(ids[None], lengths)
            if gradient and (not held or held[0].shape[:2] != (1, len(ids))):
                raise AttnError(
                    f"{type(model.encoder).__name__}: its `embedding` must be called on the ids (B, L) as they come, "
                    "one vector a token, for there the gradients are taken; without them: trace(..., gradient=False)"
                )
            score = model.scores(h, real_tokens(ids[None], lengths))
            logits = model.decoder((score.softmax(-1).detach()[:, None] @ h).squeeze(1))  # attention is held constant
            chosen = 1 if logits.shape[1] == 1 else int(logits.argmax())
            p = probability(logits, chosen)[0]
            slope = torch.autograd.grad(p, held[0])[0] if gradient else None
    finally:
        hook.remove()
    contribution = (h[0, 1:-1] @ model.decoder.weight.t()).detach().cpu().numpy()
    signed = None if slope is None else (slope * held[0])[0, 1:-1].sum(-1).detach().cpu().numpy()
    return score[0, 1:-1].detach().cpu().numpy(), contribution, signed, chosen, p.item()


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
