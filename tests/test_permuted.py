"""Base rates of Serrano and Smith's statements: the numbers where each document's weights are permuted."""

import dataclasses
import math
from collections import Counter
from itertools import permutations

import numpy as np
import pandas as pd
from conftest import toy_traces

from attn_lab.more import beside
from benchmarks import bench_tests


def test_equal_weights_leave_nothing_beyond_arithmetic():
    traces = toy_traces(classes=3, lengths=np.random.default_rng(0).integers(2, 9, 200))
    even = dataclasses.replace(traces, score=np.zeros_like(traces.score), gradient=None, leave_one_out=None)
    permuted = bench_tests.expected_when_permuted(even, draws=1)
    pd.testing.assert_series_equal(permuted, bench_tests.statements_in(even), check_names=False)


def test_an_attention_that_knows_the_items_is_told_apart():
    """Six items, one for the label: with half the weight there its erasure flips; with it elsewhere none does."""
    like = toy_traces(classes=2, lengths=(6,) * 12)
    logits = np.tile([3.5, -1, -1, -1, -1, -1], 12)[:, None] * np.array([-0.5, 0.5])
    knows = dataclasses.replace(
        like,
        score=np.tile(np.log([5, 1, 1, 1, 1, 1]), 12),
        contribution=logits,
        bias=np.zeros_like(like.bias),
        gradient=None,
        leave_one_out=None,
    )
    draws = [bench_tests.statements_in(bench_tests.nth_permutation(knows, k)) for k in range(0, 720, 24)]
    permuted = pd.concat(draws, axis=1).mean(axis=1)
    assert bench_tests.statements_in(knows)["3b"] == 1 and permuted["3b"] < 0.5


def test_deals_are_enumerated_as_by_brute_force():
    """Over k = 0 ... 6! - 1 each order of a document of up to six items comes equally often; the mean over them is that
    over all orders, and that of `over_permutations`."""
    traces = toy_traces(classes=1, lengths=(2, 6, 3, 5, 4, 3, 7))
    draws = [bench_tests.nth_permutation(traces, k) for k in range(720)]
    values = np.mean([most_attended_says(permuted) for permuted in draws], axis=0)
    assert np.allclose(values[:6], beside.over_permutations(traces, most_attended_says)[:6])
    for document, n in enumerate(traces.lengths[:6]):
        own = slice(*traces.offsets[document : document + 2])
        seen = Counter(tuple(permuted.score[own]) for permuted in draws)
        assert set(seen) == set(permutations(traces.score[own])) and set(seen.values()) == {720 // math.factorial(n)}
    long = traces.offsets[6]
    assert all(np.array_equal(np.sort(permuted.score[long:]), np.sort(traces.score[long:])) for permuted in draws[:20])
    assert len({tuple(permuted.score[long:]) for permuted in draws[:20]}) > 15


def most_attended_says(traces):
    """What the most attended item adds to the logit, and the output: both hang on who holds which weight."""
    return traces.contribution[traces.most_attended, 0] + traces.p


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
