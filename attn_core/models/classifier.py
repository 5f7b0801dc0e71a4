"""The single-text classifier of all three papers: encoder, attention, affine decoder."""

from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from attn_core import checks
from attn_core.errors import AttnError, one_line
from attn_core.models.attention import ATTENTIONS
from attn_core.models.encoders import ENCODERS, Encoder
from attn_core.traces import Arrays

Model = TypeVar("Model", bound=nn.Module)

Named = str | Callable
"""A name of the registry of encoders or attentions, or a class."""

Tensors = dict[str, Tensor]
"""Tensors by name."""


Opened = tuple[Tensor, Tensor, Tensor]
"""Logits (B, K) or what is attended to (B, H), states (B, L, H) and scores (B, L)."""


def real_tokens(ids: Tensor, lengths: Tensor) -> Tensor:
    """True where a position holds a word: not start (first), not end (last), not pad. (B, L) bool."""
    position = torch.arange(ids.shape[1], device=ids.device)
    return (position > 0) & (position < lengths[:, None] - 1)


def weighted_sum(weights: Tensor, h: Tensor) -> Tensor:
    """sum_t weights_t h_t, (B, H), of weights (B, L) and states (B, L, H)."""
    return (weights[:, None] @ h).squeeze(1)


class Attentive(nn.Module):
    """An encoder and attention over its states: what models of single texts and of pairs share.

    Attention lives on real tokens only: start, end and pad get no weight, though the encoder reads start and end like
    words. q, where a method takes it: summaries (B, H) of the second texts of pairs.
    """

    encoder: Encoder
    attention: nn.Module
    outputs: int  # number of logits K

    def scores(self, h: Tensor, mask: Tensor, *q: Tensor) -> Tensor:
        """Attention scores (B, L), minus infinity where mask is False."""
        scores = self.attention(h, *q)
        if scores.shape != mask.shape:
            raise AttnError(
                f"{type(self.attention).__name__}: an attention gives one score a token, {tuple(mask.shape)}, "
                f"not {tuple(scores.shape)}"
            )
        return scores.masked_fill(~mask, -torch.inf)

    def states_and_scores(self, ids: Tensor, lengths: Tensor, *q: Tensor) -> tuple[Tensor, Tensor]:
        """States (B, L, H), start and end included, and their scores (B, L); the attention is the scores' softmax."""
        return self.read(ids, lengths, real_tokens(ids, lengths), *q)

    def read(self, ids: Tensor, lengths: Tensor, mask: Tensor, *q: Tensor) -> tuple[Tensor, Tensor]:
        """As `states_and_scores`; mask (B, L) says where words are."""
        h = self.encoder(ids, lengths, mask)
        scored = self.encoder.scored(h, ids, lengths, mask) if hasattr(self.encoder, "scored") else h
        return h, self.scores(scored, mask, *q)

    def attended(self, ids: Tensor, lengths: Tensor, imposed: Tensor | None, *q: Tensor) -> Opened:
        """What is attended to (B, H), states (B, L, H) and scores (B, L). imposed (B, L): weights to use instead of the
        model's own."""
        if imposed is not None:
            h = self.encoder(ids, lengths, real_tokens(ids, lengths))
            return weighted_sum(imposed, h), h, imposed.log()
        h, scores = self.states_and_scores(ids, lengths, *q)
        return weighted_sum(scores.softmax(-1), h), h, scores

    def forward(self, *texts: Tensor, **further: Tensor) -> Tensor:
        """Logits (B, K), see `opened`."""
        logits, _, _ = self.opened(*texts, **further)
        return logits


class Classifier(Attentive):
    """logits = decoder(sum_t attention_t h_t); one logit and a sigmoid for two classes.

    Jain & Wallace 2019, section 2. The decoder is affine: see `attn_core.traces`.
    """

    def __init__(self, encoder: Encoder, attention: nn.Module, outputs: int = 1) -> None:
        super().__init__()
        self.encoder = encoder
        self.attention = attention
        self.decoder = nn.Linear(encoder.width, outputs)
        self.outputs = outputs

    def opened(self, ids: Tensor, lengths: Tensor, imposed: Tensor | None = None) -> Opened:
        """Logits (B, K), with states and scores as in `attended`."""
        context, h, scores = self.attended(ids, lengths, imposed)
        return self.decoder(context), h, scores


def output_slope(logits: Tensor) -> Tensor:
    """dp / dlogits (B, K), p of class 1 for one logit, of the predicted class for more; p (1 - p) keeps its digits."""
    if logits.shape[1] == 1:
        return logits.sigmoid() * (-logits).sigmoid()
    p = logits.softmax(1)
    predicted = logits.argmax(1, keepdim=True)
    p_predicted = p.gather(1, predicted)
    # dp / dlogit_k = -p p_k, and p times the sum of the other p where k is the predicted class.
    p_rivals = p.scatter(1, predicted, 0.0)
    return p_predicted * (-p_rivals).scatter(1, predicted, p_rivals.sum(1, keepdim=True))


def build(
    encoder: Named, attention: str, vectors: np.ndarray, outputs: int = 1, hidden: int | None = None
) -> Classifier:
    """A fresh classifier with torch's default initialisation (the caller seeds torch) and the given word vectors.

    encoder: a name, or what makes one of an embedding (and hidden=…). vectors (V, E) float32 are copied into the
    embedding; row 0 is the pad row and stays zero. AttnError for names that are not known and vectors that are not
    finite.
    """
    reader = build_encoder(encoder, vectors, hidden)
    attention_class = class_named(ATTENTIONS, "attention", attention)
    return Classifier(reader, attention_class(reader.width), outputs)


def class_named(classes: Mapping[str, Callable], what: str, name: Named) -> Callable:
    """The class of that name; AttnError where there is none. A class is its own."""
    if not isinstance(name, str):
        return name
    if name not in classes:
        raise AttnError(f"unknown {what} '{name}'; known: {', '.join(classes)}")
    return classes[name]


def build_encoder(name: Named, vectors: np.ndarray, hidden: int | None) -> Encoder:
    """A fresh encoder with its own copy of the vectors."""
    encoder_class = class_named(ENCODERS, "encoder", name)
    embedding = trainable(vectors)
    return encoder_class(embedding) if hidden is None else encoder_class(embedding, hidden=hidden)


def trainable(vectors: np.ndarray) -> nn.Embedding:
    """Word vectors to be trained, a copy of these (V, E)."""
    checks.numbers("the embedding, a table of word vectors,", vectors, None, None)
    kind = torch.get_default_dtype()  # that of the layers behind it
    return nn.Embedding.from_pretrained(torch.tensor(vectors, dtype=kind), freeze=False, padding_idx=0)


def to_arrays(model: nn.Module) -> Arrays:
    """A copy of the model as named arrays, e.g. `encoder.embedding.weight` (V, E), `attention.v.weight` (1, H/2)."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in model.state_dict().items()}


def from_arrays(encoder: Named, attention: str, arrays: Arrays, hidden: int | None = None) -> Classifier:
    """The model that `to_arrays` describes. hidden: as for `build`, None reads it off. AttnError as in `filled`."""

    def build_unfilled() -> Classifier:
        outputs, width = np.shape(arrays["decoder.weight"])
        vectors = arrays["encoder.embedding.weight"]
        return build(encoder, attention, vectors, outputs, hidden or hidden_of(encoder, width))

    return filled(build_unfilled, f"{encoder}+{attention} classifier", arrays)


TIMES_HIDDEN: dict[Named, int] = {"lstm": 2, "cnn": 4, "average": 1}
"""Encoder -> how many times `hidden` its states are wide; 0 or none: no `hidden` is read off."""


def hidden_of(encoder: Named, width: int) -> int | None:
    """`hidden` of an encoder whose states have this width, as `build` takes it; None takes the class's default."""
    times = TIMES_HIDDEN.get(encoder)
    return width // times if times else None


def filled(build_unfilled: Callable[[], Model], title: str, arrays: Arrays) -> Model:
    """A model with the arrays as its parameters, ready to be evaluated; torch's generator stays as it was.

    title: the model's name in messages. AttnError for a name that is missing or left over, another shape, NaN or
    infinity (a number beyond float32 becomes that), and a pad's vector (row 0 of a table of words) that is not zero: a
    text's numbers would then depend on its neighbours in a batch.
    """
    try:
        with torch.random.fork_rng(devices=[]):
            model = build_unfilled()
        model.load_state_dict({name: torch.tensor(np.asarray(array)) for name, array in arrays.items()})
    except (KeyError, RuntimeError, ValueError) as error:  # torch tells all that is missing, left over or misshapen
        reason = f"{error} is missing" if isinstance(error, KeyError) else one_line(error)
        hint = "name its encoder and attention, or rename: classifier.to_arrays shows names and shapes of such a model"
        raise AttnError(f"the arrays do not describe a {title}: {reason}; {hint}") from error
    for name, values in model.state_dict().items():  # float32 by now
        checks.numbers(f"{name} in float32", values, ...)
        if name.endswith("embedding.weight") and values[0].any():
            raise AttnError(
                f"row 0 of {name}, the vector of pads, is not zero; set it to 0, or if it is a word's, put a row of "
                "zeros before it and add 1 to the ids"
            )
    return model.eval()
