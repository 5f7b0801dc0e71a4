"""Encoders compared at equal confidence: a model that is surer of its texts has states that agree more often."""

from collections.abc import Iterable

import pandas as pd

from attn_core import Run, obtain
from attn_core.run import SEEDS

EDGES = [0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.49, 0.51]
"""Of the bins of confidence, |p − ½|."""

MEASURES = ["echo", "locked"]


def matched(corpora: Iterable[str], encoders: Iterable[str], others: Iterable[str]) -> pd.DataFrame:
    """Single-state agreement and the share of attention-invariant decisions of encoders, five seeds.

    Parameters
    ----------
    corpora, encoders : iterable of str
        Of models with additive attention whose documents are stored.
    others : iterable of str
        Encoders whose confidence the texts are weighted by.

    Returns
    -------
    DataFrame
        Columns corpus, encoder, mix ('own', or one of `others` but the encoder itself), measure, seed, value (0 to 1).
    """
    rows = []
    for corpus in corpora:
        for seed in SEEDS[:5]:
            texts = {name: obtain(Run(corpus, name, seed=seed), traces=False).documents for name in encoders}
            for encoder, table in texts.items():
                for mix in ["own", *(other for other in others if other != encoder)]:
                    means = at_confidence_of(table, texts.get(mix, table))
                    rows += [(corpus, encoder, mix, measure, seed, value) for measure, value in means.items()]
    return pd.DataFrame(rows, columns=["corpus", "encoder", "mix", "measure", "seed", "value"])


def at_confidence_of(texts: pd.DataFrame, others: pd.DataFrame) -> pd.Series:
    """Means of MEASURES, texts weighted so that each bin of confidence has its share among `others`; a bin without
    texts is left out."""
    bins, other_bins = (pd.cut((table["p"] - 0.5).abs(), EDGES, right=False) for table in (texts, others))
    means = texts.groupby(bins, observed=True)[MEASURES].mean()
    share = other_bins.value_counts().reindex(means.index)
    return means.mul(share / share.sum(), axis=0).sum()
