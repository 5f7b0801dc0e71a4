"""How far two trainings' attention lies apart, document by document (Wiegreffe & Pinter 2019, 3.3, Figures 3 and 5).

The papers' yardstick for adversaries: training again from another seed already moves attention. The same comparison
serves uniform models and trained adversaries. Only the n real tokens of a document count.
"""

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.measures import jsd_ragged, tvd
from attn_core.traces import Traces, totals

TOP = 5
"""Tokens with the largest weights whose overlap is taken."""


def against(base: Traces, other: Traces, top: int = TOP) -> pd.DataFrame:
    """One row per document of both, in the base's order: how far the other's attention and output lie from the base's.

    Columns: doc_id; predicted (of the base, as the paper groups documents); max_attention (of the base); jsd of the two
    attentions in nats, 0 to ln 2; tvd of the two outputs, |p - p'| for one logit (the authors' code halves this, see
    `frontier.HALVED`); overlap, see `top_overlap`. AttnError where a document has other tokens in the other model, or
    where the two share none.
    """
    mine, theirs = aligned(base.doc_id, other.doc_id)
    base, other = base.take(mine), other.take(theirs)
    if not np.array_equal(base.offsets, other.offsets):
        bad = np.flatnonzero(base.lengths != other.lengths)[0]
        raise AttnError(
            f"document {base.doc_id[bad]} has {base.lengths[bad]} tokens in the base and {other.lengths[bad]} in the "
            "other model; compare runs of the same data"
        )
    one = base.classes == 1
    return pd.DataFrame({
        "doc_id": base.doc_id,
        "predicted": base.predicted,
        "max_attention": base.max_attention,
        "jsd": jsd_ragged(base.attention, other.attention, base.offsets),
        "tvd": tvd(base.p, other.p) if one else tvd(base.outputs, other.outputs, axis=-1),
        "overlap": top_overlap(base.attention, other.attention, base.offsets, top),
    })  # fmt: skip


def aligned(mine: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the documents that two lists of doc_ids (D,), (E,) share, in the first's order; AttnError for none."""
    for ids in (mine, theirs):
        if len(np.unique(ids)) < len(ids):
            raise AttnError("a doc_id occurs twice in one run; its data set was encoded wrongly")
    _, first, second = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    if not len(first):
        raise AttnError("the two runs share no document; compare runs of the same data set and split")
    order = np.argsort(first)
    return first[order], second[order]


def top_overlap(a: np.ndarray, b: np.ndarray, offsets: np.ndarray, top: int = TOP) -> np.ndarray:
    """Share of the `top` most attended tokens that two attentions (T,) have in common, (D,), from 0 to 1.

    Texts of fewer tokens are compared over all of them, so that it is 1. Where weights tie at the last place each of
    the tied tokens belongs to the set with the same share: under uniform weights every token belongs to it by top / n.
    """
    if top < 1:
        raise AttnError(f"top must be at least 1, got {top}")
    size = np.minimum(top, np.diff(offsets))
    return totals(np.minimum(membership(a, offsets, size), membership(b, offsets, size)), offsets) / size


def membership(weights: np.ndarray, offsets: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Share (T,) with which each token is among the size (D,) largest of its document; a document sums to size."""
    lengths = np.diff(offsets)
    falling = np.lexsort((-weights, np.repeat(np.arange(len(lengths)), lengths)))  # within documents, largest first
    last = np.repeat(weights[falling][offsets[:-1] + size - 1], lengths)  # (T,) the smallest weight that belongs
    inside, tied = weights > last, weights == last
    left = size - totals(inside.astype(np.float64), offsets)
    return inside + tied * np.repeat(left / totals(tied.astype(np.float64), offsets), lengths)


def per_instance(tables: list[pd.DataFrame], column: str = "jsd") -> pd.DataFrame:
    """Several comparisons with one base as one row per document that all of them have.

    tables: of `against`. Columns doc_id, predicted, max_attention; median, mean, max of `column` over the tables (the
    authors' code takes the median; the maximum is Jain & Wallace's way with their adversaries), n_tables.
    """
    if not tables:
        raise AttnError("nothing to compare: no other seed's table; `python -m attn_core archive list` shows the runs")
    wide = pd.concat([table.set_index("doc_id")[column] for table in tables], axis=1, join="inner")  # (D, S)
    first = tables[0].set_index("doc_id").loc[wide.index, ["predicted", "max_attention"]]
    values = wide.to_numpy(np.float64)
    columns = {"median": np.median(values, axis=1), "mean": values.mean(axis=1), "max": values.max(axis=1)}
    return first.assign(**columns, n_tables=len(tables)).reset_index()
