"""Base rates of Serrano and Smith's statements: the numbers where each document's weights are dealt anew."""

import dataclasses
from itertools import permutations

import numpy as np
from conftest import toy_traces

from attn_book import derived
from attn_core.experiments import single


def test_equal_weights_leave_nothing_beyond_arithmetic():
    traces = toy_traces(classes=3, lengths=np.random.default_rng(0).integers(2, 9, 200))
    even = dataclasses.replace(traces, score=np.zeros_like(traces.score), gradient=None, leave_one_out=None)
    found = derived.of_dealt({"toy": even}, ["1a", "3b", "4a"], deals=2)
    assert (found["attention"] == found["dealt"]).all()


def test_an_attention_that_knows_the_items_is_told_apart():
    """Six items, one for the label: with half the weight there its erasure flips; with it elsewhere none does."""
    like = toy_traces(classes=2, lengths=(6,) * 100)
    logits = np.tile([3.5, -1, -1, -1, -1, -1], 100)[:, None] * np.array([-0.5, 0.5])
    knows = dataclasses.replace(
        like,
        score=np.tile(np.log([5, 1, 1, 1, 1, 1]), 100),
        contribution=logits,
        bias=np.zeros_like(like.bias),
        gradient=None,
        leave_one_out=None,
    )
    row = derived.of_dealt({"toy": knows}, ["3b"], deals=3).iloc[0]
    assert row["attention"] == 1 and row["dealt"] < 0.5


def heaviest_says(traces):
    """What the most attended item adds to the logit, and the output: both hang on who holds which weight."""
    return traces.contribution[traces.heaviest, 0] + traces.p


def test_the_expectation_over_deals_is_the_mean_over_all_orders():
    """Beside a loop over documents and orders; documents of two to six items, of which none is left to chance."""
    traces = toy_traces(classes=1, lengths=(2, 6, 3, 5, 4, 3))
    expected = single.over_deals(traces, heaviest_says)
    for document in range(len(traces)):
        alone = traces.take([document])
        values = []
        for order in permutations(range(alone.lengths[0])):
            dealt = dataclasses.replace(alone, score=alone.score[list(order)], gradient=None, leave_one_out=None)
            values.append(heaviest_says(dealt)[0])
        assert np.isclose(expected[document], np.mean(values))


def test_a_long_document_is_dealt_at_random(monkeypatch):
    """Near the mean over all orders, the same whatever stands beside it, another for another seed."""
    traces = toy_traces(classes=1, lengths=(7, 3, 7, 9))
    drawn = single.over_deals(traces, heaviest_says)
    assert np.array_equal(single.over_deals(traces.take([2, 0]), heaviest_says), drawn[[2, 0]])
    assert (single.over_deals(traces, heaviest_says, seed=1) != drawn)[[0, 2, 3]].all()

    monkeypatch.setattr(single, "ALL_ORDERS", 7)
    exact = single.over_deals(traces.take([0, 2]), heaviest_says)
    spread = np.ptp(traces.contribution[:, 0])
    assert not np.array_equal(exact, drawn[[0, 2]])
    assert np.abs(exact - drawn[[0, 2]]).max() < 0.2 * spread
