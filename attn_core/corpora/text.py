"""From tokens to a vocabulary and ids, by the rules of Jain & Wallace (2019) as their final code applies them."""

from collections import Counter
from itertools import chain

import numpy as np

SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
PAD = 0
UNKNOWN = 1
START = 2
END = 3


def vocabulary(documents, least: int = 1, each: bool = False) -> tuple[str, ...]:
    """The four special tokens, then every token found in at least ``least`` documents (token lists), in sorted (code
    point) order. A document counts once, however often it holds the token; with ``each`` as often as it holds it."""
    counts = Counter(chain.from_iterable(documents if each else map(set, documents)))
    words = {word for word, count in counts.items() if count >= least}
    # A token spelled like a special one ("<s>") would take its place in the index; the special one wins.
    return (*SPECIALS, *sorted(words - set(SPECIALS)))


def to_ids(documents, vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Token lists -> (ids (T,) int32, offsets (D+1,) int64), each text as START + tokens + END; unknown words, and
    those spelled like a special token, as UNKNOWN."""
    index = word_ids(vocabulary)
    offsets = np.cumsum([0, *(len(tokens) + 2 for tokens in documents)], dtype=np.int64)
    ids = np.empty(offsets[-1], np.int32)
    for tokens, start in zip(documents, offsets, strict=False):
        words = [index.get(word, UNKNOWN) for word in tokens]
        ids[start : start + len(words) + 2] = [START, *words, END]
    return ids, offsets


def word_ids(vocabulary) -> dict[str, int]:
    """Word -> its id in a vocabulary, the special tokens left out."""
    return {word: i for i, word in enumerate(vocabulary) if i >= len(SPECIALS)}


def length_filter(lengths, longer_than: int | None = None, shorter_than: int | None = None) -> np.ndarray:
    """Which documents J&W's classification data sets keep: longer_than < n < shorter_than, both strict. (D,) bool.

    A missing bound is replaced by the shortest (longest) length of the SAME split; because of strictness, that split
    then loses its shortest (longest) documents: so the authors' code behaves, and their counts are met only so.
    lengths: tokens without START and END. Documents without tokens are never kept: attention has nothing to rest on.
    """
    lengths = np.asarray(lengths, dtype=float)
    low = lengths.min(initial=np.inf) if longer_than is None else longer_than
    high = lengths.max(initial=0) if shorter_than is None else shorter_than
    return (lengths > low) & (lengths < high) & (lengths > 0)
