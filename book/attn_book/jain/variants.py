"""Runs that differ from the standard ones in training size, checkpoint or width.

Everything is read from archived summaries; only generated corpora are trained live.
"""

from collections.abc import Iterable

import pandas as pd

from attn_book.across import coverage
from attn_book.reported import APRIL_RUN, FINAL_RUN, reported
from attn_book.words import ENCODER_NAMES, listed, seeds_in_words, told_seeds_of
from attn_core import index
from attn_core.archive import Result
from attn_core.commands import command
from attn_core.corpora import catalogue
from attn_core.index import HEADLINE_SEEDS, data_kind, documents, printed_sizes
from attn_core.measures import seed_interval
from attn_core.runs import Run, obtain
from attn_core.seeds import book_seeds, planned, summary_of, trained_twice


def stored(runs: Iterable[Run]) -> tuple[list[Result], list[Run]]:
    """Record and summary of the archived runs, and the absent ones. A generated corpus is trained live.

    Runs of the local cache alone count as absent: they have no summaries yet.
    """
    known, found, absent = set(index.runs(source="archive", variant="any")["key"]), [], []
    for run in runs:
        if catalogue.corpus(run.corpus).generated:
            found.append(obtain(run, progress=False, traces=False))
        elif run.key in known:
            found += index.results([run.key])
        else:
            absent.append(run)
    return found, absent


def standard(
    corpora: list[str], encoders: Iterable[str], seeds: int, selection: str
) -> tuple[dict[tuple[str, str], list[Result]], list[str]]:
    """(corpus, encoder) -> archived runs with additive attention and one choice of checkpoint; a line for those that
    lack seeds."""
    found, absent = {}, {}
    for corpus in corpora:
        for encoder in encoders:
            runs = (Run(corpus, encoder, seed=seed, selection=selection) for seed in book_seeds(corpus, seeds))
            found[corpus, encoder], missing = stored(runs)
            if len(found[corpus, encoder]) < min(3, seeds):
                absent[f"{corpus} {encoder}"] = missing[: planned(corpus, seeds) - len(found[corpus, encoder])]
    return found, gap_lines(absent, f"runs with selection {selection}")


def covering(runs: dict[tuple[str, str], list[Result]], encoders: Iterable[str]) -> pd.DataFrame:
    """`across.coverage` of the runs of some encoders. runs: of `standard`."""
    found = [result for (_, encoder), results in runs.items() if encoder in encoders for result in results]
    kinds = [(result.record["run"]["corpus"], data_kind(result.record)) for result in found]
    return coverage(found, pd.DataFrame(kinds, columns=["corpus", "data"]))


def gap_lines(absent: dict[str, list[Run]], what: str = "runs") -> list[str]:
    """One line for all named groups of absent runs, with the command of the first; none where nothing is absent."""
    lacking = {title: runs for title, runs in absent.items() if runs}
    if not lacking:
        return []
    told = ", ".join(f"{title} ({seeds_in_words(len(runs))})" for title, runs in lacking.items())
    first = next(iter(lacking.values()))[0]
    return [f"{what} absent: {told}; the next: {command(first)}"]


def values(results: list[Result], statistics: dict[str, tuple[str, str, str]], **names: object) -> pd.DataFrame:
    """One row per run and statistic: corpus, encoder, attention, seed, n_train, n_test, `names`, measure, value.

    statistics: heading (column measure) -> (statistic, predicted, measure) of the summary, all bins together.
    """
    rows = []
    for result in results:
        table, run = summary_of(result), result.record["run"]
        table = table[table["bin"] == "all"]
        found = dict(
            zip(zip(table["statistic"], table["predicted"], table["measure"], strict=True), table["value"], strict=True)
        )
        own = {name: run[name] for name in ("corpus", "encoder", "attention", "seed")}
        own |= {name: result.record[name] for name in ("n_train", "n_test")} | names
        rows += [
            own | {"measure": title, "value": found[place]} for title, place in statistics.items() if place in found
        ]
    return pd.DataFrame(
        rows, columns=["corpus", "encoder", "attention", "seed", "n_train", "n_test", *names, "measure", "value"]
    )


# ---- shares of the training set --------------------------------------------------------------------------------------


def by_fraction(
    corpora: list[str], fractions: list[float], seeds: int, encoder: str, attention: str,
    statistics: dict[str, tuple[str, str, str]],
) -> tuple[pd.DataFrame, list[str]]:  # fmt: skip
    """`values` of the runs on shares of the training set, with column fraction; a line for those that lack seeds."""
    frames, lacking = [], {}
    for corpus in corpora:
        for fraction in fractions:
            first = book_seeds(corpus, seeds)
            found, absent = stored(Run(corpus, encoder, attention, seed=seed, fraction=fraction) for seed in first)
            frames.append(values(found, statistics, fraction=fraction))
            lacking[f"{corpus} {fraction:.0%}"] = absent
    return pd.concat(frames, ignore_index=True), gap_lines(lacking, "runs on shares of the training documents")


def shares_inside(moved: pd.DataFrame, tolerance: float) -> list[float]:
    """The shares at which the whole 95 % interval of the differences lies inside the tolerance.

    moved: rows seeds, columns shares in ascending order, values minus those on the whole training set.
    """
    intervals = {share: seed_interval(moved[share].dropna().to_numpy()) for share in moved}
    return [share for share, (low, high) in intervals.items() if low >= -tolerance and high <= tolerance]


def safe_from(moved: pd.DataFrame, tolerance: float) -> float | None:
    """The smallest share that is inside (see `shares_inside`) together with all larger ones that were run; or None."""
    inside, shares = shares_inside(moved, tolerance), list(moved)
    return next((share for i, share in enumerate(shares) if set(shares[i:]) <= set(inside)), None)


def told_safe(moved: pd.DataFrame, tolerance: float) -> str:
    """Which smaller shares are inside, and from which on all are, in words."""
    inside, start = shares_inside(moved, tolerance), safe_from(moved, tolerance)
    if not inside:
        return "at none of the smaller shares that were run"
    every = "not at every larger one" if start is None else f"at every share that was run from {start:.0%} on"
    return f"at {' and '.join(f'{share:.0%}' for share in inside)}; {every}"


def authors_of_whole_set(corpora: list[str], encoder: str, attention: str) -> dict[tuple[str, str], dict[str, float]]:
    """The authors' accuracy and mean tau (mean of their class means) by (corpus, heading of the page) and snapshot."""
    found = {}
    for corpus in corpora:
        model = {"corpus": corpus, "encoder": encoder, "attention": attention}
        scores = reported("jain_repo_test_performance", statistic="accuracy", **model)
        taus = reported("jain_repo_correlations", statistic="mean", **model)
        named = taus["class_name"].notna()
        taus = taus[named] if named.any() else taus
        parts = {"accuracy": scores, "τ, attention and gradient": taus[taus["measure"] == "tau_gradient"],
                 "τ, attention and leave-one-out": taus[taus["measure"] == "tau_loo"]}  # fmt: skip
        for title, rows in parts.items():
            means = rows[rows["snapshot"].isin((APRIL_RUN, FINAL_RUN))].groupby("snapshot")["value"].mean()
            found[corpus, title] = means.to_dict()
    return found


def subsets() -> pd.DataFrame:
    """Archived data sets trained on less than the paper's data: corpus, n_train, n_dev, cut, printed, share, data.

    Read from the first seed of the BiLSTM with additive attention. printed: training documents of Table 1. cut: whether
    the development set was cut from them, as that count is meant; share: of printed, with n_dev where cut. data:
    'subset' or 'generated'.
    """
    rows, keys = [], [Run(corpus).key for corpus in printed_sizes()]
    for result in index.results(index.runs(source="archive", key=keys)["key"], summaries=False):
        record, corpus = result.record, result.record["run"]["corpus"]
        printed, count = printed_sizes()[corpus]["train"], documents(record, "train")[0]
        if data_kind(record) != "same":
            parts = record["n_train"], record["n_dev"], count > record["n_train"]
            rows.append((corpus, *parts, printed, count / printed, data_kind(record)))
    rows.sort(key=lambda row: list(printed_sizes()).index(row[0]))
    return pd.DataFrame(rows, columns=["corpus", "n_train", "n_dev", "cut", "printed", "share", "data"])


# ---- one field changed -----------------------------------------------------------------------------------------------


def told_trained_twice(first: dict[tuple[str, str], list[Result]], second: dict[tuple[str, str], list[Result]]) -> str:
    """'imdb BiLSTM (seeds 10, 50)': models whose two checkpoints are of two trainings, see `seeds.same_training`.

    first, second: of `standard`, one choice of checkpoint each.
    """
    twice = {place: trained_twice(results, second.get(place, [])) for place, results in first.items()}
    return listed(
        told_seeds_of(f"{name} {ENCODER_NAMES[model]}", seeds) for (name, model), seeds in twice.items() if seeds
    )


def paired(
    corpora: list[str], encoders: list[str], seeds: int, statistics: dict, **changed: object
) -> tuple[pd.DataFrame, list[str]]:
    """Standard runs beside the same with some fields changed: one row per model and statistic.

    Columns corpus, encoder, measure, n_seeds (that have both), standard, variant (means over those seeds), difference
    (variant minus standard), low, high (95 % Student t interval of the differences per seed, NaN below three seeds).
    Another choice of checkpoint is compared where both are of one training. The line names models without any variant.
    """
    rows, lacking = [], {}
    told = ", ".join(f"{name} {value}" for name, value in changed.items())
    for corpus in corpora:
        for encoder in encoders:
            first = book_seeds(corpus, seeds)
            found, absent = stored(Run(corpus, encoder, seed=seed, **changed) for seed in first)
            plain, _ = stored(Run(corpus, encoder, seed=result.record["run"]["seed"]) for result in found)
            if "selection" in changed:
                twice = trained_twice(plain, found)
                plain = [result for result in plain if result.record["run"]["seed"] not in twice]
            if not found:
                lacking[f"{corpus} {encoder}"] = absent[: planned(corpus, seeds)]
            both = values(found, statistics).merge(
                values(plain, statistics), on=["corpus", "encoder", "seed", "measure"]
            )
            for measure, part in both.groupby("measure", sort=False):
                difference = (part["value_x"] - part["value_y"]).to_numpy()
                low, high = seed_interval(difference)
                means = part["value_y"].mean(), part["value_x"].mean(), difference.mean()
                rows.append((corpus, encoder, measure, len(part), *means, low, high))
    columns = ["corpus", "encoder", "measure", "n_seeds", "standard", "variant", "difference", "low", "high"]
    return pd.DataFrame(rows, columns=columns), gap_lines(lacking, f"runs with {told}")


def comparable(rows: pd.DataFrame) -> pd.Series:
    """Which rows of `paired` over the choice of the checkpoint may be counted among chance differences.

    Not the score by which the test checkpoint was chosen, which is higher by construction (ROC AUC of single texts,
    accuracy of pairs), and no cell of fewer than HEADLINE_SEEDS seeds. measure: 'ROC AUC', 'accuracy', others.
    """
    text = rows["corpus"].map(lambda name: catalogue.corpus(name).task == "text")
    score = text.map({True: "ROC AUC", False: "accuracy"})
    return (rows["measure"] != score) & (rows["n_seeds"] >= HEADLINE_SEEDS)


# ---- search variants -------------------------------------------------------------------------------------------------

SEARCHES = {
    ("jsd", "code"): "JSD, 1/k² per ordered pair (code)", ("jsd", "paper"): "JSD, 1/(k(k−1)) per pair (paper)",
    ("kl", "code"): "KL, 1/k² per ordered pair", ("kl", "paper"): "KL, 1/(k(k−1)) per pair",
}  # fmt: skip
"""(objective, diversity) -> name."""


def searches(traces, epsilon: float, k: int = 5, steps: int = 500) -> pd.DataFrame:
    """Searched JSD and change of output of each document under each objective and diversity weight of SEARCHES.

    Columns (title, 'jsd') and (title, 'tvd'), one row per document; one logit (see `search`).
    """
    from attn_core.experiments.search import paper_diversity, search, select

    columns = {}
    for (objective, diversity), title in SEARCHES.items():
        weight = paper_diversity(k) if diversity == "paper" else None
        chosen = select(
            traces, search(traces, k=k, steps=steps, objective=objective, diversity=weight, progress=False), epsilon
        )
        columns |= {(title, name): chosen[name].to_numpy() for name in ("jsd", "tvd")}
    return pd.DataFrame(columns)
