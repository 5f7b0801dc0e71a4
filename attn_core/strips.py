"""Sentences of ours in every trained SST model of which the cache has the weights: the book's strips of heat maps."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from attn_core import store
from attn_core.compute import FAMILIES
from attn_core.corpora import encode
from attn_core.corpora.documents import Documents
from attn_core.corpora.text import clean_sst, to_ids
from attn_core.errors import AttnError
from attn_core.run import SEEDS, Run

VECTORS = "ppmi-300"
EPSILON = 0.05
ADVERSARY = {"divergence": 2e-3, "epochs": 40}
"""One of the values of data/sweeps/wiegreffe-adversaries.yml."""


def wanted() -> list[tuple[str, Run]]:
    """(kind, run) of every model shown, the one that the others are compared with first."""
    of = lambda encoder, attention, seed: Run("sst", encoder, attention, seed, vectors=VECTORS)
    encoders = ("lstm", "cnn", "average", "transformer")
    found = [("learned", of(encoder, "tanh", seed)) for encoder in encoders for seed in SEEDS[:5]]
    found += [("uniform", of(encoder, "uniform", seed)) for encoder in encoders for seed in SEEDS[:5]]
    first = found[0][1]
    return [*found, ("adversary", replace(first, base=first, **ADVERSARY))]


def make(examples: Path) -> Path:
    """Write strips.json beside sentences.csv: words, and of each cached model weights (thousandths) and p a sentence.

    For each BiLSTM with learned attention also 'farthest': the exact attention farthest from its own with p within
    EPSILON. Models that are not cached are left out; AttnError where the first is.
    """
    from attn_core.experiments.adversarial import exact, expand
    from attn_core.traces import positive_probability

    words = [clean_sst(text) for text in pd.read_csv(examples / "sentences.csv")["text"]]
    data = encode("sst")
    ids, offsets = to_ids(words, data.vocabulary)
    none = np.zeros(len(words), np.int64)
    data = replace(data, splits={"test": Documents(ids, offsets, none, none)})
    models = []
    for kind, run in wanted():
        stored = store.read_weights(run.key)
        if stored is None:
            if not models:
                raise AttnError(f"no weights of {run.key} in the cache; train them: data/README.md says how")
            continue
        traces = FAMILIES[run.family].read(run, stored[0]["dev"], data, "cpu", False)
        shown = [(kind, traces.attention, traces.p)]
        if kind == "learned" and run.encoder == "lstm":
            far = expand(traces, exact(traces, EPSILON))
            shown.append(("farthest", far, positive_probability(traces.logits_under(far))))
        for name, attention, p in shown:
            shares = [np.rint(1000 * part).astype(int).tolist() for part in np.split(attention, traces.offsets[1:-1])]
            about = {"encoder": run.encoder, "kind": name, "seed": run.seed, "key": run.key}
            models.append({**about, "p": np.round(p, 3).tolist(), "a": shares})
    target = examples / "strips.json"
    lines = ",\n".join(json.dumps(model, separators=(",", ":")) for model in models)
    target.write_text(f'{{"sentences": {json.dumps(words)},\n"models": [\n{lines}\n]}}\n', encoding="utf-8")
    return target
