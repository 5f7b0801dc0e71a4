"""Numbers across Jain & Wallace's data sets, for pages: stored runs, groups of documents, the authors' values.

A model is a data set, an encoder and a kind of attention; each is trained from several seeds.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from attn_book.data_counts import made
from attn_book.reported import APRIL_RUN, FINAL_RUN, check_printed, reported
from attn_book.words import ATTENTION_NAMES, ENCODER_NAMES, listed, seeds_in_words
from attn_core import index
from attn_core.archive import Result
from attn_core.commands import command
from attn_core.corpora import catalogue
from attn_core.index import HEADLINE_SEEDS, over_seeds, printed_sizes
from attn_core.measures import seed_interval
from attn_core.runs import Run, from_dict
from attn_core.seeds import book_seeds, obtain_all, planned

RUNS_OF_THE_AUTHORS = {APRIL_RUN: "april", FINAL_RUN: "final"}
"""Snapshots of the authors' repository, and the columns that hold their values in the tables of this module."""


def paper_sets() -> list[str]:
    """The twelve data sets in the order of the paper's Table 1."""
    return list(dict.fromkeys(reported("jain_table1_datasets")["corpus"]))


# ---- runs ------------------------------------------------------------------------------------------------------------


def gather(
    corpora: Iterable[str], encoders: Iterable[str] = ("lstm",), attentions: Iterable[str] = ("tanh",), seeds: int = 5
) -> tuple[list[Result], list[str]]:
    """The stored runs of some models of the grid, and one line for each data set whose models lack planned seeds.

    The summaries come without their histograms, which no table over data sets needs.
    AttnError for a data set that the paper does not have.
    """
    corpora, models = list(corpora), [(encoder, attention) for encoder in encoders for attention in attentions]
    check_printed(corpora)
    found, lines = [], []
    for corpus in corpora:
        runs = {
            model_name(*model): [Run(corpus, *model, seed=seed) for seed in book_seeds(corpus, seeds)]
            for model in models
        }
        stored = [result for of_model in runs.values() for result in stored_runs(of_model)]
        found += [without_histograms(result) for result in stored]
        lines.append(lacking(corpus, runs, stored, seeds, most_named=2))
    return found, [line for line in lines if line]


def lacking(corpus: str, models: dict[str, list[Run]], stored: list[Result], seeds: int, most_named: int) -> str | None:
    """One line naming the models of a data set that lack planned seeds and the next run to make; None where none does.

    models: name -> its runs. stored: those of all models that are there. Where none is and there are more than
    `most_named` models, they are counted, not named. A plan too small for a verdict is said so.
    """
    have = {result.key for result in stored}
    few, plans, following = [], [], None
    for name, runs in models.items():
        absent = [run for run in runs if run.key not in have]
        plan = planned(corpus, seeds, (runs[0].encoder, runs[0].attention))
        if len(runs) - len(absent) < plan:
            few.append(f"{name} ({len(runs) - len(absent)} of {plan} seeds)")
            plans.append(plan)
            following = following or absent[0]
    if following is None:
        return None
    none = not any(run.key in have for runs in models.values() for run in runs)
    told = f"no run of {len(models)} models" if none and len(models) > most_named else ", ".join(few)
    of_plan = min(plans)
    short = of_plan < min(seeds, HEADLINE_SEEDS) and not catalogue.corpus(corpus).generated
    note = f" ({of_plan} planned; a verdict needs {HEADLINE_SEEDS})" * short
    return f"{corpus}{note}: {told}; the next: {command(following)}"


def stored_runs(runs: list[Run]) -> list[Result]:
    """Those of the runs that are there: archived ones by record and summary alone, which is quick."""
    known = set(index.runs(source="archive", variant="any")["key"])
    quick = [run for run in runs if run.key in known]
    return index.results(run.key for run in quick) + obtain_all(run for run in runs if run not in quick)[0]


def is_standard(result: Result) -> bool:
    """Whether a run has the standard settings of its data set and model, whatever its seed."""
    run = from_dict(result.record["run"])
    return run.attention != "given" and run == Run(run.corpus, run.encoder, run.attention, run.seed)


def model_name(encoder: str, attention: str) -> str:
    """A model in words: 'BiLSTM, additive'."""
    return f"{ENCODER_NAMES[encoder]}, {ATTENTION_NAMES[attention]}"


def without_histograms(result: Result) -> Result:
    """The same result, its summary without the counts of the histograms (about half of it)."""
    if result.summary is None:
        return result
    kept = ~result.summary["measure"].str.startswith("hist:").to_numpy(bool)
    return replace(result, summary=result.summary[kept])


def coverage(found: list[Result], scored: pd.DataFrame) -> pd.DataFrame:
    """One row per data set with stored runs: corpus, n_seeds, most_seeds, n_train, n_dev, n_test, data, made.

    n_seeds, most_seeds: of its models with the fewest and the most. data: 'same', 'subset' or 'generated' as the
    scorecard says. made: of 'generated', what of it is. In the order of Table 1, others last.
    """
    models, last = {}, {}
    for result in found:
        run = result.record["run"]
        models.setdefault(run["corpus"], {}).setdefault((run["encoder"], run["attention"]), set()).add(run["seed"])
        last[run["corpus"]] = result.record
    data = scored[scored["data"] != "absent"].groupby("corpus")["data"].first()
    rows = [
        {"corpus": name, "n_seeds": min(len(seeds) for seeds in models[name].values()),
         "most_seeds": max(len(seeds) for seeds in models[name].values()),
         **{split: last[name][split] for split in ("n_train", "n_dev", "n_test")}, "data": data.get(name, "not scored"),
         "made": made(last[name]) if data.get(name) == "generated" else ""}
        for name in in_order(models)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["corpus", "n_seeds", "most_seeds", "n_train", "n_dev", "n_test", "data", "made"])


def in_order(names: Iterable[str]) -> list[str]:
    """Data sets in the order of Table 1, others behind them."""
    names, order = list(names), paper_sets()
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def told_coverage(rows: pd.DataFrame) -> str:
    """Test documents, seeds and kind of training data of each data set, for captions."""
    parts = []
    for row in rows.itertuples():
        of = f", {printed_sizes()[row.corpus]['train']:,.0f} in the paper" if row.corpus in printed_sizes() else ""
        kind = {
            "subset": f", trained on {row.n_train:,} and {row.n_dev:,} for development{of}",
            "generated": f", {row.made}",
        }.get(row.data, "")
        parts.append(f"{row.corpus} {row.n_test:,} ({seeds_in_words(row.n_seeds, row.most_seeds)}{kind})")
    return "; ".join(parts) or "no run"


# ---- groups of documents, and the authors' values for them -----------------------------------------------------------


def class_names(corpus: str) -> dict[int, str]:
    """Groups in which figures show a data set: predicted classes, or all questions of a question-answering set."""
    entry = catalogue.corpus(corpus)
    return {0: "all questions"} if entry.task == "question" else dict(enumerate(entry.classes))


def grouped(table: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """A document table whose column predicted holds the groups of `class_names` (questions are one group)."""
    return table.assign(predicted=0) if catalogue.corpus(corpus).task == "question" else table


def predicted_groups(corpus: str) -> dict[str, str]:
    """The same groups as they stand in summaries: value of `predicted` -> name; questions are 'all'."""
    names = class_names(corpus)
    return {"all": "all"} if catalogue.corpus(corpus).task == "question" else {str(k): v for k, v in names.items()}


def authors(table: str, corpus: str, **where: object) -> pd.DataFrame:
    """Rows of the authors' own runs for the groups of `class_names`, with column label, matched by class name.

    The order of SNLI's classes differs between their runs, so their class numbers are not used. Nothing for a data set
    that the paper does not have.
    """
    rows = reported(table, corpus=corpus, **where)
    entry = catalogue.corpus(corpus)
    if entry.task == "question":
        return rows[rows["class"] == "Overall"].assign(label=0)
    label = rows["class_name"].map({name: k for k, name in enumerate(entry.classes)})
    return rows.assign(label=label)[label.notna()].astype({"label": int})


def both_runs(table: str, keys: list[str], **where: object) -> pd.DataFrame:
    """Values of the authors' April and final runs in columns april and final, by the columns `keys`."""
    rows = reported(table, **where)
    rows = rows[rows["snapshot"].isin(RUNS_OF_THE_AUTHORS)]
    rows = rows.assign(**{key: rows[key].fillna("all") for key in keys}, run=rows["snapshot"].map(RUNS_OF_THE_AUTHORS))
    wide = rows.pivot_table(index=keys, columns="run", values="value", aggfunc="first")
    return wide.reindex(columns=["april", "final"]).reset_index()


# ---- numbers over seeds ----------------------------------------------------------------------------------------------


def over_models(every: pd.DataFrame, statistic: str, measure: str, predicted: str = "all", bin: str = "all"):
    """Mean over seeds with interval of one statistic, one row per corpus, encoder and attention."""
    part = every[every["statistic"] == statistic]
    part = part[(part["measure"] == measure) & (part["predicted"] == predicted) & (part["bin"] == bin)]
    return over_seeds(part, "corpus", "encoder", "attention")


def mean_of_sets(values: pd.DataFrame) -> dict[str, float]:
    """Mean over data sets of `value` (columns corpus, seed, value); its interval over the seeds that all sets have."""
    wide = values.pivot_table(index="seed", columns="corpus", values="value")
    shared = wide.dropna()
    means = shared.mean(axis=1).to_numpy()
    low, high = seed_interval(means) if len(means) else (np.nan, np.nan)
    mean = float(means.mean()) if len(means) else float(wide.mean().mean())
    return {
        "mean": mean,
        "low": low,
        "high": high,
        "n_seeds": len(means),
        "seeds": tuple(shared.index),
        "sets": wide.shape[1],
    }


def means_of_sets(values: pd.DataFrame, own: Iterable[str]) -> dict[str, object]:
    """`mean_of_sets` over the data sets with enough seeds: 'own' of the papers' own data, 'every' with the others too.

    own: names of the former. few: the sets with fewer seeds, in no mean, since one of them would leave hardly a seed
    that all share. Where no set has enough, all are taken.
    """
    counts = values.groupby("corpus", sort=False)["seed"].nunique()
    enough = list(counts.index[counts >= HEADLINE_SEEDS])
    used, few = (enough, [name for name in counts.index if name not in enough]) if enough else (list(counts.index), [])
    mine = [name for name in used if name in set(own)] or used
    found = {"own": mine, "every": used}
    means = {key: mean_of_sets(values[values["corpus"].isin(names)]) for key, names in found.items()}
    return {**{key: {**means[key], "names": names} for key, names in found.items()}, "few": few}


def few(rows: pd.DataFrame) -> str:
    """The data sets of `coverage` with fewer seeds than a verdict needs, in words."""
    return listed(f"{row.corpus} ({row.n_seeds})" for row in rows.itertuples() if row.n_seeds < HEADLINE_SEEDS)


def told_few(rows: pd.DataFrame) -> str:
    """`few` as a sentence, also where no data set has too few seeds."""
    found = few(rows)
    return (
        f"All have {HEADLINE_SEEDS} seeds or more" if found == "none" else f"Fewer than {HEADLINE_SEEDS} seeds: {found}"
    )
