"""Adversarial attention: the exact optimum against grids and random points; its yardsticks."""

import itertools
from dataclasses import replace

import numpy as np
import plain
import pytest
from conftest import one, refused, toy_pairs, toy_traces

from attn_core.experiments.adversarial import adversarial, ceilings, mirrored
from attn_core.experiments.optimum import exact, expand
from attn_core.measures import LN2, jsd, jsd_ragged
from attn_core.traces import sigmoid
from attn_lab.more.best_permutation import best_permutation

LENGTHS = (1, 2, 3, 5, 5, 8, 13, 30)
EPSILONS = (0.0, 1e-9, 0.01, 0.05, 0.3, 1.0)


# The exact optimum


def test_exact_by_hand():
    """Attention (0.2, 0.5, 0.3), s (-2, 1, 3), epsilon 0: z = 1; token 2 alone or 0.4 / 0.6 on tokens 1 and 3."""
    traces = one([0.2, 0.5, 0.3], [-2, 1, 3])
    row = exact(traces, 0.0).iloc[0]
    assert (row["i"], row["j"]) == (0, 2)
    assert row["weight"] == pytest.approx(0.4, abs=1e-6)
    assert row["jsd_exact"] == pytest.approx(jsd([0.4, 0, 0.6], [0.2, 0.5, 0.3]), abs=1e-6)
    assert row["jsd_exact"] > jsd([0, 1, 0], [0.2, 0.5, 0.3])
    assert row["tvd_exact"] < 1e-9
    assert expand(traces, exact(traces, 0.0)) == pytest.approx([0.4, 0, 0.6], abs=1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_exact_equals_all_vertices(epsilon):
    traces = toy_traces(LENGTHS, seed=3)
    table = exact(traces, epsilon)
    weights = expand(traces, table)
    np.testing.assert_allclose(table["jsd_exact"], plain.exact(traces, epsilon), atol=1e-12)
    np.testing.assert_allclose(
        jsd_ragged(weights, traces.attention, traces.offsets), table["jsd_exact"], atol=1e-12
    )
    np.testing.assert_allclose(np.add.reduceat(weights, traces.offsets[:-1]), 1)
    moved = sigmoid(traces.logits_under(weights)[:, 0]) - traces.p
    np.testing.assert_allclose(np.abs(moved), table["tvd_exact"], atol=1e-12)
    assert (table["tvd_exact"] <= epsilon + 1e-9).all()


def test_one_token_equal_contributions_and_epsilon_zero():
    assert exact(one([1.0], [3.0]), 0.01)[["jsd_exact", "tvd_exact", "i", "j"]].iloc[0].tolist() == [
        0,
        0,
        0,
        -1,
    ]
    for epsilon in (
        0.0,
        1e-12,
        1e-8,
        0.01,
    ):  # all attention gives the same output: the least attended token alone
        row = exact(one([0.5, 0.1, 0.4], [1 / 3, 1 / 3, 1 / 3], 0.1), epsilon).iloc[0]
        assert (row["i"], row["j"], row["weight"]) == (1, -1, 1)
        assert row["jsd_exact"] == pytest.approx(jsd([0, 1, 0], [0.5, 0.1, 0.4]), abs=1e-6)


def test_saturated_outputs_and_infinite_bounds():
    """p is exactly 1 in floating point: at epsilon 0 the logit would be infinite, the sum still has to stay."""
    traces = one([0.25, 0.5, 0.25], [60, 50, 40], 0.0)
    assert traces.p[0] == 1.0
    row = exact(traces, 0.0).iloc[0]
    assert row["jsd_exact"] == pytest.approx(jsd([0.5, 0, 0.5], [0.25, 0.5, 0.25]))
    assert exact(traces, 0.01)["jsd_exact"][0] == pytest.approx(
        jsd([1, 0, 0], [0.25, 0.5, 0.25])
    )  # no bound above
    assert exact(one([0.25, 0.75], [-60, -40]), 0.01)["i"][0] == 0
    low = one([0.9, 0.1], [-3.0, 3.0])
    assert exact(low, 1.0)["jsd_exact"][0] == pytest.approx(jsd([0, 1], [0.9, 0.1]))


def test_zero_attention_that_fits_reaches_the_bound():
    traces = one([0.6, 0.4, 0.0], [1.0, -1.0, 0.2])
    assert traces.attention[2] == 0
    row = exact(traces, 0.01).iloc[0]
    assert row["jsd_exact"] == pytest.approx(LN2)
    assert (row["i"], row["j"]) == (2, -1)
    pair = exact(one([0.5, 0.5, 0.0, 0.0], [0.1, -0.1, 2.0, -2.0]), 0.01).iloc[0]
    assert pair["jsd_exact"] == pytest.approx(LN2)
    assert {pair["i"], pair["j"]} == {2, 3}


def test_two_logits_are_one_and_three_are_refused():
    traces = toy_traces(LENGTHS)
    two = replace(
        traces,
        contribution=np.concatenate([traces.contribution, 2 * traces.contribution], axis=1),
        bias=np.array([1.0, 1.0 + traces.bias[0]], np.float32),
    )
    np.testing.assert_allclose(exact(two, 0.05)["jsd_exact"], exact(traces, 0.05)["jsd_exact"], atol=1e-6)
    with refused("or 3 logits"):
        exact(toy_traces((3,), classes=3), 0.05)
    with refused("not by text pairs"):
        exact(toy_pairs((3,), outputs=2), 0.05)
    with refused("between 0 and 1"):
        exact(traces, -0.1)


# Yardsticks


def test_yardsticks_by_hand(monkeypatch):
    monkeypatch.setattr("attn_core.experiments.adversarial.shuffles", lambda *_: np.array([1, 2, 0]))
    traces = one([0.6, 0.3, 0.1], [2.0, 0.0, -2.0])
    above = ceilings(traces).iloc[0]
    assert above["ceiling"] == pytest.approx(jsd([0, 0, 1], [0.6, 0.3, 0.1]))
    assert above["ceiling_permutation"] == pytest.approx(jsd([0.1, 0.3, 0.6], [0.6, 0.3, 0.1]))
    assert best_permutation(traces, 1.0)["jsd"][0] == above["ceiling_permutation"]
    assert best_permutation(traces, 1e-6)["jsd"][0] == 0  # only the model's own order keeps the output
    shuffled = one([0.6, 0.3, 0.1], [0.0, -2.0, 2.0])
    assert adversarial(traces, 1e-6, traces.attention)["jsd_shuffled"][0] == pytest.approx(
        exact(shuffled, 1e-6)["jsd_exact"][0]
    )


def test_permutations_are_never_better_than_all_of_them_and_nearly_as_good():
    """All 720 orders of 60 documents of 6 tokens: the climb is a lower bound and misses little of the mean."""
    traces = toy_traces([6] * 60, seed=2)
    orders = np.array(list(itertools.permutations(range(6))))
    for epsilon in (0.02, 0.1):
        table = best_permutation(traces, epsilon)
        truth, free = np.empty(60), np.empty(60)
        for row, _, attention, contribution in plain.documents(traces):
            permuted = attention[orders]
            p = sigmoid(permuted @ contribution[:, 0] + traces.bias[0])
            value = jsd(permuted, attention)
            truth[row], free[row] = value[np.abs(p - traces.p[row]) <= epsilon + 1e-12].max(), value.max()
        assert (table["jsd"] <= truth + 1e-12).all()
        assert table["jsd"].mean() > 0.93 * truth.mean()
        np.testing.assert_allclose(
            jsd_ragged(mirrored(traces), traces.attention, traces.offsets), free, atol=1e-12
        )
        assert (table["tvd"] <= epsilon + 1e-9).all()


@pytest.mark.parametrize("n", [66, 90])
def test_climb_of_long_documents(n):
    """Both ways of proposing swaps come close to the free maximum and stay within epsilon."""
    traces = toy_traces([n] * 4, seed=1)
    wide, narrow = best_permutation(traces, 0.3), best_permutation(traces, 0.005)
    free = jsd_ragged(mirrored(traces), traces.attention, traces.offsets)
    assert (wide["jsd"] > 0.97 * free).all()
    assert (narrow["tvd"] <= 0.005 + 1e-9).all()
    assert (narrow["jsd"] > 0.9 * free).all()
    assert (narrow["jsd"] <= free + 1e-12).all()


def test_one_token_or_two_carry_the_optimum():
    """As by hand above: two where the output is to stay, one where it may move at will."""
    traces = one([0.2, 0.5, 0.3], [-2, 1, 3])
    assert [adversarial(traces, epsilon)["n_support"][0] for epsilon in (0.0, 1.0)] == [2, 1]
