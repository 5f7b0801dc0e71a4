"""Bounds and yardsticks of adversarial attention for text pairs and three classes or more."""

import itertools
import sys
from dataclasses import replace

import numpy as np
import plain
import pytest
from conftest import toy_pairs
from test_pairs_experiments import KINDS, kinds, question

from attn_core.experiments.adversarial import adversarial, ceiling, ceilings
from attn_core.experiments.optimum import FEWEST, GRID, mixtures, sparse
from attn_core.experiments.search import search
from attn_core.measures import jsd, jsd_point
from attn_core.traces import each_alone


def test_sparse_by_hand():
    """`question`: weights (3/4, 1/4). Within 0.2 the first word alone; within 1 the second, the least attended."""
    traces = question()
    row = sparse(traces, 1.0).iloc[0]
    assert row["jsd"] == pytest.approx(ceiling(traces)[0])
    row = sparse(traces, 0.02).iloc[0]  # of the grid only 0.7 and 0.8 on the first word change so little
    assert row["jsd"] == pytest.approx(max(jsd([w, 1 - w], [0.75, 0.25]) for w in (0.7, 0.8)), abs=1e-6)
    none = sparse(traces, 1e-6).iloc[0]
    assert none[["jsd", "tvd"]].tolist() == [0, 0]


@kinds
@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.3])
def test_sparse_equals_trying_everything(kind, epsilon):
    """All single tokens and all mixtures of the grid, one by one."""
    traces = KINDS[kind](seed=3)
    table = sparse(traces, epsilon)
    for row, _, attention, _ in plain.documents(traces):
        n, best = len(attention), 0.0
        for i, j, w in itertools.product(range(n), range(n), (1.0, *GRID)):
            weights = np.zeros(n)
            weights[i] += w
            weights[j] += 1 - w
            if i == j and w < 1 or (value := plain.jsd(weights, attention)) <= best:
                continue
            change = 0.5 * np.abs(plain.output_under(traces, row, weights) - traces.outputs[row]).sum()
            best = value if change <= epsilon else best
        assert table["jsd"][row] == pytest.approx(best, abs=1e-12)


def test_long_documents_try_pairs_with_the_tokens_that_change_least():
    traces = toy_pairs((700,), seed=4)
    _, single = each_alone(traces)
    value, i, j, w = mixtures(traces.attention, single, 0.5)
    assert set(i) <= set(np.argsort(single)[: FEWEST]) and len(set(i)) == FEWEST
    assert (np.diff(value) <= 0).all() and value.min() > 0.5
    for at in range(0, len(i), len(i) // 20):
        weights = np.zeros(700)
        weights[[i[at], j[at]]] = w[at], 1 - w[at]
        assert value[at] == pytest.approx(jsd(weights, traces.attention), abs=1e-12)


@kinds
def test_bracket_holds(kind):
    """Single tokens and search <= lower end <= ceiling; all within epsilon."""
    traces = KINDS[kind](seed=6)
    weights = search(traces, steps=200)
    for epsilon in (0.01, 0.1):
        table = adversarial(traces, epsilon, weights)
        alone = np.where(each_alone(traces)[1] <= epsilon, jsd_point(traces.attention), 0.0)
        assert (table["jsd_lower"] >= np.maximum.reduceat(alone, traces.offsets[:-1]) - 1e-12).all()
        assert (table["jsd_lower"] >= table[["jsd_search", "jsd_sparse"]].max(axis=1)).all()
        assert (table["jsd_lower"] <= ceiling(traces) + 1e-12).all()
        assert (table[["tvd_search", "tvd_lower"]] <= epsilon + 1e-6).all(axis=None)
        assert table["jsd_lower"].mean() > 0.03


# Yardsticks


def test_shuffled_contributions_are_held_to_one_or_two_tokens(monkeypatch):
    monkeypatch.setattr(sys.modules[adversarial.__module__], "shuffles", lambda *_: np.array([1, 0]))
    traces = question()
    shuffled = replace(traces, contribution=traces.contribution[[1, 0]])
    row = adversarial(traces, 0.02, traces.attention).iloc[0]
    assert row["jsd_shuffled"] == sparse(shuffled, 0.02)["jsd"][0]
    assert ceilings(traces)["ceiling_permutation"][0] == pytest.approx(jsd([0.25, 0.75], [0.75, 0.25]), abs=1e-6)
