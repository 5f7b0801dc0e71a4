"""The scorecard page's tables, counts and sentences, from the rows of scorecard.py."""

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.runs import AbsentRun
from attn_core.scorecard import CLAIM, COUNTED, scorecard
from attn_core.seeds import HEADLINE_SEEDS

RANGES = {
    "sig_frac": (0, 1), "share_above_0.4": (0, 1), "median": (0, 1), "F1": (0, 1), "mean": (-1, 1), "std": (0, 1),
    "mean_binned": (0, np.log(2)), "mean difference": (-2, 2),
}  # fmt: skip
"""Values that a statistic can take at all (those of the data have no intervals)."""

CLAIM_RANGES = {"share_below_0.1": (0, 1), "share_above_0.4": (0, 1), "mean": (-2, 2)}


def paper_rows(paper: str, corpora: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of one paper: all of them, and those of `corpora` that were rerun, with the rule in words and clipped intervals.

    AbsentRun where none of them was rerun, for there is nothing to show then.
    """
    rows = scorecard()
    rows["rule"] = rows["rule"].str.replace(r" \(specification[^)]*\)", "", regex=True)
    if paper not in set(rows["paper"]):
        raise AttnError(f"no scored rows for paper '{paper}'; paper takes: {', '.join(rows['paper'].unique())}")
    rows = rows[rows["paper"] == paper].assign(part=rows["item"].map(part_of))
    rerun = rows[rows["corpus"].isin(corpora) & (rows["verdict"] != "not rerun")]
    if rerun.empty:
        raise AbsentRun(
            f"no archived run of {', '.join(corpora)}; `python -m attn_core archive list` shows what is stored"
        )
    return rows, clipped(rerun)


def part_of(item: str) -> str:
    """Where in the paper an item stands, without bins and without the wording of claims: 'Figure 6', 'claims'."""
    return "claims" if item.startswith("claim") else item.split(" [")[0]


def source_of(item: str) -> str:
    """Where the reported value comes from; only the two tables are printed numbers."""
    if item.startswith("claim"):
        return "threshold of the rule"
    return "printed" if item.startswith("Table") else "read off the authors' figures or files"


def clipped(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with their intervals cut at the values that the statistic can take, and a column `cut` that says where.

    Student's t knows no bounds: the interval of a share near 1 may reach beyond 1.
    """
    measure = {item: name for item, (name, _) in CLAIM.items()}
    bounds = [
        CLAIM_RANGES[measure[row.item]] if row.item in measure else RANGES.get(row.statistic, (-np.inf, np.inf))
        for row in rows.itertuples()
    ]
    bottom, top = (np.array(ends, float) for ends in zip(*bounds, strict=True))
    cut = (rows["low"] < bottom) | (rows["high"] > top)
    return rows.assign(low=rows["low"].clip(bottom, top), high=rows["high"].clip(bottom, top), cut=cut)


def counts_by_verdict(rows: pd.DataFrame, corpora: list[str]) -> pd.DataFrame:
    """Rows of each part of the paper by verdict on `corpora`; only the paper's own data count as replication."""
    here, same = rows["corpus"].isin(corpora), rows["data"] == "same"
    column = np.select(
        [~here, rows["verdict"] == "not rerun", same], ["other data sets", "not judged", rows["verdict"]], "other data"
    )
    table = pd.crosstab(rows["part"], column).reindex(rows["part"].unique())
    wanted = ["reproduced", "differs", "not judged", "other data", "other data sets"]
    return table.reindex(columns=[name for name in wanted if name in table or name in wanted[:3]], fill_value=0)


def in_tolerances(rows: pd.DataFrame) -> pd.DataFrame:
    """Ours minus reported, and the interval, in units of the tolerance (|mean| <= 1: reproduced); numbered for drawing.

    Left out: claims (they have a threshold), counts and lengths of the data (they have no seeds). `part` splits Table 2 and
    Figure 7 by statistic; `y` counts lines from the top with a gap between parts.
    """
    rows = rows[(rows["tolerance"] > 0) & ~rows["measure"].isin(COUNTED)].reset_index(drop=True)
    kinds = {
        "mean": "means",
        "std": "std",
        "sig_frac": "shares p ≤ 0.05",
        "mean_binned": "means",
        "share_above_0.4": "shares > 0.4",
    }
    split = rows["part"].isin(["Table 2", "Figure 7"])
    part = rows["part"].where(~split, rows["part"] + ", " + rows["statistic"].map(kinds))
    values = {name: (rows[name] - rows["reported"]) / rows["tolerance"] for name in ("low", "high")}
    rows = rows.assign(mean=(rows["ours"] - rows["reported"]) / rows["tolerance"], part=part, **values)
    order = {name: i for column in ("part", "corpus") for i, name in enumerate(rows[column].unique())}
    rows = rows.sort_values(["part", "corpus"], key=lambda names: names.map(order), kind="stable")
    return rows.assign(y=np.arange(len(rows)) + 1.5 * rows["part"].map(order).to_numpy())


def threshold_side(row) -> str:
    """Where the interval of a claim lies: it 'clears' the threshold, 'contains' it, or lies 'opposite'."""
    if not (np.isfinite(row.low) and np.isfinite(row.high)):
        return "no interval"
    above, below = row.low > row.reported, row.high < row.reported
    if not above and not below:
        return "contains"
    return "clears" if above == (CLAIM[row.item][1] == "above") else "opposite"


def seeds_in_words(row) -> str:
    """Number of seeds of a row, marked where they are too few to decide; counts of documents need none."""
    if row.measure in COUNTED:
        return "–"
    return f"{row.n_seeds}" if row.n_seeds >= HEADLINE_SEEDS else f"{row.n_seeds} (few)"
