"""The core by itself: from arrays to the papers' tests, with every other package of the repository out of reach."""

import subprocess
import sys

import pytest

ALONE = """
import sys

for package in ("attn_lab", "attn_book", "attn_build"):
    sys.modules[package] = None

import numpy as np
import torch

from attn_core.documents import Documents
from attn_core.experiments import adversarial, correlation, optimum, permutation, removal, search, single
from attn_core.models import classifier, hierarchical
from attn_core.tracing import trace
from attn_core.training import imitate, jain, serrano

rng = np.random.default_rng(0)


def texts(number):
    lengths = rng.integers(4, 9, number)
    offsets = np.concatenate([[0], np.cumsum(lengths + 2)])
    labels = rng.integers(0, 2, number)
    ids = rng.integers(6, 30, offsets[-1])
    ids[offsets[:-1]] = 2
    ids[offsets[1:] - 1] = 3
    ids[offsets[:-1] + 1] = 4 + labels  # the first word decides
    return Documents(ids, offsets, labels, np.arange(number))


splits = {name: texts(number) for name, number in (("train", 200), ("dev", 50), ("test", 50))}
vectors = rng.normal(size=(30, 12)).astype(np.float32)
vectors[0] = 0
torch.manual_seed(0)
model = classifier.build("lstm", "tanh", vectors, hidden=8)
trained = jain.JainWallace(epochs=8, learning_rate=0.02).train(model, splits, seed=10, progress=False)
best = classifier.from_arrays("lstm", "tanh", trained.weights["dev"])
"""

TESTS = """
traces = trace(best, splits["test"], progress=False)
assert (traces.predicted == traces.label).mean() > 0.9
adversaries = search.search(traces, k=2, steps=20)
found = [correlation.correlation(traces), permutation.permutation(traces), single.single(traces)]
found += [adversarial.adversarial(traces, 0.05, adversaries), removal.removals(traces), optimum.exact(traces, 0.05)]
assert [len(table) for table in found] == [50] * 6
"""

OTHERS = """
traces = {name: trace(best, documents, progress=False) for name, documents in splits.items()}
given = {name: each.attention.astype(np.float32) for name, each in traces.items()}
model = classifier.build("average", "uniform", vectors)
assert jain.JainWallace(epochs=1).train(model, splits, seed=10, imposed=given, progress=False).history
model = classifier.build("average", "tanh", vectors)
assert imitate.Adversary(epochs=1).train(model, splits, seed=10, target=traces, progress=False).history
model = hierarchical.build("flan_rnn", vectors, 2)
assert serrano.SerranoSmith(epochs=1).train(model, splits, seed=10, progress=False).history
"""


@pytest.mark.parametrize("code", [TESTS, OTHERS], ids=["a BiLSTM and the tests", "the other recipes"])
def test_the_core_trains_traces_and_tests_from_arrays_alone(code):
    done = subprocess.run([sys.executable, "-c", ALONE + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
