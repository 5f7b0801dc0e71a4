"""Attention weights as guides of a network that sees each token alone (Wiegreffe & Pinter 2019, section 3.4, Table 3).

What two sources of weights differ by is taken within seeds. The paper has four sources and one run of each; the
controls are ours: weights permuted within the document, another seed's in the test, an untrained model's, those of the
per-document search, and weights without words (after Bai et al. 2021: the weights themselves may tell the label).

Sources with words are compared by F1, as in the paper. F1 hangs on where a network puts its threshold; `by_auc` asks
the same of ROC AUC, which does not (post hoc). Two rules on weights without words were changed after the results had
been seen: they are compared by ROC AUC (the F1 of a network that knows nothing is 2/3 or 0 by the sign of an offset),
and ranks with places under uniform weights instead of chance, since as many ranks as words tell a text's length.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from attn_core.measures import HEADLINE_SEEDS, LEVEL, holm, seed_interval, seed_p

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


class Contrast(NamedTuple):
    """A difference first - second within seeds, and the score it is taken of."""

    first: str
    second: str
    score: str = "f1"
    title: str = ""

    @property
    def name(self) -> str:
        """As tables show it."""
        return self.title or f"{self.first} − {self.second}"


CONTRASTS = (
    *(Contrast("own", second) for second in ("trained", "uniform", "permuted", "swapped", "untrained", "searched")),
    Contrast("adversary", "uniform"),
    Contrast("own, position", "uniform, position", "auc", "weights alone − places alone"),
    Contrast("own, rank", "uniform, position", "auc", "ranks alone − places alone"),
)
"""The family of contrasts."""

LEARNED = Contrast("trained", "uniform")
"""The other half of Table 3's order. Scored by a rule that was fixed before any guided run; added to the tables of
contrasts after the results had been seen: shown by `gaps_of`, and in the correction of `by_auc` alone."""

WITH_WORDS = (*(c for c in CONTRASTS if c.score == "f1"), LEARNED)
"""The contrasts of networks that read the words."""


def differences(scores: pd.DataFrame, contrasts: Iterable[Contrast] = CONTRASTS) -> pd.DataFrame:
    """Contrasts of each data set over shared seeds, corrected together.

    scores and columns: as `gaps_of`; more columns holm (over all rows of all data sets with HEADLINE_SEEDS or more
    seeds and guides), lies: 'above', 'below' or 'contains' zero after Holm, '' where not judged.
    """
    found = gaps_of(scores, contrasts)
    judged = (found[["n_seeds", "n_guides"]].min(axis=1) >= HEADLINE_SEEDS).to_numpy()
    corrected = np.full(len(found), np.nan)
    corrected[judged] = holm(found["p"].to_numpy()[judged])
    side = np.where(found["mean"] > 0, "above", "below")
    return found.assign(holm=corrected, lies=np.where(judged, np.where(corrected < LEVEL, side, "contains"), ""))


def by_auc(scores: pd.DataFrame) -> pd.DataFrame:
    """`differences` of WITH_WORDS by ROC AUC, with a correction of their own: post hoc, so no verdict's."""
    return differences(scores, [c._replace(score="auc") for c in WITH_WORDS])


def gaps_of(scores: pd.DataFrame, contrasts: Iterable[Contrast]) -> pd.DataFrame:
    """Contrasts of each data set within seeds, not yet judged; those without a common seed are left out.

    scores: corpus, source, seed, f1, auc, and base_seed, the seed of the model whose weights guide (without that column
    each seed has a guide of its own). Columns corpus, contrast, score, mean, low, high, n_seeds, n_guides (models
    that guide the first source; n_seeds where none does), p (Student t, two-sided, against 0).
    """
    contrasts, rows = list(contrasts), []
    for corpus, part in scores.groupby("corpus", sort=False):
        runs = {source: mine.set_index("seed") for source, mine in part.groupby("source")}
        for c in (c for c in contrasts if {c.first, c.second} <= set(runs)):
            gap = (runs[c.first][c.score] - runs[c.second][c.score]).dropna()
            if len(gap):
                values, first = gap.to_numpy(float), runs[c.first].loc[gap.index].reset_index()
                counts = len(values), guides_of(first)
                rows.append([corpus, c.name, c.score, values.mean(), *seed_interval(values), *counts, seed_p(values)])
    columns = ["corpus", "contrast", "score", "mean", "low", "high", "n_seeds", "n_guides", "p"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(("mean", "low", "high", "p"), float))


def guides_of(rows: pd.DataFrame) -> int:
    """Models whose weights guide the runs of one source; a network that learns its own weights has one a seed."""
    guides = rows.get("base_seed", rows["seed"])
    return int(guides.where(guides != -1, rows["seed"]).nunique())
