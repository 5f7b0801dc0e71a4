"""The runs of Wiegreffe & Pinter's tests in one tidy table: base, uniform, guided networks, trained adversaries.

What a run is follows from its fields (`role`); what ought to be there, from the grids data/sweeps/wiegreffe-*.yml.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd

from attn_core import archive, index
from attn_core.archive import Result
from attn_core.corpora import catalogue
from attn_core.experiments import frontier
from attn_core.experiments.guides import SOURCES
from attn_core.experiments.search import search
from attn_core.experiments.variance import against
from attn_core.runs import SEEDS, Run, compared_with, from_dict

PAPER_SETS = ("diabetes", "anemia", "imdb", "sst", "agnews", "20news")
"""In the order of Table 2."""

GATED = ("diabetes", "anemia")
"""Medical records that only who has access can run; their rows are the authors' numbers, not rerun."""

CONTINUED = ("diabetes", "anemia", "sst", "imdb")
"""The data sets of Table 3 and Figures 3 and 5."""

LAST, MOVED = 5, 0.02
"""An adversary has settled if its JSD on the test set moved by at most MOVED over its last LAST epochs."""

BEST_FROM = 0.4
"""Mean JSD from which an adversary may be the best of its data set (the paper's Table 4, by a public note)."""


KNOBS = ("options", "hidden", "batch", "learning_rate", "epochs")
"""What may differ between runs on generated sets: their documents, and a size and a training that fit these."""


def role(run: Run) -> str:
    """'base', 'uniform model', 'adversary', 'guide: ' and a source of `experiments.guides.SOURCES`; '' for other runs.

    Data sets of single texts and two classes, seeds of the book's list and default settings only, apart from the
    checkpoint's choice, adversaries' epochs, and KNOBS on generated sets.
    """
    if (entry := catalogue.corpus(run.corpus)).task != "text" or len(entry.classes) != 2:
        return ""
    if entry.generated:  # its knobs, and the training that fits them, are not the papers'
        own = Run(run.corpus, run.encoder)
        run = replace(
            run, options=(), batch=own.batch, hidden=own.hidden, learning_rate=own.learning_rate, epochs=own.epochs
        )
    plain = replace(
        run, base=None, guide="", words="text", divergence=None, attention="tanh", selection="dev",
        epochs=None if run.divergence is not None and not entry.generated else run.epochs,
    )  # fmt: skip
    free = {name: getattr(run, name) for name in KNOBS} if entry.generated else {}
    if plain != Run(run.corpus, run.encoder, seed=run.seed, **free) or run.seed not in SEEDS:
        return ""
    if run.divergence is not None:
        return "adversary" if (run.encoder, run.attention) == ("lstm", "tanh") and role(run.base) == "base" else ""
    if run.encoder == "lstm":
        return {"tanh": "base", "uniform": "uniform model"}.get(run.attention, "")
    if run.encoder != "average":
        return ""
    source = {"uniform": "uniform", "tanh": "trained"}.get(run.attention, "")
    if run.guide:
        of = role(run.base)
        source = {"base": run.guide, "adversary": "adversary" if run.guide == "own" else ""}.get(of, "")
    words = "" if run.words == "text" else f", {run.words}"
    return f"guide: {source}{words}" if f"{source}{words}" in SOURCES else ""


def table(results: Iterable[Result]) -> pd.DataFrame:
    """One row per run that has a role, whatever its family.

    Columns corpus, role, seed, selection, divergence (of an adversary, or of the adversary that guides), base_seed, f1
    (of class 1), auc, accuracy, jsd and tvd (means over the test set beside the compared run, |dp|; NaN without one),
    positives (share of class 1 in the test set), n_train, n_test, epochs (trained), result.
    """
    rows = []
    for result in results:
        record, run = result.record, from_dict(result.record["run"])
        name = role(run)
        if not name:
            continue
        origin = run if run.divergence is not None else run.base
        per_class = record["statistics"]["splits"]["test"]["per_class"]
        beside = record.get("against", {})
        rows.append({
            "corpus": run.corpus, "role": name, "seed": run.seed, "selection": run.selection,
            "divergence": np.nan if origin is None or origin.divergence is None else origin.divergence,
            "base_seed": -1 if run.base is None else run.base.seed,
            "f1": record.get("f1_1", np.nan), "auc": record.get("auc", np.nan), "accuracy": record["accuracy"],
            "jsd": beside.get("jsd", np.nan), "tvd": beside.get("tvd", np.nan),
            "positives": per_class[1] / sum(per_class), "n_train": record["n_train"], "n_test": record["n_test"],
            "epochs": len(record.get("history", ())), "result": result,
        })  # fmt: skip
    first = ["corpus", "role", "seed", "selection", "divergence", "base_seed", "f1", "auc", "accuracy", "jsd", "tvd"]
    found = pd.DataFrame(rows, columns=[*first, "positives", "n_train", "n_test", "epochs", "result"])
    place = {seed: i for i, seed in enumerate(SEEDS)}
    return found.sort_values("seed", key=lambda seeds: seeds.map(place), kind="stable").reset_index(drop=True)


def of_role(runs: pd.DataFrame, corpus: str, name: str, selection: str = "dev") -> pd.DataFrame:
    """Rows of one data set, role and choice of checkpoint."""
    return runs[(runs["corpus"] == corpus) & (runs["role"] == name) & (runs["selection"] == selection)]


def f1_by_seed(runs: pd.DataFrame, corpus: str, name: str, selection: str = "dev") -> pd.Series:
    """seed -> F1 of class 1."""
    return of_role(runs, corpus, name, selection).set_index("seed")["f1"]


def adversaries(runs: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """`all_adversaries`, but of runs that differ in nothing but their epochs only the one trained for most."""
    longest = all_adversaries(runs, corpus).sort_values("epochs", ascending=False, kind="stable")
    one = longest.drop_duplicates(["seed", "base_seed", "divergence"])
    return one.sort_values(["seed", "divergence"], kind="stable")


def all_adversaries(runs: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """Trained adversaries of the dev-chosen base, by seed and divergence; their own checkpoints have no selection.

    Columns of `table`, and moved (`last_moved`), settled.
    """
    rows = runs[(runs["corpus"] == corpus) & (runs["role"] == "adversary")]
    dev = [result.record["run"]["base"]["selection"] == "dev" for result in rows["result"]]
    rows = rows[np.array(dev, bool)].sort_values(["seed", "divergence"], kind="stable")
    moved = np.array([last_moved(result.record.get("history", ())) for result in rows["result"]], float)
    return rows.assign(moved=moved, settled=moved <= MOVED)


def that_guide(runs: pd.DataFrame, corpus: str, guided: pd.DataFrame) -> pd.DataFrame:
    """The rows of `all_adversaries` whose weights were handed to one of the guided networks (rows of `table`)."""
    rows = all_adversaries(runs, corpus)
    bases = {from_dict(result.record["run"]).base.key for result in guided["result"]}
    return rows[np.array([result.key in bases for result in rows["result"]], bool)]


def last_moved(history: list[dict]) -> float:
    """How far the mean JSD on the test set moved over the last LAST epochs: largest minus smallest; NaN if unknown."""
    tail = [epoch.get("test_jsd", np.nan) for epoch in history[-LAST - 1 :]]
    return float(np.ptp(tail)) if len(tail) else np.nan


def whole_curves(runs: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """`adversaries` of seeds with every planned divergence of the data set: nothing is read off part of a curve."""
    rows = adversaries(runs, corpus)
    wanted = {run.divergence for run in planned() if run.corpus == corpus and run.divergence is not None}
    whole = [seed for seed, curve in rows.groupby("seed") if wanted <= set(curve["divergence"])]
    return rows[rows["seed"].isin(whole)]


def best_divergence(rows: pd.DataFrame) -> float:
    """The divergence of the best adversary: among those whose mean JSD (over seeds) is at least BEST_FROM the one with
    the highest mean F1; NaN where none is. rows: of `adversaries`. The choice is made on the test set, as in the
    paper."""
    means = rows.groupby("divergence")[["jsd", "f1"]].mean()
    means = means[means["jsd"] >= BEST_FROM]
    return float(means["f1"].idxmax()) if len(means) else np.nan


def guided_scores(runs: pd.DataFrame, corpora: Iterable[str], selection: str = "dev") -> pd.DataFrame:
    """The table that `experiments.guides` takes: corpus, source, seed, base_seed (of the model whose
    weights guide, -1 for none), f1, auc, accuracy, positives, divergence, result.

    Of several adversaries that guide, the one of their best divergence counts; where none is far enough from its base
    for that, the one with the largest.
    """
    rows = runs[runs["role"].str.startswith("guide: ") & (runs["selection"] == selection)]
    rows = rows.assign(source=rows["role"].str.removeprefix("guide: "))
    parts = [rows.iloc[:0]]
    for corpus in corpora:
        mine = rows[rows["corpus"] == corpus]
        guides = mine[mine["source"] == "adversary"]
        if len(guides):
            best = best_divergence(that_guide(runs, corpus, guides))
            chosen = guides["divergence"].max() if np.isnan(best) else best
            mine = mine[(mine["source"] != "adversary") | (mine["divergence"] == chosen)]
        parts.append(mine)
    columns = ["corpus", "source", "seed", "base_seed", "f1", "auc", "accuracy", "positives", "divergence", "result"]
    return pd.concat(parts)[columns].drop_duplicates(["corpus", "source", "seed"]).reset_index(drop=True)


# ---- what is compared document by document ---------------------------------------------------------------------------


def whole(result: Result) -> Result:
    """A result with its traces and its table `against`: read again where it was read by its summary alone."""
    more = {"traces.parquet", "against.parquet"} & set(result.record.get("files", ()))
    if result.source != "archive" or result.traces is not None or result.against is not None or not more:
        return result
    return archive.read(archive.archive_folder(), result.key)


def seed_tables(runs: pd.DataFrame, corpus: str) -> dict[int, pd.DataFrame]:
    """seed -> its table of `experiments.variance.against` beside seed 10: further seeds of the dev-chosen base.

    Runs trained live have none stored: theirs are made from the traces at hand.
    """
    rows = of_role(runs, corpus, "base")
    first = rows[rows["seed"] == SEEDS[0]]["result"]
    found = {}
    for row in rows.itertuples():
        if compared_with(from_dict(row.result.record["run"])) is None:
            continue
        result = whole(row.result)
        if result.against is not None:
            found[row.seed] = result.against
        elif result.traces is not None and len(first):
            base = whole(first.iloc[0]).traces
            if base is not None and result.source != "archive":
                found[row.seed] = against(base, result.traces)
    return found


def searched(runs: pd.DataFrame, corpus: str) -> pd.DataFrame | None:
    """One row per document of the trace sample of the dev-chosen base of seed 10: the per-document search.

    None without its traces. The search (`frontier.searched`) of an archived run is made once in a process: some
    seconds.
    """
    first = of_role(runs, corpus, "base")
    first = first[first["seed"] == SEEDS[0]]["result"]
    if not len(first):
        return None
    result = whole(first.iloc[0])
    if result.traces is None:
        return None
    if result.source != "archive" or "traces.parquet" not in result.record.get("files", ()):
        return frontier.searched(result.traces, search(result.traces))
    return searched_once(result.key)


@lru_cache(maxsize=None)
def searched_once(key: str) -> pd.DataFrame:
    """`frontier.searched` of an archived run, made once and kept in the cache; not to be changed in place."""
    def make():
        traces = archive.read(archive.archive_folder(), key).traces
        return frontier.searched(traces, search(traces))

    source = index.results([key], summaries=False)[0].record["files"]["traces.parquet"]
    return index.kept(f"searched-{key}", source, make)


# ---- what ought to be there ------------------------------------------------------------------------------------------


@lru_cache(maxsize=None)
def planned() -> dict[Run, str]:
    """The runs of data/sweeps/wiegreffe-*.yml and the file that plans each; none where a download holds no grids."""
    from attn_core.sweep import read_grid

    folder = archive.archive_folder().parent / "sweeps"
    return {
        run: f"data/sweeps/{path.name}" for path in sorted(folder.glob("wiegreffe-*.yml")) for run in read_grid(path)
    }


def planned_pairs(seeds: int = len(SEEDS)) -> dict[str, int]:
    """Data set -> pairs of base and uniform model planned for it, of the book's first seeds."""
    twins = {(run.corpus, run.seed) for run in planned() if role(run) == "uniform model"}
    return dict(Counter(corpus for corpus, seed in twins if seed in SEEDS[:seeds]))


def gather(corpora: Iterable[str]) -> pd.DataFrame:
    """The `table` of stored runs on some data sets, by record alone; absent ones: `pages.absent_runs`."""
    keys = index.runs(source="archive", corpus=list(corpora), variant="any")["key"]
    return table(index.results(sorted(keys), summaries=False))
