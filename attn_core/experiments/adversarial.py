"""Can attention be quite different at the same output? Jain and Wallace 2019, section 4.2.2, and the exact answer.

search.py holds the authors' search, optimum.py the exact optimum, controls.py the yardsticks; here is their table.
"""

import numpy as np
import pandas as pd

from attn_core.experiments.controls import controls
from attn_core.experiments.optimum import exact, expand
from attn_core.experiments.search import select
from attn_core.experiments.tables import table
from attn_core.traces import Traces

__all__ = ["adversarial", "controls", "exact", "expand", "select"]


def adversarial(traces: Traces, epsilon: float, weights: np.ndarray | None = None, seed: int = 0) -> pd.DataFrame:
    """The adversarial attention of each document at one epsilon, beside what it must be held against.

    weights (k, T): the result of search.search; without it there are no search columns. Columns:
    jsd_search, tvd_search: epsilon-max JSD of the paper (section 4.2.2), see `select`, and the change of output there.
    jsd_exact, tvd_exact, n_support: the exact optimum, see `exact`; n_support = 1 or 2 tokens carry it.
    ceiling, jsd_shuffled, jsd_permutation, ceiling_permutation: see `controls` (seed is theirs).
    ratio_search, ratio_exact: divided by the ceiling (NaN for documents of one token, whose ceiling is 0).
    max_attention: largest weight of the model's own attention.
    """
    optimum, held = exact(traces, epsilon), controls(traces, epsilon, seed)
    ceiling = np.where(held["ceiling"] > 0, held["ceiling"], np.nan)
    columns = {}
    if weights is not None:
        chosen = select(traces, weights, epsilon)
        columns = {"jsd_search": chosen["jsd"], "tvd_search": chosen["tvd"]}
    columns |= {
        "jsd_exact": optimum["jsd_exact"],
        "tvd_exact": optimum["tvd_exact"],
        "n_support": np.where(optimum["j"] < 0, 1, 2),
        "ceiling": held["ceiling"],
    }
    if weights is not None:
        columns["ratio_search"] = chosen["jsd"] / ceiling
    columns |= {
        "ratio_exact": optimum["jsd_exact"] / ceiling,
        "jsd_shuffled": held["jsd_shuffled"],
        "jsd_permutation": held["jsd_permutation"],
        "ceiling_permutation": held["ceiling_permutation"],
        "max_attention": traces.max_attention,
    }
    return table(traces, **columns)
