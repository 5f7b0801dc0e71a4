"""Archived summaries of several seeds side by side, and means over seeds with Student t intervals."""

from collections.abc import Iterable

import pandas as pd

from attn_core import index
from attn_core.archive import Result
from attn_core.corpora import catalogue
from attn_core.errors import AttnError
from attn_core.index import HEADLINE_SEEDS
from attn_core.measures import seed_interval
from attn_core.runs import SEEDS, AbsentRun, Run, from_dict, obtain

LOSSES_ALIKE = 0.001
"""Two trainings of a seed count as one while their losses lie this close: rounding differs from version to version."""

FIVE_SEEDS = ("sst", "20news", "agnews", "babi_1", "imdb_stars", "20news_all", "amazon", "agnews_all")
"""Data sets of which every model has five seeds; of the others three, five of the models that claims are about."""


CLAIMED = (("lstm", "tanh"), ("average", "tanh"))
"""Models that Jain & Wallace's claims are about."""


def planned(corpus: str, seeds: int, model: tuple[str, str] | None = None) -> int:
    """Seeds that a model of a data set should have when `seeds` are asked for; generated data sets have one.

    model: (encoder, attention); None of any.

    The BiLSTM with additive attention has more, for Wiegreffe & Pinter's experiments; tables take all there are.
    """
    if catalogue.corpus(corpus).generated:
        return 1
    return min(seeds, HEADLINE_SEEDS if corpus in FIVE_SEEDS or model in CLAIMED else 3)


def same_training(first: Result, second: Result) -> bool:
    """Whether two results hold checkpoints of one training: their losses are `LOSSES_ALIKE` after every epoch.

    A seed that was trained twice is two models where rounding led them apart; a difference of their numbers is then no
    effect of the field in which they differ.
    """
    losses = [[epoch["loss"] for epoch in result.record.get("history", ())] for result in (first, second)]
    return len(losses[0]) == len(losses[1]) and all(
        abs(one - other) <= LOSSES_ALIKE for one, other in zip(*losses, strict=True)
    )


def trained_twice(first: list[Result], second: list[Result]) -> list[int]:
    """Seeds that both lists hold, but of two trainings (not `same_training`)."""
    others = {result.record["run"]["seed"]: result for result in second}
    seeds = {result.record["run"]["seed"]: result for result in first}
    return [seed for seed, one in seeds.items() if seed in others and not same_training(one, others[seed])]


def book_seeds(corpus: str, count: int) -> tuple[int, ...]:
    """The first `count` seeds of the book's list; one for a generated corpus, which is trained live."""
    if not 1 <= count <= len(SEEDS):
        raise AttnError(f"seeds must lie between 1 and {len(SEEDS)}, got {count}")
    return SEEDS[:1] if catalogue.corpus(corpus).generated else SEEDS[:count]


def obtain_all(runs: Iterable[Run]) -> tuple[list[Result], list[str]]:
    """Stored results of the runs and one line for each absent run."""
    results, absent = [], []
    for run in runs:
        try:
            results.append(obtain(run, traces=False))
        except AbsentRun as error:
            absent.append(str(error))
    return results, absent


FAMILIES = ("text", "pair", "hierarchical", "guided", "adversary")
"""All families of runs, see `Run.family`; Jain & Wallace's are the first two."""


def stored_summaries(families: tuple[str, ...] = FAMILIES[:2]) -> list[Result]:
    """Every archived run of some families (`Run.family`) by its record and summary alone, which is quick.

    Without those of corpora, encoders and attentions that this process does not know.
    """
    keys = index.runs(source="archive", family=list(families), variant="any")["key"]
    return index.results(sorted(keys))


def summary_of(result: Result) -> pd.DataFrame:
    """The summary of one run with its test scores: statistic, predicted, bin, measure, value."""
    from attn_core.experiments import document_table, erasure, summary_table

    summary = result.summary
    if summary is None and from_dict(result.record["run"]).family == "hierarchical":
        summary = erasure.summary_table(erasure.document_table(result.traces))
    elif summary is None:  # trained live: the same tables from its traces
        summary = summary_table(document_table(result.traces), result.traces.classes)
    known = ("accuracy", "macro_f1", "auc")  # and f1_<class>; questions have no AUC
    scores = {name: value for name, value in result.record.items() if name in known or name.startswith("f1_")}
    scores = {name: value for name, value in scores.items() if value is not None}
    rows = pd.DataFrame({"statistic": list(scores), "predicted": "all", "bin": "all", "measure": "value",
                         "value": list(scores.values())})  # fmt: skip
    return pd.concat([summary, rows], ignore_index=True)


def summaries(results: list[Result]) -> pd.DataFrame:
    """The archived summaries in one tidy table: run fields, statistic, predicted, bin, measure, value."""
    frames = []
    for result in results:
        run = result.record["run"]
        names = {name: run[name] for name in ("corpus", "encoder", "attention", "seed", "selection")}
        frames.append(summary_of(result).assign(**names))
    if not frames:
        raise AbsentRun("no run to summarise; `python -m attn_core archive list` shows what is stored")
    return pd.concat(frames, ignore_index=True)


def paired_difference(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, float]:
    """Mean over shared seeds of first minus second `value` (one row per seed each), with its Student t interval."""
    both = first.set_index("seed")["value"].sub(second.set_index("seed")["value"]).dropna()
    low, high = seed_interval(both.to_numpy())
    return {"mean": float(both.mean()), "low": low, "high": high, "n_seeds": len(both)}
