"""The search's point and curves read off, by loops."""

import numpy as np
import plain_frontier
import pytest
from conftest import toy_traces
from hypothesis import given
from hypothesis import strategies as st

from attn_core.experiments import frontier
from attn_core.experiments.optimum import exact
from attn_core.experiments.search import search


def test_searched_equals_the_loop_and_stays_below_the_optimum():
    traces = toy_traces((2, 3, 5, 5, 8), 2)
    weights = search(traces, steps=60)
    found = frontier.searched(traces, weights)
    expected = np.array(plain_frontier.searched(traces, weights))
    np.testing.assert_allclose(found[["jsd", "tvd", "two", "five"]].to_numpy(), expected, atol=1e-12)
    best = exact(traces, 0.05)["jsd_exact"]
    assert (found["best@0.05"] <= best + 1e-9).all() and (found["best@0.01"] <= found["best@0.05"]).all()


def test_reading_off_a_curve():
    assert frontier.tvd_at([0.1, 0.3, 0.5], [0.0, 0.2, 0.3], 0.2) == pytest.approx(0.1)
    assert frontier.tvd_at([0.1, 0.3, 0.5], [0.0, 0.2, 0.3], 0.5) == pytest.approx(0.3)
    assert np.isnan(frontier.tvd_at([0.1, 0.3, 0.5], [0.0, 0.2, 0.3], 0.6))
    assert frontier.tvd_at([0.1, 0.5, 0.1], [0.0, 0.4, 0.2], 0.3) == pytest.approx((0.2 + 0.3) / 2), (
        "passes twice: the mean"
    )
    assert frontier.tvd_at([0.2], [0.7], 0.2) == 0.7 and np.isnan(frontier.tvd_at([0.2], [0.7], 0.3))


@given(st.integers(0, 200))
def test_reading_off_equals_the_loop(seed):
    jsd, tvd = np.random.default_rng(seed).random((2, 6))
    for at in (0.2, 0.5, 0.8):
        expected = plain_frontier.tvd_at(jsd, tvd, at)
        found = frontier.tvd_at(jsd, tvd, at)
        assert found == pytest.approx(np.nan if expected is None else expected, nan_ok=True)
