"""Headline numbers of models on PPMI vectors and on fastText vectors: data/measured/vectors.csv, of the archive.

`python -m benchmarks --vectors`. BiLSTM with additive attention, five seeds. Columns corpus, vectors, measure, value,
low, high, n_seeds, documents. Of whole test sets, with intervals over seeds; `top_word_is_deletions` of the documents
of which all ten models' traces are stored, where these are FEWEST, with intervals over seeds and documents.
"""

import numpy as np
import pandas as pd

from attn_book.verdict import CORPORA
from attn_lab.more.known import names_the_word
from attn_lab.runs.index import HEADLINE_SEEDS, numbers, over_seeds, with_parameters
from attn_lab.runs.run import SEEDS
from benchmarks.bench_tests import runs_of, shared
from benchmarks.measured import mean_of, put

VECTORS = ("ppmi-300", "indomain-300")
FEWEST = 50

HEADLINES = {
    ("single_state_agreement", "mean"): "single_state_agreement",
    ("attention_invariant", "mean"): "attention_invariant",
    ("median_change", "share_below_0.1"): "permuting_changes_little",
    ("jsd_exact epsilon=0.05", "mean"): "optimal_jsd",
    ("tau_attention_gradient", "mean"): "tau_gradients",
    ("flips_under_uniform", "mean"): "decision_flips_uniform",
    ("auc", "value"): "auc",
}
"""Measure and statistic of `numbers` -> what the table calls it."""


def write() -> None:
    """Make the table of what is stored now."""
    put("vectors.csv", pd.concat([headlines(), *map(top_words, CORPORA)]))


def headlines() -> pd.DataFrame:
    """Means over whole test sets, then over seeds."""
    model = {"corpus": CORPORA, "encoder": "lstm", "attention": "tanh", "seed": SEEDS[:HEADLINE_SEEDS]}
    measures, statistics = zip(*HEADLINES, strict=True)
    rows = with_parameters(numbers(measures, statistics, vectors=VECTORS, **model))
    names = pd.MultiIndex.from_frame(rows[["measure", "statistic"]]).map(HEADLINES.get)
    rows = rows.assign(measure=names, documents=rows["n_test"]).dropna(subset="measure")
    table = over_seeds(rows, "corpus", "vectors", "measure", "documents")
    return table.rename(columns={"mean": "value"}).drop(columns="std")


def top_words(corpus: str) -> pd.DataFrame:
    """How often the most attended word is the one whose deletion moves the output most."""
    texts = shared([run for vectors in VECTORS for run in runs_of(corpus, vectors)])
    if len(texts[0]) < FEWEST:
        return pd.DataFrame()
    named = np.split(np.stack([names_the_word(model, model) for model in texts]), 2)
    measure = "top_word_is_deletions"
    rows = [
        mean_of(found, corpus=corpus, vectors=vectors, measure=measure)
        for vectors, found in zip(VECTORS, named, strict=True)
    ]
    return pd.DataFrame(rows)
