"""How much of what another seed changes is rounding alone: a control that Wiegreffe & Pinter's section 3.3 lacks.

Beside the further seeds of the base stand trainings of the base's own seed whose starting weights were each moved to a
neighbouring float32 (`standard.nudge`), as another processor or number of threads moves sums.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import ttest_ind

from attn_book.figures import OURS
from attn_book.words import listed
from attn_core import archive
from attn_core.archive import Result
from attn_core.index import HEADLINE_SEEDS, side
from attn_core.measures import INTERVAL_SEEDS, seed_interval
from attn_core.packing import SAME

GRID = "data/sweeps/rounding.yml"

TOGETHER = 0.05
"""Trainings whose JSDs to the base differ by at most this share of their mean, document by document, lie in one place:
they are one distance from the base, whatever their number. Set after the distances had been seen."""

KINDS = {"rounding": ("#d55e00", "o", "same seed, rounding moved"), "seed": (OURS, "^", "other seeds")}
"""Marks of the two kinds of training: colour, marker, name."""


def gather(corpora: Iterable[str]) -> tuple[dict[str, dict[int, Result]], list[str]]:
    """Data set -> draw -> its run, with its table beside the base, and a line for each set that lacks runs.

    Of the base the archive keeps a sample of documents; these are what is compared. A second part of a line, behind a
    line break, tells what makes the runs.
    """
    from attn_core.sweep import read_grid

    corpora, store = list(corpora), archive.archive_folder()
    grid = store.parent / "sweeps" / GRID.rsplit("/", 1)[-1]
    planned = [run for run in (read_grid(grid) if grid.is_file() else []) if run.corpus in corpora]
    found = {run.corpus: {} for run in planned}
    for run in planned:
        if archive.has(store, run.key):
            found[run.corpus][run.rounding] = archive.read(store, run.key)
    lines = []
    for corpus, results in found.items():
        wanted = sum(run.corpus == corpus for run in planned)
        if len(results) < wanted:
            lacking = f"{wanted - len(results)} of {wanted} trainings that differ by rounding absent"
            lines.append(f"{corpus}: {lacking}\nmake them: python -m attn_core sweep {GRID} --pack")
    return {corpus: results for corpus, results in found.items() if results}, lines


def distances(rounded: dict[int, pd.DataFrame], seeds: dict[int, pd.DataFrame], corpus: str) -> pd.DataFrame:
    """Mean JSD and mean |dp| to the base of each training, over the documents that all of them have.

    Columns corpus, kind ('rounding' or 'seed'), number (of the draw or the seed), n (documents), jsd, tvd, spread (of
    the kind: the largest minus the smallest JSD of a document over its trainings, mean over documents).
    """
    tables = {"rounding": rounded, "seed": seeds}
    every = [set(table["doc_id"]) for of_kind in tables.values() for table in of_kind.values()]
    shared = set.intersection(*every)
    spread = {}
    for kind, of_kind in tables.items():
        every = [table.set_index("doc_id")["jsd"].loc[sorted(shared)].to_numpy() for table in of_kind.values()]
        spread[kind] = np.ptp(every, axis=0).mean() if every and shared else np.nan
    rows = [
        {"corpus": corpus, "kind": kind, "number": number, "n": len(shared), "spread": spread[kind]}
        | table.loc[table["doc_id"].isin(shared), ["jsd", "tvd"]].mean().to_dict()
        for kind, of_kind in tables.items() for number, table in of_kind.items()
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["corpus", "kind", "number", "n", "jsd", "tvd", "spread"])


def kept_epochs(rounded: dict[str, dict[int, Result]]) -> str:
    """Which epoch's model each training kept: 'sst 4 (all); 20news 4, 6, 7'; epochs count from 1."""
    told = []
    for corpus, results in rounded.items():
        kept = {kept_epoch(result.record["history"]) for result in results.values()}
        told.append(f"{corpus} {', '.join(map(str, sorted(kept)))}" + " (all)" * (len(kept) == 1 < len(results)))
    return "; ".join(told) or "none"


def kept_epoch(history: list[dict]) -> int:
    """The epoch, from 1, whose model a training keeps: the first of the highest AUC on development data, never epoch 1
    where there are more (`training.train`)."""
    values = [epoch["dev_auc"] for epoch in history]
    return 1 if len(values) == 1 else 2 + int(np.argmax(values[1:]))


def compared(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per data set: how far rounding moves attention, how far other seeds do, and what follows.

    rows: of `distances`. Columns corpus, n, n_rounding, rounding, rounding_low, rounding_high, n_seed, seed, seed_low,
    seed_high (means of JSD with 95 % Student t interval), rounding_tvd, seed_tvd (means of |dp|), seed_tvd_median (over
    the seeds), spread (of the roundings, see `distances`), together (it is within TOGETHER), share (rounding / seed),
    difference, low, high (seed - rounding, Welch's 95 % interval), lies: 'none' (rounding moves attention by
    less than packing.SAME with its whole interval), 'alike' (the difference's interval holds 0), 'seeds farther',
    'rounding farther', or 'few' trainings of a kind.
    """
    lines = []
    for corpus, part in rows.groupby("corpus", sort=False):
        values = {kind: part.loc[part["kind"] == kind, "jsd"].to_numpy() for kind in KINDS}
        line = {"corpus": corpus, "n": int(part["n"].iloc[0])}
        for kind, mine in values.items():
            low, high = seed_interval(mine)
            mean = mine.mean() if len(mine) else np.nan
            line |= {f"n_{kind}": len(mine), kind: mean, f"{kind}_low": low, f"{kind}_high": high}
            line[f"{kind}_tvd"] = part.loc[part["kind"] == kind, "tvd"].mean()
        line["seed_tvd_median"] = part.loc[part["kind"] == "seed", "tvd"].median()
        line["spread"] = part.loc[part["kind"] == "rounding", "spread"].mean()
        line["together"] = line["n_rounding"] > 1 and line["spread"] <= TOGETHER * line["rounding"]
        line |= {"share": line["rounding"] / line["seed"], "difference": line["seed"] - line["rounding"]}
        line |= dict(zip(("low", "high"), welch(values["seed"], values["rounding"]), strict=True))
        lines.append(line | {"lies": lies(line)})
    return pd.DataFrame(lines)


def welch(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """95 % interval of the difference of two means of trainings, a - b; NaN where one has too few."""
    if min(len(a), len(b)) < INTERVAL_SEEDS:
        return np.nan, np.nan
    return tuple(ttest_ind(a, b, equal_var=False).confidence_interval(0.95))


def lies(line: dict) -> str:
    """The verdict of `compared` on one data set."""
    if min(line["n_rounding"], line["n_seed"]) < HEADLINE_SEEDS:
        return "few"
    if line["rounding_high"] < SAME:
        return "none"
    found = side(pd.Series(line), 0, fewest=0)
    return {"above": "seeds farther", "below": "rounding farther"}.get(found, "alike")


def sentence(row) -> str:
    """What one data set shows, in a line of a list; row: of `compared`, as a named tuple."""
    own, seed = (
        f"{number(mean)} ({number(max(low, 0))} to {number(high)})" if np.isfinite(low) else number(mean)
        for mean, low, high in (
            (row.rounding, row.rounding_low, row.rounding_high),
            (row.seed, row.seed_low, row.seed_high),
        )
    )
    says = {
        "none": "rounding leaves the model what it is; what differs is the seed's doing",
        "alike": "not told apart: trained again with one seed, the model is as far from itself as from another seed",
        "seeds farther": f"other seeds lie farther; rounding alone is as large as {row.share:.0%} of their distance",
        "rounding farther": "farther than another seed",
        "few": f"not decided: a verdict needs {HEADLINE_SEEDS} of each",
    }[row.lies]
    outputs = (
        f"outputs move by {number(row.rounding_tvd)} and {number(row.seed_tvd)} (mean |Δp|; median of the other seeds "
        f"{number(row.seed_tvd_median)})"
    )
    counts = f"{row.n_rounding} trainings", f"{row.n_seed}"
    if row.together:
        own = number(row.rounding)
        counts = (
            f"{counts[0]} (one number, no interval: document by document they lie alike from the base, to "
            f"{row.spread / row.rounding:.1%} of it, so it is how far the archived base lies from their machine's "
            "trainings)",
            counts[1],
        )
    return (
        f"{row.corpus}: {says}. Rounding {own}, {counts[0]}; other seeds {seed}, {counts[1]}; {outputs}; all given the "
        "archived base."
    )


def chaotic(rows: pd.DataFrame) -> str:
    """The data sets of `compared` that rounding moves, with its share of the other seeds' distance; 'none'."""
    moved = rows[~rows["lies"].isin(["none", "few"])]
    return listed(f"{r.corpus} (by {r.share:.0%} of what other seeds do)" for r in moved.itertuples())


def number(value: float) -> str:
    """Three decimals, or two figures of what would be 0."""
    small = np.format_float_positional(value, precision=2, unique=False, fractional=False)
    return f"{value:.3f}" if value == 0 or value >= 0.001 else small


def strips(ax: Axes, rows: pd.DataFrame) -> None:
    """A point per training on a logarithmic axis of mean JSD, the two kinds of a data set below each other."""
    corpora = list(dict.fromkeys(rows["corpus"]))
    for place, (kind, (colour, marker, name)) in enumerate(KINDS.items()):
        part = rows[rows["kind"] == kind]
        y = part["corpus"].map(corpora.index) + (place - 0.5) * 0.36
        ax.plot(
            part["jsd"], y, marker, color=colour, markerfacecolor="none", markersize=6, linestyle="none", label=name
        )
    ax.hlines(np.arange(len(corpora) - 1) + 0.5, 0, 1, transform=ax.get_yaxis_transform(), color="0.9", linewidth=0.7)
    ax.set_xscale("log")
    ax.set_yticks(range(len(corpora)), corpora)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(corpora) - 0.5, -0.5)
    ax.set_xlabel("mean JSD to the base (logarithmic)")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=8.5)
