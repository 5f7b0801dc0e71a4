"""Attention of known quality, the tests of a text, and permuted weights, against plain definitions."""

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from conftest import one, refused, toy_traces
from plain import documents

from attn_core.experiments.correlation import correlation
from attn_core.experiments.optimum import exact
from attn_core.experiments.removal import NEVER, removals
from attn_core.experiments.single import others_flip, permuted_weights
from attn_core.traces import attending_only, decisions
from attn_lab.more import beside, known
from attn_lab.more.known import GOOD, TESTS, better, entropy, maximal_leverage, told_apart
from benchmarks import bench_tests

LENGTHS = (1, 2, 3, 5, 8, 13) * 4


@pytest.mark.parametrize("classes", [1, 2, 4])
def test_the_weight_lies_on_the_contribution_farthest_from_the_mean(classes):
    traces = toy_traces(classes=classes, lengths=LENGTHS)
    found = maximal_leverage(traces, 0.9)
    for _, _, weights, c in documents(found):
        c = c - c.mean(axis=1, keepdims=True) if classes > 1 else c
        expected = np.full(len(c), 0.1 / max(len(c) - 1, 1))
        expected[((c - c.mean(axis=0)) ** 2).sum(axis=1).argmax()] = 0.9 if len(c) > 1 else 1
        np.testing.assert_allclose(weights, expected, rtol=1e-6)
        assert len({*weights}) <= 2
    assert found.gradient is None
    assert found.leave_one_out is None
    again = maximal_leverage(found)  # what a model attends to does not enter
    assert np.allclose(again.attention, maximal_leverage(traces).attention)


def test_weights_for_the_decision_are_as_even_and_speak_most_for_it():
    """The same entropy to 1e-6; in the order of what each word says for the decision; no weights of that entropy that
    are drawn at random say more."""
    traces = toy_traces(classes=1, lengths=LENGTHS)
    good = known.decision_preserving(traces)
    assert np.abs(entropy(good.score, good) - entropy(traces.score, traces)).max() < 1e-6
    assert (good.predicted == traces.predicted).all()
    sign = np.where(traces.predicted == 1, 1, -1)
    for (_, _, weights, c), side in zip(documents(good), sign, strict=True):
        assert (np.diff(weights[np.argsort(side * c[:, 0])]) >= 0).all()
    for other in (traces, *(permuted_weights(traces, draw) for draw in range(50))):
        assert (sign * good.logits[:, 0] >= sign * other.logits[:, 0] - 1e-6).all()
    pairs = toy_traces(classes=2, lengths=LENGTHS)
    assert (known.decision_preserving(pairs).predicted == pairs.predicted).all()


def test_weights_by_deletion_are_in_proportion():
    traces = toy_traces(classes=1, lengths=(2, 4, 3))
    deletion = np.array([-0.3, 0.1, 0, 0, 0, 0, 0.2, -0.2, 0])
    found = known.by_deletion(replace(traces, leave_one_out=deletion))
    assert np.allclose(found.attention, [0.75, 0.25, 0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 0], atol=1e-8)
    with refused("no deletions"):
        known.by_deletion(replace(traces, leave_one_out=None))


def test_alone_and_beside_by_hand():
    """Two texts of two words, weight 0.9 on the first; the test asks whether it lies there, and counts a length."""
    like = toy_traces(classes=1, lengths=(2, 2))
    good = replace(like, score=np.log([0.9, 0.1, 0.9, 0.1]))
    assert better(np.array([1.0, 1, 1 + 1e-12, 0]), np.array([0.0, 2, 1, 0])).tolist() == [1, 0, 0.5, 0.5]

    def first(weights, _):
        return weights.attention[weights.offsets[:-1]] + np.array([0, 10])

    told = told_apart(good, like, first, draws=2000)
    assert told.beside.to_numpy() == pytest.approx(
        [0.75, 0.75], abs=0.04
    )  # half of the permutations change nothing: ties
    assert told.alone.mean() == pytest.approx((0.75 + 0 + 1 + 0.75) / 4, abs=0.03)
    assert told.alone.to_numpy() == pytest.approx([0.375 + 0.875 - 0.625, 0.875 + 0.375 - 0.625], abs=0.03)


def test_every_test_of_a_text_is_larger_where_attention_does_better():
    traces = toy_traces(classes=1, lengths=np.array(LENGTHS)[np.array(LENGTHS) > 1], seed=5)
    value = {name: test(traces, traces) for name, test in TESTS.items()}
    assert value["gradients"] == pytest.approx(correlation(traces).tau_attention_gradient, nan_ok=True)
    assert (value["adversaries"] == -exact(traces, 0.05).jsd_exact).all()
    steps = [removals(traces)[f"removed_{name}"] for name in ("gradient", "attention")]
    later, sooner = (step.where(step != NEVER, traces.lengths + 1) for step in steps)
    assert value["order"] == pytest.approx((later - sooner) / traces.lengths)
    assert set(GOOD) == {"leverage", "decision", "deletion"}
    assert not np.isnan(value["names"]).any()


@pytest.mark.parametrize("classes", [1, 3])
def test_the_expectation_over_r_is_the_mean_over_every_other_item(classes):
    traces = toy_traces(classes=classes, lengths=LENGTHS, seed=3)
    found = others_flip(traces)
    assert np.isnan(found[traces.lengths == 1]).all()
    assert np.nanmax(found) > 0
    for row in np.flatnonzero(traces.lengths > 1):
        texts = traces.take([row] * traces.lengths[row])  # each without another item
        kept = ~np.eye(len(texts), dtype=bool)
        flips = decisions(texts.logits_under(attending_only(texts, kept.ravel()))) != texts.predicted
        others = np.arange(len(texts)) != texts.most_attended[0]
        assert found[row] == pytest.approx(flips[others].mean())


# Base rates: the numbers where each document's weights are permuted


def most_attended_says(traces):
    """What the most attended item adds to the logit, and the output: both hang on who holds which weight."""
    return traces.contribution[traces.most_attended, 0] + traces.p


def test_the_expectation_over_permutations_is_the_mean_over_all_orders():
    """Beside a loop over documents and orders; documents of two to six items, of which none is left to chance."""
    traces = toy_traces(classes=1, lengths=(2, 6, 3, 5, 4, 3))
    expected = beside.over_permutations(traces, most_attended_says)
    for document in range(len(traces)):
        alone = traces.take([document])
        orders = permutations(range(alone.lengths[0]))
        values = [most_attended_says(replace(alone, score=alone.score[list(order)]))[0] for order in orders]
        assert np.isclose(expected[document], np.mean(values))


def test_a_long_document_is_permuted_at_random(monkeypatch):
    """Near the mean over all orders, the same whatever stands beside it, another for another seed."""
    traces = toy_traces(classes=1, lengths=(7, 3, 7, 9))
    drawn = beside.over_permutations(traces, most_attended_says)
    assert np.array_equal(beside.over_permutations(traces.take([2, 0]), most_attended_says), drawn[[2, 0]])
    assert (beside.over_permutations(traces, most_attended_says, seed=1) != drawn)[[0, 2, 3]].all()

    monkeypatch.setattr(beside, "ALL_ORDERS", 7)
    exact = beside.over_permutations(traces.take([0, 2]), most_attended_says)
    spread = np.ptp(traces.contribution[:, 0])
    assert not np.array_equal(exact, drawn[[0, 2]])
    assert np.abs(exact - drawn[[0, 2]]).max() < 0.2 * spread


def test_equal_weights_leave_nothing_beyond_arithmetic():
    traces = toy_traces(classes=3, lengths=np.random.default_rng(0).integers(2, 9, 200))
    even = replace(traces, score=np.zeros_like(traces.score), gradient=None, leave_one_out=None)
    permuted = bench_tests.expected_when_permuted(even, draws=1)
    pd.testing.assert_series_equal(permuted, bench_tests.statements_in(even), check_names=False)


def test_an_attention_that_knows_the_items_is_told_apart():
    """Six items, one for the label: with half the weight there its erasure flips; with it elsewhere none does."""
    says = np.array([3.5, -1, -1, -1, -1, -1])[:, None] * np.array([-0.5, 0.5])
    knows = one([5, 1, 1, 1, 1, 1], says)
    every = [bench_tests.statements_in(bench_tests.nth_permutation(knows, k)) for k in range(0, 720, 24)]
    assert bench_tests.statements_in(knows)["3b"] == 1
    assert np.mean([numbers["3b"] for numbers in every]) < 0.5


def test_permutations_are_enumerated():
    """Over k = 0 ... 6! - 1 each order of a document of up to six items comes equally often; longer ones are drawn."""
    traces = toy_traces(lengths=(2, 6, 3, 5, 4, 3, 7))
    every = np.stack([traces.score, *(bench_tests.nth_permutation(traces, k).score for k in range(720))])
    for (own, *permuted), n in zip(
        np.split(every, traces.offsets[1:-1], axis=1), traces.lengths, strict=True
    ):
        assert (np.sort(permuted, axis=1) == np.sort(own)).all()
        orders, counts = np.unique(permuted, axis=0, return_counts=True)
        if n <= 6:
            assert len(orders) == math.factorial(n)
            assert set(counts) == {720 / len(orders)}
    assert len(np.unique(permuted[:20], axis=0)) > 15
