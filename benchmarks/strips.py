"""The book's sentences in many models: the strips of heat maps in data/examples."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from attn_core.experiments.optimum import exact, expand
from attn_core.traces import sigmoid
from attn_lab.data.cleaning import clean_typed
from attn_lab.runs.run import SEEDS, Run
from attn_lab.runs.sentence import EPSILON, sentence_traces
from benchmarks.measured import DATA

EXAMPLES = DATA / "examples"


def wanted() -> list[tuple[str, Run]]:
    """(kind, run) of every model shown, the one that the others are compared with first."""
    kinds = (("learned", "tanh"), ("uniform", "uniform"))
    models = [
        (kind, Run("sst", encoder, attention, seed))
        for (kind, attention), encoder, seed in product(kinds, ("lstm", "average"), SEEDS[:5])
    ]
    _, first = models[0]
    adversary = replace(first, base=first, divergence=2e-3, epochs=40)
    return [*models, ("adversary", adversary)]


def make_strips() -> None:
    """Write strips.json beside sentences.csv: words, and of each model weights (thousandths) and p a sentence.

    For each BiLSTM with learned attention also 'optimal': the exact attention farthest from its own with p within
    EPSILON. Models whose weights are not cached are trained.
    """
    texts = list(pd.read_csv(EXAMPLES / "sentences.csv")["text"])
    words = [clean_typed(text) for text in texts]
    models = []
    for kind, run in wanted():
        read = [sentence_traces(text, run)[2] for text in texts]
        shown = {kind: [traces.attention for traces in read]}
        if kind == "learned" and run.encoder == "lstm":
            shown["optimal"] = [expand(traces, exact(traces, EPSILON)) for traces in read]
        for name, attention in shown.items():
            pairs = zip(read, attention, strict=True)
            p = [sigmoid(traces.logits_under(weights)[0, 0]) for traces, weights in pairs]
            model = {
                "encoder": run.encoder,
                "kind": name,
                "seed": run.seed,
                "key": run.key,
                "p": np.round(p, 3).tolist(),
                "a": [np.rint(1000 * weights).astype(int).tolist() for weights in attention],
            }
            models.append(model)
    target = EXAMPLES / "strips.json"
    lines = ",\n".join(json.dumps(model, separators=(",", ":")) for model in models)
    target.write_text(
        f'{{"sentences": {json.dumps(words)},\n"models": [\n{lines}\n]}}\n', encoding="utf-8"
    )
    print(target)
