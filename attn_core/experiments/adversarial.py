"""Can attention be quite different at the same output? Jain and Wallace 2019, section 4.2.2, and how different at most.

search.py holds the authors' search, optimum.py the exact optimum of one logit and a lower bound for more outputs,
yardsticks.py what they must be held against; here is their table.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from attn_core.experiments.optimum import exact, expand, sparse
from attn_core.experiments.search import select
from attn_core.experiments.tables import table
from attn_core.experiments.yardsticks import best_permutation, ceiling, mirrored, shuffles
from attn_core.measures import jsd_ragged
from attn_core.traces import Traces, has_one_logit

__all__ = ["adversarial", "exact", "expand", "select"]


def adversarial(traces: Traces, epsilon: float, weights: np.ndarray, seed: int = 0) -> pd.DataFrame:
    """The adversarial attention of each document at one epsilon, beside what it must be held against.

    weights (k, T): the result of search.search. Columns:
    jsd_search, tvd_search: epsilon-max JSD of the paper (section 4.2.2), see `select`, and the change of output there.
    One logit (or two): jsd_exact, tvd_exact, n_support: the exact optimum, see `exact`; 1 or 2 tokens carry it.
    jsd_permutation: the best permutation of the model's own weights, so that the shape of attention is kept, see
    `best_permutation`. Text pairs, three classes or more: jsd_sparse, see `sparse`; jsd_lower, tvd_lower: the better of
    it and the search. The optimum lies between jsd_lower and the ceiling.
    jsd_shuffled: jsd_exact, or jsd_sparse, when contributions are shuffled over the tokens by (seed, doc_id):
    attention, bias and the set of contributions stay, which token has which contribution changes, hence the output
    too, and the constraint is around that new output.
    ceiling: largest JSD of any weights when the output does not matter; ceiling_permutation: the same among
    permutations of the model's own, see `mirrored`. max_attention: largest weight of the model's own attention.
    """
    chosen = select(traces, weights, epsilon)
    shuffled = replace(traces, contribution=traces.contribution[shuffles(seed, "shuffle", traces)])
    if has_one_logit(traces):
        optimum = exact(traces, epsilon)
        best = optimum[["jsd_exact", "tvd_exact"]].assign(
            n_support=np.where(optimum["j"] < 0, 1, 2),
            jsd_shuffled=exact(shuffled, epsilon)["jsd_exact"],
            jsd_permutation=best_permutation(traces, epsilon, seed)["jsd"],
        )
    else:
        few = sparse(traces, epsilon)
        better = chosen["jsd"] > few["jsd"]
        best = {"jsd_sparse": few["jsd"]}
        best |= {f"{name}_lower": chosen[name].where(better, few[name]) for name in ("jsd", "tvd")}
        best["jsd_shuffled"] = sparse(shuffled, epsilon)["jsd"]
    return table(
        traces,
        jsd_search=chosen["jsd"],
        tvd_search=chosen["tvd"],
        **best,
        ceiling=ceiling(traces),
        ceiling_permutation=jsd_ragged(mirrored(traces), traces.attention, traces.offsets),
        max_attention=traces.max_attention,
    )
