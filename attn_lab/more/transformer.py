"""A small transformer, trained from scratch beside the papers' encoders; not in the three papers."""

import torch
from torch import Tensor, nn

from attn_core.models.classifier import TIMES_HIDDEN
from attn_core.models.encoders import ENCODERS, Encoder


class Transformer(Encoder):
    """Two self-attention layers, trained from scratch (Vaswani et al. 2017).

    Word vectors are projected to `hidden` (128), fixed sines and cosines tell positions apart, four heads, twice the
    width within, normalisation first, dropout 0.3 on the projected words and 0.1 in the layers. Pads are never read.
    """

    LAYERS = 2
    HEADS = 4
    INPUT_DROPOUT = 0.3
    LAYER_DROPOUT = 0.1

    def __init__(self, embedding: nn.Embedding, hidden: int = 128) -> None:
        super().__init__(embedding, hidden)
        self.project = nn.Linear(embedding.embedding_dim, hidden)
        self.drop = nn.Dropout(self.INPUT_DROPOUT)
        layer = nn.TransformerEncoderLayer(
            hidden, self.HEADS, 2 * hidden, self.LAYER_DROPOUT, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, self.LAYERS, nn.LayerNorm(hidden), enable_nested_tensor=False)

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        beyond = torch.arange(ids.shape[1], device=ids.device) >= lengths[:, None]  # (B, L)
        e = self.project(self.embedding(ids))  # (B, L, hidden)
        placed = e + waves(ids.shape[1], self.width, ids.device)
        return self.layers(self.drop(placed), src_key_padding_mask=beyond)


def waves(length: int, width: int, device: torch.device) -> Tensor:
    """Sines and cosines of positions (length, width), of 1 to 10,000 positions a wave (Vaswani et al. 2017, 3.5)."""
    wavelength = 10_000 ** (torch.arange(0, width, 2, device=device) / width)
    angle = torch.arange(length, device=device)[:, None] / wavelength
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


ENCODERS["transformer"] = Transformer
TIMES_HIDDEN["transformer"] = 1
