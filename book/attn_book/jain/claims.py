"""Jain & Wallace's general claims, each decided by its rule in data/reported/tolerances.csv and corrected together."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attn_book.reported import reported
from attn_book.weak import WEAK
from attn_book.words import SETS
from attn_core import index, measures

LEVEL = measures.LEVEL / 2
"""One-sided; the same as a two-sided 95 % interval that clears the threshold."""


@dataclass(frozen=True)
class Claim:
    """A claim and its number in the words of the book, and the rows of the rules that ask it; measure: '' for any."""

    words: str
    number: str
    item: str
    measure: str = ""


BETTER = "claim: gradient and leave-one-out agree better"

CLAIMS = {
    "1": Claim("Attention agrees only weakly with gradients", "τ",
               "claim: attention correlates only weakly with gradient", "tau_gradient"),
    "2": Claim("Without context it agrees better", "gain in τ", "claim: average above BiLSTM", "tau_gradient"),
    "3": Claim("Gradients agree with leave-one-out better than attention does", "gain in τ", BETTER,
               "tau(gradient,LOO)-tau(attention,LOO)"),
    "4": Claim("They also agree better than attention agrees with gradients", "gain in τ", BETTER,
               "tau(gradient,LOO)-tau(attention,gradient)"),
    "5": Claim("Without context, attention agrees better with leave-one-out", "gain in τ",
               "claim: average above BiLSTM (leave-one-out)", "tau_loo"),
    "6": Claim("Shuffling the weights often changes little", "share moved by less than 0.1:",
               "claim: permutation often changes little"),
    "7": Claim("A far attention with the same answer is easy to find", "share with JSD over 0.4:",
               "claim: adversaries are easy to find"),
}  # fmt: skip
"""The general claims, asked of every data set by this book's rules."""

LATER = {
    "6b": Claim("Shuffling changes little, one weight at least 0.5", "share moved by less than 0.1:",
                "claim: permutation often changes little [0.50,1.00)"),
    "7b": Claim("A far attention with the same answer exists", "share with JSD over 0.4:",
                "claim: adversaries exist"),
}  # fmt: skip
"""Claims 6 and 7 asked anew, by rules made after the runs were seen. 7b asks the exact optimum, or BEST_FOUND.

What is neither in CLAIMS nor here is a pattern in the authors' own files, asked of single data sets. Some ask the
opposite of a general claim of the same number, so the three kinds are never counted or corrected together.
"""

BEST_FOUND = "eps_max_jsd, best found"
"""A lower end: where it is low, nothing is refuted."""


def threshold(number: int) -> float:
    """What the rule of general claim 1, 2, … asks its number to pass, the same on every data set."""
    return reported("tolerances", paper="jain", item=CLAIMS[f"{number}"].item)["reference"].iloc[0]


def claims(scored: pd.DataFrame, corpora: Iterable[str] = tuple(SETS)) -> pd.DataFrame:
    """The claims about data sets: rows of the scorecard with name, kind, line, lies, shown, weak, p, holm.

    name: of CLAIMS or LATER, 'pattern' for the rest; kind: 'general', 'later' or 'pattern'; line: in words. lies:
    `index.side` of the threshold, 'few' also where too few documents decide nothing. shown: it lies on the side that
    the claim names. weak: one of its encoders does its task badly. p: one-sided Student t of the seed means against the
    threshold; holm: corrected among all judged claims of its kind. Rows without a number of ours are left out. Sorted
    by claim, then data set.
    """
    rows = scored[(scored["paper"] == "jain") & (scored["kind"] == "claim") & scored["corpus"].isin(list(corpora))]
    rows = rows[rows["ours"].notna()]
    names = [name_of(*pair) for pair in zip(rows["item"], rows["measure"], strict=True)]
    lies = index.side(rows, rows["reported"]).mask(rows["unjudged"] != "", "few")
    lies = lies.mask((lies == "below") & (rows["measure"] == BEST_FOUND), "around")
    weak, other = weak_models(), rows["minus"].str.removeprefix("encoder_ours=")
    models = zip(rows["corpus"], rows["encoder_ours"], other, strict=True)
    lines = [line_of(*row) for row in zip(names, rows["item"], rows["side"], rows["reported"], strict=True)]
    rows = rows.assign(
        line=lines, name=names,
        kind=["general" if name in CLAIMS else "later" if name in LATER else "pattern" for name in names],
        lies=lies, shown=lies == rows["side"], p=np.where(lies == "few", np.nan, one_sided(rows)), holm=np.nan,
        weak=[bool({(corpus, one), (corpus, two)} & weak) for corpus, one, two in models],
    )  # fmt: skip
    for _, part in rows[rows["lies"] != "few"].groupby("kind"):
        rows.loc[part.index, "holm"] = measures.holm(part["p"].to_numpy())
    place = {name: k for k, name in enumerate([*CLAIMS, *LATER, "pattern", *SETS])}
    return rows.sort_values(["name", "corpus"], key=lambda n: n.map(place), kind="stable").reset_index(drop=True)


def name_of(item: str, measure: str) -> str:
    """The name of the claim that a row of the rules asks."""
    found = (name for name, one in (CLAIMS | LATER).items() if one.item == item and one.measure in ("", measure))
    return next(found, "pattern")


def line_of(name: str, item: str, side: str, threshold: float) -> str:
    """A claim and what its rule asks of which number."""
    if name == "pattern":
        return f"{item.removeprefix('claim: ')} <small>{side} {threshold:g}</small>"
    claim = (CLAIMS | LATER)[name]
    return f"{name}. {claim.words} <small>{claim.number} {side} {threshold:g}</small>"


def weak_models() -> set[tuple[str, str]]:
    """(data set, encoder) whose mean accuracy lies more than WEAK below the best encoder of the set."""
    runs = index.runs(attention="tanh", family=["text", "pair"])
    mean = runs.groupby(["corpus", "encoder"])["accuracy"].mean()
    return set(mean.index[mean < mean.groupby("corpus").transform("max") - WEAK])


def one_sided(rows: pd.DataFrame) -> np.ndarray:
    """p of Student's t: seed means `ours` against the threshold `reported`, on the side that the claim names.

    The standard error is taken back from the 95 % interval low to high.
    """
    from scipy.stats import t as student

    free = np.maximum(rows["n_seeds"].to_numpy(float) - 1, 1)
    error = (rows["high"] - rows["low"]).to_numpy(float) / 2 / student.ppf(0.975, free)
    gap = np.where(rows["side"] == "above", 1, -1) * (rows["ours"] - rows["reported"]).to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, student.sf(gap / error, free), np.where(gap > 0, 0.0, 1.0))
