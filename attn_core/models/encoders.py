"""Encoders: token ids to one vector per token. Jain & Wallace 2019, section 3 of the replication's description.

All share one calling form: `encoder(ids, lengths, mask) -> h`, with ids (B, L) padded with 0 on the right, lengths (B,)
counting start and end tokens, mask (B, L) True on real tokens (no pad, start, end), h (B, L, width).
`encoder.summary(ids, lengths, mask)`, (B, width), is one vector of a whole text: the query of the paired models.
"""

import torch
from torch import Tensor, nn


def reverse_within(values: Tensor, lengths: Tensor) -> Tensor:
    """Each row reversed within its own length; what lies beyond the length repeats the row's first position."""
    position = torch.arange(values.shape[1], device=values.device)
    index = (lengths[:, None] - 1 - position).clamp(min=0)  # (B, L)
    index = index + torch.arange(len(values), device=values.device)[:, None] * values.shape[1]
    return nn.functional.embedding(index, values.flatten(0, 1))  # its two passes are quicker than those of a gather


class Averaging(nn.Module):
    """An encoder whose summary of a text is the mean of its states."""

    def summary(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        """Mean over each text's own positions, start and end included, pads not: (B, width).

        Deviation: the authors' mean runs over the padded batch, so their summary of a text depends on its neighbours.
        """
        h = self(ids, lengths, mask)
        inside = torch.arange(h.shape[1], device=h.device) < lengths[:, None]
        return (h * inside[..., None]).sum(1) / lengths[:, None]


class BiLSTM(nn.Module):
    """One-layer bidirectional LSTM, 128 per direction (paper: 128; bAbI 30 to 128, see the specification).

    Two LSTMs instead of one packed bidirectional one: the backward LSTM reads each text reversed within its own length,
    so right padding is never read by a real position. The arithmetic is that of packed sequences and each direction
    runs in one fused kernel, on mixed lengths too.
    """

    def __init__(self, embedding: nn.Embedding, hidden: int = 128) -> None:
        super().__init__()
        self.embedding = embedding
        self.forward_lstm = nn.LSTM(embedding.embedding_dim, hidden, batch_first=True)
        self.backward_lstm = nn.LSTM(embedding.embedding_dim, hidden, batch_first=True)
        self.width = 2 * hidden

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        e = self.embedding(ids)  # (B, L, 300)
        ahead, _ = self.forward_lstm(e)  # (B, L, hidden)
        back, _ = self.backward_lstm(reverse_within(e, lengths))
        return torch.cat([ahead, reverse_within(back, lengths)], dim=-1)  # (B, L, 2 hidden)

    def summary(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        """Last forward and last backward state: the latter stands at the text's first position."""
        ahead, back = self(ids, lengths, mask).chunk(2, dim=-1)
        return torch.cat([ahead[torch.arange(len(ids), device=ids.device), lengths - 1], back[:, 0]], dim=-1)


class CNN(nn.Module):
    """Convolutions of width 1, 3, 5, 7 with 32 filters each, ReLU (authors' final run; 64 filters in their April run).

    Outputs at start, end and pad are set to zero after the ReLU, as in the authors' code. Each distinct word of the
    batch is multiplied once by the filters' seven positions, and a window is the sum of seven rows: equal to
    convolutions to rounding, and faster.
    """

    def __init__(self, embedding: nn.Embedding, hidden: int = 32) -> None:
        super().__init__()
        self.embedding = embedding
        widths = (1, 3, 5, 7)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(embedding.embedding_dim, hidden, width, padding=width // 2) for width in widths
        )
        self.width = hidden * len(widths)

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        return self.windows(ids).relu() * mask[..., None]  # (B, L, 4 hidden)

    def windows(self, ids: Tensor) -> Tensor:
        """The convolutions' outputs, (B, L, 4 hidden); the pad row is zero, like the padding beyond the text."""
        words, slots = distinct(nn.functional.pad(ids, (3, 3)), self.embedding)
        filters = [nn.functional.pad(c.weight, (3 - c.padding[0],) * 2) for c in self.convolutions]  # (hidden, E, 7)
        products = torch.matmul(self.embedding(words), torch.cat(filters).permute(2, 1, 0))  # (7, U, 4 hidden)
        h = torch.cat([convolution.bias for convolution in self.convolutions])
        for place, table in enumerate(products):
            h = h + nn.functional.embedding(slots[:, place : place + ids.shape[1]], table)
        return h

    def summary(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        """Maximum over positions, after the masking."""
        return self(ids, lengths, mask).max(1).values  # (B, 4 hidden)


class Average(Averaging):
    """Each token projected alone, Linear(300 -> 128) and tanh (final code; the paper: 256, ReLU, unverified).

    context: a dial that is not in the papers. Each token reads (1 - context) times its own word and context times the
    mean word of its text (start, end and pads left out): at 0 nothing but itself, at 1 every token is the same.
    """

    def __init__(self, embedding: nn.Embedding, hidden: int = 128, context: float = 0.0) -> None:
        super().__init__()
        self.embedding = embedding
        self.project = nn.Linear(embedding.embedding_dim, hidden)
        self.width = hidden
        self.context = context

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        words, slots = distinct(ids, self.embedding)
        if not self.context:
            return nn.functional.embedding(slots, self.project(self.embedding(words)).tanh())
        own = nn.functional.embedding(slots, self.project(self.embedding(words)))  # (B, L, hidden)
        mean = (own * mask[..., None]).sum(1, keepdim=True) / mask.sum(1)[:, None, None].clamp(min=1)
        return ((1 - self.context) * own + self.context * mean).tanh()


def distinct(ids: Tensor, embedding: nn.Embedding) -> tuple[Tensor, Tensor]:
    """Words (U,) among which all ids lie, and each id's place among them; the whole vocabulary where it is small."""
    if embedding.num_embeddings <= ids.numel():
        return torch.arange(embedding.num_embeddings, device=ids.device), ids
    return torch.unique(ids, return_inverse=True)


class NoEncoder(Averaging):
    """The embedding itself: attention over word vectors without any context."""

    def __init__(self, embedding: nn.Embedding, hidden: int = 0) -> None:
        super().__init__()
        self.embedding = embedding
        self.width = embedding.embedding_dim

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        return self.embedding(ids)


class Transformer(Averaging):
    """Two self-attention layers, trained from scratch (Vaswani et al. 2017); not in the three papers.

    Word vectors are projected to `hidden` (128), fixed sines and cosines tell positions apart, four heads, twice the
    width within, normalisation first, dropout 0.3 on the projected words and 0.1 in the layers. Pads are never read.
    """

    LAYERS, HEADS, DROPPED = 2, 4, 0.3

    def __init__(self, embedding: nn.Embedding, hidden: int = 128) -> None:
        super().__init__()
        self.embedding = embedding
        self.project = nn.Linear(embedding.embedding_dim, hidden)
        self.drop = nn.Dropout(self.DROPPED)
        layer = nn.TransformerEncoderLayer(hidden, self.HEADS, 2 * hidden, 0.1, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, self.LAYERS, nn.LayerNorm(hidden), enable_nested_tensor=False)
        self.width = hidden

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        beyond = torch.arange(ids.shape[1], device=ids.device) >= lengths[:, None]  # (B, L)
        h = self.drop(self.project(self.embedding(ids)) + waves(ids.shape[1], self.width, ids.device))
        return self.layers(h, src_key_padding_mask=beyond)


def waves(length: int, width: int, device: torch.device) -> Tensor:
    """Sines and cosines of positions (length, width), of 1 to 10,000 positions a wave (Vaswani et al. 2017, 3.5)."""
    angle = torch.arange(length, device=device)[:, None] / 10_000 ** (torch.arange(0, width, 2, device=device) / width)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


ENCODERS = {"lstm": BiLSTM, "cnn": CNN, "average": Average, "none": NoEncoder, "transformer": Transformer}
"""Name in `Run.encoder` -> class. Default widths are the classes' own."""
