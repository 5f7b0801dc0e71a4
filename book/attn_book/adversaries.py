"""Trained adversaries beside their controls (Wiegreffe & Pinter 2019, section 4), all of the same base: the λ = 0
baseline, and the base's training from another seed."""

from itertools import permutations

import numpy as np
import pandas as pd

from attn_book import derived
from attn_book.corrected import holm, p_of
from attn_book.scorecard import reported
from attn_core.experiments.distance import HALVED
from attn_core.measures import LEVEL, crossed_interval
from attn_lab import Run, obtain, over_seeds
from attn_lab.runs import index
from attn_lab.runs.run import SEEDS


def between_seeds(corpora: list[str]) -> pd.DataFrame:
    """TVD (halved) between two of five BiLSTMs on the whole test set, each pair twice: corpus, base_seed, tvd."""
    rows = []
    for corpus in corpora:
        tables = {seed: obtain(Run(corpus, "lstm", "tanh", seed)).documents for seed in SEEDS[:5]}
        p = {seed: table["p"] for seed, table in tables.items() if table is not None}
        rows += [(corpus, seed, HALVED * np.abs(p[seed] - p[other]).mean()) for seed, other in permutations(p, 2)]
    return pd.DataFrame(rows, columns=["corpus", "base_seed", "tvd"])


def controlled(rows: pd.DataFrame, seeds: pd.DataFrame | None = None) -> pd.DataFrame:
    """Rows of `derived.adversaries` with TVD halved, and beside each of the same base: baseline, TVD for λ = 0;
    auc_lost; another_seed, the median of `between_seeds`. largest: whether λ is the data set's largest."""
    keys = ["corpus", "base_seed"]
    rows = rows.assign(
        tvd=HALVED * rows["tvd"],
        auc_lost=derived.lost(rows, "auc"),
        largest=rows["divergence"] == rows.groupby("corpus")["divergence"].transform("max"),
    )
    rows["baseline"] = rows["base"].map(rows[rows["divergence"] == 0].set_index("base")["tvd"])
    return rows if seeds is None else rows.join(seeds.groupby(keys)["tvd"].median().rename("another_seed"), on=keys)


def narrow() -> pd.DataFrame:
    """`controlled` adversaries on SST with 16 units in place of 128, after 60 epochs; of the data set "narrow"."""
    where = {
        "corpus": "sst",
        "encoder": "lstm",
        "attention": "tanh",
        "hidden": 16,
        "source": "archive",
    }
    rows = index.runs(divergence=[0, 0.005], **where).query("divergence == 0 or epochs == 60")
    return controlled(rows).assign(corpus="narrow", another_seed=np.nan)


def figure_5() -> pd.DataFrame:
    """Points read off the paper's Figure 5: corpus, model, statistic (which point), jsd, tvd."""
    read = reported("wiegreffe_figure5_digitised")
    points = read.pivot(
        index=["corpus", "model", "statistic"],
        columns="measure",
        values="value",
    )
    return points.set_axis(["jsd", "tvd"], axis=1).reset_index()


def over_bases(values: pd.Series) -> pd.DataFrame:
    """Of numbers, one a seed or base, indexed by data set first: mean, 95 % interval, and p of a mean of 0 after Holm's
    correction over the data sets."""
    rows = pd.DataFrame({"corpus": values.index.get_level_values(0), "value": values.to_numpy()}).dropna()
    table = over_seeds(rows, "corpus").set_index("corpus")
    return table.assign(p=holm(p_of(table)))


def ratios(rows: pd.DataFrame, control: str) -> pd.DataFrame:
    """The same of TVD over that of a control (geometric means; p of a ratio of 1), and the ratio as a cell, with ?
    where Holm's correction leaves it undecided."""
    logs = over_bases(np.log(rows["tvd"] / rows[control]).set_axis(rows["corpus"]))
    table = np.exp(logs[["mean", "low", "high"]]).assign(p=logs["p"])
    marks = np.where(
        table["p"] < LEVEL,
        "",
        " ?",
    )
    return table.assign(cell=table["mean"].map("{:.2f}".format) + marks)


def stability(corpora: list[str]) -> tuple[pd.DataFrame, dict[str, list[pd.DataFrame]]]:
    """By data set the mean JSD of further seeds to the first (n_seeds counts it), with 95 % intervals over seeds and
    texts, over seeds alone where no table by text is kept; and these tables."""
    runs = derived.classifiers(corpora).dropna(subset="jsd")
    rows = over_seeds(runs.assign(value=runs["jsd"]), "corpus").set_index("corpus").loc[corpora]
    rows["n_seeds"] += 1
    by_text = {corpus: derived.seed_tables(corpus) for corpus in corpora}
    for corpus, tables in by_text.items():
        if tables:
            each = pd.concat([table.set_index("doc_id")["jsd"] for table in tables], axis=1)
            rows.loc[corpus, ["low", "high"]] = crossed_interval(each.to_numpy().T)
    return rows.drop(columns="std"), by_text


def as_guides(corpora: list[str]) -> pd.DataFrame:
    """Adversaries whose weights guide networks: corpus, vectors, jsd from the base, mean f1 and auc of what they guide,
    and f1_uniform, auc_uniform, those under uniform weights."""
    led = derived.guided(corpora).query("source == 'adversary'")
    flat = derived.uniform_beside(led).groupby("corpus").mean()
    led = led.groupby(["corpus", "vectors", "base"], sort=False)[["jsd", "f1", "auc"]].mean().reset_index()
    return led.merge(flat, how="left", on="corpus", suffixes=("", "_uniform"))
