"""Attention of known quality put into stored traces, and how well a test of attention tells it from bad (ours).

What a good attention is, nobody has said; three definitions stand in GOOD. Bad are the same weights permuted over the
items of the text: no test can tell them by their entropy. A test that picks the good one of the two no more often than
a coin says nothing about attention.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy import ndarray

from attn_core.errors import AttnError
from attn_core.experiments.correlation import kendall_ragged
from attn_core.experiments.optimum import exact
from attn_core.experiments.permutation import permutation
from attn_core.experiments.removal import NEVER, removals
from attn_core.experiments.single import others_flip, permuted_weights, single
from attn_core.experiments.tables import table
from attn_core.traces import Traces, centred, maxima, one_logit, softmax, totals
from attn_lab.more.compared import agreement

TOP = 0.95
"""Weight of the item that can move most under maximal leverage."""

SMALLEST = 1e-9
"""Importance of an item whose deletion changes nothing, beside the largest: no weight is zero."""

TIE = 1e-9
"""Difference of a test's numbers up to which they are equal."""

DRAWS = 100
"""Times that each text's weights are permuted."""


def weighed(traces: Traces, score: ndarray) -> Traces:
    """The same documents under scores (T,). Gradients and leave-one-out are of the model's own weights and dropped."""
    largest = maxima(score, traces.offsets)
    return replace(traces, score=score - largest[traces.owner], gradient=None, leave_one_out=None)


def maximal_leverage(traces: Traces, top: float = TOP) -> Traces:
    """`top` of the weight on the item whose contribution lies farthest from the mean one, the rest spread evenly.

    Distances are Euclidean, of `centred` contributions: the item moves the logits most when its weight grows. It may
    turn the decision.
    """
    c = centred(traces)
    mean = np.add.reduceat(c, traces.offsets[:-1]) / traces.lengths[:, None]
    distance = np.linalg.norm(c - mean[traces.owner], axis=1)
    return weighed(traces, mostly_on(traces.first_largest(distance), traces.offsets, top))


def mostly_on(items: ndarray, offsets: ndarray, top: float = TOP) -> ndarray:
    """Scores (T,) that put `top` of the weight on one item of each document, places or bool (T,), and spread the rest
    evenly: the item scores 0, exp of the others' scores sums to (1 - top) / top."""
    n = np.diff(offsets)
    score = np.repeat(-np.log(top / (1 - top) * np.maximum(n - 1, 1)), n)
    score[items] = 0.0
    return score


def decision_preserving(traces: Traces) -> Traces:
    """The weights that speak most for the decision, as even as the model's own. One logit, or two.

    They maximise sum_t a_t m_t, m the contribution in the decision's direction, at the entropy of the model's weights:
    a_t is proportional to exp(beta m_t), beta found by bisection. The model's own weights are among those that are
    compared, so the decision stands.
    """
    c, _ = one_logit(traces)
    owner = traces.owner
    margin = np.where(traces.predicted == 1, 1.0, -1.0)[owner] * c
    margin = margin - maxima(margin, traces.offsets)[owner]  # largest 0
    own = entropy(traces.score, traces)
    low = np.full(len(traces), -9.0)  # log10 of beta: nearly even weights
    high = np.full(len(traces), 9.0)  # all on one item
    for _ in range(60):
        middle = (low + high) / 2
        too_even = entropy(10 ** middle[owner] * margin, traces) > own
        low = np.where(too_even, middle, low)
        high = np.where(too_even, high, middle)
    return weighed(traces, 10 ** high[owner] * margin)


def entropy(score: ndarray, traces: Traces) -> ndarray:
    """Entropy (D,) in nats of the weights of scores (T,), the largest of which is 0 in each document."""
    weight = softmax(score, traces.offsets)
    return np.log(totals(np.exp(score), traces.offsets)) - totals(weight * score, traces.offsets)


def by_deletion(traces: Traces) -> Traces:
    """Weights proportional to how far the output moves without each word (|leave-one-out|), read anew."""
    if traces.leave_one_out is None:
        raise AttnError("these traces hold no deletions; trace the run with leave-one-out")
    moved = np.abs(traces.leave_one_out).astype(float)
    largest = maxima(moved, traces.offsets)[traces.owner]
    share = np.divide(moved, largest, out=np.ones_like(moved), where=largest > 0)
    return weighed(traces, np.log(np.maximum(share, SMALLEST)))


GOOD: dict[str, Callable[[Traces], Traces]] = {
    "leverage": maximal_leverage,
    "decision": decision_preserving,
    "deletion": by_deletion,
}
"""Definitions of a good attention."""


# ---- the tests, each (weights, model) -> (D,), larger where attention does better ------------------------------------
# weights: the model's documents under the weights that are tested; model: the same under its own.


def ranks_like_gradients(weights: Traces, model: Traces) -> ndarray:
    """Kendall's tau with |gradient| (Jain & Wallace 4.1). For models that read each word alone, where a gradient grows
    with its own weight: those of other weights follow from the model's."""
    assert model.gradient is not None
    gradient = model.gradient / model.attention * weights.attention
    return kendall_ragged(weights.score, np.abs(gradient), weights.offsets)[0]


def moves_when_shuffled(weights: Traces, _: Traces) -> ndarray:
    """Median change of the output when weights are permuted (Jain & Wallace 4.2.1)."""
    return permutation(weights)["median_change"].to_numpy()


def has_no_adversary(weights: Traces, _: Traces) -> ndarray:
    """Minus the farthest JSD within 0.05 of the output (Jain & Wallace 4.2.2). One logit, or two."""
    return -exact(weights, 0.05)["jsd_exact"].to_numpy()


def top_item_flips(weights: Traces, _: Traces) -> ndarray:
    """Whether erasing the most attended item flips the decision, minus the share of other items that do (Serrano &
    Smith 4.2, without a draw)."""
    return single(weights)["flips_attention"].to_numpy() - others_flip(weights)


def flips_before_gradients(weights: Traces, _: Traces) -> ndarray:
    """Share of items that the gradient's order removes beyond attention's until the decision flips (Serrano & Smith 5);
    an order that never flips it counts as one item more than there are."""
    removed = removals(weights, rankings=("attention", "gradient"))
    steps = removed[["removed_attention", "removed_gradient"]].to_numpy(float).T  # (2, D)
    attention, gradient = np.where(steps == NEVER, weights.lengths + 1, steps)
    return (gradient - attention) / weights.lengths


def names_the_word(weights: Traces, model: Traces) -> ndarray:
    """Chance that the most attended word is the one whose deletion moves the output most, ties drawn (ours)."""
    assert model.leave_one_out is not None
    return agreement(weights.score, np.abs(model.leave_one_out), weights.offsets, 1)


TESTS: dict[str, Callable[[Traces, Traces], ndarray]] = {
    "gradients": ranks_like_gradients,
    "permutation": moves_when_shuffled,
    "adversaries": has_no_adversary,
    "top item": top_item_flips,
    "order": flips_before_gradients,
    "names": names_the_word,
}


def told_apart(
    good: Traces,
    model: Traces,
    test: Callable[[Traces, Traces], ndarray],
    seed: int = 0,
    draws: int = DRAWS,
) -> pd.DataFrame:
    """How often a test gives good weights more than bad ones, the same permuted; a tie is half.

    Parameters
    ----------
    good, model : Traces
        The same documents under good weights and under the model's own.
    test : callable
        (weights, model) -> (D,), larger where attention does better.
    seed : int
        Of the permutations: another for each model, so that models share none.
    draws : int
        Random orders of each document's weights.

    Returns
    -------
    DataFrame
        One row per document, whose means are areas under the curve (AUC) that ask for no line: 1 tells all, 0.5
        nothing. beside: good weights of the text against its own permuted. alone: against those of any text, plus
        how often the text's bad weights stay below good ones of any, less the mean of both; so the spread of its rows
        is that of the AUC (DeLong et al. 1988).
    """
    value = test(good, model)
    beside = np.zeros(len(good))
    good_wins = np.zeros(len(good))
    bad_loses = np.zeros(len(good))
    for draw in range(draws):
        permuted = test(permuted_weights(good, draws * seed + draw), model)
        wins = better(value[:, None], permuted)  # (D, D): good weights of a row, bad ones of a column
        beside += wins.diagonal() / draws
        good_wins += wins.mean(axis=1) / draws
        bad_loses += wins.mean(axis=0) / draws
    return table(good, beside=beside, alone=good_wins + bad_loses - good_wins.mean())


def better(value: ndarray, than: ndarray) -> ndarray:
    """1 where a value is larger than another, 0 where it is smaller, 0.5 where rounding alone parts them."""
    difference = value - than
    return 0.5 + 0.5 * np.sign(np.where(np.abs(difference) < TIE, 0.0, difference))
