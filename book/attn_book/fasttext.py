"""Models on fastText vectors, for the pages whose runs are not all trained on PPMI vectors yet."""

from collections.abc import Callable

import pandas as pd

from attn_core.corpora import catalogue

FASTTEXT = "indomain-300"
"""The recipe of their vectors."""


def fasttext(ask: Callable[..., pd.DataFrame], *names: object, **where: object) -> pd.DataFrame:
    """What `index.runs` or `index.numbers` finds of models on fastText vectors, as if these were the default; of data
    sets whose models start from other vectors than PPMI, what there is."""
    older = ask(*names, vectors=FASTTEXT, **where)
    plain = older["variant"].str.replace(rf"vectors={FASTTEXT}(, )?", "", regex=True)
    rest = ask(*names, **where)
    rest = rest[~rest["corpus"].map(is_ppmi)]
    rows = pd.concat([older.assign(variant=plain), rest], ignore_index=True)
    return rows.sort_values(["corpus", "encoder", "attention"], kind="stable", ignore_index=True)


def is_ppmi(corpus: str) -> bool:
    """Whether a data set's models start from PPMI vectors by default."""
    return catalogue.corpus(corpus).vectors == "ppmi-300"


def recipe(corpus: str) -> str:
    """The vectors that a data set's models start from on these pages."""
    return FASTTEXT if is_ppmi(corpus) else catalogue.corpus(corpus).vectors
