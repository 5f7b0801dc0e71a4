"""The core by itself: from arrays to the papers' tests, with every other package of the repository out of reach."""

import pytest
from conftest import python

TEXTS = """
import sys

for package in ("attn_lab", "attn_book", "attn_build"):
    sys.modules[package] = None

import numpy as np
import attn_core as ac

rng = np.random.default_rng(0)


def texts(number):
    lengths = rng.integers(4, 9, number)
    offsets = np.concatenate([[0], np.cumsum(lengths + 2)])
    labels = rng.integers(0, 2, number)
    ids = rng.integers(6, 30, offsets[-1])
    ids[offsets[:-1]] = 2
    ids[offsets[1:] - 1] = 3
    ids[offsets[:-1] + 1] = 4 + labels  # the first word decides
    return ac.Documents(ids, offsets, labels, np.arange(number))


splits = {name: texts(number) for name, number in (("train", 200), ("dev", 50), ("test", 50))}
vectors = rng.normal(size=(30, 12)).astype(np.float32)
vectors[0] = 0
"""

TESTS = """
model = ac.classifier("lstm", "tanh", vectors, hidden=8)
ac.train(model, splits, ac.JainWallace(epochs=8, learning_rate=0.02), seed=10, progress=False)
traces = ac.trace(model, splits["test"], progress=False)
assert (traces.predicted == traces.label).mean() > 0.9
weights = ac.search(traces, k=2, steps=20)
tables = [ac.correlation(traces), ac.permutation(traces), ac.select(traces, weights, 0.05), ac.optimum(traces, 0.05)]
tables += [ac.single(traces), ac.removal(traces), ac.distance(traces, traces)]
assert [len(table) for table in tables] == [50] * 7
"""

OTHERS = """
other = ac.classifier("cnn", "dot", vectors, hidden=4)
once = {"seed": 10, "progress": False}
uniform = ac.classifier("average", "uniform", vectors)
ac.train(uniform, splits, ac.JainWallace(1), imposed=ac.weights_of(other, splits), **once)
target = {name: ac.trace(other, documents, progress=False) for name, documents in splits.items()}
ac.train(ac.classifier("average", "tanh", vectors), splits, ac.Adversary(1), target=target, **once)
ac.train(ac.hierarchical("flan_rnn", vectors, 2), splits, ac.SerranoSmith(1), **once)
"""

WITHOUT_TORCH = """
traces = ac.Traces(np.arange(2), np.zeros(2), np.array([0, 2, 5]), np.zeros(5), np.ones((5, 1)), np.zeros(1))
assert len(ac.permutation(traces)) == len(ac.optimum(traces, 0.05)) == 2
assert "torch" not in sys.modules
"""


@pytest.mark.parametrize(
    "code", [TESTS, OTHERS, WITHOUT_TORCH], ids=["a BiLSTM", "other recipes", "tests, no torch"]
)
def test_the_core_trains_traces_and_tests_from_arrays_alone(code):
    python("-c", TEXTS + code)
