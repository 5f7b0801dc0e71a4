"""Token states of many texts at once, for tracing: no autograd, large products, nothing computed twice.

Every encoder multiplies word vectors by a fixed matrix first, so those products are made once per distinct word
(`table`). Texts are sorted by length and cut into time-major chunks. Tests hold all of it against `attn_core.models`.

LSTM weights are rescaled so that every non-linearity is the logistic function, tanh(x) = 2 sigmoid(2x) - 1, because
one kernel over all gates beats two and some platforms' tanh is slow: kept are half_h = h / 2 and twice_c = 2c.

K stands for the width of a contribution: the logits of an affine decoder, or the hidden layer (M) of a paired model's.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.models.attention import Additive, PairedAdditive, PairedDot, ScaledDot, Uniform
from attn_core.models.classifier import Classifier
from attn_core.models.encoders import CNN, Average, BiLSTM, NoEncoder
from attn_core.models.paired import Paired


@dataclass(frozen=True)
class Chunk:
    """B texts of similar length, start and end included, time first; L is the longest."""

    words: Tensor  # (L, B) row of each word in the tables; 0, the zero vector, beyond the text
    mirror: Tensor  # (L * B,) flat place of position lengths - 1 - t of the same text, 0 beyond the text
    real: Tensor  # (L, B) True on words: not start, end, pad

    def mirrored(self, values: Tensor) -> Tensor:
        """Values (L, B, ...), each text reversed within its own length."""
        return values.flatten(0, 1).index_select(0, self.mirror).view_as(values)


@dataclass(frozen=True)
class Scorer:
    """Attention score = read(project(h, weight) + bias), so that halves of h can be multiplied apart and shared.

    Additive: the constant sum(v) of v . tanh(x) = 2v . sigmoid(2x) - sum(v) is dropped; a softmax does not see it.
    Dot: one column. Uniform: none, and an empty sum is 0. Pairs: see `with_queries`.
    """

    weight: Tensor  # (H, A); (1, B, H) where each text has its own vector
    bias: Tensor  # (A,) or (B, A)
    v: Tensor | None  # (A,)

    def read(self, projected: Tensor) -> Tensor:
        """Scores (...) from projections (..., A), which are overwritten."""
        return projected.sum(-1) if self.v is None else projected.sigmoid_() @ self.v


def project(h: Tensor, weight: Tensor) -> Tensor:
    """h (L, B, H) times weight (H, A), or times each text's own vector (1, B, H): (L, B, A), (L, B, 1)."""
    return h @ weight if weight.dim() == 2 else (h * weight).sum(-1, keepdim=True)


@dataclass(frozen=True)
class Direction:
    """One direction of the LSTM; the weights of gate g are doubled, those that read half_h doubled again."""

    table: Tensor  # (U, 4H) input products of each distinct word, biases included; gates i, f, g, o
    bias: Tensor  # (4H,)
    recurrent: Tensor  # (H, 4H)
    score_weight: Tensor  # (H, A), or (1, B, H) as in `Scorer`
    value: Tensor  # (H, K)


@dataclass(frozen=True)
class Recurrent:
    """A BiLSTM model: (forward, backward)."""

    directions: tuple[Direction, Direction]
    scorer: Scorer


@dataclass(frozen=True)
class Convolutional:
    """A CNN model, or one without context (average, none), whose windows are single words.

    table[tap] is what a word at the tap's offset from a window's centre adds to the window.
    """

    table: Tensor  # (taps, U, F)
    taps: tuple[tuple[int, int], ...]  # (filter set, offset of the word from the centre)
    reach: int  # largest offset
    activation: str  # of a window: relu, tanh or none
    window_bias: Tensor  # (sets * F,)
    scorer: Scorer
    value: Tensor  # (sets * F, K)


Network = Recurrent | Convolutional


@dataclass(frozen=True)
class Pass:
    """What one direction of the LSTM leaves, in its own time."""

    words: Tensor  # (L, B)
    half_h: Tensor  # (L, B, H)
    twice_c: Tensor  # (L, B, H)
    gates: Tensor | None  # (L, B, 4H) logistic values
    projected: Tensor  # (L, B, A) this half's share in the attention layer
    value: Tensor  # (L, B, K) this half's share in the contribution


States = tuple[Pass, Pass] | Tensor
"""Of a chunk: forward and backward pass of a BiLSTM; (L, B, H) of others."""


def distinct_words(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct words (U,) with the pad row first, and for each token its row among them (T,)."""
    words, slots = np.unique(np.append(0, ids), return_inverse=True)
    return words, slots[1:]


def chunk(slots: np.ndarray, offsets: np.ndarray, device: torch.device, rows: np.ndarray) -> Chunk:
    """The documents `rows` as one padded chunk; slots (T,) are rows of the tables."""
    lengths = offsets[rows + 1] - offsets[rows]
    position = np.arange(lengths.max())[:, None]  # (L, 1)
    inside = position < lengths
    words = np.where(inside, slots[np.minimum(offsets[rows] + position, len(slots) - 1)], 0)
    mirror = (np.maximum(lengths - 1 - position, 0) * len(rows) + np.arange(len(rows))).reshape(-1)
    real = (position > 0) & (position < lengths - 1)
    return Chunk(*(torch.from_numpy(array).to(device) for array in (words, mirror, real)))


def has_fast_form(model: Classifier | Paired) -> bool:
    """Whether `prepare` knows encoder and attention; for others there is the plain form."""
    encoders, attentions = (BiLSTM, CNN, Average, NoEncoder), (Additive, ScaledDot, Uniform, PairedAdditive, PairedDot)
    known = type(model.encoder) in encoders and type(model.attention) in attentions  # a subclass may do otherwise
    return known and not getattr(model.encoder, "context", 0.0)


def prepare(model: Classifier | Paired, distinct: np.ndarray) -> Network:
    """Everything that does not depend on word order: products of the distinct words (U,) and rearranged weights."""
    embedding = model.encoder.embedding.weight
    e = embedding[torch.from_numpy(distinct).to(embedding.device)]  # (U, 300)
    e[0] = 0.0
    encoder, paired = model.encoder, isinstance(model, Paired)
    scorer = _scorer(model.attention, encoder.width, embedding)
    value = (model.decoder.context if paired else model.decoder).weight.t()
    if isinstance(encoder, BiLSTM):
        lstms = encoder.forward_lstm, encoder.backward_lstm
        sides = zip(lstms, scorer.weight.chunk(2), value.chunk(2), strict=True)  # each direction reads its half
        return Recurrent(tuple(_direction(lstm, e, *halves) for lstm, *halves in sides), scorer)
    if isinstance(encoder, CNN):
        return _convolutional(encoder, e, scorer, value)
    one_word = {"taps": ((0, 0),), "reach": 0, "scorer": scorer, "value": value}
    if isinstance(encoder, Average):
        table, bias = e @ encoder.project.weight.t(), encoder.project.bias
        return Convolutional(table=table[None], activation="tanh", window_bias=bias, **one_word)
    return Convolutional(table=e[None], activation="none", window_bias=torch.zeros_like(e[0]), **one_word)


def with_queries(network: Network, attention: nn.Module, q: Tensor) -> Network:
    """The network of a paired model for the texts of one chunk, whose queries have the summaries q (B, H).

    Additive: W_q q + b_q joins the scorer's bias, which becomes (B, A). Dot: q takes the place of the weight.
    """
    scorer = network.scorer
    if isinstance(attention, PairedAdditive):
        return replace(network, scorer=replace(scorer, bias=scorer.bias + 2 * attention.project_query(q)))
    if isinstance(attention, PairedDot):
        weight = attention.scale * q[None]
        network = replace(network, scorer=replace(scorer, weight=weight))
        if isinstance(network, Recurrent):
            halves = zip(network.directions, (2 * weight).chunk(2, dim=-1), strict=True)
            network = replace(network, directions=tuple(replace(side, score_weight=half) for side, half in halves))
    return network


def encode(network: Network, chunk: Chunk, keep_gates: bool = False) -> States:
    """Token states of a chunk."""
    if isinstance(network, Recurrent):
        ahead, back = network.directions
        return run(ahead, chunk.words, keep_gates), run(back, chunk.mirrored(chunk.words), keep_gates)
    return windows(network, chunk)


def read(network: Network, chunk: Chunk, states: States) -> tuple[Tensor, Tensor]:
    """Scores (L, B), up to a constant per text, and contributions (L, B, K)."""
    if isinstance(network, Recurrent):
        ahead, back = states
        projected = ahead.projected + chunk.mirrored(back.projected) + network.scorer.bias
        return network.scorer.read(projected), ahead.value + chunk.mirrored(back.value)
    return read_states(network, states)


def read_states(network: Convolutional, h: Tensor) -> tuple[Tensor, Tensor]:
    """Scores (L, B) and contributions (L, B, K) of states h (L, B, H)."""
    return network.scorer.read(project(h, network.scorer.weight) + network.scorer.bias), h @ network.value


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


def windows(network: Convolutional, chunk: Chunk, moved=lambda offset: offset) -> Tensor:
    """States (L, B, H) of others than the BiLSTM, of use on words alone.

    The word at an offset from a centre is taken from moved(offset), at most one word further than the widest window.
    """
    steps, texts = chunk.words.shape
    around = network.reach + 1
    padded = nn.functional.pad(chunk.words, (0, 0, around, around))  # the zero vector on both sides
    h = network.window_bias.expand(steps * texts, -1).clone().view(steps * texts, -1, network.table.shape[-1])
    for table, (index, offset) in zip(network.table, network.taps, strict=True):
        start = around + moved(offset)
        h[:, index] += table.index_select(0, padded[start : start + steps].reshape(-1))
    if network.activation != "none":
        h = h.relu_() if network.activation == "relu" else h.tanh_()
    return h.view(steps, texts, -1)


def _scorer(attention: nn.Module, width: int, like: Tensor) -> Scorer:
    if isinstance(attention, (Additive, PairedAdditive)):
        return Scorer(2 * attention.project.weight.t(), 2 * attention.project.bias, 2 * attention.v.weight[0])
    if isinstance(attention, PairedDot):
        return Scorer(like.new_empty(width, 0), like.new_zeros(1), None)  # its weight will be the query's summary
    if isinstance(attention, ScaledDot):
        return Scorer(attention.w.weight.t() / math.sqrt(width), like.new_zeros(1), None)
    return Scorer(like.new_empty(width, 0), like.new_empty(0), None)  # uniform


def _direction(lstm: nn.LSTM, e: Tensor, score_weight: Tensor, value: Tensor) -> Direction:
    double_g = e.new_tensor([1.0, 1.0, 2.0, 1.0]).repeat_interleave(lstm.hidden_size)
    bias = (lstm.bias_ih_l0 + lstm.bias_hh_l0) * double_g
    table = torch.addmm(bias, e, (lstm.weight_ih_l0 * double_g[:, None]).t())
    recurrent = (2 * lstm.weight_hh_l0 * double_g[:, None]).t().contiguous()
    return Direction(table, bias, recurrent, (2 * score_weight).contiguous(), (2 * value).contiguous())


def _convolutional(encoder: CNN, e: Tensor, scorer: Scorer, value: Tensor) -> Convolutional:
    taps, weights = [], []
    for index, convolution in enumerate(encoder.convolutions):
        reach = convolution.kernel_size[0] // 2
        for offset in range(-reach, reach + 1):
            taps.append((index, offset))
            weights.append(convolution.weight[:, :, offset + reach].t())  # (300, F)
    bias = torch.cat([convolution.bias for convolution in encoder.convolutions])
    reach = max(offset for _, offset in taps)
    return Convolutional(e @ torch.stack(weights), tuple(taps), reach, "relu", bias, scorer, value)
