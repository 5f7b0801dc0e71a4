"""Which class does the most attended item speak for? Not in Serrano and Smith 2019, who watch the decision alone."""

import numpy as np
import pandas as pd

from attn_core.experiments import draws
from attn_core.experiments.single import distributions, logits_without, other_item, top_items
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


def base_rate(traces: Traces, count: int = 10, seed: int = 0) -> np.ndarray:
    """(D,) share of `count` draws of another item than the top one that speak for another class; NaN for n = 1."""
    top, offsets = top_items(traces)["attention"], np.arange(len(traces) + 1)
    chances = draws.uniforms(seed, "speaks for", traces.doc_id, offsets, count)  # (count, D)
    others = [support(traces, other_item(top, traces.lengths, part, "described"))["other"] for part in chances]
    return np.where(traces.lengths > 1, np.mean(others, axis=0), np.nan)
