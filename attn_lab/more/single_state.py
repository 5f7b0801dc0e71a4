"""How many words alone already give the text's decision, and what follows from it for every test of attention.

Give one token t the whole attention: the logits are bias + contribution_t (for text pairs the readout of it). If that
decides as the model does, the token agrees with the text. Where all tokens do, no attention can decide otherwise:

    Proof. With an affine decoder the logits under weights a (a_t >= 0, sum 1) are sum_t a_t (bias + contribution_t), a
    convex combination of the tokens' own. Class y wins where o_y - o_k > 0 for all rivals k; that is an intersection of
    half-spaces, hence convex: if every token's logits lie in it, so does every combination. Conversely a token outside
    it, given all the weight, decides otherwise. So `attention_invariant` is exact, for any number of classes.

Not in the papers.
"""

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when first used
from numpy import ndarray

from attn_core.experiments.tables import table
from attn_core.measures import tvd
from attn_core.traces import (
    Traces,
    attending_only,
    decisions,
    each_alone,
    has_one_logit,
    one_logit,
    probabilities,
    sigmoid,
    totals,
)

MEASURES = (
    "single_state_agreement",
    "attention_invariant",
    "flips_under_uniform",
    "permutation_expected",
    "alone_near",
    "top_erased",
)

NEAR = 0.05
"""Output distance within which a token alone counts as giving the text's output; Jain & Wallace's epsilon for text."""

BISECTIONS = 50
"""Halvings of [0, 1]: the median is found to 1e-15."""


def single_state_agreement(traces: Traces) -> pd.DataFrame:
    """How many words alone give the text's decision, and what follows from it, one row per document.

    Parameters
    ----------
    traces : Traces
        Of any model.

    Returns
    -------
    DataFrame
        single_state_agreement: share of tokens that alone, with all the attention, give the model's decision, 0 to 1.
        attention_invariant: 1 where no attention at all can change the decision, else 0; NaN for text pairs, whose
        decoder is not affine. flips_under_uniform: 1 where equal weights would change the decision.
        permutation_expected: see there. alone_near: share of tokens whose output alone lies within NEAR of the text's.
        top_erased: how far the output moves (0 to 1) when the state with the largest weight is left out and the others'
        weights are scaled up; NaN where these are 0.
    """
    owner = traces.owner
    alone, moved = each_alone(traces)
    single_states = share(traces, alone == traces.predicted[owner])
    attention_invariant = np.full(len(traces), np.nan)
    if traces.readout is None:
        attention_invariant = (single_states == 1).astype(float)

    flat = traces.logits_under(1 / traces.lengths[owner])
    without_top = attending_only(traces, np.arange(len(owner)) != traces.most_attended[owner])
    erased = tvd(probabilities(traces.logits_under(without_top)), traces.outputs)
    return table(
        traces,
        single_state_agreement=single_states,
        attention_invariant=attention_invariant,
        flips_under_uniform=(decisions(flat) != traces.predicted).astype(float),
        permutation_expected=permutation_expected(traces),
        alone_near=share(traces, moved <= NEAR),
        top_erased=np.where(totals(without_top, traces.offsets) > 0, erased, np.nan),
    )


def share(traces: Traces, tokens: ndarray) -> ndarray:
    """Share (D,) of a document's tokens for which `tokens` (T,) is true."""
    return totals(tokens.astype(float), traces.offsets) / traces.lengths


def elsewhere(traces: Traces) -> ndarray:
    """Share of all other documents' tokens that alone give a document's decision, (D,).

    What `single_state_agreement` would be if tokens knew nothing of their text: near 1/2 for a model of two equally
    frequent answers, near 1 for one that always answers alike. Single texts, two documents or more.
    """
    classes = max(traces.classes, 2)
    alone = decisions(traces.contribution + traces.bias)  # (T,)
    counts = np.zeros((len(traces), classes), int)  # (D, K) tokens of a document that alone give a class
    np.add.at(counts, (traces.owner, alone), 1)
    counts_elsewhere = counts.sum(axis=0) - counts
    alike = counts_elsewhere[np.arange(len(traces)), traces.predicted]
    return alike / counts_elsewhere.sum(axis=1)


def permutation_expected(traces: Traces) -> ndarray:
    """The median change of output under permuted attention (Jain & Wallace 4.2.1) in closed form, (D,).

    Dealing the weights a_t anew over n tokens with contributions s_t gives the logit Z = b + sum_t a_pi(t) s_t of mean
    b + s̄, since every token gets every weight equally often, and of variance
    sum_t (a_t - 1/n)^2 sum_t (s_t - s̄)^2 / (n - 1), both exact. The median of |sigmoid(Z) - p| is that of a normal
    with these; that is the only approximation. One or two logits; NaN for more classes and for text pairs.
    """
    if not has_one_logit(traces):
        return np.full(len(traces), np.nan)
    s, bias = one_logit(traces)
    n = traces.lengths.astype(float)
    mean = totals(s, traces.offsets) / n
    from_equal = traces.attention - (1 / n)[traces.owner]
    from_mean = s - mean[traces.owner]
    spread = totals(from_equal**2, traces.offsets) * totals(from_mean**2, traces.offsets)
    variance = spread / np.maximum(n - 1, 1)
    return median_change(bias + mean, np.sqrt(variance), traces.p)


def median_change(mean: ndarray, deviation: ndarray, p: ndarray) -> ndarray:
    """Median of |sigmoid(Z) - p| for normal Z, (D,), by bisection; |sigmoid(mean) - p| where the deviation is 0."""
    low = np.zeros_like(p)
    high = np.ones_like(p)
    scale = np.where(deviation > 0, deviation, 1.0)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        # How probable is an output within `middle` of p?
        upper = logit(np.minimum(p + middle, 1)) - mean
        lower = logit(np.maximum(p - middle, 0)) - mean
        probability = scipy.special.ndtr(upper / scale) - scipy.special.ndtr(lower / scale)
        too_near = probability < 0.5
        low = np.where(too_near, middle, low)
        high = np.where(too_near, high, middle)
    return np.where(deviation > 0, (low + high) / 2, np.abs(sigmoid(mean) - p))


def logit(p: ndarray) -> ndarray:
    """The inverse of `sigmoid`, infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-p)
