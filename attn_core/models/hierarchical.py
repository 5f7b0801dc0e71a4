"""The six models of Serrano & Smith (2019): hierarchical (HAN) and flat (FLAN) attention networks.

Specification section 3.1, after the authors' code. Words, or sentences, of a batch lie end to end: B texts with N items
in all are an array (N, ...) and counts (B,), each at least 1. Nothing is padded, so nothing has to be masked. START and
END tokens are not among the words: these models never read them.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.errors import AttnError
from attn_core.models.classifier import loaded
from attn_core.models.encoders import distinct
from attn_core.models.gru import Steps, packing

OWN_DROPOUT = 0.3
"""Of the convolutional encoder, on its input, on top of all others."""


def drop(x: Tensor, rate: float, training: bool) -> Tensor:
    """Element-wise dropout; rates are met to 1/65,536.

    One 64-bit draw decides four elements: torch's own draws take a third of a training step on a CPU.
    """
    if not training or rate == 0:
        return x
    draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64, device=x.device).random_(-(2**63), None)
    kept = draws.view(torch.int16)[: x.numel()].view(x.shape) >= round(rate * 65_536) - 32_768
    return x * kept.to(x.dtype).div_(1 - rate)


class Recurrent(nn.Module):
    """One-layer bidirectional GRU, 50 units per direction.

    Weights as the authors' initialiser draws them, each matrix for the three gates as a whole: input Xavier-uniform,
    recurrent orthogonal, biases zero but for recurrent positions 37 to 73 of 150 (3H // 4 on, as many again), which
    are one: a rule for the forget gates of LSTMs that here meets the reset and the update gate.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, bidirectional=True)
        self.width = 2 * hidden
        quarter = 3 * hidden // 4
        for name, parameter in self.gru.named_parameters():
            if name.startswith("weight_ih"):
                nn.init.xavier_uniform_(parameter)
            elif name.startswith("weight_hh"):
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)
                if name.startswith("bias_hh"):
                    nn.init.ones_(parameter.detach()[quarter : 2 * quarter])

    def both(self, name: str) -> list[Tensor]:
        """A parameter of the forward and of the backward direction."""
        return [getattr(self.gru, f"{name}_l0{direction}") for direction in ("", "_reverse")]

    def products(self, x: Tensor) -> Tensor:
        """What each item alone adds to its step: (N, E) -> (N, 2, 3H)."""
        weight, bias = torch.cat(self.both("weight_ih")), torch.cat(self.both("bias_ih"))
        return nn.functional.linear(x, weight, bias).view(len(x), 2, -1)

    def mix(self, products: Tensor, counts: Tensor) -> Tensor:
        """States (N, 2H)."""
        weight, bias = torch.stack(self.both("weight_hh")), torch.stack(self.both("bias_hh"))
        return Steps.apply(products, weight, bias, packing(counts))


class Convolutional(nn.Module):
    """Convolutions of width 3 and 5 with 50 filters each, side by side, ReLU; beyond a text's ends lie zeros."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv1d(inputs, hidden, width, padding=width // 2) for width in (3, 5))
        self.width = 2 * hidden
        self.taps = [(k, o - size // 2) for k, size in enumerate((3, 5)) for o in range(size)]  # (filter set, offset)

    def products(self, x: Tensor) -> Tensor:
        """What each item alone adds to the windows it is in: (N, E) -> (N, 8, filters)."""
        x = drop(x, OWN_DROPOUT, self.training)
        weight = torch.cat([c.weight.permute(2, 0, 1).flatten(0, 1) for c in self.convolutions])  # (8 filters, E)
        return nn.functional.linear(x, weight).view(len(x), len(self.taps), -1)

    def mix(self, products: Tensor, counts: Tensor) -> Tensor:
        """States (N, 2 filters)."""
        bias = torch.cat([c.bias for c in self.convolutions])
        return (Windows.apply(products, owners(counts), self.taps) + bias).relu()


class Windows(torch.autograd.Function):
    """Sums over windows, (N, sets * F), of products (N, taps, F); text (N,) says to which text an item belongs."""

    @staticmethod
    def forward(ctx, products: Tensor, text: Tensor, taps: list[tuple[int, int]]) -> Tensor:
        ctx.save_for_backward(text)
        ctx.taps = taps
        n, _, filters = products.shape
        h = products.new_zeros(n, 1 + max(k for k, _ in taps), filters)
        for tap, (k, offset) in enumerate(taps):
            centre, item = meeting(n, offset)
            h[centre, k].addcmul_(products[item, tap], (text[centre] == text[item])[:, None].to(h.dtype))
        return h.flatten(1)

    @staticmethod
    def backward(ctx, slope: Tensor):
        (text,), taps = ctx.saved_tensors, ctx.taps
        slope = slope.view(len(text), 1 + max(k for k, _ in taps), -1)
        found = slope.new_zeros(len(text), len(taps), slope.shape[-1])
        for tap, (k, offset) in enumerate(taps):
            centre, item = meeting(len(text), offset)
            torch.mul(slope[centre, k], (text[centre] == text[item])[:, None], out=found[item, tap])
        return found, None, None


def meeting(n: int, offset: int) -> tuple[slice, slice]:
    """(window centres, items at this offset from them) among n positions."""
    return slice(max(0, -offset), n - max(0, offset)), slice(max(0, offset), n - max(0, -offset))


class Unmixed(nn.Module):
    """No encoder: an item's state is its own vector."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.width = inputs

    def products(self, x: Tensor) -> Tensor:
        """The vectors themselves."""
        return x

    def mix(self, products: Tensor, counts: Tensor) -> Tensor:
        """The vectors themselves."""
        return products


class SquareAdditive(nn.Module):
    """Score c . tanh(A h + a) with a square A and no bias beside c: (N, width) -> (N,).

    tanh(x) = 2 sigmoid(2x) - 1 is written so because the logistic function takes a tenth of tanh's time on a CPU.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, width)
        self.c = nn.Linear(width, 1, bias=False)

    def forward(self, h: Tensor) -> Tensor:
        return self.c((2 * self.project(h)).sigmoid() * 2 - 1).squeeze(-1)


class Layer(nn.Module):
    """Encoder and attention: the items of each text to one vector. No dropout between the two."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.attention = SquareAdditive(encoder.width)

    def forward(self, products: Tensor, counts: Tensor, given: Tensor | None = None) -> Tensor:
        """Sum of weight times state, (B, width); `given` (N,) replaces the attention weights."""
        h = self.encoder.mix(products, counts)
        weights = softmax_within(self.attention(h), counts) if given is None else given
        return sum_within(weights[:, None] * h, counts)


class Hierarchical(nn.Module):
    """logits = decoder(sum_t attention_t h_t) over the sentences (HAN) or the words (FLAN) of a document.

    A HAN has a layer of its own that makes a vector of each sentence's words. The decoder is one affine layer, so the
    logits under any attention over the items are bias + sum_t a_t (decoder . h_t): see `attn_core.traces`.
    dropout: rates on word vectors, sentence vectors and, as in the authors' code, on the logits, after the decoder.
    """

    def __init__(
        self, embedding: nn.Embedding, sentence: Layer | None, document: Layer, outputs: int, dropout: Sequence[float]
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.sentence = sentence
        self.document = document
        self.decoder = nn.Linear(document.encoder.width, outputs)
        nn.init.xavier_uniform_(self.decoder.weight)
        nn.init.zeros_(self.decoder.bias)
        self.dropout = tuple(dropout)

    @property
    def outputs(self) -> int:
        """Number of logits K."""
        return self.decoder.out_features

    def products(self, words: Tensor, sentence_lengths: Tensor | None, embedded: Tensor | None = None) -> Tensor:
        """What the document's encoder makes of each item alone, (N, ...).

        words (W,) ids; sentence_lengths (N,) words of each sentence, None for a FLAN, whose items are the words.
        embedded (W, E): word vectors to take in place of the words' own.
        """
        first = (self.sentence or self.document).encoder
        if embedded is None and not self.training:  # without dropout a word's product is the same wherever it stands
            known, slots = distinct(words, self.embedding)
            products = first.products(self.embedding(known))[slots]
        else:
            embedded = self.embedding(words) if embedded is None else embedded
            products = first.products(drop(embedded, self.dropout[0], self.training))
        if self.sentence is None:
            return products
        vectors = self.sentence(products, sentence_lengths)
        return self.document.encoder.products(drop(vectors, self.dropout[1], self.training))

    def decode(self, products: Tensor, counts: Tensor, given: Tensor | None = None) -> Tensor:
        """Logits (D, K) of documents of counts (D,) items; `given` (N,) replaces their attention."""
        return self.decoder(self.document(products, counts, given))

    def forward(
        self, words: Tensor, counts: Tensor, sentence_lengths: Tensor | None = None, given: Tensor | None = None
    ) -> Tensor:
        """Logits (D, K); words and sentence_lengths as in `products`, counts and given as in `decode`."""
        logits = self.decode(self.products(words, sentence_lengths), counts, given)
        return drop(logits, self.dropout[2], self.training)


def owners(counts: Tensor) -> Tensor:
    """The text of each item, (N,)."""
    return torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)


def softmax_within(scores: Tensor, counts: Tensor) -> Tensor:
    """Softmax of scores (N,) within each text."""
    text = owners(counts)
    top = scores.new_empty(len(counts)).scatter_reduce_(0, text, scores.detach(), "amax", include_self=False)
    weights = (scores - top[text]).exp()
    return weights / torch.zeros_like(top).index_add(0, text, weights)[text]


def sum_within(values: Tensor, counts: Tensor) -> Tensor:
    """Sums of values (N, H) within each text, (B, H)."""
    return values.new_zeros(len(counts), values.shape[1]).index_add(0, owners(counts), values)


ENCODERS = {"rnn": Recurrent, "conv": Convolutional, "none": Unmixed}
"""Second part of a model's name -> class of its encoders."""


def build(
    encoder: str, vectors: np.ndarray, outputs: int, hidden: int = 50, dropout: Sequence[float] = (0.0, 0.0, 0.0)
) -> Hierarchical:
    """A fresh model with the authors' initial values. encoder: han_rnn, ..., flan_none; vectors (V, E) float32.

    hidden: units per direction or filters per width, of no meaning without encoder.
    """
    shape, _, kind = encoder.partition("_")
    if shape not in ("han", "flan") or kind not in ENCODERS:
        known = ", ".join(f"{shape}_{kind}" for shape in ("han", "flan") for kind in ENCODERS)
        raise AttnError(f"unknown model '{encoder}'; known: {known}")
    if not np.isfinite(vectors).all():
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise AttnError(f"word vectors hold NaN or infinity in row {row}; every vector must be finite")
    embedding = nn.Embedding.from_pretrained(torch.tensor(vectors, dtype=torch.float32), freeze=False, padding_idx=0)
    sentence = Layer(ENCODERS[kind](embedding.embedding_dim, hidden)) if shape == "han" else None
    inputs = embedding.embedding_dim if sentence is None else sentence.encoder.width
    return Hierarchical(embedding, sentence, Layer(ENCODERS[kind](inputs, hidden)), outputs, dropout)


def from_arrays(encoder: str, arrays: dict[str, np.ndarray]) -> Hierarchical:
    """The model that `classifier.to_arrays` describes, widths read off the arrays; AttnError where they do not fit."""
    needed = ("embedding.weight", "decoder.weight")
    if missing := [name for name in needed if name not in arrays]:
        raise AttnError(f"the arrays hold no {missing[0]}; a {encoder} model needs one")
    outputs, width = arrays["decoder.weight"].shape
    model = build(encoder, np.asarray(arrays["embedding.weight"]), outputs, max(1, width // 2))
    return loaded(model, f"{encoder} model", arrays)
