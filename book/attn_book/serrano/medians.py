"""Medians of the fraction removed until the first flip, over models: the numbers under the paper's box plots (5.4).

All take rows of `medians`, means over seeds as in `pages.over_models`; a median of one seed is its own mean.
"""

from collections.abc import Collection, Iterable

import numpy as np
import pandas as pd

from attn_book import words
from attn_book.serrano.pages import ORDERS, over_models
from attn_book.serrano.tables import counts
from attn_book.words import ENCODER_NAMES
from attn_core.corpora.catalogue import CATALOGUE

LATE = 0.9
"""Median above which flips come late, ours: by second-hand notes the paper has some at or near all items."""


def medians(every: pd.DataFrame, orders: Iterable[str]) -> pd.DataFrame:
    """Median fraction removed under some orders, documents that flip under the order: a row an order and model.

    every: summaries. Columns order and those of `pages.over_models`.
    """
    parts = [over_models(every, f"fraction_{order}", "median").assign(order=order) for order in orders]
    return pd.concat(parts, ignore_index=True)


def entering(rows: pd.DataFrame, weak: Collection[tuple[str, str]]) -> pd.DataFrame:
    """The rows of models that may enter claims: neither generated nor weak."""
    return rows[np.array([counts(r.corpus, r.encoder, weak) for r in rows.itertuples()], bool)]


def late(rows: pd.DataFrame) -> list[str]:
    """Models with a median above LATE under some order."""
    return sorted({f"{r.corpus} {ENCODER_NAMES[r.encoder]}" for r in rows[rows["mean"] > LATE].itertuples()})


def shown(
    rows: pd.DataFrame, corpora: Iterable[str], encoders: Iterable[str], weak: Collection[tuple[str, str]]
) -> pd.DataFrame:
    """A line per data set and model with runs, a column per order; models that enter no claim have an asterisk."""
    lines, encoders, orders = [], list(encoders), list(dict.fromkeys(rows["order"]))
    for corpus in corpora:
        for encoder in encoders:
            own = rows[(rows["corpus"] == corpus) & (rows["encoder"] == encoder)].set_index("order")
            if own.empty:
                continue
            told = {
                r.Index: words.told(r.mean, r.low, r.high, bounds=(0, 1)).replace(" (no interval)", "")
                for r in own.itertuples()
            }
            lines.append(
                {
                    "data set": corpus + " (generated)" * CATALOGUE[corpus].generated,
                    "model": ENCODER_NAMES[encoder] + " *" * (not counts(corpus, encoder, weak)),
                    **{ORDERS[order]: told.get(order, "–") for order in orders},
                    "seeds": int(own["n_seeds"].max()),
                }
            )
    return pd.DataFrame(lines)
