"""The verdict of the three papers: each paper's tests put to the other's models."""

import numpy as np
import pandas as pd

from attn_core.experiments import erasure
from attn_core.experiments.correlation import correlation
from attn_core.experiments.permutation import permutation
from attn_core.measures import bootstrap_interval
from attn_core.runs import Run, obtain
from attn_core.traces import Traces

EXCHANGED = (("sst", "lstm"), ("20news", "lstm"), ("agnews", "lstm"), ("imdb", "lstm"),
             ("imdb_stars", "han_rnn"), ("amazon", "han_rnn"))  # fmt: skip
"""Recurrent models of which the first seed's traces are stored: Jain & Wallace's four, Serrano & Smith's two."""


def exchanged() -> pd.DataFrame:
    """Jain & Wallace's two tests on Serrano & Smith's models, and the other way: seed 10, 95 % over its documents.

    Columns: test, corpus, encoder, mean, low, high, n (documents for which the test is defined). Numbers as `TESTS` of
    the matrix: mean τ with gradients, share of documents whose median change under shuffling is below 0.1; share where
    only the top item's removal flips minus only a random one's, share of items removed by attention minus by gradient
    (documents that flip under every order). Documents of one item are left out.
    """
    rows = []
    for corpus, encoder in EXCHANGED:
        traces = obtain(Run(corpus, encoder)).traces
        traces = traces.take(np.flatnonzero(traces.lengths > 1))
        tests = of_serrano(traces) if encoder == "lstm" else of_jain(traces)
        for test, values in tests.items():
            values = np.asarray(values, float)
            values = values[np.isfinite(values)]
            rows.append([test, corpus, encoder, values.mean(), *bootstrap_interval(values), len(values)])
    return pd.DataFrame(rows, columns=["test", "corpus", "encoder", "mean", "low", "high", "n"])


def of_jain(traces: Traces) -> dict[str, pd.Series]:
    """Test -> its number of each document (D,)."""
    little = permutation(traces)["median_change"] < 0.1
    return {"gradients": correlation(traces)["tau_attention_gradient"], "permutation": little}


def of_serrano(traces: Traces) -> dict[str, pd.Series]:
    """Test -> its number of each document (D,); NaN where some order never flips the decision."""
    table = erasure.derived(erasure.document_table(traces))
    top = table["flips_attention"].astype(float) - table["flips_r_attention@coded"].astype(float)
    order = (table["fraction_attention"] - table["fraction_gradient"]).where(table["common"])
    return {"top item": top, "order": order}
