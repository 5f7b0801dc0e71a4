"""Serrano & Smith's networks: traces of the items that they attend to, sentences or words."""

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from attn_core.device import fitting
from attn_core.documents import Documents, flat
from attn_core.models.classifier import Tensors, output_slope
from attn_core.models.hierarchical import Hierarchical, owners, softmax_within, sum_within
from attn_core.traces import Traces, cut, output_change, with_ties
from attn_core.tracing.arguments import check, evaluating
from attn_core.tracing.chunks import over_chunks
from attn_core.tracing.decoder import decoder_of

DOCUMENTS = 256
WORDS = 16_384
"""Documents and words that are traced side by side."""

MOST_ITEMS = 1_000
"""Longer documents are passed over when their items are left out: the cost grows with the square."""


def trace_items(
    model: Hierarchical,
    documents: Documents,
    deleted: np.ndarray,
    name: str = "these texts",
    progress: bool = True,
) -> Traces:
    """Traces of the documents in their order, one entry an item: a sentence of a HAN, a word of a FLAN.

    gradient: signed <e, dp/de>, p of the predicted class, summed over the item's words; the attention over the items
    is held constant, that over the words of a sentence is not. leave_one_out: signed change of p when the item is
    deleted from the document and the network run again (of a HAN what comes after the sentences' vectors, which do not
    depend on other sentences); of the documents `deleted` (rows) alone, NaN elsewhere, where an item is the only one
    and in documents of more than MOST_ITEMS. name: of the texts, for errors.
    """
    check(model, documents)
    texts = flat(documents, model.sentence is not None, name)
    items = np.diff(texts.items)  # (D,)
    decoder = decoder_of(model, documents)
    device = decoder.bias.device
    with evaluating(model):
        chunks = cut(texts.lengths, DOCUMENTS, fitting(device, WORDS))
        arrays = over_chunks(partial(read_items, model, texts), chunks, texts.lengths, items, device, progress)
        traces = decoder.traces(documents, texts.items, arrays)

        leave_one_out = np.full(items.sum(), np.nan, np.float32)
        chosen = np.isin(np.arange(len(texts)), deleted) & (items > 1) & (items <= MOST_ITEMS)
        if chosen.any():
            rows = np.flatnonzero(chosen)
            left_out = np.where(chosen, items, 0)
            work = partial(read_without, model, texts)
            arrays = over_chunks(work, list(rows[:, None]), left_out**2.0, left_out, device, progress)
            leave_one_out[np.repeat(chosen, items)] = output_change(traces.take(rows), arrays["logits"])
    traces = replace(traces, leave_one_out=leave_one_out)
    return traces if model.sentence is not None else with_ties(traces, texts.ids)


def read_items(model: Hierarchical, texts: Documents, rows: np.ndarray) -> Tensors:
    """Score (N,), contribution (N, K) and gradient (N,) of the items of some documents."""
    with torch.inference_mode(False), torch.enable_grad():
        arguments = texts.inputs(rows, model.decoder.weight.device)
        counts = arguments["counts"]
        sentence_lengths = arguments.get("sentence_lengths")
        e = model.embedding(arguments["words"]).detach().requires_grad_()  # (W, E)
        h = model.document.encoder(model.items(arguments["words"], sentence_lengths, e), counts)  # (N, H)
        score = model.document.attention(h).detach()
        contribution = h @ model.decoder.weight.t()  # (N, K)
        attention = softmax_within(score, counts)
        logits = sum_within(attention[:, None] * contribution, counts) + model.decoder.bias  # (D, K)
        (e_slope,) = torch.autograd.grad(logits, e, output_slope(logits.detach()))
    gradient = (e.detach() * e_slope).sum(1)  # (W,)
    if sentence_lengths is not None:
        gradient = torch.zeros_like(score).index_add_(0, owners(sentence_lengths), gradient)
    return {"score": score, "contribution": contribution, "gradient": gradient}


def read_without(model: Hierarchical, texts: Documents, row: np.ndarray) -> Tensors:
    """Logits (n, K) of one document (row (1,)) without each of its n > 1 items in turn."""
    arguments = texts.inputs(row, model.decoder.weight.device)
    items = model.items(arguments["words"], arguments.get("sentence_lengths"))  # (n, ...)
    n = len(items)
    position = torch.arange(n - 1, device=items.device)
    logits = []
    for missing in torch.arange(n, device=items.device).split(max(1, fitting(items.device, WORDS) // (n - 1))):
        source = position + (position >= missing[:, None])  # (B, n - 1) the items of each shortened document
        logits.append(model.decode(items[source.flatten()], torch.full_like(missing, n - 1)))
    return {"logits": torch.cat(logits)}
