"""Do guides help, and do their weights leak the label (section 3.4)? Verdicts on `guides.differences`, and words."""

import numpy as np
import pandas as pd

from attn_book.words import listed, number, seeds_in_words

VERDICTS = {
    "no gain": "the base's weights give a lower F1 than uniform ones, so there is no gain to explain",
    "undecided": "a gain in F1 over uniform weights is not shown",
    "tokens": "a gain in F1 over uniform weights, and it hangs on which token a weight stands on",
    "unexplained": "a gain in F1 over uniform weights; that it hangs on which token a weight stands on is not shown",
    "open": "whether there is a gain, and whether it hangs on the tokens, has too few seeds",
}
"""Whether there is a gain, and what it hangs on -> in words."""

LEAKS = {
    "above": "weights without words tell something of the label",
    "alone": "weights without words tell something of the label by their own interval, though not after Holm",
    "contains": "that weights without words tell the label is not shown",
    "": "whether weights without words tell the label has too few seeds",
}
"""Whether weights leak the label -> in words; a question of its own, whatever the gain. 'alone': see PERMUTED."""

PERMUTED = {
    "above": "permuting the weights within documents costs F1",
    "below": "permuting the weights within documents raises F1",
    "alone": "permuting the weights within documents costs F1 by its own interval, though not after Holm",
    "contains": "that permuting the weights within documents costs F1 is not shown",
    "": "what permuting the weights costs has too few seeds",
}
"""Where own - permuted lies -> in words; 'alone': its interval lies above zero, but not after Holm."""

BARE = {"weights alone − places alone": "places", "ranks alone − places alone": "ranks"}
"""The contrasts of weights without words -> what stands where the words were."""

NEEDED = ("own − uniform", "own − permuted", *BARE)
"""The contrasts that decide on gain and leakage."""

ORDER = ("own − uniform", "own − trained", "trained − uniform")
"""The contrasts of Table 3's order."""


def judged(gaps: pd.DataFrame, corpus: str, numbers: bool = True) -> tuple[str, str, str]:
    """Whether Table 3's gain is there and hangs on tokens, and whether weights leak the label: (verdict, leak, words).

    gaps: of `differences`; all sides are those after Holm. Verdict, a key of VERDICTS: 'no gain' where own - uniform
    lies below zero; 'undecided' where it is on neither side, for then neither a gain nor its absence is shown; above
    zero 'tokens' or 'unexplained', by own - permuted. Leak, a key of LEAKS: 'above' where a contrast of BARE lies above
    zero, 'alone' where one's own interval does; the words name which. 'open' and '' where one that is needed lacks
    seeds or runs; the words say 'no run' where none of them has any. numbers: with those of the contrasts.
    """
    rows = gaps[gaps["corpus"] == corpus].set_index("contrast")
    known = [name for name in NEEDED if name in rows.index]
    lies = rows["lies"].to_dict()
    gain, token, *alone = (lies.get(name, "") for name in NEEDED)
    leak = "above" if "above" in alone else "" if "" in alone else "contains"
    if leak == "contains" and any(rows.loc[name, "low"] > 0 for name in NEEDED[2:]):
        leak = "alone"
    if gain in ("below", "contains"):
        verdict = "no gain" if gain == "below" else "undecided"
    elif not gain or not token:
        verdict = "open"
    else:
        verdict = "tokens" if token == "above" else "unexplained"
    if not known:
        return verdict, leak, f"{corpus}: no run of what decides it."
    words = [VERDICTS[verdict], LEAKS[leak] + told_bare(rows, leak)]
    if verdict in ("no gain", "undecided"):
        alone_above = token == "contains" and rows.loc["own − permuted", "low"] > 0
        words.insert(1, PERMUTED["alone" if alone_above else token])
    known = [name for name in known if numbers and np.isfinite(rows.loc[name, "low"])]
    told = [f"{name} {told_gap(rows.loc[name])}" for name in known]
    return verdict, leak, f"{corpus}: {'; '.join(words)}" + (f" ({'; '.join(told)})." if told else ".")


def told_bare(rows: pd.DataFrame, leak: str) -> str:
    """' (ranks)', ' (places, ranks)': what tells the label where a leak is 'above' or 'alone'; '' for other leaks.

    rows: those of one data set in `differences`, by contrast.
    """
    tells = {"above": lambda row: row["lies"] == "above", "alone": lambda row: row["low"] > 0}.get(leak)
    return f" ({listed(BARE[name] for name in BARE if name in rows.index and tells(rows.loc[name]))})" if tells else ""


def told_gap(row: pd.Series) -> str:
    """'+0.106 (+0.032 to +0.181, 5 seeds; clear of 0, but not after Holm)': a row of `differences` in words."""
    mean, low, high = (number(row[name], "+.3f") for name in ("mean", "low", "high"))
    text = f"{'AUC ' if row['score'] == 'auc' else ''}{mean} ({low} to {high}, {seeds_in_words(row['n_seeds'])}"
    if row["n_guides"] < row["n_seeds"]:
        text += f" of {row['n_guides']} guide{'' if row['n_guides'] == 1 else 's'}"
    clear = row["low"] > 0 or row["high"] < 0
    return text + ("; clear of 0, but not after Holm)" if clear and row["lies"] == "contains" else ")")


def told_where(gaps: pd.DataFrame, contrast: str, lies: str) -> str:
    """The data sets on which a contrast lies on a side (`differences`), with its numbers; 'none' for none."""
    part = gaps[(gaps["contrast"] == contrast) & (gaps["lies"] == lies)]
    return listed(f"{row['corpus']} {told_gap(row)}" for _, row in part.iterrows())
