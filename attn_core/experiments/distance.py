"""How far two attentions lie apart, of two trainings or of a search, and what the distance costs in output.

Wiegreffe & Pinter 2019, 3.3 and 4, Figures 3 and 5. Their yardstick for adversaries: training again from another seed
already moves attention. Only the n real tokens of a document count. tvd is |p' - p| throughout, the formula of the
paper's text; the authors' code halves it, and Figure 5 very likely shows the halved scale (HALVED).
"""

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.experiments.search import changes
from attn_core.measures import jsd_ragged, tvd
from attn_core.traces import Traces

HALVED = 0.5
"""The authors' code multiplies |p' - p| by this."""


def against(base: Traces, other: Traces) -> pd.DataFrame:
    """One row per document of both, in the base's order: how far the other's attention and output lie from the base's.

    Columns: doc_id; predicted (of the base, as the paper groups documents); max_attention (of the base); jsd of the two
    attentions in nats, 0 to ln 2; tvd of the two outputs. AttnError where a document has other tokens in the other
    model, and where the two share none.
    """
    theirs = pd.Index(other.doc_id).get_indexer(base.doc_id)  # -1: not there
    base, other = base.take(np.flatnonzero(theirs >= 0)), other.take(theirs[theirs >= 0])
    if not len(base):
        raise AttnError("the two runs share no document; compare runs of the same data set and split")
    if len(bad := np.flatnonzero(base.lengths != other.lengths)):
        counts = (part.lengths[bad[0]] for part in (base, other))
        raise AttnError("document {} has {} tokens in the base and {} in the other model; compare runs of the same data"
                        .format(base.doc_id[bad[0]], *counts))  # fmt: skip
    jsd = jsd_ragged(base.attention, other.attention, base.offsets)
    return pd.DataFrame(grouping(base) | {"jsd": jsd, "tvd": tvd(base.outputs, other.outputs)})


def grouping(traces: Traces) -> dict[str, np.ndarray]:
    """The columns by which the paper groups documents."""
    return {"doc_id": traces.doc_id, "predicted": traces.predicted, "max_attention": traces.max_attention}


def per_instance(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Several comparisons with one base (tables of `against`) as one row per document that all of them have.

    Columns doc_id, predicted, max_attention; median and max of the JSD over the tables (the authors' code takes the
    median; the maximum is Jain & Wallace's way with their adversaries).
    """
    rows = pd.concat(tables).groupby("doc_id", sort=False)
    found = rows[["predicted", "max_attention"]].first().join(rows["jsd"].agg(["median", "max"]))
    return found[rows.size() == len(tables)].reset_index()


def searched(traces: Traces, weights: np.ndarray) -> pd.DataFrame:
    """The per-document search's adversaries as Wiegreffe & Pinter read them (Figure 3 e, f, the plus of Figure 5).

    One row per document; weights (k, T) of search.search. Columns doc_id, predicted, max_attention; jsd, tvd: means
    over the k adversaries, whatever their output; two: median JSD of the first two, which the authors' code takes.
    """
    jsd = jsd_ragged(weights, traces.attention, traces.offsets)
    tvd, two = changes(traces, weights).mean(axis=0), np.median(jsd[:2], axis=0)
    return pd.DataFrame(grouping(traces) | {"jsd": jsd.mean(axis=0), "tvd": tvd, "two": two})


def tvd_at(jsd: np.ndarray, tvd: np.ndarray, at: float) -> float:
    """TVD where the line through a curve's points, in the order given, passes JSD `at`; NaN where it does not.

    The papers join adversaries in the order of lambda, so a line may pass several times; then the mean counts.
    """
    jsd, tvd = np.asarray(jsd, float), np.asarray(tvd, float)
    a, b = jsd[:-1], jsd[1:]
    passes = (np.minimum(a, b) <= at) & (at <= np.maximum(a, b)) & (a != b)
    share = (at - a[passes]) / (b[passes] - a[passes])
    values = tvd[:-1][passes] + share * np.diff(tvd)[passes]
    return float(values.mean()) if len(values) else np.nan
