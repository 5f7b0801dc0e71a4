"""Differences between guides (section 3.4) as that page shows them: a table with one column a data set, and words.

differences: of `guides.differences`.
"""

from collections.abc import Iterable

import pandas as pd

from attn_book.scorecard import scorecard
from attn_book.wiegreffe import leakage
from attn_book.words import listed, told
from attn_core.archive import Result

UNSHOWN = "†"
"""Marks a difference that is clear of zero by its own interval, but not after Holm."""


def told_sides(differences: pd.DataFrame, contrast: str) -> str:
    """'above 0 on sst +0.140 (…); not shown on imdb, agnews †; below 0 on none': sides after Holm.

    Numbers stand with those that are shown.
    """
    mine = differences[(differences["contrast"] == contrast) & (differences["lies"] == "contains")]
    unshown = listed(f"{r.corpus}{f' {UNSHOWN}' if clear(r) else ''}" for r in mine.itertuples())
    above, below = (leakage.told_where(differences, contrast, side) for side in ("above", "below"))
    return f"above 0 on {above}; not shown on {unshown}; below 0 on {below}"


def clear(row) -> bool:
    """Whether the interval of a single difference leaves out zero."""
    return row.low > 0 or row.high < 0


def table_of_differences(differences: pd.DataFrame) -> pd.DataFrame:
    """One line a contrast and one column a data set, with seeds, and models that guide where they are fewer.

    Differences of F1, where a line does not say AUC.
    """
    words = {"above": "above 0", "below": "below 0", "contains": "not shown", "": "not judged"}
    lines = []
    for name, part in differences.groupby("contrast", sort=False):
        seeds = {
            r.corpus: f"{r.n_seeds}" + (f" of {r.n_guides} guide{'s' * (r.n_guides > 1)}" * (r.n_guides < r.n_seeds))
            for r in part.itertuples()
        }
        cells = {
            r.corpus: f"{told(r.mean, r.low, r.high, '+.3f')}, {words[r.lies]}"
            + (f" {UNSHOWN}" if r.lies == "contains" and clear(r) else "")
            for r in part.itertuples()
        }
        alike = len(set(seeds.values())) == 1
        counts = [*seeds.values()][0] if alike else listed(f"{corpus} {count}" for corpus, count in seeds.items())
        score = " (AUC)" if part["score"].iloc[0] == "auc" else ""
        lines.append({"difference": f"{name}{score}", **cells, "seeds": counts})
    order = ["difference", *dict.fromkeys(differences["corpus"]), "seeds"]
    return pd.DataFrame(lines, columns=order).fillna("–")


def told_rules(results: Iterable[Result]) -> list[str]:
    """'imdb, imposed weights beat trained ones: reproduced, +0.025 (+0.012 to +0.038), to lie above 0; 5 seeds', ...

    The claims on Table 3's order by the rules of data/reported/tolerances.csv, as the scorecard judges them: each by
    its own 95 % interval. Data sets without a run are left out.
    """
    rows = scorecard(results, "wiegreffe")
    rows = rows[(rows["kind"] == "claim") & rows["measure_ours"].isin(("f1_guided_own", "f1_guided_trained"))]
    found = []
    for row in rows[rows["n_seeds"] > 0].itertuples():
        undecided = row.verdict == "differs" and row.low <= row.reported <= row.high
        verdict = {"not rerun": f"no verdict ({row.unjudged})"}.get(row.verdict, row.verdict)
        verdict += " (undecided: the interval holds the threshold)" if undecided else ""
        found.append(
            f"{row.corpus}, {row.item.removeprefix('claim: ')}: {verdict}, "
            f"{told(row.ours, row.low, row.high, '+.3f')}, to lie above {row.reported:g}; "
            f"{row.n_seeds} seeds"
        )
    return found
