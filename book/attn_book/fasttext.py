"""Models on fastText vectors, where none on PPMI vectors are trained yet."""

from collections.abc import Callable

import pandas as pd

from attn_lab.data import catalogue

FASTTEXT = "indomain-300"
"""The recipe of their vectors."""

KIND = ["corpus", "encoder", "attention", "selection", "guide", "words", "variant"]
"""What one model of several seeds is, but for its vectors."""


def newest(
    ask: Callable[..., pd.DataFrame],
    *names: object,
    **where: object,
) -> pd.DataFrame:
    """What `index.runs` or `index.numbers` finds on PPMI vectors and, of kinds of models that are not trained on these
    yet, on fastText vectors; the column vectors says which."""
    rows, older = of_both(ask, *names, **where)
    return in_order(rows, older[~kinds_of(older).isin(kinds_of(rows))])


def in_pairs(
    ask: Callable[..., pd.DataFrame],
    *names: object,
    **where: object,
) -> pd.DataFrame:
    """The same by data set, for models that are told side by side: all on fastText vectors where one of their kinds is
    not trained on PPMI vectors yet."""
    rows, older = of_both(ask, *names, **where)
    waiting = older["corpus"][~kinds_of(older).isin(kinds_of(rows))].unique()
    return in_order(rows[~rows["corpus"].isin(waiting)], older[older["corpus"].isin(waiting)])


def fasttext(
    ask: Callable[..., pd.DataFrame],
    *names: object,
    **where: object,
) -> pd.DataFrame:
    """The same of models on fastText vectors alone, as if these were the default; of data sets whose models start from
    other vectors than PPMI, what there is."""
    return of_both(ask, *names, **where)[1]


def of_both(
    ask: Callable[..., pd.DataFrame],
    *names: object,
    **where: object,
) -> list[pd.DataFrame]:
    """Rows on default vectors, and those of `fasttext`."""
    every = ask(*names, vectors="any", **where)
    plain = every if "variant" in where else every[~every["variant"].str.contains("vectors=")]
    older = every[every["vectors"] == FASTTEXT]
    older = older.assign(variant=older["variant"].str.replace(rf"vectors={FASTTEXT}(, )?", "", regex=True))
    without_ppmi = [corpus for corpus in plain["corpus"].unique() if not is_ppmi(corpus)]
    return [plain, in_order(older, plain[plain["corpus"].isin(without_ppmi)])]


def kinds_of(rows: pd.DataFrame) -> pd.MultiIndex:
    """What one model of several seeds is: of guided networks the guide, whichever model it is."""
    variant = rows["variant"].where(rows["guide"] == "", "")
    return pd.MultiIndex.from_frame(rows[KIND].assign(variant=variant))


def in_order(*tables: pd.DataFrame) -> pd.DataFrame:
    """Tables one below the other, models together, seeds as they came."""
    return pd.concat(tables).sort_values(["corpus", "encoder", "attention"], kind="stable", ignore_index=True)


def is_ppmi(corpus: str) -> bool:
    """Whether a data set's models start from PPMI vectors by default."""
    return catalogue.corpus(corpus).vectors == "ppmi-300"


def recipe(corpus: str) -> str:
    """The vectors that a data set's models start from on these pages."""
    return FASTTEXT if is_ppmi(corpus) else catalogue.corpus(corpus).vectors
