"""What other attention costs in output: frontiers of the frozen base, the search's point, trained adversaries' curves.

Wiegreffe & Pinter 2019, section 4, draw mean JSD to the base against mean TVD of outputs, one point a trained model
(Figure 5). Beside their curves stand two frontiers of the base itself, which nobody has drawn: the exact optimum at the
same epsilon for every document, and at the best sharing of a mean TVD among documents, exact over a list of epsilons.
Trained adversaries are bound by neither, for all their weights differ; per-document searches are bound by both, by the
second up to the fineness of the list.

tvd is |p' - p| throughout, the formula of the paper's text. The authors' code halves it, and Figure 5 very likely shows
the halved scale (column tvd_halved; HALVED).
"""

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.experiments.optimum import exact
from attn_core.experiments.search import select
from attn_core.experiments.tables import one_logit, sigmoid, totals
from attn_core.measures import jsd_ragged, seed_interval
from attn_core.traces import Traces

HALVED = 0.5
"""The authors' code multiplies |p' - p| by this."""

EPSILONS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)

APART = 0.3
"""JSD: of neighbours on a curve that lie farther apart nothing is read off between them. The widest step of the paper's
own curves is 0.27 (SST, as measured on Figure 5). Set after the curves had been seen."""

POINTS = 200
"""Rows of the sharing curve, in either spacing; between neighbours it is all but straight."""


def optima(traces: Traces, epsilons: tuple[float, ...] = EPSILONS) -> tuple[np.ndarray, np.ndarray]:
    """Largest JSD within each epsilon and |p' - p| there, both (D, E) and rising along E; epsilons must rise.

    The optimum of a larger epsilon that is not one of a smaller was outside it, so its |p' - p| is larger; what is left
    of falling steps is rounding and is levelled.
    """
    if not len(epsilons) or any(a >= b for a, b in zip(epsilons, epsilons[1:], strict=False)):
        raise AttnError(f"epsilons must be a rising list, got {list(epsilons)}")
    tables = [exact(traces, epsilon) for epsilon in epsilons]
    jsd, tvd = (np.stack([table[name].to_numpy() for table in tables], axis=1) for name in ("jsd_exact", "tvd_exact"))
    return np.maximum.accumulate(jsd, axis=1), np.maximum.accumulate(tvd, axis=1)


def same_epsilon(jsd: np.ndarray, tvd: np.ndarray, epsilons: tuple[float, ...] = EPSILONS) -> pd.DataFrame:
    """The frontier where every document may change its output by the same epsilon: epsilon, tvd, tvd_halved, jsd, n.

    jsd, tvd (D, E) of `optima`; means over the D documents (n).
    """
    mean = tvd.mean(axis=0)
    return pd.DataFrame(
        {"epsilon": epsilons, "tvd": mean, "tvd_halved": HALVED * mean, "jsd": jsd.mean(axis=0), "n": len(jsd)}
    )


def best_sharing(jsd: np.ndarray, tvd: np.ndarray, points: int = POINTS) -> pd.DataFrame:
    """The largest mean JSD at each mean TVD, if documents share it as is best: price, tvd, tvd_halved, jsd, n.

    Exact where each document's epsilon is of the grid; a finer grid may pass it.

    jsd, tvd (D, E) of `optima`. For a price mu of TVD each document takes the epsilon_i of the grid that maximises
    JSD_i - mu |dp_i|. Every mu at once: the upper concave hulls of the documents' (|dp|, JSD) points are cut into their
    segments, and all segments are laid end to end, steepest first. Row by row the price falls to 0; at most twice
    `points` rows, even in number and in TVD. Straight lines between rows are reached by sharing within a segment. Never
    below `same_epsilon` at the same mean TVD.
    """
    documents = len(jsd)
    on_hull = hull(jsd, tvd)
    width, height = segments(tvd, on_hull), segments(jsd, on_hull)
    slope = height / width
    order = np.argsort(-slope, kind="stable")
    x = np.concatenate([[0.0], np.cumsum(width[order])]) / documents + tvd[:, 0].mean()
    y = np.concatenate([[0.0], np.cumsum(height[order])]) / documents + jsd[:, 0].mean()
    price = np.append(slope[order], 0.0)
    wanted = np.interp(np.linspace(0, 1, points), np.linspace(0, 1, len(x)), np.arange(len(x)))
    kept = np.unique(
        np.concatenate([wanted.astype(int), np.searchsorted(x, np.linspace(x[0], x[-1], points)).clip(0, len(x) - 1)])
    )
    return pd.DataFrame(
        {"price": price[kept], "tvd": x[kept], "tvd_halved": HALVED * x[kept], "jsd": y[kept], "n": documents}
    )


def hull(jsd: np.ndarray, tvd: np.ndarray) -> np.ndarray:
    """Which of each document's points (D, E), rising in both, lie on its upper concave hull; the first always does.

    Of points with equal TVD a hull holds the last, the highest, alone; in `optima` equal TVD means the same optimum.
    """
    size = jsd.shape[1]
    found = np.zeros(jsd.shape, bool)
    at = np.zeros(len(jsd), np.int64)
    rows = np.arange(len(jsd))
    found[:, 0] = True
    live = np.ones(len(jsd), bool)
    place = np.arange(size)
    for _ in range(size - 1):
        width, height = tvd - tvd[rows, at][:, None], jsd - jsd[rows, at][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where((place > at[:, None]) & (width > 0), height / width, -np.inf)
        best = slope.max(axis=1)
        live &= best > 0
        if not live.any():
            break
        farthest = size - 1 - (slope == best[:, None])[:, ::-1].argmax(axis=1)
        at = np.where(live, farthest, at)
        found[rows[live], at[live]] = True
    return found


def segments(values: np.ndarray, on_hull: np.ndarray) -> np.ndarray:
    """Differences of neighbouring hull points of each document, end to end."""
    rows, _ = np.nonzero(on_hull)
    steps = np.diff(values[on_hull])
    return steps[rows[1:] == rows[:-1]]


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


# ---- curves of trained models ----------------------------------------------------------------------------------------


def tvd_at(
    jsd: np.ndarray, tvd: np.ndarray, at: float, settled: np.ndarray | None = None, apart: float = np.inf
) -> float:
    """TVD where the line through a curve's points, in the order given, passes JSD `at`; NaN where it does not.

    Between two neighbours it counts only if both are settled (all are, by default) and their JSDs at most `apart` from
    each other. The papers join adversaries in the order of lambda, so a line may pass several times; then the mean
    counts.
    """
    jsd, tvd = np.asarray(jsd, float), np.asarray(tvd, float)
    settled = np.ones(len(jsd), bool) if settled is None else np.asarray(settled, bool)
    if len(jsd) == 1:
        return float(tvd[0]) if jsd[0] == at and settled[0] else np.nan
    a, b = jsd[:-1], jsd[1:]
    near = settled[:-1] & settled[1:] & (np.abs(b - a) <= apart)
    passes = (np.minimum(a, b) <= at) & (at <= np.maximum(a, b)) & (a != b) & near
    share = (at - a[passes]) / (b[passes] - a[passes])
    values = tvd[:-1][passes] + share * (tvd[1:][passes] - tvd[:-1][passes])
    return float(values.mean()) if len(values) else np.nan


def read_off(points: pd.DataFrame, at: tuple[float, ...], apart: float = APART) -> pd.DataFrame:
    """TVD read off trained adversaries' curves at given JSDs: at, tvd, low, high, tvd_halved, n_seeds, seeds, why.

    points: seed, divergence, jsd, tvd, settled, one row a run; each seed has a curve of its own, read as `tvd_at` says.
    n_seeds: curves that can be read there; low, high: Student t over them, NaN for one. tvd NaN: no curve can, and
    `why` says why not (`unreadable`).
    """
    rows = []
    for x in at:
        values = {}
        for seed, part in points.groupby("seed", sort=False):
            part = part.sort_values("divergence")
            values[seed] = tvd_at(part["jsd"], part["tvd"], x, part["settled"], apart)
        known = {seed: value for seed, value in values.items() if np.isfinite(value)}
        low, high = seed_interval(np.array(list(known.values())))
        mean = float(np.mean(list(known.values()))) if known else np.nan
        rows.append([x, mean, low, high, HALVED * mean, len(known), tuple(known),
                     "" if known else unreadable(points, x, apart)])  # fmt: skip
    return pd.DataFrame(rows, columns=["at", "tvd", "low", "high", "tvd_halved", "n_seeds", "seeds", "why"])


def unreadable(points: pd.DataFrame, at: float, apart: float = APART) -> str:
    """Why nothing is read off at a JSD: 'not converged', 'gap 0.42 > 0.3' (the narrowest) or both, or 'not reached'.

    points: as `read_off`.
    """
    moving, gaps = False, []
    for _, part in points.groupby("seed", sort=False):
        part = part.sort_values("divergence")
        jsd, settled = part["jsd"].to_numpy(float), part["settled"].to_numpy(bool)
        for a, b, both in zip(jsd, jsd[1:], settled[:-1] & settled[1:], strict=False):
            if min(a, b) <= at <= max(a, b):
                moving |= not both
                gaps += [abs(b - a)] if both and abs(b - a) > apart else []
    words = ["not converged"] * moving + ([f"gap {min(gaps):.2f} > {apart:g}"] if gaps else [])
    return ", ".join(words) or "not reached"
