"""As far from the model's attention as any weights at nearly the same output: the exact optimum, or a lower bound.

Jain and Wallace 2019, section 4.2.2, search for such weights by gradient descent (search.py); neither is in the paper.
In a one-logit model with an affine decoder the maximum can be computed (`exact`). Write s_t for the contribution of
token t, a for the model's attention, p for its output. |p' - p| <= epsilon means low <= sum_t a'_t s_t <= high; low,
high = logit(p -+ epsilon) - bias. JSD(., a) is convex, so its maximum over the simplex within that slab lies at a
vertex: one token with low <= s_t <= high, or two tokens on opposite sides of a finite bound B, s_i < B < s_j, with
weight w = (s_j - B) / (s_j - s_i) on i. All vertices are tried. For other models see `sparse`.
"""

from itertools import pairwise

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when first used

from attn_core.errors import AttnError
from attn_core.experiments.tables import ROUNDING, check_epsilon, table
from attn_core.measures import LN2, jsd_point, tvd
from attn_core.traces import Traces, each_alone, one_logit, probabilities, sigmoid, totals

GRID = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
"""Weights of the first of two tokens, in `sparse`."""

PAIRS, FEWEST = 2048, 4
"""In a document of n tokens one of the two is among the max(FEWEST, PAIRS // n) tokens that change the output least
when they carry all weight: up to 45 tokens every pair, from 512 on every pair with one of four tokens."""

AT_ONCE = 256
"""Mixtures of a document whose output is computed at once."""


def slab(traces: Traces, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Bounds (low, high), each (D,), on sum_t a'_t s_t that keep the output within epsilon; infinite where none binds.

    epsilon = 0 starts from the sum itself, not from the logit of p, which is infinite where the sigmoid saturates. The
    slab is widened by ROUNDING times (1 + max |s|), else rounding leaves no vertex where all attention is alike.
    """
    check_epsilon(epsilon)
    s, bias = one_logit(traces)
    z = totals(traces.attention * s, traces.offsets)
    low, high = z, z
    if epsilon > 0:
        p = sigmoid(z + bias)
        low = scipy.special.logit(np.maximum(p - epsilon, 0.0)) - bias  # logit(0) = -inf, logit(1) = inf
        high = scipy.special.logit(np.minimum(p + epsilon, 1.0)) - bias
    slack = ROUNDING * (1.0 + np.maximum.reduceat(np.abs(s), traces.offsets[:-1]))
    return np.minimum(low, z) - slack, np.maximum(high, z) + slack


def exact(traces: Traces, epsilon: float) -> pd.DataFrame:
    """The largest JSD to the model's attention among ALL attentions whose output lies within epsilon, per document.

    Columns: jsd_exact; tvd_exact = |p' - p| there; i, j = positions within the document of the two tokens that carry
    the mass (j = -1: one token carries all); weight = the weight on i, j has the rest. See `one_logit`.
    """
    s, bias = one_logit(traces)
    own, start = totals(traces.attention * s, traces.offsets), traces.offsets[:-1]
    if len(broken := np.flatnonzero(~np.isfinite(own))):
        name = traces.doc_id[broken[0]]
        raise AttnError(f"document {name} has scores or contributions that are not finite; trace its run again")
    spans = zip(start, traces.offsets[1:], *slab(traces, epsilon), strict=True)
    best = [best_vertex(s[a:b], traces.attention[a:b], low, high) for a, b, low, high in spans]
    jsd, i, j, weight = np.array(best).reshape(-1, 4).T
    i, j = i.astype(np.int64), j.astype(np.int64)
    z = weight * s[start + i] + np.where(j < 0, 0.0, (1.0 - weight) * s[start + j])
    moved = np.abs(sigmoid(z + bias) - sigmoid(own + bias))
    return table(traces, jsd_exact=np.maximum(jsd, 0.0), tvd_exact=moved, i=i, j=j, weight=weight)


def best_vertex(s: np.ndarray, attention: np.ndarray, low: float, high: float) -> tuple[float, int, int, float]:
    """(jsd, i, j, weight on i), see `exact`, of one document: s (n,), attention (n,), low <= sum_t a'_t s_t <= high."""
    best, inside = (-np.inf, 0, -1, 1.0), np.flatnonzero((s >= low) & (s <= high))
    if len(inside):
        t = inside[attention[inside].argmin()]
        best = (jsd_point(attention[t]), t, -1, 1.0)
    for bound in (low, high):
        i, j = np.flatnonzero(s < bound)[:, None], np.flatnonzero(s > bound)
        if i.size and j.size:
            w, rest = (s[j] - bound) / (s[j] - s[i]), (bound - s[i]) / (s[j] - s[i])
            jsd = 0.5 * LN2 + share(w, attention[i]) + share(rest, attention[j])  # (left, right)
            left, right = np.unravel_index(jsd.argmax(), jsd.shape)
            if jsd[left, right] > best[0]:
                best = (jsd[left, right], i[left, 0], j[right], w[left, right])
    return best


def share(w: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """What a token with new weight w > 0 and model weight `mass` adds to JSD, beyond the ln(2)/2 all tokens share."""
    return 0.5 * (w * np.log(2.0 * w / (w + mass)) + scipy.special.xlogy(mass, mass / (w + mass)))


def expand(traces: Traces, vertices: pd.DataFrame) -> np.ndarray:
    """Attention weights (T,) of the optima in a table of `exact` made from the same traces."""
    weights, start = np.zeros(len(traces.score)), traces.offsets[:-1]
    i, j, w = (vertices[name].to_numpy() for name in ("i", "j", "weight"))
    weights[start + i] = w
    weights[(start + j)[j >= 0]] = 1.0 - w[j >= 0]
    return weights


def sparse(traces: Traces, epsilon: float) -> pd.DataFrame:
    """The largest JSD to the model's attention found within epsilon among attentions on one or two tokens.

    Columns: jsd, tvd; both 0, those of the model's own attention, where none was within epsilon. All single tokens are
    tried, and the pairs of PAIRS with the weights of GRID, from the largest JSD down to the first within epsilon. So
    this is a lower bound of the maximum; any number of outputs.
    """
    check_epsilon(epsilon)
    _, alone = each_alone(traces)
    best, change = np.zeros((2, len(traces)))
    for row, (start, stop) in enumerate(pairwise(traces.offsets)):
        own, single, contribution = traces.attention[start:stop], alone[start:stop], traces.contribution[start:stop]
        fits = np.flatnonzero(single <= epsilon + ROUNDING)
        if len(fits):
            i = fits[own[fits].argmin()]
            best[row], change[row] = jsd_point(own[i]), single[i]
            if own[i] == own.min():
                continue  # no pair is above the better of its tokens, and none of these is better
        value, i, j, w = mixtures(own, single, best[row])
        for first in range(0, len(value), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            context = w[part, None] * contribution[i[part]] + (1 - w[part, None]) * contribution[j[part]]
            moved = tvd(probabilities(traces.decoded(context, np.array([row]))), traces.outputs[row])
            within = np.flatnonzero(moved <= epsilon + ROUNDING)
            if len(within):
                best[row], change[row] = value[part][within[0]], moved[within[0]]
                break
    return table(traces, jsd=best, tvd=change)


def mixtures(own: np.ndarray, single: np.ndarray, above: float) -> tuple[np.ndarray, ...]:
    """(jsd, i, j, weight on i) of the mixtures of two tokens whose JSD exceeds `above`, from the largest on.

    own (n,): the model's attention, single (n,): change of output by each token alone.
    """
    nearest, grid = np.argsort(single, kind="stable"), np.array(GRID)
    first = min(len(own), max(FEWEST, PAIRS // len(own)))
    i, j = nearest[np.array(np.triu_indices(first, 1, len(own)))]  # each pair once: GRID is symmetric
    value = 0.5 * LN2 + share(grid, own[i, None]) + share(1 - grid, own[j, None])  # (pairs, GRID)
    order = np.argsort(-value, axis=None, kind="stable")[: np.count_nonzero(value > above)]
    pair, level = np.unravel_index(order, value.shape)
    return value[pair, level], i[pair], j[pair], grid[level]
