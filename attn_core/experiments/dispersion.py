"""How different a document's items are to the decoder (not in Serrano and Smith 2019; specification, section 8.3).

Erasing item t changes the logits by exactly -alpha_t (c_t - s_t), s_t the weighted mean of the others' contributions:
the weight times the distance of the item from the rest. Where an encoder makes all contributions alike, even a large
weight does nothing. (The same as -alpha_t / (1 - alpha_t) (c_t - s), s = sum alpha c: s has the item in it.)
"""

import numpy as np
import pandas as pd

from attn_core.experiments.removal import as_classes
from attn_core.experiments.tables import table
from attn_core.measures import slabs
from attn_core.traces import Traces, totals

NUMBERS = 1 << 21
"""Contributions held at once; bounds memory."""


def dispersion(traces: Traces) -> pd.DataFrame:
    """Share of the contributions' size that differs within a document, between 0 (all alike) and 1, one row each.

    Columns dispersion_weighted = sum_t a_t |c_t - m|^2 / sum_t a_t |c_t|^2 with a = attention and m = sum_t a_t c_t;
    dispersion = the same with a = 1/n. Contributions are centred over the classes first, since a constant added to all
    logits changes no output; the scale of the decoder cancels. NaN where n = 1 or all contributions are 0.
    """
    as_classes(traces)
    found = np.full((2, len(traces)), np.nan)
    for start, stop in slabs(traces.offsets, max(1, NUMBERS // traces.classes)):
        tokens = slice(traces.offsets[start], traces.offsets[stop])
        offsets, lengths = traces.offsets[start : stop + 1] - traces.offsets[start], traces.lengths[start:stop]
        value = traces.contribution[tokens].astype(np.float64)
        if traces.classes > 1:
            value -= value.mean(axis=1, keepdims=True)
        for row, weight in enumerate((traces.attention[tokens], np.repeat(1.0 / lengths, lengths))):
            mean = np.add.reduceat(weight[:, None] * value, offsets[:-1], axis=0)  # (D, K)
            size = totals(weight * (value**2).sum(axis=1), offsets)
            apart = totals(weight * ((value - np.repeat(mean, lengths, axis=0)) ** 2).sum(axis=1), offsets)
            defined = (lengths > 1) & (size > 0)
            found[row, start:stop] = np.where(defined, apart / np.where(size > 0, size, 1.0), np.nan)
    return table(traces, dispersion_weighted=found[0], dispersion=found[1])


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """Least-squares slope of y on x over the pairs where both are known; NaN for fewer than three or constant x."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    known = ~(np.isnan(x) | np.isnan(y))
    if known.sum() < 3 or np.ptp(x[known]) == 0:
        return np.nan
    x, y = x[known] - x[known].mean(), y[known] - y[known].mean()
    return float((x * y).sum() / (x * x).sum())
