"""Encoders: token ids to one vector per token. Jain & Wallace 2019, section 3 of the replication's description.

All share one calling form: `encoder(ids, lengths, mask) -> h`, with ids (B, L) padded with 0 on the right, lengths (B,)
counting start and end tokens, mask (B, L) True on real tokens (no pad, start, end), h (B, L, width).
`encoder.summary(ids, lengths, mask)`, (B, width), is one vector of a whole text: the query of the paired models.
An encoder may have `scored(h, ids, lengths, mask)`: the states (B, L, width) that attention scores in the place of h.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def reverse_within(values: Tensor, lengths: Tensor) -> Tensor:
    """Each row reversed within its own length; what lies beyond the length repeats the row's first position."""
    texts, positions = values.shape[:2]
    position = torch.arange(positions, device=values.device)
    mirrored = (lengths[:, None] - 1 - position).clamp(min=0)  # (B, L)
    first = torch.arange(texts, device=values.device)[:, None] * positions  # (B, 1) where a text starts, laid flat
    return nn.functional.embedding(mirrored + first, values.flatten(0, 1))  # its two passes beat those of a gather


class Encoder(nn.Module):
    """What all encoders have: `embedding`, through which alone they read the ids, and `width`, that of their states."""

    def __init__(self, embedding: nn.Embedding, width: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.width = width

    def summary(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        """Mean over each text's own positions, start and end included, pads not: (B, width).

        Deviation: the authors' mean runs over the padded batch, so their summary of a text depends on its neighbours.
        """
        h = self(ids, lengths, mask)
        inside = torch.arange(h.shape[1], device=h.device) < lengths[:, None]
        return (h * inside[..., None]).sum(1) / lengths[:, None]


class BiLSTM(Encoder):
    """One-layer bidirectional LSTM, 128 per direction (paper: 128; bAbI 30 to 128, see the specification).

    Two LSTMs instead of one packed bidirectional one: the backward LSTM reads each text reversed within its own length,
    so right padding is never read by a real position. The arithmetic is that of packed sequences and each direction
    runs in one fused kernel, on mixed lengths too.
    """

    def __init__(self, embedding: nn.Embedding, hidden: int = 128) -> None:
        super().__init__(embedding, 2 * hidden)
        self.forward_lstm = nn.LSTM(embedding.embedding_dim, hidden, batch_first=True)
        self.backward_lstm = nn.LSTM(embedding.embedding_dim, hidden, batch_first=True)

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        e = self.embedding(ids)  # (B, L, 300)
        forward_h, _ = self.forward_lstm(e)  # (B, L, hidden)
        reversed_h, _ = self.backward_lstm(reverse_within(e, lengths))
        backward_h = reverse_within(reversed_h, lengths)
        return torch.cat([forward_h, backward_h], dim=-1)  # (B, L, 2 hidden)

    def summary(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        """Last forward and last backward state: the latter stands at the text's first position."""
        forward_h, backward_h = self(ids, lengths, mask).chunk(2, dim=-1)
        text = torch.arange(len(ids), device=ids.device)
        last_forward = forward_h[text, lengths - 1]
        last_backward = backward_h[:, 0]
        return torch.cat([last_forward, last_backward], dim=-1)


class CNN(Encoder):
    """Convolutions of width 1, 3, 5, 7 with 32 filters each, ReLU (authors' final run; 64 filters in their April run).

    Outputs at start, end and pad are set to zero after the ReLU, as in the authors' code. Each distinct word of the
    batch is multiplied once by the filters' seven positions, and a window is the sum of seven rows: equal to
    convolutions to rounding, and faster.
    """

    WIDTHS = (1, 3, 5, 7)
    REACH = max(WIDTHS) // 2
    """Words to either side that a state depends on; encoders without a REACH of their own may depend on all."""

    def __init__(self, embedding: nn.Embedding, hidden: int = 32) -> None:
        super().__init__(embedding, hidden * len(self.WIDTHS))
        self.convolutions = nn.ModuleList(
            nn.Conv1d(embedding.embedding_dim, hidden, width, padding=width // 2) for width in self.WIDTHS
        )

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        return self.windows(ids).relu() * mask[..., None]  # (B, L, 4 hidden)

    def windows(self, ids: Tensor) -> Tensor:
        """The convolutions' outputs, (B, L, 4 hidden); the pad row is zero, like the padding beyond the text."""
        padded = nn.functional.pad(ids, (self.REACH, self.REACH))  # (B, L + 6)
        words, word_of = distinct(padded, self.embedding)
        filters, biases = self.filters()
        # One product per position of the window: what a word adds to the output if it stands there.
        products = torch.matmul(self.embedding(words), filters.permute(2, 1, 0))  # (7, U, 4 hidden)
        h = biases
        for position, product in enumerate(products):
            h = h + nn.functional.embedding(word_of[:, position : position + ids.shape[1]], product)
        return h

    def filters(self) -> tuple[Tensor, Tensor]:
        """All filters (4 hidden, E, 7), narrow ones widened by zeros, and their biases (4 hidden,)."""
        filters: list[Tensor] = []
        biases: list[Tensor] = []
        for width, convolution in zip(self.WIDTHS, self.convolutions, strict=True):
            beyond = self.REACH - width // 2
            filters.append(nn.functional.pad(convolution.get_parameter("weight"), (beyond, beyond)))
            biases.append(convolution.get_parameter("bias"))
        return torch.cat(filters), torch.cat(biases)

    def summary(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        """Maximum over positions, after the masking."""
        return self(ids, lengths, mask).max(1).values  # (B, 4 hidden)


class Average(Encoder):
    """Each token projected alone, Linear(300 -> 128) and tanh (final code; the paper: 256, ReLU, unverified)."""

    REACH = 0

    def __init__(self, embedding: nn.Embedding, hidden: int = 128) -> None:
        super().__init__(embedding, hidden)
        self.project = nn.Linear(embedding.embedding_dim, hidden)

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        projected, word_of = self.projected(ids)
        return nn.functional.embedding(word_of, projected.tanh())

    def projected(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Projections (U, hidden) of the words among which all ids lie, each once, and each id's index among them."""
        words, word_of = distinct(ids, self.embedding)
        return self.project(self.embedding(words)), word_of


def distinct(ids: Tensor, embedding: nn.Embedding) -> tuple[Tensor, Tensor]:
    """Words (U,) among which all ids lie, and each id's index among them; the whole vocabulary where it is small."""
    if embedding.num_embeddings <= ids.numel():
        return torch.arange(embedding.num_embeddings, device=ids.device), ids
    return torch.unique(ids, return_inverse=True)


class NoEncoder(Encoder):
    """The embedding itself: attention over word vectors without any context."""

    REACH = 0

    def __init__(self, embedding: nn.Embedding, hidden: int = 0) -> None:
        super().__init__(embedding, embedding.embedding_dim)

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        return self.embedding(ids)


ENCODERS: dict[str, Callable[..., Encoder]] = {
    "lstm": BiLSTM,
    "cnn": CNN,
    "average": Average,
    "none": NoEncoder,
}
"""Name -> class. Default widths are the classes' own."""
