"""MiniLM judged by the state of [CLS] alone, fine-tuned as `pretrained` says: its layers opened, ten rankings of its
word pieces, and what the last layer decides under other weights. Not in the three papers.

Everything is read from texts of one length side by side, [CLS] and [SEP] included: B texts of n pieces, L = n + 2
places, A heads of width W, states of width H = A W. z is the logit towards the predicted class. The formulas are those
under which the methods are known; the papers that are named were not read for this.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy import ndarray
from torch import Tensor, nn

from attn_core.device import fitting
from attn_core.documents import Documents
from attn_core.experiments import draws
from attn_core.experiments.tables import IDENTITY
from attn_core.models.classifier import Tensors, real_tokens
from attn_core.traces import chunks, maxima, sigmoid
from attn_core.tracing.chunks import over_chunks
from attn_core.training import Arrays
from attn_lab.data.order import fixed_order
from attn_lab.more import piecewise, rankings
from attn_lab.more.minilm import MiniLM

DROPPED = 0.1
"""Share of the numbers of [CLS] that training sets to zero."""

STEPS = 32
"""Of the path of integrated gradients."""

RANKED = 320
"""Documents, the first of the corpus's fixed order, whose pieces are ranked and deleted."""

OPENED = 2_000
"""Documents, likewise, of which attention by layer and the last layer are read."""

TOKENS = {"cpu": 2_048, "cuda": 8_192}
"""Kind of device -> places that are read side by side."""


def roc_auc(model: "FirstState", documents: Documents) -> float:
    """Of a split."""
    from sklearn.metrics import roc_auc_score

    p = Reader(model, (), False).p(texts_of(documents))
    return float(roc_auc_score(documents.labels, p))


# ---- the model, and its layers ---------------------------------------------------------------------------------------


class FirstState(nn.Module):
    """logits = decoder(h_1), h_1 the last layer's state of the first position, [CLS].

    Devlin et al. 2019, section 4.1. It has no attention of its own: [CLS] reads the words by that of the layers.
    """

    def __init__(self, encoder: MiniLM, outputs: int = 1) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(DROPPED)
        self.decoder = nn.Linear(encoder.width, outputs)
        self.outputs = outputs

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Logits (B, K) of texts (B, L), [CLS] and [SEP] included."""
        h = self.encoder(ids, lengths, real_tokens(ids, lengths))
        return self.decoder(self.dropout(h[:, 0]))


@dataclass
class Opened:
    """B texts of one length L, [CLS] and [SEP] included, layer by layer; A heads of width W, H = A W."""

    word: Tensor  # (B, L, H) vectors of the word pieces
    embedded: Tensor  # (B, L, H) with those of place and type: what the first LayerNorm reads
    states: list[Tensor]  # (B, L, H) before each layer, and after the last
    attention: list[Tensor]  # of each layer, (B, A, L, L): row i is what position i reads
    value: Tensor  # (B, A, L, W) of the last layer
    logit: Tensor  # (B,)


def opened(model: FirstState, word: Tensor) -> Opened:
    """Texts given as vectors of their word pieces (B, L, H), read as by the model, in evaluation mode."""
    encoder = model.encoder
    length = word.shape[1]
    embedded = word + encoder.positions.weight[:length] + encoder.kind
    states = [encoder.norm(embedded)]
    weights = []
    for layer in encoder.layers:
        attention, value = attended(layer, states[-1])
        weights.append(attention)
        states.append(after(layer, gathered(attention, value), states[-1]))
    logit = model.decoder(states[-1][:, 0])[:, 0]
    return Opened(word, embedded, states, weights, value, logit)


def attended(layer: nn.TransformerEncoderLayer, h: Tensor) -> tuple[Tensor, Tensor]:
    """Attention (B, A, L, L) and values (B, A, L, W) of a layer that reads h (B, L, H)."""
    module = layer.self_attn
    batch, length, width = h.shape
    projected = nn.functional.linear(h, module.in_proj_weight, module.in_proj_bias)  # (B, L, 3 H)
    by_head = projected.view(batch, length, 3, module.num_heads, width // module.num_heads)
    query, key, value = by_head.permute(2, 0, 3, 1, 4)  # each (B, A, L, W)
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    return scores.softmax(-1), value


def gathered(attention: Tensor, value: Tensor) -> Tensor:
    """What the heads read, side by side, (B, R, H), under attention (B, A, R, L) of values (B, A, L, W)."""
    return (attention @ value).transpose(1, 2).flatten(2)


def after(layer: nn.TransformerEncoderLayer, context: Tensor, h: Tensor) -> Tensor:
    """The layer's states (..., H) where its heads have read context (..., H) and the states before were h (..., H)."""
    x = layer.norm1(h + layer.self_attn.out_proj(context))
    return layer.norm2(x + layer.linear2(layer.activation(layer.linear1(x))))


def last_logit(model: FirstState, before: Tensor, context: Tensor) -> Tensor:
    """Logits (B, S) where the last layer's heads had read each of the contexts (B, S, H) at [CLS], whose states before
    were (B, 1, H)."""
    return model.decoder(after(model.encoder.layers[-1], context, before))[..., 0]


# ---- ten rankings ----------------------------------------------------------------------------------------------------


def ranked(model: FirstState, ids: Tensor, directions: Tensor, mask: int) -> dict[str, Tensor]:
    """The rankings of `rankings.RANKINGS`, integrated_signed and whole_input, (B, n) each, of texts ids (B, L).

    directions (V, H): a random vector for each word piece of the vocabulary. mask: the id of [MASK]. Of the last layer
    the row of [CLS] is taken. With x_t the vector of word piece t and a_ht its weight in head h there:

    attention             mean over heads of a_ht
    attention_x_gradient  |sum_h a_ht dz/da_ht|; Serrano & Smith 2019 use the like
    gradient_norm         |dz/dx_t|, Euclidean
    integrated_gradients  |IG_t|, see `integrated`; signed: towards the predicted class
    gradient_x_input      |<x_t, dz/dx_t>|, as in Jain & Wallace 2019, but with the attention free
    direction_x_gradient  |<r_t, dz/dx_t>|, r_t the piece's random vector: what is left where its meaning is forgotten
    whole_input           |<e_t, dz/de_t>|, e_t the sum of word, position and type

    and `rollout`, `norm`, `relevance`, `value_zeroing`. The whole input's is 0 but for rounding, in two lines: a
    LayerNorm reads e_t, and LN(s e) = LN(e) for every s > 0, so z does not depend on s where s e_t stands for e_t.
    Differentiate by s at s = 1: <e_t, dz/de_t> = 0. So gradient times word is minus gradient times position and type:
    it says where a piece stands, and not which it is.
    """
    text = opened(model, model.encoder.embedding(ids).detach().requires_grad_())
    towards = text.logit.detach().sign()
    total = (text.logit * towards).sum()
    by_word, by_whole, *by_attention = torch.autograd.grad(total, [text.word, text.embedded, *text.attention])
    row = text.attention[-1][:, :, 0]  # (B, A, L)
    slope_of_row = by_attention[-1][:, :, 0]
    signed = integrated(model, ids, mask) * towards[:, None]
    values = {
        "attention": row.mean(1),
        "rollout": rollout(text.attention)[:, 0],
        "norm": norm(model, text),
        "attention_x_gradient": (row * slope_of_row).sum(1).abs(),
        "relevance": relevance(text.attention, by_attention)[:, 0],
        "value_zeroing": value_zeroing(model, text),
        "gradient_norm": by_word.norm(dim=-1),
        "integrated_gradients": signed.abs(),
        "integrated_signed": signed,
        "gradient_x_input": product(text.word, by_word),
        "direction_x_gradient": product(directions[ids], by_word),
        "whole_input": product(text.embedded, by_whole),
    }
    return {name: value[:, 1:-1].detach() for name, value in values.items()}


def product(x: Tensor, slope: Tensor) -> Tensor:
    """|<x_t, slope_t>|, (B, L)."""
    return (x * slope).sum(-1).abs()


def rollout(attention: list[Tensor]) -> Tensor:
    """R = B_last ... B_1 with B = (mean over heads of A + I) / 2, (B, L, L): rows sum to 1.

    Abnar & Zuidema 2020; half of each position's weight stays with itself, for the residual connection.
    """
    home = at_home(attention)
    total = home
    for weights in attention:
        step = (weights.mean(1) + home) / 2
        total = step @ total
    return total


def at_home(attention: list[Tensor]) -> Tensor:
    """I, (L, L): each position has what is its own."""
    first = attention[0]
    return torch.eye(first.shape[-1], device=first.device)


def shares(text: Opened) -> Tensor:
    """What the heads of the last layer take from each place for [CLS], a_ht v_ht side by side, (B, L, H)."""
    by_head = text.attention[-1][:, :, 0, :, None] * text.value  # (B, A, L, W)
    return by_head.transpose(1, 2).flatten(2)


def norm(model: FirstState, text: Opened) -> Tensor:
    """|sum_h a_ht v_ht O_h|, (B, L): the length of what [CLS] takes from place t in the last layer.

    Kobayashi et al. 2020; v_ht with its offset, O_h the head's columns of the output matrix. Where
    all v_ht O_h are one vector u in each head, this is sum_h a_ht |u|: attention.
    """
    output = model.encoder.layers[-1].self_attn.out_proj.weight  # (H, H)
    return (shares(text) @ output.T).norm(dim=-1)


def relevance(attention: list[Tensor], slopes: list[Tensor]) -> Tensor:
    """R, begun as I, becomes R + E R with E = mean over heads of the positive part of A * dz+/dA, layer by layer.

    Chefer et al. 2021 (ICCV), equations 5 and 6. (B, L, L); what a position has that speaks for the predicted class.
    """
    total = at_home(attention)
    for weights, slope in zip(attention, slopes, strict=True):
        step = (weights * slope).clamp(min=0).mean(1)
        total = total + step @ total
    return total


def value_zeroing(model: FirstState, text: Opened) -> Tensor:
    """1 - cos of the last layer's [CLS] and of the same where the value of place t is zero in all heads, (B, L).

    Mohebbi et al. 2023. Deviation: of the last layer alone, not rolled out over layers. Of a place without
    weight it is 0.
    """
    share = shares(text)
    without = share.sum(1, keepdim=True) - share
    state = after(model.encoder.layers[-1], without, text.states[-2][:, :1])  # (B, L, H)
    return 1 - torch.cosine_similarity(state, text.states[-1][:, :1], dim=-1)


def integrated(model: FirstState, ids: Tensor, mask: int, steps: int = STEPS) -> Tensor:
    """<x_t - m, mean of dz/dx_t on the straight way from a text of [MASK]s, m, to the text>, (B, L).

    Sundararajan et al. 2017, section 3, by the midpoint rule; [CLS] and [SEP] stay. The sum over places is z minus
    the logit of the masked text (completeness), to the rule's error.
    """
    table = model.encoder.embedding.weight.detach()
    masked = ids.clone()
    masked[:, 1:-1] = mask
    end = table[ids]
    start = table[masked]
    total = torch.zeros_like(end)
    for step in range(steps):
        share = (step + 0.5) / steps
        point = torch.lerp(start, end, share).requires_grad_()
        logit = opened(model, point).logit
        total += torch.autograd.grad(logit.sum(), point)[0]
    mean = total / steps
    return ((end - start) * mean).sum(-1)


# ---- a test set ------------------------------------------------------------------------------------------------------


@dataclass
class Reader:
    """A [CLS] model that reads texts, each an array of ids with [CLS] and [SEP]; those of one length side by side."""

    model: FirstState
    vocabulary: tuple[str, ...]
    progress: bool

    @property
    def device(self) -> torch.device:
        return self.model.decoder.weight.device

    def over(self, texts: list[ndarray], work: Callable[[ndarray, Tensor], dict], of_pieces: bool = False) -> Arrays:
        """Arrays by name of work(rows (B,), ids (B, L)), of all texts in their order: a number a text, or a piece."""
        lengths = np.array([len(text) for text in texts])
        at_once = fitting(self.device, TOKENS[self.device.type])
        cut = [rows for rows, _ in chunks(lengths, at_once)]

        def task(rows: ndarray) -> Tensors:
            ids = np.stack([texts[row] for row in rows])
            return work(rows, torch.as_tensor(ids, dtype=torch.long, device=self.device))

        sizes = lengths - 2 if of_pieces else np.ones_like(lengths)
        return over_chunks(task, cut, lengths.astype(float), sizes, self.device, self.progress)

    def open(self, ids: Tensor) -> Opened:
        return opened(self.model, self.model.encoder.embedding(ids))

    def p(self, texts: list[ndarray]) -> ndarray:
        """Probabilities of class 1, (N,) float64."""
        logits = self.over(texts, lambda rows, ids: {"logit": self.open(ids).logit})["logit"]
        return sigmoid(logits.astype(float))


def texts_of(documents: Documents) -> list[ndarray]:
    """Ids of each document, [CLS] and [SEP] included."""
    return np.split(documents.ids, documents.offsets[1:-1])


def read_documents(reader: Reader, documents: Documents, name: str, ranks: bool) -> pd.DataFrame:
    """One row a document of a test set: all that is kept of a [CLS] model of two classes.

    Columns: `tables.IDENTITY` and p; of the first documents of the corpus `name`'s fixed order those of `last_layer`
    and, where asked for, of `against_deletion`, else NaN.
    """
    texts = texts_of(documents)
    p = reader.p(texts)
    identity = (documents.doc_ids, documents.labels, (p > 0.5).astype(int), documents.lengths - 2)
    table = pd.DataFrame(dict(zip(IDENTITY, identity, strict=True)) | {"p": p})
    order = fixed_order(documents.doc_ids, name)
    for columns_of, most in ((last_layer, OPENED), (against_deletion, RANKED))[: 1 + ranks]:
        rows = order[:most]
        columns = columns_of(reader, [texts[row] for row in rows], table.iloc[rows])
        table = table.join(pd.DataFrame(columns, index=rows))
    return table


def last_layer(reader: Reader, texts: list[ndarray], _: pd.DataFrame) -> Arrays:
    """Where documents look, see `looks`; flips_<how>: how often the decision flips where the last layer's [CLS] reads
    one of `contexts_of`, mean over these."""
    sign = torch.as_tensor(piecewise.signs(reader.vocabulary), device=reader.device)

    def work(_: ndarray, ids: Tensor) -> Tensors:
        text = reader.open(ids)
        columns = looks(text.attention, sign[ids[:, 1:-1]])
        for how, context in contexts_of(text).items():
            logit = last_logit(reader.model, text.states[-2][:, :1], context)
            flips = (logit > 0) != (text.logit[:, None] > 0)
            columns[f"flips_{how}"] = flips.double().mean(1)
        return columns

    return reader.over(texts, work)


def contexts_of(text: Opened) -> dict[str, Tensor]:
    """What the last layer's [CLS] would have read under other weights, (B, S, H) each, S contexts a text.

    alone: all weight of all heads on one piece, S = n. zero: nothing. uniform: equal weights; S = 1 of both.
    """
    return {
        "alone": text.value[:, :, 1:-1].transpose(1, 2).flatten(2),
        "zero": torch.zeros_like(text.states[-1][:, :1]),
        "uniform": text.value.mean(2).flatten(1)[:, None],
    }


def looks(attention: list[Tensor], signs: Tensor) -> Tensors:
    """looks_<kind> depth=<layer>: where the attention of [CLS] goes, mean over heads, layers from 1: self ([CLS]),
    separator ([SEP]), signs, words. signs (B, n): which pieces hold neither letter nor figure."""
    columns: Tensors = {}
    for layer, weights in enumerate(attention, 1):
        row = weights.mean(1)[:, 0]  # (B, L)
        of_pieces = row[:, 1:-1]
        of_signs = (of_pieces * signs).sum(1)
        of_words = of_pieces.sum(1) - of_signs
        kinds = {"self": row[:, 0], "separator": row[:, -1], "signs": of_signs, "words": of_words}
        columns |= {f"looks_{kind} depth={layer}": share for kind, share in kinds.items()}
    return columns


def against_deletion(reader: Reader, texts: list[ndarray], table: pd.DataFrame) -> Arrays:
    """How each of RANKINGS and NEIGHBOURS agrees with deletion in the documents of a table.

    Deletion: |p(text without the piece) - p(text)|, the shortened text read anew; deletion_signed: how far p of the
    predicted class falls. top_deletion_<r>, tau_deletion_<r>: `rankings.agreement`. whole_input: the largest of
    `ranked`, as a share of the largest gradient_x_input.
    """
    offsets = np.cumsum([0, *table["n"]])
    p = table["p"].repeat(table["n"]).to_numpy()
    values = ranking_values(reader, texts)
    values["chance"] = draws.uniforms(0, "random scores", table["doc_id"].to_numpy(), offsets)[0]
    without_each = [np.delete(text, place) for text in texts for place in range(1, len(text) - 1)]
    values["deletion_signed"] = np.where(p > 0.5, 1, -1) * (p - reader.p(without_each))
    values["deletion"] = np.abs(values["deletion_signed"])

    whole = maxima(values["whole_input"], offsets)
    columns = {"whole_input": whole / maxima(values["gradient_x_input"], offsets)}
    for name in (*rankings.RANKINGS, *rankings.NEIGHBOURS):
        top, tau = rankings.agreement(values[name], values["deletion"], offsets)
        columns[f"top_deletion_{name}"] = top
        columns[f"tau_deletion_{name}"] = tau
    return columns


def ranking_values(reader: Reader, texts: list[ndarray]) -> Arrays:
    """Those of `ranked`, of all pieces (T,)."""
    mask = reader.vocabulary.index("[MASK]")
    shape = reader.model.encoder.embedding.weight.shape
    generator = torch.Generator().manual_seed(0)
    directions = torch.randn(shape, generator=generator, device="cpu").to(reader.device)

    def work(rows: ndarray, ids: Tensor) -> Tensors:
        with torch.inference_mode(False), torch.enable_grad():
            values = ranked(reader.model, ids.clone(), directions, mask)
        return {name: value.flatten() for name, value in values.items()}

    return reader.over(texts, work, of_pieces=True)
