"""All models of a data set side by side: what the archive holds of them, and the same of the authors' two runs."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from attn_core import archive
from attn_core.across import bounds, seeds_in_words, told
from attn_core.archive import ATTENTION_NAMES, ENCODER_NAMES, Result
from attn_core.corpora import catalogue
from attn_core.data_counts import data_of
from attn_core.errors import AttnError
from attn_core.experiments import derived, edges
from attn_core.measures import seed_interval
from attn_core.reported import APRIL_RUN, FINAL_RUN, reported
from attn_core.runs import Run, command
from attn_core.seeds import HEADLINE_SEEDS, book_seeds, planned, summaries

CORPORA = ("sst", "imdb", "agnews", "20news", "babi_1", "babi_2", "babi_3", "snli")
MODELS = tuple((encoder, attention) for encoder in ("lstm", "cnn", "average") for attention in ("tanh", "dot"))

EPSILONS = (0.05, 0.01)

MEASURES = {
    "tau_attention_gradient": "tau_gradient",
    "tau_attention_loo": "tau_loo",
    "median_change": "median_output_change",
}
"""Statistic of ours -> measure of the authors' files; the JSDs are their eps_max_jsd."""

# ---- what is drawn ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grid:
    """The runs of one data set that are there, and what their summaries say.

    results: by (encoder, attention), in the order of the seeds. tables: by the same, statistic -> summary rows.
    wanted: seeds a model should have.
    """

    corpus: str
    results: dict[tuple[str, str], list[Result]]
    tables: dict[tuple[str, str], dict[str, pd.DataFrame]]
    wanted: tuple[int, ...]

    @property
    def groups(self) -> dict[str, str]:
        """Predicted class as summaries write it -> its name; answers of questions are not told apart."""
        return groups(self.corpus)

    def over_seeds(
        self, model: tuple[str, str], statistic: str, group: str, measure: str = "mean", bin: str = "all"
    ) -> np.ndarray:
        """One number per seed that has it."""
        return self.by_seed(model, statistic, group, measure, bin).to_numpy(float)

    def by_seed(
        self, model: tuple[str, str], statistic: str, group: str, measure: str = "mean", bin: str = "all"
    ) -> pd.Series:
        """The same, with the seeds as index."""
        rows = self.tables.get(model, {}).get(statistic)
        if rows is None:
            return pd.Series(dtype=float)
        chosen = (rows["predicted"] == group) & (rows["bin"] == bin) & (rows["measure"] == measure)
        return rows[chosen].set_index("seed")["value"].astype(float)

    def shares(self, model: tuple[str, str], statistic: str, group: str) -> np.ndarray:
        """Share of the documents with a value in each bin of `edges`, (seeds, bins)."""
        rows = self.tables.get(model, {}).get(statistic)
        size = len(edges(statistic)) - 1
        if rows is None:
            return np.empty((0, size))
        rows = rows[(rows["predicted"] == group) & (rows["bin"] == "all") & rows["measure"].str.startswith("hist:")]
        bins = rows["measure"].str[5:].astype(int)
        counts = rows.assign(k=bins).pivot_table(index="seed", columns="k", values="value", fill_value=0.0)
        counts = counts.reindex(columns=range(size), fill_value=0.0).to_numpy(float)
        return counts / counts.sum(axis=1, keepdims=True)

    def documents(self, model: tuple[str, str]) -> pd.DataFrame | None:
        """Per-document statistics of the first seed that has them, with what follows from them."""
        found = next((result.documents for result in self.results.get(model, []) if result.documents is not None), None)
        return None if found is None else derived(found)

    def missing(self) -> dict[tuple[str, str], list[int]]:
        """Seeds that a model should have and has not."""
        there = {model: [r.record["run"]["seed"] for r in found] for model, found in self.results.items()}
        absent = {model: [seed for seed in self.wanted if seed not in there.get(model, [])] for model in MODELS}
        return {model: seeds for model, seeds in absent.items() if seeds}

    def told(self, layer: str = "summaries", points: str = "means") -> str:
        """Runs, layer ('summaries' or 'documents'), n and what the points are, for a caption.

        points: what a seed contributes, 'means' or 'medians' over its documents; a point is the mean of these over seeds.
        """
        found = [result for results in self.results.values() for result in results]
        if not found:
            return "No model of this data set was rerun; only the authors' numbers are drawn"
        seeds = sorted({len(results) for results in self.results.values() if results})
        count = f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else seeds_in_words(seeds[0])
        tests = " or ".join(str(n) for n in sorted({result.record["n_test"] for result in found}))
        trained = " or ".join(f"{n:,}" for n in sorted({result.record["n_train"] for result in found}))
        text = f"{count} a model, seed summaries of the whole test set, n = {tests} documents"
        first = next((r for r in found if r.documents is not None), None)
        if layer == "documents" and first is not None:
            text = f"{first.documents_layer.capitalize()} (seed {first.record['run']['seed']}); points: {text}"
        absent = [name(model) for model in MODELS if not self.results.get(model)]
        kind = {"subset": ", a subset of the paper's data", "generated": ", generated"}.get(
            data_of(found[0].record), ""
        )
        of = f"{points} over documents"
        drawn = f"Points: means over seeds of {of}, with 95 % Student t intervals"
        if seeds[-1] == 1:
            drawn = f"Points: {of}, of one seed, hence open and without an interval"
        elif seeds[0] == 1:
            drawn += " (none where a model has one seed; open below five)"
        elif seeds[0] < 5:
            drawn += " (open below five seeds)"
        lacking = f". Not rerun: {'; '.join(absent)}" if absent else ""
        return f"{text}; trained on {trained} documents{kind}. {drawn}{lacking}"


def groups(corpus: str) -> dict[str, str]:
    """Predicted class as summaries write it -> its name; answers of questions are not told apart."""
    entry = catalogue.corpus(corpus)
    return (
        {"all": "all questions"} if entry.task == "question" else {str(i): text for i, text in enumerate(entry.classes)}
    )


def name(model: tuple[str, str]) -> str:
    """'BiLSTM, additive'."""
    return f"{ENCODER_NAMES[model[0]]}, {ATTENTION_NAMES[model[1]]}"


def collect(corpora: list[str], seeds: int = 5) -> dict[str, Grid]:
    """The archived runs of each data set, of the first `seeds` seeds.

    Runs of the local cache alone are left out: they have no summaries yet, and a page of 48 models cannot make them.
    """
    store, grids = archive.archive_folder(), {}
    for corpus in corpora:
        if corpus not in CORPORA:
            raise AttnError(f"the appendix has no data set '{corpus}'; corpora takes: {', '.join(CORPORA)}")
        first = book_seeds(corpus, seeds)
        keys = {model: [Run(corpus, *model, seed=seed).key for seed in first] for model in MODELS}
        results = {m: stored(store, own) for m, own in keys.items()}
        shown = [*groups(corpus), "all"]
        tables = {}
        for model, found in results.items():
            if found:
                table = summaries(found)
                table = table[table["predicted"].isin(shown)].astype(
                    {"measure": object, "predicted": object, "bin": object}
                )
                tables[model] = dict(list(table.groupby("statistic")))
        grids[corpus] = Grid(corpus, results, tables, first[: planned(corpus, seeds)])
    return grids


def stored(store: Path, keys: list[str]) -> list[Result]:
    """The archived runs among some; only the first with its documents and traces, the others' summaries suffice."""
    found = [key for key in keys if archive.has(store, key)]
    return [archive.read(store, key, whole=i == 0) for i, key in enumerate(found)]


def gaps(grids: dict[str, Grid]) -> list[str]:
    """One line for each data set with absent runs."""
    lines = []
    for grid in grids.values():
        missing = grid.missing()
        if missing:
            model, seeds = next(iter(missing.items()))
            make = command(Run(grid.corpus, *model, seed=seeds[0]))
            counts = ", ".join(
                f"{name(model)} ({len(seeds)} of {len(grid.wanted)} seeds)" for model, seeds in missing.items()
            )
            if not any(grid.results.values()):
                counts = f"all {len(MODELS)} models ({len(grid.wanted)} seeds each)"
            lines.append(f"{grid.corpus}: absent {counts}; the next: {make}")
    return lines


# ---- the authors' numbers --------------------------------------------------------------------------------------------


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


def authors_mean(corpus: str, model: tuple[str, str], group: str, statistic: str, snapshot: str) -> float:
    """The authors' mean of a statistic in one class; NaN where their files have none."""
    if statistic.startswith("tau_"):
        rows = theirs(
            "jain_repo_correlations",
            corpus,
            model,
            group,
            snapshot=snapshot,
            measure=MEASURES[statistic],
            statistic="mean",
        )
    else:
        where = {"snapshot": snapshot, "measure": "eps_max_jsd", "statistic": "mean_binned"}
        rows = theirs("jain_repo_svg_summaries", corpus, model, group, **where)
    return float(rows["value"].iloc[0]) if len(rows) else np.nan


def stored_at(kind: str, epsilon: float) -> str:
    """Name of a JSD statistic in the archive's tables: 'jsd_search@0.05'; AttnError where epsilon is not stored."""
    if epsilon not in EPSILONS:
        raise AttnError(f"epsilon must be one of {', '.join(map(str, EPSILONS))}, which are stored; got {epsilon}")
    return f"{kind}@{epsilon:g}"


# ---- tables ----------------------------------------------------------------------------------------------------------


def shown(values: np.ndarray, form: str = ".2f", possible: tuple[float, float] = (-np.inf, np.inf)) -> str:
    """Mean over seeds with its Student t interval cut at what is possible; '–' for no seed."""
    low, high = seed_interval(values)
    return told(float(np.nanmean(values)) if np.isfinite(values).any() else np.nan, low, high, form, possible)


def rows_of(
    grids: dict[str, Grid], statistics: dict[str, str], authors: bool = True, measure: str = "mean"
) -> pd.DataFrame:
    """One row per rerun model and predicted class: seeds, test accuracy, each statistic beside the authors'.

    statistics: statistic -> heading. Cells are texts, mean over seeds with interval. Only rerun models.
    """
    rows = []
    for grid in grids.values():
        for model, results in grid.results.items():
            for group, text in grid.groups.items() if results else ():
                row = {"data": grid.corpus, "model": name(model), "class": text, "seeds": len(results)}
                row["accuracy"] = shown(grid.over_seeds(model, "accuracy", "all", "value"), possible=(0.0, 1.0))
                for statistic, heading in statistics.items():
                    values = grid.over_seeds(model, statistic, group, measure)
                    row[heading] = shown(values, possible=bounds(statistic, measure))
                    if authors:
                        kind = statistic.partition("@")[0]
                        for snapshot, word in ((APRIL_RUN, "April"), (FINAL_RUN, "final")):
                            value = authors_mean(grid.corpus, model, group, kind, snapshot)
                            row[f"{heading}, {word}"] = f"{value:.2f}" if np.isfinite(value) else "–"
                rows.append(row)
    return pd.DataFrame(rows)


def beside_authors(grids: dict[str, Grid], statistic: str) -> pd.DataFrame:
    """Our mean of a statistic and the authors' two, one row per model and class that both have.

    Columns corpus, encoder, attention, group, ours, april, final, apart (distance from the nearer of their two values,
    0 between them), spread (distance of their two values).
    """
    rows = []
    for grid in grids.values():
        for model, results in grid.results.items():
            for group in grid.groups if results else ():
                mean = float(np.mean(grid.over_seeds(model, statistic, group)))
                ends = [
                    authors_mean(grid.corpus, model, group, statistic.partition("@")[0], s)
                    for s in (APRIL_RUN, FINAL_RUN)
                ]
                apart = max(min(ends) - mean, mean - max(ends), 0.0)
                rows.append((grid.corpus, *model, group, mean, *ends, apart, abs(ends[1] - ends[0])))
    columns = ["corpus", "encoder", "attention", "group", "ours", "april", "final", "apart", "spread"]
    return pd.DataFrame(rows, columns=columns).dropna()


def distances_of_authors(corpora: list[str], statistic: str) -> dict[str, float]:
    """Median distances of a mean in the authors' files over data sets and classes.

    Keys encoder (Average and BiLSTM, additive attention, final run), attention (additive and scaled dot, one encoder,
    final run), runs (April and final run of one model). NaN where no pair is in their files.
    """
    value = {
        (corpus, group, model, run): authors_mean(corpus, model, group, statistic, run)
        for corpus in corpora for group in groups(corpus) for model in MODELS for run in (APRIL_RUN, FINAL_RUN)
    }  # fmt: skip
    found = {"encoder": [], "attention": [], "runs": []}
    for (corpus, group, (encoder, attention), run), mean in value.items():
        if run != FINAL_RUN:
            continue
        found["runs"].append(mean - value[corpus, group, (encoder, attention), APRIL_RUN])
        if attention == "tanh":
            found["attention"].append(mean - value[corpus, group, (encoder, "dot"), run])
            found["encoder"] += [mean - value[corpus, group, ("lstm", "tanh"), run]] if encoder == "average" else []
    return {name: float(np.nanmedian(np.abs(apart))) if np.isfinite(apart).any() else np.nan
            for name, apart in found.items()}  # fmt: skip


def orderings(
    grids: dict[str, Grid], pairs: dict[str, tuple[tuple, tuple]], measure: str = "mean"
) -> dict[str, dict[str, list[str]]]:
    """For each named pair of (model, statistic): data sets in which the first is above, below, or neither ('open').

    Decided by the Student t interval of the mean over the seeds that both have of the first minus the second (all
    documents); 'few': fewer such seeds than HEADLINE_SEEDS, which decide nothing.
    """
    found = {}
    for title, (first, second) in pairs.items():
        sides = {"above": [], "below": [], "open": [], "few": []}
        for corpus, grid in grids.items():
            one, other = (grid.by_seed(model, statistic, "all", measure) for model, statistic in (first, second))
            apart = (one - other).dropna().to_numpy()
            low, high = seed_interval(apart) if len(apart) else (np.nan, np.nan)
            if len(apart):
                enough = len(apart) >= HEADLINE_SEEDS
                sides["few" if not enough else "above" if low > 0 else "below" if high < 0 else "open"].append(corpus)
        found[title] = sides
    return found
