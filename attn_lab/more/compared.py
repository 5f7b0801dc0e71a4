"""Do measures of importance name the same words, and does erasing the words they name move the output? (ours)

Erasing is that of DeYoung et al. 2020 (ERASER), section 4: comprehensiveness and sufficiency at five shares of a text.
"""

from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from numpy import ndarray

from attn_core.experiments import draws as random
from attn_core.experiments.correlation import kendall_ragged
from attn_core.traces import Arrays, Traces, attending_only, each_without, one_logit, sigmoid, totals

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
"""Shares of a text's words that are erased, or kept alone."""


def importances(traces: Traces, seed: int = 0) -> Arrays:
    """Measure -> importance (T,) of each word, positive where it speaks for the decision. One logit or two.

    attention: the weight. gradient: <e_t, dp/de_t> (absent where the traces lack it). from_mean: alpha_t (c_t -
    mean c); from_zero: alpha_t c_t; both are integrated gradients (Sundararajan et al. 2017) of p with respect to the
    states, attention held fixed, from that baseline, up to a positive factor of the text: along the path p is a
    function of one number that grows evenly. state: what p of the decision loses without state t, the other weights
    scaled up. deletion: what it loses without word t, encoded anew (leave-one-out; absent where the traces lack it).
    random: uniform from (seed, doc_id).
    """
    c, bias = one_logit(traces)
    owner = traces.owner
    alpha = traces.attention
    mean = (totals(c, traces.offsets) / traces.lengths)[owner]
    p_without_state = sigmoid(each_without(traces, c) + bias)
    toward = np.where(traces.predicted == 1, 1.0, -1.0)[owner]  # the sign that turns p into p of the decision
    measures = {"attention": alpha}
    if traces.gradient is not None:
        measures["gradient"] = toward * traces.gradient
    measures |= {
        "from_mean": toward * alpha * (c - mean),
        "from_zero": toward * alpha * c,
        "state": toward * (traces.p[owner] - p_without_state),
        "random": random.uniforms(seed, "random scores", traces.doc_id, traces.offsets)[0],
    }
    if traces.leave_one_out is not None:
        measures["deletion"] = -toward * traces.leave_one_out
    return measures


def included(values: ndarray, offsets: ndarray, k: int) -> ndarray:
    """Chance (T,) of each word to be among its text's k largest values, ties being broken at random."""
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    texts = pd.Series(values).groupby(document)
    first = texts.rank("min", ascending=False).to_numpy()  # the ranks that equal values share
    last = texts.rank("max", ascending=False).to_numpy()
    share = (k + 1 - first) / (last + 1 - first)
    return np.clip(share, 0.0, 1.0)


def agreement(a: ndarray, b: ndarray, offsets: ndarray, k: int) -> ndarray:
    """Share (D,) of a text's k largest values of a that are among those of b; of shorter texts of all words."""
    in_both = included(a, offsets, k) * included(b, offsets, k)
    return totals(in_both, offsets) / np.minimum(k, np.diff(offsets))


def chosen(
    values: ndarray,  # (T,)
    offsets: ndarray,  # (D + 1,)
    share: float,
    draws: ndarray,  # (T,) decide between ties
) -> ndarray:
    """Whether (T,) each word is among the ceil(share n) largest values of its text."""
    n = np.diff(offsets)
    document = np.repeat(np.arange(len(n)), n)
    order = np.lexsort((draws, -values, document))
    rank = np.argsort(order) - np.repeat(offsets[:-1], n)  # within its text, from 0
    return rank < np.repeat(np.ceil(share * n - 1e-9), n)


def p_attending_to(traces: Traces, kept: ndarray) -> ndarray:
    """p (D,) when only the states `kept` (T,) are attended to, their weights scaled up."""
    c, bias = one_logit(traces)
    return sigmoid(bias + totals(attending_only(traces, kept) * c, traces.offsets))


def erasure(traces: Traces, measures: Arrays, draws: ndarray, p_of: Callable[[ndarray], ndarray]) -> dict:
    """(measure, '', statistic) -> what p of the decision loses (D,) without the words that, by each measure, speak for
    it most (comprehensiveness share=…), and with them alone (sufficiency share=…). p_of(words that are left (T,)): p
    then, (D,). draws (T,) decide between ties."""
    toward = np.where(traces.predicted == 1, 1.0, -1.0)
    numbers = {}
    for name, values in measures.items():
        for share in SHARES:
            words = chosen(values, traces.offsets, share, draws)
            for statistic, left in (("comprehensiveness", ~words), ("sufficiency", words)):
                numbers[name, "", f"{statistic} share={share:g}"] = toward * (traces.p - p_of(left))
    return numbers


def means(numbers: dict[tuple[str, str, str], ndarray]) -> pd.DataFrame:
    """(measure, other, statistic) -> (D,) as a table of these, value (the mean) and error (its standard error)."""
    values = pd.DataFrame(numbers)
    table = pd.DataFrame({"value": values.mean(), "error": values.sem()})
    return table.rename_axis(["measure", "other", "statistic"]).reset_index()


def compared(traces: Traces, seed: int = 0) -> pd.DataFrame:
    """Every measure of importance beside every other, and what erasing by it does to the output.

    Parameters
    ----------
    traces : Traces
        With the importances that are to be compared.
    seed : int
        Of the random measure.

    Returns
    -------
    DataFrame
        Columns measure, other, statistic, value, error. With another measure, of their sizes: top1, top3
        (`agreement`), tau (Kendall's). Alone: argues_state and argues_deletion, how often the word of the largest
        size speaks against the decision; moved, by how much p moves when this word is deleted;
        comprehensiveness share=… and sufficiency share=…, what p of the decision loses without the states that speak
        for it most, and with them alone (`erasure`). value: mean over texts of several words; error: its standard
        error.
    """
    traces = traces.take(np.flatnonzero(traces.lengths > 1))
    offsets = traces.offsets
    signed = importances(traces, seed)
    size = {name: np.abs(values) for name, values in signed.items()}
    draws = random.uniforms(seed, "orders", traces.doc_id, offsets)[0]

    numbers = erasure(traces, signed, draws, partial(p_attending_to, traces))
    for a, b in combinations(signed, 2):
        for k in (1, 3):
            numbers[a, b, f"top{k}"] = agreement(size[a], size[b], offsets, k)
        tau, _ = kendall_ragged(size[a], size[b], offsets)
        numbers[a, b, "tau"] = tau
    for name in signed:
        top = included(size[name], offsets, 1)
        numbers[name, "", "argues_state"] = totals(top * (signed["state"] < 0), offsets)
        if "deletion" in signed:
            numbers[name, "", "argues_deletion"] = totals(top * (signed["deletion"] < 0), offsets)
            numbers[name, "", "change"] = totals(top * size["deletion"], offsets)
    return means(numbers)
