"""From a trained model to traces: attention, contributions, gradient importance, leave-one-out. The definition.

Jain & Wallace 2019, Algorithm 1, for texts and pairs of texts; Serrano & Smith 2019 for the items of their networks.
Scores and contributions come from forward passes, gradients from autograd with the attention given, and what a deletion
changes from the shortened text, encoded anew. So any encoder and attention will do that have the calling form of
models/encoders.py and read the ids through their `embedding` alone. `fast.tracing` gives the same numbers for those of
the papers, to rounding, in a fraction of the time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from attn_core import fast
from attn_core.corpora.documents import Documents, flat, pad, take_ragged
from attn_core.errors import AttnError
from attn_core.fast.states import has_fast_form
from attn_core.fast.tracing import cut, decoder_of, over_chunks
from attn_core.fast.tracing import trace as trace_fast
from attn_core.models.classifier import Classifier, output_slope, real_tokens
from attn_core.models.hierarchical import Hierarchical, owners, softmax_within, sum_within
from attn_core.models.paired import Paired
from attn_core.traces import Traces, output_change, with_ties

ROWS, TEXTS = 256, 64
"""Shortened texts, and whole texts of like length, that are encoded at once."""

DOCUMENTS, WORDS = 256, 16_384
"""Of Serrano & Smith's networks: documents and words traced side by side."""

MOST_ITEMS = 1_000
"""Longer documents are passed over when their items are left out: the cost grows with the square."""


def probabilities(model: Classifier | Paired, documents: Documents) -> np.ndarray:
    """Probability of class 1 of each document, with more than two outputs of the predicted one, (D,) float64."""
    return trace(model, documents, gradient=False, leave_one_out=False, progress=False).p


def trace(
    model: Classifier | Paired | Hierarchical,
    documents: Documents,
    gradient: bool = True,
    leave_one_out: bool = True,
    progress: bool = True,
) -> Traces:
    """Traces of the documents in their order, unrounded; computed on the model's device.

    gradient: signed <e_t, dp/de_t>, attention held constant. leave_one_out: the text re-encoded and re-attended
    without word t, NaN where it is the only word: signed p(without t) - p, for pairs the total variation distance over
    all outputs. p is the probability of class 1, or with more than one logit that of the predicted class. Of pairs
    only the first text's words are traced. Jain & Wallace 2019, Algorithm 1, take absolute values of both.
    Deviation: p (1 - p) is formed without cancellation, so the gradients of a saturated output do not vanish as in the
    authors' single precision. progress: a bar with the time left, for work of more than two seconds. AttnError as in
    `check` and `flat`, and for an encoder that reads the words otherwise than by its embedding. Of Serrano & Smith's
    networks the items are traced, always with their gradients, see `trace_items`.
    """
    if isinstance(model, Hierarchical):
        every = np.arange(len(documents) if leave_one_out else 0)
        return trace_items(model, documents, every, progress=progress)
    check(documents, model.encoder.embedding)
    if isinstance(model, Paired):
        if documents.query_ids is None:
            raise AttnError("the documents have no second text (query_ids); models of pairs need a question or "
                            "hypothesis")  # fmt: skip
        check(documents.queries, model.query_encoder.embedding)
    words = flat(documents, False, "these texts").ids
    form = trace_fast if fast.enabled() and has_fast_form(model) else trace_plainly
    traces = form(model, documents, gradient, leave_one_out, progress)
    return with_ties(traces, words) if leave_one_out else traces


def check(documents: Documents, embedding: nn.Embedding) -> None:
    """AttnError unless offsets cut the ids, there is a label and a doc_id for each text, and every id has a vector."""
    count, tokens, words = len(documents.offsets) - 1, len(documents.ids), embedding.num_embeddings
    if documents.offsets[0] != 0 or documents.offsets[-1] != tokens or (documents.lengths < 0).any():
        raise AttnError(f"offsets must rise from 0 to the number of ids, {tokens}; they go from "
                        f"{documents.offsets[0]} to {documents.offsets[-1]}: make them with np.cumsum of the lengths"
                        )  # fmt: skip
    for name, values in (("labels", documents.labels), ("doc_ids", documents.doc_ids)):
        if len(values) != count:
            raise AttnError(f"{len(values)} {name} for {count} texts; give one for each")
    if len(wrong := np.flatnonzero((documents.ids < 0) | (documents.ids >= words))):
        row = np.searchsorted(documents.offsets, wrong[0], side="right") - 1
        raise AttnError(f"document {documents.doc_ids[row]} has the token id {documents.ids[wrong[0]]}; this model's "
                        f"table has rows 0 to {words - 1}: encode the texts with the model's own vocabulary"
                        )  # fmt: skip


def trace_plainly(
    model: Classifier | Paired, documents: Documents, gradient: bool, leave_one_out: bool, progress: bool
) -> Traces:
    """`trace` one text at a time."""
    traces = attended(model, documents)
    found: dict[str, list[np.ndarray]] = {"gradient": [], "leave_one_out": []}
    each = range(len(documents)) if gradient or leave_one_out else ()
    for row in tqdm(each, desc="tracing", delay=2, disable=not progress):
        text = inputs(model, documents, np.array([row]))
        if gradient:
            words = slice(*traces.offsets[row : row + 2])
            found["gradient"].append(slopes(model, text, traces.attention[words]))
        if leave_one_out:
            found["leave_one_out"].append(deletions(model, text))
    columns = {name: np.concatenate(parts) for name, parts in found.items() if parts}
    if leave_one_out and not isinstance(model, Paired):
        columns["leave_one_out"] = output_change(traces, columns["leave_one_out"])
    return replace(traces, **{name: values.astype(np.float32) for name, values in columns.items()})


def inputs(
    model: Classifier | Paired, documents: Documents, rows: np.ndarray, given: np.ndarray | None = None
) -> dict[str, Tensor]:
    """The documents `rows` as arguments of the model's forward pass, on its device. given (T,): attention weights of
    the words to use instead of the model's own."""
    found = dict(zip(("ids", "lengths"), pad(documents, rows), strict=True))
    if isinstance(model, Paired):
        found |= zip(("query_ids", "query_lengths"), pad(documents.queries, rows), strict=True)
        if (allowed := documents.take(rows).allowed(model.outputs)) is not None:
            found["allowed"] = allowed
    if given is not None:
        found["given"] = placed(given, documents, rows)
    device = model.encoder.embedding.weight.device
    return {name: torch.as_tensor(array, device=device) for name, array in found.items()}


def placed(values: np.ndarray, documents: Documents, rows: np.ndarray) -> np.ndarray:
    """Numbers of words (T,), start and end not counted, on the rows' positions: (B, L) float32, 0 elsewhere."""
    lengths = documents.lengths[rows]
    position = np.arange(lengths.max(initial=0))
    real = (position > 0) & (position < lengths[:, None] - 1)  # (B, L), as models.classifier.real_tokens
    array = np.zeros(real.shape, np.float32)
    array[real] = take_ragged(values, documents.word_offsets, rows)[0]
    return array


def attended(model: Classifier | Paired, documents: Documents) -> Traces:
    """Scores and contributions alone, by batches of like length."""
    with torch.no_grad():
        decoder, queries = decoder_of(model, documents)
    value = model.decoder.weight if queries is None else model.decoder.context.weight

    def work(rows: np.ndarray) -> dict[str, np.ndarray]:
        text = inputs(model, documents, rows)
        mask = real_tokens(text["ids"], text["lengths"])
        h = model.encode(text["ids"], text["lengths"])  # (B, L, H)
        scores = model.scores(h, mask, *(() if queries is None else (queries[torch.as_tensor(rows)],)))
        found = {"score": scores - scores.amax(1, keepdim=True), "contribution": h @ value.t()}
        return {name: values[mask].cpu().numpy() for name, values in found.items()}

    parts = np.array_split(np.argsort(-documents.lengths, kind="stable"), -(-len(documents) // TEXTS))
    found = over_chunks(work, parts, documents.lengths, documents.lengths - 2, decoder.bias.device.type, False)
    constants = {"bias": decoder.bias, "readout": decoder.readout, "query": decoder.query}
    found |= {name: None if part is None else part.float().cpu().numpy().copy() for name, part in constants.items()}
    starts = documents.word_offsets.astype(np.int64)
    allowed = documents.allowed(model.outputs)
    return Traces(documents.doc_ids, documents.labels, starts, allowed=allowed, **found)


def slopes(model: Classifier | Paired, text: dict[str, Tensor], attention: np.ndarray) -> np.ndarray:
    """<e_t, dp/de_t> (n,) of one text by autograd, its attention (n,) held constant."""
    ids, encoder = text["ids"][0], model.encoder
    given = torch.zeros_like(text["ids"], dtype=encoder.embedding.weight.dtype)
    given[0, 1:-1] = torch.as_tensor(attention)
    with torch.inference_mode(False), torch.enable_grad(), own_rows(encoder.embedding, ids) as (e, places):
        with torch.backends.cudnn.flags(enabled=False):  # it gives recurrent encoders no gradient outside training mode
            logits = model(**text | {"ids": places[None]}, given=given)
        slope = torch.autograd.grad(logits, e, output_slope(logits.detach()), allow_unused=True)[0]
    with torch.no_grad():
        same = torch.allclose(logits, model(**text, given=given), rtol=1e-3, atol=1e-4)
    if slope is None or not same:
        raise AttnError(
            f"{type(encoder).__name__}: it reads the words otherwise than by its `embedding`, where the "
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


def deletions(model: Classifier | Paired, text: dict[str, Tensor]) -> np.ndarray:
    """What is left without each of a text's n words: logits (n, K), of pairs the outputs' distance (n,); NaN of one."""
    ids, paired = text["ids"][0], isinstance(model, Paired)
    words = len(ids) - 2
    if words == 1:
        return np.full(1 if paired else (1, model.outputs), np.nan)
    keep = ~torch.eye(len(ids), dtype=torch.bool, device=ids.device)[1:-1]
    shorter = ids.expand(words, -1)[keep].reshape(words, len(ids) - 1)
    parts = []
    with torch.no_grad():
        for part in shorter.split(ROWS):
            others = {name: values.expand(len(part), *values.shape[1:]) for name, values in text.items()}
            parts.append(model(**others | {"ids": part, "lengths": others["lengths"] - 1}))
        found = torch.cat(parts)
        if paired:
            found = 0.5 * (found.softmax(-1) - model(**text).softmax(-1)).abs().sum(-1)
    return found.cpu().numpy()


# Serrano & Smith's networks


def trace_items(
    model: Hierarchical, documents: Documents, deleted: np.ndarray, name: str = "these texts", progress: bool = True
) -> Traces:
    """Traces of the documents in their order, one entry an item: a sentence of a HAN, a word of a FLAN.

    gradient: signed <e, dp/de>, p of the predicted class, summed over the item's words; the attention over the items
    is held constant, that over the words of a sentence is not. leave_one_out: signed change of p when the item is
    deleted from the document and the network run again (of a HAN what comes after the sentences' vectors, which do not
    depend on other sentences); of the documents `deleted` (rows) alone, NaN elsewhere, where an item is the only one
    and in documents of more than MOST_ITEMS. The model must be in evaluation mode. name: of the texts, for errors.
    """
    check(documents, model.embedding)
    texts = flat(documents, model.sentence is not None, name)
    device, items = model.decoder.weight.device, np.diff(texts.items)
    work = lambda rows: {key: value.cpu().numpy() for key, value in read_items(model, texts, rows).items()}
    parts = cut(texts.lengths, DOCUMENTS, WORDS)
    found = over_chunks(work, parts, texts.lengths.astype(float), items, device.type, progress)
    found["score"] -= np.repeat(np.maximum.reduceat(found["score"], texts.items[:-1]), items)
    left_out = np.full(len(found["score"]), np.nan, np.float32)
    traces = Traces(
        doc_id=documents.doc_ids, label=documents.labels, offsets=texts.items.astype(np.int64),
        bias=model.decoder.bias.detach().float().cpu().numpy(), leave_one_out=left_out, **found,
    )  # fmt: skip
    several = deleted[(items[deleted] > 1) & (items[deleted] <= MOST_ITEMS)]
    if len(several) == 0:
        return traces
    without = lambda row: {"logits": logits_without(model, texts, several[row]).cpu().numpy()}
    part, rows = traces.take(several), list(np.arange(len(several))[:, None])
    logits = over_chunks(without, rows, part.lengths.astype(float) ** 2, part.lengths, device.type, progress)["logits"]
    tokens = np.concatenate([np.arange(*texts.items[row : row + 2]) for row in several])
    left_out[tokens] = output_change(part, logits)
    return traces if texts.sentence_offsets is not None else with_ties(traces, texts.ids)


def read_items(model: Hierarchical, texts: Documents, rows: np.ndarray) -> dict[str, Tensor]:
    """Score (N,), contribution (N, K) and gradient (N,) of the items of some documents."""
    with torch.inference_mode(False), torch.enable_grad():  # over_chunks runs without gradients
        given = texts.inputs(rows, model.decoder.weight.device)
        counts, lengths = given["counts"], given.get("sentence_lengths")
        e = model.embedding(given["words"]).detach().requires_grad_()  # (W, E)
        h = model.document.encoder(model.items(given["words"], lengths, e), counts)
        score = model.document.attention(h).detach()
        contribution = h @ model.decoder.weight.t()  # (N, K)
        logits = sum_within(softmax_within(score, counts)[:, None] * contribution, counts) + model.decoder.bias
        (slope,) = torch.autograd.grad(logits, e, output_slope(logits.detach()))
    gradient = (e.detach() * slope).sum(1)
    if lengths is not None:
        gradient = torch.zeros_like(score).index_add_(0, owners(lengths), gradient)
    return {"score": score, "contribution": contribution.detach(), "gradient": gradient}


def logits_without(model: Hierarchical, texts: Documents, row: np.ndarray) -> Tensor:
    """Logits (n, K) of one document (row (1,)) without each of its n > 1 items in turn."""
    given = texts.inputs(row, model.decoder.weight.device)
    items = model.items(given["words"], given.get("sentence_lengths"))  # (n, ...)
    n = len(items)
    size = max(1, WORDS // (n - 1))  # deletions side by side
    parts = []
    for missing in torch.arange(n, device=items.device).split(size):
        kept = torch.arange(n - 1, device=items.device).repeat(len(missing), 1)  # (B, n - 1)
        kept = kept + (kept >= missing[:, None])
        parts.append(model.decode(items[kept.flatten()], torch.full_like(missing, n - 1)))
    return torch.cat(parts)
