"""Which ranking of the word pieces agrees with deletion? Arithmetic on what `cls` reads, where their sources stand."""

import numpy as np
import pandas as pd
from numpy import ndarray

from attn_core.experiments.correlation import kendall_ragged
from attn_core.experiments.tables import IDENTITY
from attn_core.traces import first_largest

RANKINGS = (
    "attention",
    "rollout",
    "norm",
    "attention_x_gradient",
    "relevance",
    "value_zeroing",
    "gradient_norm",
    "integrated_gradients",
    "gradient_x_input",
    "direction_x_gradient",
)
"""The ten; the last is the control of the one before it."""

NEIGHBOURS = ("chance", "deletion", "deletion_signed", "integrated_signed")
"""What stands beside them: the floor, the yardstick, and two that know for which class a piece speaks."""


def agreement(values: ndarray, deletion: ndarray, offsets: ndarray) -> tuple[ndarray, ndarray]:
    """Whether the largest of values (T,) is that of deletion (T,) in each text, and Kendall's tau-b of the two, each
    (D,) float64; NaN for texts of one item."""
    several = np.diff(offsets) > 1
    same = first_largest(values, offsets) == first_largest(deletion, offsets)
    tau, _ = kendall_ragged(values, deletion, offsets)
    return np.where(several, same, np.nan), np.where(several, tau, np.nan)


def summary_table(documents: pd.DataFrame) -> pd.DataFrame:
    """Mean and number n of the known values of every statistic, in the columns of `experiments.summary_table`."""
    values = documents.drop(columns=list(IDENTITY)).astype(float)
    numbers = pd.DataFrame({"n": values.count(), "mean": values.mean()}).rename_axis("statistic")
    rows = numbers.dropna().reset_index().melt("statistic", var_name="measure")
    return rows.assign(predicted="all", bin="all")
