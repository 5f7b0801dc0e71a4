"""What other attention costs in output: the per-document search's point, curves of trained adversaries.

Wiegreffe & Pinter 2019, section 4, draw mean JSD to the base against mean TVD of outputs, one point a trained model
(Figure 5).

tvd is |p' - p| throughout, the formula of the paper's text. The authors' code halves it, and Figure 5 very likely shows
the halved scale (HALVED).
"""

import numpy as np
import pandas as pd

from attn_core.experiments.search import select
from attn_core.measures import jsd_ragged
from attn_core.traces import Traces, one_logit, sigmoid, totals

HALVED = 0.5
"""The authors' code multiplies |p' - p| by this."""


def searched(traces: Traces, weights: np.ndarray, epsilons: tuple[float, ...] = (0.01, 0.05)) -> pd.DataFrame:
    """The per-document search's adversaries as Wiegreffe & Pinter read them (Figure 3 e, f, the plus of Figure 5).

    One row per document; weights (k, T) of search.search. Columns doc_id, predicted, max_attention; jsd, tvd: means
    over the k adversaries, whatever their output; two, five: median JSD of the first two and of all (the authors' code
    takes two); and for each epsilon best@e: the largest JSD within it, as Jain & Wallace choose. One logit, or two as
    their difference.
    """
    s, bias = one_logit(traces)
    p = sigmoid(totals(traces.attention * s, traces.offsets) + bias)
    tvd = np.abs(sigmoid(totals(weights * s, traces.offsets) + bias) - p)  # (k, D)
    jsd = jsd_ragged(weights, traces.attention, traces.offsets)
    best = {f"best@{epsilon:g}": select(traces, weights, epsilon)["jsd"].to_numpy() for epsilon in epsilons}
    return pd.DataFrame({
        "doc_id": traces.doc_id, "predicted": traces.predicted, "max_attention": traces.max_attention,
        "jsd": jsd.mean(axis=0), "tvd": tvd.mean(axis=0),
        "two": np.median(jsd[:2], axis=0), "five": np.median(jsd, axis=0), **best,
    })  # fmt: skip


def tvd_at(jsd: np.ndarray, tvd: np.ndarray, at: float) -> float:
    """TVD where the line through a curve's points, in the order given, passes JSD `at`; NaN where it does not.

    The papers join adversaries in the order of lambda, so a line may pass several times; then the mean counts.
    """
    jsd, tvd = np.asarray(jsd, float), np.asarray(tvd, float)
    if len(jsd) == 1:
        return float(tvd[0]) if jsd[0] == at else np.nan
    a, b = jsd[:-1], jsd[1:]
    passes = (np.minimum(a, b) <= at) & (at <= np.maximum(a, b)) & (a != b)
    share = (at - a[passes]) / (b[passes] - a[passes])
    values = tvd[:-1][passes] + share * (tvd[1:][passes] - tvd[:-1][passes])
    return float(values.mean()) if len(values) else np.nan
