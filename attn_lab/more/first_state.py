"""Texts judged by the state of [CLS] alone, and the layers of such a model opened."""

from dataclasses import dataclass

from torch import Tensor, nn

from attn_core.models.classifier import real_tokens
from attn_lab.more.minilm import MiniLM

DROPPED = 0.1
"""Share of the numbers of [CLS] that training sets to zero."""


class FirstState(nn.Module):
    """logits = decoder(h_1), h_1 the last layer's state of the first position, [CLS].

    Devlin et al. 2019, section 4.1. It has no attention of its own: [CLS] reads the words by that of the layers.
    """

    def __init__(self, encoder: MiniLM, outputs: int = 1) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(DROPPED)
        self.decoder = nn.Linear(encoder.width, outputs)
        self.outputs = outputs

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Logits (B, K) of texts (B, L), [CLS] and [SEP] included."""
        h = self.encoder(ids, lengths, real_tokens(ids, lengths))
        return self.decoder(self.dropout(h[:, 0]))


@dataclass
class Opened:
    """B texts of one length L, [CLS] and [SEP] included, layer by layer; A heads of width W, H = A W."""

    word: Tensor  # (B, L, H) vectors of the word pieces
    embedded: Tensor  # (B, L, H) with those of place and type: what the first LayerNorm reads
    states: list[Tensor]  # (B, L, H) before each layer, and after the last
    attention: list[Tensor]  # of each layer, (B, A, L, L): row i is what position i reads
    value: Tensor  # (B, A, L, W) of the last layer
    logit: Tensor  # (B,)


def opened(model: FirstState, word: Tensor) -> Opened:
    """Texts given as vectors of their word pieces (B, L, H), read as by the model, in evaluation mode."""
    encoder = model.encoder
    length = word.shape[1]
    embedded = word + encoder.positions.weight[:length] + encoder.kind
    states = [encoder.norm(embedded)]
    weights = []
    for layer in encoder.layers:
        attention, value = attended(layer, states[-1])
        weights.append(attention)
        states.append(after(layer, gathered(attention, value), states[-1]))
    logit = model.decoder(states[-1][:, 0])[:, 0]
    return Opened(word, embedded, states, weights, value, logit)


def attended(layer: nn.TransformerEncoderLayer, h: Tensor) -> tuple[Tensor, Tensor]:
    """Attention (B, A, L, L) and values (B, A, L, W) of a layer that reads h (B, L, H)."""
    module = layer.self_attn
    batch, length, width = h.shape
    projected = nn.functional.linear(h, module.in_proj_weight, module.in_proj_bias)  # (B, L, 3 H)
    by_head = projected.view(batch, length, 3, module.num_heads, width // module.num_heads)
    query, key, value = by_head.permute(2, 0, 3, 1, 4)  # each (B, A, L, W)
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    return scores.softmax(-1), value


def gathered(attention: Tensor, value: Tensor) -> Tensor:
    """What the heads read, side by side, (B, R, H), under attention (B, A, R, L) of values (B, A, L, W)."""
    return (attention @ value).transpose(1, 2).flatten(2)


def after(layer: nn.TransformerEncoderLayer, context: Tensor, h: Tensor) -> Tensor:
    """The layer's states (..., H) where its heads have read context (..., H) and the states before were h (..., H)."""
    x = layer.norm1(h + layer.self_attn.out_proj(context))
    return layer.norm2(x + layer.linear2(layer.activation(layer.linear1(x))))


def last_logit(model: FirstState, before: Tensor, context: Tensor) -> Tensor:
    """Logits (B, S) where the last layer's heads had read each of the contexts (B, S, H) at [CLS], whose states before
    were (B, 1, H)."""
    return model.decoder(after(model.encoder.layers[-1], context, before))[..., 0]
