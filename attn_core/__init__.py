"""The models, the training, the tests and the measures of three 2019 papers on whether attention explains a model.

All of it takes arrays: it knows no corpus by name, no file and no store; those lie in attn_lab.

    documents   texts as ids, offsets and labels        models      encoders, attention, the classifier
    training    the papers' loops, with three hooks     tracing     from a trained model to traces
    traces      what is kept of a text                  experiments the papers' tests: functions of traces
    measures    TVD, JSD, scores, intervals             fast        the search, faster

What one needs first is here by name, with `splits` a mapping of 'train', 'dev' and 'test' to `Documents`:

    model = attn_core.classifier("lstm", "tanh", vectors)
    attn_core.train(model, splits, attn_core.JainWallace(), seed=10)
    traces = attn_core.trace(model, splits["test"])
    attn_core.correlation(traces)                       # Jain & Wallace, section 4.1
    attn_core.permutation(traces)                       # 4.2.1
    attn_core.search(traces)                            # 4.2.2, the authors' search
    attn_core.optimum(traces, epsilon=0.05)             # and its exact answer
    attn_core.single(traces)                            # Serrano & Smith, section 4
    attn_core.removal(traces)                           # section 5
    attn_core.distance(traces, of_another_training)     # Wiegreffe & Pinter, section 3.3
"""

# ruff: noqa: F401  (what is imported in functions is what they give)

import os

# A thread that waits for another looks 3,000 times before it sleeps. GNU's 300,000 make a training
# beside other programs over twice as slow; none, half as slow again on an idle machine. No number changes. The
# setting is read when torch is loaded, which no import of this package does before it.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")

__all__ = [
    "Adversary",
    "Documents",
    "JainWallace",
    "SerranoSmith",
    "Traces",
    "classifier",
    "correlation",
    "distance",
    "hierarchical",
    "optimum",
    "permutation",
    "removal",
    "search",
    "select",
    "single",
    "trace",
    "train",
    "weights_of",
]


def __getattr__(name: str):
    """What is here by name, imported when it is first asked for: what takes arrays alone does without torch."""
    if name not in __all__:
        raise AttributeError(f"module 'attn_core' has no attribute '{name}'")
    on_arrays = _on_arrays()
    return on_arrays[name] if name in on_arrays else _on_networks()[name]


def _on_arrays() -> dict:
    from attn_core.documents import Documents
    from attn_core.experiments.correlation import correlation
    from attn_core.experiments.distance import against as distance
    from attn_core.experiments.optimum import exact as optimum
    from attn_core.experiments.permutation import permutation
    from attn_core.experiments.removal import removals as removal
    from attn_core.experiments.search import search, select
    from attn_core.experiments.single import single
    from attn_core.traces import Traces

    return locals()


def _on_networks() -> dict:
    from attn_core.models.classifier import build as classifier
    from attn_core.models.hierarchical import build as hierarchical
    from attn_core.tracing import trace
    from attn_core.training import train, weights_of
    from attn_core.training.imitate import Adversary
    from attn_core.training.jain import JainWallace
    from attn_core.training.serrano import SerranoSmith

    return locals()
