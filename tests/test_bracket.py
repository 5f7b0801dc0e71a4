"""The farthest weights that leave every class's probability: between bounds that hold, against brute force."""

from dataclasses import replace

import numpy as np
import pytest
import scipy
from conftest import refused, toy_traces

from attn_core.experiments.optimum import exact
from attn_core.measures import jsd_ragged
from attn_core.traces import Traces
from attn_lab.more import tables
from attn_lab.more.bracket import bracket


def simplex(n: int, steps: int) -> np.ndarray:
    """All weights (m, n) that are multiples of 1 / steps."""
    axes = np.meshgrid(*[np.arange(steps + 1)] * (n - 1), indexing="ij")
    first = np.stack([axis.ravel() for axis in axes], axis=1)
    first = first[first.sum(axis=1) <= steps]
    return np.hstack([first, steps - first.sum(axis=1, keepdims=True)]) / steps


def optimal(traces: Traces, row: int, epsilon: float, steps: int) -> float:
    """The largest JSD of weights on the grid that leave every class within epsilon."""
    document = traces.take([row])
    weights = simplex(document.lengths[0], steps)
    outputs = scipy.special.softmax(weights @ document.contribution + document.bias, axis=1)
    near = np.abs(outputs - document.outputs).max(axis=1) <= epsilon
    if not near.any():
        return 0.0
    return float(jsd_ragged(weights[near], document.attention, document.offsets).max())


@pytest.mark.parametrize("classes", [2, 3, 4, 6])
@pytest.mark.parametrize("epsilon", [0.02, 0.1])
def test_all_weights_lie_below_and_some_at_hand_above(classes, epsilon):
    """On a grid of all weights of three and four tokens, fine enough that the best of it comes near the bracket."""
    traces = toy_traces([3] * 12 + [4] * 6, seed=classes, classes=classes)
    bounds = bracket(traces, epsilon)
    grid = np.array([optimal(traces, row, epsilon, 400 if row < 12 else 70) for row in range(len(traces))])
    assert (grid <= bounds["jsd_most"] + 1e-6).all()
    assert (bounds["jsd_least"] <= bounds["jsd_most"]).all()
    assert (bounds["change"] <= epsilon + 1e-9).all()
    above_the_grid = (bounds["jsd_least"] - grid)[:12]  # of three tokens it is fine
    assert above_the_grid.max() < 0.01
    assert np.median(above_the_grid) > -0.05
    assert bounds["jsd_least"].sum() > 0.5 * grid.sum()
    assert (bounds["jsd_most"] - grid).mean() < 0.25


def test_with_many_tokens_the_bounds_are_near_each_other():
    bounds = bracket(toy_traces([30] * 8, classes=4), 0.01)
    assert (bounds["jsd_most"] - bounds["jsd_least"]).mean() < 0.05
    assert bounds["jsd_least"].min() > 0.4


@pytest.mark.parametrize("classes", [1, 2])
def test_for_two_classes_both_bounds_are_the_exact_optimum(classes):
    traces = toy_traces([1, 2, 5, 12, 12], classes=classes)
    optimum = exact(traces, 0.05)["jsd_exact"]
    bounds = bracket(traces, 0.05)
    np.testing.assert_allclose(bounds["jsd_least"], optimum, atol=1e-5)
    np.testing.assert_allclose(bounds["jsd_most"], optimum, atol=1e-5)


def test_edges_of_the_bracket():
    """All may move: the ceiling. None may, and states differ: the model's own. States alike: the ceiling again."""
    traces = toy_traces([6, 6], classes=4)
    everything = bracket(traces, 1.0)
    np.testing.assert_allclose(everything["jsd_least"], everything["jsd_most"], atol=1e-6)
    few = toy_traces([2, 3], classes=5)
    assert bracket(few, 0.0)["jsd_least"].max() < 1e-6
    alike = replace(few, contribution=np.ones_like(few.contribution))
    np.testing.assert_allclose(bracket(alike, 0.0)["jsd_least"], bracket(alike, 1.0)["jsd_most"], atol=1e-6)
    sure = replace(few, contribution=few.contribution * 300)
    assert np.isfinite(bracket(sure, 0.01)[["jsd_least", "jsd_most"]]).all(axis=None)
    with refused("epsilon"):
        bracket(traces, 1.5)
    with refused("text pairs"):
        bracket(replace(traces, query=np.zeros((2, 4)), readout=np.zeros((4, 4))), 0.1)


def test_a_table_of_four_classes_holds_the_bracket_and_no_search(monkeypatch):
    monkeypatch.setattr(tables, "BRACKETED", 2)
    documents = tables.document_table(toy_traces([5, 6, 7], classes=4))
    assert documents["jsd_least epsilon=0.01"].notna().tolist() == [True, True, False]
    assert "jsd_search epsilon=0.01" not in documents
    summary = tables.summary_table(documents, 4).set_index(["statistic", "bin", "measure"])["value"]
    assert summary["jsd_most epsilon=0.01", "all", "n"] == 3
    assert summary["jsd_most epsilon=0.01", "all", "n_nan"] == 1
    assert "jsd_search epsilon=0.01" in tables.document_table(toy_traces([5, 6], classes=3))
