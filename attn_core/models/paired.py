"""The model of question answering and inference (Jain & Wallace 2019): two encoders, attention, a hidden layer."""

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.models.attention import PAIRED_ATTENTIONS
from attn_core.models.classifier import (
    Attentive,
    Named,
    Opened,
    build_encoder,
    class_named,
    filled,
    hidden_of,
    real_tokens,
)
from attn_core.models.encoders import Encoder
from attn_core.traces import Arrays


class Joint(nn.Module):
    """o = U tanh(A c + a + B q + b) + u with A, B: H -> H/2 (authors' final code)."""

    def __init__(self, width: int, outputs: int) -> None:
        super().__init__()
        self.context = nn.Linear(width, width // 2)
        self.query = nn.Linear(width, width // 2)
        self.output = nn.Linear(width // 2, outputs)

    def forward(self, c: Tensor, q: Tensor) -> Tensor:
        return self.output((self.context(c) + self.query(q)).tanh())


class Paired(Attentive):
    """logits = decoder(sum_t attention_t h_t, q): h of the first text, q the summary of the second.

    Jain & Wallace 2019, section 2: the first text (story, premise) is attended over; the second (question, hypothesis)
    is read by an encoder of the same kind with weights and word vectors of its own. Under any attention a the logits
    are u + U tanh(query + sum_t a_t A h_t): see `attn_core.traces`.
    """

    def __init__(self, encoder: Encoder, query_encoder: Encoder, attention: nn.Module, outputs: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.query_encoder = query_encoder
        self.attention = attention
        self.decoder = Joint(encoder.width, outputs)
        self.outputs = outputs

    def summary(self, query_ids: Tensor, query_lengths: Tensor) -> Tensor:
        """q (B, H) of the second texts."""
        return self.query_encoder.summary(query_ids, query_lengths, real_tokens(query_ids, query_lengths))

    def opened(
        self,
        ids: Tensor,
        lengths: Tensor,
        query_ids: Tensor,
        query_lengths: Tensor,
        allowed: Tensor | None = None,
        imposed: Tensor | None = None,
    ) -> Opened:
        """As of a classifier; logits are minus infinity where `allowed` (B, K) is False."""
        q = self.summary(query_ids, query_lengths)
        context, h, scores = self.attended(ids, lengths, imposed, q)
        logits = self.decoder(context, q)
        return logits if allowed is None else logits.masked_fill(~allowed, -torch.inf), h, scores


def build(encoder: Named, attention: str, vectors: np.ndarray, outputs: int, hidden: int | None = None) -> Paired:
    """As `classifier.build`; both encoders start from the same word vectors.

    Deviation: where the authors start from random vectors (bAbI), their two tables are drawn apart; here they are two
    copies of one draw.
    """
    reader = build_encoder(encoder, vectors, hidden)
    query_reader = build_encoder(encoder, vectors, hidden)
    attention_class = class_named(PAIRED_ATTENTIONS, "attention", attention)
    return Paired(reader, query_reader, attention_class(reader.width), outputs)


def from_arrays(encoder: Named, attention: str, arrays: Arrays, hidden: int | None = None) -> Paired:
    """The model that `classifier.to_arrays` describes, as `classifier.from_arrays`."""

    def build_unfilled() -> Paired:
        outputs = len(arrays["decoder.output.weight"])
        _, width = np.shape(arrays["decoder.context.weight"])
        vectors = arrays["encoder.embedding.weight"]
        return build(encoder, attention, vectors, outputs, hidden or hidden_of(encoder, width))

    return filled(build_unfilled, f"{encoder}+{attention} model of pairs", arrays)
