"""The grid of Jain & Wallace: its data sets and models, what is stored of each, and what the authors' two runs say."""

from functools import cache

import numpy as np
import pandas as pd

from attn_book.reported import FINAL_RUN, reported
from attn_core.corpora import catalogue
from attn_core.errors import AttnError
from attn_core.experiments import edges
from attn_core.index import measures, numbers, over_seeds, runs

CORPORA = ("sst", "imdb", "agnews", "20news", "babi_1", "babi_2", "babi_3", "snli")
UNRUN = ("diabetes", "anemia", "adr", "cnn")
"""Data sets of the paper that this archive holds no run of."""

ENCODER, ATTENTION = ("lstm", "cnn", "average"), ("tanh", "dot")
MODELS = tuple((encoder, attention) for encoder in ENCODER for attention in ATTENTION)
MODEL = ["corpus", "encoder", "attention"]

EPSILONS = (0.05, 0.01)

MEASURES = {
    "tau_attention_gradient": "tau_gradient",
    "tau_attention_loo": "tau_loo",
    "median_change": "median_output_change",
    "jsd_search": "eps_max_jsd",
}
"""Measure of ours -> measure of the authors' files."""


MEANS = {
    ("tau_attention_gradient", "mean"): "τ attention, gradient", ("tau_attention_loo", "mean"): "τ attention, LOO",
    ("tau_gradient_loo", "mean"): "τ gradient, LOO", ("median_change", "median"): "permuting: median change",
    ("median_change", "share_below_0.1"): "permuting: share < 0.1", ("jsd_search", "mean"): "JSD searched",
    ("jsd_search", "share_above_0.4"): "JSD searched: share > 0.4", ("jsd_exact", "mean"): "JSD optimum",
    ("jsd_lower", "mean"): "JSD best found", ("ceiling", "mean"): "JSD ceiling",
    ("jsd_shuffled", "mean"): "JSD shuffled", ("jsd_permutation", "mean"): "JSD permuted",
    ("ratio_search", "mean"): "searched / ceiling", ("ratio_exact", "mean"): "optimum / ceiling",
    ("ratio_lower", "mean"): "best found / ceiling",
}  # fmt: skip
"""(Measure, statistic) -> its name in the gallery's table."""

BEYOND = {"jsd_exact": "optimum", "jsd_lower": "best found", "ceiling": "ceiling", "jsd_shuffled": "shuffled",
          "jsd_permutation": "permuted"}  # fmt: skip
"""What a searched JSD is held against; a model has the optimum or the best found."""


def stored_at(kind: str, epsilon: float) -> str:
    """Name of a JSD statistic in the archive's tables: 'jsd_search@0.05'; AttnError where epsilon is not stored."""
    if epsilon not in EPSILONS:
        raise AttnError(f"epsilon must be one of {', '.join(map(str, EPSILONS))}, which are stored; got {epsilon}")
    return f"{kind}@{epsilon:g}"


class Grid:
    """What is stored of the grid's models, over all their seeds.

    models: (data set, encoder, attention) -> stored runs. shares: (model, measure, class) -> mean share of documents in
    each bin of `edges`. corpora: none means all; AttnError for one that the grid has not.
    """

    def __init__(self, corpora: list[str], epsilon: float = 0.05) -> None:
        self.corpora = list(corpora) or [*CORPORA, *UNRUN]
        for name in self.corpora:
            if name not in (*CORPORA, *UNRUN):
                raise AttnError(f"the grid has no data set '{name}'; there are: {', '.join((*CORPORA, *UNRUN))}")
        where = {"corpus": self.corpora, "encoder": list(ENCODER), "attention": list(ATTENTION)}
        self.models = dict(list(runs(**where).groupby(MODEL, sort=False)))
        stored = {stored_at(kind, epsilon) if kind.startswith(("jsd_", "ratio_")) else kind for kind, _ in MEANS}
        rows = numbers(stored & set(measures()["measure"]), "any", "any", "any", **where)
        rows = rows.assign(measure=rows["measure"].str.partition("@")[0])
        shown = {(name, group) for name in self.corpora for group in (*groups(name), "all")}
        rows = rows[[pair in shown for pair in zip(rows["corpus"], rows["predicted"], strict=True)]]
        place = [*MODEL, "measure", "predicted"]
        bars = rows[rows["statistic"].str.startswith("hist:") & (rows["bin"] == "all")]
        bars = bars.assign(k=bars["statistic"].str[5:].astype(int))
        bars = bars.pivot_table(index=[*place, "seed"], columns="k", values="value")
        bars = bars.reindex(columns=range(40)).fillna(0.0)
        bars = bars.div(bars.sum(axis=1), axis=0).groupby(level=place).mean()
        self.shares = {at: row[: len(edges(at[3])) - 1] for at, row in zip(bars.index, bars.to_numpy(), strict=True)}
        wanted = {*MEANS, ("jsd_search", "median"), ("jsd_search", "n"), ("median_change", "n")}
        rows = rows[[pair in wanted for pair in zip(rows["measure"], rows["statistic"], strict=True)]]
        by = [*MODEL, "measure", "statistic", "predicted", "bin"]
        self._means = {row[: len(by)]: row for row in over_seeds(rows, *by).itertuples(index=False)}

    def mean(self, model: tuple, measure: str, statistic: str = "mean", group: str = "all", bin: str = "all"):
        """A row of `over_seeds`: mean, low, high, n_seeds; None where no seed has the number."""
        return self._means.get((*model, measure, statistic, group, bin))


# ---- the authors' numbers --------------------------------------------------------------------------------------------


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


def authors_mean(
    corpus: str, model: tuple[str, str], group: str, measure: str, snapshot: str, statistic: str = "mean"
) -> float:
    """The authors' number in one class; NaN where their files have none. JSD: from the bars of their drawings."""
    where = {"snapshot": snapshot, "measure": MEASURES.get(measure), "statistic": statistic}
    if measure == "tau_gradient_loo" and snapshot == FINAL_RUN:
        where = {"measure": "tau(gradient,LOO)", "statistic": "mean"}
        return _value(theirs("jain_repo_threeway_correlations", corpus, model, group, **where))
    if measure == "jsd_search":
        where["statistic"] = "mean_binned" if statistic == "mean" else statistic
        return _value(theirs("jain_repo_svg_summaries", corpus, model, group, **where))
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
