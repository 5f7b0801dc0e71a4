"""As far from the model's attention as weights can be that leave EVERY class's probability where it is: two bounds.

Jain and Wallace 2019, section 4.2.2, bound the change of the whole output; for two classes `optimum.exact` has the
answer. For K classes write p for the output, c_t for the contributions, o = bias + sum_t a_t c_t for the logits under
weights a. Asked for is the largest JSD(a, attention) where |p_k(o) - p_k| <= epsilon for all k. Not in the papers.

    Above. (1) The ratio of two probabilities lies between (p_i - epsilon) / (p_j + epsilon) and its inverse's bound;
    its logarithm o_i - o_j is linear in a: a slab, whose exact optimum (`optimum.best_vertex`) is a bound, one a pair.
    (2) JSD is convex in a, so at most sum_t a_t JSD(all on t, attention), which is linear. log p_k is concave in o, so
    log p_k >= log(p_k - epsilon) lies within each of its tangents' half-spaces. The largest value of that linear
    function under (1) and such tangents, a linear programme, is a bound; tangents are added where its solution falls
    short (Kelley's cutting planes).

    Below. p_k <= p_k + epsilon is no convex condition, but log(1 / p_k - 1) is convex in o, above its tangent: a
    half-space within. With these, the programme's solution satisfies all conditions once no tangent is missing. What
    still lies outside is drawn towards the model's attention until it is inside. The best of these, and of the slabs'
    optima, are weights at hand: no smaller is the maximum.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when first used
from numpy import ndarray

from attn_core.errors import AttnError
from attn_core.experiments.optimum import best_vertex
from attn_core.experiments.tables import ROUNDING, check_epsilon, table
from attn_core.measures import jsd_point, jsd_ragged
from attn_core.traces import Traces

CUTS = 12
"""Linear programmes of a document at most, above and below each."""

SLACK = 1e-9
"""By this much half-spaces are widened, else rounding leaves nothing where all attention is alike."""

SHORT = 1e-6
"""By how much a probability may fall short without another tangent."""

HALVINGS = 40


@dataclass
class Text:
    """A document's n tokens and K classes, and between which probabilities its output may lie."""

    value: ndarray  # (n, K) bias and contribution: the logits of all the attention on one token
    attention: ndarray  # (n,)
    logits: ndarray  # (K,)
    low: ndarray  # (K,)
    high: ndarray  # (K,)

    def log_p(self, weights: ndarray) -> ndarray:
        """Logarithms (..., K) of the probabilities under weights (..., n)."""
        return scipy.special.log_softmax(weights @ self.value, axis=-1)


def bracket(traces: Traces, epsilon: float) -> pd.DataFrame:
    """Bounds of the largest JSD to the model's attention among all weights that move no class by more than epsilon.

    Parameters
    ----------
    traces : Traces
        Of single texts, any number of classes.
    epsilon : float
        By how much the probability of each class may move, 0 to 1.

    Returns
    -------
    DataFrame
        Columns jsd_least, jsd_most: the maximum lies between them, the upper one to 1e-6 (the programmes' tolerance);
        moved: by how much the class that moves most does, under the weights of jsd_least.

    Raises
    ------
    AttnError
        Text pairs, whose decoder is not affine.
    """
    check_epsilon(epsilon)
    if traces.readout is not None:
        raise AttnError("bracket takes single texts, these traces are of text pairs; for these see optimum.sparse")
    value = traces.contribution.astype(float) + traces.bias
    if traces.classes == 1:
        value = np.hstack([np.zeros_like(value), value])
    bounds = []
    for start, stop in pairwise(traces.offsets):
        attention = traces.attention[start:stop]
        logits = attention @ value[start:stop]
        p = scipy.special.softmax(logits)
        text = Text(value[start:stop], attention, logits, np.maximum(p - epsilon, 0), np.minimum(p + epsilon, 1))
        bounds.append(bounds_of(text, epsilon))
    return table(traces, **dict(zip(("jsd_least", "jsd_most", "change"), np.transpose(bounds), strict=True)))


def bounds_of(text: Text, epsilon: float) -> tuple[float, float, float]:
    """jsd_least, jsd_most and moved of one document."""
    alone = jsd_point(text.attention)  # (n,)
    most = float(alone.max())
    candidates = []
    planes = []
    for difference, low, high in ratios(text):
        vertex = best_vertex(difference, text.attention, low - SLACK, high + SLACK)
        most = min(most, vertex.jsd)
        weights = np.zeros(len(alone))
        weights[vertex.i] = vertex.weight
        weights[vertex.j] += 1 - vertex.weight  # of a single token's vertex nothing
        candidates.append(weights)
        planes += [(difference, high), (-difference, -low)]
    above, weights = cutting_planes(text, alone, planes)
    candidates += [weights, cutting_planes(text, alone, planes + within(text))[1]]

    inside, moved = drawn_in(text, np.array(candidates), epsilon)
    offsets = np.array([0, len(alone)])
    jsd = jsd_ragged(inside, text.attention, offsets)[:, 0]
    best = int(jsd.argmax())
    return float(jsd[best]), max(min(most, above), float(jsd[best])), float(moved[best])


def ratios(text: Text) -> Iterator[tuple[ndarray, float, float]]:
    """For each pair of classes o_i - o_j of each token alone, (n,), and the bounds of the logarithm of their ratio."""
    with np.errstate(divide="ignore"):
        low = np.log(text.low)
        high = np.log(text.high)
    for i, j in combinations(range(len(low)), 2):
        yield text.value[:, i] - text.value[:, j], low[i] - high[j], high[i] - low[j]


def within(text: Text) -> list[tuple[ndarray, float]]:
    """Half-spaces in which no probability exceeds its upper bound: tangents of log(1 / p_k - 1) at the text's own."""
    planes = []
    for k in np.flatnonzero(text.high < 1):
        others = np.delete(text.logits, k)
        slope = np.insert(scipy.special.softmax(others), k, -1.0)  # (K,)
        odds = scipy.special.logsumexp(others) - text.logits[k]
        least = np.log(1 / text.high[k] - 1)
        planes.append((-text.value @ slope, odds - least - text.logits @ slope))
    return planes


def cutting_planes(text: Text, alone: ndarray, planes: list[tuple[ndarray, float]]) -> tuple[float, ndarray]:
    """The largest sum_t a_t alone_t over weights within planes (row @ a <= limit) and the tangents of log p_k: a bound,
    and its weights (n,)."""
    planes = [(row, limit + SLACK) for row, limit in planes if np.isfinite(limit)]
    for _ in range(CUTS):
        rows = np.reshape([row for row, _ in planes], (-1, len(alone)))
        limits = [limit for _, limit in planes]
        solved = scipy.optimize.linprog(-alone, rows, limits, np.ones((1, len(alone))), [1.0], method="highs")
        if solved.x is None:  # rounding left nothing
            return np.inf, text.attention
        log_p = text.log_p(solved.x)
        short = np.flatnonzero(np.exp(log_p) < text.low - SHORT)
        if not len(short):
            break
        for k in short:
            slope = text.value @ (np.exp(log_p) - np.eye(len(log_p))[k])  # (n,) of -log p_k
            planes.append((slope, log_p[k] - np.log(text.low[k]) + solved.x @ slope + SLACK))
    weights = np.maximum(solved.x, 0)
    return -solved.fun, weights / weights.sum()


def drawn_in(text: Text, weights: ndarray, epsilon: float) -> tuple[ndarray, ndarray]:
    """Weights (m, n) drawn towards the model's until no class moves by more than epsilon; how much one then moves."""
    p = np.exp(text.log_p(text.attention))

    def at(share: ndarray) -> tuple[ndarray, ndarray]:
        mixed = text.attention + share[:, None] * (weights - text.attention)
        return mixed, np.abs(np.exp(text.log_p(mixed)) - p).max(axis=1)

    low = np.zeros(len(weights))
    high = np.ones(len(weights))
    _, moved = at(high)
    low[moved <= epsilon + ROUNDING] = 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        _, moved = at(middle)
        inside = moved <= epsilon + ROUNDING
        low = np.where(inside, middle, low)
        high = np.where(inside, high, middle)
    return at(low)
