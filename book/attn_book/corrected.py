"""p of means over seeds, and Holm's correction of several at once."""

import numpy as np
import pandas as pd
from numpy import ndarray
from numpy.typing import ArrayLike
from scipy import special

from attn_core import checks
from attn_core.measures import LEVEL


def holm(p: ArrayLike) -> ndarray:
    """Holm's correction: the i-th smallest of m values times m - i + 1, never falling, at most 1."""
    p = checks.outputs("p", np.asarray(p)[:, None])[:, 0]
    order = np.argsort(p)
    multiplied = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(multiplied), 1)
    return adjusted


def p_of(rows: pd.DataFrame, line: pd.Series | float = 0) -> pd.Series:
    """Two-sided p of means on a line, by Student's t with n_seeds - 1 degrees of freedom: below LEVEL where the
    interval lies wholly on one side; 1 without an interval, as of what is the same in every seed.

    rows: mean, low, high, n_seeds.
    """
    free = rows["n_seeds"].clip(lower=2) - 1
    off = rows["mean"] - line
    half = (rows["mean"] - rows["low"]).where(off > 0, rows["high"] - rows["mean"])
    far = np.where(
        half > 0,
        off.abs() / half.where(half > 0),
        np.where(off == 0, 0, np.inf),
    )
    p = 2 * special.stdtr(free, -far * special.stdtrit(free, 1 - LEVEL / 2))
    return pd.Series(p, rows.index).where(half.notna(), 1.0)
