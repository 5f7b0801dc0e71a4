"""Does attention rank tokens as gradients and deletion do? Jain and Wallace 2019, section 4.1, Algorithm 1."""

import numpy as np
import pandas as pd

from attn_core import fast
from attn_core.errors import AttnError
from attn_core.experiments import draws as random
from attn_core.experiments.tables import table
from attn_core.fast.kendall import kendall_ragged as quick
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


def kendall_ragged(x: np.ndarray, y: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kendall's tau-b and two-sided p within each of D documents laid end to end (Kendall 1938).

    x, y (T,), offsets (D + 1,) -> tau (D,), p (D,), as scipy.stats.kendalltau gives them: exact p where neither vector
    has ties and n <= 33 or at most one pair is discordant (or concordant), otherwise the normal approximation with tie
    correction; NaN where a vector is constant, has fewer than two entries or a NaN.
    """
    if fast.enabled():
        return quick(x, y, offsets)
    from scipy.stats import kendalltau

    tau, p = np.full((2, len(offsets) - 1), np.nan)
    for row, (start, stop) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        if np.ptp(x[start:stop]) > 0 and np.ptp(y[start:stop]) > 0:  # no constant and no NaN
            tau[row], p[row] = kendalltau(x[start:stop], y[start:stop])
    return tau, p
