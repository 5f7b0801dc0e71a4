"""Kendall's tau-b of many documents at once (Kendall 1938; Knight 1966), equal to scipy.stats.kendalltau."""

import math
from functools import lru_cache

import numpy as np
import scipy  # its parts are loaded when first used

EXACT_LENGTH = 33
"""Up to this length Kendall p values without ties come from the exact distribution, as in SciPy."""


def kendall_ragged(x: np.ndarray, y: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """tau (D,), p (D,) as `experiments.correlation.kendall_ragged`, in O(T log n) time and O(T) memory."""
    x, y, offsets = np.asarray(x, np.float64), np.asarray(y, np.float64), np.asarray(offsets, np.int64)
    lengths = np.diff(offsets)
    document = np.repeat(np.arange(len(lengths)), lengths)  # (T,)
    order = np.lexsort((y, x, document))  # by x, ties by y: then discordant pairs are the inversions of y
    x, y = x[order], y[order]
    same = document[1:] == document[:-1]
    x_tied, x0, x1 = tie_sums(same & (x[1:] == x[:-1]), document, len(lengths))
    both_tied, _, _ = tie_sums(same & (x[1:] == x[:-1]) & (y[1:] == y[:-1]), document, len(lengths))
    by_y = np.lexsort((y, document))  # stable, so equal y keep their order and are no inversion
    sorted_y = y[by_y]
    y_tied, y0, y1 = tie_sums(same & (sorted_y[1:] == sorted_y[:-1]), document, len(lengths))
    rank = np.empty(len(y), np.int64)
    rank[by_y] = np.arange(len(y)) - np.repeat(offsets[:-1], lengths)
    discordant = inversions(rank, offsets, document)

    n = lengths.astype(np.float64)
    pairs = n * (n - 1) / 2
    difference = pairs - x_tied - y_tied + both_tied - 2 * discordant  # concordant minus discordant
    defined = (x_tied < pairs) & (y_tied < pairs)
    bad = np.isnan(x) | np.isnan(y)
    defined[document[bad]] = False
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = np.clip(difference / np.sqrt(pairs - x_tied) / np.sqrt(pairs - y_tied), -1.0, 1.0)
        m = n * (n - 1)
        variance = (m * (2 * n + 5) - x1 - y1) / 18 + 2 * x_tied * y_tied / m + x0 * y0 / (9 * m * (n - 2))
        p = 2 * scipy.special.ndtr(-np.abs(difference / np.sqrt(variance)))
    fewer = np.minimum(discordant, pairs - discordant)
    exact = defined & (x_tied == 0) & (y_tied == 0) & ((lengths <= EXACT_LENGTH) | (fewer <= 1))
    p[exact] = exact_p(lengths[exact], fewer[exact].astype(np.int64))
    return np.where(defined, tau, np.nan), np.where(defined, p, np.nan)


def tie_sums(tied: np.ndarray, document: np.ndarray, documents: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per document, over groups of t equal values: sums of t(t-1)/2, t(t-1)(t-2) and t(t-1)(2t+5), each (D,).

    tied (T - 1,): whether sorted neighbours are equal (and of one document).
    """
    zero = np.zeros(documents)
    if not tied.any():
        return zero, zero, zero
    starts = np.flatnonzero(np.concatenate([[True], ~tied]))
    size = np.diff(np.append(starts, len(tied) + 1)).astype(np.float64)
    several = size > 1
    owner, size = document[starts[several]], size[several]

    def total(terms: np.ndarray) -> np.ndarray:
        return np.bincount(owner, terms, minlength=documents)

    pairs = size * (size - 1)
    return total(pairs / 2), total(pairs * (size - 2)), total(pairs * (2 * size + 5))


def inversions(rank: np.ndarray, offsets: np.ndarray, document: np.ndarray) -> np.ndarray:
    """Number of inversions (i < j, rank_i > rank_j) in each document's permutation of 0..n-1, (D,) float64.

    Radix form of merge counting: from the top bit down, elements that share the higher bits lie together in their
    original order; every pair of a set bit before a clear one is an inversion, then the clear ones go first.
    """
    count = np.zeros(len(offsets) - 1)
    longest = int(np.diff(offsets).max(initial=0))
    base, length = offsets[document], np.diff(offsets)[document]  # (T,)
    for bit in reversed(range(int(max(longest - 1, 0)).bit_length())):
        ones = (rank >> bit) & 1
        before = np.concatenate([[0], np.cumsum(ones)])  # ones in all elements before
        local = (rank >> (bit + 1)) << (bit + 1)  # first rank of the element's group = first place of the group
        ones_before = before[:-1] - before[base + local]
        clear = ones == 0
        count += np.bincount(document[clear], ones_before[clear], minlength=len(count))
        zeros = np.minimum(1 << bit, length - local)  # clear elements of the group
        place = np.where(clear, np.arange(len(rank)) - ones_before, base + local + zeros + ones_before)
        moved = np.empty_like(rank)
        moved[place] = rank
        rank = moved
    return count


@lru_cache(maxsize=1)
def exact_table() -> np.ndarray:
    """Two-sided exact p, (34, 265): entry [n, c] for n <= 33 and c <= n(n-1)/4 discordant (or concordant) pairs.

    The number of inversions of a random permutation of n is a sum of independent uniforms on 0..k-1, k = 1..n.
    """
    table = np.ones((EXACT_LENGTH + 1, EXACT_LENGTH * (EXACT_LENGTH - 1) // 4 + 1))
    mass = np.ones(1)
    for n in range(2, EXACT_LENGTH + 1):
        mass = np.convolve(mass, np.full(n, 1.0 / n))
        half = n * (n - 1) // 4
        table[n, : half + 1] = np.minimum(2 * np.cumsum(mass)[: half + 1], 1.0)
    return table


def exact_p(n: np.ndarray, fewer: np.ndarray) -> np.ndarray:
    """Exact two-sided p for vectors without ties; `fewer` = min(discordant, concordant), at most 1 where n > 33."""
    short = n <= EXACT_LENGTH
    p = exact_table()[np.where(short, n, 0), np.where(short, fewer, 0)]
    for row in np.flatnonzero(~short):
        size = int(n[row] - fewer[row])  # 2 / n! of all orders have none, 2 (1 + (n - 1)) / n! at most one
        p[row] = 2.0 / math.factorial(size) if size < 171 else 0.0
    return p
