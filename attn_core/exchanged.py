"""Each paper's tests on the other paper's models: the same traces answer both.

Jain & Wallace's models have one logit, attention over words and an output p of class 1; Serrano & Smith's have K
classes, attention over sentences (HAN) or words (FLAN) and p of the predicted class. Leave-one-out of a HAN deletes the
sentence, its gradient is the sum over the sentence's words. On one logit a flip is a change of sign.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from attn_core.experiments import erasure
from attn_core.experiments.bracket import sparse, upper
from attn_core.experiments.controls import ceiling
from attn_core.experiments.correlation import correlation
from attn_core.experiments.optimum import exact
from attn_core.experiments.permutation import permutation
from attn_core.experiments.tables import has_one_logit
from attn_core.measures import bootstrap_interval
from attn_core.traces import Traces

TESTS = {
    "tau_gradient": ("jain", "τ with gradient", np.mean),
    "tau_loo": ("jain", "τ with leave-one-out", np.mean),
    "little": ("jain", "permuting changes < 0.1", np.mean),
    "adversary": ("jain", "adversary / ceiling", np.mean),
    "adversary_upper": ("jain", "its upper bound", np.mean),
    "one_sided": ("serrano", "only i* − only r", np.mean),
    "fraction": ("serrano", "fraction removed", np.median),
    "equals": ("serrano", "equals the optimum", np.mean),
    "regret": ("serrano", "items too many", np.mean),
}
"""Test -> the paper whose test it is, its name, the statistic over documents."""


def per_document(traces: Traces, epsilon: float = 0.05) -> pd.DataFrame:
    """One row per document of more than one item: a column for each of TESTS, NaN where it is not defined.

    tau_*: Kendall's tau between attention and the importance. little: whether the median change of output over 100
    permutations is below 0.1 (total variation). adversary: JSD of the farthest attention within epsilon, divided by the
    ceiling; exact for one or two logits, else the best on one or two items, a lower bound; adversary_upper: the same,
    an upper bound. one_sided: 1 where erasing the top item alone flips, -1 where erasing r alone does (r as described),
    else 0. fraction: items removed under attention at the first flip / n; equals: whether that is the smallest number;
    regret: items beyond it / n.
    """
    traces = traces.take(np.flatnonzero(traces.lengths > 1))
    taus, removed = correlation(traces), erasure.derived(erasure.document_table(traces))
    top = np.maximum(ceiling(traces), np.finfo(float).tiny)
    if has_one_logit(traces):
        best = bound = exact(traces, epsilon)["jsd_exact"].to_numpy()
    else:
        best, bound = sparse(traces, epsilon)["jsd"].to_numpy(), upper(traces, epsilon)
    missing = np.full(len(traces), np.nan)
    return pd.DataFrame({
        "doc_id": traces.doc_id, "n": traces.lengths,
        "tau_gradient": taus.get("tau_attention_gradient", missing), "tau_loo": taus.get("tau_attention_loo", missing),
        "little": (permutation(traces)["median_change"] < 0.1).to_numpy(float),
        "adversary": best / top, "adversary_upper": np.minimum(bound / top, 1.0),
        "one_sided": removed["flips_attention"].astype(float) - removed["flips_r_attention@described"].astype(float),
        "fraction": removed["fraction_attention"], "equals": removed["equals_attention"],
        "regret": removed["regret_fraction_attention"],
    })  # fmt: skip


def line(table: pd.DataFrame, tests: dict[str, tuple[str, str, Callable]] = TESTS) -> pd.DataFrame:
    """Statistics of one model: test, paper, name, mean (or median), low, high (95 % bootstrap over documents), n."""
    rows = []
    for test, (paper, name, statistic) in tests.items():
        values = table[test].dropna().to_numpy(float)
        low, high = bootstrap_interval(values, statistic) if len(values) > 1 else (np.nan, np.nan)
        rows.append([test, paper, name, float(statistic(values)) if len(values) else np.nan, low, high, len(values)])
    return pd.DataFrame(rows, columns=["test", "paper", "name", "mean", "low", "high", "n"])
