"""What a model's accuracy is held against: the most frequent class, and a logistic regression on bags of words.

None of the papers has either. A model that does not learn its task, or learns it without the text that it attends
over, says nothing about attention: it is greyed on pages and enters no claim. `weak` is the one rule for all models.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from attn_core.corpora.catalogue import CATALOGUE
from attn_core.corpora.documents import Documents, Encoded
from attn_core.corpora.text import SPECIALS
from attn_core.measures import seed_interval
from attn_core.store import reported_folder

STRENGTHS = (1.0, 4.0, 16.0)
"""Inverse penalties C that are tried; the development set chooses."""

BELOW = 0.03
"""How far a model of texts may lie below the regression, and how far one of pairs must lie above it."""

BELOW_BEST = 0.10
"""How far a model of pairs may lie below the best encoder of its data set."""

COLUMNS = ("corpus", "majority", "regression", "strength", "words", "n_train", "n_dev", "n_test", "data")


def bags(documents: Documents, vocabulary: int):
    """Counts of the vocabulary's words in each document, (D, V) sparse; special tokens have no column."""
    from scipy.sparse import csr_array

    ones = np.ones(len(documents.ids))
    counts = csr_array((ones, documents.ids, documents.offsets), (len(documents), vocabulary), copy=True)
    counts.sum_duplicates()
    return counts[:, len(SPECIALS) :]


def bag_of_words(data: Encoded) -> dict:
    """Test accuracy of the most frequent training class and of the regression, trained on the same documents and words.

    Bags are tf-idf with logarithmic counts, rows of length 1; the penalty with the best accuracy on dev is kept (the
    strongest of equals). Of pairs the bags hold the question or hypothesis alone, so that the regression never reads
    the text that attention is over. Keys COLUMNS; data: fingerprint of the corpus.
    """
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression

    splits, weigh = data.splits, TfidfTransformer(sublinear_tf=True)
    if splits["train"].query_ids is not None:
        splits = {name: part.queries for name, part in splits.items()}
    train = weigh.fit_transform(bags(splits["train"], len(data.vocabulary)))
    dev, test = (weigh.transform(bags(splits[name], len(data.vocabulary))) for name in ("dev", "test"))
    best = (-1.0, None, None)
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=300).fit(train, splits["train"].labels)
        best = max(best, (float(model.score(dev, splits["dev"].labels)), -strength, model), key=lambda found: found[:2])
    labels = splits["test"].labels
    return {
        "corpus": data.name,
        "majority": float((labels == np.bincount(splits["train"].labels).argmax()).mean()),
        "regression": float(best[2].score(test, labels)),
        "strength": -best[1],
        "words": train.shape[1],
        **{f"n_{name}": len(splits[name]) for name in ("train", "dev", "test")},
        "data": data.fingerprint[:12],
    }


def file() -> Path:
    """The stored baselines, beside data/reported."""
    return reported_folder().parent / "measured" / "baselines.csv"


def measure(corpora: list[str]) -> pd.DataFrame:
    """Compute the baselines of some data sets and put them into the stored table; returns the whole table."""
    from attn_core.corpora import encode

    kept = stored()
    for name in corpora:
        row = bag_of_words(encode(name))
        kept = pd.concat([kept[kept["corpus"] != name], pd.DataFrame([row])], ignore_index=True)
    kept = kept.sort_values("corpus")[list(COLUMNS)]
    kept.to_csv(file(), index=False, float_format="%.6g")
    return kept


def stored() -> pd.DataFrame:
    """The stored baselines, one row per data set; empty where none was measured yet."""
    return pd.read_csv(file()) if file().is_file() else pd.DataFrame(columns=list(COLUMNS))


def weak(runs: pd.DataFrame) -> pd.Series:
    """Why the runs of each model did not do their task and enter no claim, in words, '' where they did.

    runs: columns corpus, encoder, accuracy, of one attention, all encoders of a data set together. By corpus and
    encoder: see `weakness`.
    """
    models = runs.groupby(["corpus", "encoder"])["accuracy"]
    means = models.mean()
    best, bars = means.groupby("corpus").max(), stored().set_index("corpus")
    why = [weakness(model[0], values, best[model[0]], bars) for model, values in models]
    return pd.Series(why, means.index, dtype=str)


def weakness(
    corpus: str, accuracies: Iterable[float], best: float = np.nan, bars: pd.DataFrame | None = None
) -> str:
    """Why the runs of one model did not do their task and enter no claim, in words; '' where they did.

    accuracies: one per seed. Weak where their 95 % interval (below three seeds: the lowest) reaches the majority rate.
    A model of texts also where their mean lies more than BELOW under the regression. A model of pairs where it lies
    less than BELOW over the regression, which never reads the text that is attended to, or more than BELOW_BEST under
    `best`, the mean of the best encoder. Generated sets have no bar to pass. bars: `stored`, by corpus.
    """
    if CATALOGUE[corpus].generated:
        return ""
    bars = stored().set_index("corpus") if bars is None else bars
    if corpus not in bars.index:
        return "no baseline was measured"
    values, (majority, regression) = np.array(list(accuracies)), bars.loc[corpus, ["majority", "regression"]]
    low, mean = seed_interval(values)[0], values.mean()
    low = values.min() if np.isnan(low) else low
    if low <= majority:
        return f"its interval reaches the majority rate of {majority:.2f}"
    if CATALOGUE[corpus].task != "text":
        if mean < regression + BELOW:
            return f"{100 * (mean - regression):.1f} points above a regression that does not read the text attended to"
        if mean < best - BELOW_BEST:
            return f"{100 * (best - mean):.1f} points below the best encoder"
    elif mean < regression - BELOW:
        return f"{100 * (regression - mean):.1f} points below the regression"
    return ""
