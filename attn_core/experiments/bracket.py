"""Bounds of the largest JSD within epsilon where no exact optimum is known: text pairs, and three classes or more.

Lower end: the best attention found that keeps the output, of the authors' search, all attentions on one token and
mixtures of two. Upper end: the ceiling of yardsticks.py; for affine decoders also `upper`. None of this is in Jain and
Wallace 2019.
"""

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.experiments.optimum import largest, share, widened
from attn_core.experiments.search import ROUNDING, select
from attn_core.experiments.tables import check_epsilon, table
from attn_core.measures import LN2, jsd_point, slabs, tvd
from attn_core.traces import Traces, probabilities, totals

GRID = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
"""Weights of the first of two tokens."""

PAIRS, FEWEST = 2048, 4
"""In a document of n tokens one of the two is among the max(FEWEST, PAIRS // n) tokens that change the output least
when they carry all weight: up to 45 tokens every pair, from 512 on every pair with one of four tokens."""

NUMBERS = 1 << 21
"""Hidden numbers computed at once; bounds memory."""


def sparse(traces: Traces, epsilon: float) -> pd.DataFrame:
    """The largest JSD to the model's attention found within epsilon among attentions on one or two tokens.

    Columns: jsd, tvd; i, j = positions within the document of the tokens (j = -1: one carries all; i = j = -1: none was
    within epsilon, jsd = tvd = 0 for the model's own attention); weight = the weight on i. All single tokens are
    tried, and of the pairs of PAIRS with the weights of GRID those that can win, from the largest JSD down to the
    first within epsilon: a mixture's JSD follows from the model's weights on its two tokens, and is at most the
    mixture of theirs. So this is a lower bound of the maximum; any number of outputs.
    """
    check_epsilon(epsilon)
    alone = single_tokens(traces)
    best, change = np.zeros((2, len(traces)))
    found = np.full((2, len(traces)), -1)
    weight = np.ones(len(traces))
    for row, (start, stop) in enumerate(zip(traces.offsets[:-1], traces.offsets[1:], strict=True)):
        own, single = traces.attention[start:stop], alone[start:stop]
        fits = np.flatnonzero(single <= epsilon + ROUNDING)
        if len(fits):
            i = fits[own[fits].argmin()]
            best[row], change[row], found[0, row] = jsd_point(own[i]), single[i], i
        if own.min() >= (own[found[0, row]] if len(fits) else np.inf) or len(own) == 1:
            continue  # no pair is above the better of its tokens, and none of these is better
        value, i, j, w = mixtures(own, single, best[row])
        pair = first_within(traces, row, start + i, start + j, w, epsilon)
        if pair is not None:
            at, moved = pair
            best[row], change[row], found[:, row], weight[row] = value[at], moved, (i[at], j[at]), w[at]
    return table(traces, jsd=best, tvd=change, i=found[0], j=found[1], weight=weight)


def single_tokens(traces: Traces) -> np.ndarray:
    """TVD between the output with all weight on a token and the model's, (T,) float64."""
    distance = np.empty(len(traces.score))
    owner = np.repeat(np.arange(len(traces)), traces.lengths)
    width = max(traces.contribution.shape[1], traces.classes)
    for first, last in slabs(traces.offsets, max(1, NUMBERS // width)):
        tokens = slice(traces.offsets[first], traces.offsets[last])
        logits = traces.decoded(traces.contribution[tokens].astype(np.float64), owner[tokens])
        distance[tokens] = tvd(probabilities(logits), traces.outputs[owner[tokens]], axis=-1)
    return distance


def mixtures(own: np.ndarray, single: np.ndarray, above: float) -> tuple[np.ndarray, ...]:
    """(jsd, i, j, weight on i) of the mixtures of two tokens whose JSD exceeds `above`, from the largest on.

    own (n,): the model's attention, single (n,): change of output by each token alone.
    """
    n, grid = len(own), np.array(GRID)
    nearest = np.argsort(single, kind="stable")[: max(FEWEST, PAIRS // n)]
    rank = np.full(n, n)
    rank[nearest] = np.arange(len(nearest))
    i, j = np.nonzero(np.arange(len(nearest))[:, None] < rank)  # two near tokens only once: GRID is symmetric
    i = nearest[i]
    limit = jsd_point(own)
    pair, level = np.nonzero(grid * limit[i, None] + (1 - grid) * limit[j, None] > above)
    i, j, w = i[pair], j[pair], grid[level]
    value = 0.5 * LN2 + share(w, own[i]) + share(1 - w, own[j])
    order = np.argsort(-value, kind="stable")[: np.count_nonzero(value > above)]
    return value[order], i[order], j[order], w[order]


def first_within(traces: Traces, row: int, i, j, w, epsilon: float) -> tuple[int, float] | None:
    """The first mixture (w on token i, 1 - w on token j) with an output within epsilon: (its place, its TVD)."""
    start, size = 0, 64
    most = max(size, NUMBERS // max(traces.contribution.shape[1], traces.classes))
    while start < len(i):
        part = slice(start, start + size)
        share_i = w[part, None]
        context = share_i * traces.contribution[i[part]] + (1 - share_i) * traces.contribution[j[part]]  # (C, M)
        change = tvd(probabilities(traces.decoded(context, np.full(1, row))), traces.outputs[row], axis=-1)
        within = change <= epsilon + ROUNDING
        if within.any():
            return start + int(within.argmax()), float(change[within.argmax()])
        start, size = start + size, min(4 * size, most)
    return None


def lower(traces: Traces, epsilon: float, weights: np.ndarray | None = None) -> pd.DataFrame:
    """The bracket's lower end: the better of `sparse` and, where given, the search's weights (k, T).

    Columns jsd_sparse; jsd_lower, tvd_lower; source: 'sparse', 'search' or 'own' (nothing else was within epsilon).
    """
    few = sparse(traces, epsilon)
    jsd, change = few["jsd"].to_numpy(), few["tvd"].to_numpy()
    source = np.where(jsd > 0, "sparse", "own")
    if weights is not None:
        chosen = select(traces, weights, epsilon)
        better = chosen["jsd"].to_numpy() > jsd
        source = np.where(better, "search", source)
        jsd, change = np.where(better, chosen["jsd"], jsd), np.where(better, chosen["tvd"], change)
    return table(traces, jsd_sparse=few["jsd"], jsd_lower=jsd, tvd_lower=change, source=source)


def upper(traces: Traces, epsilon: float) -> np.ndarray:
    """An upper bound of the largest JSD within epsilon of a classifier of K > 2 classes, (D,).

    TVD <= epsilon moves no class probability by more than epsilon, so the log-odds of the predicted class y against
    a rival k stay within [ln((p_y - epsilon) / (p_k + epsilon)), ln((p_y + epsilon) / (p_k - epsilon))], infinite where
    an argument is not positive. They are affine in the weights: `optimum.largest` gives the maximum under each rival's
    condition alone, and the smallest of the K - 1 maxima bounds the maximum under all.
    """
    check_epsilon(epsilon)
    if traces.readout is not None:
        raise AttnError("the upper bound takes affine decoders, these are of text pairs; their bound is the ceiling")
    bound = np.full(len(traces), np.inf)
    p, owner, rows = traces.outputs, np.repeat(np.arange(len(traces)), traces.lengths), np.arange(len(traces))
    contribution, bias = traces.contribution.astype(np.float64), traces.bias.astype(np.float64)
    for step in range(1, traces.classes):
        rival = (traces.predicted + step) % traces.classes
        s = np.take_along_axis(contribution, traces.predicted[owner, None], axis=1)[:, 0]
        s = s - np.take_along_axis(contribution, rival[owner, None], axis=1)[:, 0]
        shift = bias[traces.predicted] - bias[rival]
        z = totals(traces.attention * s, traces.offsets)
        low, high = z, z
        if epsilon > 0:
            p_y, p_k = p[rows, traces.predicted], p[rows, rival]
            with np.errstate(divide="ignore"):
                low = np.log(np.maximum(p_y - epsilon, 0) / (p_k + epsilon)) - shift
                high = np.log((p_y + epsilon) / np.maximum(p_k - epsilon, 0)) - shift
        bound = np.minimum(bound, largest(traces, s, *widened(traces, s, z, low, high))[0])
    return np.maximum(bound, 0.0)
