"""Does attention rank tokens as gradients and deletion do? Jain and Wallace 2019, section 4.1, Algorithm 1."""

import math
from functools import cache

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when first used
from numpy import ndarray
from numpy.typing import ArrayLike

from attn_core import checks
from attn_core.experiments import draws as random
from attn_core.experiments.tables import table
from attn_core.traces import Traces, chunks

PAIRS = (
    ("attention", "gradient"),
    ("attention", "loo"),
    ("gradient", "loo"),
    ("attention", "random"),
    ("attention", "norm"),
    ("norm", "loo"),
)
"""The pairs of rankings compared; columns are tau_<a>_<b> and p_<a>_<b>."""

EXACT_LENGTH = 33
"""Up to this length p values without ties come from the exact distribution, as in SciPy."""

LONGEST = 10_000
"""Tokens of a document whose pairs are all looked at."""

AT_ONCE = 1 << 21
"""Pairs of tokens compared at once; bounds memory and changes no number."""


def correlation(traces: Traces, seed: int = 0) -> pd.DataFrame:
    """Kendall's tau-b and two-sided p between attention, |gradient|, |leave-one-out| and random scores, per document.

    Jain & Wallace 2019, section 4.1. Attention is ranked by its scores, which the softmax keeps in order, so that
    weights too small for a float do not become ties.

    Parameters
    ----------
    traces : Traces
        With the importances that are to be compared; an absent one has no columns.
    seed : int
        Of the random scores, which are uniform from (seed, doc_id).

    Returns
    -------
    DataFrame
        Columns tau_<a>_<b>, p_<a>_<b> of PAIRS; NaN as in `kendall_ragged`. norm: `Traces.gradient_norm`.

    Notes
    -----
    Deviations from the paper: the authors' gradients are divided by their sum first, which keeps ranks but gives 0/0
    where all are zero (here a constant ranking, NaN as well); the random baseline is not in the paper.
    """
    sizes = {"gradient": traces.gradient, "norm": traces.gradient_norm, "loo": traces.leave_one_out}
    scores = {name: np.abs(size) for name, size in sizes.items() if size is not None}
    scores["attention"] = traces.score
    scores["random"] = random.uniforms(seed, "random scores", traces.doc_id, traces.offsets)[0]
    columns = {}
    for a, b in PAIRS:
        if a in scores and b in scores:
            tau, p = kendall_ragged(scores[a], scores[b], traces.offsets)
            columns[f"tau_{a}_{b}"] = tau
            columns[f"p_{a}_{b}"] = p
    return table(traces, **columns)


def kendall_ragged(x: ArrayLike, y: ArrayLike, offsets: ArrayLike) -> tuple[ndarray, ndarray]:
    """Kendall's tau-b and two-sided p within each of D documents laid end to end (Kendall 1938).

    Parameters
    ----------
    x, y : (T,) array
        What is ranked.
    offsets : (D + 1,) array of int
        Document d owns offsets[d]:offsets[d + 1].

    Returns
    -------
    tau, p : (D,) array
        As scipy.stats.kendalltau gives them: exact p where neither vector has ties and n <= 33 or at most one pair is
        discordant (or concordant), otherwise the normal approximation with tie correction; NaN where a vector is
        constant, has fewer than two entries or a NaN.
    """
    x = checks.numbers("x", x, None, finite=False)
    y = checks.numbers("y", y, len(x), finite=False)
    offsets = checks.bounds(offsets, len(x))
    lengths = np.diff(offsets)
    tau, p = np.empty((2, len(lengths)))
    for rows, _ in chunks(lengths**2, AT_ONCE):
        tokens = offsets[rows, None] + np.arange(lengths[rows[0]])
        if tokens.shape[1] > LONGEST:  # one document
            tau[rows], p[rows] = scipy.stats.kendalltau(x[tokens[0]], y[tokens[0]])
        else:
            tau[rows], p[rows] = kendall(x[tokens], y[tokens])
    return tau, p


def kendall(x: ndarray, y: ndarray) -> tuple[ndarray, ndarray]:
    """The same of B documents of n tokens each: x, y (B, n) -> (B,), (B,)."""
    n = x.shape[1]
    pairs = n * (n - 1) / 2
    x_above = x[:, :, None] > x[:, None]  # (B, n, n)
    y_above = y[:, :, None] > y[:, None]
    concordant = np.count_nonzero(x_above & y_above, axis=(1, 2))
    discordant = np.count_nonzero(x_above & y_above.swapaxes(1, 2), axis=(1, 2))
    difference = concordant - discordant

    # The difference has mean 0 in random rankings; ties lower its variance.
    x_tied, x_cubes, x_lost = tie_sums(x_above)
    y_tied, y_cubes, y_lost = tie_sums(y_above)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = difference / np.sqrt(pairs - x_tied) / np.sqrt(pairs - y_tied)
        m = n * (n - 1)
        variance = (m * (2 * n + 5) - x_lost - y_lost) / 18
        variance = variance + 2 * x_tied * y_tied / m
        variance = variance + x_cubes * y_cubes / (9 * m * (n - 2))
        z = difference / np.sqrt(variance)
        p = 2 * scipy.special.ndtr(-np.abs(z))

    fewer = np.minimum(concordant, discordant)
    small = (n <= EXACT_LENGTH) | (fewer <= 1)
    exact = small & (x_tied + y_tied == 0)
    for row in np.flatnonzero(exact):
        p[row] = exact_p(n, int(fewer[row]))

    constant = (x_tied == pairs) | (y_tied == pairs)
    undefined = constant | (np.isnan(x) | np.isnan(y)).any(axis=1)
    tau[undefined] = np.nan
    p[undefined] = np.nan
    return np.clip(tau, -1.0, 1.0), p


def tie_sums(above: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """From which of two tokens is above, (B, n, n): pairs tied, and over groups of t equal tokens the sums of
    t (t - 1) (t - 2) and t (t - 1) (2 t + 5); each (B,)."""
    n = above.shape[1]
    equal = n - above.sum(1) - above.sum(2) - 1  # (B, n) how many more tokens are as large: t - 1
    cubes = equal * (equal - 1)
    lost = equal * (2 * equal + 7)
    return equal.sum(1) / 2, cubes.sum(1), lost.sum(1)


@cache
def exact_p(n: int, fewer: int) -> float:
    """Exact two-sided p of vectors without ties; `fewer` = min(discordant, concordant), at most 1 beyond EXACT_LENGTH.

    The number of discordant pairs of a random order of n is a sum of independent uniforms on 0..k-1, k = 1..n.
    """
    if n > EXACT_LENGTH:
        # 2 / n! of all orders have none, 2 n / n! at most one; 171! is no float
        return 2.0 / math.factorial(n - fewer) if n - fewer < 171 else 0.0
    mass = np.ones(1)
    for k in range(2, n + 1):
        mass = np.convolve(mass, np.full(k, 1.0 / k))
    return min(2 * mass[: fewer + 1].sum(), 1.0)
