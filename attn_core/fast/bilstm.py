"""A BiLSTM's texts read side by side, for `tracing`: no autograd, large products, nothing computed twice.

Word vectors are multiplied by the input matrices once per distinct word (`Direction.table`). Everything is time first:
L positions of B texts, start and end included. Tests hold all of it against `attn_core.models`.

Weights are rescaled so that every non-linearity is the logistic function, tanh(x) = 2 sigmoid(2x) - 1, because one
kernel over all gates beats two and some platforms' tanh is slow: kept are half_h = h / 2 and twice_c = 2c.

K stands for the width of a contribution: the logits of an affine decoder, or the hidden layer (M) of a paired model's;
A for the width of the attention layer: 1 of a dot product, 0 of uniform weights.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.corpora.documents import Documents, pad
from attn_core.models.attention import Additive, PairedAdditive, PairedDot, ScaledDot, Uniform
from attn_core.models.classifier import Classifier
from attn_core.models.encoders import BiLSTM
from attn_core.models.paired import Paired

SAFE = 60.0
"""Largest distance of a softmax's maximum from the number subtracted beforehand: exp(60) and exp(-60) are far from
single precision's ends."""


@dataclass(frozen=True)
class Direction:
    """One direction of the LSTM; the weights of gate g are doubled, those that read half_h doubled again."""

    table: Tensor  # (U, 4H) input products of each distinct word, biases included; gates i, f, g, o
    bias: Tensor  # (4H,)
    recurrent: Tensor  # (H, 4H)
    score_weight: Tensor  # (H, A) this half's share in the attention layer; (1, B, H): each text's own vector
    value: Tensor  # (H, K) this half's share in the contribution


@dataclass(frozen=True)
class Network:
    """Both directions, and the attention: score = read(their projections + bias).

    Additive: the constant sum(v) of v . tanh(x) = 2v . sigmoid(2x) - sum(v) is dropped; a softmax does not see it.
    """

    directions: tuple[Direction, Direction]
    bias: Tensor  # (A,) or (B, A)
    v: Tensor | None  # (A,)

    def read(self, projected: Tensor) -> Tensor:
        """Scores (...) from projections (..., A), which are overwritten."""
        return projected.sum(-1) if self.v is None else projected.sigmoid_() @ self.v


@dataclass(frozen=True)
class Pass:
    """What one direction leaves, in its own time."""

    words: Tensor  # (L, B)
    half_h: Tensor  # (L, B, H)
    twice_c: Tensor  # (L, B, H)
    gates: Tensor | None  # (L, B, 4H) logistic values
    projected: Tensor  # (L, B, A)
    value: Tensor  # (L, B, K)


def has_fast_form(model: Classifier | Paired) -> bool:
    """Whether `reader` knows encoder and attention; a subclass may do otherwise."""
    return type(model.encoder) is BiLSTM and scores_alone(model.attention)


def scores_alone(attention: nn.Module) -> bool:
    """Whether it is one of ours, in which a token's score is a function of its own state."""
    return type(attention) in (Additive, ScaledDot, Uniform, PairedAdditive, PairedDot)


def reader(model: Classifier | Paired, documents: Documents, gradient: bool) -> Callable[..., "Texts"]:
    """read(rows, q) -> these documents; q (B, H) their queries' summaries, of pairs. gradient: with `importance`."""
    words, slots = np.unique(np.append(0, documents.ids), return_inverse=True)  # row 0 of the tables is the pad's
    slotted, network = replace(documents, ids=slots[1:]), prepare(model, words)
    return lambda rows, q: Texts(with_queries(network, model.attention, q), *pad(slotted, rows), gradient)


def prepare(model: Classifier | Paired, words: np.ndarray) -> Network:
    """Everything that does not depend on word order: products of the distinct words (U,) and rearranged weights."""
    encoder, attention = model.encoder, model.attention
    e = encoder.embedding.weight[torch.from_numpy(words).to(encoder.embedding.weight.device)]  # (U, 300)
    e[0] = 0.0
    weight, bias, v = e.new_empty(encoder.width, 0), e.new_zeros(1), None  # of pairs' dot with_queries gives the weight
    if isinstance(attention, (Additive, PairedAdditive)):
        weight, bias, v = 2 * attention.project.weight.t(), 2 * attention.project.bias, 2 * attention.v.weight[0]
    elif isinstance(attention, ScaledDot):
        weight = attention.w.weight.t() / math.sqrt(encoder.width)
    elif isinstance(attention, Uniform):
        bias = e.new_empty(0)
    value = (model.decoder.context if isinstance(model, Paired) else model.decoder).weight.t()
    lstms = encoder.forward_lstm, encoder.backward_lstm
    halves = zip(lstms, weight.chunk(2), value.chunk(2), strict=True)  # each direction reads its half
    return Network(tuple(rearranged(lstm, e, *half) for lstm, *half in halves), bias, v)


def rearranged(lstm: nn.LSTM, e: Tensor, score_weight: Tensor, value: Tensor) -> Direction:
    """An LSTM's weights; e (U, 300) the distinct words' vectors."""
    double_g = e.new_tensor([1.0, 1.0, 2.0, 1.0]).repeat_interleave(lstm.hidden_size)
    bias = (lstm.bias_ih_l0 + lstm.bias_hh_l0) * double_g
    table = torch.addmm(bias, e, (lstm.weight_ih_l0 * double_g[:, None]).t())
    recurrent = (2 * lstm.weight_hh_l0 * double_g[:, None]).t().contiguous()
    return Direction(table, bias, recurrent, (2 * score_weight).contiguous(), (2 * value).contiguous())


def with_queries(network: Network, attention: nn.Module, q: Tensor | None) -> Network:
    """The network of a paired model for texts whose queries have the summaries q (B, H).

    Additive: W_q q + b_q joins the bias, which becomes (B, A). Dot: q takes the place of the weight.
    """
    if isinstance(attention, PairedAdditive):
        return replace(network, bias=network.bias + 2 * attention.project_query(q))
    if isinstance(attention, PairedDot):
        halves = zip(network.directions, (2 * (attention.scale * q[None])).chunk(2, dim=-1), strict=True)
        return replace(network, directions=tuple(replace(side, score_weight=half) for side, half in halves))
    return network


def project(h: Tensor, weight: Tensor) -> Tensor:
    """h (L, B, H) times weight (H, A), or times each text's own vector (1, B, H): (L, B, A), (L, B, 1)."""
    return h @ weight if weight.dim() == 2 else (h * weight).sum(-1, keepdim=True)


def run(side: Direction, words: Tensor, keep_gates: bool) -> Pass:
    """One direction over words (L, B) in its own time; what lies beyond a text comes after it and changes nothing."""
    steps, texts = words.shape
    width = len(side.recurrent)
    h = side.table.new_empty(steps, texts, width)
    c = torch.empty_like(h)
    gates = side.table.new_empty(steps if keep_gates else 1, texts, 4 * width)
    tau = torch.empty_like(h[0])
    h_before = c_before = None
    for t, (word, new_h, new_c) in enumerate(zip(words, h, c, strict=True)):
        g = gates[t if keep_gates else 0]
        torch.index_select(side.table, 0, word, out=g)
        if t > 0:
            g.addmm_(h_before, side.recurrent)
        cell(g, c_before, new_c, tau, new_h)
        h_before, c_before = new_h, new_c
    return Pass(words, h, c, gates if keep_gates else None, project(h, side.score_weight), h @ side.value)


def cell(gates: Tensor, before: Tensor | None, c: Tensor, tau: Tensor, h: Tensor) -> None:
    """One LSTM step in place: pre-activations -> logistic values in `gates`, new twice_c in c, new half_h in h.

    c = f c + i (4s - 2) with g = 2s - 1; h = o (tau - 1/2) with tau = sigmoid(c). `before` may be c itself.
    """
    i, f, s, o = gates.sigmoid_().chunk(4, dim=-1)
    if before is None:
        c.zero_()
    else:
        torch.mul(f, before, out=c)
    c.addcmul_(i, s, value=4.0).sub_(i, alpha=2.0)
    torch.sigmoid(c, out=tau)
    torch.mul(o, tau, out=h).sub_(o, alpha=0.5)


class Texts:
    """B texts of like length, read: scores (L, B), up to a constant per text; contributions (L, B, K); real (L, B),
    True on words: not start, end, pad."""

    def __init__(self, network: Network, ids: np.ndarray, lengths: np.ndarray, gradient: bool) -> None:
        position, device = np.arange(ids.shape[1])[:, None], network.bias.device
        # flat place of position lengths - 1 - t of the same text, 0 beyond the text
        mirror = np.maximum(lengths - 1 - position, 0) * len(ids) + np.arange(len(ids))
        words, self.mirror, self.real = (
            torch.from_numpy(np.ascontiguousarray(array)).to(device)
            for array in (ids.T, mirror.ravel(), (position > 0) & (position < lengths - 1))
        )
        self.network, (ahead, back) = network, network.directions
        self.passes = run(ahead, words, gradient), run(back, self.mirrored(words), gradient)
        ahead, back = self.passes
        self.score = network.read(ahead.projected + self.mirrored(back.projected) + network.bias)
        self.contribution = ahead.value + self.mirrored(back.value)

    def mirrored(self, values: Tensor) -> Tensor:
        """Values (L, B, ...), each text reversed within its own length."""
        return values.flatten(0, 1).index_select(0, self.mirror).view_as(values)

    def importance(self, attention: Tensor, slope: Tensor) -> Tensor:
        """<e_t, dp/de_t>, (L, B), with the attention (L, B) held constant; meaningless on start, end and pad.

        slope (B, K) = dp / d(attended contribution), so dp/dh_t = attention_t * direction, one vector per text. The
        first layer is a fixed matrix W, so <e_t, dp/de_t> = <W e_t, delta_t> with delta the gradient at W e_t; the
        products W e_t are in the tables, and the input-sized backward product is never formed.
        """
        (ahead, back), (read_ahead, read_back) = self.network.directions, self.passes
        result = through_time(ahead, read_ahead, attention, slope @ ahead.value.t())
        return result + self.mirrored(through_time(back, read_back, self.mirrored(attention), slope @ back.value.t()))

    def contexts_without(self) -> Tensor:
        """Attended contributions without each word j in turn, (n + 1, B, K), n the longest text's words; meaningless at
        the start token and beyond a text, NaN where no word is left.

        Forward states before the deleted word and backward states after it are those of the whole text. Row j of a
        staircase (word j deleted) starts from the whole text's state at j - 1 and joins at step j + 1, so one pass per
        direction does all deletions. Each pair (deleted word, other word) has one new and one old half-state; the old
        half of the attention layer's product is shared too. Scores and contributions go into the softmax's sums as the
        staircase passes: n rows of numbers are kept per text, not n times n.
        """
        score, halves = self.score.masked_fill(~self.real, -torch.inf), []
        for side, this, other, own_score in zip(
            self.network.directions, self.passes, self.passes[::-1], (score, self.mirrored(score)), strict=True
        ):
            old_projected = self.mirrored(other.projected) + self.network.bias
            old_value = self.mirrored(other.value)
            # The largest score after word j as the whole text has it: near the largest without word j, as a rule.
            after = own_score.flip(0).cummax(0).values.flip(0)[1:]  # (n + 1, B)
            reference = after.masked_fill(after.isinf(), 0.0)
            halves.append(staircase(self.network, side, this, old_projected, old_value, self.real, reference))
        (mass, context), back = halves
        # Deletion j is deletion length - 1 - j of the reversed text; the softmax's two halves meet by their masses.
        back_mass, back_context = (
            self.mirrored(torch.cat([part, torch.zeros_like(part[:1])]))[: len(mass)] for part in back
        )
        share = torch.exp(mass - torch.logaddexp(mass, back_mass))[..., None]
        return share * context + (1 - share) * back_context


def through_time(side: Direction, done: Pass, attention: Tensor, direction: Tensor) -> Tensor:
    """One direction: <W e_t, delta_t>, (L, B) in its own time; direction (B, H) = dp / d(attended half_h).

    dh and dc are the gradients at h = half_h and c = twice_c. With c = f c_before + i (4s - 2), tau = sigmoid(c),
    h = o (tau - 1/2), each delta is a product of known factors.
    """
    words, h, c, gates = done.words, done.half_h, done.twice_c, done.gates
    result = torch.zeros_like(attention)
    dh, dc = torch.zeros_like(h[0]), torch.zeros_like(h[0])
    buffer, delta, products = torch.empty_like(h[0]), torch.empty_like(gates[0]), torch.empty_like(gates[0])
    to_h = side.recurrent.t().contiguous()
    for t in range(len(words) - 2, 0, -1):  # the first and last positions are start and end: no attention, no result
        i, f, s, o = gates[t].chunk(4, dim=-1)
        dh.addcmul_(attention[t][:, None], direction)
        tau = torch.sigmoid(c[t], out=buffer)
        dc.addcmul_(tau.addcmul_(tau, tau, value=-1.0).mul_(o), dh)
        torch.addcmul(gates[t], gates[t], gates[t], value=-1.0, out=delta)  # x (1 - x) for all four gates
        delta_i, delta_f, delta_s, delta_o = delta.chunk(4, dim=-1)
        delta_i.mul_(torch.sub(s, 0.5, out=buffer))
        delta_s.mul_(i)
        delta_f.mul_(c[t - 1])
        torch.addcmul(h[t], h[t], o, value=-1.0, out=delta_o)  # (tau - 1/2) o (1 - o)
        torch.mul(dc, 4.0, out=buffer)
        delta_i.mul_(buffer)
        delta_s.mul_(buffer)
        delta_f.mul_(dc)
        delta_o.mul_(dh)
        dc.mul_(f)
        torch.mm(delta, to_h, out=dh)
        torch.index_select(side.table, 0, words[t], out=products)
        torch.sum(products.sub_(side.bias).mul_(delta), dim=1, out=result[t])
    return result


def staircase(
    network: Network,
    side: Direction,
    whole: Pass,
    old_projected: Tensor,
    old_value: Tensor,
    real: Tensor,
    reference: Tensor,
) -> tuple[Tensor, Tensor]:
    """Softmax over the words u after each deleted word j: (log of the summed exponentials (n + 1, B), mean
    contribution (n + 1, B, K)); minus infinity and 0 where no word comes after.

    Everything in the direction's own time; `whole` is the whole text's pass, old_projected (L, B, A) and old_value
    (L, B, K) come from the other direction's. reference (n + 1, B) is subtracted from the scores; were it further than
    SAFE from their maximum, the pass is made again with that maximum. Rows are ordered (j, b): those alive at step u
    are the first (u - 1) B.
    """
    h, c = whole.half_h, whole.twice_c
    steps, texts, width = h.shape
    n, classes = steps - 2, old_value.shape[-1]
    gates = h.new_empty(n * texts, 4 * width)
    new_h, new_c, tau = (h.new_empty(n * texts, width) for _ in range(3))
    projected = h.new_empty(n * texts, old_projected.shape[-1])
    contribution = h.new_empty(n * texts, classes)
    top = torch.full_like(reference, -torch.inf)
    total, mean = torch.zeros_like(reference), h.new_zeros(n + 1, texts, classes)
    for u in range(2, n + 1):
        joins, alive = (u - 2) * texts, (u - 1) * texts
        new_h[joins:alive], new_c[joins:alive] = h[u - 2], c[u - 2]
        g, state = gates[:alive], new_h[:alive]
        g.view(u - 1, texts, -1).copy_(side.table.index_select(0, whole.words[u]))
        g.addmm_(state, side.recurrent)
        cell(g, new_c[:alive], new_c[:alive], tau[:alive], state)
        p, value = projected[:alive].view(u - 1, texts, -1), contribution[:alive].view(u - 1, texts, -1)
        p.copy_(old_projected[u])
        if side.score_weight.dim() == 3:
            p.add_(project(state.view(u - 1, texts, -1), side.score_weight))
        else:
            p.flatten(0, 1).addmm_(state, side.score_weight)
        value.copy_(old_value[u]).flatten(0, 1).addmm_(state, side.value)
        score = network.read(p).masked_fill_(~real[u], -torch.inf)
        torch.maximum(top[1:u], score, out=top[1:u])
        weight = score.sub_(reference[1:u]).exp_()
        total[1:u].add_(weight)
        mean[1:u].addcmul_(weight[..., None], value)
    if ((top - reference).abs().masked_fill(top.isinf(), 0.0) > SAFE).any():
        reference = top.masked_fill(top.isinf(), 0.0)
        return staircase(network, side, whole, old_projected, old_value, real, reference)
    return reference + total.log(), mean.div_(total.clamp(min=torch.finfo(total.dtype).tiny)[..., None])
