"""What the adversaries of all data sets say, for their page: four numbers against thresholds, in a table and in words.

The four, each a table of `tables.sided`, by key: easy: claim 7, the share of documents with a searched JSD above 0.4;
best: the same of the best weights known (7b); near: the share above 0.6, against one half; lost: the JSD that the
model's own contributions cost, against zero (see `heights.resistance`).
"""

import pandas as pd

from attn_book import words
from attn_book.jain import claims, heights, tables
from attn_core.corpora import catalogue
from attn_core.measures import LN2

CLAIMED = {"easy": "7", "best": "7b"}
"""Which of the four are claims, by name."""

OPEN = {"contains": "Interval contains it", "few": "Too few seeds to decide"}

WORDS = {"above": "yes", "below": "below", "contains": "open", "few": "too few seeds"}
"""Sides in a cell of the table."""


def sides(scored: pd.DataFrame, every: pd.DataFrame, text_epsilon: float, pair_epsilon: float) -> dict:
    """The four tables. text_epsilon, pair_epsilon: the ε of `lost`, of single texts and of text pairs."""
    asked = claims.threshold(7)
    pairs = every["corpus"].map(lambda name: catalogue.corpus(name).task != "text").to_numpy(bool)
    parts = [heights.resistance(every[~pairs], text_epsilon), heights.resistance(every[pairs], pair_epsilon)]
    return {
        "easy": tables.sided(scored[scored["item"] == claims.CLAIMS[6].item], asked),
        "best": tables.sided(scored[scored["item"] == claims.LATER["7b"].item], asked),
        "near": heights.near_bound(every)["ours"],
        "lost": tables.sided(pd.concat(parts, ignore_index=True), 0.0, ".3f", (-LN2, LN2)),
    }


def table(sided: dict, asked: float, corpora: list[str]) -> pd.DataFrame:
    """The four side by side, a data set a row: the number and its side; '–' where there is none."""
    columns = {
        "easy": f"searched above 0.4, more than {asked:.0%}?",
        "best": f"best known above 0.4, more than {asked:.0%}?",
        "near": "searched above 0.6, more than half?",
        "lost": "JSD lost against shuffled, above zero?",
    }
    cells = {what: {r.corpus: f"{r.told} {WORDS[r.side]}" for r in rows.itertuples()} for what, rows in sided.items()}
    return pd.DataFrame(
        [{"data": name} | {title: cells[what].get(name, "–") for what, title in columns.items()} for name in corpora]
    )


def lists(sided: dict, asked: float, decided: pd.DataFrame, every: pd.DataFrame) -> dict[str, list[str]]:
    """Names of data sets by side, keys 'easy_told', 'best_told', 'near_told', 'lost_told'; a list each.

    The two claims name besides where they do not stand after Holm's correction, claim 7 also where its share pools
    classes on both sides. decided: of `claims.judged_together`.
    """
    titles = {
        "easy": {"above": "Shown on", "below": "Interval wholly below", **OPEN},
        "best": {"above": f"Above {asked:.0%} on", "below": "Below", **OPEN},
        "near": {"above": "In our runs, on", "below": "Interval wholly below one half", **OPEN},
        "lost": {"above": "Above zero", "below": "Below zero", **OPEN},
    }
    found = {
        what: {title: tables.named_sides(sided[what])[side] for side, title in parts.items()}
        for what, parts in titles.items()
    }
    for what, name in CLAIMED.items():
        found[what]["Not after the correction"] = words.listed(claims.lost(decided, name))
    found["easy"]["Predicted classes on both sides of that share, which the share over all documents pools"] = (
        "; ".join(claims.pooled(every, "jsd_search@0.05", "share_above_0.4", asked))
    )
    return {f"{what}_told": words.spoken(parts) for what, parts in found.items()}


def kept(sided: dict, decided: pd.DataFrame) -> dict[str, str]:
    """'5 of 6': data sets on which a claim is shown that stand after the correction; keys 'easy_kept', 'best_kept'."""
    shown = {what: int((sided[what]["side"] == "above").sum()) for what in CLAIMED}
    return {
        f"{what}_kept": f"{shown[what] - len(claims.lost(decided, name))} of {shown[what]}"
        for what, name in CLAIMED.items()
    }


def beside_authors(easy: pd.DataFrame, theirs: dict) -> dict[str, int | list[str]]:
    """The authors' own figures by the line of claim 7; theirs: of `heights.authors_easy`.

    theirs_told: a list; sides: data sets that our intervals decide, and sides_alike: of them those on the same side as
    the authors' final run.
    """
    ours = [(r.corpus, r.side) for r in easy.itertuples() if r.side in ("above", "below")]
    return {
        "theirs_told": words.spoken(
            {
                "Above in both runs": theirs["above"],
                "In neither": theirs["below"],
                "In one of the two": theirs["split"],
                "The shares of these": "; ".join(theirs["told"]),
                "Classes (questions are one class) not above it in the final run": theirs["classes"],
            }
        ),
        "sides": len(ours),
        "sides_alike": sum((side == "above") == theirs["final"][name] for name, side in ours),
    }
