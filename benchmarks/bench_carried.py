"""Models read under other models' attention: data/measured/carried.csv, of the runs of data/sweeps/carried.yml.

`python -m benchmarks --carried [sst ...]` trains what is not cached. By corpus, reader (the encoder that reads) and
source (whose weights): accuracy, tuned and auc (`score`) on the whole test set, documents of one word left out, means
of five seeds; each beyond own and beyond uniform weights, with intervals.
"""

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from attn_core.documents import Documents
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


def write(*corpora: str) -> None:
    """Make the rows of all data sets anew, or of some."""
    runs = read_grid(DATA / "sweeps" / "carried.yml")
    for corpus in corpora or dict.fromkeys(run.corpus for run in runs):
        rows = carried([run for run in runs if run.corpus == corpus])
        put("carried.csv", pd.DataFrame(rows), "corpus")


def carried(runs: list[Run]) -> list[dict]:
    """Rows of a data set: every encoder as a reader under every kind of weights."""
    splits = inputs_of(runs[0])[0].splits
    texts = {
        name: splits[name].take(splits[name].lengths > 3) for name in ("dev", "test")
    }  # two words at least
    models = {(run.encoder, run.seed): read_all(run, texts) for run in runs}
    size = 1 + int(max(documents.ids.max() for documents in splits.values()))
    rare = rarity(word_counts(splits["train"], size))
    encoders = list(dict.fromkeys(run.encoder for run in runs))
    seeds = list(dict.fromkeys(run.seed for run in runs))
    rows = []
    for reader in encoders:
        scores = []
        for seed, another in zip(seeds, [*seeds[1:], seeds[0]], strict=True):
            kinds = {encoder: models[encoder, seed] for encoder in encoders}
            kinds["another seed"] = models[reader, another]
            scores.append(of_reader(kinds, reader, texts, rare))
        for source in scores[0]:
            about = {"corpus": runs[0].corpus, "reader": reader, "source": source}
            size = {"n_seeds": len(seeds), "documents": len(texts["test"])}
            rows.append(about | beside(scores, source, reader) | size)
    return rows


def of_reader(
    kinds: dict[str, dict[str, Traces]],
    reader: str,
    texts: dict[str, Documents],
    rare: np.ndarray,
) -> dict[str, dict]:
    """Kind of weights -> `score` of a reader under these on the test texts, its threshold chosen on dev."""
    dev, test = (
        under_weights(
            kinds[reader][split],
            {name: lent[split].attention for name, lent in kinds.items()},
            rare[texts[split].ids[texts[split].inner]],
        )
        for split in ("dev", "test")
    )
    labels = texts["dev"].labels, texts["test"].labels
    return {source: score(dev[source], test[source], *labels) for source in test}


def under_weights(
    traces: Traces,
    weights: dict[str, np.ndarray],
    rare: np.ndarray,
) -> dict[str, np.ndarray]:
    """Kind of weights -> logits (draws, D) of a reader under these weights (T,), permuted, rare and uniform ones.

    rare: of each word (T,)."""
    weights = weights | {
        "rarity": rare / totals(rare, traces.offsets)[traces.owner],
        "uniform": 1 / traces.lengths[traces.owner],
    }
    logits = {name: traces.logits_under(values)[None, :, 0] for name, values in weights.items()}
    orders = [permuted_weights(traces, draw).logits[:, 0] for draw in range(ORDERS)]
    return logits | {"permuted": np.stack(orders)}


def read_all(run: Run, texts: dict[str, Documents]) -> dict[str, Traces]:
    """A run's attention and contributions on each split; it is trained where its weights are not cached."""
    model = trained_model(run, weights_of(run))
    return {split: forward(model, documents) for split, documents in texts.items()}


def score(
    dev: np.ndarray,
    test: np.ndarray,
    dev_label: np.ndarray,
    label: np.ndarray,
) -> dict[str, np.ndarray]:
    """Of logits (K, D) under one kind of weights, means over K orders: accuracy (D,), of decisions at 0; tuned (D,),
    at the threshold that is most accurate on dev; auc."""
    thresholds = np.array([best_threshold(order, dev_label) for order in dev])
    return {
        "accuracy": ((test > 0) == label).mean(axis=0),
        "tuned": ((test > thresholds[:, None]) == label).mean(axis=0),
        "auc": np.mean([roc_auc_score(label, order) for order in test]),
    }


def best_threshold(logit: np.ndarray, label: np.ndarray) -> float:
    """The most accurate threshold between two neighbouring logits, or beside all of them; the middle one of several."""
    order = np.sort(logit)
    thresholds = np.concatenate([[order[0] - 1], (order[1:] + order[:-1]) / 2, [order[-1] + 1]])
    right = ((logit > thresholds[:, None]) == label).mean(axis=1)
    best = np.flatnonzero(right == right.max())
    return float(thresholds[best[len(best) // 2]])


def beside(
    scores: list[dict[str, dict[str, np.ndarray]]],
    source: str,
    reader: str,
) -> dict[str, float]:
    """Means over seeds under a kind of weights, and what they are more than under own and under uniform weights, with
    95 % intervals: over seeds and documents, of the AUC over seeds."""
    row = {}
    for name in ("accuracy", "tuned", "auc"):
        interval = seed_interval if name == "auc" else crossed_interval
        values = np.array([of_seed[source][name] for of_seed in scores])
        row[name] = values.mean()
        for against, key in (("own", reader), ("uniform", "uniform")):
            difference = values - np.array([of_seed[key][name] for of_seed in scores])
            low, high = (0.0, 0.0) if source == key else interval(difference)
            row[f"{name}_beyond_{against}"] = difference.mean()
            row[f"{name}_{against}_low"] = low
            row[f"{name}_{against}_high"] = high
    return row
