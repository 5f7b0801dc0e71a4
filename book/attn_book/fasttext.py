"""Models on fastText vectors, where none on PPMI vectors are trained yet."""

from collections.abc import Callable

import pandas as pd

from attn_core.corpora import catalogue

FASTTEXT = "indomain-300"
"""The recipe of their vectors."""

WAITING = ("sst", "20news", "agnews", "imdb")
"""Data sets of which Wiegreffe & Pinter's uniform and guided models are not all trained on PPMI vectors."""

KIND = ["corpus", "encoder", "attention", "selection", "guide", "words", "variant"]
"""What one model of several seeds is, but for its vectors."""


def fasttext(ask: Callable[..., pd.DataFrame], *names: object, **where: object) -> pd.DataFrame:
    """What `index.runs` or `index.numbers` finds of models on fastText vectors, as if these were the default; of data
    sets whose models start from other vectors than PPMI, what there is."""
    older = ask(*names, vectors=FASTTEXT, **where)
    plain = older["variant"].str.replace(rf"vectors={FASTTEXT}(, )?", "", regex=True)
    rest = ask(*names, **where)
    rest = rest[~rest["corpus"].map(is_ppmi)]
    return in_order(older.assign(variant=plain), rest)


def newest(ask: Callable[..., pd.DataFrame], *names: object, **where: object) -> pd.DataFrame:
    """What `index.runs` or `index.numbers` finds on PPMI vectors and, of kinds of models that are not trained on these
    yet, on fastText vectors; the column vectors says which."""
    rows = ask(*names, **where)
    older = fasttext(ask, *names, **where)
    trained = set(rows[KIND].itertuples(index=False, name=None))
    missing = [kind not in trained for kind in older[KIND].itertuples(index=False, name=None)]
    return in_order(rows, older[missing])


def in_pairs(ask: Callable[..., pd.DataFrame], *names: object, **where: object) -> pd.DataFrame:
    """The same by data set, for models that are told side by side: those of WAITING all on fastText vectors."""
    rows, older = ask(*names, **where), fasttext(ask, *names, **where)
    return in_order(rows[~rows["corpus"].isin(WAITING)], older[older["corpus"].isin(WAITING)])


def in_order(*tables: pd.DataFrame) -> pd.DataFrame:
    """Tables one below the other, models together, seeds as they came."""
    rows = pd.concat(tables, ignore_index=True)
    return rows.sort_values(["corpus", "encoder", "attention"], kind="stable", ignore_index=True)


def is_ppmi(corpus: str) -> bool:
    """Whether a data set's models start from PPMI vectors by default."""
    return catalogue.corpus(corpus).vectors == "ppmi-300"


def recipe(corpus: str) -> str:
    """The vectors that a data set's models start from on these pages."""
    return FASTTEXT if is_ppmi(corpus) else catalogue.corpus(corpus).vectors
