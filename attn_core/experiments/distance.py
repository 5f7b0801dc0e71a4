"""How far two attentions lie apart, of two trainings or of a search, and what the distance costs in output.

Wiegreffe & Pinter 2019, 3.3 and 4, Figures 3 and 5. Their yardstick for adversaries: training again from another seed
already moves attention. Only the n real tokens of a document count. tvd is |p' - p| throughout, the formula of the
paper's text; the authors' code halves it, and Figure 5 very likely shows the halved scale (HALVED).
"""

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.measures import apart, tvd
from attn_core.traces import Arrays, Traces

HALVED = 0.5
"""The authors' code multiplies |p' - p| by this."""


def against(base: Traces, second: Traces) -> pd.DataFrame:
    """How far a second model's attention and output lie from the base's, one row per document of both.

    Parameters
    ----------
    base, second : Traces
        Of two models that read the same words; rows are in the base's order.

    Returns
    -------
    DataFrame
        Columns doc_id; predicted (of the base, as Wiegreffe & Pinter group documents); max_attention (of the base);
        jsd of the two attentions in nats, 0 to ln 2; tvd of the two outputs.

    Raises
    ------
    AttnError
        A document has other tokens in the second model, or the two share none.
    """
    rows = pd.Index(second.doc_id).get_indexer(base.doc_id)  # of the base's documents in the second; -1: not there
    base = base.take(rows >= 0)
    second = second.take(rows[rows >= 0])
    if not len(base):
        raise AttnError("the two runs share no document; compare runs of the same data set and split")
    unlike = np.flatnonzero(base.lengths != second.lengths)
    if len(unlike):
        row = unlike[0]
        raise AttnError(
            f"document {base.doc_id[row]} has {base.lengths[row]} tokens in the base and {second.lengths[row]} in the "
            "other model; compare runs of the same data"
        )
    jsd = apart(base.attention, second.attention, base.offsets)
    return pd.DataFrame(grouping(base) | {"jsd": jsd, "tvd": tvd(base.outputs, second.outputs)})


def grouping(traces: Traces) -> Arrays:
    """The columns by which the paper groups documents."""
    return {"doc_id": traces.doc_id, "predicted": traces.predicted, "max_attention": traces.max_attention}
