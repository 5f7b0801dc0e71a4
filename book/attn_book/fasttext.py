"""Models on fastText vectors, where none on PPMI vectors are trained yet."""

from collections.abc import Callable

import pandas as pd

from attn_lab.data import catalogue

FASTTEXT = "indomain-300"
"""The recipe of their vectors."""

KIND = [
    "corpus",
    "encoder",
    "attention",
    "selection",
    "guide",
    "words",
    "variant",
]
"""What one model of several seeds is, but for its vectors."""


def fasttext(ask: Callable[..., pd.DataFrame], *names: object, **where: object) -> pd.DataFrame:
    """What `index.runs` or `index.numbers` finds of models on fastText vectors, as if these were the default; of data
    sets whose models start from other vectors than PPMI, what there is."""
    rows = ask(*names, vectors=FASTTEXT, **where)
    without = ask(*names, **where)
    without = without[~without["corpus"].map(is_ppmi)]
    rows["variant"] = rows["variant"].str.replace(
        rf"vectors={FASTTEXT}(, )?",
        "",
        regex=True,
    )
    return in_order(rows, without)


def newest(ask: Callable[..., pd.DataFrame], *names: object, **where: object) -> pd.DataFrame:
    """What `index.runs` or `index.numbers` finds on PPMI vectors and, of kinds of models that are not trained on these
    yet, on fastText vectors; the column vectors says which."""
    rows = ask(*names, **where)
    older = fasttext(ask, *names, **where)
    return in_order(rows, older[~kinds_of(older).isin(kinds_of(rows))])


def kinds_of(rows: pd.DataFrame) -> pd.MultiIndex:
    """What one model of several seeds is: of guided networks the guide, whichever model it is."""
    variant = rows["variant"].where(rows["guide"] == "", "")
    return pd.MultiIndex.from_frame(rows[KIND].assign(variant=variant))


def in_pairs(ask: Callable[..., pd.DataFrame], *names: object, **where: object) -> pd.DataFrame:
    """The same by data set, for models that are told side by side: all on fastText vectors where one of their kinds is
    not trained on PPMI vectors yet."""
    rows = ask(*names, **where)
    older = fasttext(ask, *names, **where)
    trained, kinds = kinds_of(rows), kinds_of(older)
    waiting = older.loc[~kinds.isin(trained), "corpus"].unique()
    rows = rows[~rows["corpus"].isin(waiting)]
    older = older[older["corpus"].isin(waiting)]
    return in_order(rows, older)


def in_order(*tables: pd.DataFrame) -> pd.DataFrame:
    """Tables one below the other, models together, seeds as they came."""
    rows = pd.concat(tables)
    order = ["corpus", "encoder", "attention"]
    return rows.sort_values(
        order,
        kind="stable",
        ignore_index=True,
    )


def is_ppmi(corpus: str) -> bool:
    """Whether a data set's models start from PPMI vectors by default."""
    return catalogue.corpus(corpus).vectors == "ppmi-300"


def recipe(corpus: str) -> str:
    """The vectors that a data set's models start from on these pages."""
    return FASTTEXT if is_ppmi(corpus) else catalogue.corpus(corpus).vectors
