"""Guided networks: attention weights of another model, frozen into an average encoder (Wiegreffe & Pinter 2019, 3.4).

Each word is projected alone, Linear(300 -> 128) and tanh, and the projections are summed with weights that come from a
base's forward pass on the same document, in training, dev and test alike. The rest is trained like any text model.
Weights travel as scores (T,) over the words of a split, 0 at a document's largest weight: their softmax is the weights.

Controls the paper lacks: `Run.guide` 'permuted', 'swapped', 'untrained', 'searched', and `Run.words` 'position' and
'rank', which take the words away and leave the weights (Bai et al. 2021: weights may carry the label by themselves).
"""

from dataclasses import replace

import numpy as np

from attn_core.corpora.documents import Documents, Encoded
from attn_core.experiments.adversarial import shuffles
from attn_core.experiments.search import search, select
from attn_core.models import classifier
from attn_core.run import Run, bases
from attn_core.traces import Traces, maxima, softmax
from attn_core.tracing import trace
from attn_core.training import Arrays, Trained, compute_device, jain, outputs_of, without_denormals

EPSILON = 0.01
"""How far the output may move under a searched guide (Jain & Wallace 2019, section 4.2.2)."""

FIRST_WORD = 4
"""Ids below it are pad, unknown, start and end."""

POSITIONS_SEED = 20_210_601
"""Of the random vectors that stand for positions and ranks; one table for all runs."""


def fit(run: Run, data: Encoded, matrix: np.ndarray, progress: bool, *bases: Arrays) -> Trained:
    """One training under the given weights, both checkpoints; see `jain.train`.

    The network starts from the same numbers as the uniform one of the same seed and sees the same batches. Vectors of
    positions and ranks are not trained: they are to carry no words' worth of freedom.
    """
    splits = {}
    attention = {}
    for split, documents in data.splits.items():
        scores = guide_scores(run, data, split, progress, *bases)
        splits[split] = as_read(run, documents, scores, data)
        attention[split] = softmax(scores, documents.word_offsets)
    if run.words != "text":
        matrix = position_vectors(longest(data), matrix.shape[1])
    model = classifier.build("average", "uniform", matrix, outputs_of(run, data), run.hidden).to(compute_device())
    model.encoder.embedding.weight.requires_grad_(run.words == "text")
    with without_denormals():
        return jain.train(model, replace(data, splits=splits), run, progress, imposed=attention)


def read(run: Run, arrays: Arrays, data: Encoded, progress: bool, *bases: Arrays) -> Traces:
    """Traces of the test set under the given weights; no gradient or leave-one-out, which would move these."""
    scores = guide_scores(run, data, "test", progress, *bases)
    model = classifier.from_arrays("average", "uniform", arrays).to(compute_device())
    documents = as_read(run, data.splits["test"], scores, data)
    return replace(trace(model, documents, gradient=False, leave_one_out=False, progress=progress), score=scores)


def guide_scores(run: Run, data: Encoded, split: str, progress: bool, *weights: Arrays) -> np.ndarray:
    """Scores (T,) float32 of a split's words by `Run.guide`: their softmax within a document is the weights given.

    weights: of `run.bases(run)`, of which there are two for 'swapped': the second is read in the test set alone.
    'searched': the best of the authors' search at its defaults within EPSILON.
    """
    documents = data.splits[split]
    if not run.guide:
        return np.zeros(documents.word_offsets[-1], np.float32)
    index = -1 if split == "test" else 0
    traces = jain.attended(bases(run)[index], weights[index], documents, progress)
    if run.guide == "permuted":
        return permuted(traces)
    if run.guide == "searched":
        return searched(traces)
    return traces.score


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


def as_read(run: Run, documents: Documents, scores: np.ndarray, data: Encoded) -> Documents:
    """The documents as the network reads them: their words, or ids of each word's position or of its weight's rank.

    Rank 0 is the largest, equal ones follow the text; positions beyond the longest training text share the last vector.
    """
    if run.words == "text":
        return documents
    offsets = documents.word_offsets
    lengths = np.diff(offsets)
    position = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)  # (T,)
    if run.words == "rank":
        document = np.repeat(np.arange(len(lengths)), lengths)
        by_weight = np.lexsort((-scores, document))  # stable
        position[by_weight] = position.copy()
    ids = documents.ids.copy()
    ids[documents.inner] = FIRST_WORD + np.minimum(position, longest(data) - 1)
    return replace(documents, ids=ids)


def longest(data: Encoded) -> int:
    """Words of the longest training document."""
    return int(data.splits["train"].lengths.max()) - 2


def position_vectors(count: int, width: int) -> np.ndarray:
    """(FIRST_WORD + count, width) float32: a constant vector, plus a standard normal one a position; pad is 0."""
    rng = np.random.default_rng(POSITIONS_SEED)
    constant = rng.normal(size=width)
    own = rng.normal(size=(count, width))
    table = constant + np.concatenate([np.zeros((FIRST_WORD, width)), own])
    table[0] = 0.0
    return table.astype(np.float32)
