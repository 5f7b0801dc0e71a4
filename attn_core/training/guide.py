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
from attn_core.experiments import draws
from attn_core.experiments.search import search, select
from attn_core.models import classifier
from attn_core.run import Run, bases
from attn_core.traces import Traces, softmax
from attn_core.tracing import trace
from attn_core.training import Trained, compute_device, jain, outputs_of, without_denormals

Arrays = dict[str, np.ndarray]

EPSILON = 0.01
"""How far the output may move under a searched guide (Jain & Wallace 2019, section 4.2.2)."""

FIRST_WORD = 4
"""Ids below it are pad, unknown, start and end."""

PLACES_SEED = 20_210_601
"""Of the random vectors that stand for places and ranks; one table for all runs."""


def fit(run: Run, data: Encoded, matrix: np.ndarray, progress: bool, *weights: Arrays) -> Trained:
    """One training under the given weights, both checkpoints; see `jain.train`.

    The network starts from the same numbers as the uniform one of the same seed and sees the same batches. Vectors of
    places and ranks are not trained: they are to carry no words' worth of freedom.
    """
    splits, attention = {}, {}
    for split, documents in data.splits.items():
        scores = guide_scores(run, data, split, progress, *weights)
        splits[split], attention[split] = seen(run, documents, scores, data), softmax(scores, documents.word_offsets)
    if run.words != "text":
        matrix = place_vectors(longest(data), matrix.shape[1])
    model = classifier.build("average", "uniform", matrix, outputs_of(run, data), run.hidden).to(compute_device())
    model.encoder.embedding.weight.requires_grad_(run.words == "text")
    with without_denormals():
        return jain.train(model, replace(data, splits=splits), run, progress, given=attention)


def read(run: Run, arrays: Arrays, data: Encoded, progress: bool, *weights: Arrays) -> Traces:
    """Traces of the test set under the given weights; no gradient or leave-one-out, which would move these."""
    scores = guide_scores(run, data, "test", progress, *weights)
    model = classifier.from_arrays("average", "uniform", arrays).to(compute_device())
    documents = seen(run, data.splits["test"], scores, data)
    return replace(trace(model, documents, gradient=False, leave_one_out=False, progress=progress), score=scores)


def guide_scores(run: Run, data: Encoded, split: str, progress: bool, *weights: Arrays) -> np.ndarray:
    """Scores (T,) float32 of a split's words by `Run.guide`: their softmax within a document is the weights given.

    weights: of `run.bases(run)`, of which there are two for 'swapped': the second is read in the test set alone.
    'searched': the best of the authors' search at its defaults within EPSILON.
    """
    documents = data.splits[split]
    if not run.guide:
        return np.zeros(documents.word_offsets[-1], np.float32)
    which = -1 if split == "test" else 0
    traces = jain.attended(bases(run)[which], weights[which], documents, progress)
    if run.guide == "permuted":
        return permuted(traces)
    return searched(traces) if run.guide == "searched" else traces.score


def permuted(traces: Traces) -> np.ndarray:
    """The scores, shuffled within each document; the order depends on the doc_id alone, not on the run's seed."""
    order = np.empty(len(traces.score), np.int64)
    for rows, tokens in traces.equal_lengths(len(traces.score)):
        shuffled = draws.permutations(0, "guide", traces.doc_id[rows], tokens.shape[1], 1)[:, 0]  # (B, n)
        order[tokens] = tokens[:, :1] + shuffled
    return traces.score[order]


def searched(traces: Traces) -> np.ndarray:
    """Scores of the adversarial weights that `search.select` keeps; its own where none lies within EPSILON."""
    found = search(traces)
    chosen = select(traces, found, EPSILON)["adversary"].to_numpy()[traces.owner]  # (T,)
    kept = np.where(chosen < 0, traces.attention, found[chosen, np.arange(len(chosen))])
    with np.errstate(divide="ignore"):  # a weight of exactly 0 stays one: its score is minus infinity
        score = np.log(kept)
    return (score - np.maximum.reduceat(score, traces.offsets[:-1])[traces.owner]).astype(np.float32)


def seen(run: Run, documents: Documents, scores: np.ndarray, data: Encoded) -> Documents:
    """The documents as the network reads them: their words, or ids of each word's place or of its weight's rank (0 is
    the largest, equal ones follow the text); places beyond the longest training text share the last vector."""
    if run.words == "text":
        return documents
    offsets = documents.word_offsets
    lengths = np.diff(offsets)
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    if run.words == "rank":
        order = np.lexsort((-scores, np.repeat(np.arange(len(lengths)), lengths)))  # stable
        place[order] = place.copy()
    ids = documents.ids.copy()
    ids[documents.inner] = FIRST_WORD + np.minimum(place, longest(data) - 1)
    return replace(documents, ids=ids)


def longest(data: Encoded) -> int:
    """Words of the longest training document."""
    return int(data.splits["train"].lengths.max()) - 2


def place_vectors(count: int, width: int) -> np.ndarray:
    """(FIRST_WORD + count, width) float32: a constant vector, plus a standard normal one for each place; pad is 0."""
    rng = np.random.default_rng(PLACES_SEED)
    constant = rng.normal(size=width)
    table = constant + np.concatenate([np.zeros((FIRST_WORD, width)), rng.normal(size=(count, width))])
    table[0] = 0.0
    return table.astype(np.float32)
