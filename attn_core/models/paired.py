"""The model of question answering and inference (Jain & Wallace 2019): two encoders, attention, a hidden layer."""

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.models.attention import PAIRED_ATTENTIONS
from attn_core.models.classifier import check, loaded, new_encoder, real_tokens, size_of, sizes
from attn_core.models.encoders import ENCODERS


class Joint(nn.Module):
    """o = U tanh(A c + a + B q + b) + u with A, B: H -> H/2 (authors' final code)."""

    def __init__(self, width: int, outputs: int) -> None:
        super().__init__()
        self.context = nn.Linear(width, width // 2)
        self.query = nn.Linear(width, width // 2)
        self.output = nn.Linear(width // 2, outputs)

    def forward(self, c: Tensor, q: Tensor) -> Tensor:
        return self.output((self.context(c) + self.query(q)).tanh())


class Paired(nn.Module):
    """logits = decoder(sum_t attention_t h_t, q): h of the first text, q the summary of the second.

    Jain & Wallace 2019, section 2: the first text (story, premise) is attended over; the second (question, hypothesis)
    is read by an encoder of the same kind with weights and word vectors of its own. Attention lives on real tokens.
    Under any attention a the logits are u + U tanh(query + sum_t a_t A h_t): see `attn_core.traces`.
    """

    def __init__(self, encoder: nn.Module, query_encoder: nn.Module, attention: nn.Module, outputs: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.query_encoder = query_encoder
        self.attention = attention
        self.decoder = Joint(encoder.width, outputs)

    @property
    def outputs(self) -> int:
        """Number of logits K."""
        return self.decoder.output.out_features

    def encode(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Token states (B, L, H) of the first texts; start and end included."""
        return self.encoder(ids, lengths, real_tokens(ids, lengths))

    def summary(self, query_ids: Tensor, query_lengths: Tensor) -> Tensor:
        """q (B, H) of the second texts."""
        return self.query_encoder.summary(query_ids, query_lengths, real_tokens(query_ids, query_lengths))

    def scores(self, h: Tensor, q: Tensor, mask: Tensor) -> Tensor:
        """Attention scores (B, L), minus infinity where mask is False."""
        return self.attention(h, q).masked_fill(~mask, -torch.inf)

    def forward(
        self,
        ids: Tensor,
        lengths: Tensor,
        query_ids: Tensor,
        query_lengths: Tensor,
        allowed: Tensor | None = None,
        given: Tensor | None = None,
    ) -> Tensor:
        """Logits (B, K), minus infinity where `allowed` (B, K) is False. `given` (B, L) replaces the attention."""
        q = self.summary(query_ids, query_lengths)
        mask = real_tokens(ids, lengths)
        h = self.encoder(ids, lengths, mask)
        weights = self.scores(h, q, mask).softmax(-1) if given is None else given
        logits = self.decoder((weights[:, None] @ h).squeeze(1), q)
        return logits if allowed is None else logits.masked_fill(~allowed, -torch.inf)


def build(encoder: str, attention: str, vectors: np.ndarray, outputs: int, hidden: int | None = None) -> Paired:
    """A fresh paired model with torch's default initialisation; both encoders start from the same word vectors.

    vectors (V, E) float32, row 0 the pad row. Deviation: where the authors start from random vectors (bAbI), their two
    tables are drawn apart; here they are two copies of one draw.
    """
    check(encoder, attention)
    encoders = [new_encoder(ENCODERS[encoder], vectors, hidden) for _ in range(2)]
    return Paired(*encoders, PAIRED_ATTENTIONS[attention](encoders[0].width), outputs)


def from_arrays(encoder: str, attention: str, arrays: dict[str, np.ndarray]) -> Paired:
    """The model that `classifier.to_arrays` describes; AttnError as in `classifier.loaded`."""
    outputs = size_of(arrays, "decoder.output.weight", 0) or 1
    model = build(encoder, attention, *sizes(encoder, attention, arrays, outputs))
    return loaded(model, f"{encoder}+{attention} model of pairs", arrays)
