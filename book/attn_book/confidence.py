"""Encoders compared at equal confidence: a model that is surer of its texts has states that agree more often."""

from collections.abc import Iterable
from itertools import product

import pandas as pd

from attn_lab import Run, obtain
from attn_lab.runs.run import SEEDS

EDGES = [0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.49, 0.51]
"""Of the bins of confidence, |p − ½|."""

MEASURES = ["single_state_agreement", "attention_invariant"]


def matched(corpora: Iterable[str], encoders: Iterable[str], references: Iterable[str]) -> pd.DataFrame:
    """Single-state agreement and the share of attention-invariant decisions of encoders, five seeds.

    Parameters
    ----------
    corpora, encoders : iterable of str
        Of models with additive attention whose documents are stored.
    references : iterable of str
        Encoders whose confidence the texts are weighted by.

    Returns
    -------
    DataFrame
        Columns corpus, encoder, mix ('own', or one of `references` but the encoder itself), measure, seed, value (0 to
        1).
    """
    rows = []
    for corpus, seed in product(corpora, SEEDS[:5]):
        texts = {}
        for name in encoders:
            run = Run(corpus, name, seed=seed)
            texts[name] = obtain(run, traces=False).documents
        for encoder, table in texts.items():
            for mix in ("own", *references):
                if mix == encoder:
                    continue
                means = at_confidence_of(table, texts.get(mix, table))
                where = {"corpus": corpus, "encoder": encoder, "mix": mix, "seed": seed}
                rows += [where | {"measure": name, "value": value} for name, value in means.items()]
    return pd.DataFrame(rows)[["corpus", "encoder", "mix", "measure", "seed", "value"]]


def at_confidence_of(texts: pd.DataFrame, reference: pd.DataFrame) -> pd.Series:
    """Means of MEASURES, texts weighted so that each bin of confidence has its share in `reference`; a bin without
    texts is left out."""
    means = texts.groupby(bins_of(texts), observed=True)[MEASURES].mean()
    share = bins_of(reference).value_counts()
    share = share.reindex(means.index)
    return means.mul(share / share.sum(), axis=0).sum()


def bins_of(texts: pd.DataFrame) -> pd.Series:
    """The bin of EDGES of each text."""
    confidence = (texts["p"] - 0.5).abs()
    return pd.cut(confidence, EDGES, right=False)
