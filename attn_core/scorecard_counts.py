"""Counts of the scorecard: by data set, by when a rule was fixed, by part of the paper; the means of Table 2."""

import numpy as np
import pandas as pd

from attn_core.claims import PATTERNS
from attn_core.data_counts import COUNTED
from attn_core.scorecard import added_after
from attn_core.scorecard_page import ASKED_ANEW, threshold_side
from attn_core.seeds import HEADLINE_SEEDS

UNCOUNTED = (*PATTERNS, *ASKED_ANEW)
"""Some patterns ask the opposite of a claim of the same number, and claims asked anew ask one a second time."""


def counts_by_corpus(rows: pd.DataFrame, corpora: list[str]) -> pd.DataFrame:
    """One line per data set: data, training documents, rows by verdict, and why rows have none; without UNCOUNTED.

    Two totals: "paper's own" data, which alone count as replication, and all "other" data.
    """
    lines, rows = [], rows[~rows["item"].isin(UNCOUNTED)]
    for corpus in corpora:
        mine = rows[rows["corpus"] == corpus]
        run = mine[mine["data"] != "absent"]
        data, size = (run["data"].iloc[0], run["n_train"].iloc[0]) if len(run) else ("absent", pd.NA)
        lines.append({"data set": corpus, "data": data, "train": size, **verdicts(mine)})
    table = pd.DataFrame(lines)
    counts = [name for name in table.columns[3:]]
    totals = []
    for name, chosen in (
        ("paper's own", table["data"] == "same"),
        ("other", table["data"].isin(("subset", "generated"))),
    ):
        if chosen.any():
            totals.append({"data set": name, "data": "", "train": pd.NA, **table.loc[chosen, counts].sum()})
    return pd.concat([table, pd.DataFrame(totals)], ignore_index=True).astype({"train": "Int64"})


def verdicts(rows: pd.DataFrame) -> dict[str, int]:
    """Rows by verdict, those without one by what they lack."""
    found = {name: int((rows["verdict"] == name).sum()) for name in ("reproduced", "differs")}
    lacks = {
        "few seeds": ("few seeds",),
        "few documents": ("few documents", "no document"),
        "no run": ("no run", "incomplete curve"),
    }
    return found | {name: int(rows["unjudged"].isin(reasons).sum()) for name, reasons in lacks.items()}


def counts_by_rule(rows: pd.DataFrame) -> dict[str, int]:
    """Rows with a verdict: on the paper's own data and on other data, by when the rule was fixed.

    Keys reproduced, differs: own data, rules committed before the runs; late_reproduced, late_differs: own data, rules
    added after runs were stored; other_reproduced, other_differs, other_late (of both): other data, no replication.
    judged: all of them; few: with fewer than five seeds, counts of the data apart; undecided: claims among those that
    differ whose interval contains the threshold, so that nothing is decided. UNCOUNTED are left out.
    """
    judged = rows[(rows["verdict"] != "not rerun") & ~rows["item"].isin(UNCOUNTED)]
    same, late, good = judged["data"] == "same", added_after(judged), judged["verdict"] == "reproduced"
    claims = judged[judged["item"].str.startswith("claim")]
    chosen = {
        "reproduced": same & ~late & good, "differs": same & ~late & ~good,
        "late_reproduced": same & late & good, "late_differs": same & late & ~good,
        "other_reproduced": ~same & good, "other_differs": ~same & ~good, "other_late": ~same & late,
        "few": (judged["n_seeds"] < HEADLINE_SEEDS) & ~judged["measure"].isin(COUNTED),
    }  # fmt: skip
    found = {name: int(mask.sum()) for name, mask in chosen.items()}
    return found | {
        "judged": len(judged),
        "undecided": sum(threshold_side(row) == "contains" for row in claims.itertuples()),
    }


def counts_by_part(rows: pd.DataFrame, corpora: list[str]) -> pd.DataFrame:
    """Reproduced of judged rows ('12/18'), one line per part of the paper and one column per data set."""
    parts = sorted(
        rows["part"].unique(), key=lambda part: ("TFwcpb".find(part[0]), part)
    )  # tables, figures, web, claims, patterns, bands; what is of no such kind comes first
    table = pd.DataFrame("", index=parts, columns=corpora)
    judged = rows[(rows["verdict"] != "not rerun") & rows["corpus"].isin(corpora)]
    for (part, corpus), mine in judged.groupby(["part", "corpus"]):
        table.loc[part, corpus] = f"{(mine['verdict'] == 'reproduced').sum()}/{len(mine)}"
    return table[(table != "").any(axis=1)]


def table2_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Means of Table 2 with a verdict, by data ('all', 'same', 'other'): columns within, of, share."""
    cells = rows[(rows["item"] == "Table 2") & (rows["statistic"] == "mean") & (rows["verdict"] != "not rerun")]
    same = cells["data"] == "same"
    lines = {}
    for name, chosen in (("all", same | True), ("same", same), ("other", ~same)):
        within = int((cells.loc[chosen, "verdict"] == "reproduced").sum())
        lines[name] = {
            "within": within,
            "of": int(chosen.sum()),
            "share": within / chosen.sum() if chosen.any() else np.nan,
        }
    return pd.DataFrame(lines).T
