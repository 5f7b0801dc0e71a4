"""Counts of the scorecard: by data set, by when a rule was fixed, by part of the paper; the means of Table 2."""

import numpy as np
import pandas as pd

from attn_book.debate.scorecard_page import ASKED_ANEW, threshold_side
from attn_book.derived import COUNTED
from attn_book.jain.claims import PATTERNS
from attn_core.index import HEADLINE_SEEDS

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
    same, late, good = judged["data"] == "same", judged["late"] == "yes", judged["verdict"] == "reproduced"
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
    """Reproduced of judged rows ('12/18'), one line per part of the paper and one column per data set.

    A bracket says how many of the reproduced would also be so by a value of 0, where any would: '12/18 (7)'.
    """
    parts = sorted(
        rows["part"].unique(), key=lambda part: ("TFwcpb".find(part[0]), part)
    )  # tables, figures, web, claims, patterns, bands; what is of no such kind comes first
    table = pd.DataFrame("", index=parts, columns=corpora)
    judged = rows[(rows["verdict"] != "not rerun") & rows["corpus"].isin(corpora)]
    for (part, corpus), mine in judged.groupby(["part", "corpus"]):
        good = mine["verdict"] == "reproduced"
        zero = int((good & zero_holds(mine)).sum())
        table.loc[part, corpus] = f"{good.sum()}/{len(mine)}" + (f" ({zero})" if zero else "")
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


# ---- how much a verdict says -----------------------------------------------------------------------------------------

NOTHING = ("mean", "median", "q25", "q75", "mean_binned", "mean difference", "share_above_0.4")
"""Statistics of tau, changes and JSD that are 0 where nothing is: no agreement, no change, no distance."""

KINDS = ("counts of the data", "scores", "means", "spreads and shares", "medians and quartiles", "claims")


def zero_holds(rows: pd.DataFrame) -> pd.Series:
    """Which rows a model that knows nothing would pass: 0 lies within the tolerance of the reported value."""
    number = rows["statistic"].isin(NOTHING) & ~rows["measure"].isin((*COUNTED, "test_performance"))
    return number & ~rows["item"].str.startswith("claim") & (rows["reported"].abs() <= rows["tolerance"] + 1e-9)


def kind_of(row) -> str:
    """One of KINDS."""
    if row.item.startswith("claim"):
        return "claims"
    if row.measure in COUNTED:
        return "counts of the data"
    if row.measure == "test_performance":
        return "scores"
    names = {"median": "medians and quartiles", "q25": "medians and quartiles", "q75": "medians and quartiles"}
    spread = row.statistic in ("std", "sig_frac", "share_above_0.4")
    return names.get(row.statistic, "spreads and shares" if spread else "means")


def told_kinds(rows: pd.DataFrame) -> str:
    """'counts of the data 24 of 33, ...': reproduced of judged on the paper's own data, by KINDS, whatever the rule."""
    rows = rows[(rows["verdict"] != "not rerun") & (rows["data"] == "same") & ~rows["item"].isin(UNCOUNTED)]
    kinds = pd.Series([kind_of(row) for row in rows.itertuples()], index=rows.index, dtype=object)
    parts = [(name, rows[kinds == name]["verdict"]) for name in KINDS]
    return ", ".join(f"{name} {(part == 'reproduced').sum()} of {len(part)}" for name, part in parts if len(part))


def firmness(rows: pd.DataFrame) -> dict[str, int]:
    """How firmly the numbers with an interval are judged; verdicts go by the mean alone.

    numbers_differ, near: those that differ, and of them those whose own interval holds the reported value.
    numbers_hold, leaves: those reproduced, and of them those whose interval leaves the tolerance; zero: of all
    reproduced numbers those that 0 would pass (`zero_holds`), of zero_of that ask for a statistic of NOTHING.
    """
    rows = rows[~rows["item"].str.startswith("claim") & ~rows["measure"].isin(COUNTED)]
    holds, differs, known = rows["verdict"] == "reproduced", rows["verdict"] == "differs", rows["low"].notna()
    inside = (rows["low"] <= rows["reported"]) & (rows["reported"] <= rows["high"])
    out = (rows["low"] < rows["reported"] - rows["tolerance"]) | (rows["high"] > rows["reported"] + rows["tolerance"])
    asked = rows["statistic"].isin(NOTHING) & (rows["measure"] != "test_performance")
    found = {
        "numbers_differ": differs & known, "near": differs & known & inside, "numbers_hold": holds & known,
        "leaves": holds & known & out, "zero": holds & zero_holds(rows), "zero_of": holds & asked,
    }  # fmt: skip
    return {name: int(chosen.sum()) for name, chosen in found.items()}


def told_other_f1(rows: pd.DataFrame, scores: pd.DataFrame) -> str:
    """Rows of Table 1 that say F1, by macro F1 as the rule has it and by F1 of class 1, in words.

    scores: of `jain.table1.scores`.
    """
    one = scores[scores["metric"] == "F1 of class 1"].set_index("corpus")["mean"].dropna()
    told = []
    chosen = rows[(rows["item"] == "Table 1") & (rows["statistic"] == "F1") & (rows["verdict"] != "not rerun")]
    for row in chosen[chosen["corpus"].isin(one.index)].itertuples():
        verdict = "reproduced" if abs(one[row.corpus] - row.reported) <= row.tolerance + 1e-9 else "differs"
        same = "the same verdict" if verdict == row.verdict else f"{row.verdict} against {verdict}"
        told.append(f"{row.corpus} {row.ours:.2f} and {one[row.corpus]:.2f} ({row.reported:.2f} printed; {same})")
    return "; ".join(told) or "none"
