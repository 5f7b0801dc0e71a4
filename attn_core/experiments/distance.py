"""How far two attentions lie apart, of two trainings or of a search, and what the distance costs in output.

Wiegreffe & Pinter 2019, 3.3 and 4, Figures 3 and 5. Their yardstick for adversaries: training again from another seed
already moves attention. Only the n real tokens of a document count. tvd is |p' - p| throughout, the formula of the
paper's text; the authors' code halves it, and Figure 5 very likely shows the halved scale (HALVED).
"""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.experiments.search import output_changes
from attn_core.measures import apart, jsd_ragged, tvd
from attn_core.traces import Arrays, Traces

HALVED = 0.5
"""The authors' code multiplies |p' - p| by this."""


def against(base: Traces, second: Traces) -> pd.DataFrame:
    """How far a second model's attention and output lie from the base's, one row per document of both.

    Parameters
    ----------
    base, second : Traces
        Of two models that read the same words; rows are in the base's order.

    Returns
    -------
    DataFrame
        Columns doc_id; predicted (of the base, as Wiegreffe & Pinter group documents); max_attention (of the base);
        jsd of the two attentions in nats, 0 to ln 2; tvd of the two outputs.

    Raises
    ------
    AttnError
        A document has other tokens in the second model, or the two share none.
    """
    rows = pd.Index(second.doc_id).get_indexer(base.doc_id)  # of the base's documents in the second; -1: not there
    base = base.take(np.flatnonzero(rows >= 0))
    second = second.take(rows[rows >= 0])
    if not len(base):
        raise AttnError("the two runs share no document; compare runs of the same data set and split")
    unlike = np.flatnonzero(base.lengths != second.lengths)
    if len(unlike):
        row = unlike[0]
        raise AttnError(
            f"document {base.doc_id[row]} has {base.lengths[row]} tokens in the base and {second.lengths[row]} in the "
            "other model; compare runs of the same data"
        )
    columns = grouping(base)
    columns["jsd"] = apart(base.attention, second.attention, base.offsets)
    columns["tvd"] = tvd(base.outputs, second.outputs)
    return pd.DataFrame(columns)


def grouping(traces: Traces) -> Arrays:
    """The columns by which the paper groups documents."""
    return {"doc_id": traces.doc_id, "predicted": traces.predicted, "max_attention": traces.max_attention}


def per_instance(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Several comparisons with one base (tables of `against`) as one row per document that all of them have.

    Columns doc_id, predicted, max_attention; median and max of the JSD over the tables (the authors' code takes the
    median; the maximum is Jain & Wallace's way with their adversaries).
    """
    documents = pd.concat(tables).groupby("doc_id", sort=False)
    jsd = documents["jsd"].agg(["median", "max"])
    instances = documents[["predicted", "max_attention"]].first().join(jsd)
    return instances[documents.size() == len(tables)].reset_index()


def searched(traces: Traces, weights: np.ndarray) -> pd.DataFrame:
    """The per-document search's adversaries as Wiegreffe & Pinter read them (Figure 3 e, f, the plus of Figure 5).

    One row per document; weights (k, T) of search.search. Columns doc_id, predicted, max_attention; jsd, tvd: means
    over the k adversaries, whatever their output; two: median JSD of the first two, which the authors' code takes.
    """
    jsd = jsd_ragged(weights, traces.attention, traces.offsets)  # (k, D)
    columns = grouping(traces)
    columns["jsd"] = jsd.mean(axis=0)
    columns["tvd"] = output_changes(traces, weights).mean(axis=0)
    columns["two"] = np.median(jsd[:2], axis=0)
    return pd.DataFrame(columns)


def tvd_at(jsd: Iterable[float], tvd: Iterable[float], at: float) -> float:
    """TVD where the line through a curve's points, in the order given, passes JSD `at`; NaN where it does not.

    The papers join adversaries in the order of lambda, so a line may pass several times; then the mean counts.
    """
    values = []
    for piece in pairwise(zip(jsd, tvd, strict=True)):
        (left, first), (right, second) = sorted(piece)
        if left <= at <= right and left < right:
            values.append(np.interp(at, [left, right], [first, second]))
    return float(np.mean(values)) if values else np.nan
