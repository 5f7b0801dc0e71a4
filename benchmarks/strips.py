"""The book's sentences in many models: the strips of heat maps in data/examples."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd

from attn_core.documents import Documents
from attn_core.experiments.optimum import exact, expand
from attn_core.traces import sigmoid
from attn_lab.data import encode
from attn_lab.data.arrays import to_ids
from attn_lab.data.cleaning import clean_typed
from attn_lab.runs.compute import FAMILIES, weights_of
from attn_lab.runs.run import SEEDS, Run
from attn_lab.runs.sentence import EPSILON
from benchmarks.measured import DATA

EXAMPLES = DATA / "examples"


def wanted() -> list[tuple[str, Run]]:
    """(kind, run) of every model shown, the one that the others are compared with first."""
    models = []
    for kind, attention in (("learned", "tanh"), ("uniform", "uniform")):
        for encoder in ("lstm", "average"):
            for seed in SEEDS[:5]:
                models.append((kind, Run("sst", encoder, attention, seed)))
    _, first = models[0]
    strength = {"divergence": 2e-3, "epochs": 40}
    return [*models, ("adversary", replace(first, base=first, **strength))]


def make_strips() -> None:
    """Write strips.json beside sentences.csv: words, and of each model weights (thousandths) and p a sentence.

    For each BiLSTM with learned attention also 'optimal': the exact attention farthest from its own with p within
    EPSILON. Models whose weights are not cached are trained.
    """
    words = [clean_typed(text) for text in pd.read_csv(EXAMPLES / "sentences.csv")["text"]]
    data = encode("sst")
    ids, offsets = to_ids(words, data.vocabulary)
    zeros = np.zeros(len(words), np.int64)
    data = replace(data, splits={"test": Documents(ids, offsets, labels=zeros, doc_ids=zeros)})
    models = []
    for kind, run in wanted():
        traces = FAMILIES[run.family].read(run, weights_of(run), data, False)
        shown = [(kind, traces.attention, traces.p)]
        if kind == "learned" and run.encoder == "lstm":
            far = expand(traces, exact(traces, EPSILON))
            shown.append(("optimal", far, sigmoid(traces.logits_under(far)[:, 0])))
        for name, attention, p in shown:
            by_sentence = np.split(np.rint(1000 * attention).astype(int), traces.offsets[1:-1])
            model = {"encoder": run.encoder, "kind": name, "seed": run.seed, "key": run.key}
            model |= {
                "p": np.round(p, 3).tolist(),
                "a": [weights.tolist() for weights in by_sentence],
            }
            models.append(model)
    target = EXAMPLES / "strips.json"
    lines = ",\n".join(json.dumps(model, separators=(",", ":")) for model in models)
    target.write_text(
        f'{{"sentences": {json.dumps(words)},\n"models": [\n{lines}\n]}}\n', encoding="utf-8"
    )
    print(target)
