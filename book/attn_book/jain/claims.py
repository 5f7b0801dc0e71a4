"""Jain & Wallace's qualitative claims, each decided by its rule in data/reported/tolerances.csv, corrected together."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attn_book import across
from attn_book.jain import tables
from attn_book.jain.tables import ordered
from attn_book.reported import reported
from attn_book.scorecard import clipped, digits_beside, scorecard
from attn_book.weak import weak_models
from attn_core import measures
from attn_core.archive import Result
from attn_core.index import HEADLINE_SEEDS

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


def threshold(number: int) -> float:
    """What the rule of general claim 1, 2, … asks its number to pass, the same on every data set (tolerances.csv)."""
    claim = CLAIMS[number - 1]
    return reported("tolerances", paper="jain", item=claim.item, measure=claim.measure)["reference"].iloc[0]


LATER = {
    "6b": Claim(
        "claim: permutation often changes little [0.50,1.00)",
        "median_output_change",
        "share, change < 0.1, largest weight ≥ 0.5",
        "Figure 6",
    ),
    "7b": Claim("claim: adversaries exist", "eps_max_jsd, exact optimum", "share, best JSD > 0.4", "Figure 7"),
}
"""Claims 6 and 7 asked anew, by rules made after the runs were seen, number 0 and in no tally of the claims.

7b is asked of the exact optimum of a single logit and of BEST_FOUND elsewhere.
"""

BEST_FOUND = "eps_max_jsd, best found"
"""A lower end: where it is low, nothing is refuted."""

LABELS = ("1", "2", "3", "4", "5", "6", "6b", "7", "7b")
"""Columns of `matrix`; what has none is a pattern."""

PATTERNS = (
    "claim: gradient and leave-one-out agree worse here", "claim: permutation changes much here",
    "claim: permutation changes much here [0.50,0.75)", "claim: adversaries are weaker here",
)  # fmt: skip
"""Rules about single data sets: patterns in the authors' own files (and Diabetes, the paper's exception), number 0.

Some ask the opposite of a general claim of the same number, so the two are never counted or corrected together.
"""

WORDS = {"clears": "shown", "contains": "not shown", "opposite": "not shown", "": "undecided"}
SYMBOLS = {"clears": "✓", "contains": "○", "opposite": "✗", "": "·"}
"""Where an interval lies against the threshold: on the claim's side, around it, wholly on the other side."""


def claims(scored: pd.DataFrame, corpora: list[str], results: Iterable[Result] = ()) -> pd.DataFrame:
    """The claims about data sets: rows of the scorecard with number, name, claim, place, lies, side, weak, p, holm.

    number: place in CLAIMS from 1, 0 for LATER and PATTERNS; name: '1' to '7', '6b', '7b', 'also'. side: +1 where the
    claim asks for more than the threshold. lies: 'clears', 'contains', 'opposite', or '' where fewer than five seeds
    decide nothing. weak: whether one of its encoders does its task badly, by the rule of the verdict matrix; results:
    the runs that tell. p: one-sided Student t of the seed means against the threshold; holm: corrected for all general
    claims that are judged here, LATER and PATTERNS among themselves. low and high are cut at possible values after the
    tests.
    """
    rows = scored[(scored["kind"] == "claim") & scored["corpus"].isin(corpora)]
    known = {(claim.item, claim.measure): (i, claim) for i, claim in enumerate(CLAIMS, 1)}
    later, weak = {claim.item: (name, claim) for name, claim in LATER.items()}, weak_models(results)
    names = [later[item][0] if item in later else "also" for item in rows["item"]]
    pairs = list(zip(rows["item"], rows["measure"], strict=True))
    known |= {pair: (0, later[pair[0]][1]) for pair in pairs if pair[0] in later}
    rows = rows.assign(
        number=[known[pair][0] if pair in known else 0 for pair in pairs],
        claim=[known[pair][1].short if pair in known else pair[0].removeprefix("claim: ") for pair in pairs],
        place=[known[pair][1].place if pair in known else "" for pair in pairs],
        side=np.where(rows["side"] == "above", 1, -1),
        weak=[(row.corpus, row.encoder_ours) in weak or (row.corpus, row.minus.removeprefix("encoder_ours=")) in weak
              for row in rows.itertuples()],
    )  # fmt: skip
    rows["name"] = [str(number) if number else name for number, name in zip(rows["number"], names, strict=True)]
    judged = (rows["n_seeds"] >= HEADLINE_SEEDS) & (rows["verdict"] != "not rerun") & rows["low"].notna()
    side, threshold = rows["side"], rows["reported"]
    near = np.where(side > 0, rows["low"], -rows["high"]) - side * threshold
    far = np.where(side > 0, rows["high"], -rows["low"]) - side * threshold
    refuted = (far < 0) & (rows["measure"] != BEST_FOUND)
    rows = rows.assign(
        lies=np.select([~judged, near > 0, refuted], ["", "clears", "opposite"], "contains"), p=np.nan, holm=np.nan
    )
    rows.loc[judged, "p"] = one_sided(rows[judged])
    for kind in KINDS:
        family = judged & of_kind(rows, kind)
        rows.loc[family, "holm"] = measures.holm(rows.loc[family, "p"].to_numpy())
    return (
        ordered(clipped(rows) if len(rows) else rows)
        .sort_values("number", key=lambda n: n.where(n > 0, len(CLAIMS) + 1), kind="stable")
        .reset_index(drop=True)
    )


KINDS = ("general", "later", "patterns")
"""CLAIMS, LATER and PATTERNS: a tally and a Holm family each."""


def of_kind(rows: pd.DataFrame, kind: str) -> pd.Series:
    """Which rows of `claims` are of one of KINDS."""
    return rows["number"] > 0 if kind == "general" else rows["name"].isin(LATER if kind == "later" else ["also"])


def counted(rows: pd.DataFrame, kind: str = "general") -> dict[str, int]:
    """Counts of `claims` rows of one of KINDS, the same on every page: with_run: a run of ours; judged: how many are.

    shown, contains, opposite: of the judged, where the interval lies; open: not judged, for want of seeds or documents;
    holm: of the judged, still shown after Holm's correction; judged_same, shown_same, holm_same: on the paper's own
    data. weak: of the judged, those about an encoder that does its task badly; each count ending in _able leaves them
    out.
    """
    rows = rows[of_kind(rows, kind)]
    run, judged, same, able = rows["ours"].notna(), rows["lies"] != "", rows["data"] == "same", ~rows["weak"]
    shown, corrected = rows["lies"] == "clears", rows["holm"] < LEVEL
    found = {
        "with_run": run, "judged": judged, "open": run & ~judged, "no_run": ~run, "shown": shown, "holm": corrected,
        "contains": rows["lies"] == "contains", "opposite": rows["lies"] == "opposite", "weak": judged & ~able,
        "judged_same": judged & same, "shown_same": shown & same, "holm_same": corrected & same,
    }  # fmt: skip
    names = ("judged", "shown", "holm", "judged_same", "shown_same", "holm_same")
    found |= {f"{name}_able": found[name] & able for name in names}
    return {name: int(chosen.sum()) for name, chosen in found.items()}


def told_weak(rows: pd.DataFrame) -> str:
    """The judged claims about an encoder that does its task badly, in words: 'babi_1, claims 2 and 5; ...'."""
    weak = rows[rows["weak"] & (rows["lies"] != "") & of_kind(rows, "general")]
    parts = [
        f"{corpus}, claim{'s' if len(part) > 1 else ''} {' and '.join(part['name'])}"
        for corpus, part in weak.groupby("corpus", sort=False)
    ]
    return "; ".join(parts) or "none"


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


def told_p(p: float) -> str:
    """'0.031', '< 0.001', '–' for none: far out in its tail Student's t is only a model, more digits say nothing."""
    return "–" if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def told_shown(rows: pd.DataFrame, names: Iterable[str]) -> str:
    """'claim 1 on 8 of 8 (6 after the correction)': on how many of its judged data sets each claim is shown."""
    parts = []
    for name in names:
        part = rows[(rows["name"] == name) & (rows["lies"] != "")]
        shown, corrected = (part["lies"] == "clears").sum(), (part["holm"] < LEVEL).sum()
        parts.append(f"claim {name} on {shown} of {len(part)} ({corrected} after the correction)")
    return ", ".join(parts)


def lost(decided: pd.DataFrame, name: str) -> list[str]:
    """Data sets on which a claim is shown by its interval, but not after the correction; decided: of `claims`."""
    part = decided[(decided["name"] == name) & (decided["lies"] == "clears")]
    return list(part.loc[~(part["holm"] < LEVEL), "corpus"])


def told_sides(found: pd.DataFrame, words: dict[str, str], decided: pd.DataFrame, name: str) -> list[str]:
    """`tables.told_sides`, and of the data sets on which the claim is shown whether it stands after the correction.

    found: of `tables.sided`; words: the side that the claim names first; decided: of `claims`, name of the claim there.
    """
    gone, held = lost(decided, name), next(iter(words))
    ends = {
        name: ", not after the correction" if name in gone else ", also after the correction"
        for name in found.loc[found["side"] == held, "corpus"]
    }
    return [text + ends.get(text.split()[0], "") for text in tables.told_sides(found, words)]


def judged_together(corpora: list[str], seeds: int) -> pd.DataFrame:
    """`claims` of the stored runs of both encoders that claims compare: the family that section 6 corrects."""
    return claims(scorecard(across.gather(corpora, ("lstm", "average"), seeds=seeds)[0], "jain"), corpora)


def told_against(mean: float, low: float, high: float, theirs: float) -> str:
    """Whether a difference that is reported above zero has its direction and its size again, in words."""
    if not np.isfinite(low):
        return "too few seeds for an interval"
    direction = "reproduced" if low > 0 else "opposite" if high < 0 else "open"
    if low <= theirs <= high:
        return f"direction {direction}, and the interval holds the authors' value"
    size = "smaller" if high < theirs else "larger"
    return f"direction {direction}, size not: ours is {size}, its interval excludes theirs"


def pooled(every: pd.DataFrame, statistic: str, measure: str, threshold: float) -> list[str]:
    """Data sets whose predicted classes lie on both sides of a threshold, so that their pooled share describes neither.

    Mean over seeds by class, BiLSTM with additive attention, in words.
    """
    told = []
    for corpus in ordered(every[["corpus"]].drop_duplicates())["corpus"]:
        means = {}
        for place, label in across.predicted_groups(corpus).items():
            rows = across.over_models(every[every["corpus"] == corpus], statistic, measure, place)
            rows = rows[(rows["encoder"] == "lstm") & (rows["attention"] == "tanh")]
            if len(rows) and np.isfinite(rows["mean"].iloc[0]):
                means[label] = rows["mean"].iloc[0]
        if means and min(means.values()) < threshold < max(means.values()):
            told.append(f"{corpus}: " + ", ".join(f"{label} {mean:.2f}" for label, mean in means.items()))
    return told


def told(row) -> str:
    """'0.61 (0.50 to 0.72; asked > 0.4)', with as many decimals as keep the interval's ends off the threshold."""
    form = f".{digits_beside(row.reported, row.low, row.high, row.ours)}f"
    ends = f"{row.low:{form}} to {row.high:{form}}; " if np.isfinite(row.low) else ""
    return f"{row.ours:{form}} ({ends}asked {'>' if row.side > 0 else '<'} {row.reported:g})"


def matrix(rows: pd.DataFrame, noted: Iterable[str] = ()) -> pd.DataFrame:
    """Data sets by name of the claim, a symbol in each cell; data sets on other data than the paper's are marked.

    noted: data sets to be marked ‡ besides.

    †: the rule was added after runs of this model and data set were stored. In brackets: about an encoder that does its
    task badly.
    """
    marks = {"subset": " (subset)", "generated": " (generated)"}
    kind = rows[rows["data"] != "absent"].groupby("corpus")["data"].first().map(marks).fillna("")
    cells = rows[rows["name"].isin(LABELS)].assign(cell=lambda part: part["lies"].map(SYMBOLS))
    cells["cell"] += np.where((cells["late"] == "yes") & (cells["lies"] != ""), "†", "")
    cells["cell"] = cells["cell"].mask(cells["weak"] & (cells["lies"] != ""), "(" + cells["cell"] + ")")
    wide = cells.pivot(index="corpus", columns="name", values="cell")
    wide = ordered(wide[[name for name in LABELS if name in wide]].reset_index())
    return (
        wide.assign(corpus=[name + kind.get(name, "") + " ‡" * (name in noted) for name in wide["corpus"]])
        .rename(columns={"corpus": "data"})
        .rename_axis(columns=None)
    )
