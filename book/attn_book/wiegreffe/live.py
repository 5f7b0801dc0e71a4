"""Wiegreffe & Pinter's tests on generated documents, trained live in seconds: pages say something without any data.

The results have the form of `runs.table`, corpus 'planted'. They are drawn in a colour of their own and count
nowhere.
"""

from dataclasses import replace

import pandas as pd

from attn_book.wiegreffe.runs import table
from attn_core.experiments.variance import against
from attn_core.index import HEADLINE_SEEDS
from attn_core.runs import SEEDS, Run, compared_with, from_dict, obtain

COLOUR = "#7b3294"
"""Of generated data in all figures of these pages."""

OPTIONS = (("cues", 8), ("distractors", 1), ("evidence", 2), ("n_dev", 100), ("n_test", 200), ("n_train", 500))
"""Two cues for the label against one: hard enough for models to differ."""

HIDDEN = 32
"""Units per direction of the BiLSTM, a quarter of the paper's, for speed."""

BASE = Run("planted", options=OPTIONS, hidden=HIDDEN)
WEIGHTS = (0.0, 3e-4, 2e-3, 1e-2)
"""Of the KL term of the live adversaries."""

IMITATION_EPOCHS = 12


def runs_of(part: str, seeds: int = 2) -> list[Run]:
    """The runs of one page: 'base' or 'adversaries', each with its bases, of the book's seeds."""
    first = [replace(BASE, seed=seed) for seed in SEEDS[:seeds]]
    adversaries = [replace(BASE, divergence=weight, base=BASE, epochs=IMITATION_EPOCHS) for weight in WEIGHTS]
    parts = {
        "base": first,
        "adversaries": [*first, *(replace(run, attention="uniform") for run in first), *adversaries],
    }  # fmt: skip
    return parts[part]


def live(part: str, seeds: int = 2) -> pd.DataFrame:
    """The table of one page's runs, trained where the local cache has none; jsd and tvd where a run is compared."""
    made = table([obtain(run, progress=False, traces=False) for run in runs_of(part, min(seeds, HEADLINE_SEEDS))])
    return with_distances(made).assign(corpus="planted")


def with_distances(runs: pd.DataFrame) -> pd.DataFrame:
    """A table of live runs with jsd and tvd to the run each is compared with, from the traces at hand."""
    runs = runs.copy()
    traces = {from_dict(result.record["run"]): result.traces for result in runs["result"]}
    for i, result in runs["result"].items():
        other = compared_with(run := from_dict(result.record["run"]))
        if other in traces and traces[run] is not None and pd.isna(runs.loc[i, "jsd"]):
            beside = against(traces[other], traces[run])
            runs.loc[i, ["jsd", "tvd"]] = beside["jsd"].mean(), beside["tvd"].mean()
    return runs
