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
    if len(broken := np.flatnonzero(~np.isfinite(totals(attention * s, traces.offsets)))):
        name = traces.doc_id[broken[0]]
        raise AttnError(f"document {name} has scores or contributions that are not finite; trace its run again")
    best = np.full(len(traces), -np.inf)
    first, second = np.zeros(len(traces), np.int64), np.full(len(traces), -1)
    weight = np.ones(len(traces))
    for row, (start, stop) in enumerate(zip(traces.offsets[:-1], traces.offsets[1:], strict=True)):
        tokens = start + np.argsort(s[start:stop], kind="stable")
        value, mass = s[tokens], attention[tokens]
        begin, end = np.searchsorted(value, low[row]), np.searchsorted(value, high[row], side="right")
        lightest = np.inf
        if begin < end:
            t = begin + mass[begin:end].argmin()
            lightest, first[row], best[row] = mass[t], tokens[t], jsd_point(mass[t])
        for bound in (low[row], high[row]):
            left, right = np.searchsorted(value, bound), np.searchsorted(value, bound, side="right")
            # a pair is never above the better of its tokens alone, so one of them must beat the best single token
            if left == 0 or right == len(value) or min(mass[:left].min(), mass[right:].min()) >= lightest:
                continue
            i, j = tokens[records(mass[:left])][:, None], tokens[right + records(mass[right:])]
            w, rest = (s[j] - bound) / (s[j] - s[i]), (bound - s[i]) / (s[j] - s[i])
            jsd = 0.5 * LN2 + share(w, attention[i]) + share(rest, attention[j])
            top = np.unravel_index(jsd.argmax(), jsd.shape)
            if jsd[top] > best[row]:
                best[row], weight[row], first[row], second[row] = jsd[top], w[top], i[top[0], 0], j[top[1]]
    return best, first, second, weight


def records(mass: np.ndarray) -> np.ndarray:
    """Places in mass (n,) that lie below all before them, or below all after them."""
    before = np.minimum.accumulate(np.append(np.inf, mass[:-1]))
    after = np.minimum.accumulate(np.append(np.inf, mass[:0:-1]))[::-1]
    return np.flatnonzero((mass < before) | (mass < after))


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
