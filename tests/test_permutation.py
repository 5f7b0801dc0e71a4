"""Permuted attention: a loop twin, draws, independence of chunks."""

from functools import partial

import numpy as np
import plain
import pytest
from conftest import KINDS, toy_traces
from scipy.stats import chisquare, kstest

from attn_core.experiments import draws as random
from attn_core.experiments.permutation import permutation

LENGTHS = (1, 2, 3, 5, 5, 8, 20)


@pytest.mark.parametrize("make", [*KINDS.values(), partial(toy_traces, classes=2)])
def test_equals_the_loop(make):
    traces = make(LENGTHS)
    found = permutation(traces, 7, seed=3)
    for row, _, attention, _ in plain.documents(traces):
        order = random.permutations(3, "permutation", traces.doc_id[[row]], len(attention), 7)[0]
        expected = np.median(plain.moved(traces, row, attention[order])), attention.max()
        assert found.loc[row, ["median_change", "max_attention"]].tolist() == pytest.approx(
            expected, abs=1e-14
        )


def test_draws_follow_the_seed():
    first, second = (permutation(toy_traces(LENGTHS), seed=seed)["median_change"] for seed in (1, 2))
    assert not first.equals(second)


def test_draws_are_uniform_permutations():
    """All six orders of three tokens equally often."""
    order = random.permutations(0, "permutation", np.arange(200), 3, 100).reshape(-1, 3)
    assert (np.sort(order, axis=1) == np.arange(3)).all()
    counts = np.unique(order, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert chisquare(counts).pvalue > 0.0001


def test_purposes_documents_and_repetitions_have_streams_of_their_own():
    drawn = [random.uniforms(0, name, np.arange(2), np.arange(3) * 50, 2) for name in random.PURPOSES]
    assert len(np.unique(drawn)) == 200 * len(random.PURPOSES)


@pytest.mark.parametrize(("draw", "law"), [(random.uniforms, "uniform"), (random.normals, "norm")])
def test_numbers_follow_their_law_and_are_not_correlated(draw, law):
    """Neither tokens of a document nor repetitions; 0.12 are 4.5 standard errors."""
    drawn = draw(1, "starts", np.arange(500), np.arange(501) * 20, 4)
    assert kstest(drawn.ravel(), law).pvalue > 0.1
    assert np.abs(np.corrcoef(drawn.reshape(-1, 20).T) - np.eye(20)).max() < 0.12
    assert np.abs(np.corrcoef(drawn) - np.eye(4)).max() < 0.05
