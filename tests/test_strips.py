"""The book's sentences in many models: what is stored, and how it is made."""

import json
from itertools import pairwise

import numpy as np

from attn_lab.runs import sentence
from attn_lab.runs.store import archive_folder
from benchmarks import strips

STORED = json.loads((archive_folder().parent / "examples" / "strips.json").read_text())


def test_what_is_stored():
    keys = {
        (run.encoder, "adversary" if run.family == "adversary" else run.attention, run.seed): run.key
        for _, run in strips.wanted()
    }
    for model in STORED["models"]:
        attention = {"learned": "tanh", "optimal": "tanh"}.get(model["kind"], model["kind"])
        assert model["key"] == keys[model["encoder"], attention, model["seed"]]
        for words, shares, p in zip(STORED["sentences"], model["a"], model["p"], strict=True):
            assert len(words) == len(shares)
            assert abs(sum(shares) - 1000) < len(words)
            assert 0 <= p <= 1
            assert model["kind"] != "optimal" or np.count_nonzero(shares) <= 2
    first = STORED["models"][0]
    assert (first["encoder"], first["kind"], first["seed"]) == ("lstm", "learned", 10)


def test_the_farthest_keeps_the_output():
    for own, far in pairwise(STORED["models"]):
        if far["kind"] == "optimal":
            assert own["seed"] == far["seed"]
            assert np.abs(np.subtract(own["p"], far["p"])).max() <= sentence.EPSILON + 1e-3
