"""Counting, fitting and timing of leave-one-out."""

import numpy as np
import plain_network
import pytest

from attn_core.errors import AttnError
from benchmarks import cost


def test_operations_of_two_words_by_hand():
    """Two words and start and end: four tokens forward; each of two deletions leaves one pair."""
    row = cost.operations([2]).iloc[0]
    token = (
        2 * 300 * 1024 + 2 * 128 * 1024 + 2 * 256 * 128
    )  # input and recurrent products of both directions, attention
    assert row.forward == 4 * token
    assert row.naive == 2 * 3 * token
    assert row.shared == 4 * token + 2 * (2 * 128 * 512 + 2 * 128 * 128), (
        "one direction of four gates; half of the attention layer"
    )


def test_operations_are_those_of_the_benchmark():
    from benchmarks.bench_network import operations

    lengths = np.array([3, 17, 40])
    counted = operations(plain_network.random_documents(lengths, 100))
    assert np.isclose(cost.operations(lengths)["shared"].sum(), counted["leave-one-out"])
    assert np.isclose(cost.operations(lengths)["forward"].sum(), counted["evaluation"])


def test_sharing_keeps_the_exponent_and_cuts_the_factor():
    words = np.array([500, 1000, 2000])
    counted = cost.operations(words)
    assert np.isclose(cost.exponent(words, counted["naive"])["slope"], 2, atol=0.01)
    assert np.isclose(cost.exponent(words, counted["shared"])["slope"], 2, atol=0.03)
    assert 0.15 < (counted["shared"] / counted["naive"]).iloc[-1] < 0.2


def test_exponent_of_a_straight_line_and_of_a_bent_one():
    words = np.array([10.0, 20, 40, 80])
    fit = cost.exponent(words, 3e-6 * words**1.7)
    assert np.isclose(fit["slope"], 1.7) and np.isclose(fit["factor"], 3e-6) and fit["n"] == 4
    assert np.isclose(fit["low"], 1.7) and np.isclose(fit["high"], 1.7)
    bent = cost.exponent(words, words**2 + 1000)
    assert bent["slope"] < 2 and bent["high"] - bent["low"] > 0.1
    assert np.isnan(cost.exponent(words[:2], words[:2])["low"]) and np.isnan(
        cost.exponent(words[:1], words[:1])["slope"]
    )


def test_live_times():
    table = cost.time_live("average", [5, 40], texts=2, repeats=1)
    assert table["words"].tolist() == [5, 40] and (table[["forward", "leave_one_out"]] > 0).all().all()
    assert cost.product_rate(64, 1) > 1e6
    for wrong in ([], [1]):
        with pytest.raises(AttnError, match="lengths must be whole numbers of at least 2 words"):
            cost.time_live("average", wrong)
