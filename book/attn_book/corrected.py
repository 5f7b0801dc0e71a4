"""Holm's correction of several tests at once."""

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

from attn_core import checks


def holm(p: ArrayLike) -> ndarray:
    """Holm's correction: the i-th smallest of m values times m - i + 1, never falling, at most 1."""
    p = checks.outputs("p", np.reshape(p, (-1, 1)))[:, 0]
    order = np.argsort(p)
    multiplied = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(multiplied), 1)
    return adjusted
