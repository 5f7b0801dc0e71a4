"""How far an attention with the same answer can lie from a BiLSTM's own, and what that must be held against, at any ε.

Two pages' worth of numbers: at the ε of the archive, means over whole test sets and all seeds; at any other, live on the
stored texts of one seed, where there is one logit and hence an exact optimum.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from attn_core import Run, index, obtain
from attn_core.experiments.adversarial import best_permutation, ceilings, exact, shuffles
from attn_core.traces import Traces

SETS = ("sst", "imdb", "agnews", "20news")
"""Data sets of single texts: one logit."""


def yardsticks(epsilon: float, vectors: str, seed: int) -> pd.DataFrame:
    """Mean JSD to the BiLSTM's attention by data set and kind, rows as of `index.over_seeds` with `data` and `encoder`.

    Kinds: search, the paper's; farthest, the exact optimum (pairs: the best found); ceiling, whatever the answer;
    shuffled, farthest after contributions are dealt out anew; moved, the model's own weights on other words, as a share
    of what these could reach at any answer. At an ε that is not in the archive there is no search, and n_seeds is 1.
    vectors, seed: of the stored texts then taken.
    """
    stored = {
        f"jsd_search@{epsilon:g}": "search",
        f"jsd_exact@{epsilon:g}": "farthest",
        f"jsd_lower@{epsilon:g}": "farthest",
        "ceiling": "ceiling",
        f"jsd_shuffled@{epsilon:g}": "shuffled",
        f"ratio_permutation@{epsilon:g}": "moved",
    }
    if not set(stored) <= index.has("measure"):
        return pd.concat([live(corpus, epsilon, vectors, seed) for corpus in SETS], ignore_index=True)
    rows = index.numbers(
        list(stored), "mean", encoder="lstm", attention="tanh", family=["text", "pair"], source="archive"
    )
    rows["kind"] = rows["measure"].map(stored)
    return index.over_seeds(rows, "corpus", "kind", "data", "encoder")


def live(corpus: str, epsilon: float, vectors: str, seed: int) -> pd.DataFrame:
    """The rows of one data set, computed now on the stored texts of one seed."""
    result = obtain(Run(corpus, "lstm", "tanh", seed, vectors))
    at_ceiling = ceilings(result.traces)
    moved = best_permutation(result.traces, epsilon)["jsd"] / at_ceiling["ceiling_permutation"]
    means = {
        "farthest": exact(result.traces, epsilon)["jsd_exact"].mean(),
        "ceiling": at_ceiling["ceiling"].mean(),
        "shuffled": exact(dealt_anew(result.traces), epsilon)["jsd_exact"].mean(),
        "moved": moved.replace(np.inf, np.nan).mean(),
    }
    rows = pd.DataFrame({"kind": list(means), "mean": list(means.values())})
    kind = index.data_kind(result.record)
    return rows.assign(corpus=corpus, data=kind, encoder="lstm", low=np.nan, high=np.nan, n_seeds=1)


def dealt_anew(traces: Traces) -> Traces:
    """Contributions shuffled over each text's words."""
    return replace(traces, contribution=traces.contribution[shuffles(0, "shuffle", traces)])
