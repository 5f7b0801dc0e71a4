"""Tests of attention put to attention of known quality, and Serrano & Smith's statements under permuted weights: tables
in data/measured, of the archive's traces, made by `python -m benchmarks --tests [sst …]` in about an hour.

tests.csv: how well each test of a text tells good from bad attention, areas under the curve (`known.told_apart`).
Columns corpus, vectors, definition (of `known.GOOD`), measure (the test), statistic (alone or beside), value, low,
high, n_seeds, documents. Five seeds and the documents that all keep, intervals of both. Gradients: of the model without
context.
permuted.csv: by corpus and statement (`derived.statements_of`) the number by attention, when weights are permuted, and
under weights of maximal leverage.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd

from attn_book.derived import statements_of
from attn_book.verdict import CORPORA
from attn_core.experiments.single import ALL_ORDERS, permuted_weights
from attn_core.measures import jsd_ragged
from attn_core.traces import Traces
from attn_lab import Run, obtain
from attn_lab.more import erasure
from attn_lab.more.known import GOOD, TESTS, maximal_leverage, told_apart
from attn_lab.runs.index import HEADLINE_SEEDS
from attn_lab.runs.run import SEEDS
from benchmarks.measured import mean_of, put

HANS = ("imdb_stars", "amazon")
ORDERS = 20
"""In which weights are permuted."""


def write(*corpora: str) -> None:
    """Make the rows of all data sets anew, or of some."""
    for corpus in corpora or (*CORPORA, *HANS):
        if corpus in CORPORA:
            put("tests.csv", areas(corpus), "corpus")
        else:
            put("permuted.csv", statements_permuted(corpus), "corpus")


def runs_of(corpus: str, encoder: str = "lstm") -> list[Run]:
    return [Run(corpus, encoder, seed=seed) for seed in SEEDS[:HEADLINE_SEEDS]]


def shared(runs: Iterable[Run]) -> list[Traces]:
    """Traces of runs, of the documents of several items that all of them keep."""
    models = [obtain(run).traces for run in runs]
    documents = set.intersection(*(set(model.doc_id[model.lengths > 1]) for model in models))
    return [model.take(np.isin(model.doc_id, list(documents))) for model in models]


def areas(corpus: str) -> pd.DataFrame:
    texts = shared(runs_of(corpus))
    alone = shared(runs_of(corpus, "average"))
    rows = []
    for definition, weigh in GOOD.items():
        named = {"corpus": corpus, "vectors": "ppmi-300", "definition": definition}
        for measure, test in TESTS.items():
            models = alone if measure == "gradients" else texts
            rows += told([*map(weigh, models)], models, test, **named, measure=measure)
        rows += stable([*map(weigh, texts)], **named)
    return pd.DataFrame(rows)


def told(
    good: list[Traces],
    models: list[Traces],
    test: Callable,
    seeds: Iterable[int] = SEEDS,
    **named,
) -> list[dict]:
    """Rows of both forms of `told_apart`: how well a test tells good weights from the same permuted, in models of the
    first seeds, of the same documents."""
    asked = zip(good, models, seeds, strict=False)
    tables = [told_apart(one, model, test, seed, ORDERS) for one, model, seed in asked]
    return [
        mean_of([table[form] for table in tables], **named, statistic=form)
        for form in ("alone", "beside")
    ]


def stable(weights: list[Traces], /, **named) -> list[dict]:
    """The same of being like the first seed's (Wiegreffe & Pinter 3.3)."""
    first, *further = weights
    return told(further, [first] * len(further), is_like, SEEDS[1:], **named, measure="stable")


def is_like(weights: Traces, first: Traces) -> np.ndarray:
    """Minus the JSD to another seed's weights, which stand in the model's stead (Wiegreffe & Pinter 3.3)."""
    return -jsd_ragged(weights.attention, first.attention, weights.offsets)


# What of Serrano & Smith's statements is arithmetic: erasing an item moves the logits by its weight times its distance
# from the rest, so the most attended moves them most whether or not attention knows anything. A statement is about
# attention as far as its number lies beyond that of weights permuted within each document (a control of ours).


def statements_permuted(corpus: str) -> pd.DataFrame:
    traces = obtain(Run(corpus, "han_rnn")).traces
    several = traces.take(traces.lengths > 1)
    kinds = {
        "attention": statements_in(traces),
        "permuted": expected_when_permuted(traces),
        "leverage": statements_in(maximal_leverage(several)),
    }
    return pd.DataFrame(kinds).rename_axis("number").reset_index().assign(corpus=corpus)


def statements_in(traces: Traces, seed: int = 0) -> pd.Series:
    """Numbers of `statements_of` in documents of several items, r as coded; NaN where none is defined. seed: of r."""
    rows = erasure.summary_table(erasure.document_table(traces, seed))
    run = rows.set_index(["statistic", "bin", "measure"])["value"]
    return pd.Series(statements_of(defaultdict(lambda: np.nan, run.to_dict())))


def expected_when_permuted(
    traces: Traces, draws: int = math.factorial(ALL_ORDERS)
) -> pd.Series:
    """Statements' numbers when each text's weights are permuted: the mean over joint orders, by default all orders of
    texts of up to six items (`nth_permutation`), the other item r being drawn anew for each."""
    each = [statements_in(nth_permutation(traces, k), seed=k) for k in range(draws)]
    return pd.concat(each, axis=1).mean(axis=1)


def nth_permutation(traces: Traces, k: int) -> Traces:
    """The k-th permutation of all documents' weights at once: over k = 0, ..., ALL_ORDERS! - 1 each order of a document
    of up to ALL_ORDERS items comes equally often; longer documents are permuted at random, from (k, doc_id)."""
    permuted = permuted_weights(traces, k)
    score = permuted.score.copy()
    for rows, items in traces.equal_lengths(len(score)):
        n = items.shape[1]
        if n <= ALL_ORDERS:
            orders = np.array([*permutations(range(n))])
            order = orders[
                (k + rows) % len(orders)
            ]  # (B, n); documents start at different orders
            score[items] = np.take_along_axis(traces.score[items], order, axis=1)
    return replace(permuted, score=score)
