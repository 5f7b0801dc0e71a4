"""Distances, Kendall's tau, classification scores and intervals against hand-worked numbers, SciPy and plain loops."""

import tracemalloc
from dataclasses import replace

import numpy as np
import plain
import pytest
import scipy.stats
from conftest import one, toy_traces
from scipy.spatial.distance import jensenshannon
from scipy.stats import kendalltau
from scipy.stats import t as student

from attn_book.corrected import holm
from attn_core.experiments.correlation import correlation, kendall_ragged
from attn_core.measures import (
    LN2,
    bootstrap_interval,
    classification,
    crossed_interval,
    jsd,
    jsd_point,
    seed_interval,
    tvd,
)
from attn_lab.more.beside import partial_rank


def test_tvd_by_hand():
    assert tvd([0.2, 0.3, 0.5], [0.5, 0.3, 0.2]) == pytest.approx(0.3)
    assert tvd([0.3, 0.7], [0.6, 0.4]) == pytest.approx(tvd([0.7], [0.4]))  # one logit = its two classes


def test_partial_rank_correlation_is_the_textbooks():
    """With one variable held: (r_xy - r_xz r_yz) / sqrt((1 - r_xz²)(1 - r_yz²)); what hangs on z alone is 0."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=4_000)
    x = z + rng.normal(size=4_000)
    y = np.exp(z) + rng.normal(size=4_000)
    r = scipy.stats.spearmanr(np.stack([x, y, z], axis=1)).statistic
    xy, xz, yz = r[np.triu_indices(3, 1)]
    expected = (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))
    assert partial_rank(x, y, z) == pytest.approx(expected)
    assert abs(expected) < 0.1
    assert partial_rank(x, y) == pytest.approx(xy)
    assert np.isnan(partial_rank(x, x**3, x))


def test_jsd_is_scipys():
    a, b = np.random.default_rng(0).dirichlet(np.ones(3), (2, 9))
    a[0], b[0] = np.eye(3)[:2]
    b[1] = a[1]
    assert jsd(a, b) == pytest.approx(jensenshannon(a, b, axis=1) ** 2)
    assert jsd(a, b)[:2] == pytest.approx([LN2, 0])


def test_jsd_point_by_hand():
    attention = np.array([0.1, 0.6, 0.3, 0])
    assert jsd_point(attention) == pytest.approx(jsd(np.eye(4), attention))


def equal_to_scipy(x, y, offsets):
    tau, p = kendall_ragged(x, y, offsets)
    expected_tau, expected_p = plain.kendall(x, y, offsets)
    np.testing.assert_array_equal(tau, expected_tau)  # the same bits, NaN in the same places
    np.testing.assert_allclose(p, expected_p, rtol=1e-12, atol=0)


@pytest.mark.filterwarnings("ignore:One or more sample arguments is too small")
@pytest.mark.parametrize("values", [2, 4, 30, 10_000_000])
def test_kendall_equals_scipy(values):
    """Lengths 1 to 60, from constant vectors to none with ties; some NaN."""
    rng = np.random.default_rng(values)
    lengths = np.append([1, 2, 2], rng.integers(2, 60, 300))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x = rng.integers(0, values, offsets[-1]).astype(float)
    y = np.where(rng.random(offsets[-1]) < 0.5, x, rng.integers(0, values, offsets[-1]))
    y[rng.random(offsets[-1]) < 0.002] = np.nan
    equal_to_scipy(x, y, offsets)


def test_kendall_equals_scipy_where_long_vectors_have_exact_p():
    """At most one discordant (or concordant) pair: the exact rule also beyond 33 entries, and beyond 170."""
    for n in (33, 34, 50, 170, 171, 172, 300):
        x = np.arange(n, dtype=float)
        y = x.copy()
        y[[3, 4]] = 4, 3
        equal_to_scipy(np.tile(x, 4), np.concatenate([x, -x, y, -y]), n * np.arange(5))


def test_kendall_of_long_documents_stays_small_in_memory():
    """All pairs of a document of 6,000 tokens at once would be gigabytes."""
    x, y = np.random.default_rng(0).normal(size=(2, 2, 6000))
    tracemalloc.start()
    tau, _ = kendall_ragged(x.ravel(), y.ravel(), 6000 * np.arange(3))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6
    assert tau[1] == kendalltau(x[1], y[1]).statistic


def test_correlation_by_hand():
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


BY_HAND = {
    "0.5 rounds to 0": (
        [0, 1, 1, 0],
        [0.2, 0.5, 0.9, 0.6],  # predicted 0 0 1 1
        {"accuracy": 0.5, "f1_0": 0.5, "f1_1": 0.5, "macro_f1": 0.5, "auc": 0.75},
    ),
    "one class has no AUC": (
        [1, 1],
        [0.9, 0.8],
        {"accuracy": 1, "f1_0": 0, "f1_1": 1, "macro_f1": 0.5},
    ),
    "a class without documents is out": (
        [0, 1, 1, 2, 2],
        np.eye(4)[[0, 1, 1, 2, 0]] * 0.6 + 0.1,  # of class 0 precision 1/2, of class 2 recall 1/2
        {"accuracy": 0.8, "f1_0": 2 / 3, "f1_1": 1, "f1_2": 2 / 3, "f1_3": 0, "macro_f1": 7 / 9},
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_classification_by_hand(name):
    labels, p, expected = BY_HAND[name]
    assert classification(labels, p) == pytest.approx(expected)
    if "auc" in expected:
        outputs = np.stack([1 - np.array(p), p], axis=1)
        assert classification(labels, outputs) == classification(labels, p)


def test_bootstrap_interval():
    values = np.random.default_rng(0).normal(3, 2, 400)
    low, high = bootstrap_interval(np.append(values, [np.nan] * 50))
    assert (low, high) == bootstrap_interval(values)  # NaN are left out, the seed is fixed
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)
    assert np.isnan(bootstrap_interval([1.0, np.nan])).all()


def test_crossed_interval_by_hand():
    table = np.array(
        [[0.0, 1, 2], [1, 2, 3], [2, 3, 7]]
    )  # mean squares 7 of rows, 7 of columns, 1 of the rest
    freedom = 13**2 / (7**2 / 2 + 7**2 / 2 + 1**2 / 4)
    half = student.ppf(0.975, freedom) * (13 / 9) ** 0.5
    assert crossed_interval(table) == pytest.approx((7 / 3 - half, 7 / 3 + half))
    holed = np.column_stack([table, [np.nan, 9, 9]])
    assert crossed_interval(holed) == crossed_interval(table)
    assert crossed_interval(table * 0) == (0, 0)
    assert np.isnan(crossed_interval(table[:2])).all()
    assert np.isnan(crossed_interval(table[:, :1])).all()


def test_seed_interval_by_hand():
    # mean 2, standard error 1 / sqrt 3, Student t of 2 degrees of freedom at 0.975 = 4.3027
    assert seed_interval([1, 2, 3]) == pytest.approx((2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), abs=1e-4)
    assert np.isnan(seed_interval([1.0])).all()


def test_holm_by_hand():
    assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([0.6, 0.7])) == pytest.approx([1.0, 1.0])
    assert len(holm(np.array([]))) == 0
