"""Models read under other models' attention: data/measured/carried.csv, of the runs of data/sweeps/carried.yml.

`python -m benchmarks --carried [sst ...]` trains what is not cached. By corpus, reader (the encoder that reads) and
source (whose weights): accuracy, tuned and auc (`score`) on the whole test set, documents of one word left out, means
of five seeds; each beyond own and beyond uniform weights, with intervals.
"""

from functools import partial

import numpy as np
import pandas as pd
from numpy import ndarray
from sklearn.metrics import roc_auc_score

from attn_core.experiments.single import permuted_weights
from attn_core.traces import Arrays, Traces, totals
from attn_core.tracing import forward
from attn_lab.runs.compute import inputs_of
from attn_lab.runs.controls import rarity, word_counts
from attn_lab.runs.run import Run
from attn_lab.runs.sweep import read_grid
from benchmarks.bench_compared import network
from benchmarks.measured import DATA, mean_of, put

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
    texts = [
        splits[name].take(splits[name].lengths > 3) for name in ("dev", "test")
    ]  # two words at least
    models = {
        (run.encoder, run.seed): [*map(partial(forward, network(run)), texts)] for run in runs
    }
    size = 1 + int(max(documents.ids.max() for documents in splits.values()))
    by_word = rarity(word_counts(splits["train"], size))
    rare = [by_word[documents.ids[documents.inner]] for documents in texts]
    encoders, seeds = (list(dict.fromkeys(names)) for names in zip(*models, strict=True))
    rows = []
    for reader in encoders:
        scores = []
        for seed, another in zip(seeds, [*seeds[1:], seeds[0]], strict=True):
            lenders = {encoder: models[encoder, seed] for encoder in encoders}
            lenders["another seed"] = models[reader, another]
            scores.append(of_reader(models[reader, seed], lenders, rare))
        for source in scores[0]:
            about = {"corpus": runs[0].corpus, "reader": reader, "source": source}
            size = {"n_seeds": len(seeds), "documents": len(texts[1])}
            rows.append(about | beside(scores, source, reader) | size)
    return rows


def of_reader(
    reader: list[Traces],
    lenders: dict[str, list[Traces]],
    rare: list[ndarray],
) -> dict[str, Arrays]:
    """Kind of weights -> `score` of a reader under these on the test texts, its threshold chosen on dev. Of dev and of
    test: the reader's traces, those of the models that lend their weights, the rarity of each word (T,)."""
    split = []
    for traces, values, *lent in zip(reader, rare, *lenders.values(), strict=True):
        weights = {name: model.attention for name, model in zip(lenders, lent, strict=True)}
        weights["rarity"] = values / totals(values, traces.offsets)[traces.owner]
        weights["uniform"] = 1 / traces.lengths[traces.owner]
        logits = {name: traces.logits_under(each).T for name, each in weights.items()}
        orders = [permuted_weights(traces, draw).logits[:, 0] for draw in range(ORDERS)]
        split.append(logits | {"permuted": np.stack(orders)})  # (draws, D) each
    dev, test = split
    labels = [traces.label for traces in reader]
    return {source: score(dev[source], test[source], *labels) for source in test}


def score(
    dev: ndarray,
    test: ndarray,
    dev_label: ndarray,
    label: ndarray,
) -> Arrays:
    """Of logits (K, D) under one kind of weights, means over K orders: accuracy (D,), of decisions at 0; tuned (D,),
    at the threshold that is most accurate on dev; auc."""
    thresholds = np.array([best_threshold(order, dev_label) for order in dev])
    return {
        "accuracy": ((test > 0) == label).mean(axis=0),
        "tuned": ((test > thresholds[:, None]) == label).mean(axis=0),
        "auc": np.mean([roc_auc_score(label, order) for order in test]),
    }


def best_threshold(logit: ndarray, label: ndarray) -> float:
    """The most accurate threshold between two neighbouring logits, or beside all of them; the middle one of several."""
    order = np.sort([logit.min() - 2, *logit, logit.max() + 2])
    thresholds = (order[1:] + order[:-1]) / 2
    right = ((logit > thresholds[:, None]) == label).mean(axis=1)
    best = np.flatnonzero(right == right.max())
    return float(thresholds[best[len(best) // 2]])


def beside(scores: list[dict[str, Arrays]], source: str, reader: str) -> dict[str, float]:
    """Means over seeds under a kind of weights, and what they are more than under own and under uniform weights, with
    95 % intervals: over seeds and documents, of the AUC over seeds."""
    row = {}
    for name in scores[0][source]:
        values, own, uniform = (
            np.array([of_seed[kind][name] for of_seed in scores])
            for kind in (source, reader, "uniform")
        )
        row[name] = values.mean()
        for against, base in (("own", own), ("uniform", uniform)):
            beyond = mean_of(values - base)
            row[f"{name}_beyond_{against}"] = beyond["value"]
            row[f"{name}_{against}_low"] = beyond["low"]
            row[f"{name}_{against}_high"] = beyond["high"]
    return row
