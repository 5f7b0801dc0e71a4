"""Made-up archived runs for the tests of the scorecard: the papers' sizes, one value for every measure."""

import pandas as pd

from attn_book.derived import COUNTED
from attn_book.scorecard import reported
from attn_lab.data.catalogue import CATALOGUE
from attn_lab.runs.provenance import printed_sizes
from attn_lab.runs.rows import number_rows
from attn_lab.runs.run import SEEDS, Run, as_dict
from attn_lab.runs.store import Result

RULES = reported("tolerances", paper="jain")
MEASURES = sorted(set(RULES["measure_ours"]) - {*COUNTED, "accuracy", "macro_f1"})
STATISTICS = sorted(set(RULES["statistic_ours"]) - {"count", "value"})
BINS = ("all", "[0.00,0.25)", "[0.25,0.50)", "[0.50,0.75)", "[0.75,1.00]")


def result_of(corpus="sst", encoder="lstm", seed=10, values=None, statistics=None, n_in_bin=50, **fields):
    """An archived run whose summary holds one value of every measure, for all statistics, classes and bins.

    values: measure -> value, or (measure, predicted) -> value; others have 0.5.
    """
    values = values or {}
    run = Run(corpus, encoder, seed=seed, **fields)
    entry = CATALOGUE[corpus]
    classes = ["all", *map(str, range(len(entry.classes)))]
    places = [[*STATISTICS, "n"], classes, BINS, MEASURES]
    names = ["measure", "predicted", "bin", "statistic"]  # the files' names, of statistic and measure
    summary = pd.MultiIndex.from_product(places, names=names).to_frame(index=False)
    of_class = zip(summary["statistic"], summary["predicted"], strict=True)
    summary["value"] = [values.get(place, values.get(place[0], 0.5)) for place in of_class]
    summary.loc[summary["measure"] == "n", "value"] = n_in_bin
    record = record_of(run, statistics, accuracy=values.get("accuracy", 0.8))
    if entry.task == "text":
        record |= {"macro_f1": values.get("macro_f1", 0.8), "f1_0": 0.8, "f1_1": 0.8, "auc": 0.9}
    return Result(record, numbers=number_rows(record, summary), source="archive")


def record_of(run: Run, statistics: dict | None = None, **more) -> dict:
    """The record of an archived run."""
    sizes = statistics or whole(run.corpus)
    counts = {
        f"n_{name}": sizes["splits"].get(name, {}).get("documents", 0) for name in ("train", "dev", "test")
    }
    return {"key": run.key, "run": as_dict(run), "statistics": sizes, **counts, **more}


def whole(corpus: str, share: float = 1.0) -> dict:
    """Data statistics of the paper's own sizes, or of a share of its training documents."""
    sizes = printed_sizes()[corpus]
    classes = max(len(CATALOGUE[corpus].classes), 1)
    splits = {}
    for name, size in {"train": share * sizes["train"], "test": sizes["test"]}.items():
        each, left = divmod(int(size), classes)
        per_class = [*(classes - 1) * [each], each + left]
        splits[name] = {"documents": int(size), "per_class": per_class, "mean_length": 10.0}
    answers = ["a"] * (36 if corpus.startswith("babi") else classes)
    return {"splits": splits, "classes": answers, "vocabulary": 111, "vocabulary_all_splits": 222}


def seeds_of(
    corpus="sst", encoders=("lstm", "average"), count=5, spread=0.01, values=None, shift=0.3, **more
):
    """Standard runs of several seeds, evenly `spread` around the values, the average encoder `shift` above."""
    results = []
    for encoder in encoders:
        for place, seed in enumerate(SEEDS[:count]):
            off = spread * (place - (count - 1) / 2) + (shift if encoder == "average" else 0)
            own = {name: value + off for name, value in (values or {}).items()}
            results.append(result_of(corpus, encoder, seed, own, **more))
    return results


def row_for(rows: pd.DataFrame, **where):
    chosen = rows[(rows[[*where]] == [*where.values()]).all(axis=1)]
    assert len(chosen) == 1, (where, len(chosen))
    return chosen.iloc[0]
