"""The single-text classifier of all three papers: encoder, attention, affine decoder."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.errors import AttnError, one_line
from attn_core.models.attention import ATTENTIONS
from attn_core.models.encoders import ENCODERS


def real_tokens(ids: Tensor, lengths: Tensor) -> Tensor:
    """True where a position holds a word: not start (first), not end (last), not pad. (B, L) bool."""
    position = torch.arange(ids.shape[1], device=ids.device)
    return (position > 0) & (position < lengths[:, None] - 1)


class Classifier(nn.Module):
    """logits = decoder(sum_t attention_t h_t); one logit and a sigmoid for two classes.

    Jain & Wallace 2019, section 2. Attention lives on real tokens only: start, end and pad get no weight, though the
    encoder reads start and end like words. The decoder is affine: see `attn_core.traces`.
    """

    def __init__(self, encoder: nn.Module, attention: nn.Module, outputs: int = 1) -> None:
        super().__init__()
        self.encoder = encoder
        self.attention = attention
        self.decoder = nn.Linear(encoder.width, outputs)

    @property
    def outputs(self) -> int:
        """Number of logits K."""
        return self.decoder.out_features

    def encode(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Token states (B, L, H); start and end included."""
        return self.encoder(ids, lengths, real_tokens(ids, lengths))

    def scores(self, h: Tensor, mask: Tensor, *q: Tensor) -> Tensor:
        """Attention scores (B, L), minus infinity where mask is False; q (B, H): of pairs the second texts."""
        scores = self.attention(h, *q)
        if scores.shape != mask.shape:
            name, found = type(self.attention).__name__, tuple(scores.shape)
            raise AttnError(f"{name}: an attention gives one score a token, {tuple(mask.shape)}, not {found}")
        return scores.masked_fill(~mask, -torch.inf)

    def read(self, ids: Tensor, lengths: Tensor, *q: Tensor) -> tuple[Tensor, Tensor]:
        """States as of `encode` and their scores; the attention is the scores' softmax."""
        h = self.encode(ids, lengths)
        return h, self.scores(h, real_tokens(ids, lengths), *q)

    def context(self, ids: Tensor, lengths: Tensor, given: Tensor | None, *q: Tensor) -> Tensor:
        """What is attended to, (B, H). given (B, L): attention weights to use instead of the model's own."""
        h = self.encode(ids, lengths)
        weights = self.scores(h, real_tokens(ids, lengths), *q).softmax(-1) if given is None else given
        return (weights[:, None] @ h).squeeze(1)

    def forward(self, ids: Tensor, lengths: Tensor, given: Tensor | None = None) -> Tensor:
        """Logits (B, K); given as in `context`."""
        return self.decoder(self.context(ids, lengths, given))


def output_slope(logits: Tensor) -> Tensor:
    """dp / dlogits (B, K), p of class 1 for one logit, of the predicted class for more; p (1 - p) keeps its digits."""
    if logits.shape[1] == 1:
        return logits.sigmoid() * (-logits).sigmoid()
    p = logits.softmax(1)
    predicted = logits.argmax(1, keepdim=True)
    p_predicted = p.gather(1, predicted)
    others = p.scatter(1, predicted, 0.0)
    return p_predicted * (-others).scatter(1, predicted, others.sum(1, keepdim=True))


def build(encoder: str, attention: str, vectors: np.ndarray, outputs: int = 1, hidden: int | None = None) -> Classifier:
    """A fresh classifier with torch's default initialisation (the caller seeds torch) and the given word vectors.

    vectors (V, E) float32 are copied into the embedding; row 0 is the pad row and stays zero. AttnError for names that
    are not known and vectors that are not finite.
    """
    reader, kind = new_encoder(encoder, vectors, hidden), named(ATTENTIONS, "attention", attention)
    return Classifier(reader, kind(reader.width), outputs)


def named(kinds: dict[str, type], what: str, name: str) -> type:
    """The class of that name; AttnError where there is none."""
    if name not in kinds:
        raise AttnError(f"unknown {what} '{name}'; known: {', '.join(kinds)}")
    return kinds[name]


def new_encoder(name: str, vectors: np.ndarray, hidden: int | None) -> nn.Module:
    """A fresh encoder with its own copy of the vectors."""
    return named(ENCODERS, "encoder", name)(table_of(vectors), **({} if hidden is None else {"hidden": hidden}))


def table_of(vectors: np.ndarray) -> nn.Embedding:
    """Word vectors to be trained, a copy of these (V, E); AttnError where one is not finite."""
    if np.ndim(vectors) != 2:
        raise AttnError(f"the embedding must be a table of words and numbers, not {np.ndim(vectors)}-dimensional")
    if len(odd := np.flatnonzero(~np.isfinite(vectors).all(axis=1))):
        raise AttnError(
            f"word vectors hold NaN or infinity in row {odd[0]}; every vector must be finite, check the vector file"
        )
    return nn.Embedding.from_pretrained(torch.tensor(vectors, dtype=torch.float32), freeze=False, padding_idx=0)


def to_arrays(model: nn.Module) -> dict[str, np.ndarray]:
    """A copy of the model as named arrays, e.g. `encoder.embedding.weight` (V, E), `attention.v.weight` (1, H/2)."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in model.state_dict().items()}


def from_arrays(encoder: str, attention: str, arrays: dict[str, np.ndarray], hidden: int | None = None) -> Classifier:
    """The model that `to_arrays` describes. hidden: as for `build`, None reads it off. AttnError as in `loaded`."""

    def make() -> Classifier:
        outputs, width = np.shape(arrays["decoder.weight"])
        vectors = arrays["encoder.embedding.weight"]
        return build(encoder, attention, vectors, outputs, hidden or hidden_of(encoder, width))

    return loaded(make, f"{encoder}+{attention} classifier", arrays)


TIMES_HIDDEN = {"lstm": 2, "cnn": 4, "average": 1, "transformer": 1}
"""Encoder -> how many times `hidden` its states are wide; 0 or none: no `hidden` is read off."""


def hidden_of(encoder: str, width: int) -> int | None:
    """`hidden` of an encoder whose states have this width, as `build` takes it; None takes the class's default."""
    times = TIMES_HIDDEN.get(encoder)
    return width // times if times else None


def loaded(make: Callable[[], nn.Module], title: str, arrays: dict[str, np.ndarray]) -> nn.Module:
    """A model with the arrays as its parameters, ready to be evaluated; torch's generator stays as it was.

    make() builds it; title: its name in messages. AttnError for a name that is missing or left over, another shape, NaN
    or infinity, and a pad's vector (row 0 of a table of words) that is not zero: a text's numbers would then depend on
    its neighbours in a batch.
    """
    try:
        with torch.random.fork_rng(devices=[]):
            model = make()
        model.load_state_dict({name: torch.tensor(np.asarray(array)) for name, array in arrays.items()})
    except (KeyError, RuntimeError, ValueError) as error:  # torch tells all that is missing, left over or misshapen
        told = f"{error} is missing" if isinstance(error, KeyError) else one_line(error)
        hint = "name its encoder and attention, or rename: classifier.to_arrays shows names and shapes of such a model"
        raise AttnError(f"the arrays do not describe a {title}: {told}; {hint}") from error
    for name, array in arrays.items():
        if count := int((~np.isfinite(array)).sum()):
            raise AttnError(f"{name} has NaN or infinity in {count:,} of {array.size:,} numbers; it must be finite")
        if name.endswith("embedding.weight") and array[0].any():
            raise AttnError(f"row 0 of {name}, the vector of pads, is not zero; set it to 0, or if it is a word's, put "
                            "a row of zeros before it and add 1 to the ids")  # fmt: skip
    return model.eval()
