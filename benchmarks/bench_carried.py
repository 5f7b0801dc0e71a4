"""Models read under other models' attention: data/measured/carried.csv, of the runs of data/sweeps/carried.yml.

`python -m benchmarks --carried [sst ...]` trains what is not cached. By corpus, reader (the encoder that reads) and
source (whose weights): accuracy and auc on the whole test set, documents of one word left out, means of five seeds;
each beyond own and beyond uniform weights, with intervals.
"""

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from attn_core.experiments.single import permuted_weights
from attn_core.measures import crossed_interval, seed_interval
from attn_core.traces import Traces, totals
from attn_core.tracing import forward
from attn_lab.runs.compute import inputs_of, weights_of
from attn_lab.runs.controls import rarity, word_counts
from attn_lab.runs.families import trained_model
from attn_lab.runs.run import Run
from attn_lab.runs.sweep import read_grid
from benchmarks.measured import DATA, put

ORDERS = 20
"""In which own weights are permuted."""

INTERVALS = {"accuracy": crossed_interval, "auc": seed_interval}
"""Over seeds and documents, of the AUC over seeds."""


def write(*corpora: str) -> None:
    """Make the rows of all data sets anew, or of some."""
    runs = read_grid(DATA / "sweeps" / "carried.yml")
    for corpus in corpora or dict.fromkeys(run.corpus for run in runs):
        rows = carried([run for run in runs if run.corpus == corpus])
        put("carried.csv", pd.DataFrame(rows), "corpus")


def carried(runs: list[Run]) -> list[dict]:
    """Rows of a data set: every encoder as a reader under every kind of weights."""
    data = inputs_of(runs[0])[0]
    texts = data.splits["test"]
    texts = texts.take(texts.lengths > 3)  # two words at least
    models = {
        (run.encoder, run.seed): forward(trained_model(run, weights_of(run)), texts)
        for run in runs
    }
    rare = rarity(word_counts(data.splits["train"], len(data.vocabulary)))
    encoders, seeds = (list(dict.fromkeys(each)) for each in zip(*models, strict=True))
    rows = []
    for reader in encoders:
        scores = []
        for seed, another in zip(seeds, [*seeds[1:], seeds[0]], strict=True):
            lent = {encoder: models[encoder, seed].attention for encoder in encoders}
            lent["another seed"] = models[reader, another].attention
            lent["rarity"] = rare[texts.ids[texts.inner]]
            scores.append(read_under(models[reader, seed], lent))
        for source in scores[0]:
            about = {"corpus": data.name, "reader": reader, "source": source}
            rows.append(about | beside(scores, source, reader))
    return [row | {"n_seeds": len(seeds), "documents": len(texts)} for row in rows]


def read_under(traces: Traces, lent: dict[str, np.ndarray]) -> dict[str, dict]:
    """Kind of weights -> accuracy (D,) and auc of a reader under these, uniform ones and, as means, its own permuted.

    lent: name -> weights (T,), which are scaled to sum to 1 in each text.
    """
    kinds = {
        name: weights / totals(weights, traces.offsets)[traces.owner]
        for name, weights in (lent | {"uniform": np.ones(len(traces.owner))}).items()
    }
    logits = {name: [traces.logits_under(weights)] for name, weights in kinds.items()}
    logits["permuted"] = [permuted_weights(traces, draw).logits for draw in range(ORDERS)]
    return {
        name: {
            "accuracy": np.mean([(z[:, 0] > 0) == traces.label for z in each], axis=0),
            "auc": np.mean([roc_auc_score(traces.label, z[:, 0]) for z in each]),
        }
        for name, each in logits.items()
    }


def beside(scores: list[dict[str, dict]], source: str, reader: str) -> dict[str, float]:
    """Means over seeds under a kind of weights, and what they are more than under own and under uniform weights, with
    95 % intervals."""
    row = {}
    for name, interval in INTERVALS.items():
        values = np.array([of_seed[source][name] for of_seed in scores])
        row[name] = values.mean()
        for against, key in (("own", reader), ("uniform", "uniform")):
            difference = values - np.array([of_seed[key][name] for of_seed in scores])
            low, high = interval(difference) if source != key else (0.0, 0.0)
            row |= {f"{name}_beyond_{against}": difference.mean(), f"{name}_{against}_low": low}
            row[f"{name}_{against}_high"] = high
    return row
