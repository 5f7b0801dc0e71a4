"""Our runs beside the authors' own: the cells of Table 2, the bars of Figures 3 and 4, the medians of Figure 6.

ours: (corpus, encoder) -> runs, of `variants.standard`; seeded: of `by_seed`, one row per run and mean. Lists are of
texts, one item each, for a bulleted list. Additive attention throughout; the authors' values are of one training a run.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attn_book.across import means_of_sets, paper_sets
from attn_book.jain import authors, variants
from attn_book.jain.grids import groups
from attn_book.words import ENCODER_NAMES, in_words, told
from attn_core.archive import Result
from attn_core.experiments import ATTENTION_BINS
from attn_core.measures import seed_interval

TAUS = {"tau_gradient": "tau_attention_gradient", "tau_loo": "tau_attention_loo"}
"""The authors' measure -> our statistic."""

BARS = {"Figure 3": ("difference_loo", "three"), "Figure 4": ("difference_gradient", "four")}
"""Our statistic, and the column of `authors.bars`, named rightly: the authors' files have the two interchanged."""

QUESTIONS = ("cnn", "babi_1", "babi_2", "babi_3")

Runs = dict[tuple[str, str], list[Result]]


def labels(corpus: str) -> dict[str, str]:
    """Name of a class in the authors' files -> value of `predicted` in our summaries."""
    found = groups(corpus)
    return {text: label for label, text in found.items()} | ({"all": "all"} if "all" in found else {})


def by_seed(ours: Runs) -> pd.DataFrame:
    """`variants.values` of mean τ by class and of the bars, with columns kind and group in place of measure.

    kind: a measure of TAUS, or a statistic of BARS; group: value of `predicted`.
    """
    places = {(kind, label): (name, label, "mean") for kind, name in TAUS.items() for label in ("0", "1", "2", "all")}
    places |= {(name, "all"): (name, "all", "mean") for name, _ in BARS.values()}
    rows = pd.concat([variants.values(found, places) for found in ours.values()], ignore_index=True)
    kinds = pd.DataFrame(rows["measure"].tolist(), columns=["kind", "group"], index=rows.index)
    return rows.drop(columns="measure").join(kinds)


def seeds_of(seeded: pd.DataFrame, corpus: str, encoder: str, kind: str, group: str = "all") -> np.ndarray:
    """One number per seed."""
    at = (seeded["corpus"] == corpus) & (seeded["encoder"] == encoder)
    return seeded.loc[at & (seeded["kind"] == kind) & (seeded["group"] == group), "value"].to_numpy(float)


# ---- Table 2 ---------------------------------------------------------------------------------------------------------


def table2_cells(seeded: pd.DataFrame, corpora: Iterable[str]) -> pd.DataFrame:
    """`authors.table2_in_three_runs` with ours (an array, one value per seed), their mean, and pairs.

    pairs: absolute differences of any two seeds.
    """
    cells, known = authors.table2_in_three_runs(), {name: labels(name) for name in corpora}
    ours = [
        seeds_of(seeded, row.corpus, row.encoder, row.measure, known[row.corpus][row.group])
        if row.corpus in known
        else np.empty(0)
        for row in cells.itertuples()
    ]
    return cells.assign(
        ours=ours,
        mean=[values.mean() if len(values) else np.nan for values in ours],
        pairs=[np.abs(values[:, None] - values)[np.triu_indices(len(values), 1)] for values in ours],
    )


def place_of(cell) -> str:
    """Data set and class of a cell; questions have no class."""
    return cell.corpus if cell.group == "all" else f"{cell.corpus} {cell.group}"


def told_apart(cells: pd.DataFrame, first: str, second: str) -> str:
    """How far two columns lie apart: '0.05, largest 0.19 (babi_2), 21 cells'; '–' where no cell has both."""
    found = authors.spread(cells, first, second)
    where = "" if found["cell"] is None else f" ({place_of(found['cell'])})"
    return f"{found['median']:.2f}, largest {found['largest']:.2f}{where}, {found['n']} cells" if found["n"] else "–"


def told_pairs(cells: pd.DataFrame) -> str:
    """How far two seeds of ours lie apart: '0.01, largest 0.04, 30 pairs'."""
    pairs = np.concatenate([*cells["pairs"], np.empty(0)])
    return f"{np.median(pairs):.2f}, largest {pairs.max():.2f}, {len(pairs)} pairs" if len(pairs) else "–"


def apart_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Distances of runs over the cells of each encoder and measure."""
    return pd.DataFrame(
        [
            {
                "encoder": ENCODER_NAMES[encoder],
                "mean of": in_words(kind),
                "April – final": told_apart(part, "april", "final"),
                "first – April": told_apart(part, "first", "april"),
                "ours – printed": told_apart(part, "mean", "printed"),
                "two seeds of ours": told_pairs(part),
            }
            for (encoder, kind), part in cells.groupby(["encoder", "measure"], sort=False)
        ]
    )


def apart_numbers(cells: pd.DataFrame) -> dict[str, str | int]:
    """Distances over all cells, for the prose.

    apart, apart_most, apart_where, n_cells: April and final run of the authors, median, largest, its cell; apart_same:
    the same over cells of which two seeds of ours are stored; rounding: largest of printed and April.
    """
    runs = authors.spread(cells, "april", "final")
    return {
        "apart": f"{runs['median']:.2f}",
        "apart_most": f"{runs['largest']:.2f}",
        "apart_where": f"{place_of(runs['cell'])}, {in_words(runs['cell'].measure)}",
        "n_cells": runs["n"],
        "apart_same": told_apart(cells[cells["pairs"].map(len) > 0], "april", "final"),
        "two_seeds": told_pairs(cells),
        "rounding": f"{authors.spread(cells, 'printed', 'april')['largest']:.4f}",
        "from_printed": told_apart(cells, "mean", "printed"),
        "from_final": told_apart(cells, "mean", "final"),
    }


# ---- Figures 3 and 4 -------------------------------------------------------------------------------------------------


def bar_table(bars: pd.DataFrame, seeded: pd.DataFrame) -> pd.DataFrame:
    """Both bars of the authors and ours (BiLSTM), a data set a row. bars: `authors.bars`, indexed by corpus."""
    rows = []
    for name in bars.index:
        ours = {figure: seeds_of(seeded, name, "lstm", kind) for figure, (kind, _) in BARS.items()}
        rows.append(
            {"data": name}
            | {f"authors, {figure}": f"{bars.loc[name, column]:.3f}" for figure, (_, column) in BARS.items()}
            | {
                f"ours, {figure}": told(values.mean(), *seed_interval(values)) if len(values) else "–"
                for figure, values in ours.items()
            }
        )
    return pd.DataFrame(rows)


def told_bars(bars: pd.DataFrame, seeded: pd.DataFrame, same_data: Iterable[str]) -> list[str]:
    """Our means over data sets beside the authors' over the same, with direction and size; two items a figure.

    same_data: sets of the paper's own data; the second item has subsets and generated data with them.
    """
    items = []
    for figure, (kind, column) in BARS.items():
        part = seeded[(seeded["encoder"] == "lstm") & (seeded["kind"] == kind) & (seeded["group"] == "all")]
        if part.empty:
            continue
        found = means_of_sets(part, same_data)
        for key, of in (("own", " of the paper's own data"), ("every", ", subsets and generated data with them")):
            over = found[key]
            theirs = bars.loc[over["names"], column].mean()
            items.append(
                f"{figure}: {told(over['mean'], over['low'], over['high'])} over {over['sets']} sets{of}, "
                f"{told_seeds(over['seeds'])} (authors, same sets: {theirs:.2f}; "
                f"{told_against(over['mean'], over['low'], over['high'], theirs)})"
            )
    return items or ["none"]


def told_against(mean: float, low: float, high: float, theirs: float) -> str:
    """Whether a difference that is reported above zero has its direction and its size again, in words."""
    if not np.isfinite(low):
        return "too few seeds for an interval"
    direction = "reproduced" if low > 0 else "opposite" if high < 0 else "open"
    if low <= theirs <= high:
        return f"direction {direction}, and the interval holds the authors' value"
    size = "smaller" if high < theirs else "larger"
    return f"direction {direction}, size not: ours is {size}, its interval excludes theirs"


def told_not_positive(seeded: pd.DataFrame, corpora: Iterable[str]) -> str:
    """Data sets with a bar of ours, mean over seeds, that is not above zero: both must be for the conclusion."""
    bars = [(name, seeds_of(seeded, name, "lstm", kind)) for kind, _ in BARS.values() for name in corpora]
    means = [(name, values.mean()) for name, values in bars if len(values)]
    below = dict.fromkeys(name for name, mean in means if not mean > 0)
    return ", ".join(below) or ("no set" if means else "no run is in the archive")


# ---- Figure 6 --------------------------------------------------------------------------------------------------------


def medians(ours: Runs, fewest: int) -> pd.DataFrame:
    """Medians of Figure 6 in the four bins, a row for each class of a data set: rows of `comparisons.by_bin`.

    Columns corpus, group, label, april, final, ours (lists of four, NaN where there is none), n_seeds, rerun (whether
    the BiLSTM is stored). Bins of ours with fewer than `fewest` documents in some seed are left out.
    """
    theirs, bins, rows = authors.quartiles_by_bin("median_output_change"), [name[:5] for name in ATTENTION_BINS], []
    for name in paper_sets():
        found = ours.get((name, "lstm"), [])
        stored = authors.medians_by_bin(found, "median_change", fewest) if found else {}
        known = labels(name) if found else {}
        for group, part in theirs[theirs["corpus"] == name].groupby("group", sort=False):
            part = part.set_index("bin")
            rows.append(
                {
                    "corpus": name,
                    "group": group,
                    "label": f"{name} {group if group != 'all' else ''}",
                    "april": part["april"].reindex(bins).tolist(),
                    "final": part["final"].reindex(bins).tolist(),
                    "ours": [stored.get((known.get(group), label), np.nan) for label in bins],
                    "n_seeds": len(found),
                    "rerun": bool(found),
                }
            )
    return pd.DataFrame(rows)


def share_above(rows: pd.DataFrame, column: str, limit: float = 0.5) -> str:
    """'7 of 12': medians of `medians` above a limit, of how many there are."""
    values = np.concatenate([np.asarray(row, float) for row in rows[column]]) if len(rows) else np.empty(0)
    values = values[~np.isnan(values)]
    return f"{(values > limit).sum()} of {len(values)}" if len(values) else "none stored"


def told_little(rows: pd.DataFrame, column: str, limit: float = 0.1) -> str:
    """Classes of data sets with at least half of their medians at or below a limit, of how many, by name."""
    values = {row.label.strip(): np.array(getattr(row, column), float) for row in rows.itertuples()}
    there = {label: found[~np.isnan(found)] for label, found in values.items() if not np.isnan(found).all()}
    few = [label for label, found in there.items() if (found <= limit).mean() >= 0.5]
    return f"{len(few)} of {len(there)} classes ({', '.join(few) or 'none'})"


def median_numbers(rows: pd.DataFrame) -> dict[str, str]:
    """How much permutation changes, for the prose: medians above 0.5 on question answering and on all other sets
    (question_*, text_*), those on SST above 0.1 (sst_*), classes with little change (little_*); text_names: of the
    authors' final run, classes of other sets with one above 0.5; not_rerun: data sets without a run of ours."""
    asked = rows["corpus"].isin(QUESTIONS)
    others, sst = rows[~asked], rows[rows["corpus"] == "sst"]
    runs = ("april", "final", "ours")
    large = [bool((np.asarray(row, float) > 0.5).any()) for row in others["final"]]
    return {
        **{f"question_{run}": share_above(rows[asked], run) for run in runs},
        **{f"text_{run}": share_above(others, run) for run in runs},
        **{f"sst_{run}": share_above(sst, run, 0.1) for run in runs[1:]},
        **{f"little_{run}": told_little(rows, run) for run in runs[1:]},
        "text_names": ", ".join(others.loc[large, "label"]),
        "not_rerun": ", ".join(dict.fromkeys(rows.loc[~rows["rerun"], "corpus"])) or "none",
    }


def told_seeds(seeds: tuple[int, ...]) -> str:
    """'5 seeds', 'seed 10 only', or that no seed is shared."""
    if len(seeds) == 1:
        return f"seed {seeds[0]} only"
    return f"{len(seeds)} seeds" if seeds else "no seed that all sets have"
