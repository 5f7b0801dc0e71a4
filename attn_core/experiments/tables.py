"""What the tables of all experiments share."""

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


def check_epsilon(epsilon: float) -> None:
    """AttnError unless 0 <= epsilon <= 1."""
    if not 0 <= epsilon <= 1:
        raise AttnError(f"epsilon is a distance of probabilities between 0 and 1, got {epsilon}")
