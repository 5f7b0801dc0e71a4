"""The six models of Serrano & Smith (2019): hierarchical (HAN) and flat (FLAN) attention networks.

Specification section 3.1, after the authors' code. Words, or sentences, of a batch lie end to end: B texts with N items
in all are an array (N, ...) and counts (B,), each at least 1, so nothing is masked. START and END are never read.
Encoders take items (N, E) and counts and give states (N, width).
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from attn_core.models.classifier import class_named, filled, trainable
from attn_core.traces import Arrays

CONVOLUTIONAL_DROPOUT = 0.3
"""Of the convolutional encoder, on its input, on top of all others."""

COINS = 1 << 16
"""Different values of the 16 bits that decide whether an element is dropped."""


def drop(x: Tensor, rate: float, training: bool) -> Tensor:
    """Element-wise dropout; rates are met to 1/65,536.

    One 64-bit draw decides four elements: torch's own draws take a third of a training step on a CPU.
    """
    if not training or rate == 0:
        return x
    count = -(-x.numel() // 4)
    draws = torch.empty(count, dtype=torch.int64, device=x.device).random_(-(2**63), None)
    coins = draws.view(torch.int16)[: x.numel()].view(x.shape)  # from -COINS / 2 on
    survives = coins >= round(rate * COINS) - COINS // 2
    return x * survives.to(x.dtype).div_(1 - rate)


class ItemEncoder(nn.Module):
    """What encoders have: the width of the states that they give for items (N, inputs) and counts (B,)."""

    width: int


class Recurrent(ItemEncoder):
    """One-layer bidirectional GRU, 50 units per direction: width 2 H.

    Weights as the authors' initialiser draws them, each matrix for the three gates as a whole: input Xavier-uniform,
    recurrent orthogonal, biases zero but for recurrent positions 37 to 73 of 150 (3H // 4 on, as many again), which
    are one: a rule for the forget gates of LSTMs that here meets the reset and the update gate.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, bidirectional=True)
        self.width = 2 * hidden
        start = 3 * hidden // 4
        for name, parameter in self.gru.named_parameters():
            if name.startswith("weight_ih"):
                nn.init.xavier_uniform_(parameter)
            elif name.startswith("weight_hh"):
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)
                if name.startswith("bias_hh"):
                    nn.init.ones_(parameter.detach()[start : 2 * start])

    def forward(self, x: Tensor, counts: Tensor) -> Tensor:
        # A packed sequence holds the first items of all texts, then the second ones, and so on; long texts come first.
        sorted_counts, order = torch.sort(counts, descending=True, stable=True)
        step = torch.arange(int(sorted_counts[0]), device=x.device)[:, None]  # (L, 1)
        reached = step < sorted_counts  # (L, B)
        first = (counts.cumsum(0) - counts)[order]  # (B,)
        item = (first + step)[reached]  # (N,)
        states, _ = self.gru(PackedSequence(x[item], reached.sum(1).cpu()))
        return torch.empty_like(states.data).index_copy(0, item, states.data)


class Convolutional(ItemEncoder):
    """Convolutions of width 3 and 5 with 50 filters each, side by side, ReLU; beyond a text's ends lie zeros."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList()
        for width in (3, 5):
            self.convolutions.append(nn.Conv1d(inputs, hidden, width, padding=width // 2))
        self.width = 2 * hidden

    def forward(self, x: Tensor, counts: Tensor) -> Tensor:
        x = drop(x, CONVOLUTIONAL_DROPOUT, self.training)
        inside = torch.arange(int(counts.max()), device=x.device) < counts[:, None]  # (B, L)
        padded = x.new_zeros(*inside.shape, x.shape[1]).masked_scatter(inside[..., None], x)  # (B, L, E)
        channels = padded.transpose(1, 2)  # (B, E, L)
        h = torch.cat([convolution(channels) for convolution in self.convolutions], 1).relu()
        return h.transpose(1, 2)[inside]


class Unmixed(ItemEncoder):
    """No encoder: an item's state is its own vector."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.width = inputs

    def forward(self, x: Tensor, counts: Tensor) -> Tensor:
        return x


class SquareAdditive(nn.Module):
    """Score c . tanh(A h + a) with a square A and no bias beside c: (N, width) -> (N,)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, width)
        self.c = nn.Linear(width, 1, bias=False)

    def forward(self, h: Tensor) -> Tensor:
        return self.c(self.project(h).tanh()).squeeze(-1)


class Layer(nn.Module):
    """Encoder and attention: the items of each text to one vector. No dropout between the two."""

    def __init__(self, encoder: ItemEncoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.attention = SquareAdditive(encoder.width)

    def forward(self, items: Tensor, counts: Tensor) -> Tensor:
        """Sum of attention times state, (B, width)."""
        h = self.encoder(items, counts)
        attention = softmax_within(self.attention(h), counts)
        return sum_within(attention[:, None] * h, counts)


class Hierarchical(nn.Module):
    """logits = decoder(sum_t attention_t h_t) over the sentences (HAN) or the words (FLAN) of a document.

    A HAN has a layer of its own that makes a vector of each sentence's words. The decoder is affine, see
    `attn_core.traces`. rates: dropout on word vectors, sentence vectors and, as in the authors' code, on the logits.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        sentence: Layer | None,
        document: Layer,
        outputs: int,
        rates: Sequence[float],
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.sentence = sentence
        self.document = document
        self.decoder = nn.Linear(document.encoder.width, outputs)
        nn.init.xavier_uniform_(self.decoder.weight)
        nn.init.zeros_(self.decoder.bias)
        self.dropout = tuple(rates)

    def items(self, words: Tensor, sentence_lengths: Tensor | None, embedded: Tensor | None = None) -> Tensor:
        """What the document's encoder reads of each item, (N, ...): a word's vector, or a sentence's.

        words (W,) ids; sentence_lengths (N,) words of each sentence, None for a FLAN, whose items are the words.
        embedded (W, E): word vectors to take in place of the words' own.
        """
        e = self.embedding(words) if embedded is None else embedded
        e = drop(e, self.dropout[0], self.training)
        if self.sentence is None:
            return e
        return drop(self.sentence(e, sentence_lengths), self.dropout[1], self.training)

    def decode(self, items: Tensor, counts: Tensor) -> Tensor:
        """Logits (D, K) of documents of counts (D,) items."""
        return self.decoder(self.document(items, counts))

    def forward(self, words: Tensor, counts: Tensor, sentence_lengths: Tensor | None = None) -> Tensor:
        """Logits (D, K); words and sentence_lengths as in `items`, counts as in `decode`."""
        logits = self.decode(self.items(words, sentence_lengths), counts)
        return drop(logits, self.dropout[2], self.training)


def owners(counts: Tensor) -> Tensor:
    """The text of each item, (N,)."""
    return torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)


def softmax_within(scores: Tensor, counts: Tensor) -> Tensor:
    """Softmax of scores (N,) within each text."""
    text = owners(counts)
    largest = scores.new_empty(len(counts)).scatter_reduce_(0, text, scores.detach(), "amax", include_self=False)
    weights = (scores - largest[text]).exp()
    total = torch.zeros_like(largest).index_add(0, text, weights)
    return weights / total[text]


def sum_within(values: Tensor, counts: Tensor) -> Tensor:
    """Sums of values (N, H) within each text, (B, H)."""
    return values.new_zeros(len(counts), values.shape[1]).index_add(0, owners(counts), values)


ENCODERS: dict[str, type[ItemEncoder]] = {"rnn": Recurrent, "conv": Convolutional, "none": Unmixed}
"""Second part of a model's name -> class of its encoders."""


def build(
    encoder: str,
    vectors: np.ndarray,
    outputs: int,
    hidden: int = 50,
    rates: Sequence[float] = (0.0, 0.0, 0.0),
) -> Hierarchical:
    """A fresh model with the authors' initial values. encoder: han_rnn, ..., flan_none; vectors (V, E) float32.

    hidden: units per direction or filters per width, of no meaning without encoder.
    """
    models = {f"{shape}_{name}": kind for shape in ("han", "flan") for name, kind in ENCODERS.items()}
    encoder_class = class_named(models, "model", encoder)
    embedding = trainable(vectors)
    width = embedding.embedding_dim
    sentence = None
    if encoder.startswith("han"):
        sentence = Layer(encoder_class(width, hidden))
        width = sentence.encoder.width
    return Hierarchical(embedding, sentence, Layer(encoder_class(width, hidden)), outputs, rates)


def from_arrays(encoder: str, arrays: Arrays) -> Hierarchical:
    """The model that `classifier.to_arrays` describes, widths read off the arrays; AttnError where they do not fit."""

    def build_unfilled() -> Hierarchical:
        outputs, width = np.shape(arrays["decoder.weight"])
        return build(encoder, arrays["embedding.weight"], outputs, max(1, width // 2))

    return filled(build_unfilled, f"{encoder} model", arrays)
