"""What is asked of word pieces beyond the traces: kinds of pieces, changed texts, whole words, one sentence.

All but `kinds` read texts with the model anew. Not in the three papers.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from attn_core.documents import Documents
from attn_core.experiments.correlation import tops
from attn_core.models.classifier import Classifier
from attn_core.traces import Traces, each_alone
from attn_core.tracing import forward
from attn_lab.data.pieces import CLS, SEP
from attn_lab.more.echo import echo, elsewhere
from attn_lab.more.rankings import agreement, without_each

SENTENCE = "the film is dull , and the plot goes nowhere ."
"""The book's own, of no data set: its pieces, each a word or a sign, may be shown."""

FUNCTION_WORDS = (
    "a an the and or but of to in on at by for with from as is are was were be been it its this that these those he "
    "she they we you i his her their our your my not no so if than then there here what which who whom how when where "
    "while all any some such very too just also only own same can will would could should may might do does did has "
    "have had into about over out up down off"
)


def with_changes(traces: Traces, rows: np.ndarray, changes: Traces) -> Traces:
    """Traces with the leave-one-out of the documents `rows`; NaN elsewhere."""
    change = np.full(len(traces.score), np.nan, np.float32)
    change[np.isin(traces.owner, rows)] = changes.leave_one_out
    return replace(traces, leave_one_out=change)


def kinds(traces: Traces, documents: Documents, vocabulary: tuple[str, ...]) -> dict[str, float]:
    """By kind of piece: how many there are, the share that alone decides as the text does, and the mean of their
    attention times the text's pieces (1: as much as with equal weights); and what strangers' pieces would decide."""
    words = np.array(vocabulary)[documents.ids[documents.inner]]
    sign = signs(vocabulary)[documents.ids[documents.inner]]
    function = np.isin(words, FUNCTION_WORDS.split())
    alike = each_alone(traces)[0] == traces.predicted[traces.owner]
    weight = traces.attention * traces.lengths[traces.owner]
    numbers = {"echo@strangers": float(elsewhere(traces).mean())}
    of_kind = {
        "full stop": words == ".",
        "comma": words == ",",
        "the": words == "the",
        "function words": function,
        "content words": ~sign & ~function,
    }
    for kind, tokens in of_kind.items():
        if tokens.any():
            numbers[f"pieces@{kind}"] = float(tokens.sum())
            numbers[f"echo@{kind}"] = float(alike[tokens].mean())
            numbers[f"attention@{kind}"] = float(weight[tokens].mean())
    return numbers


def signs(vocabulary: tuple[str, ...]) -> np.ndarray:
    """(V,) whether a piece has neither letter nor digit."""
    return np.array([not any(map(str.isalnum, piece)) for piece in vocabulary])


def changed_texts(
    model: Classifier, traces: Traces, documents: Documents, vocabulary: tuple[str, ...], seed: int
) -> dict[str, float]:
    """The same model on the texts without punctuation, and with their words in a random order: accuracy, share of
    decisions that stay, echo, locked."""
    rng = np.random.default_rng(seed)
    sign = signs(vocabulary)
    begins = begins_word(vocabulary)

    def shuffled(ids: np.ndarray) -> np.ndarray:
        words = np.split(ids, 1 + np.flatnonzero(begins[ids[1:]]))
        return np.concatenate([words[i] for i in rng.permutation(len(words))])

    def unpunctuated(ids: np.ndarray) -> np.ndarray:
        return ids[~sign[ids]] if (~sign[ids]).any() else ids

    numbers = {}
    for name, change in (("no punctuation", unpunctuated), ("random order", shuffled)):
        there = forward(model, rewritten(documents, change))
        echoes = echo(there)
        numbers[f"accuracy@{name}"] = float((there.predicted == there.label).mean())
        numbers[f"same_decision@{name}"] = float((there.predicted == traces.predicted).mean())
        numbers[f"echo@{name}"] = float(echoes["echo"].mean())
        numbers[f"locked@{name}"] = float(echoes["locked"].mean())
    return numbers


def begins_word(vocabulary: tuple[str, ...]) -> np.ndarray:
    """(V,) whether a piece begins a word."""
    return np.array([not piece.startswith("##") for piece in vocabulary])


def rewritten(documents: Documents, change: Callable[[np.ndarray], np.ndarray]) -> Documents:
    """Documents whose pieces, [CLS] and [SEP] not counted, are changed text by text."""
    lists = np.split(documents.ids[documents.inner], documents.word_offsets[1:-1])
    return of_lists([change(ids) for ids in lists], documents.labels, documents.doc_ids)


def of_lists(lists: list[np.ndarray], labels: np.ndarray, doc_ids: np.ndarray) -> Documents:
    """Documents of pieces, [CLS] and [SEP] put around each."""
    ids = [np.concatenate([[CLS], line, [SEP]]) for line in lists]
    return Documents(np.concatenate(ids).astype(np.int32), np.cumsum([0, *map(len, ids)]), labels, doc_ids)


def whole_words(
    model: Classifier, traces: Traces, documents: Documents, vocabulary: tuple[str, ...]
) -> dict[str, float]:
    """Deletion by piece and by whole word, against attention (summed over a word's pieces), gradient and norm.

    top_<ranking>_is_top_loo and top_chance of `correlation.tops`, and the same @words with tau_attention_loo@words.
    """
    numbers = {name: float(column.mean()) for name, column in tops(traces).items() if name.startswith("top_")}
    start = begins_word(vocabulary)[documents.ids[documents.inner]]
    start[traces.offsets[:-1]] = True
    first = np.flatnonzero(start)  # (W,) where each word begins
    document_of = traces.owner[first]  # (W,)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(document_of, minlength=len(traces)))])

    several = np.diff(offsets)[document_of] > 1
    texts = np.split(documents.ids, documents.offsets[1:-1])
    shortened = without_each(texts, traces.offsets, first)
    lists = [shortened[word][1:-1] for word in np.flatnonzero(several)]
    owner = document_of[several]
    change = np.full(len(first), np.nan)
    without = of_lists(lists, documents.labels[owner], documents.doc_ids[owner])
    p = forward(model, without).p
    change[several] = np.abs(p - traces.p[owner])

    top, tau = agreement(np.add.reduceat(traces.attention, first), change, offsets)
    lengths = np.diff(offsets)
    numbers["tau_attention_loo@words"] = float(np.nanmean(tau))
    numbers["top_attention_is_top_loo@words"] = float(np.nanmean(top))
    numbers["top_chance@words"] = float((1 / lengths[lengths > 1]).mean())
    return numbers


def sentence(model: Classifier, vocabulary: tuple[str, ...]) -> dict[str, dict]:
    """SENTENCE as a model reads it: its pieces and what each alone decides, a logit."""
    ids = np.array([vocabulary.index(piece) for piece in SENTENCE.split()])
    text = of_lists([ids], np.zeros(1, np.int64), np.zeros(1, np.int64))
    traces = forward(model, text)
    logits = traces.contribution[:, 0] + traces.bias[0]
    return {"sentence": {"pieces": SENTENCE.split(), "logit": logits.tolist()}}
