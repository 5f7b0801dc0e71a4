"""One word alone: agreement, invariance, uniform weights, the permutation test's closed form, against plain forms."""

from itertools import permutations, product

import numpy as np
import pytest
from conftest import one, toy_pairs, toy_traces
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import documents, output_under

from attn_core.traces import decisions, sigmoid
from attn_lab.more.single_state import elsewhere, median_change, single_state_agreement


def decides(logits):
    return int(logits[0] > 0) if len(logits) == 1 else int(np.argmax(logits))


@pytest.mark.parametrize("classes", [1, 3])
def test_words_of_other_texts(classes):
    traces = toy_traces(lengths=(1, 2, 5, 8), seed=classes, classes=classes)
    alone = [decides(token) for token in traces.bias + traces.contribution.astype(float)]
    for d, found in enumerate(elsewhere(traces)):
        others = np.array(alone)[traces.owner != d]
        assert found == pytest.approx(np.mean(others == traces.predicted[d]))


def test_by_hand():
    """Bias 0, contributions 1, 1, -3 and weights 0.5, 0.3, 0.2: the logit is 0.2, two of three tokens agree."""
    row = single_state_agreement(one([0.5, 0.3, 0.2], [1.0, 1.0, -3.0])).iloc[0]
    assert row["single_state_agreement"] == pytest.approx(2 / 3)
    assert row["attention_invariant"] == 0
    assert row["flips_under_uniform"] == 1
    row = single_state_agreement(one([0.5, 0.3, 0.2], [1.0, 2.0, 0.5])).iloc[0]
    assert (row["single_state_agreement"], row["attention_invariant"], row["flips_under_uniform"]) == (
        1,
        1,
        0,
    )
    assert single_state_agreement(toy_traces(classes=3))["permutation_expected"].isna().all()


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 10_000))
def test_locked_is_what_a_grid_of_all_attentions_says(n, classes, seed):
    """Weights in steps of a twentieth: none flips a locked document; of another, a token alone does."""
    traces = toy_traces(lengths=(n,), seed=seed, classes=classes)
    ((_, _, _, c),), b = documents(traces), traces.bias
    grid = [np.array(w) / 20 for w in product(range(21), repeat=n) if sum(w) == 20]
    own = decisions(traces.logits)[0]
    assert single_state_agreement(traces)["attention_invariant"].iloc[0] == all(
        decides(b + w @ c) == own for w in grid
    )


def test_pairs_are_read_by_their_network_and_never_called_locked():
    traces = toy_pairs(lengths=(2, 5, 7), seed=3)
    found = single_state_agreement(traces)
    assert found["attention_invariant"].isna().all()
    assert found["permutation_expected"].isna().all()
    for d, n in enumerate(traces.lengths):
        alone = [output_under(traces, d, weights).argmax() == traces.predicted[d] for weights in np.eye(n)]
        assert found["single_state_agreement"].iloc[d] == pytest.approx(np.mean(alone))


@pytest.mark.parametrize("n", range(2, 8))
def test_mean_and_variance_are_exact_over_all_permutations(n):
    traces = toy_traces(lengths=(n,), seed=n)
    ((_, _, a, c),), b = documents(traces), traces.bias
    logits = np.array([b[0] + a[list(order)] @ c[:, 0] for order in permutations(range(n))])
    expected = median_change(logits.mean(keepdims=True), logits.std(keepdims=True), traces.p)
    np.testing.assert_allclose(single_state_agreement(traces)["permutation_expected"], expected, rtol=1e-9)


def test_the_median_is_that_of_a_normal():
    mean, deviation, p = np.array([0.3, -2.0, 4.0]), np.array([0.8, 0.1, 2.0]), np.array([0.9, 0.2, 0.5])
    drawn = np.random.default_rng(0).normal(size=(400_000, 1)) * deviation + mean
    change = np.abs(sigmoid(drawn) - p)
    np.testing.assert_allclose(median_change(mean, deviation, p), np.median(change, axis=0), atol=3e-3)
    alone = median_change(np.array([0.3]), np.zeros(1), np.array([0.9]))
    assert alone == pytest.approx(0.9 - sigmoid(0.3))
