"""Which class does the most attended item speak for? Not in Serrano and Smith 2019, who watch the decision alone."""

import numpy as np
import pandas as pd

from attn_core.experiments.single import distributions, logits_without, top_items
from attn_core.experiments.tables import table
from attn_core.traces import Traces


def support(traces: Traces, items: np.ndarray | None = None) -> pd.DataFrame:
    """What erasing one item takes from each class, one row per document.

    items (D,): the item's position in each document; by default that of the largest weight.

    Columns supported: the class whose probability falls most (the first of several); other = whether that is not the
    predicted class; flips = whether another class is predicted without the item; fall_own, the fall of the predicted
    class's probability (negative: it rises); tvd, half the sum of all changes. n = 1: NaN and False, for nothing is
    left to decide by.
    """
    items = top_items(traces)["attention"] if items is None else items
    p, q = distributions(traces.logits), distributions(logits_without(traces, items))
    fall, several = p - q, traces.lengths > 1
    supported, own = fall.argmax(axis=1), p.argmax(axis=1)
    return table(
        traces,
        supported=np.where(several, supported, -1),
        other=several & (supported != own),
        flips=several & (q.argmax(axis=1) != own),
        fall_own=np.where(several, fall[np.arange(len(p)), own], np.nan),
        tvd=np.where(several, 0.5 * np.abs(fall).sum(axis=1), np.nan),
    )
