"""Jain & Wallace's qualitative claims, each decided by its rule in data/reported/tolerances.csv, corrected together."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from attn_core import measures
from attn_core.jain_tables import ordered
from attn_core.scorecard import CLAIM, added_after, clipped, digits_beside
from attn_core.seeds import HEADLINE_SEEDS

LEVEL = measures.LEVEL / 2
"""One-sided; the same as a two-sided 95 % interval that clears the threshold."""


@dataclass(frozen=True)
class Claim:
    """A claim as pages show it: its item and measure in the rules, a short name for a panel, where the paper has it."""

    item: str
    measure: str
    short: str
    place: str


CLAIMS = (
    Claim("claim: attention correlates only weakly with gradient", "tau_gradient", "τ with gradient", "Table 2"),
    Claim("claim: average above BiLSTM", "tau_gradient", "τ: Average − BiLSTM", "Table 2"),
    Claim(
        "claim: gradient and leave-one-out agree better",
        "tau(gradient,LOO)-tau(attention,LOO)",
        "grad–LOO − att–LOO",
        "Figure 3",
    ),
    Claim(
        "claim: gradient and leave-one-out agree better",
        "tau(gradient,LOO)-tau(attention,gradient)",
        "grad–LOO − att–grad",
        "Figure 4",
    ),
    Claim("claim: average above BiLSTM (leave-one-out)", "tau_loo", "τ LOO: Av. − BiLSTM", "Figure 5"),
    Claim("claim: permutation often changes little", "median_output_change", "share, change < 0.1", "Figure 6"),
    Claim("claim: adversaries are easy to find", "eps_max_jsd", "share, JSD > 0.4", "Figure 7"),
)
"""General claims of the paper, asked of every data set by this book's rules; `claims` numbers them from 1."""

PATTERNS = tuple(item for item in CLAIM if item not in {claim.item for claim in CLAIMS})
"""Rules about single data sets: patterns in the authors' own files (and Diabetes, the paper's exception), number 0.

Some ask the opposite of a general claim of the same number, so the two are never counted or corrected together.
"""

WORDS = {"clears": "shown", "contains": "not shown", "opposite": "not shown", "": "undecided"}
SYMBOLS = {"clears": "✓", "contains": "○", "opposite": "✗", "": "·"}
"""Where an interval lies against the threshold: on the claim's side, around it, wholly on the other side."""


def claims(scored: pd.DataFrame, corpora: list[str]) -> pd.DataFrame:
    """The claims about some data sets: rows of the scorecard with number, claim, place, lies, side, p and holm.

    number: place in CLAIMS from 1, 0 for PATTERNS. side: +1 where the claim asks for more than the threshold. lies:
    'clears', 'contains', 'opposite', or '' where fewer than five seeds decide nothing. p: one-sided Student t of the
    seed means against the threshold; holm: corrected for all general claims that are judged here, patterns among
    themselves. low and high are cut at possible values after the tests.
    """
    rows = scored[scored["item"].isin(CLAIM) & scored["corpus"].isin(corpora)]
    known = {(claim.item, claim.measure): (i, claim) for i, claim in enumerate(CLAIMS, 1)}
    pairs = list(zip(rows["item"], rows["measure"], strict=True))
    rows = rows.assign(
        number=[known[pair][0] if pair in known else 0 for pair in pairs],
        claim=[known[pair][1].short if pair in known else pair[0].removeprefix("claim: ") for pair in pairs],
        place=[known[pair][1].place if pair in known else "" for pair in pairs],
        side=[1 if CLAIM[item][1] == "above" else -1 for item in rows["item"]],
    )
    judged = (rows["n_seeds"] >= HEADLINE_SEEDS) & (rows["verdict"] != "not rerun") & rows["low"].notna()
    side, threshold = rows["side"], rows["reported"]
    near = np.where(side > 0, rows["low"], -rows["high"]) - side * threshold
    far = np.where(side > 0, rows["high"], -rows["low"]) - side * threshold
    rows = rows.assign(
        lies=np.select([~judged, near > 0, far < 0], ["", "clears", "opposite"], "contains"), p=np.nan, holm=np.nan
    )
    rows.loc[judged, "p"] = one_sided(rows[judged])
    for family in (judged & (rows["number"] > 0), judged & (rows["number"] == 0)):
        rows.loc[family, "holm"] = measures.holm(rows.loc[family, "p"].to_numpy())
    return (
        ordered(clipped(rows) if len(rows) else rows)
        .sort_values("number", key=lambda n: n.where(n > 0, len(CLAIMS) + 1), kind="stable")
        .reset_index(drop=True)
    )


def counted(rows: pd.DataFrame, patterns: bool = False) -> dict[str, int]:
    """Counts of `claims` rows, the same on every page: of those with a run of ours (with_run), how many are judged.

    Of the general claims; with patterns=True of the PATTERNS instead, which never enter the tally of the claims.
    shown, contains, opposite: of the judged, where the interval lies; open: not judged, for want of seeds or documents;
    holm: of the judged, still shown after Holm's correction; shown_same, holm_same, judged_same: on the paper's own
    data.
    """
    rows = rows[(rows["number"] == 0) == patterns]
    run, judged, same = rows["ours"].notna(), rows["lies"] != "", rows["data"] == "same"
    shown, corrected = rows["lies"] == "clears", rows["holm"] < LEVEL
    found = {
        "with_run": run, "judged": judged, "open": run & ~judged, "no_run": ~run, "shown": shown, "holm": corrected,
        "contains": rows["lies"] == "contains", "opposite": rows["lies"] == "opposite",
        "judged_same": judged & same, "shown_same": shown & same, "holm_same": corrected & same,
    }  # fmt: skip
    return {name: int(chosen.sum()) for name, chosen in found.items()}


def one_sided(rows: pd.DataFrame) -> np.ndarray:
    """p of Student's t: seed means `ours` against the threshold `reported`, on the side that the claim names.

    The standard error is taken back from the 95 % interval low to high.
    """
    from scipy.stats import t as student

    free = rows["n_seeds"].to_numpy(float) - 1
    error = (rows["high"] - rows["low"]).to_numpy(float) / 2 / student.ppf(0.975, free)
    gap = (rows["side"] * (rows["ours"] - rows["reported"])).to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, student.sf(gap / error, free), np.where(gap > 0, 0.0, 1.0))


def told(row) -> str:
    """'0.61 (0.50 to 0.72; asked > 0.4)', with as many decimals as keep the interval's ends off the threshold."""
    form = f".{digits_beside(row.reported, row.low, row.high, row.ours)}f"
    ends = f"{row.low:{form}} to {row.high:{form}}; " if np.isfinite(row.low) else ""
    return f"{row.ours:{form}} ({ends}asked {'>' if row.side > 0 else '<'} {row.reported:g})"


def matrix(rows: pd.DataFrame) -> pd.DataFrame:
    """Data sets by number of the claim, a symbol in each cell; data sets on other data than the paper's are marked.

    †: the rule was added after runs of this model and data set were stored.
    """
    marks = {"subset": " (subset)", "generated": " (generated)"}
    kind = rows[rows["data"] != "absent"].groupby("corpus")["data"].first().map(marks).fillna("")
    cells = rows[rows["number"] > 0].assign(cell=rows["lies"].map(SYMBOLS))
    cells["cell"] += np.where(added_after(cells) & (cells["lies"] != ""), "†", "")
    wide = cells.pivot(index="corpus", columns="number", values="cell").reset_index()
    wide = ordered(wide).rename(columns={i: str(i) for i in range(1, len(CLAIMS) + 1)})
    return (
        wide.assign(corpus=[name + kind.get(name, "") for name in wide["corpus"]])
        .rename(columns={"corpus": "data"})
        .rename_axis(columns=None)
    )
