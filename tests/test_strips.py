"""The book's sentences in many models: what is stored, and how it is made."""

import json
from itertools import pairwise

import numpy as np
import pytest

from attn_lab.runs import sentence
from attn_lab.runs.store import archive_folder
from benchmarks import strips

STORED = json.loads((archive_folder().parent / "examples" / "strips.json").read_text())
OWN = [model for model in STORED["models"] if model["kind"] != "optimal"]


def test_every_model_that_is_wanted_is_stored():
    assert [(model["kind"], model["key"]) for model in OWN] == [
        (kind, run.key) for kind, run in strips.wanted()
    ]


@pytest.mark.parametrize("model", STORED["models"], ids=lambda model: f"{model['kind']} {model['key']}")
def test_weights_are_thousandths_of_each_word(model):
    assert [len(shares) for shares in model["a"]] == [len(words) for words in STORED["sentences"]]
    assert all(abs(sum(shares) - 1000) < len(shares) for shares in model["a"])
    assert all(0 <= p <= 1 for p in model["p"])
    encoder, _, seed = model["key"].split("-")[1:4]
    assert (encoder, int(seed)) == (model["encoder"], model["seed"])


def test_the_farthest_keeps_the_output():
    pairs = [pair for pair in pairwise(STORED["models"]) if pair[1]["kind"] == "optimal"]
    assert len(pairs) == 5
    for own, far in pairs:
        assert own["key"] == far["key"]
        assert np.abs(np.subtract(own["p"], far["p"])).max() <= sentence.EPSILON + 1e-3
        assert max(map(np.count_nonzero, far["a"])) <= 2
