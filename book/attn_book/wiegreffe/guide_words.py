"""What the page on guides says of its tables, in words that follow them (Wiegreffe & Pinter 2019, 3.4, Table 3).

Verdicts on gain and leakage are in `leakage`, sides of single differences in `differences`; here are the lists made of
these, one text a contrast or a data set. The contrasts and the rules are described in `experiments.guides`.

differences: of `guides.differences`; scores: of `runs.guided_scores`. Scores are F1 of class 1 where nothing else is
said, intervals 95 % Student t over seeds.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attn_book.reported import reported
from attn_book.wiegreffe import leakage
from attn_book.wiegreffe.adversaries import told_range
from attn_book.wiegreffe.differences import told_sides
from attn_book.wiegreffe.tables import MARGIN, TABLE_3, largest_gaps
from attn_book.words import listed, seeds_in_words, told
from attn_core.experiments import guides

ORDER = {"own − trained": "Minus F1 under learned ones:", "own − uniform": "Minus F1 under uniform ones:"}
"""Contrast of Table 3's order -> its beginning of a line, behind 'F1 under weights of the base'."""

CONTROLS = {
    "own − permuted": "Minus F1 under the same weights permuted (does it matter on which word a weight stands?):",
    "own − searched": "Minus F1 under those of the per-document search, which keep the base's output (are weights of "
    "the same output as good?):",
    "own − untrained": "Minus F1 under those of an untrained LSTM (must the guide be trained?):",
    "own − swapped": "Minus F1 under another seed's in the test (must the guide be the same in the test?):",
}
"""Likewise of the controls."""

LEAKS = {
    "weights alone − places alone": "Places with own weights minus places alone:",
    "ranks alone − places alone": "Ranks with own weights minus places alone:",
}
"""Likewise of weights without words, in AUC."""

ORDER_BY_AUC = {
    "own − uniform": "Own weights minus uniform ones:",
    "own − trained": "Own weights minus learned ones:",
    "trained − uniform": "Learned weights minus uniform ones:",
}
"""Likewise of Table 3's order in AUC, of `guides.by_auc`."""


def told_contrasts(differences: pd.DataFrame, words: dict[str, str]) -> list[str]:
    """'Minus F1 under uniform ones: above 0 on sst +0.016 (…); not shown on …; below 0 on none.': a text a contrast.

    words: contrast -> how its text begins; in their order.
    """
    return [f"{begins} {told_sides(differences, contrast)}." for contrast, begins in words.items()]


def told_unjudged(rows: pd.DataFrame) -> list[str]:
    """'imdb: +0.012 (+0.002 to +0.022, 5 seeds)', a text a row of `guides.gaps_of`: differences in no correction."""
    return [f"{row['corpus']}: {leakage.told_gap(row)}" for _, row in rows.assign(lies="").iterrows()]


def told_adversaries(differences: pd.DataFrame, by_lambda: pd.DataFrame) -> list[str]:
    """'sst: -0.200 (…); over all λ from +0.006 (…) to -0.265 (…)', a text a data set that an adversary guides on.

    by_lambda: of `adversaries.guides_by_lambda`.
    """
    ranges = {
        corpus: told_range(part).removeprefix(f"{corpus} ") for corpus, part in by_lambda.groupby("corpus", sort=False)
    }
    return [
        f"{row['corpus']}: {leakage.told_gap(row)}; over all λ {ranges.get(row['corpus'], 'no run')}"
        for _, row in differences[by_adversary(differences)].iterrows()
    ]


def by_adversary(differences: pd.DataFrame) -> pd.Series:
    """Which differences are those of networks that a trained adversary guides."""
    return differences["contrast"].str.startswith("adversary")


def told_few(differences: pd.DataFrame) -> str:
    """'agnews (3 seeds)': data sets none of whose differences is judged, and the most seeds that one of them has.

    Differences with an adversary apart: one adversary guides, so they are judged on no data set.
    """
    judged, others = set(differences[differences["lies"] != ""]["corpus"]), differences[~by_adversary(differences)]
    most = others[~others["corpus"].isin(judged)].groupby("corpus", sort=False)["n_seeds"].max()
    return listed(f"{corpus} ({seeds_in_words(count)})" for corpus, count in most.items())


def told_former(rows: pd.DataFrame) -> list[str]:
    """'sst: weights alone -0.016 (…), ranks alone -0.012 (…)', a text a data set; rows: of `guides.by_f1`."""
    return [
        f"{corpus}: "
        + ", ".join(f"{r.contrast.split(' − ')[0]} {told(r.mean, r.low, r.high, '+.3f')}" for r in part.itertuples())
        for corpus, part in rows[np.isfinite(rows["mean"])].groupby("corpus", sort=False)
    ]


def told_live(differences: pd.DataFrame) -> list[str]:
    """'own − uniform: +0.010 (no interval)', a text a contrast of one data set."""
    known = differences[np.isfinite(differences["mean"])]
    return [f"{r.contrast}: {told(r.mean, r.low, r.high, '+.3f')}" for r in known.itertuples()]


def told_alike(scores: pd.DataFrame, first: str, second: str) -> list[str]:
    """'sst: F1 by at most 0.0065, AUC by at most 0.0004', a text a data set: `tables.largest_gaps` of two sources."""
    return [
        f"{corpus}: F1 by at most {gaps['f1']:.4f}, AUC by at most {gaps['auc']:.4f}"
        for corpus, gaps in largest_gaps(scores, first, second).iterrows()
    ]


def told_one_answer(scores: pd.DataFrame) -> str:
    """'sst 0.66, imdb 0.67': F1 of always saying class 1 (`guides.f1_of_one_answer`) on each test set."""
    shares = scores.groupby("corpus", sort=False)["positives"].first()
    return ", ".join(f"{corpus} {guides.f1_of_one_answer(share):.2f}" for corpus, share in shares.items()) or "no run"


def told_seeds(scores: pd.DataFrame) -> str:
    """'sst 10, imdb 5': seeds that any source has, by data set."""
    return listed(f"{corpus} {part['seed'].nunique()}" for corpus, part in scores.groupby("corpus", sort=False))


# ---- Table 3 as printed ----------------------------------------------------------------------------------------------


def printed() -> pd.DataFrame:
    """Data set -> adversary, own: the F1 that Table 3 prints for a network under these weights, one run each."""
    wide = reported("wiegreffe_table3_guides").pivot(index="corpus", columns="model", values="value")
    return pd.DataFrame({source: wide[TABLE_3[source]] for source in ("adversary", "own")})


def told_printed(rows: pd.DataFrame, corpora: Iterable[str]) -> list[str]:
    """'sst: 0.596 and 0.826', a text a data set: under an adversary's and under the base's weights; rows: `printed`."""
    return [f"{corpus}: {rows.loc[corpus, 'adversary']:.3f} and {rows.loc[corpus, 'own']:.3f}" for corpus in corpora]


def as_good(rows: pd.DataFrame, corpora: Iterable[str]) -> str:
    """The data sets on which an adversary's weights lie at most `tables.MARGIN` of F1 below the base's; else 'none'.

    rows: of `printed`.
    """
    return listed(c for c in corpora if rows.loc[c, "adversary"] >= rows.loc[c, "own"] - MARGIN)
