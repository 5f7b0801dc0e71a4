"""How far rankings of words agree with what people marked: people.csv.xz, `python -m benchmarks --people`.

With `--people minilm` the rows of one encoder alone.

Agreement with people's marks (first, precision, tau: `more.people`) and with the size of deletion (top1_deletion,
tau_deletion); one row a model of data/sweeps/people.yml, which has the predictions, or a head on frozen MiniLM, a
ranking, a kind of sentences (texts) and a group of six people: means over the group's sentences.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from attn_core.documents import Documents
from attn_core.experiments.correlation import kendall_ragged
from attn_core.experiments.single import permuted_weights
from attn_core.traces import Traces, totals
from attn_core.tracing import forward
from attn_lab import Run, obtain
from attn_lab.data import encode
from attn_lab.data.prepare import marks
from attn_lab.more import language
from attn_lab.more.compared import agreement, importances
from attn_lab.more.people import as_read, marks_of, plausible, raw_words
from attn_lab.runs.controls import naive_bayes, word_counts
from attn_lab.runs.run import SEEDS
from benchmarks.bench_language import READ, of_words, read_by, shortened, texts_of, trained
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
        if encoder in FROZEN:
            models = frozen(encoder, texts)
        else:
            runs = [
                Run("sst", encoder, seed=seed, options=(("marked", "test"),))
                for seed in SEEDS[:5]
            ]
            models = (obtain(run, "auto", progress=False).traces.take(rows) for run in runs)
        tables = [
            table.assign(encoder=encoder, seed=seed)
            for seed, traces in zip(SEEDS, models, strict=False)
            for table in means(traces, seed, splits["train"], texts)
        ]
        put("people.csv.xz", pd.concat(tables), "encoder")


def frozen(name: str, texts: Documents) -> Iterator[Traces]:
    """Attention and leave-one-out of five heads on the last layer of a frozen model, by the words that the cleaning
    makes; those written together share a number."""
    read, owners = zip(*map(as_read, raw_words(texts.doc_ids)), strict=True)
    whole = pd.DataFrame({"label": texts.labels, "doc_id": texts.doc_ids, "text": read})
    whole["n"] = whole.text.str.split().map(len)
    read_texts = {
        "train": texts_of("sst", "train", marked="test")[: READ["sst"][0]],
        "whole": whole,
        "shortened": shortened(whole),
    }
    words = np.concatenate([*owners]) + np.repeat(
        whole.n.cumsum() - whole.n, [*map(len, owners)]
    )
    offsets = np.cumsum([0, *map(len, owners)])
    for _, states, documents, pieces in read_by(name, language.depths(name)[-1:], read_texts):
        for seed in SEEDS[:5]:
            model = trained(states, documents["train"], seed)
            deleted = [forward(model, documents[part]) for part in ("whole", "shortened")]
            attention, change = of_words(*deleted, pieces["whole"], whole.n.to_numpy())
            score, nothing = np.log(attention[words]), np.zeros((len(words), 1))
            yield Traces(
                texts.doc_ids,
                texts.labels,
                offsets,
                score,
                nothing,
                nothing[0],
                leave_one_out=change[words],
            )


def means(
    traces: Traces, seed: int, train: Documents, texts: Documents
) -> Iterator[pd.DataFrame]:
    """Of each ranking of a model, by kind of sentences and group of people."""
    words = texts.ids[texts.inner]
    marked, groups = marks_of(traces.doc_id)

    counts = word_counts(train, 1 + max(train.ids.max(), words.max()))
    bayes = np.abs(naive_bayes(counts, train.labels))
    speaks = (bayes > np.log(TIMES)) & ((counts > 0).sum(axis=0) >= TEXTS)
    kinds = np.where(totals(speaks[words], traces.offsets) > 0, "sentiment word", "none")

    values = {
        name: np.abs(number).astype(float) for name, number in importances(traces, seed).items()
    }
    values |= {
        "permuted": permuted_weights(traces, seed).attention,
        "lexicon": bayes[words],
        "person": marked,
    }
    for ranking in filter(values.__contains__, RANKINGS):
        size = marked.mean(axis=0) if ranking == "person" else values[ranking]
        numbers = plausible(values[ranking], marked, traces.offsets)
        numbers["top1_deletion"] = agreement(size, values["deletion"], traces.offsets, 1)
        numbers["tau_deletion"] = kendall_ragged(size, values["deletion"], traces.offsets)[0]
        table = pd.DataFrame(numbers).assign(group=groups)
        both = pd.concat([table.assign(texts="all"), table.assign(texts=kinds)])
        by_group = both.groupby(["texts", "group"], as_index=False).mean()
        yield by_group.assign(ranking=ranking).round(3)
