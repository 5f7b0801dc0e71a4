"""Do people mark the words that a ranking puts first? Marks of Thorn Jakobsen, Cabello & Søgaard 2023 on SST.

Plausible is not faithful (Jacovi & Goldberg 2020): this is agreement with people, and says nothing of the model.
"""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy import ndarray
from sklearn.metrics import average_precision_score

from attn_core.experiments.correlation import kendall_ragged
from attn_core.traces import Arrays, totals
from attn_lab.data.cleaning import clean_sst
from attn_lab.data.pieces import plain
from attn_lab.data.prepare import FIRST, marks
from attn_lab.data.tables import read
from attn_lab.more.compared import included

MOST = 0.6
"""Share of the five that at least three of them are."""


def raw_words(doc_ids: ndarray) -> list[list[str]]:
    """The words between blanks of sentences of SST that are tested on. AttnError where SST is not at hand."""
    raw = {first: read("sst", split)["text"] for split, first in FIRST.items()}
    firsts = [max(first for first in raw if first <= doc_id) for doc_id in doc_ids]
    return [raw[first][doc_id - first].split() for first, doc_id in zip(firsts, doc_ids, strict=True)]


def owners(words: list[str]) -> ndarray:
    """(T,) of each word that the cleaning makes of words between blanks, the number of the one it is of."""
    return np.array([number for number, word in enumerate(words) for _ in clean_sst(word)])


def as_read(words: list[str]) -> tuple[str, ndarray]:
    """A sentence as pretrained models read it, and `owners` in it: n't and what begins with ' join the word before."""
    joins = np.array([word.startswith(("n't", "'")) for word in words])
    joins[0] = False
    return plain("sst", " ".join(words)), (np.cumsum(~joins) - 1)[owners(words)]


def marks_of(doc_ids: ndarray) -> tuple[ndarray, ndarray]:
    """Which words (6, T) of D test sentences of SST, `marked` or not, six people marked, and the group (D,) they are.

    `marks` counts words between blanks; all that the cleaning makes of a marked one is marked. AttnError where SST
    is not at hand, KeyError for a sentence that nobody marked.
    """
    sentences = dict(iter(marks().groupby("doc_id")))
    marked = []
    groups = []
    for doc_id, words in zip(doc_ids, raw_words(doc_ids), strict=True):
        six = sentences[doc_id]
        owner = owners(words)
        by_person = []
        for line in six["marked"]:
            places = np.array(line.split(), int)
            by_person.append(np.isin(owner, places))
        marked.append(by_person)
        groups.append(six["person"].iloc[0] // 6)
    return np.concatenate(marked, axis=1), np.array(groups)


def plausible(
    values: ndarray,
    marked: ndarray,
    offsets: ndarray,
) -> Arrays:
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
    rankings = np.broadcast_to(values, marked.shape)
    agreements = []
    for left_out, ranking in enumerate(rankings.astype(float)):
        five = np.delete(marked, left_out, axis=0)
        share = five.mean(axis=0)
        wanted = share >= MOST
        top = included(ranking, offsets, 1)
        none = totals(wanted, offsets) == 0
        tau, _ = kendall_ragged(ranking, share, offsets)
        numbers = {
            "first": np.where(none, np.nan, totals(top * wanted, offsets)),
            "precision": precision(ranking, wanted, offsets),
            "tau": tau,
        }
        agreements.append(pd.DataFrame(numbers))
    means = pd.concat(agreements).groupby(level=0).mean()
    return {name: means[name].to_numpy() for name in means}


def precision(
    ranking: ndarray,
    wanted: ndarray,
    offsets: ndarray,
) -> list[float]:
    """Average precision of the wanted words in each text, NaN where none is wanted."""
    scores = []
    for start, end in pairwise(offsets):
        text = slice(start, end)
        score = math.nan
        if wanted[text].any():
            score = average_precision_score(wanted[text], ranking[text])
        scores.append(score)
    return scores
