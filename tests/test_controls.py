"""What stands beside a model's own attention, by hand."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import one
from plain_network import one_text
from scipy.special import expit

from attn_core.documents import Documents
from attn_lab.runs import controls


def permuted(attention):
    """One text of two words that say +2 and -1."""
    return controls.of_permuted(one(attention, [2.0, -1.0]))


def test_permuted_weights_of_two_words():
    """Two orders: each changes the output by the same, so the model's own weights win half of the time."""
    own, other, flat = expit([1.4, -0.4, 0.5])
    without_first = own - expit(-1)
    without_second = expit(2) - other
    expected = {
        "permuted_shuffle": own - other,
        "shuffle_own_wins": 0.5,
        "permuted_uniform": (own - flat + flat - other) / 2,
        "permuted_flips": 0.5,
        "uniform_own_wins": (0.5 + float(own - flat > flat - other)) / 2,
        "permuted_erasure": (without_first + without_second) / 2,
    }
    found = permuted([0.8, 0.2])
    assert {name: found[name][0] for name in expected} == pytest.approx(expected)


def test_equal_weights_are_their_own_control():
    found = permuted([0.5, 0.5])
    assert found["permuted_shuffle"] == pytest.approx([0.0])
    assert found["erasure_own_wins"] == pytest.approx([0.5])


TRAIN = Documents(
    ids=np.array([2, 4, 5, 3, 2, 6, 5, 3], np.int32),
    offsets=np.array([0, 4, 8]),
    labels=np.array([1, 0]),
    doc_ids=np.arange(2),
)
"""Two texts between start (2) and end (3): word 4 stands in the positive one, 6 in the negative, 5 in both."""


def test_naive_bayes_smooths_over_the_vocabulary():
    """Word 6 is one of four words of class 1 and none of two of class 0; each of eight ids counts one more."""
    counts = controls.word_counts(replace(TRAIN, labels=np.array([1, 1])), 8)[[0, 1, 0]]
    scores = controls.naive_bayes(counts, np.array([1, 1, 0]))
    assert scores[6] == pytest.approx(np.log(2 / 12) - np.log(1 / 10))


def test_words_are_rarer_the_fewer_texts_hold_them():
    """In one of two texts, in both, in none."""
    found = controls.rarity(controls.word_counts(TRAIN, 8))
    assert found[[4, 5, 7]] == pytest.approx(1 + np.log([3 / 2, 3 / 3, 3 / 1]))


def test_lists_name_the_word_whose_deletion_moves_most():
    """Text "5 4": deleting 4 moves p by .3, 5 by .1; naive Bayes takes 4, attention takes 5."""
    traces = one([0.9, 0.1], [0.5, 1.0], leave_one_out=np.array([0.1, -0.3]))
    found = controls.of_lists(traces, TRAIN, one_text(2, 5, 4, 3))
    assert (found["top1_bayes"][0], found["top1_attention"][0]) == (1, 0)
    assert (found["change_bayes"][0], found["change_attention"][0]) == pytest.approx((0.3, 0.1))
    assert (found["change_best"][0], found["change_random"][0]) == pytest.approx((0.3, 0.2))
