"""What Figure 6 and claim 6 say over data sets, for the page of the permutation test: numbers and lists for its prose.

Lists are of texts, one item each, for a bulleted list. Cells are rows of `tables.bin_panels` of Figure 6: a data set, a
predicted class and a bin of the largest weight. Judged are those that hold a verdict on a rerun.
"""

import pandas as pd

from attn_book import across, words
from attn_book.jain import claims, tables
from attn_core.index import HEADLINE_SEEDS

LARGE = 0.1
"""Median change of the output from which a cell is told as large; claim 6 calls less than this small."""

WORDS = {
    "above": "above",
    "contains": "not decided, the interval contains it",
    "below": "wholly below",
    "few": "too few seeds to decide",
}
"""Where the interval of a share lies against the threshold of claim 6, in words; in the order of the list."""


def of_claim(scored: pd.DataFrame, every: pd.DataFrame, decided: pd.DataFrame) -> dict[str, str | int | list[str]]:
    """Claim 6 and 6b by data set.

    asked: the threshold; sided_all: the share of all documents; sided_upper: of those whose largest weight is at least
    0.5, and upper_fewest the sets with too few of them or too few seeds; pooled: sets whose classes lie on both sides;
    tests_made: general claims corrected together. decided: of `claims.judged_together`.
    """
    claim = scored[scored["item"] == claims.CLAIMS[5].item]
    upper = scored[(scored["item"] == claims.LATER["6b"].item) & scored["ours"].notna()]
    asked, enough = claims.threshold(6), upper["unjudged"] == ""
    return {
        "asked": f"{asked:.0%}",
        "sided_all": claims.told_sides(tables.sided(claim, asked), WORDS, decided, "6"),
        "sided_upper": claims.told_sides(tables.sided(upper[enough], asked), WORDS, decided, "6b"),
        "upper_fewest": words.listed(upper[~enough]["corpus"]),
        "pooled": claims.pooled(every, "median_change", "share_below_0.1", asked) or ["none"],
        "tests_made": claims.counted(decided)["judged"],
    }


def of_figure(lines: pd.DataFrame, scored: pd.DataFrame) -> dict[str, str | int | list[str]]:
    """Figure 6 beside the authors' final run.

    within, judged: medians within the tolerance, of how many; zero: of those within, where no change at all would lie
    within too; outside: the others. high, high_large: judged cells of five seeds or more in the upper two bins, and of
    them those from LARGE on; high_cells, low_cells: these and the rest. strongest: the largest of five seeds or more in
    any bin.
    """
    rules = scored[scored["item"].str.startswith("Figure 6") & (scored["statistic"] == "median")]
    judged = lines[lines["verdict"].isin(["reproduced", "differs"])]
    within = judged["verdict"] == "reproduced"
    decided = judged[judged["n_seeds"] >= HEADLINE_SEEDS]
    high = decided[decided["panel"].isin(tables.BINS[2:])]
    large = high["mean"] >= LARGE
    return {
        "within": int(within.sum()),
        "judged": len(judged),
        "zero": as_zero(judged[within], rules),
        "tolerance": tables.tolerances(rules),
        "outside": told_outside(judged[~within]),
        "high": len(high),
        "high_large": int(large.sum()),
        "high_cells": told_cells(high[large]),
        "low_cells": told_cells(high[~large]),
        "strongest": told_strongest(decided),
    }


def as_zero(cells: pd.DataFrame, rules: pd.DataFrame) -> int:
    """Cells for which a median change of 0 would lie within the tolerance too; rules: rows of the scorecard."""
    panel = rules["item"].str.removeprefix("Figure 6 ").map(tables.closed)
    limits = rules.assign(panel=panel)[["corpus", "group", "panel", "tolerance"]]
    found = cells.merge(limits, on=["corpus", "group", "panel"])
    return int((found["reported"] <= found["tolerance"]).sum())


def told_cells(cells: pd.DataFrame) -> list[str]:
    """'sst positive: [0.50,0.75) 0.120, [0.75,1.00] 0.300', one data set and class an item."""
    return [
        f"{name}: " + ", ".join(f"{r.panel} {r.mean:.3f}" for r in part.itertuples())
        for name, part in cells.groupby("label", sort=False)
    ] or ["none"]


def told_outside(cells: pd.DataFrame) -> list[str]:
    """Cells with the medians of the authors' two runs, an item each."""
    return [
        f"{r.label} {r.panel}: {r.mean:.2f} (authors, April and final: {r.april:.2f}, {r.final:.2f})"
        for r in cells.itertuples()
    ] or ["none"]


def told_strongest(cells: pd.DataFrame) -> str:
    """The cell with the largest median change, with its interval."""
    if cells.empty:
        return "none"
    most = cells.loc[cells["mean"].idxmax()]
    told = words.told(most["mean"], most["low"], most["high"], bounds=(0, 1))
    return f"{most['label']}, bin {most['panel']}: {told}"


def told_medians(every: pd.DataFrame) -> list[str]:
    """The median change over all bins and classes, a data set an item; every: of `seeds.summaries`."""
    whole = tables.ordered(across.over_models(every, "median_change", "median"))
    return [f"{r.corpus} {words.told(r.mean, r.low, r.high, bounds=(0, 1))}" for r in whole.itertuples()] or ["no run"]
