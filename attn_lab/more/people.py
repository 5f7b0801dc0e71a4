"""Do people mark the words that a ranking puts first? Marks of Thorn Jakobsen, Cabello & Søgaard 2023 on SST.

Plausible is not faithful (Jacovi & Goldberg 2020): this is agreement with people, and says nothing of the model.
"""

import numpy as np
import pandas as pd
from numpy import ndarray

from attn_core.experiments.correlation import kendall_ragged
from attn_core.traces import totals
from attn_lab.data.cleaning import clean_sst
from attn_lab.data.pieces import plain
from attn_lab.data.prepare import FIRST, marks
from attn_lab.data.tables import read
from attn_lab.more.compared import included

MOST = 0.6
"""Share of the five that at least three of them are."""


def raw_words(doc_ids: ndarray) -> list[list[str]]:
    """The words between blanks of sentences of SST that are tested on. AttnError where SST is not at hand."""
    splits = [read("sst", split)["text"].rename(first.__add__) for split, first in FIRST.items()]
    return pd.concat(splits).loc[doc_ids].str.split().tolist()


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
    table = marks().set_index("doc_id")
    marked = []
    for doc_id, words in zip(doc_ids, raw_words(doc_ids), strict=True):
        owner = owners(words)
        by_person = []
        for line in table.loc[doc_id, "marked"]:
            places = np.array(line.split(), int)
            by_person.append(np.isin(owner, places))
        marked.append(by_person)
    groups = table["person"].groupby(level=0).first() // 6
    return np.concatenate(marked, axis=1), groups[doc_ids].to_numpy()


def plausible(values: ndarray, marked: ndarray, offsets: ndarray) -> pd.DataFrame:
    """Agreement of a ranking with five of six people, each left out in turn: the mean over the six.

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
    DataFrame
        first: whether three of the five marked the word of the largest value, NaN where they marked none; tau:
        Kendall's with the share of the five.
    """
    agreements = []
    for left_out, ranking in enumerate(np.broadcast_to(values, marked.shape).astype(float)):
        share = np.delete(marked, left_out, axis=0).mean(axis=0)
        wanted = share >= MOST
        first = totals(included(ranking, offsets, 1) * wanted, offsets)
        first[totals(wanted, offsets) == 0] = np.nan
        tau, _ = kendall_ragged(ranking, share, offsets)
        agreements.append(pd.DataFrame({"first": first, "tau": tau}))
    return pd.concat(agreements).groupby(level=0).mean()
