"""Does shuffling attention over the tokens change the output? Jain and Wallace 2019, section 4.2.1, Algorithm 2."""

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.experiments import draws as random
from attn_core.experiments.tables import table
from attn_core.measures import tvd
from attn_core.traces import Traces, probabilities

CHUNK = 1 << 15
"""Permuted weights worked on at once: 256 KB per array stay in the processor's cache. Changes no number."""


def permutation(
    traces: Traces,
    count: int = 100,
    seed: int = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
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
        Of the permutations.
    draws : (count, T) array of int, optional
        Column t of row c is the position, within its document, of the token whose weight token t gets; by default
        uniform permutations from (seed, doc_id).

    Returns
    -------
    DataFrame
        Columns median_change (the median of an even count is the mean of the two middle values) and max_attention,
        the largest weight of the document.
    """
    if draws is not None:
        draws = np.asarray(draws)
        if draws.ndim != 2 or draws.shape[1] != len(traces.score):
            raise AttnError(f"draws must be (count, {len(traces.score)}) positions within documents; got {draws.shape}")
        count = len(draws)
    if count < 1:
        raise AttnError(f"count must be at least 1 permutation, got {count}")
    median = np.empty(len(traces))
    for rows, tokens in traces.equal_lengths(CHUNK // count):  # (B,), (B, n)
        n = tokens.shape[1]
        if draws is None:
            order = random.permutations(seed, "permutation", traces.doc_id[rows], n, count)  # (B, count, n)
        else:
            order = draws[:, tokens].swapaxes(0, 1).astype(int)
            if (np.sort(order) != np.arange(n)).any():
                raise AttnError("draws must hold, for each document, permutations of the positions 0..n-1")
        order += (np.arange(len(rows)) * n)[:, None, None]
        permuted = traces.attention[tokens].ravel()[order]
        context = np.matmul(permuted, traces.contribution[tokens].astype(float))  # (B, count, K or M)
        outputs = probabilities(traces.decoded(context, rows[:, None]))
        change = tvd(outputs, traces.outputs[rows, None])  # (B, count)
        median[rows] = np.median(change, axis=1)
    return table(traces, median_change=median, max_attention=traces.max_attention)
