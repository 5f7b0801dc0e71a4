"""Does attention rank tokens as gradients and deletion do? Jain and Wallace 2019, section 4.1, Algorithm 1."""

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.experiments import draws as random
from attn_core.experiments.tables import table
from attn_core.measures import bootstrap_interval, kendall_ragged, share_significant
from attn_core.traces import Traces

PAIRS = (
    ("attention", "gradient"),
    ("attention", "loo"),
    ("gradient", "loo"),
    ("attention", "random"),
)
"""The pairs of rankings compared; columns are tau_<a>_<b> and p_<a>_<b>."""


def correlation(traces: Traces, seed: int = 0, draws: np.ndarray | None = None) -> pd.DataFrame:
    """Kendall's tau-b and two-sided p between attention, |gradient|, |leave-one-out| and random scores, per document.

    Columns tau_attention_gradient, p_attention_gradient, tau_attention_loo, ..., tau_gradient_loo, ...,
    tau_attention_random, ... Importances that the traces lack have no columns; documents of one token and those with
    a constant ranking or a NaN importance have NaN.

    Attention is ranked by its scores, which the softmax keeps in order, so that weights too small for a float do not
    become ties. Deviations from the paper: the authors' gradients are divided by their sum first, which keeps ranks
    but gives 0/0 where all are zero (here a constant ranking, NaN as well); the random baseline is not in the paper.
    draws (T,): the random scores; by default uniform from (seed, doc_id).
    """
    if draws is None:
        draws = random.uniforms(seed, "random scores", traces.doc_id, traces.offsets)[0]
    elif np.shape(draws) != traces.score.shape:
        raise AttnError(f"draws must hold one random score per token, {traces.score.shape}; got {np.shape(draws)}")
    scores = {"attention": traces.score, "random": draws}
    if traces.gradient is not None:
        scores["gradient"] = np.abs(traces.gradient)
    if traces.leave_one_out is not None:
        scores["loo"] = np.abs(traces.leave_one_out)
    columns = {}
    for a, b in PAIRS:
        if a in scores and b in scores:
            columns[f"tau_{a}_{b}"], columns[f"p_{a}_{b}"] = kendall_ragged(scores[a], scores[b], traces.offsets)
    return table(traces, **columns)


def summarise(
    documents: pd.DataFrame, by: str | None = "predicted", resamples: int = 2_000, seed: int = 0
) -> pd.DataFrame:
    """Means of a correlation table by class and overall, as Table 2 of the paper prints them.

    One row per statistic (tau columns) and group; group is the value of `by` as text, or 'all'. by = None: only 'all',
    as the paper groups question answering. Columns: statistic,
    group, n (documents), n_nan, mean and std over the documents where tau is defined (ddof 0), share_significant
    (p <= 0.05 among all n documents, NaN counts as not significant), low, high (bootstrap interval of the mean over
    documents).
    """
    rows = []
    groups = [(str(value), part) for value, part in documents.groupby(by)] if by else []
    groups.append(("all", documents))
    for tau in [name for name in documents.columns if name.startswith("tau_")]:
        for name, part in groups:
            values = part[tau].dropna().to_numpy()
            low, high = bootstrap_interval(values, resamples=resamples, seed=seed)
            rows.append(
                {
                    "statistic": tau,
                    "group": name,
                    "n": len(part),
                    "n_nan": len(part) - len(values),
                    "mean": values.mean() if len(values) else np.nan,
                    "std": values.std() if len(values) else np.nan,
                    "share_significant": share_significant(part["p_" + tau.removeprefix("tau_")].to_numpy()),
                    "low": low,
                    "high": high,
                }
            )
    return pd.DataFrame(rows)
