"""From a trained model to traces: attention, contributions, gradient importance, leave-one-out. The definition.

Jain & Wallace 2019, Algorithm 1, for texts and pairs of texts; Serrano & Smith 2019 for the items of their networks.
Scores and contributions come from forward passes, gradients from autograd with the attention given, and what a deletion
changes from the shortened text, encoded anew. So any encoder and attention will do that have the calling form of
models/encoders.py and read the ids through their `embedding` alone. Two ways to the same numbers, to rounding, in a
fraction of the time: encoders in REACH read no more of a shortened text than the deletion changes, and `fast.bilstm`.

Texts are cut into chunks of like length. On a CPU the chunks are shared out to as many Python threads as torch has
(`torch.get_num_threads`), each with single-threaded kernels: torch works outside the interpreter lock, every thread
keeps its own cache, and nothing waits at barriers, which cost a factor of ten as soon as another process wants a
core. Chunks do not depend on the number of threads, so results do not either.
"""

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from attn_core import fast
from attn_core.corpora.documents import Documents, flat, pad, take_ragged
from attn_core.errors import AttnError
from attn_core.fast import bilstm
from attn_core.models.classifier import Classifier, output_slope, real_tokens
from attn_core.models.encoders import CNN, Average, NoEncoder
from attn_core.models.hierarchical import Hierarchical, owners, softmax_within, sum_within
from attn_core.models.paired import Paired
from attn_core.traces import Traces, cut, output_change, with_ties

BUDGETS = {"cpu": (200, 16_384, 1024), "cuda": (8192, 131_072, 16_384)}
"""Texts and tokens of a chunk, and its tokens with leave-one-out: texts side by side make the products large, states
are to stay in cache (a BiLSTM's 3 kB a token, and 3.6 kB a deleted word)."""

REACH = {CNN: 3, Average: 0, NoEncoder: 0}
"""Words to either side that a state depends on: a deletion changes no other. Of other encoders nothing is known."""

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
    with torch.inference_mode():
        decoder, queries = decoder_of(model, documents)
        known = fast.enabled() and bilstm.has_fast_form(model)
        read = bilstm.reader(model, documents, gradient) if known else partial(Texts, model, documents)

    def work(rows: np.ndarray) -> dict[str, Tensor]:
        index = torch.as_tensor(rows, device=decoder.bias.device)
        own, text = decoder.of(index), read(rows, None if queries is None else queries[index])
        score = text.score.masked_fill(~text.real, -torch.inf)
        attention = score.softmax(0)
        context = (attention[..., None] * text.contribution).sum(0)
        found = {"score": score, "contribution": text.contribution}
        if gradient:
            found["gradient"] = text.importance(attention, own.slope(context))
        if leave_one_out:
            without = own.logits(text.contexts_without())  # (n + 1 or L, B, K)
            if queries is not None:  # total variation distance over all outputs
                without = 0.5 * (without.softmax(-1) - own.logits(context).softmax(-1)).abs().sum(-1)
            found["without"] = without
        # of the words alone, document after document
        return {name: values.transpose(0, 1)[text.real[: len(values)].t()] for name, values in found.items()}

    device = decoder.bias.device.type
    texts, tokens, less = BUDGETS[device]
    parts = cut(documents.lengths, texts, less if leave_one_out else tokens)
    costs = documents.lengths.astype(np.float64) ** (2 if leave_one_out else 1)
    with torch.backends.cudnn.flags(enabled=False):  # it gives recurrent encoders no gradient outside training mode
        found = over_chunks(work, parts, costs, documents.lengths - 2, device, progress)
    without = found.pop("without", None)
    traces = assembled(documents, documents.word_offsets, decoder, found)
    if not leave_one_out:
        return traces
    change = output_change(traces, without) if queries is None else without
    return with_ties(replace(traces, leave_one_out=change.astype(np.float32)), words)


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


@dataclass(frozen=True)
class Decoder:
    """logits = bias + context, or bias + readout tanh(query + context) with disallowed outputs at minus infinity."""

    bias: Tensor  # (K,)
    readout: Tensor | None = None  # (K, M)
    query: Tensor | None = None  # (B, M), all constants of the hidden layer
    allowed: Tensor | None = None  # (B, K)

    def of(self, rows: Tensor) -> "Decoder":
        """The decoder of some of the documents."""
        query, allowed = (None if part is None else part[rows] for part in (self.query, self.allowed))
        return replace(self, query=query, allowed=allowed)

    def logits(self, context: Tensor) -> Tensor:
        """Logits (..., B, K) of attended contributions (..., B, K or M)."""
        if self.readout is None:
            return self.bias + context
        logits = (self.query + context).tanh() @ self.readout.t().to(context.dtype) + self.bias
        return logits if self.allowed is None else logits.masked_fill(~self.allowed, -torch.inf)

    def slope(self, context: Tensor) -> Tensor:
        """dp / dcontext (B, K or M); p as in `output_slope`."""
        slope = output_slope(self.logits(context))
        if self.readout is None:
            return slope
        hidden = (self.query + context).tanh()
        return (1 - hidden) * (1 + hidden) * (slope @ self.readout)


def decoder_of(model: Classifier | Paired, documents: Documents) -> tuple[Decoder, Tensor | None]:
    """The decoder of all documents, and for pairs the summaries q (D, H) of their second texts."""
    decoder = model.decoder
    if not isinstance(model, Paired):
        return Decoder(decoder.bias), None
    queries, device = documents.queries, decoder.output.bias.device
    q = decoder.output.bias.new_empty(len(documents), model.encoder.width)
    order = np.argsort(-queries.lengths, kind="stable")
    for rows in np.array_split(order, -(-len(order) // 512)):
        ids, lengths = (torch.as_tensor(array, device=device) for array in pad(queries, rows))
        q[torch.as_tensor(rows, device=device)] = model.summary(ids, lengths)
    if (allowed := documents.allowed(model.outputs)) is not None:
        allowed = torch.as_tensor(allowed, device=device)
    return Decoder(decoder.output.bias, decoder.output.weight, decoder.query(q) + decoder.context.bias, allowed), q


def assembled(documents: Documents, offsets: np.ndarray, decoder: Decoder, found: dict[str, np.ndarray]) -> Traces:
    """Traces of the tokens at offsets (D + 1,) from their arrays in `found`; the largest score of a document is 0."""
    found["score"] -= np.repeat(np.maximum.reduceat(found["score"], offsets[:-1]), np.diff(offsets))
    single = lambda part: None if part is None else part.detach().float().cpu().numpy().copy()
    return Traces(
        documents.doc_ids, documents.labels, offsets.astype(np.int64), **found, bias=single(decoder.bias),
        query=single(decoder.query), readout=single(decoder.readout), allowed=documents.allowed(len(decoder.bias)),
    )  # fmt: skip


def over_chunks(
    work: Callable[[np.ndarray], dict[str, Tensor]],
    parts: list[np.ndarray],
    costs: np.ndarray,
    tokens: np.ndarray,
    device: str,
    progress: bool,
) -> dict[str, np.ndarray]:
    """work(rows) of each part; its token arrays are put together in document order, as float32.

    costs (D,): what the bar counts, in proportion to a document's time; tokens (D,) of each in the results.
    """
    starts = np.concatenate([[0], np.cumsum(tokens)])
    results: dict[str, np.ndarray] = {}
    bar = tqdm(
        total=costs.sum(),
        desc="tracing",
        disable=not progress,
        delay=2,
        bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed} so far, {remaining} left",
    )
    with bar:
        for rows, found in zip(parts, in_threads(work, parts, device), strict=True):
            places = np.concatenate([np.arange(starts[row], starts[row + 1]) for row in rows])
            for name, values in found.items():
                if name not in results:
                    results[name] = np.empty((starts[-1], *values.shape[1:]), np.float32)
                results[name][places] = values
            bar.update(costs[rows].sum())
    return results


def in_threads(work: Callable, parts: list, device: str) -> Iterator:
    """work(part) of each part, in order, without autograd; on a CPU in single-threaded Python threads."""

    def task(part):
        with torch.inference_mode():
            return {name: values.detach().float().cpu().numpy() for name, values in work(part).items()}

    before = torch.get_num_threads()
    if device != "cpu" or min(before, len(parts)) == 1:
        yield from map(task, parts)
        return
    pool = ThreadPoolExecutor(min(before, len(parts)), initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from pool.map(task, parts)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)  # what later threads start with; this thread's own setting never changed


# Any encoder and attention


class Texts:
    """B texts of like length, start and end included, read by the model as it stands; time first, as in `fast.bilstm`.

    real (L, B): True on words; score (L, B), minus infinity elsewhere; contribution (L, B, K).
    """

    def __init__(self, model: Classifier | Paired, documents: Documents, rows: np.ndarray, q: Tensor | None) -> None:
        device = model.encoder.embedding.weight.device
        self.model, self.q = model, () if q is None else (q,)
        self.ids, self.lengths = (torch.as_tensor(array, device=device) for array in pad(documents, rows))
        self.value = (model.decoder.context if isinstance(model, Paired) else model.decoder).weight  # (K, H)
        self.mask = real_tokens(self.ids, self.lengths)  # (B, L)
        self.h, score, contribution = self.read(self.ids, self.lengths, self.mask, *self.q)
        self.real, self.score, self.contribution = self.mask.t(), score.t(), contribution.transpose(0, 1)

    def read(self, ids: Tensor, lengths: Tensor, mask: Tensor, *q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """States (R, l, H), scores (R, l) and contributions (R, l, K) of texts (R, l)."""
        h = self.model.encoder(ids, lengths, mask)
        return h, self.model.scores(h, mask, *q), h @ self.value.t()

    def importance(self, attention: Tensor, slope: Tensor) -> Tensor:
        """<e_t, dp/de_t>, (L, B), by autograd, with the attention (L, B) held constant.

        slope (B, K) = dp / d(attended contribution), so dp/dh_t = attention_t * slope @ value.
        """
        pull = attention.t()[..., None] * (slope @ self.value)[:, None]  # (B, L, H)
        try:
            with torch.inference_mode(False), torch.enable_grad():
                ids, *given = (part.clone() for part in (self.ids, self.lengths, self.mask))  # inference's are barred
                encoder, table, places = own_rows(self.model.encoder, ids)
                h = encoder(places, *given)
                e_slope = torch.autograd.grad(h, table, pull, allow_unused=True)[0]
            same = e_slope is not None and torch.allclose(h[self.mask], self.h[self.mask], rtol=1e-3, atol=1e-4)
        except IndexError:  # another table, of fewer rows
            same = False
        if not same:
            raise AttnError(
                f"{type(self.model.encoder).__name__}: it reads the words otherwise than by its `embedding`, where the "
                "gradients are taken; without them: trace(..., gradient=False)"
            )
        return (e_slope * table.detach()).sum(-1)[places].t()

    def contexts_without(self) -> Tensor:
        """Attended contributions without each word in turn, (L, B, K) float64; NaN where no word is left."""
        found = self.contribution.new_full(self.contribution.shape, torch.nan, dtype=torch.float64)
        several = self.mask & (self.lengths > 3)[:, None]  # the deleted words, text after text
        tokens = BUDGETS[found.device.type][1]
        for part in several.nonzero().split(max(1, tokens // self.ids.shape[1])):
            text, gone = part.t()
            found[gone, text] = self.context_without(text, gone)
        return found

    def context_without(self, text: Tensor, gone: Tensor) -> Tensor:
        """Attended contributions (R, K) of the texts without their words at positions gone, (R,) each.

        Their sums are taken in double precision: words that occur twice, or in equal windows, make equal differences,
        and Kendall's tau is to see them as the ties they are, not as the order of rounding errors.
        """
        kept = torch.arange(self.ids.shape[1] - 1, device=gone.device)
        kept = kept + (kept >= gone[:, None])  # (R, L - 1)
        ids, lengths = self.ids[text[:, None], kept], self.lengths[text] - 1
        q, reach = [part[text] for part in self.q], reach_of(self.model)
        if reach is None:
            _, score, value = self.read(ids, lengths, real_tokens(ids, lengths), *q)
        else:
            score, value = self.score[kept, text[:, None]], self.contribution[kept, text[:, None]]
        if reach:  # the states whose windows hold the gap, from as much of the text as they read
            around = gone[:, None] + torch.arange(-2 * reach, 2 * reach, device=gone.device)  # (R, 4 reach)
            near = nn.functional.pad(ids, (2 * reach, 2 * reach)).gather(1, around + 2 * reach)
            mask = (around > 0) & (around < lengths[:, None] - 1)
            _, near_score, near_value = self.read(near, mask.sum(1), mask, *q)
            changed = around[:, reach:-reach].clamp(0, ids.shape[1] - 1)  # start and end have no weight
            score.scatter_(1, changed, near_score[:, reach:-reach])
            value.scatter_(1, changed[..., None].expand(-1, -1, value.shape[-1]), near_value[:, reach:-reach])
        return (score.double().softmax(-1)[:, None] @ value.double()).squeeze(1)


def own_rows(encoder: nn.Module, ids: Tensor) -> tuple[nn.Module, Tensor, Tensor]:
    """A copy of the encoder in whose table each token of ids (B, L) has a row of its own, the table (B L + 1, E), and
    the tokens' rows (B, L); all else is shared.

    So a word that stands twice has two vectors, each with its own gradient, whichever way an encoder looks them up.
    Row 0 stays that of the pad.
    """
    shared = encoder.state_dict(keep_vars=True).values()
    encoder, whole = copy.deepcopy(encoder, {id(part): part for part in shared}), encoder.embedding.weight
    table = nn.Parameter(torch.cat([whole[:1], whole[ids.flatten()]]).detach())
    encoder.embedding.weight, encoder.embedding.num_embeddings = table, len(table)
    return encoder, table, torch.arange(1, len(table), device=ids.device).view_as(ids) * (ids > 0)


def reach_of(model: Classifier | Paired) -> int | None:
    """Words to either side that a token's state and score depend on, None where they may depend on all: for encoders
    and attentions that are not ours, subclasses too."""
    if not fast.enabled() or not bilstm.scores_alone(model.attention) or getattr(model.encoder, "context", 0.0):
        return None
    return REACH.get(type(model.encoder))


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
    decoder, items = Decoder(model.decoder.bias), np.diff(texts.items)
    device, parts = decoder.bias.device.type, cut(texts.lengths, DOCUMENTS, WORDS)
    found = over_chunks(partial(read_items, model, texts), parts, texts.lengths, items, device, progress)
    chosen = np.isin(np.arange(len(texts)), deleted) & (items > 1) & (items <= MOST_ITEMS)
    traces, change = assembled(documents, texts.items, decoder, found), np.full(items.sum(), np.nan, np.float32)
    if chosen.any():
        rows, sizes = np.flatnonzero(chosen), np.where(chosen, items, 0)
        parts = list(rows[:, None])
        less = over_chunks(partial(read_without, model, texts), parts, sizes**2.0, sizes, device, progress)
        change[np.repeat(chosen, items)] = output_change(traces.take(rows), less["logits"])
    traces = replace(traces, leave_one_out=change)
    return traces if model.sentence is not None else with_ties(traces, texts.ids)


def read_items(model: Hierarchical, texts: Documents, rows: np.ndarray) -> dict[str, Tensor]:
    """Score (N,), contribution (N, K) and gradient (N,) of the items of some documents."""
    with torch.inference_mode(False), torch.enable_grad():
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
    return {"score": score, "contribution": contribution, "gradient": gradient}


def read_without(model: Hierarchical, texts: Documents, row: np.ndarray) -> dict[str, Tensor]:
    """Logits (n, K) of one document (row (1,)) without each of its n > 1 items in turn."""
    given = texts.inputs(row, model.decoder.weight.device)
    items = model.items(given["words"], given.get("sentence_lengths"))  # (n, ...)
    n = len(items)
    others, parts = torch.arange(n - 1, device=items.device), []
    for missing in torch.arange(n, device=items.device).split(max(1, WORDS // (n - 1))):
        kept = others + (others >= missing[:, None])  # (B, n - 1)
        parts.append(model.decode(items[kept.flatten()], torch.full_like(missing, n - 1)))
    return {"logits": torch.cat(parts)}
