"""The authors' own runs beside each other: Table 2 in three of them, the bars of Figures 3 to 5, medians by bin."""

import numpy as np
import pandas as pd

from attn_book.reported import APRIL_RUN, FINAL_RUN, reported
from attn_core.archive import Result
from attn_core.seeds import summary_of

FIRST_RUN = "2019-02-25"
"""Snapshot of the authors' first version; it holds the classification sets, BiLSTM with additive attention."""


def table2_in_three_runs() -> pd.DataFrame:
    """The cells of Table 2 that hold means, in each run of the authors.

    One row per corpus, group (class name, 'all' for questions), encoder, measure: printed, first, april, final; NaN
    where a run has no such cell. Classes are matched by name.
    """
    keys = ["corpus", "group", "encoder", "measure"]
    printed = reported("jain_table2_kendall_tau", statistic="mean")
    cells = reported("jain_repo_correlations", statistic="mean", attention="tanh")
    frames = {"printed": printed} | {
        name: cells[cells["snapshot"] == snapshot]
        for name, snapshot in (("first", FIRST_RUN), ("april", APRIL_RUN), ("final", FINAL_RUN))
    }  # fmt: skip
    columns = []
    for name, frame in frames.items():
        overall = frame["class_name"].isna()  # beside classes by name, 'Overall' is an extra of the final run
        group = frame["class_name"].where(~overall, "all")
        columns.append(frame.assign(group=group).groupby(keys, sort=False)["value"].first().rename(name))
    return pd.concat(columns, axis=1).dropna(subset=["printed"]).reset_index()


def bars() -> pd.DataFrame:
    """Figures 3 to 5 as the authors' files give them: corpus, three, four, five, five_gradient; the mean of 12 last."""
    names = {
        "Figure 3": "three",
        "Figure 4": "four",
        "Figure 5": "five",
        "Figure 5 (gradient variant)": "five_gradient",
    }
    rows = reported("jain_fig3_4_5_bars")
    wide = rows.pivot_table(index="corpus", columns="table", values="value", sort=False)
    return wide.rename(columns=names)[list(names.values())].reset_index()


def quartiles_by_bin(
    measure: str, statistic: str = "median", encoder: str = "lstm", attention: str = "tanh"
) -> pd.DataFrame:
    """A quartile of the authors' violins by class and bin in both runs: corpus, group, bin, april, final."""
    rows = reported(
        "jain_repo_svg_summaries", measure=measure, statistic=statistic, encoder=encoder, attention=attention
    )
    rows = rows[rows["max_attention_bin"].notna()].assign(
        group=rows["class_name"].fillna("all"), bin=rows["max_attention_bin"].str[:5]
    )
    wide = rows.pivot_table(index=["corpus", "group", "bin"], columns="snapshot", values="value", sort=False)
    return (
        wide.rename(columns={APRIL_RUN: "april", FINAL_RUN: "final"}).reindex(columns=["april", "final"]).reset_index()
    )


def medians_by_bin(results: list[Result], statistic: str, fewest: int) -> pd.Series:
    """Our medians by (predicted, first characters of the bin): mean over seeds.

    Bins with fewer than `fewest` documents in some seed, or in none, are left out: their median says nothing.
    """
    rows = pd.concat([summary_of(result) for result in results], keys=[r.record["run"]["seed"] for r in results])
    rows = rows[(rows["statistic"] == statistic) & (rows["bin"] != "all") & rows["measure"].isin(("n", "median"))]
    rows = rows.assign(seed=rows.index.get_level_values(0), bin=rows["bin"].str[:5])
    wide = rows.pivot_table(index=["predicted", "bin", "seed"], columns="measure", values="value")
    by_bin = wide.reindex(columns=["n", "median"]).groupby(level=["predicted", "bin"])
    enough = (by_bin["n"].min() >= fewest) & (by_bin["median"].count() == len(results))
    return by_bin["median"].mean()[enough]


def spread(cells: pd.DataFrame, first: str, second: str) -> dict[str, object]:
    """Median and largest absolute difference of two columns, the row of the largest, and the number compared."""
    apart = (cells[first] - cells[second]).abs().dropna()
    if apart.empty:
        return {"median": np.nan, "largest": np.nan, "cell": None, "n": 0}
    return {
        "median": float(apart.median()),
        "largest": float(apart.max()),
        "cell": cells.loc[apart.idxmax()],
        "n": len(apart),
    }


def topk_distances(attention: str = "tanh") -> pd.DataFrame:
    """The authors' top-k Kendall distance of attention and importance, mean of the classes, one row per data set.

    0: the same top words in the same order, 1: as far apart as can be. Columns (encoder, 'gradient' or 'loo') for lstm
    and average; they lie in the files of the final run alone. Not in the paper, and not computed for our runs.
    """
    rows = reported("jain_repo_correlations", statistic="mean", attention=attention)
    rows = rows[rows["measure"].str.startswith("topk_distance_") & rows["encoder"].isin(("lstm", "average"))]
    rows = rows.assign(kind=rows["measure"].str.removeprefix("topk_distance_"))
    wide = rows.pivot_table(index="corpus", columns=["encoder", "kind"], values="value", aggfunc="mean")
    order = [name for name in dict.fromkeys(reported("jain_table1_datasets")["corpus"]) if name in wide.index]
    return wide.loc[order, [(model, kind) for model in ("lstm", "average") for kind in ("gradient", "loo")]]
