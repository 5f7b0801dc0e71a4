"""Every way to train, tiny and on generated texts: no number of a training changes unseen, nor the order of its draws.

golden/net.csv: of each run the length of each array of weights, every number of its history and the size of each array
of its traces. Who means to change one calls `python tests/test_net.py` and says in the commit which and why.
"""

from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import refused

from attn_core.device import threads
from attn_lab.more.minilm import MiniLM
from attn_lab.runs import families
from attn_lab.runs.compute import inputs_of
from attn_lab.runs.run import ENCODERS, GUIDES, HIERARCHICAL, Run, bases

TABLE = Path(__file__).parent / "golden" / "net.csv"
CLOSE = 1e-4
"""Of its size, how far a number may lie from the stored one. Start vectors moved by a rounding, or other instructions
of the processor, change none by more than 2e-5; one more draw before the first batch changes one by 1e-2 or more."""

TEXTS = {
    "n_train": 60,
    "n_dev": 20,
    "n_test": 12,
    "shortest": 5,
    "longest": 12,
    "fillers": 30,
    "shortest_sentence": 2,
    "longest_sentence": 4,
}
SMALL = {"corpus": "planted", "options": TEXTS, "vectors": "random-50", "epochs": 3, "batch": 16, "hidden": 8}
PAIRS = SMALL | {"corpus": "babi_1", "options": {"source": "generated"}}
BASE = SMALL | {"encoder": "average"}
ADVERSARY = SMALL | {"base": BASE | {"encoder": "lstm"}, "divergence": 1e-3}
PIECES = SMALL | {"encoder": "minilm_random", "hidden": None, "learning_rate": 1e-3}

RUNS = {f"text {name}": SMALL | {"encoder": name} for name in ENCODERS}
RUNS |= {f"text dot {name}": SMALL | {"encoder": name, "attention": "dot"} for name in ("lstm", "average")}
RUNS |= {f"pair {name}": PAIRS | {"encoder": name} for name in ("lstm", "cnn", "average")}
RUNS |= {f"pair {name}": PAIRS | {"attention": name} for name in ("dot", "uniform")}
RUNS |= {name: SMALL | {"encoder": name} for name in HIERARCHICAL}
RUNS |= {
    f"guide {name}": BASE | {"attention": "given", "guide": name, "base": BASE} for name in GUIDES if name
}
RUNS |= {
    "text uniform": SMALL | {"attention": "uniform"},
    "guide of lstm, ranks": BASE | {"attention": "given", "guide": "own", "base": SMALL, "words": "rank"},
    "positions": BASE | {"attention": "uniform", "words": "position"},
    "adversary": ADVERSARY,
    "adversary dot": ADVERSARY | {"attention": "dot", "encoder": "average", "class_weights": False},
    "context": BASE | {"context": 0.4},
    "context of values": BASE | {"context": 0.4, "mixes": "values"},
    "context of scores": BASE | {"context": 0.4, "mixes": "scores"},
    "context of pairs": PAIRS | {"encoder": "average", "context": 0.4, "mixes": "scores"},
    "tie": SMALL | {"tie": 0.5},
    "tie of pairs": PAIRS | {"tie": 0.5},
    "hide": BASE | {"hide": 0.5},
    "mask": SMALL | {"mask": 0.8},
    "mask and hide": BASE | {"mask": 0.8, "hide": 0.5, "rounding": 3},
    "rounding": SMALL | {"rounding": 2},
    "selection": SMALL | {"selection": "test", "epochs": 5},
    "no class weights": SMALL | {"class_weights": False, "options": TEXTS | {"positive": 0.3}},
    "class weights": SMALL | {"options": TEXTS | {"positive": 0.3}},
    "rate and decay": SMALL | {"learning_rate": 0.01, "decay": 0.01, "seed": 50},
    "untrained": SMALL | {"epochs": 0},
    "one epoch of half": SMALL | {"epochs": 1, "fraction": 0.5},
    "pieces": PIECES,
    "pieces uniform": PIECES | {"attention": "uniform"},
    "layer": PIECES | {"layer": 1, "base": PIECES},
    "layer of a drawn encoder": PIECES | {"layer": 2, "batch": 64},
    "cls": PIECES | {"encoder": "minilm", "attention": "cls"},
}


read_once = cache(inputs_of)


def made(run: Run):
    """(data, start vectors): of a pretrained encoder the words of the texts as if they were pieces."""
    data, matrix, _ = read_once(
        Run(run.corpus, vectors=run.vectors, options=run.options, fraction=run.fraction)
    )
    if run.family in ("pretrained", "cls"):
        return replace(data, vocabulary=(*data.vocabulary, "[MASK]")), None
    if run.family == "pair":
        few = {name: part.take(range(TEXTS[f"n_{name}"])) for name, part in data.splits.items()}
        data = replace(data, splits=few)
    return data, matrix


def fitted(run: Run):
    """(what its training leaves, its traces)."""
    data, matrix = made(run)
    weights = [fitted(base)[0].weights[base.selection] for base in bases(run)]
    with threads(1), torch.random.fork_rng(), small_transformers(data):
        torch.manual_seed(run.seed)
        trained = families.fit(run, data, matrix, False, *weights)
        read = families.FAMILIES[run.family].read
        return trained, read(run, trained.weights[run.selection], data, False, *weights)


@contextmanager
def small_transformers(data):
    """Two layers of eight numbers a piece, drawn in the place of what is downloaded."""
    shape = {"words": len(data.vocabulary), "width": 8, "heads": 2, "depth": 2}
    drawn = mock.patch.object(MiniLM, "load", lambda encoder, file: encoder.draw())
    with mock.patch.dict(families.SHAPE, shape), mock.patch("attn_lab.data.pieces.folder", Path), drawn:
        yield


def sizes(fields: dict) -> pd.Series:
    """The numbers of a run by name; of a self-attention's offsets none, for those of its keys have no gradient."""
    run = Run(**fields)
    trained, traces = fitted(run)
    arrays = {
        name: array for name, array in trained.weights[run.selection].items() if "in_proj_bias" not in name
    }
    if isinstance(traces, pd.DataFrame):
        arrays |= dict(traces[["p", "flips_zero"]])
    else:
        arrays |= traces.present(
            "score", "contribution", "gradient", "leave_one_out", "gradient_norm", "query"
        )
    found = {name: np.sqrt(np.nansum(np.square(array, dtype=float))) for name, array in arrays.items()}
    for row in trained.history:
        found |= {f"{name} {row['epoch']}": value for name, value in row.items() if name != "epoch"}
    return pd.Series(found, dtype=float)


@pytest.mark.parametrize("name", RUNS)
def test_a_training_gives_what_it_gave(name, monkeypatch):
    monkeypatch.setenv("ATTN_DEVICE", "cpu")
    frozen = pd.read_csv(TABLE, index_col=["run", "number"])["value"][name]
    pd.testing.assert_series_equal(sizes(RUNS[name]), frozen, rtol=CLOSE, atol=1e-9, check_names=False)


MINILM = {"corpus": "sst", "encoder": "minilm"}
PLANTED = {"corpus": "planted", "encoder": "average"}
GUIDED = PLANTED | {"attention": "given", "guide": "own", "base": PLANTED}
IMITATING = PLANTED | {"base": PLANTED, "divergence": 0.0}
RULES = [
    ("a pretrained encoder reads single texts", MINILM | {"corpus": "snli"}),
    ("attention 'tanh', 'uniform' or 'cls'", MINILM | {"attention": "dot"}),
    ("'cls' goes with encoder minilm", MINILM | {"attention": "cls", "encoder": "lstm"}),
    ("keeps its last epoch, selection 'dev'", MINILM | {"selection": "test"}),
    ("layer goes with a pretrained encoder", MINILM | {"encoder": "lstm", "layer": 2}),
    ("layer .* is one of its own", MINILM | {"layer": 7}),
    (
        "a trained encoder of the same kind",
        MINILM | {"layer": 2, "base": MINILM | {"encoder": "minilm_random"}},
    ),
    ("a trained encoder of the same kind", MINILM | {"layer": 2, "base": MINILM | {"layer": 2}}),
    ("hide goes with planted texts", PLANTED | {"corpus": "sst", "hide": 1.0}),
    ("an attention that is learned", PLANTED | {"hide": 1.0, "attention": "uniform"}),
    ("and not with tie", {"corpus": "planted", "hide": 1.0, "tie": 1.0}),
    ("HAN and FLAN models have attention 'tanh'", PLANTED | {"encoder": "flan_conv", "attention": "dot"}),
    ("HAN and FLAN models have selection 'dev'", PLANTED | {"encoder": "han_rnn", "selection": "test"}),
    ("the same data", GUIDED | {"options": {"n_test": 8}}),
    ("single texts, of a guided run also an adversary", GUIDED | {"base": GUIDED}),
    ("a model of single texts", IMITATING | {"base": IMITATING}),
    ("is of the average encoder", GUIDED | {"encoder": "lstm"}),
    ("attention 'given' or 'uniform'", PLANTED | {"words": "rank"}),
    ("an adversary learns its attention", IMITATING | {"attention": "uniform"}),
]


@pytest.mark.parametrize(("rule", "fields"), RULES)
def test_fields_that_do_not_go_together_are_refused(rule, fields):
    with refused(rule):
        Run(**fields)


if __name__ == "__main__":
    table = pd.concat({name: sizes(fields) for name, fields in RUNS.items()}, names=["run", "number"])
    table.rename("value").to_csv(TABLE, float_format="%.9g")
