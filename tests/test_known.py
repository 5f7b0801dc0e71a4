"""Attention of known quality, and the tests of a text, against plain definitions."""

import numpy as np
import pytest
from conftest import toy_pairs, toy_traces
from plain import documents

from attn_core.errors import AttnError
from attn_core.experiments.known import BAD, GOOD, KINDS, LINES, near_ideal, of_texts, passing
from attn_core.experiments.single import logits_without, other_item, others_flip
from attn_core.traces import decisions

LENGTHS = (1, 2, 3, 5, 8, 13) * 4


@pytest.mark.parametrize("classes", [1, 2, 4])
def test_the_weight_lies_on_the_contribution_farthest_from_the_mean(classes):
    traces = toy_traces(classes=classes, lengths=LENGTHS)
    found = near_ideal(traces, 0.9)
    for _, _, weights, c in documents(found):
        c = c - c.mean(axis=1, keepdims=True) if classes > 1 else c
        far = ((c - c.mean(axis=0)) ** 2).sum(axis=1).argmax()
        assert weights.argmax() == far and weights[far] == pytest.approx(0.9 if len(c) > 1 else 1)
        assert len(c) == 1 or np.ptp(np.delete(weights, far)) < 1e-12
    assert found.gradient is None and found.leave_one_out is None
    again = near_ideal(found)  # what a model attends to does not enter
    assert np.allclose(again.attention, near_ideal(traces).attention)


def test_good_and_bad_weights_have_the_same_entropy():
    traces = toy_traces(lengths=LENGTHS)
    good, bad = (KINDS[kind](traces) for kind in (GOOD, BAD))
    for (_, _, one, _), (_, _, two, _) in zip(documents(good), documents(bad), strict=True):
        assert np.allclose(np.sort(one), np.sort(two))
    assert not np.allclose(good.attention, bad.attention)


@pytest.mark.parametrize("classes", [1, 3])
def test_the_expectation_over_r_is_the_mean_over_every_other_item(classes):
    traces = toy_traces(classes=classes, lengths=LENGTHS, seed=3)
    found = others_flip(traces)
    several, n = traces.lengths > 1, traces.lengths
    top = np.array([weights.argmax() for _, _, weights, _ in documents(traces)])
    flips = np.zeros((200, len(traces)))
    for k, uniform in enumerate((np.arange(200) + 0.5) / 200):  # 'described': every other item, about equally often
        r = other_item(top, n, np.full(len(traces), uniform), "described")
        flips[k] = decisions(logits_without(traces, traces.offsets[:-1] + r)) != decisions(traces.logits)
    assert np.isnan(found[~several]).all() and (found[several] > 0).any()
    assert np.allclose(found[several], flips.mean(axis=0)[several], atol=0.01)


def test_what_passes_is_on_the_right_side_of_the_line():
    traces = toy_traces(lengths=LENGTHS, seed=5)
    texts = of_texts(traces)
    assert len(texts) == sum(n > 1 for n in LENGTHS) and set(LINES) <= set(texts)
    found = passing(texts)
    assert found["gradients"] == pytest.approx((texts["gradients"].dropna() > 0.5).mean())
    assert found["adversaries"] == pytest.approx((texts["adversaries"] < 0.4).mean())
    assert found["order"] == pytest.approx((texts["order"].dropna() < 0).mean())
    assert "adversaries" not in of_texts(toy_traces(classes=3, lengths=LENGTHS))
    assert "gradients" not in of_texts(near_ideal(traces))
    with pytest.raises(AttnError, match="affine"):
        of_texts(toy_pairs())
