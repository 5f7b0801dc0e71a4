"""Intervals over documents."""

from collections.abc import Callable

import numpy as np

from attn_core.measures import bootstrap_interval


def over_documents(values: np.ndarray, statistic: Callable = np.mean, share: bool = False) -> tuple[float, float]:
    """95 % interval over documents: bootstrap; where no resampling moves the number, Wilson's for a share, else NaN."""
    from scipy.stats import binomtest

    values = values[np.isfinite(values)]
    low, high = bootstrap_interval(values, statistic)
    if low < high:
        return low, high
    if len(values) and share:
        interval = binomtest(int(values.sum()), len(values)).proportion_ci(method="wilson")
        return float(interval.low), float(interval.high)
    return np.nan, np.nan
