"""The exact optimum of adversarial attention: as far from the model's own as any weights at nearly the same output.

Jain and Wallace 2019, section 4.2.2, search for such weights by gradient descent (search.py). In a one-logit model with
an affine decoder the maximum can be computed. Write s_t for the contribution of token t, a for the model's attention
and p for its output. |p' - p| <= epsilon means low <= sum_t a'_t s_t <= high; low, high = logit(p -+ epsilon) - bias.
JSD(., a) is convex, so its maximum over the simplex within that slab lies at a vertex: one token with
low <= s_t <= high, or two tokens on opposite sides of a finite bound B, s_i < B < s_j, with weight
w = (s_j - B) / (s_j - s_i) on i.
"""

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when first used

from attn_core.errors import AttnError
from attn_core.experiments.tables import check_epsilon, table
from attn_core.measures import LN2, jsd_point
from attn_core.traces import Traces, one_logit, sigmoid, totals

ROUNDING = 1e-12
"""The slab is widened by this times (1 + max |s|), else rounding leaves no vertex where all attention is alike."""

GROUP = 1 << 20
PAIRS = 1 << 19
"""Tokens and candidate pairs worked on at once; they bound memory and change no number."""


def slab(traces: Traces, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Bounds (low, high), each (D,), on sum_t a'_t s_t that keep the output within epsilon; infinite where none binds.

    epsilon = 0 starts from the sum itself, not from the logit of p, which is infinite where the sigmoid saturates.
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
    the mass (j = -1: one token carries all); weight = the weight on i, j has the rest. One logit, or two as their
    difference; other traces are an AttnError. The paper has no such optimum; every search must stay below it.
    """
    s, bias = one_logit(traces)
    best, first, second, weight = largest(traces, s, *slab(traces, epsilon))
    start = traces.offsets[:-1]
    z = weight * s[first] + np.where(second < 0, 0.0, (1.0 - weight) * s[second])
    return table(
        traces,
        jsd_exact=np.maximum(best, 0.0),
        tvd_exact=np.abs(sigmoid(z + bias) - sigmoid(totals(traces.attention * s, traces.offsets) + bias)),
        i=first - start,
        j=np.where(second < 0, -1, second - start),
        weight=weight,
    )


def largest(traces: Traces, s: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, ...]:
    """The largest JSD to the model's attention with low <= sum_t a'_t s_t <= high; s (T,), bounds (D,).

    Returns jsd, token i, token j (-1: one carries all) and the weight on i, each (D,); tokens as indices into (T,).

    Of all vertices only those that can win are valued. The value of a pair falls as the model's weight on either token
    grows and is convex in w, so token i is beaten by two tokens on its side of B, one nearer to B and one farther,
    with no larger weight than i's. What stays are tokens with a record low weight, seen from either end of their side.
    """
    attention = traces.attention
    best = np.full(len(traces), -np.inf)
    first, second = np.zeros(len(traces), np.int64), np.full(len(traces), -1)
    weight = np.ones(len(traces))
    problems = [], []  # of the low and of the high bound
    for rows, index in traces.equal_lengths(GROUP):
        by_s = np.argsort(s[index], axis=1, kind="stable")
        tokens = np.take_along_axis(index, by_s, axis=1)  # (B, n) by rising s
        value, mass = s[tokens], attention[tokens]
        fits = (value >= low[rows, None]) & (value <= high[rows, None])
        alone = np.where(fits, mass, np.inf)
        place, lightest = alone.argmin(axis=1), alone.min(axis=1)
        found = np.isfinite(lightest)
        best[rows[found]] = jsd_point(lightest[found])
        first[rows] = tokens[np.arange(len(rows)), place]
        for bound, problem in zip((low[rows], high[rows]), problems, strict=True):
            left = np.where(value < bound[:, None], mass, np.inf)
            right = np.where(value > bound[:, None], mass, np.inf)
            # a pair is never above the better of its tokens alone, so one of them must beat the best single token
            hopeless = np.minimum(left.min(axis=1), right.min(axis=1)) >= lightest
            left[hopeless] = right[hopeless] = np.inf
            left, right = records(left), records(right)
            problem.append((rows, bound, left.sum(axis=1), tokens[left], right.sum(axis=1), tokens[right]))
    for problem in problems:
        for row, i, j, w, jsd in best_pairs(*map(np.concatenate, zip(*problem, strict=True)), s, attention):
            better = jsd > best[row]
            row = row[better]
            best[row], first[row], second[row], weight[row] = jsd[better], i[better], j[better], w[better]
    if not np.isfinite(best).all():
        broken = traces.doc_id[~np.isfinite(best)][0]
        raise AttnError(f"document {broken} has scores or contributions that are not finite; trace its run again")
    return best, first, second, weight


def records(mass: np.ndarray) -> np.ndarray:
    """Where mass (B, n) is below all before it in its row, or below all after it; never where it is infinite."""
    edge = np.full((len(mass), 1), np.inf)
    before = np.concatenate([edge, np.minimum.accumulate(mass, axis=1)[:, :-1]], axis=1)
    after = np.concatenate([np.minimum.accumulate(mass[:, ::-1], axis=1)[:, ::-1][:, 1:], edge], axis=1)
    return (mass < before) | (mass < after)


def best_pairs(rows, bounds, left_count, left, right_count, right, s, attention):
    """The best pair of each document for one bound: yields (row, i, j, w, jsd) arrays, a block of pairs at a time.

    left (of the bound) and right hold the candidate tokens of all documents end to end. A document with many pairs may
    come in several blocks.
    """
    size = left_count * right_count  # pairs per document
    end = np.cumsum(size)
    left_start, right_start = np.cumsum(left_count) - left_count, np.cumsum(right_count) - right_count
    for start in range(0, int(end[-1]), PAIRS):
        pair = np.arange(start, min(start + PAIRS, int(end[-1])))
        owner = np.searchsorted(end, pair, side="right")
        place = pair - (end - size)[owner]
        i = left[left_start[owner] + place // right_count[owner]]
        j = right[right_start[owner] + place % right_count[owner]]
        gap, bound = s[j] - s[i], bounds[owner]
        w, rest = (s[j] - bound) / gap, (bound - s[i]) / gap
        jsd = 0.5 * LN2 + share(w, attention[i]) + share(rest, attention[j])
        edge = np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))
        highest = np.repeat(np.maximum.reduceat(jsd, edge), np.diff(np.append(edge, len(pair))))
        ties = np.flatnonzero(jsd == highest)
        top = ties[np.concatenate([[True], owner[ties][1:] != owner[ties][:-1]])]  # the first of equals
        yield rows[owner[top]], i[top], j[top], w[top], jsd[top]


def share(w: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """What a token with new weight w > 0 and model weight `mass` adds to JSD, beyond the ln(2)/2 all tokens share."""
    return 0.5 * (w * np.log(2.0 * w / (w + mass)) + scipy.special.xlogy(mass, mass / (w + mass)))


def expand(traces: Traces, vertices: pd.DataFrame) -> np.ndarray:
    """Attention weights (T,) of the optima in a table of `exact` made from the same traces."""
    if len(vertices) != len(traces) or (vertices["doc_id"].to_numpy() != traces.doc_id).any():
        raise AttnError("the table of optima belongs to other traces (its documents differ)")
    weights = np.zeros(len(traces.score))
    start, w = traces.offsets[:-1], vertices["weight"].to_numpy()
    i, j = vertices["i"].to_numpy(), vertices["j"].to_numpy()
    weights[start + i] = w
    pair = j >= 0
    weights[(start + j)[pair]] = 1.0 - w[pair]
    return weights
