"""Attention of known quality put into stored traces, and the tests of a text that are put to it (ours).

A test grades attention only if it tells one that is as good as one could wish from one that knows nothing of the text.
Both have the same weights, on other items, so no test can tell them by their entropy.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from attn_core.experiments.correlation import correlation
from attn_core.experiments.optimum import exact
from attn_core.experiments.permutation import permutation
from attn_core.experiments.removal import NEVER, removals
from attn_core.experiments.single import others_flip, single, weights_dealt_anew
from attn_core.experiments.tables import table
from attn_core.traces import Traces, centred, has_one_logit

TOP = 0.95
"""Weight of the decisive item under near-ideal attention."""


def near_ideal(traces: Traces, top: float = TOP) -> Traces:
    """The same documents with `top` of the weight on the item whose contribution lies farthest from the mean one.

    The rest is spread evenly. Distances are Euclidean, of `centred` contributions: the item moves the logits most when
    its weight grows. Gradients and leave-one-out belong to the model's own weights and are dropped.
    """
    c = centred(traces)
    n = traces.lengths
    mean = np.add.reduceat(c, traces.offsets[:-1]) / n[:, None]
    distance = np.linalg.norm(c - mean[traces.owner], axis=1)
    # the decisive item scores 0; exp of the others' scores sums to (1 - top) / top
    score = np.repeat(-np.log(top / (1 - top) * np.maximum(n - 1, 1)), n)
    score[traces.first_largest(distance)] = 0.0
    return replace(traces, score=score, gradient=None, leave_one_out=None)


GOOD = "near-ideal"
BAD = "near-ideal, dealt anew"
KINDS: dict[str, Callable[[Traces], Traces]] = {
    "": lambda traces: traces,
    "dealt anew": weights_dealt_anew,
    GOOD: near_ideal,
    BAD: lambda traces: weights_dealt_anew(near_ideal(traces)),
}
"""What is done to a model's weights. GOOD and BAD have the same weights, hence the same entropy."""

LINES = {
    "gradients": (0.5, 1),
    "permutation": (0.1, 1),
    "adversaries": (0.4, -1),
    "top item": (0.0, 1),
    "order": (0.0, -1),
}
"""Test of a text -> its line, and the side on which attention passes: above (1) or below (-1)."""


def of_texts(traces: Traces) -> pd.DataFrame:
    """The numbers of five tests of the three papers, one row per document of several items.

    Columns, besides the identity: gradients, Kendall's tau with |gradient| (where the traces have it; Jain & Wallace
    4.1); permutation, the median change of the output when weights are permuted (4.2.1); adversaries, the farthest JSD
    within 0.05 of the output (4.2.2; one logit or two); top item, whether erasing the most attended item flips the
    decision, minus the share of other items that do (Serrano & Smith 4.2, without a draw); order, the share of items
    that attention's order removes beyond the gradient's until the decision flips (5; NaN where one never does).
    """
    traces = traces.take(np.flatnonzero(traces.lengths > 1))
    columns = {}
    if traces.gradient is not None:
        columns["gradients"] = correlation(traces)["tau_attention_gradient"]
    columns["permutation"] = permutation(traces)["median_change"]
    if has_one_logit(traces):
        columns["adversaries"] = exact(traces, 0.05)["jsd_exact"]
    columns["top item"] = single(traces)["flips_attention"] - others_flip(traces)
    removed = removals(traces, rankings=("attention", "gradient")).filter(like="removed_")
    beyond = (removed["removed_attention"] - removed["removed_gradient"]) / traces.lengths
    columns["order"] = beyond.where((removed != NEVER).all(axis=1))
    return table(traces, **columns)


def passing(texts: pd.DataFrame) -> dict[str, float]:
    """Test -> share of the texts for which it is defined that lie on the side on which attention passes.

    texts: of `of_texts`.
    """
    shares = {}
    for test, (line, side) in LINES.items():
        if test in texts:
            beyond = side * (texts[test].dropna() - line)
            shares[test] = float((beyond > 0).mean())
    return shares
