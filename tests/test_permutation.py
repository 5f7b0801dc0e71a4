"""Permuted attention: hand-worked document, loop twin, draws, independence of chunks."""

from functools import partial

import numpy as np
import pandas as pd
import plain
import pytest
from conftest import KINDS, one, toy_traces

from attn_core.experiments import draws as random
from attn_core.experiments.permutation import permutation

LENGTHS = (1, 2, 3, 5, 5, 8, 20)


def test_by_hand():
    """Weights 3/4, 1/4 on contributions 2, -2: logit 1, else -1. Of two draws none, one or both swap."""
    traces = one([0.75, 0.25], [2.0, -2.0])
    change = 1 / (1 + np.exp(-1)) - 1 / (1 + np.exp(1))
    medians = [permutation(traces, 2, seed)["median_change"][0] for seed in range(20)]
    away = np.abs(np.subtract.outer(medians, [0, change / 2, change]))
    assert away.min(axis=1).max() < 1e-7
    assert {*away.argmin(axis=1)} == {0, 1, 2}
    assert permutation(traces)["max_attention"][0] == pytest.approx(0.75, abs=1e-7)


@pytest.mark.parametrize("make", [*KINDS.values(), partial(toy_traces, classes=2)])
def test_equals_the_loop(make):
    traces = make(LENGTHS)
    drawn = [
        random.permutations(3, "permutation", traces.doc_id[[d]], n, 7)[0] for d, n in enumerate(LENGTHS)
    ]
    fast = permutation(traces, 7, seed=3)["median_change"]
    np.testing.assert_allclose(fast, plain.median_change(traces, np.concatenate(drawn, axis=1)), atol=1e-14)


def test_draws_follow_the_seed_and_do_not_depend_on_chunks(monkeypatch):
    traces = toy_traces(LENGTHS)
    table = permutation(traces, seed=1)
    assert not permutation(traces, seed=2)["median_change"].equals(table["median_change"])
    monkeypatch.setattr("attn_core.experiments.permutation.CHUNK", 1)
    pd.testing.assert_frame_equal(permutation(traces, seed=1), table)


def test_draws_are_uniform_permutations():
    """All six orders of three tokens equally often: chi-square with 5 degrees of freedom below its 0.9999 quantile."""
    order = random.permutations(0, "permutation", np.arange(200), 3, 100).reshape(-1, 3)
    assert (np.sort(order, axis=1) == np.arange(3)).all()
    counts = np.bincount(order @ np.array([9, 3, 1]), minlength=27)
    counts = counts[counts > 0]
    assert len(counts) == 6
    expected = len(order) / 6
    assert ((counts - expected) ** 2 / expected).sum() < 25.7


def test_purposes_documents_and_repetitions_have_streams_of_their_own():
    where = np.arange(2), np.arange(3) * 50, 2
    first = random.uniforms(0, "starts", *where)
    second = random.uniforms(0, "shuffle", *where)
    assert len(np.unique([first, second])) == 400


def test_uniforms_and_normals_have_the_right_moments():
    """Tokens of a document and repetitions are not correlated; 0.12 are 4.5 standard errors."""
    where = 1, "starts", np.arange(500), np.arange(501) * 20, 4
    uniform = random.uniforms(*where)
    normal = random.normals(*where)
    assert uniform.min() > 0
    assert uniform.max() < 1
    assert uniform.mean() == pytest.approx(0.5, abs=0.006)
    assert uniform.var() == pytest.approx(1 / 12, rel=0.03)
    assert normal.mean() == pytest.approx(0, abs=0.02)
    assert normal.std() == pytest.approx(1, rel=0.02)
    tokens = np.corrcoef(normal.reshape(-1, 20).T)
    assert np.abs(tokens - np.eye(20)).max() < 0.12
    repetitions = np.corrcoef(normal)
    assert np.abs(repetitions - np.eye(4)).max() < 0.05
