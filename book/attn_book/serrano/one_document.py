"""One document of a HAN by hand: its sentences, and the output when some of them are erased (section 2)."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from attn_core.corpora.batches import Documents
from attn_core.errors import AttnError
from attn_core.experiments.removal import items
from attn_core.experiments.single import distributions
from attn_core.traces import Traces


def chosen(traces: Traces, document: int, erased: Collection[int] = ()) -> Traces:
    """The traces of one document by its place; AttnError where there is none, or where it lacks an item of `erased`."""
    if not 0 <= document < len(traces):
        raise AttnError(f"document must lie between 0 and {len(traces) - 1}, got {document}")
    one = traces.take([document])
    n = int(one.lengths[0])
    if not all(0 <= place < n for place in erased) or len(set(erased)) != len(erased):
        raise AttnError(f"erased takes different sentence numbers between 0 and {n - 1}, got {erased}")
    return one


def sentences(texts: Documents, vocabulary: list[str], doc_id: int) -> list[str]:
    """The sentences of the document `doc_id`; texts: documents cut into sentences, whose ids are of `vocabulary`."""
    text = texts.take(np.flatnonzero(texts.doc_ids == doc_id)[:1])
    words = [vocabulary[i] for i in text.ids[1:-1]]  # without START and END
    ends = np.cumsum(text.sentence_lengths)
    return [" ".join(words[end - length : end]) for end, length in zip(ends, text.sentence_lengths, strict=True)]


def output_without(one: Traces, erased: Collection[int]) -> np.ndarray:
    """Output (K,) of one document when the items `erased` have weight zero and the others are renormalised.

    Where no weight is left the decoder sees the zero vector, hence the bias.
    """
    weight = np.where(np.isin(np.arange(one.lengths[0]), list(erased)), 0.0, one.attention)
    left = weight.sum()
    return distributions(one.logits_under(weight / left if left > 0 else weight))[0]


def erasures(one: Traces) -> pd.DataFrame:
    """One row per item of one document: attention, gradient, gradient × attention, p without it.

    gradient: d p_y / d alpha_t with the other weights held, y the predicted class; p: of y, the item alone erased.
    """
    n, label = int(one.lengths[0]), int(one.predicted[0])
    gradient = items(one, np.array([0]), n).gradient[0]
    return pd.DataFrame({
        "attention": one.attention,
        "gradient": gradient,
        "gradient × attention": one.attention * gradient,
        "p without it": [output_without(one, [t])[label] for t in range(n)],
    })  # fmt: skip
