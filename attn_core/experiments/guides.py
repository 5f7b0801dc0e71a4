"""Attention weights as guides of a network that sees each token alone (Wiegreffe & Pinter 2019, section 3.4, Table 3).

Here: what the scores of guided runs say. Each source of weights has an F1 over seeds; what two sources differ by is
taken within seeds. The paper has four sources and one run of each; the controls are ours: weights permuted within the
document, another seed's in the test, an untrained model's, those of the per-document search, and weights without words
(after Bai et al. 2021: the weights themselves may tell the label).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from attn_core.across import listed, number, seeds_in_words
from attn_core.measures import LEVEL, holm, seed_interval, seed_p
from attn_core.seeds import HEADLINE_SEEDS

SOURCES = {
    "uniform": "uniform",
    "trained": "learned by the network itself",
    "own": "base LSTM",
    "adversary": "trained adversary",
    "permuted": "base LSTM, permuted within the document",
    "swapped": "base LSTM in training, another seed's in the test",
    "untrained": "untrained LSTM",
    "searched": "per-document search",
    "own, position": "base LSTM, places instead of words",
    "own, rank": "base LSTM, ranks of the weights instead of words",
    "uniform, position": "uniform, places instead of words",
}
"""Source of the weights (and what the network reads, where not words) -> in words. The first four are Table 3's."""


@dataclass(frozen=True)
class Contrast:
    """A difference first - second within seeds, and what it asks."""

    name: str
    first: str
    second: str
    asks: str


CONTRASTS = (
    Contrast("own − trained", "own", "trained", "are imposed weights better than learned ones"),
    Contrast("own − uniform", "own", "uniform", "do imposed weights help at all"),
    Contrast("own − permuted", "own", "permuted", "does it matter which token a weight stands on"),
    Contrast("own − swapped", "own", "swapped", "must test weights come from the model of the training weights"),
    Contrast("own − untrained", "own", "untrained", "must the guide be trained"),
    Contrast("own − searched", "own", "searched", "are weights of the same output as good"),
    Contrast("adversary − uniform", "adversary", "uniform", "is a trained adversary worse than no guide"),
    Contrast(
        "weights alone − places alone", "own, position", "uniform, position", "do weights tell the label without words"
    ),
)
"""The family of contrasts."""


def always_positive(share: float) -> float:
    """F1 of class 1 of the rule that always says class 1, the best that looks at nothing; share: of class 1."""
    return 2 * share / (1 + share)


def over_seeds(scores: pd.DataFrame) -> pd.DataFrame:
    """F1 of each source: corpus, source, mean, low, high (95 % Student t over seeds), n_seeds.

    scores: corpus, source, seed, f1; one row a run. In the order of SOURCES within a data set.
    """
    rows = []
    for (corpus, source), part in scores.groupby(["corpus", "source"], sort=False):
        values = part["f1"].to_numpy(float)
        rows.append([corpus, source, values.mean(), *seed_interval(values), len(values)])
    found = pd.DataFrame(rows, columns=["corpus", "source", "mean", "low", "high", "n_seeds"])
    place = {name: i for i, name in enumerate(SOURCES)}
    sets = {name: i for i, name in enumerate(dict.fromkeys(scores["corpus"]))}
    order = np.lexsort((found["source"].map(place), found["corpus"].map(sets)))
    return found.iloc[order].reset_index(drop=True)


def differences(scores: pd.DataFrame) -> pd.DataFrame:
    """CONTRASTS of each data set over shared seeds, and the ranks' lead over a rule that looks at nothing.

    scores: corpus, source, seed, f1, positives (share of class 1 in the test set), and base_seed, the seed of the model
    whose weights guide (without that column each seed has a guide of its own). Columns corpus, contrast, asks, mean,
    low, high, n_seeds, n_guides (models that guide the first source; n_seeds where none does), p (Student t, two-sided,
    against 0), holm (over all rows of all data sets with HEADLINE_SEEDS or more seeds and guides), lies: 'above',
    'below' or 'contains' zero after Holm, '' where not judged. Contrasts without a common seed are left out.
    """
    rows = []
    for corpus, part in scores.groupby("corpus", sort=False):
        f1 = {source: mine.set_index("seed")["f1"] for source, mine in part.groupby("source")}
        pairs = [(c.name, c.asks, c.first, f1.get(c.second)) for c in CONTRASTS]
        floor = always_positive(float(part["positives"].iloc[0]))
        pairs.append(("ranks alone − always class 1", "do ranks of weights tell the label", "own, rank", floor))
        for name, asks, first, second in pairs:
            if first not in f1 or second is None:
                continue
            gap = (f1[first] - second).dropna()
            if len(gap):
                mine = part[(part["source"] == first) & part["seed"].isin(gap.index)]
                values, n_guides = gap.to_numpy(float), guides_of(mine)
                rows.append(
                    [corpus, name, asks, values.mean(), *seed_interval(values), len(values), n_guides, seed_p(values)]
                )
    columns = ["corpus", "contrast", "asks", "mean", "low", "high", "n_seeds", "n_guides", "p"]
    found = pd.DataFrame(rows, columns=columns)
    judged = (found[["n_seeds", "n_guides"]].min(axis=1) >= HEADLINE_SEEDS).to_numpy()
    corrected = np.full(len(found), np.nan)
    corrected[judged] = holm(found["p"].to_numpy()[judged])
    side = np.where(found["mean"] > 0, "above", "below")
    return found.assign(holm=corrected, lies=np.where(judged, np.where(corrected < LEVEL, side, "contains"), ""))


def guides_of(rows: pd.DataFrame) -> int:
    """Models whose weights guide the runs of one source; a network that learns its own weights has one a seed."""
    guides = rows.get("base_seed", rows["seed"])
    return int(guides.where(guides != -1, rows["seed"]).nunique())


# ---- the verdict -----------------------------------------------------------------------------------------------------

VERDICTS = {
    "no gain": "the base's weights give a lower F1 than uniform ones, so there is no gain to explain",
    "undecided": "a gain over uniform weights is not shown, so leakage is not decided",
    "tokens": "the gain hangs on which token a weight stands on; that weights without words know the label is not "
              "shown",
    "both": "the gain hangs on which token a weight stands on, but weights without words "
            "also know something of the label",
    "weights": "it is not shown that the gain hangs on which token a weight stands on, "
               "while weights without words know something of the label",
    "unexplained": "it is shown neither that the gain hangs on which token a weight stands on, "
                   "nor that weights without words know the label",
    "open": "the runs do not decide",
}  # fmt: skip

PERMUTED = {
    "above": "permuting the weights within documents costs F1",
    "below": "permuting the weights within documents raises F1",
    "alone": "permuting the weights within documents costs F1 by its own interval, though not after Holm",
    "contains": "that permuting the weights within documents costs F1 is not shown",
    "": "what permuting the weights costs has too few seeds",
}
"""Where own - permuted lies -> in words; 'alone': its interval lies above zero, but not after Holm."""

NEEDED = ("own − uniform", "own − permuted", "weights alone − places alone", "ranks alone − always class 1")
"""The contrasts that decide on leakage."""


def leakage(gaps: pd.DataFrame, corpus: str, numbers: bool = True) -> tuple[str, str]:
    """Whether Table 3's gain is information on tokens or leaks through the weights themselves: (verdict, sentence).

    gaps: of `differences`; all sides are those after Holm. Verdict, a key of VERDICTS: 'no gain' where own - uniform
    lies below zero; 'undecided' where it is on neither side, for then neither a gain nor its absence is shown: the
    sentence goes on with what permuting costs. Above zero, by whether own - permuted ('tokens') and weights without
    words - places alone, or ranks alone against a constant answer ('weights'), lie above zero. 'open' where one that
    is needed lacks seeds or runs; the sentence says 'no run' where none of them has any. numbers: with those of the
    contrasts.
    """
    rows = gaps[gaps["corpus"] == corpus].set_index("contrast")
    lies = rows["lies"].to_dict()
    gain, token, *alone = (lies.get(name, "") for name in NEEDED)
    if gain in ("below", "contains"):
        verdict = "no gain" if gain == "below" else "undecided"
    elif not gain or not token or ("above" not in alone and "" in alone):
        verdict = "open"
    elif "above" in alone:
        verdict = "both" if token == "above" else "weights"
    else:
        verdict = "tokens" if token == "above" else "unexplained"
    known = [name for name in NEEDED if name in rows.index]
    if not known:
        return verdict, f"{corpus}: no run of what decides it."
    words = VERDICTS[verdict]
    if verdict in ("no gain", "undecided"):
        alone_above = token == "contains" and rows.loc["own − permuted", "low"] > 0
        words += f"; {PERMUTED['alone' if alone_above else token]}"
    known = [name for name in known if numbers and np.isfinite(rows.loc[name, "low"])]
    told = [f"{name} {told_gap(rows.loc[name])}" for name in known]
    return verdict, f"{corpus}: {words}" + (f" ({'; '.join(told)})." if told else ".")


def told_gap(row: pd.Series) -> str:
    """'+0.106 (+0.032 to +0.181, 5 seeds; clear of 0, but not after Holm)': a row of `differences` in words."""
    mean, low, high = (number(row[name], "+.3f") for name in ("mean", "low", "high"))
    text = f"{mean} ({low} to {high}, {seeds_in_words(row['n_seeds'])}"
    if row["n_guides"] < row["n_seeds"]:
        text += f" of {row['n_guides']} guide{'' if row['n_guides'] == 1 else 's'}"
    clear = row["low"] > 0 or row["high"] < 0
    return text + ("; clear of 0, but not after Holm)" if clear and row["lies"] == "contains" else ")")


def told_where(gaps: pd.DataFrame, contrast: str, lies: str) -> str:
    """The data sets on which a contrast lies on a side (`differences`), with its numbers; 'none' for none."""
    part = gaps[(gaps["contrast"] == contrast) & (gaps["lies"] == lies)]
    return listed(f"{row['corpus']} {told_gap(row)}" for _, row in part.iterrows())
