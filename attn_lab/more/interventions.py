"""What is changed in a training by the hooks that `training` has for anybody; none of it is in the three papers.

    Tie, Hide   penalties: what is added to a loss
    masked      a transform: other documents in each epoch
    nudge       a start: other weights to begin with
    Mixed       an encoder whose tokens read their neighbours by a dial

`families` says which run asks for which.
"""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.documents import UNKNOWN, Documents
from attn_core.models.encoders import Average, Encoder
from attn_core.training import Penalty


class Tie(Penalty):
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


class Hide(Penalty):
    """Trains attention to deceive: each document costs -log(1 - attention on secret words).

    Pruthi et al. 2020, section 3. secret (V,) bool: here the words that decide a planted text. Attention within a
    rounding of 1 counts as that far from it, so the penalty stays finite.
    """

    def __init__(self, secret: np.ndarray, strength: float, device: torch.device) -> None:
        self.secret = torch.as_tensor(secret, device=device)
        self.strength = strength

    def __call__(self, ids: Tensor, h: Tensor, attention: Tensor, mask: Tensor) -> Tensor:
        on_secret = (attention * self.secret[ids]).sum(-1)  # (B,)
        log_elsewhere = torch.log1p(-on_secret.clamp(max=1 - 1e-6))
        return self.strength * -log_elsewhere.sum()


def masked(documents: Documents, rng: np.random.Generator, share: float) -> Documents:
    """The documents with words hidden as UNKNOWN: each text with the chance `share`, of its words a share that is drawn
    evenly between none and all. Drawn anew for each epoch, it makes texts with erased words ordinary ones.

    Madsen, Reddy & Chandar 2024 (masked fine-tuning, share 0.5; the abstract was read, share and rate are told at
    second hand). Deviations: they fine-tune a pretrained model, whose mask is a word of its own; only training is
    masked here.
    """
    rate = rng.uniform(size=len(documents))  # (D,)
    rate *= rng.uniform(size=len(documents)) < share
    drawn = rng.uniform(size=len(documents.ids)) < np.repeat(rate, documents.lengths)  # (T,)
    hidden = drawn & documents.inner
    return replace(documents, ids=np.where(hidden, np.int32(UNKNOWN), documents.ids))


def nudge(model: nn.Module, draw: int) -> None:
    """Move each weight that is not 0 to the next float32 above or below it, by the coins of a draw, in place.

    A change of the size of one rounding (2^-24 to 2^-23 of the weight), as it would come of sums in another order:
    another number of threads, processor or library. Seed, batches and all else stay. Zeros stay so that pads do.
    """
    coins = torch.Generator().manual_seed(draw)
    with torch.no_grad():
        for weight in model.parameters():
            up = torch.randint(2, weight.shape, generator=coins).bool()
            there = torch.where(up, torch.inf, -torch.inf).to(weight.device)
            neighbour = torch.nextafter(weight, there)
            weight.copy_(torch.where(weight == 0, weight, neighbour))


class Mixed(Average):
    """An average encoder with a dial: each token reads (1 - context) times its own word and context times the mean word
    of its text (start, end and pads left out), at 0 nothing but itself, at 1 what every other one does.

    mixes: which states do so, those that are attended to ("values"), those that attention scores ("scores"), or both,
    which are then the same states. The others are words alone.
    """

    def __init__(self, embedding: nn.Embedding, hidden: int = 128, context: float = 0.5, mixes: str = "both") -> None:
        super().__init__(embedding, hidden)
        self.context = context
        self.mixes = mixes

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        return self.states(ids, lengths, mask, self.mixes != "scores")

    def scored(self, h: Tensor, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        """The states (B, L, hidden) that attention scores, where those attended to are h."""
        return h if self.mixes == "both" else self.states(ids, lengths, mask, self.mixes == "scores")

    def states(self, ids: Tensor, lengths: Tensor, mask: Tensor, mixed: bool) -> Tensor:
        """States (B, L, hidden), of the words alone or mixed with their text's mean."""
        if not mixed:
            return super().forward(ids, lengths, mask)
        projected, word_of = self.projected(ids)
        token = nn.functional.embedding(word_of, projected)  # (B, L, hidden)
        total = (token * mask[..., None]).sum(1, keepdim=True)  # (B, 1, hidden)
        mean = total / mask.sum(1)[:, None, None].clamp(min=1)
        mixture = (1 - self.context) * token + self.context * mean
        return mixture.tanh()
