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
    """dp / dlogits (B, K): p of class 1 for one logit, of the predicted class for more; p (1 - p) without cancellation."""
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
    check(encoder, attention, vectors)
    encoder_module = new_encoder(ENCODERS[encoder], vectors, hidden)
    return Classifier(encoder_module, ATTENTIONS[attention](encoder_module.width), outputs)


def check(encoder: str, attention: str, vectors: np.ndarray) -> None:
    """AttnError unless the names are known and the vectors finite."""
    if encoder not in ENCODERS:
        raise AttnError(f"unknown encoder '{encoder}'; known: {', '.join(ENCODERS)}")
    if attention not in ATTENTIONS:
        raise AttnError(f"unknown attention '{attention}'; known: {', '.join(ATTENTIONS)}")
    if not np.isfinite(vectors).all():
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise AttnError(
            f"word vectors hold NaN or infinity in row {row}; every vector must be finite, check the vector file"
        )


def new_encoder(kind: type[nn.Module], vectors: np.ndarray, hidden: int | None) -> nn.Module:
    """A fresh encoder with its own copy of the vectors."""
    embedding = nn.Embedding.from_pretrained(torch.tensor(vectors), freeze=False, padding_idx=0)
    return kind(embedding, **({} if hidden is None else {"hidden": hidden}))


def to_arrays(model: nn.Module) -> dict[str, np.ndarray]:
    """The model as named arrays, e.g. `encoder.embedding.weight` (V, E), `attention.v.weight` (1, H/2)."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}


def from_arrays(encoder: str, attention: str, arrays: dict[str, np.ndarray]) -> Classifier:
    """The model that `to_arrays` describes; widths are read off the arrays. Missing or extra names are an AttnError."""
    outputs = arrays["decoder.weight"].shape[0] if "decoder.weight" in arrays else 1
    model = build(encoder, attention, *sizes(encoder, attention, arrays, outputs))
    return loaded(model, f"{encoder}+{attention} classifier", arrays)


def sizes(
    encoder: str, attention: str, arrays: dict[str, np.ndarray], outputs: int
) -> tuple[np.ndarray, int, int | None]:
    """(vectors, outputs, hidden) of a model's arrays, as `build` takes them."""
    vectors = arrays.get("encoder.embedding.weight")
    if vectors is None:
        raise AttnError(f"the arrays hold no encoder.embedding.weight; a {encoder}+{attention} model needs one")
    widths = {"lstm": ("encoder.forward_lstm.weight_hh_l0", 1), "cnn": ("encoder.convolutions.0.weight", 0)}
    name, axis = widths.get(encoder, ("encoder.project.weight", 0))
    return np.asarray(vectors, np.float32), outputs, arrays[name].shape[axis] if name in arrays else None


def loaded(model: nn.Module, title: str, arrays: dict[str, np.ndarray]) -> nn.Module:
    """The model with the arrays as its parameters, ready to be evaluated; AttnError where they do not fit."""
    try:
        model.load_state_dict({key: torch.from_numpy(np.array(value)) for key, value in arrays.items()})
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise AttnError(f"the arrays do not describe a {title}: {reason}") from error
    return model.eval()
