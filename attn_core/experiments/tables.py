"""What the tables of all experiments share."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attn_core.errors import AttnError
from attn_core.measures import without_nan
from attn_core.traces import Traces

IDENTITY = ("doc_id", "label", "predicted", "n")
"""The columns every table begins with; the row order is that of the traces."""

QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
MIDDLE = ("mean", "q25", "median", "q75")

ROUNDING = 1e-12
"""By this much TVD may exceed epsilon: permutations that change nothing still move a sum in its last bits."""


def table(traces: Traces, **columns: ArrayLike) -> pd.DataFrame:
    """One row per document: IDENTITY, then the statistics."""
    identity = (traces.doc_id, traces.label, traces.predicted, traces.lengths)
    return pd.DataFrame(dict(zip(IDENTITY, identity, strict=True)) | columns)


def joined(first: pd.DataFrame, *others: pd.DataFrame) -> pd.DataFrame:
    """A table and the statistics of others of the same documents."""
    statistics = [table.drop(columns=list(IDENTITY), errors="ignore") for table in others]
    return pd.concat([first, *statistics], axis=1)


def described(values: ArrayLike, *names: str) -> dict[str, float]:
    """Of the known values what is named, of none nothing: mean, std (ddof 0), QUANTILES, whisker_low, whisker_high.

    Whiskers reach to the most extreme value within 1.5 interquartile ranges of the box.
    """
    values = without_nan(values)
    if not len(values):
        return {}
    quantiles = np.quantile(values, list(QUANTILES.values()))
    numbers = dict(zip(QUANTILES, quantiles, strict=True))
    numbers["mean"] = values.mean()
    numbers["std"] = values.std()

    low = numbers["q25"]
    high = numbers["q75"]
    reach = 1.5 * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    numbers["whisker_low"] = min(inside.min(), low)
    numbers["whisker_high"] = max(inside.max(), high)
    return {name: float(numbers[name]) for name in names}


def check_epsilon(epsilon: float) -> None:
    """AttnError unless 0 <= epsilon <= 1."""
    if not 0 <= epsilon <= 1:
        raise AttnError(f"epsilon is a distance of probabilities between 0 and 1, got {epsilon}")
