"""Can attention be quite different at the same output? Jain and Wallace 2019, section 4.2.2, and how different at most.

search.py holds the authors' search, optimum.py the exact optimum of one logit and a lower bound for more outputs. Here
are their table and what an adversarial JSD must be held against (ours): most of its height is the measure's, since
between spread-out attention and one or two tokens it is near ln 2 in any model.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy import ndarray
from numpy.typing import ArrayLike

from attn_core.experiments import draws as random
from attn_core.experiments.optimum import exact, sparse
from attn_core.experiments.search import select
from attn_core.experiments.tables import table
from attn_core.measures import apart, jsd_point
from attn_core.traces import Traces, has_one_logit


def adversarial(
    traces: Traces,
    epsilon: float,
    weights: ArrayLike | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """The adversarial attention of each document at one epsilon, beside what it must be held against.

    Parameters
    ----------
    traces : Traces
        Those that were searched.
    epsilon : float
        By how much the output may move, 0 to 1.
    weights : (k, T) array, optional
        From `search`; without it what is found otherwise alone.
    seed : int
        Of the contributions shuffled over the tokens.

    Returns
    -------
    DataFrame
        jsd_search, tvd_search: epsilon-max JSD of the paper (section 4.2.2), see `select`, and the change of output
        there. One logit (or two): jsd_exact, tvd_exact, see `exact`; n_support: 1 or 2 tokens carry it. Text pairs,
        three classes or more: jsd_sparse, see `sparse`; jsd_lower, tvd_lower: the better of it and the search; the
        optimum lies between jsd_lower and the ceiling. jsd_shuffled: jsd_exact, or jsd_sparse, when contributions are
        shuffled over the tokens: which token has which contribution changes, hence the output too, and the constraint
        is around that new output.
    """
    shuffled = replace(traces, contribution=traces.contribution[shuffles(seed, "shuffle", traces)])
    columns: dict[str, ArrayLike] = {}
    if weights is not None:
        searched = select(traces, weights, epsilon)
        columns |= {"jsd_search": searched["jsd"], "tvd_search": searched["tvd"]}
    if has_one_logit(traces):
        optimum = exact(traces, epsilon)
        columns |= dict(optimum[["jsd_exact", "tvd_exact"]])
        columns["n_support"] = np.where(optimum["j"] < 0, 1, 2)
        columns["jsd_shuffled"] = exact(shuffled, epsilon)["jsd_exact"]
    else:
        bound = sparse(traces, epsilon)
        columns["jsd_sparse"] = bound["jsd"]
        searched = bound if weights is None else searched
        better = searched["jsd"] > bound["jsd"]
        for name in ("jsd", "tvd"):
            columns[f"{name}_lower"] = searched[name].where(better, bound[name])
        columns["jsd_shuffled"] = sparse(shuffled, epsilon)["jsd"]
    return table(traces, **columns)


def ceilings(traces: Traces) -> pd.DataFrame:
    """What JSD to the model's attention allows without any model: `ceiling`; ceiling_permutation, the same among
    permutations of the model's own weights, see `mirrored`; and max_attention, by which documents are grouped."""
    moved = apart(mirrored(traces), traces.attention, traces.offsets)
    return table(traces, ceiling=ceiling(traces), ceiling_permutation=moved, max_attention=traces.max_attention)


def ceiling(traces: Traces) -> ndarray:
    """max_t JSD(all mass on t, attention), (D,): what JSD allows without any model; 0 for one token."""
    return jsd_point(np.minimum.reduceat(traces.attention, traces.offsets[:-1]))


def mirrored(traces: Traces) -> ndarray:
    """The model's weights in reversed order of size, (T,): the largest goes to the least attended token, and so on.

    No permutation has a larger JSD to the weights: its mixed second derivative -1 / (2 (a + b)) is negative, so of two
    weights the larger always gains by going to the less attended token.
    """
    by_size = np.lexsort((traces.attention, traces.owner))  # rising, per document
    ends = traces.offsets[:-1] + traces.offsets[1:] - 1  # first place plus last place of a document
    opposite = np.repeat(ends, traces.lengths) - np.arange(len(by_size))
    weights = np.empty_like(traces.attention)
    weights[by_size] = traces.attention[by_size[opposite]]
    return weights


def shuffles(seed: int, purpose: str, traces: Traces) -> ndarray:
    """A random permutation of the tokens within each document as token indices, (T,)."""
    uniform = random.uniforms(seed, purpose, traces.doc_id, traces.offsets)[0]
    return np.lexsort((uniform, traces.owner))
