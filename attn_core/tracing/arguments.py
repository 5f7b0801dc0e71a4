"""Documents as what models take, checked beforehand."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from attn_core.documents import Documents, pad, take_ragged
from attn_core.errors import AttnError
from attn_core.models.classifier import Classifier, Tensors
from attn_core.models.hierarchical import Hierarchical
from attn_core.models.paired import Paired


def check_ids(documents: Documents, embedding: nn.Embedding, outputs: int) -> None:
    """AttnError unless all are arrays of whole numbers, offsets cut the ids, there is a label and a doc_id for each
    text, every label is a class of a model with so many outputs, and every id has a vector."""
    for name in ("ids", "offsets", "labels", "doc_ids"):
        values = getattr(documents, name)
        plain = isinstance(values, np.ndarray) and not np.ma.isMaskedArray(values)
        if not plain or values.dtype.kind not in "iu" or values.ndim != 1:
            kind = f"{type(values).__name__} {getattr(values, 'dtype', '')}".strip()
            raise AttnError(f"{name} must be one row of whole numbers, none masked, not {kind}; make an array of int64")
    texts = len(documents.offsets) - 1
    tokens = len(documents.ids)
    first, last = documents.offsets[[0, -1]]
    if first != 0 or last != tokens or (documents.lengths < 0).any():
        raise AttnError(
            f"offsets must rise from 0 to the number of ids, {tokens}; they go from {first} to {last}: make them with "
            "np.cumsum of the lengths"
        )
    for name in ("labels", "doc_ids"):
        values = getattr(documents, name)
        if len(values) != texts:
            raise AttnError(f"{len(values)} {name} for {texts} texts; give one for each")
    classes = max(2, outputs)
    beyond = np.flatnonzero((documents.labels < 0) | (documents.labels >= classes))
    if len(beyond):
        row = beyond[0]
        raise AttnError(
            f"document {documents.doc_ids[row]} has the label {documents.labels[row]}; this model's classes are 0 to "
            f"{classes - 1}"
        )
    unknown = np.flatnonzero((documents.ids < 0) | (documents.ids >= embedding.num_embeddings))
    if len(unknown):
        row = np.searchsorted(documents.offsets, unknown[0], side="right") - 1
        raise AttnError(
            f"document {documents.doc_ids[row]} has the token id {documents.ids[unknown[0]]}; this model's table has "
            f"rows 0 to {embedding.num_embeddings - 1}: encode the texts with the model's own vocabulary"
        )


def check(model: Classifier | Paired, documents: Documents) -> None:
    """`check_ids` of all texts that the model reads."""
    check_ids(documents, model.encoder.embedding, model.outputs)
    if isinstance(model, Paired):
        if documents.query_ids is None:
            raise AttnError(
                "the documents have no second text (query_ids); models of pairs need a question or hypothesis"
            )
        check_ids(documents.queries, model.query_encoder.embedding, model.outputs)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The model in evaluation mode, in which nothing is dropped, and back in the mode in which it came."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def inputs(
    model: Classifier | Paired | Hierarchical,
    documents: Documents,
    rows: np.ndarray,
    imposed: np.ndarray | None = None,
) -> Tensors:
    """The documents `rows` as arguments of the model's forward pass, on its device.

    imposed (T,): attention weights of the words to use instead of the model's own. Of Serrano & Smith's models:
    documents as `documents.flat` makes them.
    """
    if isinstance(model, Hierarchical):
        return documents.inputs(rows, model.decoder.weight.device)
    arrays = {}
    arrays["ids"], arrays["lengths"] = pad(documents, rows)
    if isinstance(model, Paired):
        arrays["query_ids"], arrays["query_lengths"] = pad(documents.queries, rows)
        allowed = documents.take(rows).allowed(model.outputs)
        if allowed is not None:
            arrays["allowed"] = allowed
    if imposed is not None:
        arrays["imposed"] = at_positions(imposed, documents, rows)
    device = model.encoder.embedding.weight.device
    return {name: torch.as_tensor(array, device=device) for name, array in arrays.items()}


def at_positions(values: np.ndarray, documents: Documents, rows: np.ndarray) -> np.ndarray:
    """Numbers of words (T,), start and end not counted, at the rows' positions: (B, L) float32, 0 elsewhere."""
    lengths = documents.lengths[rows]
    position = np.arange(lengths.max(initial=0))
    real = (position > 0) & (position < lengths[:, None] - 1)  # (B, L), as models.classifier.real_tokens
    array = np.zeros(real.shape, np.float32)
    array[real], _ = take_ragged(values, documents.word_offsets, rows)
    return array
