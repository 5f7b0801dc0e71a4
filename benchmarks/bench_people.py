"""How far rankings of words agree with what people marked: people.csv.xz, `python -m benchmarks --people`.

Agreement with people's marks (first, precision, tau: `more.people`) and with the size of deletion (top1_deletion,
tau_deletion); one row a model of data/sweeps/people.yml, which has the predictions, a ranking, a kind of sentences
(texts) and a group of six people: means over the group's sentences.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from attn_core.experiments.correlation import kendall_ragged
from attn_core.experiments.single import permuted_weights
from attn_core.traces import totals
from attn_lab import Run, obtain
from attn_lab.data.prepare import marks
from attn_lab.more.compared import agreement, importances
from attn_lab.more.people import marks_of, plausible
from attn_lab.runs.compute import inputs_of
from attn_lab.runs.controls import naive_bayes, word_counts
from attn_lab.runs.run import SEEDS
from benchmarks.measured import put

ENCODERS = ("lstm", "cnn", "average", "transformer")
RANKINGS = ("attention", "gradient", "deletion", "random", "lexicon", "permuted", "person")
TIMES, TEXTS = 3, 10
"""A sentiment word is so many times as frequent in one class, and stands in so many training texts."""


def write() -> None:
    """Make the table anew; models that are not in the cache are trained."""
    models = [of_model(encoder, seed) for encoder, seed in product(ENCODERS, SEEDS[:5])]
    put("people.csv.xz", pd.concat(rows for model in models for rows in model))


def of_model(encoder: str, seed: int) -> Iterator[pd.DataFrame]:
    """Means of each ranking of a model, by kind of sentences and group of people."""
    run = Run("sst", encoder, seed=seed, options=(("marked", "test"),))
    splits = inputs_of(run)[0].splits
    rows = np.flatnonzero(np.isin(splits["test"].doc_ids, marks()["doc_id"]))
    traces = obtain(run, "auto", progress=False).traces.take(rows)
    texts = splits["test"].take(rows)
    words = texts.ids[texts.inner]
    marked, groups = marks_of(traces.doc_id)

    counts = word_counts(splits["train"], 1 + max(splits["train"].ids.max(), words.max()))
    bayes = np.abs(naive_bayes(counts, splits["train"].labels))
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
    for ranking in RANKINGS:
        size = marked.mean(axis=0) if ranking == "person" else values[ranking]
        numbers = plausible(values[ranking], marked, traces.offsets)
        numbers["top1_deletion"] = agreement(size, values["deletion"], traces.offsets, 1)
        numbers["tau_deletion"] = kendall_ragged(size, values["deletion"], traces.offsets)[0]
        table = pd.DataFrame(numbers).assign(group=groups)
        both = pd.concat([table.assign(texts="all"), table.assign(texts=kinds)])
        means = both.groupby(["texts", "group"], as_index=False).mean()
        yield means.assign(encoder=encoder, seed=seed, ranking=ranking).round(3)
