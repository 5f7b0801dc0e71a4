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

from attn_core.documents import Documents, pad
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
    """Both directions, forward and backward, and the attention: score = scores(their projections + bias).

    Additive: the constant sum(v) of v . tanh(x) = 2v . sigmoid(2x) - sum(v) is dropped; a softmax does not see it.
    """

    directions: tuple[Direction, ...]
    bias: Tensor  # (A,) or (B, A)
    v: Tensor | None  # (A,)

    def scores(self, projected: Tensor) -> Tensor:
        """Scores (...) from projections (..., A), which are overwritten."""
        return projected.sum(-1) if self.v is None else projected.sigmoid_() @ self.v


@dataclass(frozen=True)
class Pass:
    """What one direction leaves, in its own time."""

    words: Tensor  # (L, B)
    half_h: Tensor  # (L, B, H)
    twice_c: Tensor  # (L, B, H)
    gates: Tensor  # (L, B, 4H) logistic values; (1, B, 4H), of the last step, where they are not kept
    projected: Tensor  # (L, B, A)
    value: Tensor  # (L, B, K)


def has_fast_form(model: Classifier | Paired) -> bool:
    """Whether `reader` knows encoder and attention; a subclass may do otherwise."""
    return type(model.encoder) is BiLSTM and scores_alone(model.attention)


def scores_alone(attention: nn.Module) -> bool:
    """Whether it is one of ours, in which a token's score is a function of its own state."""
    return type(attention) in (Additive, ScaledDot, Uniform, PairedAdditive, PairedDot)


def reader(model: Classifier | Paired, documents: Documents, gradient: bool) -> Callable[..., "LstmBatch"]:
    """read(rows, q) -> these documents; q (B, H) their queries' summaries, of pairs. gradient: with `importance`."""
    words, word_of = np.unique(np.append(0, documents.ids), return_inverse=True)  # row 0 of the tables is the pad's
    numbered = replace(documents, ids=word_of[1:])  # each id as its word's row in the tables
    network = prepare(model, words)

    def read(rows: np.ndarray, q: Tensor | None) -> LstmBatch:
        ids, lengths = pad(numbered, rows)
        return LstmBatch(with_queries(network, model.attention, q), ids, lengths, gradient)

    return read


def prepare(model: Classifier | Paired, words: np.ndarray) -> Network:
    """Everything that does not depend on word order: products of the distinct words (U,) and rearranged weights."""
    encoder = model.encoder
    attention = model.attention
    e = encoder.embedding.weight[torch.from_numpy(words).to(encoder.embedding.weight.device)]  # (U, 300)
    e[0] = 0.0
    score_weight = e.new_empty(encoder.width, 0)  # none of uniform weights; of pairs' dot `with_queries` gives it
    bias = e.new_zeros(1)
    v = None
    if isinstance(attention, (Additive, PairedAdditive)):
        score_weight = 2 * attention.project.weight.t()
        bias = 2 * attention.project.bias
        v = 2 * attention.v.weight[0]
    elif isinstance(attention, ScaledDot):
        score_weight = attention.w.weight.t() / math.sqrt(encoder.width)
    elif isinstance(attention, Uniform):
        bias = e.new_empty(0)
    decoder = model.decoder.context if isinstance(model, Paired) else model.decoder
    directions = []
    for lstm, score_half, value_half in zip(
        (encoder.forward_lstm, encoder.backward_lstm),
        score_weight.chunk(2),  # each direction reads its half
        decoder.weight.t().chunk(2),
        strict=True,
    ):
        directions.append(rearranged(lstm, e, score_half, value_half))
    return Network(tuple(directions), bias, v)


def rearranged(lstm: nn.LSTM, e: Tensor, score_weight: Tensor, value: Tensor) -> Direction:
    """An LSTM's weights; e (U, 300) the distinct words' vectors."""
    double_g = e.new_tensor([1.0, 1.0, 2.0, 1.0]).repeat_interleave(lstm.hidden_size)  # tanh(x) = 2 sigmoid(2x) - 1
    bias = (lstm.bias_ih_l0 + lstm.bias_hh_l0) * double_g
    table = torch.addmm(bias, e, (lstm.weight_ih_l0 * double_g[:, None]).t())
    # What reads half_h is doubled (again).
    recurrent = (2 * lstm.weight_hh_l0 * double_g[:, None]).t().contiguous()
    return Direction(table, bias, recurrent, (2 * score_weight).contiguous(), (2 * value).contiguous())


def with_queries(network: Network, attention: nn.Module, q: Tensor | None) -> Network:
    """The network of a paired model for texts whose queries have the summaries q (B, H).

    Additive: W_q q + b_q joins the bias, which becomes (B, A). Dot: q takes the place of the weight.
    """
    if isinstance(attention, PairedAdditive):
        return replace(network, bias=network.bias + 2 * attention.project_query(q))
    if isinstance(attention, PairedDot) and q is not None:
        halves = (2 * (attention.scale * q[None])).chunk(2, dim=-1)
        pairs = zip(network.directions, halves, strict=True)
        return replace(network, directions=tuple(replace(side, score_weight=half) for side, half in pairs))
    return network


def project(h: Tensor, weight: Tensor) -> Tensor:
    """h (L, B, H) times weight (H, A), or times each text's own vector (1, B, H): (L, B, A), (L, B, 1)."""
    return h @ weight if weight.dim() == 2 else (h * weight).sum(-1, keepdim=True)


def run(side: Direction, words: Tensor, keep_gates: bool) -> Pass:
    """One direction over words (L, B) in its own time; what lies beyond a text comes after it and changes nothing."""
    steps, texts = words.shape
    width = len(side.recurrent)
    half_h = side.table.new_empty(steps, texts, width)
    twice_c = torch.empty_like(half_h)
    gates = side.table.new_empty(steps if keep_gates else 1, texts, 4 * width)
    tau = torch.empty_like(half_h[0])
    for t in range(steps):
        gates_t = gates[t if keep_gates else 0]
        torch.index_select(side.table, 0, words[t], out=gates_t)
        if t > 0:
            gates_t.addmm_(half_h[t - 1], side.recurrent)
        cell(gates_t, twice_c[t - 1] if t > 0 else None, twice_c[t], tau, half_h[t])
    projected = project(half_h, side.score_weight)
    return Pass(words, half_h, twice_c, gates, projected, half_h @ side.value)


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


class LstmBatch:
    """B texts of like length, read: scores (L, B), up to a constant per text; contributions (L, B, K); real (L, B),
    True on words: not start, end, pad."""

    def __init__(self, network: Network, ids: np.ndarray, lengths: np.ndarray, gradient: bool) -> None:
        self.network = network
        device = network.bias.device
        texts, positions = ids.shape
        position = np.arange(positions)[:, None]
        mirrored = np.maximum(lengths - 1 - position, 0)  # (L, B) of the reversed text, 0 beyond it
        real = (position > 0) & (position < lengths - 1)
        self.mirror = torch.from_numpy((mirrored * texts + np.arange(texts)).ravel()).to(device)  # as flat indices
        self.real = torch.from_numpy(real).to(device)
        words = torch.from_numpy(np.ascontiguousarray(ids.T)).to(device)

        forward, backward = network.directions
        self.forward = run(forward, words, gradient)
        self.backward = run(backward, self.mirrored(words), gradient)
        self.score = network.scores(self.forward.projected + self.mirrored(self.backward.projected) + network.bias)
        self.contribution = self.forward.value + self.mirrored(self.backward.value)

    def mirrored(self, values: Tensor) -> Tensor:
        """Values (L, B, ...), each text reversed within its own length."""
        return values.flatten(0, 1).index_select(0, self.mirror).view_as(values)

    def importances(self, attention: Tensor, slope: Tensor) -> dict[str, Tensor]:
        """gradient <e_t, dp/de_t>, (L, B), with the attention (L, B) held constant; meaningless on start, end and pad.

        slope (B, K) = dp / d(attended contribution), so dp/dh_t = attention_t * h_slope, one vector per text. The
        first layer is a fixed matrix W, so <e_t, dp/de_t> = <W e_t, delta_t> with delta the gradient at W e_t; the
        products W e_t are in the tables, and the input-sized backward product is never formed.
        """
        forward, backward = self.network.directions
        by_forward = through_time(forward, self.forward, attention, slope @ forward.value.t())
        by_backward = through_time(backward, self.backward, self.mirrored(attention), slope @ backward.value.t())
        return {"gradient": by_forward + self.mirrored(by_backward)}

    def contexts_without(self) -> Tensor:
        """Attended contributions without each word j in turn, (n + 1, B, K), n the longest text's words; meaningless at
        the start token and beyond a text, NaN where no word is left.

        Forward states before the deleted word and backward states after it are those of the whole text. Row j of a
        staircase (word j deleted) starts from the whole text's state at j - 1 and joins at step j + 1, so one pass per
        direction does all deletions. Each pair (deleted word, other word) has one new and one old half-state; the old
        half of the attention layer's product is shared too. Scores and contributions go into the softmax's sums as the
        staircase passes: n rows of numbers are kept per text, not n times n.
        """
        forward, backward = self.network.directions
        score = self.score.masked_fill(~self.real, -torch.inf)
        after = self.words_after(forward, self.forward, self.backward, score)
        # In the backward direction's time, where the words before come after.
        before = self.words_after(backward, self.backward, self.forward, self.mirrored(score))

        # Deletion j is deletion length - 1 - j of the reversed text.
        before_mass = self.mirrored(with_row(before.mass))[:-1]
        before_mean = self.mirrored(with_row(before.mean))[:-1]
        # The softmax's two halves meet by their masses.
        share = torch.exp(after.mass - torch.logaddexp(after.mass, before_mass))[..., None]
        return share * after.mean + (1 - share) * before_mean

    def words_after(self, side: Direction, whole: Pass, opposite: Pass, score: Tensor) -> "Half":
        """What is attended to after each deleted word, in the time of a direction, as are its scores (L, B)."""
        # The largest score after word j as the whole text has it: near the largest without word j, as a rule.
        largest = score.flip(0).cummax(0).values.flip(0)[1:]  # (n + 1, B)
        return staircase(
            self.network,
            side,
            whole,
            old_projected=self.mirrored(opposite.projected) + self.network.bias,
            old_value=self.mirrored(opposite.value),
            real=self.real,
            reference=largest.masked_fill(largest.isinf(), 0.0),
        )


@dataclass(frozen=True)
class Half:
    """The softmax over the words on one side of each deleted word."""

    mass: Tensor  # (n + 1, B) logarithm of the summed exponentials of their scores; minus infinity without words
    mean: Tensor  # (n + 1, B, K) their mean contribution; 0 without words


def with_row(values: Tensor) -> Tensor:
    """One more row, of zeros."""
    return torch.cat([values, torch.zeros_like(values[:1])])


def through_time(side: Direction, whole: Pass, attention: Tensor, h_slope: Tensor) -> Tensor:
    """One direction: <W e_t, delta_t>, (L, B) in its own time; h_slope (B, H) = dp / d(attended half_h).

    dh and dc are the gradients at h = half_h and c = twice_c. With c = f c_before + i (4s - 2), tau = sigmoid(c),
    h = o (tau - 1/2), each delta is a product of known factors.
    """
    h = whole.half_h
    c = whole.twice_c
    result = torch.zeros_like(attention)
    dh = torch.zeros_like(h[0])
    dc = torch.zeros_like(h[0])
    buffer = torch.empty_like(h[0])
    delta = torch.empty_like(whole.gates[0])
    products = torch.empty_like(whole.gates[0])
    to_h = side.recurrent.t().contiguous()
    for t in range(len(h) - 2, 0, -1):  # the first and last positions are start and end: no attention, no result
        gates = whole.gates[t]
        i, f, s, o = gates.chunk(4, dim=-1)
        dh.addcmul_(attention[t][:, None], h_slope)
        tau = torch.sigmoid(c[t], out=buffer)
        h_by_c = tau.addcmul_(tau, tau, value=-1.0).mul_(o)  # dh/dc = o tau (1 - tau)
        dc.addcmul_(h_by_c, dh)

        # Each delta is x (1 - x) of its gate x, times what the gate multiplies.
        torch.addcmul(gates, gates, gates, value=-1.0, out=delta)
        delta_i, delta_f, delta_s, delta_o = delta.chunk(4, dim=-1)
        delta_i.mul_(torch.sub(s, 0.5, out=buffer))  # 4s - 2, of which 4 comes below
        delta_s.mul_(i)
        delta_f.mul_(c[t - 1])
        torch.addcmul(h[t], h[t], o, value=-1.0, out=delta_o)  # (tau - 1/2) o (1 - o)
        torch.mul(dc, 4.0, out=buffer)
        delta_i.mul_(buffer)
        delta_s.mul_(buffer)
        delta_f.mul_(dc)
        delta_o.mul_(dh)

        # What goes back to the step before.
        dc.mul_(f)
        torch.mm(delta, to_h, out=dh)
        torch.index_select(side.table, 0, whole.words[t], out=products)
        products.sub_(side.bias)  # W e_t
        torch.sum(products.mul_(delta), dim=1, out=result[t])
    return result


def staircase(
    network: Network,
    side: Direction,
    whole: Pass,
    old_projected: Tensor,
    old_value: Tensor,
    real: Tensor,
    reference: Tensor,
) -> Half:
    """The words u after each deleted word j, as the softmax over them.

    Everything in the direction's own time; `whole` is the whole text's pass, old_projected (L, B, A) and old_value
    (L, B, K) come from the other direction's. reference (n + 1, B) is subtracted from the scores; were it further than
    SAFE from their maximum, the pass is made again with that maximum. Rows are ordered (j, b): those alive at step u
    are the first (u - 1) B.
    """
    steps, texts, width = whole.half_h.shape
    n = steps - 2
    new = whole.half_h.new_empty
    gates = new(n * texts, 4 * width)
    half_h = new(n * texts, width)
    twice_c = new(n * texts, width)
    tau = new(n * texts, width)
    projected = new(n * texts, old_projected.shape[-1])
    contribution = new(n * texts, old_value.shape[-1])
    largest = torch.full_like(reference, -torch.inf)
    total = torch.zeros_like(reference)  # of exponentials
    weighted = whole.half_h.new_zeros(n + 1, texts, old_value.shape[-1])  # sum of exponential times contribution
    for u in range(2, n + 1):
        # Word u - 1 deleted: row u - 2 joins with the state before it.
        joins = slice((u - 2) * texts, (u - 1) * texts)
        half_h[joins] = whole.half_h[u - 2]
        twice_c[joins] = whole.twice_c[u - 2]

        # One step of all rows that are alive: their text goes on with word u.
        alive = slice((u - 1) * texts)
        by_deletion = (u - 1, texts, -1)
        state = half_h[alive]
        pre_activation = gates[alive]
        pre_activation.view(by_deletion).copy_(side.table.index_select(0, whole.words[u]))
        pre_activation.addmm_(state, side.recurrent)
        cell(pre_activation, twice_c[alive], twice_c[alive], tau[alive], state)

        # Its score and contribution: the new half of the state, and the old one of the other direction.
        layer = projected[alive].view(by_deletion)
        layer.copy_(old_projected[u])
        if side.score_weight.dim() == 3:
            layer.add_(project(state.view(by_deletion), side.score_weight))
        else:
            layer.flatten(0, 1).addmm_(state, side.score_weight)
        value = contribution[alive].view(by_deletion)
        value.copy_(old_value[u]).flatten(0, 1).addmm_(state, side.value)
        score = network.scores(layer).masked_fill_(~real[u], -torch.inf)

        torch.maximum(largest[1:u], score, out=largest[1:u])
        weight = score.sub_(reference[1:u]).exp_()
        total[1:u].add_(weight)
        weighted[1:u].addcmul_(weight[..., None], value)
    if ((largest - reference).abs().masked_fill(largest.isinf(), 0.0) > SAFE).any():
        reference = largest.masked_fill(largest.isinf(), 0.0)
        return staircase(network, side, whole, old_projected, old_value, real, reference)
    mean = weighted.div_(total.clamp(min=torch.finfo(total.dtype).tiny)[..., None])
    return Half(reference + total.log(), mean)
