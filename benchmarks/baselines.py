"""What a model's accuracy is held against, measured: the most frequent class, and a regression on bags of words."""

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from attn_core.documents import SPECIALS, Encoded
from attn_lab.data import encode
from attn_lab.runs.controls import word_counts
from benchmarks.measured import put

SPLITS = ("train", "dev", "test")

STRENGTHS = (1.0, 4.0, 16.0)
"""Inverse penalties C that are tried; the development set chooses."""


def bag_of_words(data: Encoded) -> dict:
    """Test accuracy of the most frequent training class and of the regression, trained on the same documents and words.

    Bags are tf-idf with logarithmic counts, rows of length 1, without special tokens; the penalty with the best
    accuracy on dev is kept (the strongest of equals). Of pairs the bags hold the question or hypothesis alone, so that
    the regression never reads the text that attention is over. data: fingerprint of the corpus.
    """
    splits = data.splits
    if splits["train"].query_ids is not None:
        splits = {name: documents.queries for name, documents in splits.items()}
    counts = [
        word_counts(splits[name], len(data.vocabulary))[:, len(SPECIALS) :] for name in SPLITS
    ]
    weigh = TfidfTransformer(sublinear_tf=True).fit(counts[0])
    train, dev, test = map(weigh.transform, counts)
    models = [
        LogisticRegression(C=strength, max_iter=300).fit(train, splits["train"].labels)
        for strength in STRENGTHS  # the strongest penalty first
    ]
    best = max(models, key=lambda model: model.score(dev, splits["dev"].labels))
    labels = splits["test"].labels
    return {
        "corpus": data.name,
        "majority": float((labels == np.bincount(splits["train"].labels).argmax()).mean()),
        "regression": float(best.score(test, labels)),
        "strength": best.C,
        "words": train.shape[1],
        **{f"n_{name}": len(splits[name]) for name in SPLITS},
        "data": data.fingerprint[:12],
    }


def write(*corpora: str) -> None:
    """The baselines of some data sets into the stored table."""
    rows = [bag_of_words(encode(name)) for name in corpora]
    put("baselines.csv", pd.DataFrame(rows), "corpus", digits=6)
