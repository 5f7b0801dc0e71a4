"""Encoders compared at equal confidence: a model that is surer of its texts has states that agree more often."""

from collections.abc import Iterable
from functools import cache
from itertools import product

import numpy as np
import pandas as pd

from attn_book.derived import measured
from attn_book.scorecard import FEWEST
from attn_core.measures import crossed_interval
from attn_lab import Run, obtain
from attn_lab.runs.run import SEEDS

EDGES = [
    0,
    0.1,
    0.2,
    0.3,
    0.4,
    0.45,
    0.49,
    0.51,
]
"""Of the bins of confidence, |p − ½|."""

COVERED = 0.95
"""Share of the reference's texts whose bins must hold texts."""

MEASURES = ["single_state_agreement", "attention_invariant"]

DOWNLOADED = "minilm as downloaded"
"""A head on its frozen last layer; of SST, data/measured/frozen.csv.xz."""


def matched(
    corpora: Iterable[str],
    encoders: Iterable[str],
    references: Iterable[str],
) -> pd.DataFrame:
    """Single-state agreement and the share of attention-invariant decisions of encoders, five seeds.

    Parameters
    ----------
    corpora, encoders : iterable of str
        Of models with additive attention whose documents are stored, or DOWNLOADED.
    references : iterable of str
        Encoders whose confidence the texts are weighted by.

    Returns
    -------
    DataFrame
        Columns corpus, encoder, mix ('own', or one of `references` but the encoder itself), measure, mean (0 to 1),
        low, high (`mean_of`), n_seeds, texts (`enough`).
    """
    rows = []
    for corpus, encoder, mix in product(corpora, encoders, ("own", *references)):
        if mix == encoder:
            continue
        each, texts = at_confidence(corpus, encoder, encoder if mix == "own" else mix)
        for measure, values in zip(MEASURES, each, strict=True):
            rows.append((corpus, encoder, mix, measure, *mean_of(values, texts), len(values), texts))
    names = [
        "corpus",
        "encoder",
        "mix",
        "measure",
        "mean",
        "low",
        "high",
        "n_seeds",
        "texts",
    ]
    return pd.DataFrame(rows, columns=names)


def mean_of(values: np.ndarray, texts: float) -> tuple[float, float, float]:
    """Mean of values (S, D) and its interval over seeds and texts; NaN of fewer than FEWEST texts."""
    return (values.mean(), *crossed_interval(values)) if texts >= FEWEST else (np.nan,) * 3


def at_confidence(corpus: str, encoder: str, reference: str) -> tuple[np.ndarray, float]:
    """MEASURES (2, S, D), `weighed` by another encoder's confidence, and `enough` in the seed that has the fewest."""
    tables, texts = [], []
    for seed in SEEDS[:5]:
        own = documents(corpus, encoder, seed)
        weight = weights(own, documents(corpus, reference, seed))
        tables.append(weighed(own, weight))
        texts.append(enough(weight))
    assert all(table.index.equals(tables[0].index) for table in tables)
    return np.stack(tables).transpose(2, 0, 1), min(texts)


def enough(weight: pd.Series) -> float:
    """How many texts of equal weights tell as much (Kish); 0 without weights."""
    return np.nan_to_num(weight.sum() ** 2 / (weight**2).sum())


@cache
def documents(corpus: str, encoder: str, seed: int) -> pd.DataFrame:
    """p and MEASURES by doc_id."""
    if encoder == DOWNLOADED:
        rows = measured("frozen.csv.xz").query("seed == @seed")
        rows = rows.assign(attention_invariant=rows["single_state_agreement"] == 1)
    else:
        rows = obtain(Run(corpus, encoder, seed=seed), traces=False).documents
    return rows.set_index("doc_id")[["p", *MEASURES]].astype(float)


def weights(texts: pd.DataFrame, reference: pd.DataFrame) -> pd.Series:
    """Of texts, so that each bin of confidence has its share in `reference`; a bin without texts is left out, and all
    are NaN where such bins hold more than 1 - COVERED of the reference."""
    bins = bins_of(texts)
    count, share = (np.bincount(each, minlength=len(EDGES)) for each in (bins, bins_of(reference)))
    covered = share[count > 0].sum() / share.sum()
    weight = (share / share.sum())[bins] / count[bins] / covered if covered >= COVERED else np.nan
    return pd.Series(weight, texts.index)


def weighed(texts: pd.DataFrame, weight: pd.Series) -> pd.DataFrame:
    """MEASURES of each text so that their plain means are the weighted ones, and deviations count by their weight and
    within bins, so that an interval of these means is that of the stratified ones."""
    values = texts[MEASURES]
    means = values.mul(weight, axis=0).sum(skipna=False)
    within = values - values.groupby(bins_of(texts)).transform("mean")
    return within.mul(weight * len(texts), axis=0) + means


def bins_of(texts: pd.DataFrame) -> np.ndarray:
    """The bin of EDGES of each text."""
    return np.digitize((texts["p"] - 0.5).abs(), EDGES)
