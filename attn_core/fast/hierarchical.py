"""Serrano & Smith's networks with less work: each distinct word multiplied once, no padding, own recurrent steps.

An item is what it brings to the sums of its text: of a GRU the products of its vector with the input weights, of
convolutions its share in every window it is in. The arithmetic is that of `models.hierarchical` to rounding, and
dropout meets the same elements.
"""

import torch
from torch import Tensor, nn

from attn_core import fast
from attn_core.fast.gru import Steps, packing
from attn_core.models.encoders import distinct
from attn_core.models.hierarchical import (
    OWN_DROPOUT,
    Convolutional,
    Hierarchical,
    Recurrent,
    SquareAdditive,
    Unmixed,
    drop,
    owners,
)


def quick(model: Hierarchical) -> Hierarchical:
    """The model, in place, in its fast form; weights and their names stay. As it is where fast forms are off, and where
    an encoder has none."""
    forms = {Recurrent: QuickRecurrent, Convolutional: QuickConvolutional, Unmixed: QuickUnmixed}
    encoders = [layer.encoder for layer in (model.sentence, model.document) if layer is not None]
    if fast.enabled() and all(type(encoder) in forms for encoder in encoders):
        forms |= {SquareAdditive: QuickAdditive, Hierarchical: Quick}
        for module in model.modules():
            module.__class__ = forms.get(type(module), type(module))
    return model


class QuickRecurrent(Recurrent):
    """Items are products (N, 2, 3H): what each alone adds to its step in either direction."""

    def both(self, name: str) -> list[Tensor]:
        """A parameter of the forward and of the backward direction."""
        return [getattr(self.gru, f"{name}_l0{direction}") for direction in ("", "_reverse")]

    def products(self, x: Tensor) -> Tensor:
        weight, bias = torch.cat(self.both("weight_ih")), torch.cat(self.both("bias_ih"))
        return nn.functional.linear(x, weight, bias).view(len(x), 2, -1)

    def forward(self, products: Tensor, counts: Tensor) -> Tensor:
        weight, bias = torch.stack(self.both("weight_hh")), torch.stack(self.both("bias_hh"))
        return Steps.apply(products, weight, bias, packing(counts))


class QuickConvolutional(Convolutional):
    """Items are products (N, 8, filters): what each alone adds to the windows it is in."""

    @property
    def taps(self) -> list[tuple[int, int]]:
        """(filter set, offset of the word from the window's centre)."""
        return [(k, o - size // 2) for k, size in enumerate((3, 5)) for o in range(size)]

    def products(self, x: Tensor) -> Tensor:
        x = drop(x, OWN_DROPOUT, self.training)
        weight = torch.cat([c.weight.permute(2, 0, 1).flatten(0, 1) for c in self.convolutions])  # (8 filters, E)
        return nn.functional.linear(x, weight).view(len(x), len(self.taps), -1)

    def forward(self, products: Tensor, counts: Tensor) -> Tensor:
        bias, text = torch.cat([c.bias for c in self.convolutions]), owners(counts)
        place, sums = torch.arange(len(text), device=text.device), [0.0, 0.0]
        for product, (k, offset) in zip(products.unbind(1), self.taps, strict=True):
            inside = (place + offset >= 0) & (place + offset < len(text)) & (text.roll(-offset) == text)
            sums[k] = sums[k] + product.roll(-offset, 0) * inside[:, None]
        return (torch.cat(sums, 1) + bias).relu()


class QuickUnmixed(Unmixed):
    """Items are the vectors themselves."""

    def products(self, x: Tensor) -> Tensor:
        return x


class QuickAdditive(SquareAdditive):
    """tanh(x) = 2 sigmoid(2x) - 1: the logistic function takes a tenth of tanh's time on a CPU."""

    def forward(self, h: Tensor) -> Tensor:
        return self.c((2 * self.project(h)).sigmoid() * 2 - 1).squeeze(-1)


class Quick(Hierarchical):
    """Items are products of the document's encoder; of a HAN the sentences' encoder reads products of words."""

    def items(self, words: Tensor, sentence_lengths: Tensor | None, embedded: Tensor | None = None) -> Tensor:
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

    def forward(
        self, words: Tensor, counts: Tensor, sentence_lengths: Tensor | None = None, given: Tensor | None = None
    ) -> Tensor:
        logits = self.decode(self.items(words, sentence_lengths), counts, given)
        return drop(logits, self.dropout[2], self.training)
