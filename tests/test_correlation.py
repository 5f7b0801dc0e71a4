"""Kendall correlations of traces: hand-worked document, SciPy loop, missing importances, independence of documents."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import one, toy_traces

from attn_core.experiments.correlation import correlation


def test_by_hand():
    """Attention rises along the text, by weights too small for a float; |gradient| has one of six pairs out of order,
    |leave-one-out| is reversed. At most one inversion of four has P (1 + 3) / 24, none 1 / 24."""
    gradient, leave_one_out = np.array([[0.1, -0.3, 0.2, -0.4], [-0.4, 0.3, 0.2, -0.1]])
    traces = one([0.1, 0.2, 0.3, 0.4], np.ones(4), gradient=gradient, leave_one_out=leave_one_out)
    traces = replace(traces, score=np.array([-2000, -1500, -1000, 0], np.float32))
    assert (traces.attention == 0).sum() == 3
    row = correlation(traces).iloc[0]
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
    still = replace(toy_traces((4, 4)), gradient=np.zeros(8, np.float32), leave_one_out=None)
    assert correlation(still)["tau_attention_gradient"].isna().all()
    assert {*correlation(still).filter(like="tau_")} == {"tau_attention_random", "tau_attention_gradient"}


def test_random_scores_follow_the_seed_and_no_ranking():
    traces = toy_traces([200] * 5)
    first, second = (correlation(traces, seed)["tau_attention_random"] for seed in (0, 1))
    assert (first != second).all()
    assert first.abs().max() < 0.15
