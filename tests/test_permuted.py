"""Base rates of Serrano and Smith's statements: the numbers where each document's weights are permuted."""

import dataclasses
import math
from collections import Counter
from itertools import permutations

import numpy as np
import pandas as pd
from conftest import one, toy_traces

from attn_lab.more import beside
from benchmarks import bench_tests


def most_attended_says(traces):
    """What the most attended item adds to the logit, and the output: both hang on who holds which weight."""
    return traces.contribution[traces.most_attended, 0] + traces.p


def test_the_expectation_over_permutations_is_the_mean_over_all_orders():
    """Beside a loop over documents and orders; documents of two to six items, of which none is left to chance."""
    traces = toy_traces(classes=1, lengths=(2, 6, 3, 5, 4, 3))
    expected = beside.over_permutations(traces, most_attended_says)
    for document in range(len(traces)):
        alone = traces.take([document])
        values = []
        for order in permutations(range(alone.lengths[0])):
            permuted = dataclasses.replace(
                alone, score=alone.score[list(order)], gradient=None, leave_one_out=None
            )
            values.append(most_attended_says(permuted)[0])
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
    even = dataclasses.replace(traces, score=np.zeros_like(traces.score), gradient=None, leave_one_out=None)
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
    every = [bench_tests.nth_permutation(traces, k).score for k in range(720)]
    for document, n in enumerate(traces.lengths[:6]):
        own = slice(*traces.offsets[document : document + 2])
        seen = Counter(tuple(score[own]) for score in every)
        assert set(seen) == set(permutations(traces.score[own]))
        assert set(seen.values()) == {720 // math.factorial(n)}
    drawn = {tuple(score[traces.offsets[6] :]) for score in every[:20]}
    assert {tuple(sorted(order)) for order in drawn} == {tuple(sorted(traces.score[traces.offsets[6] :]))}
    assert len(drawn) > 15
