"""Frontiers of the frozen base, the search's point and curves read off: loops, dominance, monotony."""

import numpy as np
import pandas as pd
import plain_frontier
import pytest
from conftest import toy_traces
from hypothesis import given
from hypothesis import strategies as st

from attn_core.errors import AttnError
from attn_core.experiments import frontier
from attn_core.experiments.search import search
from attn_core.measures import LN2

EPSILONS = (0.0, 0.01, 0.05, 0.1, 0.3, 1.0)


def grids(seed, documents=7, size=6):
    """Made-up rising (jsd, tvd), the first TVD 0."""
    rng = np.random.default_rng(seed)
    jsd = np.sort(rng.random((documents, size)), axis=1)
    tvd = np.concatenate([np.zeros((documents, 1)), np.sort(rng.random((documents, size - 1)), axis=1)], axis=1)
    return jsd, tvd


@given(st.integers(0, 200))
def test_every_price_lies_on_the_sharing_curve(seed):
    jsd, tvd = grids(seed)
    curve = frontier.best_sharing(jsd, tvd, points=1000)
    for price in (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 50.0):
        x, y = plain_frontier.sharing(jsd, tvd, price)
        if price == 0:  # the largest JSD of all, at the least TVD that reaches it
            assert y == pytest.approx(curve["jsd"].iloc[-1])
        assert y == pytest.approx(np.interp(x, curve["tvd"], curve["jsd"]), abs=1e-12)


@given(st.integers(0, 200))
def test_hull_by_another_way(seed):
    jsd, tvd = grids(seed)
    found = frontier.hull(jsd, tvd)
    for row in range(len(jsd)):
        assert list(np.flatnonzero(found[row])) == plain_frontier.hull(jsd[row], tvd[row])


@pytest.mark.parametrize("classes", [1, 2])
def test_sharing_is_never_below_the_same_epsilon(classes):
    for seed in range(5):
        traces = toy_traces((1, 2, 3, 5, 8, 13, 13), seed, classes)
        jsd, tvd = frontier.optima(traces, EPSILONS)
        assert (np.diff(jsd, axis=1) >= 0).all() and (np.diff(tvd, axis=1) >= 0).all()
        assert (tvd <= np.array(EPSILONS) + 1e-9).all() and (jsd <= LN2 + 1e-12).all()
        same, shared = frontier.same_epsilon(jsd, tvd, EPSILONS), frontier.best_sharing(jsd, tvd)
        assert (np.interp(same["tvd"], shared["tvd"], shared["jsd"]) >= same["jsd"] - 1e-9).all()
        assert (np.diff(shared["tvd"]) >= 0).all() and (np.diff(shared["jsd"]) >= 0).all()
        assert (np.diff(shared["price"]) <= 1e-9).all(), "the price falls along the curve: it is concave"
        assert shared["jsd"].iloc[-1] == pytest.approx(same["jsd"].iloc[-1])
        np.testing.assert_allclose(same["tvd_halved"], same["tvd"] / 2)
        assert (same["n"] == len(traces)).all()


def test_thinning_keeps_the_ends_and_the_shape():
    jsd, tvd = grids(3, documents=500)
    whole, thin = frontier.best_sharing(jsd, tvd, points=100_000), frontier.best_sharing(jsd, tvd, points=60)
    assert len(thin) <= 120 < len(whole)
    for name in ("tvd", "jsd"):
        assert thin[name].iloc[0] == whole[name].iloc[0] and thin[name].iloc[-1] == whole[name].iloc[-1]
    assert np.abs(np.interp(whole["tvd"], thin["tvd"], thin["jsd"]) - whole["jsd"]).max() < 0.005


def test_searched_equals_the_loop_and_stays_below_the_optimum():
    traces = toy_traces((2, 3, 5, 5, 8), 2)
    weights = search(traces, steps=60)
    found = frontier.searched(traces, weights)
    expected = np.array(plain_frontier.searched(traces, weights))
    np.testing.assert_allclose(found[["jsd", "tvd", "two", "five"]].to_numpy(), expected, atol=1e-12)
    best = frontier.exact(traces, 0.05)["jsd_exact"]
    assert (found["best@0.05"] <= best + 1e-9).all() and (found["best@0.01"] <= found["best@0.05"]).all()


def test_reading_off_a_curve():
    assert frontier.tvd_at([0.1, 0.3, 0.5], [0.0, 0.2, 0.3], 0.2) == pytest.approx(0.1)
    assert frontier.tvd_at([0.1, 0.3, 0.5], [0.0, 0.2, 0.3], 0.5) == pytest.approx(0.3)
    assert np.isnan(frontier.tvd_at([0.1, 0.3, 0.5], [0.0, 0.2, 0.3], 0.6))
    assert frontier.tvd_at([0.1, 0.5, 0.1], [0.0, 0.4, 0.2], 0.3) == pytest.approx((0.2 + 0.3) / 2), (
        "passes twice: the mean"
    )
    assert frontier.tvd_at([0.2], [0.7], 0.2) == 0.7 and np.isnan(frontier.tvd_at([0.2], [0.7], 0.3))


def test_nothing_is_read_between_distant_or_moving_neighbours():
    jsd, tvd = [0.1, 0.3, 0.7, 0.8], [0.0, 0.2, 0.3, 0.4]
    near = {"settled": [True, True, True, False], "apart": 0.3}
    assert frontier.tvd_at(jsd, tvd, 0.2, **near) == pytest.approx(0.1)
    assert np.isnan(frontier.tvd_at(jsd, tvd, 0.5, **near)) and frontier.tvd_at(jsd, tvd, 0.5) == pytest.approx(0.25)
    assert frontier.tvd_at(jsd, tvd, 0.5, near["settled"], 0.5) == pytest.approx(0.25), "near enough"
    assert np.isnan(frontier.tvd_at(jsd, tvd, 0.75, **near)), "one end still moves"
    assert frontier.tvd_at(jsd, tvd, 0.75, apart=0.3) == pytest.approx(0.35)
    assert np.isnan(frontier.tvd_at([0.2], [0.7], 0.2, settled=[False]))


@given(st.integers(0, 200))
def test_reading_off_equals_the_loop(seed):
    rng = np.random.default_rng(seed)
    jsd, tvd, settled = rng.random(6), rng.random(6), rng.random(6) < 0.7
    for at in (0.2, 0.5, 0.8):
        expected = plain_frontier.tvd_at(jsd, tvd, at, settled, 0.5)
        assert frontier.tvd_at(jsd, tvd, at, settled, 0.5) == pytest.approx(
            np.nan if expected is None else expected, nan_ok=True
        )


def test_each_seed_has_a_curve_of_its_own():
    points = pd.DataFrame({
        "seed": [10, 10, 50, 50, 257, 257], "divergence": [0.2, 0.1, 0.1, 0.2, 0.1, 0.2],
        "jsd": [0.5, 0.1, 0.1, 0.5, 0.1, 0.2], "tvd": [0.06, 0.02, 0.04, 0.08, 0.0, 0.1], "settled": True,
    })  # fmt: skip
    rows = frontier.read_off(points, (0.3, 0.9), apart=0.5).set_index("at")
    first = rows.loc[0.3]
    assert first["tvd"] == pytest.approx(0.05) and first["tvd_halved"] == pytest.approx(0.025) and first["n_seeds"] == 2
    assert np.isnan([first["low"], first["high"]]).all(), "two curves give no interval"
    assert rows.loc[0.9, "n_seeds"] == 0 and np.isnan(rows.loc[0.9, "tvd"])
    assert frontier.read_off(points, (0.3,))["n_seeds"].item() == 0, "the neighbours are too far apart"
    assert frontier.read_off(points.assign(settled=points["seed"] != 10), (0.3,), 0.5)["seeds"].item() == (50,)


def test_bad_epsilons_are_named():
    for epsilons in ((), (0.1, 0.1), (0.2, 0.1)):
        with pytest.raises(AttnError, match="rising list"):
            frontier.optima(toy_traces(), epsilons)


def test_why_a_curve_cannot_be_read():
    """Each reason by itself; a curve that can be read has none."""
    points = pd.DataFrame(
        {"seed": 10, "divergence": [0.0, 1.0, 2.0], "jsd": [0.1, 0.3, 0.6], "tvd": 0.1, "settled": True}
    )
    read = frontier.read_off(points, (0.2, 0.3, 0.5, 0.65), apart=0.25).set_index("at")
    assert read["why"].to_dict() == {0.2: "", 0.3: "", 0.5: "gap 0.30 > 0.25", 0.65: "not reached"}
    late = points.assign(settled=[True, True, False])
    assert frontier.unreadable(late, 0.5, 0.25) == "not converged"
    both = pd.concat([late, points.assign(seed=50)])
    assert frontier.unreadable(both, 0.5, 0.25) == "not converged, gap 0.30 > 0.25"
