"""Made-up archived runs for the tests of the scorecard: the papers' sizes, one value for every measure."""

import numpy as np
import pandas as pd

from attn_book.derived import COUNTED
from attn_book.scorecard import reported
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.index import printed_sizes
from attn_core.run import SEEDS, Run, as_dict
from attn_core.store import Result

RULES = reported("tolerances", paper="jain")
MEASURES = sorted(set(RULES["measure_ours"]) - {*COUNTED, "accuracy", "macro_f1"})
STATISTICS = (
    "mean", "std", "median", "q25", "q75", "share_significant", "share_below_0.1", "share_above_0.4",
)  # fmt: skip
BINS = ("all", "[0.00,0.25)", "[0.25,0.50)", "[0.50,0.75)", "[0.75,1.00]")


def result_of(
    corpus="sst", encoder="lstm", seed=10, values=None, statistics=None, attention="tanh", n_in_bin=50, **fields
):
    """An archived run whose summary holds one value of every measure, for all statistics, classes and bins.

    values: measure -> value, or (measure, predicted) -> value; others have 0.5.
    """
    values = values or {}
    run = Run(corpus, encoder, attention, seed, **fields)
    entry, rows = CATALOGUE[corpus], []
    for measure in MEASURES:
        for predicted in ("all", *map(str, range(len(entry.classes)))):
            value = values.get((measure, predicted), values.get(measure, 0.5))
            for label in BINS:
                rows += [(measure, predicted, label, statistic, value) for statistic in STATISTICS]
                rows.append((measure, predicted, label, "n", float(n_in_bin)))
    summary = pd.DataFrame(rows, columns=["statistic", "predicted", "bin", "measure", "value"])  # the files' names
    sizes = statistics or whole(corpus)
    record = {
        "key": run.key,
        "run": as_dict(run),
        "accuracy": values.get("accuracy", 0.8),
        "statistics": sizes,
        **{f"n_{name}": sizes["splits"].get(name, {"documents": 0})["documents"] for name in ("train", "dev", "test")},
    }
    if entry.task == "text":
        record |= {"macro_f1": values.get("macro_f1", 0.8), "f1_0": 0.8, "f1_1": 0.8, "auc": 0.9}
    return Result(record=record, traces=None, documents=None, summary=summary, source="archive")


def whole(corpus: str, share: float = 1.0, **more) -> dict:
    """Data statistics of the paper's own sizes, or of a share of its training documents, with dev cut from them."""
    entry, sizes = CATALOGUE[corpus], printed_sizes()[corpus]
    classes = max(len(entry.classes), 1)

    def split(n):
        n = int(n)
        return {
            "documents": n,
            "per_class": [n // classes] * (classes - 1) + [n - n // classes * (classes - 1)],
            "mean_length": 10.0,
        }

    train = share * sizes["train"]
    parts = (
        {"train": split(train)}
        if "dev" in entry.files
        else {"train": split(0.8 * train), "dev": split(train - int(0.8 * train))}
    )
    return {
        "splits": {**parts, "test": split(sizes["test"])},
        "classes": ["a"] * (36 if corpus.startswith("babi") else classes),
        "vocabulary": 111,
        "vocabulary_all_splits": 222,
        **more,
    }


def spread_of(count: int, spread: float = 0.01) -> np.ndarray:
    """Distances of seeds from their mean: evenly spaced, summing to 0."""
    return spread * (np.arange(count) - (count - 1) / 2)


def seeds_of(corpus="sst", encoders=("lstm", "average"), count=5, spread=0.01, values=None, shift=0.3, **more):
    """Standard runs of several seeds around the values, the average encoder `shift` above."""
    return [
        result_of(
            corpus, encoder, seed,
            {name: v + off + (shift if encoder == "average" else 0) for name, v in (values or {}).items()}, **more,
        )
        for encoder in encoders
        for seed, off in zip(SEEDS, spread_of(count, spread), strict=False)
    ]  # fmt: skip


def row_for(rows: pd.DataFrame, **where):
    for name, wanted in where.items():
        rows = rows[rows[name] == wanted]
    assert len(rows) == 1, (where, len(rows))
    return rows.iloc[0]
