"""Base rates of Serrano and Smith's statements: the numbers where each document's weights are dealt anew."""

import dataclasses

import numpy as np
from conftest import toy_traces

from attn_book import derived


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
