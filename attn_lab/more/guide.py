"""Guided networks: attention weights of another model, frozen into an average encoder (Wiegreffe & Pinter 2019, 3.4).

Each word is projected alone, Linear(300 -> 128) and tanh, and the projections are summed with weights that come from a
base's forward pass on the same document, in training, dev and test alike: `JainWallace.train(..., imposed=…)`. Weights
travel as scores (T,) over the words of a split, 0 at a document's largest weight: their softmax is the weights.

Here are controls that the paper lacks: other weights (`permuted`, `searched`), and documents that take the words away
and leave the weights (`as_read`; Bai et al. 2021: weights may carry the label by themselves).
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from attn_core.documents import Documents
from attn_core.experiments.adversarial import shuffles
from attn_core.experiments.search import search, select
from attn_core.traces import Traces, maxima

EPSILON = 0.01
"""How far the output may move under a searched guide (Jain & Wallace 2019, section 4.2.2)."""

FIRST_WORD = 4
"""Ids below it are pad, unknown, start and end."""

POSITIONS_SEED = 20_210_601
"""Of the random vectors that stand for positions and ranks; one table for all runs."""


def permuted(traces: Traces) -> np.ndarray:
    """The scores, shuffled within each document; the order depends on the doc_id alone, not on the run's seed."""
    return traces.score[shuffles(0, "guide", traces)]


def searched(traces: Traces) -> np.ndarray:
    """Scores of the adversarial weights that `search.select` keeps; its own where none lies within EPSILON."""
    adversaries = search(traces)  # (number, T)
    chosen = select(traces, adversaries, EPSILON)["adversary"].to_numpy()[traces.owner]  # (T,), negative for none
    weight = np.where(chosen < 0, traces.attention, adversaries[chosen, np.arange(len(chosen))])
    with np.errstate(divide="ignore"):  # a weight of exactly 0 stays one: its score is minus infinity
        score = np.log(weight)
    largest = maxima(score, traces.offsets)  # (D,)
    return (score - largest[traces.owner]).astype(np.float32)


def as_read(documents: Documents, scores: np.ndarray, words: str, splits: Mapping[str, Documents]) -> Documents:
    """The documents as the network reads them: their words ('text'), or ids of each word's 'position' or of its
    weight's 'rank'.

    Rank 0 is the largest, equal ones follow the text; positions beyond the longest training text's share the last
    vector.
    """
    if words == "text":
        return documents
    offsets = documents.word_offsets
    lengths = np.diff(offsets)
    position = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)  # (T,)
    if words == "rank":
        document = np.repeat(np.arange(len(lengths)), lengths)
        by_weight = np.lexsort((-scores, document))  # stable
        position[by_weight] = position.copy()
    ids = documents.ids.copy()
    ids[documents.inner] = FIRST_WORD + np.minimum(position, longest(splits) - 1)
    return replace(documents, ids=ids)


def longest(splits: Mapping[str, Documents]) -> int:
    """Words of the longest training document."""
    return int(splits["train"].lengths.max()) - 2


def position_vectors(splits: Mapping[str, Documents], width: int) -> np.ndarray:
    """(FIRST_WORD + longest, width) float32: a constant vector, plus a standard normal one a position; pad is 0."""
    rng = np.random.default_rng(POSITIONS_SEED)
    constant = rng.normal(size=width)
    own = rng.normal(size=(longest(splits), width))
    table = constant + np.concatenate([np.zeros((FIRST_WORD, width)), own])
    table[0] = 0.0
    return table.astype(np.float32)
