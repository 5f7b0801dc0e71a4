"""The single-text classifier of all three papers: encoder, attention, affine decoder."""

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.errors import AttnError
from attn_core.models.attention import ATTENTIONS
from attn_core.models.encoders import ENCODERS


def real_tokens(ids: Tensor, lengths: Tensor) -> Tensor:
    """True where a position holds a word: not start (first), not end (last), not pad. (B, L) bool."""
    position = torch.arange(ids.shape[1], device=ids.device)
    return (position > 0) & (position < lengths[:, None] - 1)


class Classifier(nn.Module):
    """logits = decoder(sum_t attention_t h_t); one logit and a sigmoid for two classes.

    Jain & Wallace 2019, section 2. Attention lives on real tokens only: start, end and pad get no weight, though the
    encoder reads start and end like words. Because the decoder is affine, the logits under any attention a are
    bias + sum_t a_t (decoder . h_t): see `attn_core.traces`.
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

    def scores(self, h: Tensor, mask: Tensor) -> Tensor:
        """Attention scores (B, L), minus infinity where mask is False."""
        scores = self.attention(h)
        if scores.shape != mask.shape:
            name, found = type(self.attention).__name__, tuple(scores.shape)
            raise AttnError(f"{name}: an attention gives one score a token, {tuple(mask.shape)}, not {found}")
        return scores.masked_fill(~mask, -torch.inf)

    def forward(self, ids: Tensor, lengths: Tensor, given: Tensor | None = None) -> Tensor:
        """Logits (B, K). `given` (B, L): attention weights to use instead of the model's own."""
        mask = real_tokens(ids, lengths)
        h = self.encoder(ids, lengths, mask)
        weights = self.scores(h, mask).softmax(-1) if given is None else given
        return self.decoder((weights[:, None] @ h).squeeze(1))


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

    vectors (V, E) float32 are copied into the embedding; row 0 is the pad row and stays zero.
    """
    check(encoder, attention)
    encoder_module = new_encoder(ENCODERS[encoder], vectors, hidden)
    return Classifier(encoder_module, ATTENTIONS[attention](encoder_module.width), outputs)


def check(encoder: str, attention: str) -> None:
    """AttnError unless the names are known."""
    if encoder not in ENCODERS:
        raise AttnError(f"unknown encoder '{encoder}'; known: {', '.join(ENCODERS)}")
    if attention not in ATTENTIONS:
        raise AttnError(f"unknown attention '{attention}'; known: {', '.join(ATTENTIONS)}")


def table_of(vectors: np.ndarray) -> nn.Embedding:
    """Word vectors to be trained, a copy of these (V, E); AttnError where one is not finite."""
    if len(odd := np.flatnonzero(~np.isfinite(vectors).all(axis=1))):
        raise AttnError(
            f"word vectors hold NaN or infinity in row {odd[0]}; every vector must be finite, check the vector file"
        )
    return nn.Embedding.from_pretrained(torch.tensor(vectors, dtype=torch.float32), freeze=False, padding_idx=0)


def new_encoder(kind: type[nn.Module], vectors: np.ndarray, hidden: int | None) -> nn.Module:
    """A fresh encoder with its own copy of the vectors."""
    return kind(table_of(vectors), **({} if hidden is None else {"hidden": hidden}))


def to_arrays(model: nn.Module) -> dict[str, np.ndarray]:
    """A copy of the model as named arrays, e.g. `encoder.embedding.weight` (V, E), `attention.v.weight` (1, H/2)."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in model.state_dict().items()}


def from_arrays(encoder: str, attention: str, arrays: dict[str, np.ndarray]) -> Classifier:
    """The model that `to_arrays` describes; widths are read off the arrays. AttnError as in `loaded`."""
    outputs = size_of(arrays, "decoder.weight", 0) or 1
    model = build(encoder, attention, *sizes(encoder, attention, arrays, outputs))
    return loaded(model, f"{encoder}+{attention} classifier", arrays)


def sizes(
    encoder: str, attention: str, arrays: dict[str, np.ndarray], outputs: int
) -> tuple[np.ndarray, int, int | None]:
    """(vectors, outputs, hidden) of a model's arrays, as `build` takes them."""
    vectors = table_of_words(f"{encoder}+{attention} model", arrays, "encoder.embedding.weight")
    widths = {"lstm": ("encoder.forward_lstm.weight_hh_l0", 1), "cnn": ("encoder.convolutions.0.weight", 0)}
    hidden = size_of(arrays, *widths.get(encoder, ("encoder.project.weight", 0)))
    return vectors, outputs, hidden


def table_of_words(title: str, arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    """The array (V, E) of that name, float32; AttnError where there is none or one of other dimensions."""
    vectors = arrays.get(name)
    if np.ndim(vectors) != 2:
        found = "no" if vectors is None else f"{np.ndim(vectors)}-dimensional"
        fault(title, f"a table of words is needed, there is {found} {name}")
    return np.asarray(vectors, np.float32)


def size_of(arrays: dict[str, np.ndarray], name: str, axis: int) -> int | None:
    """Length of an array along an axis; None where there is no such array or axis."""
    shape = np.shape(arrays.get(name, 0))
    return shape[axis] if axis < len(shape) else None


def loaded(model: nn.Module, title: str, arrays: dict[str, np.ndarray]) -> nn.Module:
    """The model with the arrays as its parameters, ready to be evaluated; `title` names it in messages.

    AttnError for a name that is missing or left over, another shape, no numbers, NaN or infinity, and a pad's vector
    (row 0 of a table of words) that is not zero: a text's numbers would then depend on its neighbours in a batch.
    """
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    if lacking := [name for name in shapes if name not in arrays]:
        fault(title, f"{lacking[0]}, of shape {shapes[lacking[0]]}, is missing; there are {', '.join(arrays)}")
    if further := [name for name in arrays if name not in shapes]:
        fault(title, f"{further[0]} has no place in it; leave it out, or give it one of the names {', '.join(shapes)}")
    for name, shape in shapes.items():
        array = np.asarray(arrays[name])
        if array.shape != shape:
            fault(title, f"{name} has shape {array.shape}, but {shape} is needed beside the others; is it transposed?")
        if not np.isfinite(array).all():
            count = int((~np.isfinite(array)).sum())
            fault(title, f"{name} has NaN or infinity in {count:,} of {array.size:,} numbers; take a sound checkpoint")
        if name.endswith("embedding.weight") and array[0].any():
            fault(title, f"row 0 of {name}, the vector of pads, is not zero; set it to 0, or if it is a word's, put a "
                  "row of zeros before it and add 1 to the ids")  # fmt: skip
    model.load_state_dict({name: torch.from_numpy(np.array(arrays[name])) for name in shapes})
    return model.eval()


def fault(title: str, reason: str) -> None:
    """Raises the error that arrays do not make a model."""
    raise AttnError(f"the arrays do not describe a {title}: {reason}")
