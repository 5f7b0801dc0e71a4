"""How far rankings of words agree with what people marked: people.csv.xz, `python -m benchmarks --people`.

With `--people minilm` the rows of one encoder alone.

Agreement with people's marks (first, tau: `more.people`) and with the size of deletion (top1_deletion, tau_deletion);
one row a model of data/sweeps/people.yml, which has the predictions, or a head on a frozen model, a ranking, a kind of
sentences (texts) and a group of six people: means over the group's sentences.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from attn_core.documents import Documents
from attn_core.experiments.correlation import kendall_ragged
from attn_core.experiments.single import permuted_weights
from attn_core.traces import Traces, totals
from attn_lab import Run, obtain
from attn_lab.data import encode
from attn_lab.data.prepare import marks
from attn_lab.more import language
from attn_lab.more.compared import agreement, importances
from attn_lab.more.people import as_read, marks_of, plausible, raw_words
from attn_lab.runs.controls import naive_bayes, word_counts
from attn_lab.runs.run import SEEDS
from benchmarks.bench_language import READ, end_to_end, heads, texts_of
from benchmarks.measured import put

ENCODERS = ("lstm", "cnn", "average", "transformer")
FROZEN = ("minilm", "smollm2")
"""Models of `language.loaded`, with heads on their last layer."""

RANKINGS = ("attention", "gradient", "deletion", "random", "lexicon", "permuted", "person")
TIMES, TEXTS = 3, 10
"""A sentiment word is so many times as frequent in one class, and stands in so many training texts."""


def write(*encoders: str) -> None:
    """Make the rows of these encoders anew, or all; models that are not in the cache are trained."""
    splits = encode("sst", marked="test").splits
    rows = np.flatnonzero(np.isin(splits["test"].doc_ids, marks()["doc_id"]))
    texts = splits["test"].take(rows)
    for encoder in encoders or (*ENCODERS, *FROZEN):
        models = frozen(encoder, texts) if encoder in FROZEN else trained(encoder, rows)
        tables = [
            table.assign(encoder=encoder, seed=seed)
            for seed, traces in zip(SEEDS, models, strict=False)
            for table in means(traces, seed, splits["train"], texts)
        ]
        put("people.csv.xz", pd.concat(tables), "encoder")


def trained(encoder: str, rows: np.ndarray) -> Iterator[Traces]:
    """Five models of an encoder on the test sentences `rows`."""
    for seed in SEEDS[:5]:
        run = Run("sst", encoder, seed=seed, options=(("marked", "test"),))
        yield obtain(run, "auto", progress=False).traces.take(rows)


def frozen(name: str, texts: Documents) -> Iterator[Traces]:
    """Attention and leave-one-out of five heads on the last layer of a frozen model, by the words that the cleaning
    makes; those written together share a number."""
    read, owners = zip(*map(as_read, raw_words(texts.doc_ids)), strict=True)
    whole = pd.DataFrame({"label": texts.labels, "doc_id": texts.doc_ids, "text": read})
    whole["n"] = whole.text.str.split().map(len)
    words = end_to_end(owners, whole.n)
    nothing = np.zeros((len(words), 1))
    train = texts_of("sst", "train", marked="test")[: READ["sst"][0]]
    depth = language.depths(name)[-1:]
    for *_, attention, change in heads(name, depth, train, whole, np.arange(len(whole))):
        yield Traces(
            texts.doc_ids,
            texts.labels,
            texts.word_offsets,
            np.log(attention[words]),
            nothing,
            nothing[0],
            leave_one_out=change[words],
        )


def means(
    traces: Traces, seed: int, train: Documents, texts: Documents
) -> Iterator[pd.DataFrame]:
    """Of each ranking of a model, by kind of sentences and group of people."""
    words = texts.ids[texts.inner]
    offsets = traces.offsets
    marked, groups = marks_of(traces.doc_id)

    counts = word_counts(train, 1 + max(train.ids.max(), words.max()))
    bayes = np.abs(naive_bayes(counts, train.labels))
    speaks = (bayes > np.log(TIMES)) & ((counts > 0).sum(axis=0) >= TEXTS)
    kinds = np.where(totals(speaks[words], offsets) > 0, "sentiment word", "none")

    values = importances(traces, seed)
    values |= {
        "permuted": permuted_weights(traces, seed).attention,
        "lexicon": bayes[words],
        "person": marked,
    }
    deletion = np.abs(values["deletion"]).astype(float)
    for ranking in filter(values.__contains__, RANKINGS):
        size = np.abs(values[ranking].astype(float))
        table = plausible(size, marked, offsets)
        mean = size.mean(axis=0) if ranking == "person" else size
        table["top1_deletion"] = agreement(mean, deletion, offsets, 1)
        table["tau_deletion"] = kendall_ragged(mean, deletion, offsets)[0]
        both = [table.assign(group=groups, texts=kind) for kind in ("all", kinds)]
        by_group = pd.concat(both).groupby(["texts", "group"], as_index=False).mean()
        yield by_group.assign(ranking=ranking).round(3)
