"""The largest JSD found by permuting a document's own weights within epsilon, for models of several outputs.

As `controls.best_permutation` for one logit, but every swap of two weights is put to the decoder, so few are tried.
"""

import numpy as np

from attn_core.experiments import draws as random
from attn_core.experiments.search import ROUNDING, select
from attn_core.measures import jsd, tvd
from attn_core.traces import Traces, probabilities, blocks, pad

ORDERS = 100
"""Random permutations tried per document."""

PROPOSALS = 12
STEPS = 60
PATIENCE = 8
"""Swaps proposed per step; a climb ends after PATIENCE steps without a gain of SMALLEST_GAIN nats, at the latest after
STEPS."""

SMALLEST_GAIN = 1e-6
PRICE = 3.0
"""Nats for each unit of TVD beyond epsilon."""

NUMBERS = 1 << 21
"""Hidden numbers computed at once; bounds memory."""


def swapped(traces: Traces, epsilon: float, mirror: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Largest JSD found between attention and a permutation of it whose output lies within epsilon: (jsd, tvd), (D,).

    A lower bound of the maximum. Tried: mirror (T,), the weights in reversed order of size, which are the maximum where
    the output does not matter; ORDERS random permutations; and climbs by swaps of two weights from the mirror, the best
    random permutation within epsilon and the model's own order. The model's own weights (JSD 0) count where there is no
    other.
    """
    found = np.stack([mirror, best_random(traces, epsilon, seed), traces.attention])  # (3, T)
    width = max(traces.contribution.shape[1], traces.classes)
    for rows, length in blocks(traces.lengths, NUMBERS // (3 * PROPOSALS * width) * 16, 16):
        real = np.arange(length) < traces.lengths[rows, None]
        tokens = (traces.offsets[rows, None] + np.arange(length))[real]
        weights = pad(found, traces, rows, length, 0.0)  # (3, B, L)
        climb(traces, weights.reshape(-1, length), np.tile(rows, 3), epsilon)
        found[:, tokens] = weights[:, real]
    chosen = select(traces, found, epsilon)
    return chosen["jsd"].to_numpy(), chosen["tvd"].to_numpy()


def best_random(traces: Traces, epsilon: float, seed: int) -> np.ndarray:
    """Of ORDERS random permutations of each document's weights the one of largest JSD within epsilon, else its own."""
    found = traces.attention.copy()
    width = max(traces.contribution.shape[1], traces.classes)
    for rows, index in traces.equal_lengths():
        n = index.shape[1]
        step = max(1, NUMBERS // (ORDERS * max(n, width)))
        for start in range(0, len(rows), step):
            part, tokens = rows[start : start + step], index[start : start + step]  # (B,), (B, n)
            order = random.permutations(seed, "orders", traces.doc_id[part], n, ORDERS)  # (B, ORDERS, n)
            own = traces.attention[tokens]
            weights = np.take_along_axis(own[:, None], order, axis=2)
            context = np.matmul(weights, traces.contribution[tokens].astype(np.float64))  # (B, ORDERS, K or M)
            change = tvd(probabilities(traces.decoded(context, part[:, None])), traces.outputs[part, None], axis=-1)
            value = np.where(change <= epsilon + ROUNDING, jsd(weights, own[:, None]), -1.0)
            best = value.argmax(axis=1)
            better = value.max(axis=1) > 0
            found[tokens[better]] = weights[np.arange(len(part)), best][better]
    return found


def climb(traces: Traces, weights: np.ndarray, rows: np.ndarray, epsilon: float) -> None:
    """Swaps weights (C, L) of documents rows (C,) in place, one swap per chain and step.

    A swap must raise JSD minus PRICE times what TVD exceeds epsilon by; weights once within epsilon stay within. JSD of
    permuted weights a' to a is a constant minus sum (a'_t + a_t) ln(a'_t + a_t) / 2.
    """
    length = weights.shape[1]
    own = pad(traces.attention, traces, rows, length, 0.0)
    by_size = np.argsort(-own, axis=1, kind="stable")  # padding, of weight 0, comes last
    context = np.zeros((len(rows), traces.contribution.shape[1]))
    for chain, row in enumerate(rows):
        part = slice(traces.offsets[row], traces.offsets[row + 1])
        context[chain] = weights[chain, : traces.lengths[row]] @ traces.contribution[part].astype(np.float64)
    excess = beyond(traces, context, rows, epsilon)
    live, idle = np.flatnonzero(traces.lengths[rows] > 1), np.zeros(len(rows), np.int64)
    for step in range(STEPS):
        if not len(live):
            break
        t, u = proposals(traces.lengths[rows[live]], by_size[live], step)  # (C, P)
        a, x = weights[live], own[live]
        a_t, a_u, x_t, x_u = (np.take_along_axis(*pair, axis=1) for pair in ((a, t), (a, u), (x, t), (x, u)))
        gain = 0.5 * (times_log(a_t + x_t) + times_log(a_u + x_u) - times_log(a_u + x_t) - times_log(a_t + x_u))
        before = np.broadcast_to(excess[live, None], gain.shape)
        tried = (gain + PRICE * before > SMALLEST_GAIN) & (a_t != a_u)
        chain, place = np.nonzero(tried)
        documents = rows[live[chain]]
        first, second = (traces.contribution[traces.offsets[documents] + token[tried]] for token in (t, u))
        moved = context[live[chain]] + (a_u - a_t)[tried][:, None] * (first.astype(np.float64) - second)  # (N, K or M)
        after = beyond(traces, moved, documents, epsilon)
        worth = gain[tried] - PRICE * (after - before[tried])
        worth[(before[tried] == 0) & (after > 0)] = -np.inf
        value, source = np.full(gain.shape, -np.inf), np.zeros(gain.shape, np.int64)
        value[tried], source[tried] = worth, np.arange(len(chain))
        best, better = value.argmax(axis=1), value.max(axis=1) > SMALLEST_GAIN
        at = np.flatnonzero(better), best[better]
        swapping, i, j = live[better], t[at], u[at]
        weights[swapping, i], weights[swapping, j] = weights[swapping, j], weights[swapping, i]
        context[swapping], excess[swapping] = moved[source[at]], after[source[at]]
        idle[live] = np.where(better, 0, idle[live] + 1)
        live = live[idle[live] < PATIENCE]


def beyond(traces: Traces, context: np.ndarray, rows: np.ndarray, epsilon: float) -> np.ndarray:
    """By how much TVD to the model's output exceeds epsilon at contexts (N, K or M) of documents rows (N,)."""
    change = tvd(probabilities(traces.decoded(context, rows)), traces.outputs[rows], axis=-1)
    return np.maximum(change - epsilon, 0.0)


def proposals(sizes: np.ndarray, by_size: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of different positions (C, P) of documents of these sizes; they depend on size, own order and step alone.

    by_size (C, L): positions from the most attended on; the first of every other pair is drawn near its start, for the
    most attended tokens hold most of JSD.
    """
    uniform = np.random.default_rng(step).random((2, PROPOSALS))
    uniform[0, ::2] **= 4
    t = np.take_along_axis(by_size, (uniform[0] * sizes[:, None]).astype(np.int64), axis=1)
    return t, (t + 1 + (uniform[1] * (sizes[:, None] - 1)).astype(np.int64)) % sizes[:, None]


def times_log(x: np.ndarray) -> np.ndarray:
    """x ln x, 0 at 0."""
    return x * np.log(np.maximum(x, 1e-300))
