"""Penalties that may be added to a text model's loss; none is in the three papers.

penalty(ids, h, attention, mask) is the batch's sum, of ids (B, L), states h (B, L, H), attention (B, L) and mask
(B, L), True where words are. `parameters` are trained with the model.
"""

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.models.encoders import Encoder


class Tie:
    """Keeps states near their own words: each document costs the mean over the batch's tokens of the distance below.

    |h_t - tanh(W e_t)|^2 / width, with e_t the word's vector. W is learned with the model and thrown away. After
    Tutek & Šnajder 2020, who tie states to embeddings of their own width; here a learned map bridges 300 and 256.
    """

    def __init__(self, encoder: Encoder, strength: float) -> None:
        self.strength = strength
        self.embedding = encoder.embedding
        self.map = nn.Linear(self.embedding.embedding_dim, encoder.width)
        self.map.to(self.embedding.weight.device)
        self.parameters = list(self.map.parameters())

    def __call__(self, ids: Tensor, h: Tensor, attention: Tensor, mask: Tensor) -> Tensor:
        distance = self.distance(self.embedding(ids), h, mask)
        return self.strength * len(ids) * distance

    def distance(self, e: Tensor, h: Tensor, mask: Tensor) -> Tensor:
        """Mean squared distance of states h (B, L, H) from their mapped words e (B, L, E)."""
        difference = h - self.map(e).tanh()  # (B, L, H)
        by_token = difference.square().mean(-1)
        return (by_token * mask).sum() / mask.sum()


class Hide:
    """Trains attention to deceive: each document costs -log(1 - attention on secret words).

    Pruthi et al. 2020, section 3. secret (V,) bool: here the words that decide a planted text. Attention within a
    rounding of 1 counts as that far from it, so the penalty stays finite.
    """

    def __init__(self, secret: np.ndarray, strength: float, device: torch.device) -> None:
        self.secret = torch.as_tensor(secret, device=device)
        self.strength = strength
        self.parameters: list[nn.Parameter] = []

    def __call__(self, ids: Tensor, h: Tensor, attention: Tensor, mask: Tensor) -> Tensor:
        on_secret = (attention * self.secret[ids]).sum(-1)  # (B,)
        log_elsewhere = torch.log1p(-on_secret.clamp(max=1 - 1e-6))
        return self.strength * -log_elsewhere.sum()
