"""Can attention be quite different at the same output? Jain and Wallace 2019, section 4.2.2, and how different at most.

search.py holds the authors' search, optimum.py the exact optimum of one logit, bracket.py a lower bound for more
outputs, yardsticks.py what they must be held against; here is their table.
"""

import numpy as np
import pandas as pd

from attn_core.experiments.bracket import sparse
from attn_core.experiments.optimum import exact, expand
from attn_core.experiments.search import select
from attn_core.experiments.tables import table
from attn_core.experiments.yardsticks import controls
from attn_core.traces import Traces, has_one_logit

__all__ = ["adversarial", "controls", "exact", "expand", "select"]


def adversarial(traces: Traces, epsilon: float, weights: np.ndarray, seed: int = 0) -> pd.DataFrame:
    """The adversarial attention of each document at one epsilon, beside what it must be held against.

    weights (k, T): the result of search.search. Columns:
    jsd_search, tvd_search: epsilon-max JSD of the paper (section 4.2.2), see `select`, and the change of output there.
    One logit (or two): jsd_exact, tvd_exact, n_support: the exact optimum, see `exact`; 1 or 2 tokens carry it.
    Text pairs, three classes or more: jsd_sparse, see `sparse`; jsd_lower, tvd_lower: the better of it and the search.
    The optimum lies between jsd_lower and the ceiling.
    ceiling, jsd_shuffled, jsd_permutation, ceiling_permutation: see `controls` (seed is theirs).
    max_attention: largest weight of the model's own attention.
    """
    held = controls(traces, epsilon, seed)
    chosen = select(traces, weights, epsilon)
    if has_one_logit(traces):
        optimum = exact(traces, epsilon)
        best = {
            "jsd_exact": optimum["jsd_exact"],
            "tvd_exact": optimum["tvd_exact"],
            "n_support": np.where(optimum["j"] < 0, 1, 2),
        }
    else:
        few = sparse(traces, epsilon)
        better = chosen["jsd"] > few["jsd"]
        best = {"jsd_sparse": few["jsd"]}
        best |= {f"{name}_lower": chosen[name].where(better, few[name]) for name in ("jsd", "tvd")}
    return table(
        traces,
        jsd_search=chosen["jsd"],
        tvd_search=chosen["tvd"],
        **best,
        ceiling=held["ceiling"],
        jsd_shuffled=held["jsd_shuffled"],
        jsd_permutation=held["jsd_permutation"],
        ceiling_permutation=held["ceiling_permutation"],
        max_attention=traces.max_attention,
    )
