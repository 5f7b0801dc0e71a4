"""Figures 3 and 5 and Table 4 of Wiegreffe & Pinter: how far seeds and adversaries lie from the base, the best of them.

All take `runs`, of `runs.table`. What differs by data set without runs is as in `tables`.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attn_book.reported import reported
from attn_book.wiegreffe.runs import (
    BEST_FROM,
    CONTINUED,
    GATED,
    adversaries,
    best_divergence,
    f1_by_seed,
    of_role,
    searched,
    seed_tables,
    whole,
)
from attn_book.wiegreffe.tables import NO_RUN, NOT_RERUN
from attn_book.words import told
from attn_core.corpora import catalogue
from attn_core.experiments import ATTENTION_BINS, frontier, variance
from attn_core.measures import seed_interval
from attn_core.runs import SEEDS

# ---- Figure 3 --------------------------------------------------------------------------------------------------------

MODELS_3 = {"random_seeds": "seeds", "jain_wallace_2019_per_instance_adversary": "search"}


def figure_3_documents(runs: pd.DataFrame, corpus: str, kind: str) -> pd.DataFrame | None:
    """A row a document: kind 'seeds' (`variance.per_instance`), 'search' (`frontier.searched`, seed 10); or None."""
    if kind == "seeds":
        tables = list(seed_tables(runs, corpus).values())
        return variance.per_instance(tables) if tables else None
    return searched(runs, corpus)


def base_traces(runs: pd.DataFrame, corpus: str):
    """Traces of the dev-chosen base of seed 10: the archive's sample; None without."""
    first = of_role(runs, corpus, "base")
    first = first[first["seed"] == SEEDS[0]]["result"]
    return whole(first.iloc[0]).traces if len(first) else None


def figure_3(documents: dict[tuple[str, str], pd.DataFrame | None], corpora: Iterable[str] = CONTINUED) -> pd.DataFrame:
    """Medians by bin and predicted class beside those read off Figure 3: one row per data set, kind, class and bin.

    documents: (corpus, kind) -> `figure_3_documents`. Columns corpus, kind, predicted, class_name, bin, theirs; n, q25,
    median, q75, low, high (bootstrap over documents) of ours, NaN where none.
    """
    read = reported("wiegreffe_figure3_digitised", statistic="median")
    read = read.assign(
        kind=read["model"].map(MODELS_3),
        predicted=read["measure"].str.endswith("pos").astype(int),
        bin=read["measure"].str.extract(r"=(\[[^;]*)")[0].str[:5],
    )
    theirs = read.set_index(["corpus", "kind", "predicted", "bin"])["value"]
    rows = []
    for corpus in corpora:
        for kind, column in (("seeds", "median"), ("search", "two")):
            table = documents.get((corpus, kind))
            ours = pd.DataFrame() if table is None else variance.by_bin(table, column).set_index(["predicted", "bin"])
            for predicted, name in enumerate(catalogue.corpus(corpus).classes):
                for label in ATTENTION_BINS:
                    value = theirs.get((corpus, kind, predicted, label[:5]), np.nan)
                    if (predicted, label) in ours.index:
                        row = ours.loc[(predicted, label)].to_dict()
                    elif np.isfinite(value):
                        row = {"n": 0, **dict.fromkeys(("q25", "median", "q75", "low", "high"), np.nan)}
                    else:
                        continue
                    rows.append(
                        {
                            "corpus": corpus,
                            "kind": kind,
                            "predicted": predicted,
                            "class_name": name,
                            "bin": label,
                            "theirs": value,
                            **row,
                        }
                    )
    return pd.DataFrame(rows)


def table_figure_3(medians: pd.DataFrame) -> pd.DataFrame:
    """Rows of `figure_3` as the page shows them: a line a data set, kind, class and bin, ours beside the paper's."""
    kinds = {"seeds": "seeds", "search": "per-document search"}
    lines = [
        {
            "data": r.corpus, "against the base": kinds[r.kind], "predicted": r.class_name, "largest weight": r.bin,
            "paper, median": "–" if np.isnan(r.theirs) else f"{r.theirs:.3f}",
            "ours, median": told(r.median, r.low, r.high, ".3f", (0, np.log(2))) if r.n else "–",
            "n": f"{int(r.n):,}" if r.n else "–",
        }
        for r in medians.itertuples()
    ]  # fmt: skip
    return pd.DataFrame(lines)


# ---- Figure 5 and Table 4 --------------------------------------------------------------------------------------------

KINDS = {
    "adversary": "trained adversaries",
    "seed": "other seeds",
    "uniform": "uniform model",
    "search": "per-document search",
}
MODELS_5 = {
    "trained_adversary_lambda_unknown": "adversary",
    "random_seed": "seed",
    "uniform_frozen": "uniform",
    "jain_wallace_2019_per_instance_adversary": "search",
}


def figure_5(runs: pd.DataFrame, corpus: str, searched: pd.DataFrame | None = None) -> pd.DataFrame:
    """Our points of one panel: kind (of KINDS), seed, divergence, jsd, tvd, tvd_halved, f1, settled (of adversaries).

    searched: `figure_3_documents(runs, corpus, 'search')`, of which the means over documents are the plus.
    """
    rows = []
    for r in adversaries(runs, corpus).itertuples():
        rows.append(["adversary", r.seed, r.divergence, r.jsd, r.tvd, r.f1, r.settled])
    for kind, name in (("seed", "base"), ("uniform", "uniform model")):
        rows += [
            [kind, r.seed, np.nan, r.jsd, r.tvd, r.f1, True]
            for r in of_role(runs, corpus, name).dropna(subset="jsd").itertuples()
        ]
    if searched is not None:
        rows.append(["search", SEEDS[0], np.nan, searched["jsd"].mean(), searched["tvd"].mean(), np.nan, True])
    found = pd.DataFrame(rows, columns=["kind", "seed", "divergence", "jsd", "tvd", "f1", "settled"])
    return found.assign(tvd_halved=frontier.HALVED * found["tvd"])


def figure_5_read(corpus: str) -> pd.DataFrame:
    """The paper's points of a panel, as read off: kind, point, jsd, tvd_halved; adversaries in their curve's order."""
    read = reported("wiegreffe_figure5_digitised", corpus=corpus)
    if not len(read):
        return pd.DataFrame(columns=["kind", "point", "jsd", "tvd_halved"])
    read = read.assign(
        kind=read["model"].map(MODELS_5), point=read["statistic"].str.extract(r"point=(\d+)")[0].astype(int)
    )
    wide = (
        read.pivot(index=["kind", "point"], columns="measure", values="value").reset_index().rename_axis(columns=None)
    )
    return wide.rename(columns={"JSD_attention_vs_base": "jsd", "TVD_prediction_vs_base": "tvd_halved"})


def climbs_read(levels: tuple[float, float], corpora: Iterable[str] = CONTINUED) -> pd.DataFrame:
    """How far the paper's own curves climb, measured on Figure 5 (halved TVD): one row per data set that it draws.

    Columns corpus, climb (from the first mean JSD of levels to the second), after (from the second to the curve's end,
    its largest JSD), end (that JSD). Straight lines between all neighbours: whether the points converged is not known.
    """
    rows = []
    for corpus in corpora:
        curve = figure_5_read(corpus).query("kind == 'adversary'")
        if len(curve):
            low, high = (frontier.tvd_at(curve["jsd"], curve["tvd_halved"], at) for at in levels)
            end = curve["jsd"].max()
            last = curve.loc[curve["jsd"] == end, "tvd_halved"].mean()
            rows.append([corpus, high - low, last - high, end])
    return pd.DataFrame(rows, columns=["corpus", "climb", "after", "end"])


def told_climbs(rows: pd.DataFrame, level: float) -> list[str]:
    """'imdb: +0.006, and +0.018 from JSD 0.6 to the curve's end (JSD 0.69)', a text each row of `climbs_read`.

    level: the second of the levels read.
    """
    return [
        f"{r.corpus}: {r.climb:+.3f}, and {r.after:+.3f} from JSD {level:g} to the curve's end (JSD {r.end:.2f})"
        for r in rows.itertuples()
    ]


def frontiers(runs: pd.DataFrame, corpus: str) -> dict[str, pd.DataFrame]:
    """The frozen base's frontiers (seed 10) on its trace sample: 'same epsilon', 'best sharing'; {} without traces."""
    traces = base_traces(runs, corpus)
    if traces is None:
        return {}
    jsd, tvd = frontier.optima(traces)
    return {"same epsilon": frontier.same_epsilon(jsd, tvd), "best sharing": frontier.best_sharing(jsd, tvd)}


def epochs(runs: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """JSD and TVD after each epoch of the adversaries: seed, divergence, epoch, jsd, tvd, dev_jsd, dev_tvd, loss, kept.

    jsd, tvd: on the test set. kept: the epoch whose weights count, the lowest training loss.
    """
    columns = ["epoch", "jsd", "tvd", "dev_jsd", "dev_tvd", "loss"]
    parts = [pd.DataFrame(columns=["seed", "divergence", *columns, "kept"])]
    for r in adversaries(runs, corpus).itertuples():
        history = pd.DataFrame(r.result.record["history"]).rename(columns={"jsd": "train_jsd", "tvd": "train_tvd"})
        history = history.rename(columns={"test_jsd": "jsd", "test_tvd": "tvd"})
        if {"jsd", "tvd", "loss"} <= set(history):
            kept = np.arange(len(history)) == history["loss"].to_numpy().argmin()
            history = history.reindex(columns=columns)  # dev is not in the oldest records
            parts.append(history.assign(seed=r.seed, divergence=r.divergence, kept=kept))
    return pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)


def cheapest(history: pd.DataFrame, levels: Iterable[float]) -> pd.DataFrame:
    """Of the models that all epochs leave, whatever their λ: the one nearest to the base's output, its JSD >= a level.

    Chosen within each seed on development data, both for the level and for the lowest TVD, and read on the test set: a
    model that exists need not have converged. history: of `epochs`. One row per level and seed that reaches it: at,
    seed, divergence, epoch, jsd, tvd_halved.
    """
    rows = []
    for at in levels:
        reached = history[history["dev_jsd"] >= at]
        chosen = reached.loc[reached.groupby("seed", sort=False)["dev_tvd"].idxmin()]
        rows.append(chosen.assign(at=at, tvd_halved=frontier.HALVED * chosen["tvd"]))
    columns = ["at", "seed", "divergence", "epoch", "jsd", "tvd_halved"]
    return pd.concat([pd.DataFrame(columns=columns), *(row[columns] for row in rows if len(row))], ignore_index=True)


def unconverged(runs: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """Adversaries that have not settled (`runs.MOVED`): seed, divergence, epochs, moved."""
    rows = adversaries(runs, corpus)
    return rows.loc[~rows["settled"], ["seed", "divergence", "epochs", "moved"]].reset_index(drop=True)


def table_4(runs: pd.DataFrame, corpora: Iterable[str]) -> pd.DataFrame:
    """Adversaries of a mean JSD of at least BEST_FROM, one row per data set and λ; the paper shows the best alone.

    Columns corpus, divergence, f1, low, high, base_f1 (of seed 10), jsd, tvd_halved, n_seeds, settled (all of them),
    best: highest F1 on the test set, converged or not, as the paper chooses by a recollection; state: how many have not
    converged ('' for none). The paper's own table was not seen. Data sets without such a λ have one row with n_seeds 0
    and a state that says why.
    """
    rows = []
    for corpus in corpora:
        found, base = adversaries(runs, corpus), f1_by_seed(runs, corpus, "base")
        best = best_divergence(found)
        far = [part for _, part in found.groupby("divergence") if part["jsd"].mean() >= BEST_FROM]
        for part in far:
            low, high = seed_interval(part["f1"].to_numpy(float))
            rows.append({
                "corpus": corpus, "divergence": part["divergence"].iloc[0], "f1": part["f1"].mean(), "low": low,
                "high": high, "base_f1": np.mean([base.get(seed, np.nan) for seed in part["base_seed"]]),
                "jsd": part["jsd"].mean(), "tvd_halved": frontier.HALVED * part["tvd"].mean(), "n_seeds": len(part),
                "settled": bool(part["settled"].all()), "best": part["divergence"].iloc[0] == best,
                "state": moving(part),
            })  # fmt: skip
        if not far:
            why = NOT_RERUN if corpus in GATED else f"no adversary of JSD {BEST_FROM:g}" if len(found) else NO_RUN
            rows.append({"corpus": corpus, "n_seeds": 0, "settled": False, "best": False, "state": why})
    columns = ["corpus", "divergence", "f1", "low", "high", "base_f1", "jsd", "tvd_halved", "n_seeds", "settled"]
    return pd.DataFrame(rows, columns=[*columns, "best", "state"])


def moving(part: pd.DataFrame) -> str:
    """'1 of 3 not converged', '' for none; part: rows of `adversaries`."""
    count = int((~part["settled"]).sum())
    return f"{count} of {len(part)} not converged" if count else ""
