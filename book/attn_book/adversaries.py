"""Trained adversaries beside their controls (Wiegreffe & Pinter 2019, section 4), all of the same base: the λ = 0
baseline, and the base's training from another seed."""

from itertools import permutations

import numpy as np
import pandas as pd

from attn_book.guides import seed_p
from attn_book.scorecard import reported
from attn_core import Run, index, obtain
from attn_core.experiments.distance import HALVED
from attn_core.measures import LEVEL, holm, seed_interval
from attn_core.run import SEEDS


def between_seeds(corpora: list[str]) -> pd.DataFrame:
    """TVD (halved) between two of five BiLSTMs on the whole test set, each pair twice: corpus, base_seed, tvd."""
    rows = []
    for corpus in corpora:
        p = {seed: obtain(Run(corpus, "lstm", "tanh", seed)).documents["p"] for seed in SEEDS[:5]}
        for seed, other in permutations(p, 2):
            rows.append((corpus, seed, HALVED * np.abs(p[seed] - p[other]).mean()))
    return pd.DataFrame(rows, columns=["corpus", "base_seed", "tvd"])


def controlled(rows: pd.DataFrame, seeds: pd.DataFrame) -> pd.DataFrame:
    """Rows of `derived.adversaries` with TVD halved, and beside each of the same base: baseline, TVD for λ = 0;
    another_seed, the median of `between_seeds`; auc_lost. farthest: whether λ is the data set's largest."""
    rows = rows.assign(tvd=HALVED * rows["tvd"])
    place = ["corpus", "base_seed"]
    baseline = rows[rows["divergence"] == 0].set_index("base")["tvd"]
    bases = index.runs(key=list(rows["base"].unique()), variant="any").set_index("key")
    median = seeds.groupby(place)["tvd"].median().rename("another_seed")
    return rows.join(median, on=place).assign(
        baseline=rows["base"].map(baseline),
        auc_lost=rows["base"].map(bases["auc"]) - rows["auc"],
        farthest=rows["divergence"] == rows.groupby("corpus")["divergence"].transform("max"),
    )


def narrow(seeds: pd.DataFrame) -> pd.DataFrame:
    """`controlled` adversaries on SST with 16 units in place of 128, after 60 epochs; of the data set "narrow"."""
    where = {"corpus": "sst", "encoder": "lstm", "attention": "tanh", "hidden": 16, "source": "archive"}
    rows = index.runs(divergence=[0, 0.005], **where).query("divergence == 0 or epochs == 60")
    return controlled(rows, seeds).assign(corpus="narrow", another_seed=np.nan)


def figure_5() -> pd.DataFrame:
    """Points read off the paper's Figure 5: corpus, model, statistic (which point), jsd, tvd."""
    read = reported("wiegreffe_figure5_digitised")
    points = read.pivot(index=["corpus", "model", "statistic"], columns="measure", values="value")
    return points.set_axis(["jsd", "tvd"], axis=1).reset_index()


def ratios(rows: pd.DataFrame, control: str) -> pd.DataFrame:
    """By data set the geometric mean over bases of TVD over that of a control, its 95 % interval, p of a ratio of one
    after Holm's correction over the data sets, and the ratio as a cell, with ? where that leaves it undecided."""
    logs = np.log(rows["tvd"] / rows[control]).dropna().groupby(rows["corpus"], sort=False)
    table = pd.DataFrame({"mean": logs.mean()})
    table[["low", "high"]] = [seed_interval(values) for _, values in logs]
    table = np.exp(table).assign(p=holm(logs.agg(seed_p).to_numpy()))
    marks = np.where(table["p"] < LEVEL, "", " ?")
    return table.assign(cell=table["mean"].map("{:.2f}".format) + marks)
