"""Adversaries and their yardsticks on Jain & Wallace's pages: how high searched, optimal and other JSDs lie (Figure 7).

All take rows of the scorecard (`scored`) or summaries (`every`) and return a DataFrame or words, as in `tables`.
"""

import numpy as np
import pandas as pd

from attn_book import across, words
from attn_book.jain.tables import BINS, label, ordered, sided, within
from attn_core.index import HEADLINE_SEEDS
from attn_core.measures import LN2

HEIGHTS = {
    "searched": ("jsd_search", "#d95f02", "o"),
    "optimum": ("jsd_exact", "#1f4e79", "o"),
    "optimum, lower end": ("jsd_lower", "#1f4e79", ">"),
    "ceiling": ("ceiling", "#000000", "|"),
    "shuffled contributions": ("jsd_shuffled", "#b8860b", "X"),
    "permutations only": ("jsd_permutation", "#7f7f7f", "v"),
}
"""Side by side at one epsilon: name -> statistic, colour, marker. One logit has an optimum, pairs its lower end."""


def heights(every: pd.DataFrame, epsilon: float, measure: str = "share_above_0.6") -> pd.DataFrame:
    """HEIGHTS at one epsilon over all documents, one row per data set and series: mean over seeds with interval."""
    parts = []
    for series, (statistic, *_) in HEIGHTS.items():
        name = statistic if statistic == "ceiling" else f"{statistic}@{epsilon:g}"
        parts.append(across.over_models(every, name, measure).assign(series=series, panel=f"ε = {epsilon:g}"))
    rows = pd.concat(parts, ignore_index=True)
    return ordered(within(rows, 0, 1).assign(label=rows["corpus"]))


def height_panels(every: pd.DataFrame, epsilons: tuple[float, ...] = (0.05, 0.01)) -> pd.DataFrame:
    """`heights` for several epsilons as rows of `figures.interval_panels`, all twelve data sets.

    Columns april and final: the authors' share above 0.6, mean of their classes, beside our search at their epsilon,
    0.05.
    """
    theirs = authors_shares(0.6).groupby("corpus")[["april", "final"]].mean()
    rows = pd.concat([heights(every, epsilon) for epsilon in epsilons], ignore_index=True)
    empty = pd.DataFrame([
        {"corpus": name, "label": name, "series": "searched", "panel": f"ε = {epsilon:g}", "n_seeds": 0}
        for name in across.paper_sets() for epsilon in epsilons if name not in set(rows["corpus"])
    ])  # fmt: skip
    rows = pd.concat([rows, empty], ignore_index=True)
    beside = (rows["series"] == "searched") & (rows["panel"] == "ε = 0.05")
    for run in ("april", "final"):
        rows[run] = rows["corpus"].map(theirs[run]).where(beside)
    order = [f"ε = {epsilon:g}" for epsilon in epsilons]
    return ordered(rows.sort_values("panel", key=lambda panels: panels.map(order.index), kind="stable"))


def authors_shares(above: float) -> pd.DataFrame:
    """The authors' share of documents with a searched JSD above a value: corpus, group (class), april, final."""
    where = {"encoder": "lstm", "attention": "tanh", "measure": "eps_max_jsd", "statistic": f"share_above_{above:g}"}
    rows = across.both_runs("jain_repo_svg_summaries", ["corpus", "class_name"], **where)
    return ordered(rows[rows["corpus"].isin(across.paper_sets())]).rename(columns={"class_name": "group"})


def authors_easy(threshold: float, above: float = 0.4) -> dict[str, object]:
    """The line of claim 7 drawn through the authors' own figures, mean of the classes, one training in each run.

    Keys above, below, split: data sets whose share exceeds the threshold in both runs, in neither, in one of them
    (names in words); told: the shares of those that are not above in both, a list; classes: classes of the final run
    that do not exceed it; final: whether the final run does, by data set.
    """
    by_class = authors_shares(above)
    sets = by_class.groupby("corpus", sort=False)[["april", "final"]].mean().dropna()
    over = sets > threshold
    missed = sets[~over.all(axis=1)]
    return {
        "above": words.listed(sets.index[over.all(axis=1)]), "below": words.listed(sets.index[~over.any(axis=1)]),
        "split": words.listed(sets.index[over["april"] != over["final"]]),
        "told": [f"{row.Index} {row.april:.2f} (April), {row.final:.2f} (final)" for row in missed.itertuples()],
        "classes": words.listed(label(by_class[by_class["final"] <= threshold])), "final": over["final"].to_dict(),
    }  # fmt: skip


def told_heights(every: pd.DataFrame, epsilon: float, having: str) -> list[str]:
    """Shares above 0.6 in words, one item for each data set that has the series `having`."""
    share = heights(every, epsilon).set_index(["corpus", "series"])["mean"]
    told = [
        f"{name}: " + ", ".join(f"{series} {share[name, series]:.0%}"
                                for series in HEIGHTS if (name, series) in share.index)
        for name, series in share.index if series == having
    ]  # fmt: skip
    return told or ["no run"]


def height_table(every: pd.DataFrame, epsilons: tuple[float, ...] = (0.05, 0.01)) -> pd.DataFrame:
    """Share of documents with a JSD above 0.6 by data set and epsilon; last the optimum's mean share of the ceiling."""
    lines = []
    for epsilon in epsilons:
        shares = {key: row for key, row in heights(every, epsilon).set_index(["corpus", "series"]).iterrows()}
        ratios = pd.concat(
            [across.over_models(every, f"ratio_{kind}@{epsilon:g}", "mean") for kind in ("exact", "lower")]
        )
        ratios = ratios.set_index("corpus")
        for corpus in dict.fromkeys(corpus for corpus, _ in shares):
            lower = (corpus, "optimum") not in shares
            row = {"data": corpus, "ε": f"{epsilon:g}"}
            for name in (
                "searched",
                "optimum, lower end" if lower else "optimum",
                "ceiling",
                "shuffled contributions",
                "permutations only",
            ):
                found = shares.get((corpus, name))
                text = "–" if found is None else words.told(found["mean"], found["low"], found["high"], ".0%", (0, 1))
                row[name.split(",")[0].split(" ")[0]] = f"at least {text}" if name.startswith("optimum,") else text
            if corpus in ratios.index:
                found = ratios.loc[corpus]
                row["optimum / ceiling"] = ("at least " if lower else "") + words.told(
                    found["mean"], found["low"], found["high"], ".0%", (0, 1)
                )
            lines.append(row)
    lines = pd.DataFrame(lines)
    return ordered(lines.rename(columns={"data": "corpus"})).rename(columns={"corpus": "data"}) if len(lines) else lines


def resistance(every: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    """JSD that the model's own contributions cost the optimum against shuffled ones, per data set.

    Columns corpus, ours, low, high, n_seeds: mean over seeds of mean jsd_shuffled minus mean jsd_exact; text pairs have
    jsd_sparse (one or two tokens) in its place, for their shuffled control is of that kind.
    """
    rows = every[(every["measure"] == "mean") & (every["predicted"] == "all") & (every["bin"] == "all")]
    wide = rows.pivot_table(index=["corpus", "encoder", "attention", "seed"], columns="statistic", values="value")
    wide = wide.reindex(columns=[f"jsd_{kind}@{epsilon:g}" for kind in ("shuffled", "exact", "sparse")]).set_axis(
        ["shuffled", "exact", "sparse"], axis=1
    )
    lost = (wide["shuffled"] - wide["exact"].fillna(wide["sparse"])).dropna().rename("value").reset_index()
    return ordered(across.over_seeds(lost, "corpus").rename(columns={"mean": "ours"}))


def jsd_panels(scored: pd.DataFrame) -> pd.DataFrame:
    """The scored numbers of Figure 7 (searched, epsilon 0.05) as rows of `figures.interval_panels`, by class."""
    names = {"mean_binned": "mean ε-max JSD", "share_above_0.4": "share above 0.4"}
    keys = ["corpus", "class_name", "statistic"]
    theirs = across.both_runs("jain_repo_svg_summaries", keys, encoder="lstm", attention="tanh", measure="eps_max_jsd")
    rows = scored[scored["item"] == "Figure 7"].rename(columns={"group": "class_name"})
    rows = rows[[*keys, "ours", "low", "high", "n_seeds", "verdict"]].merge(theirs, on=keys, how="left")
    rows = rows.assign(panel=rows["statistic"].map(names), group=rows["class_name"], mean=rows["ours"])
    tops = rows["statistic"].map({"mean_binned": LN2}).fillna(1.0)
    return ordered(within(rows, 0, tops).assign(label=label(rows)))


# ---- against the largest weight, and near the bound ------------------------------------------------------------------

STRONG_FALL = 0.5
"""A median that falls below this share of its first bin's is no weak trend."""


def trends(lines: pd.DataFrame) -> pd.DataFrame:
    """Figure 8's first and last bin, one row per data set and class of `tables.bin_panels`.

    Columns label; final: whether the authors' final median in the last bin is below STRONG_FALL of that in the first,
    NaN where a bin has none; ours: the same for the whole intervals (upper end against lower), NaN unless both bins are
    judged and have five seeds or more.
    """
    rows = []
    for name, part in lines.groupby("label", sort=False):
        bins = {label: row for label, row in part.set_index("panel").iterrows()}
        ends = [bins[label] for label in (BINS[0], BINS[-1]) if label in bins]
        row = {"label": name, "final": np.nan, "ours": np.nan}
        if len(ends) == 2:
            first, last = ends
            if np.isfinite([first["final"], last["final"]]).all():
                row["final"] = float(last["final"] < STRONG_FALL * first["final"])
            judged = all(e["verdict"] in ("reproduced", "differs") and e["n_seeds"] >= HEADLINE_SEEDS for e in ends)
            if judged:
                row["ours"] = float(last["high"] < STRONG_FALL * first["low"])
        rows.append(row)
    return pd.DataFrame(rows, columns=["label", "final", "ours"])


def told_trends(found: pd.DataFrame) -> list[str]:
    """Whether the reported "weak" trend of Figure 8 fits the authors' own figure and our runs, a sentence each."""
    sentences = []
    for column, whose in (("final", "the authors' own Figure 8 (final run)"), ("ours", "our runs")):
        cells = found[found[column].notna()]
        strong = cells[cells[column] > 0]
        if cells.empty:
            told = f"In {whose} no class can be compared in both end bins."
        elif strong.empty:
            told = f"It fits {whose}: in none of {len(cells)} classes with both end bins does the median fall so far."
        else:
            told = f"It does not fit {whose} in {len(strong)} of {len(cells)} classes with both end bins: "
            told += f"{words.listed(strong['label'])}."
        sentences.append(told)
    return sentences


def told_ends(medians: pd.DataFrame, first: str, last: str) -> str:
    """Authors' medians of one run in two bins by class, in words; medians: class_name, max_attention_bin, value."""
    told = []
    for name, part in medians.assign(class_name=medians["class_name"].fillna("all")).groupby("class_name", sort=False):
        value = part.assign(bin=part["max_attention_bin"].str[:5]).set_index("bin")["value"]
        ends = [f"{value[label[:5]]:.2f}" if label[:5] in value else "no median" for label in (first, last)]
        told.append(f"{name} {ends[0]} and {ends[1]}")
    return "; ".join(told) or "no value"


def told_pinned(first: tuple[float, float], last: tuple[float, float]) -> str:
    """What two intervals of the median share of the ceiling say, first and last bin of one run."""
    if last[1] < first[0]:
        return "less of the ceiling is left in the last bin, so in this run peaked attention pins the output down more"
    if last[0] > first[1]:
        return "more of the ceiling is left in the last bin, so in this run peaked attention pins the output down less"
    return "the two intervals overlap, so this run shows no difference"


def near_bound(every: pd.DataFrame, epsilon: float = 0.05) -> dict[str, object]:
    """How much of the searched JSD lies above 0.6, "near the bound": half of the documents or more?

    Keys: above, below, contains, few (ours by data set, see `tables.sides`); authors_most, authors_cells (classes
    of the paper's sets in the final histograms, and of them those with more than half above), authors_sets (those by
    name).
    """
    ours = heights(every, epsilon).query("series == 'searched'").rename(columns={"mean": "ours"})
    theirs = authors_shares(0.6).dropna(subset="final")
    most = theirs[theirs["final"] > 0.5]
    return {
        "ours": sided(ours, 0.5), "authors_most": len(most), "authors_cells": len(theirs),
        "authors_sets": words.listed(label(most)),
    }  # fmt: skip
