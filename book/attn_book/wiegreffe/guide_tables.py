"""The folded tables of the page on guides: scores by source, differences, adversaries by λ (Wiegreffe & Pinter, 3.4).

Numbers as words, one line a row, for a page to show. Intervals are 95 % Student t over seeds.
"""

import numpy as np
import pandas as pd

from attn_book.wiegreffe.runs import GATED
from attn_book.wiegreffe.tables import NO_RUN, NOT_RERUN
from attn_book.words import told
from attn_core.experiments import guides


def scores_by_source(rows: pd.DataFrame, areas: pd.DataFrame) -> pd.DataFrame:
    """F1 beside the paper's, and AUC, a line a data set and source of weights.

    rows: of `tables.table_3`, those of `guides.over_seeds` with them; areas: of `guides.over_seeds`, in AUC, of the
    same runs.
    """
    areas = areas.set_index(["corpus", "source"])[["mean", "low", "high"]]
    lines = [
        {
            "data": r.corpus,
            "weights": guides.SOURCES[r.source],
            "paper, F1": f"{r.paper:.3f}" if np.isfinite(r.paper) else "–",
            "F1": told(r.mean, r.low, r.high, ".3f", (0, 1)),
            "AUC": told(*areas.loc[(r.corpus, r.source)], ".3f", (0, 1)) if r.n_seeds else "–",
            "seeds": r.n_seeds or (NOT_RERUN if r.corpus in GATED else NO_RUN),
        }
        for r in rows.itertuples()
    ]
    return pd.DataFrame(lines)


def all_differences(differences: pd.DataFrame) -> pd.DataFrame:
    """Rows of `guides.differences` with p after Holm and the side, a line each; where it is not judged, why."""
    sides = {"contains": "not shown", "above": "above 0", "below": "below 0"}
    lines = [
        {
            "data": r.corpus,
            "difference": r.contrast,
            "asks": r.asks,
            "of": {"f1": "F1", "auc": "AUC"}[r.score],
            "mean": told(r.mean, r.low, r.high, "+.3f"),
            "seeds": r.n_seeds,
            "p, Holm": f"{r.holm:.2g}" if np.isfinite(r.holm) else "–",
            "lies": sides.get(r.lies, "one adversary" if r.n_guides == 1 < r.n_seeds else "too few seeds"),
        }
        for r in differences.itertuples()
    ]
    return pd.DataFrame(lines)


def by_lambda(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of `adversaries.guides_by_lambda`, a line a data set and λ."""
    lines = [
        {
            "data": r.corpus,
            "λ of the adversary": f"{r.divergence:g}",
            "its JSD to the base": f"{r.jsd:.3f}",
            "converged": "yes" if r.settled else "no",
            "F1 under its weights": f"{r.f1:.3f}",
            "minus uniform": told(r.gap, r.low, r.high, "+.3f"),
            "seeds": r.n_seeds,
            "shown above": "yes" if r.chosen else "",
        }
        for r in rows.itertuples()
    ]
    return pd.DataFrame(lines)
