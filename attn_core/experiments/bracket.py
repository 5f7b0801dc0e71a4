"""A lower bound of the largest JSD within epsilon where no exact optimum is known: text pairs, three classes or more.

The best attention that keeps the output, of all on one token and of mixtures of two. Not in Jain and Wallace 2019.
"""

import numpy as np
import pandas as pd

from attn_core.experiments.optimum import share
from attn_core.experiments.search import ROUNDING
from attn_core.experiments.tables import check_epsilon, table
from attn_core.measures import LN2, jsd_point
from attn_core.traces import NUMBERS, Traces, apart, each_alone, probabilities

GRID = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
"""Weights of the first of two tokens."""

PAIRS, FEWEST = 2048, 4
"""In a document of n tokens one of the two is among the max(FEWEST, PAIRS // n) tokens that change the output least
when they carry all weight: up to 45 tokens every pair, from 512 on every pair with one of four tokens."""


def sparse(traces: Traces, epsilon: float) -> pd.DataFrame:
    """The largest JSD to the model's attention found within epsilon among attentions on one or two tokens.

    Columns: jsd, tvd; both 0, those of the model's own attention, where none was within epsilon. All single tokens are
    tried, and of the pairs of PAIRS with the weights of GRID those that can win, from the largest JSD down to the
    first within epsilon: a mixture's JSD follows from the model's weights on its two tokens, and is at most the
    mixture of theirs. So this is a lower bound of the maximum; any number of outputs.
    """
    check_epsilon(epsilon)
    _, alone = each_alone(traces)
    best, change = np.zeros((2, len(traces)))
    for row, (start, stop) in enumerate(zip(traces.offsets[:-1], traces.offsets[1:], strict=True)):
        own, single = traces.attention[start:stop], alone[start:stop]
        fits = np.flatnonzero(single <= epsilon + ROUNDING)
        if len(fits):
            i = fits[own[fits].argmin()]
            best[row], change[row] = jsd_point(own[i]), single[i]
            if own[i] == own.min():
                continue  # no pair is above the better of its tokens, and none of these is better
        value, i, j, w = mixtures(own, single, best[row])
        pair = first_within(traces, row, start + i, start + j, w, epsilon)
        if pair is not None:
            at, change[row] = pair
            best[row] = value[at]
    return table(traces, jsd=best, tvd=change)


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
        change = apart(probabilities(traces.decoded(context, np.full(1, row))), traces.outputs[row])
        within = change <= epsilon + ROUNDING
        if within.any():
            return start + int(within.argmax()), float(change[within.argmax()])
        start, size = start + size, min(4 * size, most)
    return None
