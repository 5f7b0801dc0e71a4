"""Made-up archived runs of Serrano & Smith's six models: summaries of documents drawn at random."""

import numpy as np
import pandas as pd
import pytest

from attn_core.traces import Traces
from attn_lab.data.catalogue import CATALOGUE
from attn_lab.more import erasure
from attn_lab.runs import baselines
from attn_lab.runs.rows import number_rows
from attn_lab.runs.run import HIERARCHICAL, SEEDS, Run, as_dict
from attn_lab.runs.store import Result


def made_up(seed: int, documents: int = 300, classes: int = 4) -> Traces:
    """Traces of documents with 1 to 9 items, drawn at random."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 10, documents))])
    items = int(offsets[-1])
    return Traces(
        np.arange(documents),
        rng.integers(0, classes, documents),
        offsets,
        2 * rng.normal(size=items),
        2 * rng.normal(size=(items, classes)),
        rng.normal(size=classes),
        rng.normal(size=items),
        rng.normal(size=items),
    )


DOCUMENTS = {seed: erasure.document_table(made_up(seed)) for seed in SEEDS[:5]}
SUMMARIES = {seed: erasure.summary_table(documents) for seed, documents in DOCUMENTS.items()}


def result_of(corpus="imdb_stars", encoder="han_rnn", seed=10, accuracy=0.5, changes=None) -> Result:
    """An archived run of one of the six models; changes: (measure, bin, statistic) -> value in its summary."""
    summary = SUMMARIES[seed].copy()
    for (measure, place, statistic), value in (changes or {}).items():
        chosen = (summary["statistic"] == measure) & (summary["bin"] == place) & (summary["measure"] == statistic)
        assert chosen.sum() == 1, (measure, place, statistic)
        summary.loc[chosen, "value"] = value
    run = Run(corpus, encoder, seed=seed)
    train = {"per_class": [10] * len(CATALOGUE[corpus].classes)}
    record = {
        "key": run.key,
        "run": as_dict(run),
        "accuracy": accuracy,
        "n_train": 80,
        "n_dev": 10,
        "n_test": 300,
        "statistics": {"splits": {"train": train}, "train_share": 0.01},
    }
    documents = DOCUMENTS[seed] if seed == SEEDS[0] else None  # as in the archive
    return Result(record=record, documents=documents, numbers=number_rows(record, summary), source="archive")


def six_models(count=5, **more) -> list[Result]:
    return [result_of(encoder=encoder, seed=seed, **more) for encoder in HIERARCHICAL for seed in SEEDS[:count]]


@pytest.fixture
def bar(monkeypatch):
    """The only baseline: imdb_stars, whose regression reaches 0.45."""
    table = pd.DataFrame([{"corpus": "imdb_stars", "majority": 0.2, "regression": 0.45}])
    monkeypatch.setattr(baselines, "stored", lambda: table)
