"""Can attention be quite different at the same output? Jain and Wallace 2019, section 4.2.2, and how different at most.

search.py holds the authors' search, optimum.py the exact optimum of one logit and a lower bound for more outputs. Here
are their table and what an adversarial JSD must be held against (ours): most of its height is the measure's, since
between spread-out attention and one or two tokens it is near ln 2 in any model.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy import ndarray
from numpy.typing import ArrayLike

from attn_core.experiments import draws as random
from attn_core.experiments.optimum import exact, expand, slab, sparse
from attn_core.experiments.search import select
from attn_core.experiments.tables import table
from attn_core.measures import jsd_point, jsd_ragged
from attn_core.traces import Traces, has_one_logit, one_logit

__all__ = ["adversarial", "exact", "expand", "select"]

ALL_PAIRS = 67
"""Up to this many tokens a step looks at all swaps, and a document has three starts, else one."""

SAMPLED_PAIRS = 512
"""Random swaps looked at per step in longer documents."""

PENALTIES = (0.3, 1.0, 3.0, 10.0, 100.0)
"""Price, in nats, of leaving the slab by the largest |contribution|, of one climb after another."""

SMALLEST_GAIN = 1e-6
PATIENCE = 3
STEPS = 200
"""A climb ends after PATIENCE steps (one, if it looks at all swaps) without a gain of so many nats, or after STEPS."""

BLOCK = 20_000
"""Tokens at once, so at most about two million swaps are valued at a time."""


def adversarial(
    traces: Traces,
    epsilon: float,
    weights: ndarray | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """The adversarial attention of each document at one epsilon, beside what it must be held against.

    Parameters
    ----------
    traces : Traces
        Those that were searched.
    epsilon : float
        By how much the output may move, 0 to 1.
    weights : (k, T) array, optional
        From `search`; without it what is found otherwise alone.
    seed : int
        Of the permutation, and of the contributions shuffled over the tokens.

    Returns
    -------
    DataFrame
        jsd_search, tvd_search: epsilon-max JSD of the paper (section 4.2.2), see `select`, and the change of output
        there. One logit (or two): jsd_exact, tvd_exact, see `exact`; n_support: 1 or 2 tokens carry it;
        jsd_permutation, see `best_permutation`: the shape of attention is kept. Text pairs, three classes or more:
        jsd_sparse, see `sparse`; jsd_lower, tvd_lower: the better of it and the search; the optimum lies between
        jsd_lower and the ceiling. jsd_shuffled: jsd_exact, or jsd_sparse, when contributions are shuffled over the
        tokens: which token has which contribution changes, hence the output too, and the constraint is around that
        new output.
    """
    shuffled = replace(traces, contribution=traces.contribution[shuffles(seed, "shuffle", traces)])
    columns: dict[str, ArrayLike] = {}
    if weights is not None:
        searched = select(traces, weights, epsilon)
        columns |= {"jsd_search": searched["jsd"], "tvd_search": searched["tvd"]}
    if has_one_logit(traces):
        optimum = exact(traces, epsilon)
        columns["jsd_exact"] = optimum["jsd_exact"]
        columns["tvd_exact"] = optimum["tvd_exact"]
        columns["n_support"] = np.where(optimum["j"] < 0, 1, 2)
        columns["jsd_shuffled"] = exact(shuffled, epsilon)["jsd_exact"]
        columns["jsd_permutation"] = best_permutation(traces, epsilon, seed)["jsd"]
    else:
        bound = sparse(traces, epsilon)
        columns["jsd_sparse"] = bound["jsd"]
        searched = bound if weights is None else searched
        better = searched["jsd"] > bound["jsd"]
        for name in ("jsd", "tvd"):
            columns[f"{name}_lower"] = searched[name].where(better, bound[name])
        columns["jsd_shuffled"] = sparse(shuffled, epsilon)["jsd"]
    return table(traces, **columns)


def ceilings(traces: Traces) -> pd.DataFrame:
    """What JSD to the model's attention allows without any model: `ceiling`; ceiling_permutation, the same among
    permutations of the model's own weights, see `mirrored`; and max_attention, by which documents are grouped."""
    moved = jsd_ragged(mirrored(traces), traces.attention, traces.offsets)
    return table(traces, ceiling=ceiling(traces), ceiling_permutation=moved, max_attention=traces.max_attention)


def ceiling(traces: Traces) -> ndarray:
    """max_t JSD(all mass on t, attention), (D,): what JSD allows without any model; 0 for one token."""
    return jsd_point(np.minimum.reduceat(traces.attention, traces.offsets[:-1]))


def mirrored(traces: Traces) -> ndarray:
    """The model's weights in reversed order of size, (T,): the largest goes to the least attended token, and so on.

    No permutation has a larger JSD to the weights: its mixed second derivative -1 / (2 (a + b)) is negative, so of two
    weights the larger always gains by going to the less attended token.
    """
    by_size = np.lexsort((traces.attention, traces.owner))  # rising, per document
    ends = traces.offsets[:-1] + traces.offsets[1:] - 1  # first place plus last place of a document
    opposite = np.repeat(ends, traces.lengths) - np.arange(len(by_size))
    weights = np.empty_like(traces.attention)
    weights[by_size] = traces.attention[by_size[opposite]]
    return weights


def shuffles(seed: int, purpose: str, traces: Traces) -> ndarray:
    """A random permutation of the tokens within each document as token indices, (T,)."""
    uniform = random.uniforms(seed, purpose, traces.doc_id, traces.offsets)[0]
    return np.lexsort((uniform, traces.owner))


def best_permutation(traces: Traces, epsilon: float, seed: int = 0) -> pd.DataFrame:
    """The permutation of attention of the largest JSD to it found within epsilon of the model's output, as `select`.

    One logit. A lower bound of the maximum, which is an assignment problem with a side condition. Pairs of weights are
    swapped, steepest first, as long as that raises JSD minus a price for leaving the slab; the price rises from climb
    to climb, and weights once inside stay inside. Starts: the `mirrored` weights, the maximum where the output does not
    matter; and, in documents of up to 67 tokens, the model's own order (JSD 0, always allowed) and a random order.
    """
    s, _ = one_logit(traces)
    low, high = slab(traces, epsilon)
    attention = traces.attention
    random_order = attention[shuffles(seed, "climb", traces)]
    candidates = np.stack([mirrored(traces), attention, random_order])  # (3, T)
    for rows, tokens in traces.equal_lengths(BLOCK):
        n = tokens.shape[1]
        if n == 1:
            continue
        starts = 3 if n <= ALL_PAIRS else 1
        weights = candidates[:starts, tokens].reshape(-1, n)  # (3B or B, n)
        for penalty in PENALTIES:
            climb(weights, attention[tokens], s[tokens], low[rows, None], high[rows, None], penalty)
        candidates[:starts, tokens] = weights.reshape(starts, *tokens.shape)
    return select(traces, candidates, epsilon)


def climb(
    weights: ndarray,  # (C, n), those of chain c belong to document c % B
    attention: ndarray,  # (B, n)
    s: ndarray,  # (B, n) contributions
    low: ndarray,  # (B, 1)
    high: ndarray,  # (B, 1)
    penalty: float,
) -> None:
    """Swaps weights in place, one swap per chain and step, until none gains.

    JSD of permuted weights a' to a is a constant minus sum (a'_t + a_t) ln(a'_t + a_t) / 2: two logarithms a swap.
    """
    documents, n = s.shape
    largest = np.abs(s).max(axis=1, keepdims=True)
    price = penalty / np.maximum(largest, 1e-300)
    patience = 1 if n <= ALL_PAIRS else PATIENCE
    live = np.arange(len(weights))  # the chains that still climb
    idle = np.zeros(len(weights), int)  # steps without a gain
    t, u = np.triu_indices(n, 1)  # (P,) the weights of tokens t and u are swapped
    for step in range(STEPS):
        if n > ALL_PAIRS:
            t, u = random_pairs(n, step)
        document = live % documents
        a = weights[live]
        model = attention[document]
        value = s[document]

        # What each swap changes in JSD, (C, P): the terms of t and u before, and after.
        terms = times_log(a + model)
        swapped_t = times_log(a[:, u] + model[:, t])
        swapped_u = times_log(a[:, t] + model[:, u])
        gain = 0.5 * (terms[:, t] + terms[:, u] - swapped_t - swapped_u)

        # ... and what it changes in the price; who is inside stays inside.
        z = (a * value).sum(axis=1, keepdims=True)
        moved = a[:, u] - a[:, t]
        swapped_z = z + moved * (value[:, t] - value[:, u])
        before = outside(z, low[document], high[document])
        after = outside(swapped_z, low[document], high[document])
        gain -= price[document] * (after - before)
        gain[(before == 0) & (after > 0)] = -np.inf

        best = gain.argmax(axis=1)
        gains = gain.max(axis=1) > SMALLEST_GAIN
        swap = best[gains]
        pair = np.stack([t[swap], u[swap]], axis=1)
        rows = live[gains][:, None]
        weights[rows, pair] = weights[rows, pair[:, ::-1]]
        idle[live] = np.where(gains, 0, idle[live] + 1)
        live = live[idle[live] < patience]
        if not len(live):
            break


def random_pairs(n: int, step: int) -> tuple[ndarray, ndarray]:
    """SAMPLED_PAIRS pairs of different positions below n, which depend on n and step alone."""
    first, second = np.random.default_rng(step).random((2, SAMPLED_PAIRS))
    t = (first * n).astype(int)
    distance = 1 + (second * (n - 1)).astype(int)
    return t, (t + distance) % n


def times_log(x: ndarray) -> ndarray:
    """x ln x, 0 at 0."""
    return x * np.log(np.maximum(x, 1e-300))


def outside(z: ndarray, low: ndarray, high: ndarray) -> ndarray:
    """How far z lies outside of low to high."""
    return np.maximum(np.maximum(low - z, z - high), 0.0)
