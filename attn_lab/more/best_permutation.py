"""The permutation of a model's own weights that lies farthest from them within epsilon; not in the three papers."""

import numpy as np
import pandas as pd
from numpy import ndarray

from attn_core.experiments.adversarial import mirrored, shuffles
from attn_core.experiments.optimum import slab
from attn_core.experiments.search import select
from attn_core.traces import Traces, one_logit

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
