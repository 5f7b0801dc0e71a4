"""Attention weights as guides of a network that sees each token alone (Wiegreffe & Pinter 2019, section 3.4, Table 3).

What two sources of weights differ by is taken within seeds. The paper has four sources and one run of each; the
controls are ours: weights permuted within the document, another seed's in the test, an untrained model's, those of the
per-document search, and weights without words (after Bai et al. 2021: the weights themselves may tell the label).

Sources with words are compared by F1, as in the paper. F1 hangs on where a network puts its threshold; BY_AUC asks the
same of ROC AUC, which does not (post hoc). Two rules on weights without words were changed after the results had
been seen: they are compared by ROC AUC (the F1 of a network that knows nothing is 2/3 or 0 by the sign of an offset),
and ranks with places under uniform weights instead of chance, since as many ranks as words tell a text's length.
"""

import numpy as np
import pandas as pd
import yaml

from attn_book.corrected import holm, p_of
from attn_book.words import NAMES
from attn_core.measures import HEADLINE_SEEDS, LEVEL
from attn_lab import over_seeds
from attn_lab.runs import store

SOURCES = NAMES["sources"]
"""Source of the weights (and what the network reads, where not words) -> in words. The first four are Table 3's."""


CONTRASTS = yaml.safe_load(store.read_data("reported/claims.yml"))["contrasts"]
"""The family of contrasts: name -> sources first and second, whose difference is taken within seeds, and the score."""

LEARNED = {"trained − uniform": ("trained", "uniform", "f1")}
"""The other half of Table 3's order. Scored by a rule that was fixed before any guided run; added to the tables of
contrasts after the results had been seen, and in the correction of BY_AUC alone."""

BY_AUC = {
    name: (first, second, "auc") for name, (first, second, score) in (CONTRASTS | LEARNED).items() if score == "f1"
}
"""The contrasts of networks that read the words, with a correction of their own: post hoc, so no verdict's."""


def differences(scores: pd.DataFrame, contrasts: dict[str, tuple[str, str, str]] = CONTRASTS) -> pd.DataFrame:
    """Contrasts within seeds, each of each data set, corrected together; those without a common seed are left out.

    scores: corpus, source, seed, f1, auc, and base_seed, the seed of the model whose weights guide (-1: none does).
    Columns corpus, contrast, score, mean, low, high, n_seeds, n_guides (models that guide the first source; n_seeds
    where none does), p (Student t, two-sided, against 0), holm (over all rows of all data sets with HEADLINE_SEEDS or
    more seeds and guides), lies: 'above', 'below' or 'contains' zero after Holm, '' where not judged.
    """
    gaps = []
    for name, (first, second, score) in contrasts.items():
        ours, theirs = (scores[scores["source"] == source].set_index(["corpus", "seed"]) for source in (first, second))
        gaps.append(ours.assign(value=ours[score] - theirs[score], contrast=name, score=score))
    rows = pd.concat(gaps).dropna(subset="value").reset_index()
    by = ["corpus", "contrast", "score"]
    table = over_seeds(rows, *by).drop(columns="std")
    guide = rows["base_seed"].where(rows["base_seed"] != -1, rows["seed"])
    table["n_guides"] = guide.groupby([rows[name] for name in by], sort=False).nunique().to_numpy()
    table["p"] = p_of(table)
    enough = table[["n_seeds", "n_guides"]].min(axis=1) >= HEADLINE_SEEDS
    corrected = pd.Series(holm(table["p"][enough].to_numpy()), table.index[enough]).reindex(table.index)
    lies = np.select(
        [~enough, corrected >= LEVEL, table["mean"] > 0],
        ["", "contains", "above"],
        "below",
    )
    return table.assign(holm=corrected, lies=lies)
