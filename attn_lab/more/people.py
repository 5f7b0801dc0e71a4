"""Do people mark the words that a ranking puts first? Marks of Thorn Jakobsen, Cabello & Søgaard 2023 on SST.

Plausible is not faithful (Jacovi & Goldberg 2020): this is agreement with people, and says nothing of the model.
"""

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score

from attn_core.experiments.correlation import kendall_ragged
from attn_core.traces import Arrays, totals
from attn_lab.data.cleaning import clean_sst
from attn_lab.data.prepare import FIRST, marks
from attn_lab.data.tables import read
from attn_lab.more.compared import included

MOST = 0.6
"""Share of the five that at least three of them are."""


def marks_of(doc_ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which words (6, T) of D test sentences of SST, `marked` or not, six people marked, and the group (D,) they are.

    `marks` counts words between blanks; all that the cleaning makes of a marked one is marked. AttnError where SST
    is not at hand, KeyError for a sentence that nobody marked.
    """
    sentences = dict(iter(marks().groupby("doc_id")))
    raw = {split: read("sst", split)["text"] for split in FIRST}
    marked = []
    groups = []
    for doc_id in doc_ids:
        six = sentences[doc_id]
        split, row, person = six[["split", "row", "person"]].iloc[0]
        words = map(clean_sst, raw[split][row].split())
        place = [number for number, word in enumerate(words) for _ in word]
        marked.append([np.isin(place, np.array(line.split(), int)) for line in six["marked"]])
        groups.append(person // 6)
    return np.concatenate(marked, axis=1), np.array(groups)


def plausible(values: np.ndarray, marked: np.ndarray, offsets: np.ndarray) -> Arrays:
    """Agreement (D,) of a ranking with five of six people, each left out in turn: the mean over the six.

    Parameters
    ----------
    values : (T,) or (6, T) array
        What ranks the words; six rows hold what the person who is left out says.
    marked : (6, T) array of bool
        Who marked what.
    offsets : (D + 1,) array of int
        Document d owns words offsets[d]:offsets[d + 1].

    Returns
    -------
    dict
        first: whether three of the five marked the word of the largest value; precision: average precision of the words
        that three marked; both NaN where there is none; tau: Kendall's with the share of the five.
    """
    found: dict[str, list] = {"first": [], "precision": [], "tau": []}
    for left_out, ranking in enumerate(np.broadcast_to(values, marked.shape).astype(float)):
        share = np.delete(marked, left_out, axis=0).mean(axis=0)
        wanted = share >= MOST
        some = totals(wanted, offsets) > 0
        first = totals(included(ranking, offsets, 1) * wanted, offsets)
        found["first"].append(np.where(some, first, np.nan))
        texts = zip(np.split(wanted, offsets[1:-1]), np.split(ranking, offsets[1:-1]), strict=True)
        found["precision"].append([average_precision_score(*text) if text[0].any() else np.nan for text in texts])
        found["tau"].append(kendall_ragged(ranking, share, offsets)[0])
    return {name: pd.DataFrame(each).mean().to_numpy() for name, each in found.items()}
