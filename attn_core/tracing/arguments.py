"""Documents as what models take, checked beforehand."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from attn_core import checks
from attn_core.documents import Documents, pad, take_ragged
from attn_core.errors import AttnError
from attn_core.models.classifier import Classifier, Tensors
from attn_core.models.hierarchical import Hierarchical
from attn_core.models.paired import Paired


def check_ids(documents: Documents, embedding: nn.Embedding, outputs: int) -> None:
    """AttnError unless offsets cut the ids, there is a label and a doc_id for each text, every label is a class of a
    model with so many outputs, and every id has a vector."""
    texts = len(checks.bounds(documents.offsets, np.size(documents.ids))) - 1
    words = embedding.num_embeddings
    checks.indices("ids", documents.ids, words, None, "encode the texts with the model's own vocabulary")
    checks.indices("labels", documents.labels, max(2, outputs), texts, "give one of the model's classes for each text")
    checks.indices("doc_ids", documents.doc_ids, 2**63, texts, "give each text's row in its source")


def check(model: Classifier | Paired | Hierarchical, documents: Documents) -> None:
    """`check_ids` of all texts that the model reads."""
    if isinstance(model, Hierarchical):
        return check_ids(documents, model.embedding, model.decoder.out_features)
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
