"""Does shuffling attention over the tokens change the output? Jain and Wallace 2019, section 4.2.1, Algorithm 2."""

import numpy as np
import pandas as pd

from attn_core import checks
from attn_core.experiments import draws as random
from attn_core.experiments.tables import table
from attn_core.measures import variation
from attn_core.traces import Traces, probabilities

CHUNK = 1 << 15
"""Permuted weights worked on at once: 256 KB per array stay in the processor's cache. Changes no number."""


def permutation(traces: Traces, count: int = 100, seed: int = 0) -> pd.DataFrame:
    """Median over `count` random permutations of the change of output, per document.

    Jain & Wallace 2019, section 4.2.1, Algorithm 2. Contributions stay, only the weights move; of text pairs only
    those of the first text. The change is |p' - p| for one logit, for K logits half the L1 distance of the softmax
    outputs.

    Parameters
    ----------
    traces : Traces
        Of any model.
    count : int
        Permutations of each document.
    seed : int
        Of the permutations, which are uniform from (seed, doc_id).

    Returns
    -------
    DataFrame
        Columns median_change (the median of an even count is the mean of the two middle values) and max_attention,
        the largest weight of the document.
    """
    checks.whole("count", count, 1)
    median = np.empty(len(traces))
    for rows, tokens in traces.equal_lengths(CHUNK // count):  # (B,), (B, n)
        n = tokens.shape[1]
        order = random.permutations(seed, "permutation", traces.doc_id[rows], n, count)  # (B, count, n)
        order += (np.arange(len(rows)) * n)[:, None, None]
        permuted = traces.attention[tokens].ravel()[order]
        context = np.matmul(permuted, traces.contribution[tokens].astype(float))  # (B, count, K or M)
        outputs = probabilities(traces.decoded(context, rows[:, None]))
        change = variation(outputs, traces.outputs[rows, None])  # (B, count)
        median[rows] = np.median(change, axis=1)
    return table(traces, median_change=median, max_attention=traces.max_attention)
