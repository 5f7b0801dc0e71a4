"""What the Serrano & Smith pages ask for: their runs, names, greyed models, numbers over seeds in words.

A page works with whatever is stored: absent runs are named lines for a gap box. `planted`, cut into sentences, is
trained live where it is not stored, drawn in its own colour, and never counted.
"""

from collections.abc import Collection, Iterable

import numpy as np
import pandas as pd

from attn_book import across, words
from attn_book.across import lacking
from attn_book.derived import weakness
from attn_book.figures import PAPER as GREY
from attn_book.words import ENCODER_NAMES
from attn_core.archive import Result
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.errors import AttnError
from attn_core.experiments import erasure
from attn_core.index import HEADLINE_SEEDS, data_kind, over_seeds
from attn_core.packing import NOT_PASSED_ON
from attn_core.runs import HIERARCHICAL, SEEDS, AbsentRun, Run, obtain
from attn_core.seeds import book_seeds, obtain_all, planned, summary_of

PAPER = ("yahoo", "imdb_stars", "amazon", "yelp")
"""The paper's four data sets in the order of its figures, as far as this book has them."""

CORPORA = ("imdb_stars", "amazon", "20news_all", "yelp", "yahoo", "agnews_all", "planted")
NO_SENTENCES = ("agnews_all",)
"""Data sets whose documents are mostly one sentence: no HAN is trained on them."""

LIVE = {
    "n_train": 1000, "n_dev": 200, "n_test": 300, "shortest": 24, "longest": 60, "evidence": 3, "distractors": 2,
    "cues": 6, "fillers": 60, "shortest_sentence": 4, "longest_sentence": 9,
}  # fmt: skip
"""The knobs of `planted` on these pages: five cue words in about seven sentences, three of them for the label."""

ORDERS = {
    "random": "Random", "attention": "Attention", "gradient": "Gradient", "product": "Attn * Grad",
    "first_order": "First order", "optimum": "Optimum",
}  # fmt: skip
"""Orders of removal by the paper's names; the last two are this book's."""

CELLS = ("both", "only_top", "only_random", "neither")
"""Cells of the 2x2 table: which of the two erasures flips the decision."""

KINDS = {
    "same": "the paper's data",
    "subset": "a subset",
    "other classes": "other classes",
    "other data": "not in the paper",
    "generated": "generated",
}
COLOURS = {
    "imdb_stars": "#1f4e79",
    "amazon": "#d95f02",
    "20news_all": "#1b9e77",
    "yelp": "#7570b3",
    "yahoo": "#a6761d",
    "agnews_all": "#666666",
    "planted": "#b8860b",
}
"""One colour a data set; `planted` has that of controls."""


def run_of(corpus: str, encoder: str, seed: int = SEEDS[0]) -> Run:
    """The standard run of a model; of `planted`, the one with the knobs of these pages."""
    return Run(corpus, encoder, seed=seed, options=tuple(LIVE.items()) if corpus == "planted" else ())


def live(run: Run) -> Result:
    """A run of the generated set, trained without progress bars where it is not stored."""
    return obtain(run, progress=False, traces=False)


def colour_of(corpus: str, encoder: str, weak: Collection[tuple[str, str]] = ()) -> str:
    """The colour of a data set; grey where the model enters no claim."""
    return GREY if (corpus, encoder) in weak else COLOURS[corpus]


def models_of(corpus: str, encoders: Iterable[str]) -> list[str]:
    """Those of the models that are trained on a data set at all."""
    return [name for name in encoders if corpus not in NO_SENTENCES or name.startswith("flan")]


def check(corpora: Iterable[str], encoders: Iterable[str] = ()) -> None:
    """AttnError for a data set or model that these pages do not have."""
    for name in corpora:
        if name not in CORPORA:
            raise AttnError(f"no data set '{name}' on these pages; corpora takes: {', '.join(CORPORA)}")
    for name in encoders:
        if name not in HIERARCHICAL:
            raise AttnError(f"no model '{name}' in this paper; encoder takes: {', '.join(HIERARCHICAL)}")


def gather(
    corpora: Iterable[str], encoders: Iterable[str] = HIERARCHICAL, seeds: int = 5
) -> tuple[list[Result], list[str]]:
    """The stored runs of some models by record and summary, and a line for each data set whose models lack seeds.

    The runs of `planted` are trained where they are not stored.
    """
    corpora, encoders = list(corpora), list(encoders)
    check(corpora, encoders)
    found, lines = [], []
    for corpus in corpora:
        runs = {
            ENCODER_NAMES[encoder]: [run_of(corpus, encoder, seed) for seed in book_seeds(corpus, seeds)]
            for encoder in models_of(corpus, encoders)
        }
        of_set = [run for of_model in runs.values() for run in of_model]
        stored = [live(run) for run in of_set] if CATALOGUE[corpus].generated else across.stored_runs(of_set)
        found += stored
        lines.append(lacking(corpus, runs, stored, seeds, most_named=1))
    return found, [line for line in lines if line]


def firsts(corpora: Iterable[str], encoder: str, seed: int = SEEDS[0]) -> tuple[dict[str, Result], list[str]]:
    """One seed's run of a model on each data set, whole; and a line for each of which no documents are stored.

    Data sets without that run are left out: `gather` names what is not there.
    """
    check(corpora, [encoder])
    found, lines = {}, []
    for corpus in corpora:
        if not models_of(corpus, [encoder]):
            continue
        if CATALOGUE[corpus].generated:
            found[corpus] = live(run_of(corpus, encoder))
            continue
        run = run_of(corpus, encoder, seed)
        try:
            found[corpus] = obtain(run)
        except AbsentRun as error:
            if obtain_all([run])[0]:  # its summary is stored
                licence = "only summaries are stored, its licence keeps every document out of the archive"
                lines.append(f"{corpus}: {licence if corpus in NOT_PASSED_ON else error}")
    return found, lines


def documents_of(result: Result) -> tuple[pd.DataFrame, str]:
    """The per-document table of a run (stored, or from its traces) and its layer in words."""
    return result.documents_or(erasure.document_table)


def summaries(found: list[Result]) -> pd.DataFrame:
    """Summaries in one tidy table: corpus, encoder, seed, statistic, bin, measure, value; and the test accuracy."""
    frames = []
    for result in found:
        run = result.record["run"]
        frames.append(summary_of(result).assign(**{name: run[name] for name in ("corpus", "encoder", "seed")}))
    if not frames:
        raise AbsentRun("no run of these models is stored; `python -m attn_core archive list` shows what is")
    table = pd.concat(frames, ignore_index=True)
    return table[~table["measure"].str.startswith("hist:")]


def over_models(every: pd.DataFrame, statistic: str, measure: str = "mean", bin: str = "all") -> pd.DataFrame:
    """Mean over seeds with interval of one number, one row per corpus and encoder (columns of `over_seeds`)."""
    part = every[(every["statistic"] == statistic) & (every["measure"] == measure) & (every["bin"] == bin)]
    return over_seeds(part, "corpus", "encoder")


def deciding(corpora: Iterable[str]) -> tuple[list[str], list[str]]:
    """Real data sets of which enough seeds are planned to decide a claim; the others, with the seeds planned."""
    plans = {name: planned(name, HEADLINE_SEEDS) for name in corpora if not CATALOGUE[name].generated}
    can = [name for name, plan in plans.items() if plan >= HEADLINE_SEEDS]
    return can, [f"{name} ({plan})" for name, plan in plans.items() if plan < HEADLINE_SEEDS]


def by_model(results: Iterable[Result]) -> dict[tuple[str, str], dict[int, Result]]:
    """(corpus, encoder) -> seed -> result, of the paper's six models."""
    found: dict[tuple[str, str], dict[int, Result]] = {}
    for result in results:
        run = result.record["run"]
        if run["encoder"] in HIERARCHICAL:
            found.setdefault((run["corpus"], run["encoder"]), {})[run["seed"]] = result
    return found


def weak(found: list[Result]) -> dict[tuple[str, str], str]:
    """(corpus, encoder) -> why its runs enter no claim; models that do their task are left out."""
    groups = by_model(found)
    reached = {model: [run.record["accuracy"] for run in runs.values()] for model, runs in groups.items()}
    reasons = {model: weakness(model[0], accuracies) for model, accuracies in reached.items()}
    return {model: reason for model, reason in reasons.items() if reason}


def weak_of_sets(reasons: dict[tuple[str, str], str]) -> dict[str, str]:
    """Data set -> its greyed models in words: 'HANnoenc, FLANrnn' or 'all six models'."""
    of_set: dict[str, list[str]] = {}
    for corpus, encoder in reasons:
        of_set.setdefault(corpus, []).append(ENCODER_NAMES[encoder])
    return {
        corpus: "all six models" if len(names) == len(HIERARCHICAL) else ", ".join(names)
        for corpus, names in of_set.items()
    }


def told_weak(reasons: dict[tuple[str, str], str]) -> str:
    """The greyed models in words, by data set: 'amazon: HANnoenc, FLANrnn; yelp: all six models'; why: data page."""
    return "; ".join(f"{corpus}: {names}" for corpus, names in weak_of_sets(reasons).items()) or "none"


def coverage(found: list[Result]) -> pd.DataFrame:
    """One row per data set with runs: corpus, n_seeds and most_seeds (of its models with the fewest and the most),
    data, n_train, n_dev, n_test."""
    rows = {}
    for (corpus, _), runs in by_model(found).items():
        record = next(iter(runs.values())).record
        sizes = {name: record[name] for name in ("n_train", "n_dev", "n_test")}
        start = {"corpus": corpus, "n_seeds": len(runs), "most_seeds": len(runs)}
        row = rows.setdefault(corpus, start | {"data": data_kind(record)} | sizes)
        row |= {"n_seeds": min(row["n_seeds"], len(runs)), "most_seeds": max(row["most_seeds"], len(runs))}
    columns = ["corpus", "n_seeds", "most_seeds", "data", "n_train", "n_dev", "n_test"]
    return pd.DataFrame(list(rows.values()), columns=columns)


def told_coverage(rows: pd.DataFrame) -> str:
    """Test documents, seeds, training documents and kind of data of each set, for captions."""
    return "; ".join(f"{row.corpus} {row.n_test:,} ({made_from(row)})" for row in rows.itertuples()) or "no run"


def told_tests(rows: pd.DataFrame) -> str:
    """Test documents and seeds of each set alone, for captions that refer to the list of `told_runs`."""
    told = (
        f"{row.corpus} {row.n_test:,} ({words.seeds_in_words(row.n_seeds, row.most_seeds)})"
        for row in rows.itertuples()
    )
    return "; ".join(told) or "no run"


def told_runs(rows: pd.DataFrame, reasons: dict[tuple[str, str], str]) -> list[str]:
    """What `told_coverage` says, for a list, with the models that enter no claim (`weak`)."""
    grey = weak_of_sets(reasons)
    return [
        f"{row.corpus}: {row.n_test:,} ({made_from(row)})"
        + f"; enter no claim: {grey.get(row.corpus)}" * (row.corpus in grey)
        for row in rows.itertuples()
    ] or ["no run"]


def made_from(row) -> str:
    """'5 seeds, trained on 4,481, a subset': seeds, training documents and kind of data of a row of `coverage`."""
    return f"{words.seeds_in_words(row.n_seeds, row.most_seeds)}, trained on {row.n_train:,}, {KINDS[row.data]}"


def flip_cells(
    every: pd.DataFrame,
    corpora: Iterable[str],
    encoder: str,
    choice: str = "attention",
    rule: str = "coded",
    weak: Collection[tuple[str, str]] = (),
) -> dict[str, dict[str, str]]:
    """Data set -> cell -> percentage of documents, mean over seeds with interval: for `erasure_figures.flip_tables`.

    Models that enter no claim (`weak`) have an asterisk.
    """
    found = {}
    for corpus in corpora:
        mine = every[(every["corpus"] == corpus) & (every["encoder"] == encoder)]
        cells = {name: over_models(mine, f"flips_{choice}@{rule}", name) for name in CELLS}
        if not any(rows.empty for rows in cells.values()):
            mark = " (generated)" if CATALOGUE[corpus].generated else " *" if (corpus, encoder) in weak else ""
            found[f"{corpus}{mark}, %"] = {
                name: words.told(*rows.loc[0, ["mean", "low", "high"]], ".1f", (0, 100)).replace(" (no interval)", "")
                for name, rows in cells.items()
            }
    return found


def model_name(encoder: str) -> str:
    """'HANrnn', or 'FLANconv − FLANrnn' for a pair."""
    return " − ".join(ENCODER_NAMES[name] for name in encoder.split("-"))


def never(every: pd.DataFrame, order: str = "attention") -> pd.DataFrame:
    """Share of documents that never flip under an order, the zero vector included; a row per corpus, encoder, seed."""
    rows = every[
        (every["statistic"] == f"fraction_{order}")
        & (every["bin"] == "all")
        & every["measure"].isin(["n", "n_flipped"])
    ]
    wide = rows.pivot_table(
        index=["corpus", "encoder", "seed"], columns="measure", values="value", sort=False
    ).reset_index()
    return wide.assign(value=1 - wide["n_flipped"] / wide["n"])


def differences(
    every: pd.DataFrame, first: str, second: str, bin: str = "common", measure: str = "mean"
) -> pd.DataFrame:
    """Fraction removed under one order minus another, within seeds: corpus, encoder, mean, low, high, n_seeds, std.

    bin 'common': over the documents that flip under every order, so that both means are of the same documents.
    """
    wide = every[(every["measure"] == measure) & (every["bin"] == bin)].pivot_table(
        index=["corpus", "encoder", "seed"], columns="statistic", values="value", sort=False
    )
    gap = (wide[f"fraction_{first}"] - wide[f"fraction_{second}"]).dropna().rename("value").reset_index()
    return over_seeds(gap, "corpus", "encoder")


def shares(values: pd.DataFrame, form: str = ".0%") -> dict[str, str]:
    """Rows of `over_models` of one model in words: data set -> '12% (10% to 14%)'."""
    return {row.corpus: words.told(row.mean, row.low, row.high, form, (0, 1)) for row in values.itertuples()}


def finite(*values: float) -> bool:
    """Whether all values are numbers."""
    return bool(np.isfinite(values).all())
