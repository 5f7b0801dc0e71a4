"""Numbers of traces beside the papers' tests: expectations under permuted weights, one document's whole order of
removal, several comparisons with one base, a rank correlation net of others."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when first used
from numpy import ndarray
from numpy.typing import ArrayLike

from attn_core.experiments import distance
from attn_core.experiments import draws as random
from attn_core.experiments.removal import by_class, equal_length_blocks, ranking_values, removal_order
from attn_core.experiments.search import output_changes
from attn_core.experiments.single import ALL_ORDERS
from attn_core.measures import jsd_ragged
from attn_core.traces import Traces, attending_only, decisions, probabilities

ORDERS = 200
"""Random orders for a longer document."""

ITEMS = 1 << 19
"""Items of permuted documents held at once."""


def partial_rank(x: ArrayLike, y: ArrayLike, *covariates: ArrayLike) -> float:
    """Spearman's correlation of x and y (D,) net of covariates (D,), of their ranks' residuals on the covariates'
    ranks.

    0 says that, where the covariates are equal, x tells nothing of y; NaN where nothing is left of x or y.
    """
    ranks = [scipy.stats.rankdata(values) for values in (x, y, *covariates)]
    outcomes = np.stack(ranks[:2], axis=1)  # (D, 2)
    design = np.stack([np.ones(len(outcomes)), *ranks[2:]], axis=1)
    slopes, *_ = np.linalg.lstsq(design, outcomes)
    residuals = outcomes - design @ slopes
    if (residuals.std(axis=0) < 1e-9).any():
        return np.nan
    return float(np.corrcoef(residuals.T)[0, 1])


def over_permutations(traces: Traces, test: Callable[[Traces], ndarray], seed: int = 0) -> ndarray:
    """The expectation (D,) of a test's number of each document when its weights are permuted.

    test: Traces of D documents -> (D,). Documents of up to ALL_ORDERS items: exact, the mean over all orders; longer
    ones: over ORDERS random orders, drawn from (seed, doc_id). Gradients and leave-one-out are dropped, as in
    `permuted_weights`, of which this is the expectation. Not in the paper.
    """
    bare = replace(traces, gradient=None, leave_one_out=None)
    expected = np.empty(len(traces))
    for rows, items in traces.equal_lengths(ITEMS // math.factorial(ALL_ORDERS)):
        n = items.shape[1]
        if n <= ALL_ORDERS:
            orders = np.array([[*permutations(range(n))]])  # (1, n!, n)
        else:
            orders = random.permutations(seed, "permuted weights", traces.doc_id[rows], n, ORDERS)  # (B, ORDERS, n)
        count = orders.shape[1]
        score = np.take_along_axis(traces.score[items][:, None], orders, axis=2)  # (B, count, n)
        permuted = replace(bare.take(np.repeat(rows, count)), score=score.ravel())
        expected[rows] = test(permuted).reshape(-1, count).mean(axis=1)
    return expected


def curve(traces: Traces, row: int, ranking: str) -> pd.DataFrame:
    """One document's whole removal sequence: position, removed (0 to n), mass, label, p (of the original label).

    position: the item that goes at this step (-1 at step 0). The last row is the zero vector; 'random' is of seed 0.
    """
    document = by_class(traces.take([row]))
    (block,) = equal_length_blocks(document)
    order = removal_order(block, ranking, ranking_values(document))[0]

    removed = np.arange(len(order) + 1)
    left = np.argsort(order) >= removed[:, None]  # (n + 1, n) the items that each step leaves
    logits = np.concatenate([document.logits_under(attending_only(document, items)) for items in left])
    return pd.DataFrame(
        {
            "position": np.append(-1, order),
            "removed": removed,
            "mass": np.append(0.0, document.attention[order].cumsum()),
            "label": decisions(logits),
            "p": probabilities(logits)[:, document.predicted[0]],
        }
    )


def per_instance(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Several comparisons with one base (tables of `against`) as one row per document that all of them have.

    Columns doc_id, predicted, max_attention; median and max of the JSD over the tables (the authors' code takes the
    median; the maximum is Jain & Wallace's way with their adversaries).
    """
    documents = pd.concat(tables).groupby("doc_id", sort=False)
    jsd = documents["jsd"].agg(["median", "max"])
    instances = documents[["predicted", "max_attention"]].first().join(jsd)
    return instances[documents.size() == len(tables)].reset_index()


def per_search(traces: Traces, weights: ndarray) -> pd.DataFrame:
    """The per-document search's adversaries as Wiegreffe & Pinter read them (Figure 3 e, f, the plus of Figure 5).

    One row per document; weights (k, T) of search.search. Columns doc_id, predicted, max_attention; jsd, tvd: means
    over the k adversaries, whatever their output; two: median JSD of the first two, which the authors' code takes.
    """
    jsd = jsd_ragged(weights, traces.attention, traces.offsets)  # (k, D)
    columns = distance.grouping(traces)
    columns["jsd"] = jsd.mean(axis=0)
    columns["tvd"] = output_changes(traces, weights).mean(axis=0)
    columns["two"] = np.median(jsd[:2], axis=0)
    return pd.DataFrame(columns)
