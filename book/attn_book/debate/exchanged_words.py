"""Tests exchanged, for the page: the matrix of tests and models as it is shown, and where its question stands.

All take rows of `exchanged.of_models`.
"""

import pandas as pd

from attn_book import words
from attn_book.debate.exchanged import FEWEST_DOCUMENTS, TESTS
from attn_book.words import ENCODER_NAMES


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """A line per model, a column per test: value and interval in words; documents, items and classes of the model."""
    told = rows.assign(told=[words.told(r.mean, r.low, r.high) for r in rows.itertuples()])
    wide = told.pivot_table(index=["models", "label"], columns="name", values="told", aggfunc="first", sort=False)
    matrix = wide.reindex(columns=[name for _, name, _ in TESTS.values()]).reset_index()
    sizes = rows.drop_duplicates("label").set_index("label")
    sizes = {name: matrix["label"].map(sizes[name]) for name in ("documents", "items", "classes")}
    names = {"models": "models of", "label": "model", "items": "items, median"}
    return matrix.assign(**sizes).rename(columns=names)


def few(rows: pd.DataFrame) -> str:
    """Models of too few documents for a finding, with how many they have."""
    models = rows[rows["documents"] < FEWEST_DOCUMENTS].drop_duplicates("label")
    return words.listed(f"{r.corpus} {ENCODER_NAMES[r.encoder]} ({r.documents})" for r in models.itertuples())


def standing(rows: pd.DataFrame) -> str:
    """Whether a finding belongs to the test or to the model, as far as rows that may enter findings let it be said."""
    models = rows.groupby("models")["label"].nunique()
    if models.empty:
        why = "no model that counts is stored"
    elif len(models) == 1:
        why = f"only {models.index[0]}'s models count"
    else:
        counted = "; ".join(f"{paper} {count}" for paper, count in models.items())
        why = (
            f"models of both papers count ({counted}), but with one seed each, on data sets and units that differ as "
            "well"
        )
    return f"The question whether a finding belongs to the test or to the model stays open: {why}."
