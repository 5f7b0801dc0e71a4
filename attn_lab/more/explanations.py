"""What a [CLS] model says of its word pieces: ten rankings, and the last layer's contexts under other weights.

Not in the three papers. Everything is read from texts of one length side by side, [CLS] and [SEP] included: B texts of
n pieces, L = n + 2 places, A heads of width W, states of width H = A W. z is the logit towards the predicted class.

The formulas are those under which the methods are known; the papers that are named were not read for this.
"""

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor

from attn_core.experiments import draws
from attn_lab.more.first_state import FirstState, Opened, after, gathered, opened

STEPS = 32
"""Of the path of integrated gradients."""

DEALS = 100
"""Times that a document's weights are permuted."""

DEALT = ("words", "heads", "all")
"""How, see `dealt`."""


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
    text = opened(model, word_vectors(model, ids))
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


def word_vectors(model: FirstState, ids: Tensor) -> Tensor:
    """The vectors (B, L, H) of word pieces, from which autograd starts."""
    return model.encoder.embedding(ids).detach().requires_grad_()


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


def norm(model: FirstState, text: Opened) -> Tensor:
    """|sum_h a_ht v_ht O_h|, (B, L): the length of what [CLS] takes from place t in the last layer.

    Kobayashi et al. 2020; v_ht with its offset, O_h the head's columns of the output matrix. Where
    all v_ht O_h are one vector u in each head, this is sum_h a_ht |u|: attention.
    """
    output = model.encoder.layers[-1].self_attn.out_proj.weight  # (H, H)
    _, heads, _, width = text.value.shape
    by_head = output.view(-1, heads, width)
    row = text.attention[-1][:, :, 0]
    share = torch.einsum("bal,balw,oaw->blo", row, text.value, by_head)
    return share.norm(dim=-1)


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
    row = text.attention[-1][:, :, 0]
    by_head = row[..., None] * text.value  # (B, A, L, W)
    share = by_head.transpose(1, 2).flatten(2)  # (B, L, H) what each place adds to the context
    without = share.sum(1, keepdim=True) - share
    before = text.states[-2][:, :1]
    state = after(model.encoder.layers[-1], without, before)  # (B, L, H)
    after_all = text.states[-1][:, :1]
    return 1 - torch.cosine_similarity(state, after_all, dim=-1)


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


# ---- the last layer under other weights ------------------------------------------------------------------------------


def contexts_of(text: Opened, doc_id: ndarray) -> dict[str, Tensor]:
    """What the last layer's [CLS] would have read under other weights, (B, S, H) each, S contexts a text.

    alone: all weight of all heads on one piece, S = n. zero: nothing. flat: equal weights. words, heads, all: `dealt`.
    """
    row = text.attention[-1][:, :, :1]  # (B, A, 1, L)
    contexts = {
        "alone": text.value[:, :, 1:-1].transpose(1, 2).flatten(2),
        "zero": torch.zeros_like(text.states[-1][:, :1]),
        "flat": text.value.mean(2).flatten(1)[:, None],
    }
    for how in DEALT:
        contexts[how] = gathered(dealt(row, doc_id, how), text.value)
    return contexts


def dealt(row: Tensor, doc_id: ndarray, how: str) -> Tensor:
    """Weights (B, A, DEALS, L) from row (B, A, 1, L), permuted: among the pieces, all heads alike ('words', Jain &
    Wallace 2019, section 4.2.1), each head for itself ('heads'), or with the weights of [CLS] and [SEP] ('all')."""
    texts, heads, _, length = row.shape
    orders = heads if how == "heads" else 1
    offsets = length * np.arange(texts + 1)
    noise = draws.uniforms(0, f"deals of {how}", doc_id, offsets, orders * DEALS)
    noise = torch.as_tensor(noise, device=row.device).view(orders, DEALS, texts, length)
    if how != "all":  # the ends stay
        noise[..., 0] = 0
        noise[..., -1] = 1
    order = noise.permute(2, 0, 1, 3).argsort(-1)
    wide = row.expand(-1, -1, DEALS, -1)
    return wide.gather(3, order.expand(-1, heads, -1, -1))
