"""What the experiments share: the identity columns of a table, and traces seen as a one-logit model."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.traces import Traces


def identity(traces: Traces) -> dict[str, np.ndarray]:
    """The columns every table begins with; the row order is that of the traces."""
    return {"doc_id": traces.doc_id, "label": traces.label, "predicted": traces.predicted, "n": traces.lengths}


def table(traces: Traces, **columns: np.ndarray) -> pd.DataFrame:
    """One row per document: identity columns, then the statistics."""
    return pd.DataFrame({**identity(traces), **columns})


def has_one_logit(traces: Traces) -> bool:
    """Whether the output is the sigmoid of one number that is affine in the weights: one or two logits, no readout."""
    return traces.readout is None and traces.classes <= 2


def one_logit(traces: Traces) -> tuple[np.ndarray, float]:
    """Contributions (T,) and bias of the one logit whose sigmoid is the probability of class 1, float64.

    Two logits under a softmax are one logit, class 1 minus class 0. Other traces are an AttnError, see `has_one_logit`.
    """
    k = traces.classes
    if not has_one_logit(traces):
        kind = f"have {k} classes" if traces.readout is None else "are of text pairs"
        raise AttnError(f"the exact optimum takes classifiers of one or two logits, these traces {kind}")
    contribution, bias = traces.contribution.astype(np.float64), traces.bias.astype(np.float64)
    if k == 1:
        return contribution[:, 0], float(bias[0])
    return contribution[:, 1] - contribution[:, 0], float(bias[1] - bias[0])


def check_epsilon(epsilon: float) -> None:
    """AttnError unless 0 <= epsilon <= 1."""
    if not 0 <= epsilon <= 1:
        raise AttnError(f"epsilon is a distance of probabilities between 0 and 1, got {epsilon}")


def sigmoid(logit: np.ndarray) -> np.ndarray:
    """Probability of class 1 from one logit, as Traces.p computes it."""
    return 0.5 * (1.0 + np.tanh(0.5 * logit))


def totals(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sums within documents, (..., T) -> (..., D)."""
    return np.add.reduceat(values, offsets[:-1], axis=-1)


def padded_length(n: np.ndarray, growth: float = 1.35) -> np.ndarray:
    """Lengths rounded up to a ladder whose steps grow by `growth`, so that similar documents share a padded block.

    It depends on a document's own length alone: a document is padded alike whatever is computed beside it.
    """
    ladder = [1]
    while ladder[-1] < np.max(n, initial=1):
        ladder.append(math.ceil(ladder[-1] * growth))
    return np.asarray(ladder)[np.searchsorted(ladder, n)]


def blocks(lengths: np.ndarray, limit: int, multiple: int = 1, least: int = 1) -> Iterator[tuple[np.ndarray, int]]:
    """(rows (B,), padded length L): documents of like padded length, at most about `limit` padded tokens at a time.

    multiple: padded lengths are rounded up to multiples of this. least: documents that are together in any case.
    """
    padded = -(-padded_length(lengths) // multiple) * multiple
    for length in np.unique(padded):
        rows, step = np.flatnonzero(padded == length), max(least, limit // int(length))
        for start in range(0, len(rows), step):
            yield rows[start : start + step], int(length)


def pad(values: np.ndarray, traces: Traces, rows: np.ndarray, length: int, fill: float) -> np.ndarray:
    """Token values (..., T) of some documents as (..., B, length), filled up at the right."""
    position = np.arange(length)
    real = position < traces.lengths[rows, None]  # (B, L)
    index = np.where(real, traces.offsets[rows, None] + position, 0)
    return np.where(real, values[..., index], fill)
