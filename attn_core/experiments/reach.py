"""Which outputs attention alone can reach: all weight on one token."""

import numpy as np

from attn_core.traces import Traces, probabilities


def one_token_outputs(traces: Traces) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(p, lowest, highest, other), each (D,): output, its extremes under all weight on one token, other decision.

    Output: probability of class 1 (one logit), else of the model's predicted class. other: whether some single token
    gives another decision. With one affine logit the extremes bound every attention, since a weighted mean lies between
    its terms; elsewhere they are outputs that are surely reached. Not in the paper.
    """
    rows = np.repeat(np.arange(len(traces)), traces.lengths)
    outputs = probabilities(traces.decoded(traces.contribution.astype(np.float64), rows))  # (T, K)
    start = traces.offsets[:-1]
    if traces.classes == 1:
        reached, own = outputs[:, 0], traces.outputs[:, 0]
        differs = np.round(reached) != traces.predicted[rows]
    else:
        reached, own = (
            outputs[np.arange(len(rows)), traces.predicted[rows]],
            traces.outputs[np.arange(len(traces)), traces.predicted],
        )
        differs = outputs.argmax(axis=1) != traces.predicted[rows]
    return (
        own,
        np.minimum.reduceat(reached, start),
        np.maximum.reduceat(reached, start),
        np.logical_or.reduceat(differs, start),
    )
