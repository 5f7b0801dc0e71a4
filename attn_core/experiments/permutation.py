"""Does shuffling attention over the tokens change the output? Jain and Wallace 2019, section 4.2.1, Algorithm 2."""

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.experiments import draws as random
from attn_core.experiments.tables import table
from attn_core.traces import Traces, probabilities, sigmoid

CHUNK = 1 << 15
"""Permuted weights worked on at once: 256 KB per array stay in the processor's cache."""


def permutation(
    traces: Traces, count: int = 100, seed: int = 0, draws: np.ndarray | None = None, chunk: int = CHUNK
) -> pd.DataFrame:
    """Median over `count` random permutations of the change of output, per document.

    Columns: median_change = median over permutations of TVD(output under permuted attention, output) (the median of
    an even count is the mean of the two middle values), max_attention = largest weight of the document.
    Contributions stay, only the weights move; of text pairs only those of the first text. One logit: |p' - p|;
    K logits: half the L1 distance of the softmax outputs.

    draws (count, T): column t of row c is the position, within its document, of the token whose weight token t gets;
    by default uniform permutations from (seed, doc_id). chunk bounds memory and changes no number.
    """
    if draws is not None:
        draws = np.asarray(draws)
        if draws.ndim != 2 or draws.shape[1] != len(traces.score):
            raise AttnError(f"draws must be (count, {len(traces.score)}) positions within documents; got {draws.shape}")
        count = len(draws)
    if count < 1:
        raise AttnError(f"count must be at least 1 permutation, got {count}")
    median = np.empty(len(traces))
    for rows, index in traces.equal_lengths():
        n = index.shape[1]
        step = max(1, chunk // (n * count))
        for start in range(0, len(rows), step):
            part, tokens = rows[start : start + step], index[start : start + step]  # (B,), (B, n)
            if draws is None:
                order = random.permutations(seed, "permutation", traces.doc_id[part], n, count)  # (B, count, n)
            else:
                order = draws[:, tokens].swapaxes(0, 1).astype(np.int64)
                if (np.sort(order) != np.arange(n)).any():
                    raise AttnError("draws must hold, for each document, permutations of the positions 0..n-1")
            order += (np.arange(len(part)) * n)[:, None, None]
            permuted = traces.attention[tokens].ravel()[order]
            context = np.matmul(permuted, traces.contribution[tokens].astype(np.float64))  # (B, count, K or M)
            logits = traces.decoded(context, part[:, None])
            median[part] = np.median(change(logits, traces.logits[part][:, None]), axis=1)
    return table(traces, median_change=median, max_attention=traces.max_attention)


def change(logits: np.ndarray, original: np.ndarray) -> np.ndarray:
    """TVD between the outputs of logits (..., K) and of original (..., K): sigmoid for K = 1, softmax otherwise."""
    if logits.shape[-1] == 1:
        return np.abs(sigmoid(logits[..., 0]) - sigmoid(original[..., 0]))
    return 0.5 * np.abs(probabilities(logits) - probabilities(original)).sum(axis=-1)
