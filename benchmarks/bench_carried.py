"""Models read under other models' attention: data/measured/carried.csv, of the runs of data/sweeps/carried.yml.

`python -m benchmarks --carried [sst ...]` trains what is not cached. By corpus, reader (the encoder that reads) and
source (whose weights): accuracy on the whole test set, documents of one word left out, mean of five seeds; beyond_own
and beyond_equal: what that is more than under the reader's own weights and under equal ones, with intervals over
seeds and documents.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from attn_archive.sweep import read_grid
from attn_core.compute import inputs_of, weights_of
from attn_core.corpora.documents import Documents
from attn_core.experiments.single import over_deals
from attn_core.families import trained_model
from attn_core.measures import crossed_interval
from attn_core.run import Run
from attn_core.traces import Traces, decisions, totals
from attn_core.tracing import forward

FILE = "measured/carried.csv"


def write(folder: Path, corpora: Iterable[str] = ()) -> pd.DataFrame:
    """Make the table anew; of some data sets alone into the table that there is."""
    runs = read_grid(folder / "sweeps" / "carried.yml")
    path = folder / FILE
    for corpus in list(corpora) or dict.fromkeys(run.corpus for run in runs):
        rows = pd.DataFrame(carried([run for run in runs if run.corpus == corpus]))
        if path.is_file():
            rows = pd.concat([pd.read_csv(path).query("corpus != @corpus"), rows])
        rows.to_csv(path, index=False, float_format="%.5g")
    return pd.read_csv(path)


def carried(runs: list[Run]) -> list[dict]:
    """Rows of a data set: every encoder as a reader under every kind of weights."""
    data, _, _ = inputs_of(runs[0])
    test = data.splits["test"]
    test = test.take(np.flatnonzero(test.lengths > 3))  # two words at least, between START and END
    models = {}
    for run in runs:
        model = trained_model(run, weights_of(run))
        models[run.encoder, run.seed] = forward(model, test)
    encoders = list(dict.fromkeys(run.encoder for run in runs))
    seeds = list(dict.fromkeys(run.seed for run in runs))
    rare = rarity(data.splits["train"], test)

    rows = []
    for reader in encoders:
        right = []
        for seed, other_seed in zip(seeds, [*seeds[1:], seeds[0]], strict=True):
            read = models[reader, seed]
            lengths = np.repeat(read.lengths, read.lengths)
            weights = {encoder: models[encoder, seed].attention for encoder in encoders}
            weights["another seed"] = models[reader, other_seed].attention
            weights["rarity"] = rare / totals(rare, read.offsets)[read.owner]
            weights["equal"] = 1 / lengths
            of_seed = {source: is_right(read, values) for source, values in weights.items()}
            of_seed["dealt"] = over_deals(read, lambda dealt: is_right(dealt, dealt.attention), seed)
            right.append(of_seed)
        for source in right[0]:
            values = np.array([of_seed[source] for of_seed in right])  # (S, D)
            row = {"corpus": runs[0].corpus, "reader": reader, "source": source, "accuracy": values.mean()}
            for name, beside in (("own", reader), ("equal", "equal")):
                difference = values - np.array([of_seed[beside] for of_seed in right])
                low, high = crossed_interval(difference) if source != beside else (0.0, 0.0)
                row |= {f"beyond_{name}": difference.mean(), f"{name}_low": low, f"{name}_high": high}
            rows.append(row | {"n_seeds": len(seeds), "documents": len(test)})
    return rows


def is_right(traces: Traces, attention: np.ndarray) -> np.ndarray:
    """Whether the decision (D,) under an attention (T,) is the label: 0 or 1."""
    return (decisions(traces.logits_under(attention)) == traces.label).astype(float)


def rarity(train: Documents, test: Documents) -> np.ndarray:
    """Inverse document frequency (T,) of the test set's words, from the training texts; smoothed, above 0."""
    document = np.repeat(np.arange(len(train)), train.lengths)
    size = int(max(train.ids.max(), test.ids.max())) + 1
    word, count = np.unique(np.unique(np.stack([train.ids, document]), axis=1)[0], return_counts=True)
    frequency = np.zeros(size)
    frequency[word] = count
    return np.log((1 + len(train)) / (1 + frequency))[test.ids[test.inner]] + 1
