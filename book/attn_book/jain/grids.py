"""The grid of Jain & Wallace: its data sets and models, and what the authors' two runs say of each."""

from functools import cache

import numpy as np
import pandas as pd

from attn_book.reported import FINAL_RUN, reported
from attn_core.corpora import catalogue
from attn_core.errors import AttnError

CORPORA = ("sst", "imdb", "agnews", "20news", "babi_1", "babi_2", "babi_3", "snli")
UNRUN = ("diabetes", "anemia", "adr", "cnn")
"""Data sets of the paper that this archive holds no run of."""

MODELS = tuple((encoder, attention) for encoder in ("lstm", "cnn", "average") for attention in ("tanh", "dot"))

EPSILONS = (0.05, 0.01)

MEASURES = {
    "tau_attention_gradient": "tau_gradient",
    "tau_attention_loo": "tau_loo",
    "median_change": "median_output_change",
    "jsd_search": "eps_max_jsd",
}
"""Measure of ours -> measure of the authors' files."""


def groups(corpus: str) -> dict[str, str]:
    """Predicted class as summaries write it -> its name; answers of questions are not told apart."""
    entry = catalogue.corpus(corpus)
    return (
        {"all": "all questions"} if entry.task == "question" else {str(i): text for i, text in enumerate(entry.classes)}
    )


@cache
def authors_table(table: str, corpus: str, encoder: str, attention: str) -> pd.DataFrame:
    """Rows of one model in a reported table."""
    return reported(table, corpus=corpus, encoder=encoder, attention=attention)


def theirs(table: str, corpus: str, model: tuple[str, str], group: str, **where: object) -> pd.DataFrame:
    """Rows of a reported table for one model and class, by the class's name: its number changes between their runs."""
    rows = authors_table(table, corpus, *model)
    label = groups(corpus)[group] if group in groups(corpus) else "all"
    rows = rows[rows["class"] == "Overall"] if group == "all" else rows[rows["class_name"] == label]
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return rows


def authors_mean(corpus: str, model: tuple[str, str], group: str, measure: str, snapshot: str) -> float:
    """The authors' mean in one class; NaN where their files have none."""
    where = {"snapshot": snapshot, "measure": MEASURES.get(measure), "statistic": "mean"}
    if measure == "tau_gradient_loo" and snapshot == FINAL_RUN:
        where = {"measure": "tau(gradient,LOO)", "statistic": "mean"}
        return _value(theirs("jain_repo_threeway_correlations", corpus, model, group, **where))
    if not measure.startswith("tau_"):
        return _value(theirs("jain_repo_svg_summaries", corpus, model, group, **where | {"statistic": "mean_binned"}))
    return _value(theirs("jain_repo_correlations", corpus, model, group, **where))


def authors_median(corpus: str, model: tuple[str, str], group: str, measure: str, bin: str, snapshot: str) -> float:
    """The authors' median in a bin of the largest weight, read off their drawings; NaN where there is none."""
    where = {"snapshot": snapshot, "measure": MEASURES[measure], "statistic": "median"}
    rows = theirs("jain_repo_svg_summaries", corpus, model, group, **where)
    return _value(rows[rows["max_attention_bin"].str[:5] == bin[:5]])


def bars(corpus: str, model: tuple[str, str], group: str, measure: str, snapshot: str) -> np.ndarray | None:
    """The authors' shares by bin of `experiments.edges`, read off their drawings; None where there are none."""
    where = {"snapshot": snapshot, "measure": MEASURES[measure]}
    rows = theirs("jain_repo_svg_histogram_bins", corpus, model, group, **where)
    return rows.sort_values("bin_left")["share"].to_numpy() if len(rows) else None


def _value(rows: pd.DataFrame) -> float:
    return float(rows["value"].iloc[0]) if len(rows) else np.nan


def stored_at(kind: str, epsilon: float) -> str:
    """Name of a JSD statistic in the archive's tables: 'jsd_search@0.05'; AttnError where epsilon is not stored."""
    if epsilon not in EPSILONS:
        raise AttnError(f"epsilon must be one of {', '.join(map(str, EPSILONS))}, which are stored; got {epsilon}")
    return f"{kind}@{epsilon:g}"
