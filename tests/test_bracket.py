"""Bounds and yardsticks of adversarial attention for text pairs and three classes or more."""

import itertools
from dataclasses import replace

import numpy as np
import plain
import pytest
from conftest import toy_pairs
from test_pairs_experiments import KINDS, kinds, question

from attn_core.experiments import bracket, yardsticks
from attn_core.experiments.adversarial import adversarial
from attn_core.experiments.search import search
from attn_core.experiments.yardsticks import ceiling, controls, mirrored
from attn_core.measures import jsd, jsd_point, jsd_ragged, tvd
from attn_core.traces import each_alone


def test_sparse_by_hand():
    """`question`: weights (3/4, 1/4). Within 0.2 the first word alone; within 1 the second, the least attended."""
    traces = question()
    row = bracket.sparse(traces, 1.0).iloc[0]
    assert row["jsd"] == pytest.approx(ceiling(traces)[0])
    row = bracket.sparse(traces, 0.02).iloc[0]  # of the grid only 0.7 and 0.8 on the first word change so little
    assert row["jsd"] == pytest.approx(max(jsd([w, 1 - w], [0.75, 0.25]) for w in (0.7, 0.8)), abs=1e-6)
    none = bracket.sparse(traces, 1e-6).iloc[0]
    assert none[["jsd", "tvd"]].tolist() == [0, 0]


@kinds
@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.3])
def test_sparse_equals_trying_everything(kind, epsilon):
    """All single tokens and all mixtures of the grid, one by one."""
    traces = KINDS[kind](seed=3)
    table = bracket.sparse(traces, epsilon)
    for row, _, attention, _ in plain.documents(traces):
        n, best = len(attention), 0.0
        for i, j, w in itertools.product(range(n), range(n), (1.0, *bracket.GRID)):
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
    value, i, j, w = bracket.mixtures(traces.attention, single, 0.5)
    assert set(i) <= set(np.argsort(single)[: bracket.FEWEST]) and len(set(i)) == bracket.FEWEST
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
        assert (table["jsd_lower"] <= table["ceiling"] + 1e-12).all()
        assert (table["jsd_permutation"] <= table["ceiling_permutation"] + 1e-12).all()
        assert (table[["tvd_search", "tvd_lower"]] <= epsilon + 1e-6).all(axis=None)
        assert table["jsd_lower"].mean() > 0.03


# Yardsticks


def test_controls_of_a_question_by_hand(monkeypatch):
    monkeypatch.setattr(yardsticks, "shuffles", lambda *_: np.array([1, 0]))
    traces = question()
    wide, narrow = (controls(traces, epsilon).iloc[0] for epsilon in (1.0, 1e-6))
    assert wide["ceiling_permutation"] == pytest.approx(jsd([0.25, 0.75], [0.75, 0.25]), abs=1e-6)
    assert wide["jsd_permutation"] == wide["ceiling_permutation"]
    assert narrow["jsd_permutation"] == narrow["tvd_permutation"] == 0
    shuffled = replace(traces, contribution=traces.contribution[[1, 0]])
    middle = controls(traces, 0.02).iloc[0]
    assert middle["jsd_shuffled"] == bracket.sparse(shuffled, 0.02)["jsd"][0]


def test_permutations_are_never_better_than_all_orders_and_nearly_as_good():
    """All 120 orders of 40 documents of 5 tokens."""
    traces = toy_pairs([5] * 40, seed=2)
    orders = np.array(list(itertools.permutations(range(5))))
    for epsilon in (0.03, 0.15):
        table = controls(traces, epsilon)
        truth = np.zeros(40)
        for row, _, attention, _ in plain.documents(traces):
            permuted = attention[orders]
            outputs = np.array([plain.output_under(traces, row, weights) for weights in permuted])
            within = tvd(outputs, traces.outputs[row], axis=-1) <= epsilon + 1e-12
            truth[row] = jsd(permuted[within], attention).max()
        assert (table["jsd_permutation"] <= truth + 1e-12).all()
        assert table["jsd_permutation"].mean() > 0.9 * truth.mean() > 0
        assert (table["tvd_permutation"] <= epsilon + 1e-9).all()


def test_permutations_reach_the_mirror_where_the_output_does_not_matter():
    traces = toy_pairs((3, 9, 30, 120), seed=2)
    flat = replace(traces, readout=np.zeros_like(traces.readout))
    found = yardsticks.best_permutation(flat, 0.01)["jsd"]
    np.testing.assert_allclose(found, jsd_ragged(mirrored(flat), flat.attention, flat.offsets), atol=1e-12)
