"""Kendall correlations of traces: hand-worked document, SciPy loop, missing importances, independence of documents."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import one, toy_traces

from attn_core.experiments import draws as random
from attn_core.experiments.correlation import correlation


def test_by_hand():
    """Attention rises along the text; |gradient| has one of six pairs out of order, |leave-one-out| is reversed. At
    most one inversion of four has P (1 + 3) / 24, none 1 / 24."""
    gradient, leave_one_out = np.array([[0.1, -0.3, 0.2, -0.4], [-0.4, 0.3, 0.2, -0.1]])
    traces = one([0.1, 0.2, 0.3, 0.4], np.ones(4), gradient=gradient, leave_one_out=leave_one_out)
    drawn = (random.uniforms(seed, "random scores", traces.doc_id, traces.offsets)[0] for seed in range(999))
    rising = next(seed for seed, scores in enumerate(drawn) if (np.diff(scores) > 0).all())
    row = correlation(traces, rising).iloc[0]
    assert row["tau_attention_random"] == 1
    assert row[["doc_id", "label", "predicted", "n"]].tolist() == [0, 0, 1, 4]
    assert row["tau_attention_gradient"] == pytest.approx(4 / 6)
    assert row["p_attention_gradient"] == pytest.approx(8 / 24)
    assert row["tau_attention_loo"] == -1
    assert row["p_attention_loo"] == pytest.approx(2 / 24)
    assert row["tau_gradient_loo"] == pytest.approx(-4 / 6)
    assert "tau_attention_norm" not in row
    normed = replace(traces, gradient_norm=np.array([1, 2, 3, 4], np.float32))
    row = correlation(normed).iloc[0]
    assert row["tau_attention_norm"] == 1
    assert row["tau_norm_loo"] == -1


def test_constant_and_missing_importances():
    traces = toy_traces((4, 4))
    still = replace(traces, gradient=np.zeros(8, np.float32), leave_one_out=None)
    table = correlation(still)
    assert table["tau_attention_gradient"].isna().all()
    assert "tau_attention_loo" not in table
    assert "tau_gradient_loo" not in table
    bare = correlation(replace(traces, gradient=None, leave_one_out=None))
    assert [*bare.filter(like="tau_")] == ["tau_attention_random"]


def test_weights_too_small_for_a_float_are_still_ranked():
    traces = toy_traces((5,))
    far = replace(traces, score=np.array([-2000, -1500, -1000, -900, 0], np.float32))
    assert (far.attention == 0).sum() == 4
    assert correlation(replace(far, gradient=np.arange(5.0)))["tau_attention_gradient"][0] == pytest.approx(1)
