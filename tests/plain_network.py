"""Random documents and models, and encoders and forward passes as one would write them first."""

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from attn_core.documents import Documents
from attn_core.models import paired
from attn_core.models.classifier import Classifier, build
from attn_core.models.paired import Paired
from attn_core.tracing import inputs


def random_documents(lengths: np.ndarray, vocabulary: int, seed: int = 0) -> Documents:
    """Random texts with the given numbers of words, start (2) and end (3) around them; words follow Zipf's law."""
    rng = np.random.default_rng(seed)
    lengths = np.asarray(lengths) + 2
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    share = 1 / np.arange(1, vocabulary - 2)  # ids 1 (unknown) and 4 and up
    words = np.concatenate([[1], np.arange(4, vocabulary)])
    ids = rng.choice(words, offsets[-1], p=share / share.sum()).astype(np.int32)
    ids[offsets[:-1]], ids[offsets[1:] - 1] = 2, 3
    return Documents(ids, offsets, rng.integers(0, 2, len(lengths)), np.arange(len(lengths)) + 100)


def one_text(*ids: int) -> Documents:
    """A text by itself; ids: those of start and end included."""
    return Documents(np.array(ids, np.int32), np.array([0, len(ids)]), np.zeros(1, np.int64), np.array([7]))


def random_pairs(
    lengths: np.ndarray, vocabulary: int, seed: int = 0, outputs: int = 3, answers: bool = False
) -> Documents:
    """Random texts with a second text each, of one to six words; with `answers` two to four outputs are possible."""
    rng = np.random.default_rng(seed + 1)
    first = random_documents(lengths, vocabulary, seed)
    second = random_documents(rng.integers(1, 7, len(lengths)), vocabulary, seed + 2)
    labels = rng.integers(0, outputs, len(lengths))
    possible = [np.unique([label, *rng.integers(0, outputs, 3)]) for label in labels]
    ragged = np.concatenate(possible).astype(np.int32), np.cumsum([0, *map(len, possible)])
    return Documents(
        first.ids,
        first.offsets,
        labels,
        first.doc_ids,
        second.ids,
        second.offsets,
        *(ragged if answers else ()),
    )


SIZES = {
    "lstm": {"hidden": 3},
    "cnn": {"hidden": 2},
    "average": {"hidden": 4},
    "none": {},
    "transformer": {"hidden": 4},
}
"""Encoder -> the small widths with which tests build it."""


def random_model(
    encoder: str, attention: str, vocabulary: int, outputs: int = 1, width: int = 300, make=build, **sizes
) -> Classifier:
    """A classifier with weights twice as large as torch's own start, so that scores and outputs differ clearly."""
    torch.manual_seed(0)
    vectors = np.random.default_rng(1).normal(0, 1.0, (vocabulary, width)).astype(np.float32)
    vectors[0] = 0.0
    model = make(encoder, attention, vectors, outputs, **sizes).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embedding" not in name:
                parameter.mul_(2.0)
    return model


def random_paired(
    encoder: str, attention: str, vocabulary: int, outputs: int = 3, width: int = 300, **sizes
) -> Paired:
    """As `random_model`, for pairs, in double precision."""
    return random_model(encoder, attention, vocabulary, outputs, width, paired.build, **sizes).double()


def filled(module: nn.Module, numbers: dict) -> nn.Module:
    """The module with numbers, or one for all, in the place of the parameters named."""
    with torch.no_grad():
        for name, values in numbers.items():
            module.get_parameter(name).copy_(torch.tensor(values))
    return module


def tensors(ids: ArrayLike) -> tuple[torch.Tensor, torch.Tensor]:
    """A text as a batch of one: ids (1, L), lengths (1,)."""
    return torch.as_tensor(ids, dtype=torch.long)[None], torch.tensor([len(ids)])


def texts(documents: Documents) -> list[np.ndarray]:
    """The ids of each document, start and end included."""
    return np.split(documents.ids, documents.offsets[1:-1])


def outputs_of(model: Classifier, documents: Documents) -> torch.Tensor:
    """Outputs (D, K) of each document alone, through the model's own forward pass."""
    with torch.no_grad():
        logits = torch.cat(
            [model(**inputs(model, documents, np.array([row]))) for row in range(len(documents))]
        )
    return logits.sigmoid() if logits.shape[1] == 1 else logits.softmax(1)
