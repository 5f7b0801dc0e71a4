"""All models of a data set side by side: what the archive holds of them, and the same of the authors' two runs."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from attn_book.reported import reported
from attn_book.words import ATTENTION_NAMES, ENCODER_NAMES, seeds_in_words
from attn_core import archive
from attn_core.archive import Result
from attn_core.commands import command
from attn_core.corpora import catalogue
from attn_core.errors import AttnError
from attn_core.experiments import derived, edges
from attn_core.index import data_kind, printed_sizes
from attn_core.measures import INTERVAL_SEEDS
from attn_core.runs import Run
from attn_core.seeds import book_seeds, planned, summaries

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

        points: what a seed contributes, 'means' or 'medians' over its documents; a point is their mean over seeds.
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
            data_kind(found[0].record), ""
        )
        of = f"{points} over documents"
        drawn = f"Points: means over seeds of {of}, with 95 % Student t intervals"
        if seeds[-1] == 1:
            drawn = f"Points: {of}, of one seed, hence open and without an interval"
        elif seeds[0] < INTERVAL_SEEDS:
            drawn += " (none below three seeds; open below five)"
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


def unrun(corpus: str) -> Grid:
    """A data set of the paper without any run of ours, so that only the authors' numbers are drawn."""
    return Grid(corpus, {}, {}, ())


def told_unrun(corpus: str) -> str:
    """What the panels of such a data set rest on, for a caption."""
    return (
        f"Not rerun: the authors' numbers alone, one training in each of their two runs, "
        f"{printed_sizes()[corpus]['test']:,.0f} test documents"
    )


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
