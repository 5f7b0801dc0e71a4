"""The tables of Jain & Wallace's pages: ours beside the paper's, for whatever runs there are.

All take rows of the scorecard (`scored`) or summaries (`every`) and return a DataFrame ready to show or to draw. Values
that were not rerun stay in the table with the authors' numbers alone.
"""

import numpy as np
import pandas as pd

from attn_book import across
from attn_book import words as wording
from attn_core.corpora import catalogue
from attn_core.experiments import ATTENTION_BINS
from attn_core.index import HEADLINE_SEEDS, side

NOT_RERUN = "not rerun"


def ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with a column corpus, data sets in the order of the paper's Table 1."""
    place = {name: i for i, name in enumerate(across.paper_sets())}
    return rows.sort_values("corpus", key=lambda names: names.map(place), kind="stable")


def label(rows: pd.DataFrame) -> pd.Series:
    """Data set and class in words; questions have no class."""
    return (rows["corpus"] + " " + rows["group"]).str.removesuffix(" all")


def within(rows: pd.DataFrame, bottom: float, top: float | pd.Series) -> pd.DataFrame:
    """Rows with their intervals cut at the values that are possible, for Student's t knows no bounds."""
    return rows.assign(low=rows["low"].clip(bottom, top), high=rows["high"].clip(bottom, top))


def interval(low: float, high: float, bounds: tuple[float, float] = (-np.inf, np.inf), form: str = ".2f") -> str:
    """'0.37–0.48', cut at what is possible; '–' without interval."""
    return f"{max(low, bounds[0]):{form}}–{min(high, bounds[1]):{form}}" if np.isfinite(low) else "–"


def tolerances(rows: pd.DataFrame) -> str:
    """The tolerances of scored rows in words: one number, or one for single texts, one for questions and inference."""
    text = rows["corpus"].map(lambda name: catalogue.corpus(name).task == "text")
    found = {
        kind: "/".join(f"{value:g}" for value in sorted(rows.loc[chosen, "tolerance"].dropna().unique()))
        for kind, chosen in (("single texts", text), ("questions and inference", ~text))
    }
    found = {kind: values for kind, values in found.items() if values}
    if len(set(found.values())) <= 1:
        return next(iter(found.values()), "none")
    return " or ".join(f"{values} ({kind})" for kind, values in found.items())


def told_seeds(seeds: tuple[int, ...]) -> str:
    """'5 seeds', 'seed 10 only', or that no seed is shared."""
    return (
        f"seed {seeds[0]} only" if len(seeds) == 1 else f"{len(seeds)} seeds" if seeds else "no seed that all sets have"
    )


# ---- Figures 6 to 8 by bin of maximum attention ----------------------------------------------------------------------

BINS = ATTENTION_BINS
"""Bins of the largest weight for readers; the last one holds 1, though rules and the authors' figures write '1.00)'."""


def closed(text: str) -> str:
    """A text with the last bin as it is: '[0.75,1.00)' becomes '[0.75,1.00]'."""
    return text.replace("1.00)", "1.00]")


def bin_panels(scored: pd.DataFrame, figure: str, every: pd.DataFrame | None = None) -> pd.DataFrame:
    """Medians of Figure 6 or 8 by bin as rows of `figures.interval_panels`, with the authors' april and final medians.

    One line per data set and class, one panel per bin. Ours are NaN where the scorecard has no row or no judged value;
    with `every` the medians of the summaries stand there, from however many documents and seeds, without a verdict.
    """
    measure, statistic = {
        "Figure 6": ("median_output_change", "median_change"), "Figure 8": ("eps_max_jsd", "jsd_search@0.05"),
    }[figure]  # fmt: skip
    keys = ["corpus", "class_name", "max_attention_bin"]
    theirs = across.both_runs(
        "jain_repo_svg_summaries", keys, encoder="lstm", attention="tanh", measure=measure, statistic="median"
    )
    rows = scored[scored["item"].str.startswith(f"{figure} [") & (scored["statistic"] == "median")]
    rows = rows.assign(max_attention_bin=rows["item"].str.split(" ").str[-1], class_name=rows["group"])
    rows = rows[["corpus", "class_name", "max_attention_bin", "ours", "low", "high", "n_seeds", "verdict", "reported"]]
    rows = theirs[theirs["corpus"].isin(across.paper_sets())].merge(rows, on=keys, how="left")
    if every is not None:
        rows = filled(rows, every, statistic)
    rows = rows.assign(
        panel=rows["max_attention_bin"].map(closed),
        group=rows["class_name"],
        mean=rows["ours"],
        n_seeds=rows["n_seeds"].fillna(0).astype(int),
    )
    order = {name: i for i, name in enumerate(BINS)}
    classes = {
        (name, label): k for name in across.paper_sets() for k, label in enumerate(catalogue.corpus(name).classes)
    }
    place = [classes.get(pair, 0) for pair in zip(rows["corpus"], rows["group"], strict=True)]
    rows = rows.assign(place=place)[rows["panel"].isin(BINS)].sort_values(
        ["panel", "place"], kind="stable", key=lambda values: values.replace(order)
    )
    return ordered(within(rows, *wording.bounds(statistic, "median")).assign(label=label(rows)))


def authors_sides(rows: pd.DataFrame, threshold: float) -> dict[str, list[str]]:
    """Labels (data set and class) of `bin_panels` by where the median over bins of the authors' medians lies.

    Keys much, little: above the threshold, or not, in both of their runs; split: in one of them alone. Classes are not
    pooled: where one lies high and one low, the median of both describes neither.
    """
    above = rows.groupby("label", sort=False)[["april", "final"]].median().dropna() > threshold
    return {
        "much": list(above.index[above.all(axis=1)]), "little": list(above.index[~above.any(axis=1)]),
        "split": list(above.index[above["april"] != above["final"]]),
    }  # fmt: skip


def filled(rows: pd.DataFrame, every: pd.DataFrame, statistic: str) -> pd.DataFrame:
    """Rows of `bin_panels` without a value of ours, with the median over seeds' summaries where these have one."""
    chosen = (
        (every["statistic"] == statistic)
        & (every["measure"] == "median")
        & (every["encoder"] == "lstm")
        & (every["attention"] == "tanh")
    )
    part = every[chosen & (every["bin"] != "all") & every["value"].notna()]
    found = across.over_seeds(part.assign(bin=part["bin"].str[:5]), "corpus", "predicted", "bin")
    places = {(r.corpus, r.predicted, r.bin): (r.mean, r.low, r.high, r.n_seeds) for r in found.itertuples()}
    rows, columns = rows.copy(), ["ours", "low", "high", "n_seeds"]
    for row in rows[rows["ours"].isna()].itertuples():
        groups = {name: label for label, name in across.predicted_groups(row.corpus).items()}
        place = (row.corpus, groups.get(row.class_name), row.max_attention_bin[:5])
        if place in places:
            rows.loc[row.Index, columns] = places[place]
    return rows


def bin_table(rows: pd.DataFrame) -> pd.DataFrame:
    """`bin_panels` as a table: one line per data set and class, one column per bin, 'ours (April, final)' in a cell."""

    def number(value: float) -> str:
        return f"{value:.2f}" if np.isfinite(value) else "–"

    cells = [f"{number(r.mean)} ({number(r.april)}, {number(r.final)})" for r in rows.itertuples()]
    table = rows.assign(cell=cells).pivot_table(
        index="label", columns="panel", values="cell", aggfunc="first", sort=False
    )
    return table.reindex(columns=list(BINS)).fillna("–").rename_axis(index="data, class", columns=None).reset_index()


def sided(
    rows: pd.DataFrame, threshold: float, form: str = ".0%", bounds: tuple[float, float] = (0, 1)
) -> pd.DataFrame:
    """Data sets against a threshold: columns corpus, side (of SIDES) and told (the number with its interval).

    rows: corpus, ours, low, high, n_seeds; those without our value are left out. An end of an interval that `form`
    would round onto the threshold gets one digit more.
    """
    rows = ordered(rows[rows["ours"].notna()])
    finer = f".{int(form[1]) + 1}{form[2:]}"
    forms = [
        finer if any(f"{end:{form}}" == f"{threshold:{form}}" for end in ends) else form
        for ends in zip(rows["low"], rows["high"], strict=True)
    ]
    many = rows["n_seeds"] >= HEADLINE_SEEDS
    sides = side(rows, threshold).replace("around", "contains")
    told = [
        wording.told(r.ours, r.low, r.high, digits, bounds) if enough
        else f"{r.ours:{form}} ({wording.seeds_in_words(r.n_seeds)})"
        for r, digits, enough in zip(rows.itertuples(), forms, many, strict=True)
    ]  # fmt: skip
    return rows[["corpus"]].assign(side=sides, told=pd.Series(told, index=rows.index, dtype=object))


SIDES = ("above", "below", "contains", "few")
"""Where an interval lies: wholly above or below a threshold, around it; or fewer seeds than decide anything."""


def told_sides(found: pd.DataFrame, words: dict[str, str]) -> list[str]:
    """`sided` as a list, one data set an item: its number and what it means, by `words`, in the order of these."""
    parts = {name: found[found["side"] == name] for name in words}
    told = [f"{r.corpus} {r.told}: {words[name]}" for name, part in parts.items() for r in part.itertuples()]
    return told or ["no run"]


def named_sides(found: pd.DataFrame) -> dict[str, str]:
    """The names alone of `sided`: the data sets on each of SIDES, 'none' for none."""
    return {name: wording.listed(found.loc[found["side"] == name, "corpus"]) for name in SIDES}
