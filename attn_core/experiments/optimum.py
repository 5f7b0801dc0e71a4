"""As far from the model's attention as any weights at nearly the same output: the exact optimum, or a lower bound.

Jain and Wallace 2019, section 4.2.2, search for such weights by gradient descent (search.py); neither is in the paper.
In a one-logit model with an affine decoder the maximum can be computed (`exact`). Write s_t for the contribution of
token t, a for the model's attention, p for its output. |p' - p| <= epsilon means low <= sum_t a'_t s_t <= high; low,
high = logit(p -+ epsilon) - bias. JSD(., a) is convex, so its maximum over the simplex within that slab lies at a
vertex: one token with low <= s_t <= high, or two tokens on opposite sides of a finite bound B, s_i < B < s_j, with
weight w = (s_j - B) / (s_j - s_i) on i. All vertices are tried. For other models see `sparse`.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when first used
from numpy import ndarray

from attn_core.experiments.tables import ROUNDING, check_epsilon, table
from attn_core.measures import LN2, jsd_point, variation
from attn_core.traces import Traces, each_alone, maxima, one_logit, probabilities, sigmoid, totals

GRID = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
"""Weights of the first of two tokens, in `sparse`."""

PAIRS = 2048
FEWEST = 4
"""In a document of n tokens one of the two is among the max(FEWEST, PAIRS // n) tokens that change the output least
when they carry all weight: up to 45 tokens every pair, from 512 on every pair with one of four tokens."""

PAIRS_AT_ONCE = 2**21
"""Pairs of tokens of a document that `exact` looks at in one step."""

AT_ONCE = 256
"""Mixtures of a document whose output is computed at once."""


class Vertex(NamedTuple):
    """A vertex of a document's slab: `weight` on token i, the rest on token j; all of it on i where j is -1."""

    jsd: float
    i: int
    j: int = -1
    weight: float = 1.0


@dataclass
class Mixtures:
    """Attentions on two tokens of a document, `weight` on i and the rest on j, from the largest JSD on; each (m,)."""

    jsd: ndarray
    i: ndarray
    j: ndarray
    weight: ndarray


def slab(traces: Traces, epsilon: float) -> tuple[ndarray, ndarray]:
    """Bounds (low, high), each (D,), on sum_t a'_t s_t that keep the output within epsilon; infinite where none binds.

    epsilon = 0 starts from the sum itself, not from the logit of p, which is infinite where the sigmoid saturates. The
    slab is widened by ROUNDING times (1 + max |s|), else rounding leaves no vertex where all attention is alike.
    """
    check_epsilon(epsilon)
    s, bias = one_logit(traces)
    z = totals(traces.attention * s, traces.offsets)
    low = high = z
    if epsilon > 0:
        p = sigmoid(z + bias)
        low = scipy.special.logit(np.maximum(p - epsilon, 0.0)) - bias  # logit(0) = -inf
        high = scipy.special.logit(np.minimum(p + epsilon, 1.0)) - bias  # logit(1) = inf
    largest = maxima(np.abs(s), traces.offsets)
    slack = ROUNDING * (1.0 + largest)
    return np.minimum(low, z) - slack, np.maximum(high, z) + slack


def exact(traces: Traces, epsilon: float) -> pd.DataFrame:
    """The largest JSD to the model's attention among ALL attentions whose output lies within epsilon, per document.

    Parameters
    ----------
    traces : Traces
        Of a model with one logit, or two.
    epsilon : float
        By how much the output may move, 0 to 1.

    Returns
    -------
    DataFrame
        Columns jsd_exact; tvd_exact = |p' - p| there; i, j: positions within the document of the two tokens that
        carry the mass (j = -1: one token carries all); weight: the weight on i, j has what is left of 1.

    Raises
    ------
    AttnError
        Several logits, see `one_logit`.
    """
    s, bias = one_logit(traces)
    z = totals(traces.attention * s, traces.offsets)
    low, high = slab(traces, epsilon)
    vertices = []
    for row, (start, stop) in enumerate(pairwise(traces.offsets)):
        tokens = slice(start, stop)
        vertices.append(best_vertex(s[tokens], traces.attention[tokens], low[row], high[row]))
    best = pd.DataFrame(np.reshape(vertices, (-1, 4)), columns=Vertex._fields)
    best = best.astype({"i": int, "j": int})

    moved_z = totals(expand(traces, best) * s, traces.offsets)
    moved = np.abs(sigmoid(moved_z + bias) - sigmoid(z + bias))
    return table(
        traces,
        jsd_exact=best["jsd"].clip(lower=0.0),
        tvd_exact=moved,
        i=best["i"],
        j=best["j"],
        weight=best["weight"],
    )


def best_vertex(s: ndarray, attention: ndarray, low: float, high: float) -> Vertex:
    """The vertex of the largest JSD of one document: s (n,), attention (n,), low <= sum_t a'_t s_t <= high."""
    best = Vertex(-np.inf, 0)
    inside = np.flatnonzero((s >= low) & (s <= high))
    if len(inside):
        t = inside[attention[inside].argmin()]
        best = Vertex(float(jsd_point(attention[t])), t)

    for bound in (low, high):
        below = np.flatnonzero(s < bound)
        j = np.flatnonzero(s > bound)  # (R,)
        step = max(1, PAIRS_AT_ONCE // max(1, j.size))
        for first in range(0, below.size if j.size else 0, step):
            i = below[first : first + step, None]  # (L, 1)
            # w s_i + (1 - w) s_j = bound; both weights as quotients, so that neither loses digits
            w = (s[j] - bound) / (s[j] - s[i])  # (L, R)
            remainder = (bound - s[i]) / (s[j] - s[i])
            jsd = 0.5 * LN2 + share(w, attention[i]) + share(remainder, attention[j])
            left, right = np.unravel_index(jsd.argmax(), jsd.shape)
            if jsd[left, right] > best.jsd:
                best = Vertex(jsd[left, right], i[left, 0], int(j[right]), w[left, right])
    return best


def share(w: ndarray, mass: ndarray) -> ndarray:
    """What a token with new weight w > 0 and model weight `mass` adds to JSD, beyond the ln(2)/2 all tokens share."""
    new = w * np.log(2.0 * w / (w + mass))
    old = scipy.special.xlogy(mass, mass / (w + mass))
    return 0.5 * (new + old)


def expand(traces: Traces, vertices: pd.DataFrame) -> ndarray:
    """Attention weights of the optima in a table of `exact`.

    Parameters
    ----------
    traces : Traces
        From which the table was made.
    vertices : DataFrame
        The table.

    Returns
    -------
    (T,) array
        Weights that sum to 1 within a document.
    """
    start = traces.offsets[:-1]
    weight = vertices["weight"].to_numpy()
    j = vertices["j"].to_numpy()
    pair = j >= 0
    weights = np.zeros(len(traces.score))
    weights[start + vertices["i"].to_numpy()] = weight
    weights[(start + j)[pair]] = 1.0 - weight[pair]
    return weights


def sparse(traces: Traces, epsilon: float) -> pd.DataFrame:
    """The largest JSD to the model's attention found within epsilon among attentions on one or two tokens.

    All single tokens are tried, and the pairs of PAIRS with the weights of GRID, from the largest JSD down to the
    first within epsilon. So this is a lower bound of the maximum, for any number of outputs.

    Parameters
    ----------
    traces : Traces
        Of any model.
    epsilon : float
        By how much the output may move, 0 to 1.

    Returns
    -------
    DataFrame
        Columns jsd, tvd; both 0, those of the model's own attention, where none was within epsilon.
    """
    check_epsilon(epsilon)
    _, moved_alone = each_alone(traces)
    best = np.zeros(len(traces))
    moved = np.zeros(len(traces))
    for row, (start, stop) in enumerate(pairwise(traces.offsets)):
        attention = traces.attention[start:stop]
        alone = moved_alone[start:stop]
        within = np.flatnonzero(alone <= epsilon + ROUNDING)
        if len(within):
            t = within[attention[within].argmin()]
            best[row] = jsd_point(attention[t])
            moved[row] = alone[t]
            if attention[t] == attention.min():
                continue  # no pair is above the better of its tokens, and none of these is better

        pairs = mixtures(attention, alone, best[row])
        contribution = traces.contribution[start:stop]
        for first in range(0, len(pairs.jsd), AT_ONCE):
            batch = slice(first, first + AT_ONCE)
            w = pairs.weight[batch, None]
            c_i = contribution[pairs.i[batch]]
            c_j = contribution[pairs.j[batch]]
            context = w * c_i + (1 - w) * c_j
            outputs = probabilities(traces.decoded(context, np.array([row])))
            change = variation(outputs, traces.outputs[row])
            within = np.flatnonzero(change <= epsilon + ROUNDING)
            if len(within):
                best[row] = pairs.jsd[batch][within[0]]
                moved[row] = change[within[0]]
                break
    return table(traces, jsd=best, tvd=moved)


def mixtures(attention: ndarray, alone: ndarray, above: float) -> Mixtures:
    """The mixtures of two tokens whose JSD to the attention (n,) exceeds `above`.

    alone (n,): change of output by each token alone.
    """
    n = len(attention)
    nearest = np.argsort(alone, kind="stable")
    first = min(n, max(FEWEST, PAIRS // n))
    i, j = nearest[np.array(np.triu_indices(first, 1, n))]  # each pair once: GRID is symmetric
    grid = np.array(GRID)
    share_i = share(grid, attention[i, None])  # (pairs, GRID)
    share_j = share(1 - grid, attention[j, None])
    jsd = 0.5 * LN2 + share_i + share_j
    order = np.argsort(-jsd, axis=None, kind="stable")
    order = order[: np.count_nonzero(jsd > above)]
    pair, level = np.unravel_index(order, jsd.shape)
    return Mixtures(jsd[pair, level], i[pair], j[pair], grid[level])
