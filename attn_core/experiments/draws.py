"""Random numbers that belong to a document: the same whichever other documents are there, in any order or batch.

Every number is a hash of (seed, purpose, doc_id, index): SplitMix64 (Steele, Lea and Flood 2014), whose k-th output is
a bijective mix of start + k * golden ratio and so needs no state. Whole arrays are drawn at once.
"""

import numpy as np
import scipy  # its parts are loaded when first used
from numpy import ndarray

from attn_core import checks

GOLDEN = 0x9E3779B97F4A7C15
PURPOSES = (
    "random scores",
    "permutation",
    "starts",
    "shuffle",
    "climb",
    "orders",
    "erased item",
    "removal",
    "guide",
    "permuted weights",
    "permuted words",
    "permuted heads",
    "permuted all",
    "controls",
)
"""Uses that must not share numbers; a new one goes to the end, else stored results change."""


def mix(word: ndarray) -> ndarray:
    """The SplitMix64 finaliser: a bijection of 64-bit words with good avalanche."""
    word = word ^ (word >> 30)
    word = word * 0xBF58476D1CE4E5B9
    word = word ^ (word >> 27)
    word = word * 0x94D049BB133111EB
    return word ^ (word >> 31)


def keys(seed: int, purpose: str, doc_id: ndarray) -> ndarray:
    """Start of each document's stream, (D,) uint64."""
    checks.whole("seed", seed)
    start = np.array([seed % 2**64], dtype=np.uint64)
    purpose_word = np.array([PURPOSES.index(purpose) + 1])
    for word in (purpose_word, np.asarray(doc_id)):
        word = word.astype(np.uint64) * GOLDEN
        start = mix(mix(start + GOLDEN) ^ word)
    return start


def bits(key: ndarray, index: ndarray) -> ndarray:
    """Output number `index` (from 0) of the streams `key`, broadcast, uint64."""
    return mix(key + (index.astype(np.uint64) + 1) * GOLDEN)


def uniforms(
    seed: int,
    purpose: str,
    doc_id: ndarray,  # (D,)
    offsets: ndarray,  # (D + 1,)
    count: int = 1,
) -> ndarray:
    """(count, T) float64 in the open interval (0, 1); row c, token t of a document depend on its doc_id, c and t."""
    lengths = np.diff(offsets)
    key = np.repeat(keys(seed, purpose, doc_id), lengths)  # (T,)
    token = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)  # position within the document
    words = bits(key, token + (np.arange(count)[:, None] << 32))
    mantissa = (words >> 12).astype(float)  # 52 bits
    return (mantissa + 0.5) * 2.0**-52


def normals(seed: int, purpose: str, doc_id: ndarray, offsets: ndarray, count: int = 1) -> ndarray:
    """(count, T) standard normal float64, through the inverse distribution function."""
    return scipy.special.ndtri(uniforms(seed, purpose, doc_id, offsets, count))


def permutations(seed: int, purpose: str, doc_id: ndarray, n: int, count: int) -> ndarray:
    """(D, count, n) int64: `count` uniform permutations of 0..n-1 for each document of n tokens.

    Each word's low bits are overwritten by its position and the words are sorted; the at least 64 - log2(n) random
    bits above make ties (broken by position) as rare as 1 in 2^40 for n = 4,000.
    """
    width = max(int(n - 1).bit_length(), 1)  # of a position, in bits
    index = np.arange(n) + (np.arange(count)[:, None] << 32)
    words = bits(keys(seed, purpose, doc_id)[:, None, None], index)
    words = (words >> width) << width
    words |= np.arange(n, dtype=np.uint64)
    words.sort(axis=-1)
    position = words & ((1 << width) - 1)
    return position.astype(int)
