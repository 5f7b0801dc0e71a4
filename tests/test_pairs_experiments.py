"""Experiments on traces of text pairs and of three classes or more: by hand, bounds against loops, independence."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import KINDS, toy_pairs

from attn_core.experiments.adversarial import adversarial, ceiling
from attn_core.experiments.optimum import FEWEST, mixtures, sparse
from attn_core.experiments.permutation import permutation
from attn_core.experiments.search import search, select
from attn_core.measures import jsd, jsd_point
from attn_core.traces import Traces, each_alone

LENGTHS = (1, 2, 3, 5, 5, 8, 20)
several = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "one logit"])


def question() -> Traces:
    """One question, two words, three answers. Weights 3/4 and 1/4 on hidden shares (ln 3, 0) and (0, ln 3).

    tanh(x) with x = w ln 3 is (9^w - 1) / (9^w + 1): 1/2 at w = 1/2, 0.8 at w = 1. Logits: the two hidden units, and 0.
    """
    return Traces(
        doc_id=np.array([3]),
        label=np.array([0]),
        offsets=np.array([0, 2]),
        score=np.log([1.0, 1 / 3]).astype(np.float32),
        contribution=np.array([[np.log(3), 0], [0, np.log(3)]], np.float32),
        bias=np.zeros(3, np.float32),
        query=np.zeros((1, 2), np.float32),
        readout=np.array([[1, 0], [0, 1], [0, 0]], np.float32),
    )


def answer(w: float) -> np.ndarray:
    """Output of `question` with weight w on the first word, written out."""
    hidden = [(9**w - 1) / (9**w + 1), (9 ** (1 - w) - 1) / (9 ** (1 - w) + 1)]
    weight = np.exp([*hidden, 0.0])
    return weight / weight.sum()


def test_question_by_hand():
    """Swapping the weights swaps the first two answers, so TVD is their difference; selection takes what is within."""
    traces = question()
    np.testing.assert_allclose(traces.outputs[0], answer(0.75), atol=1e-7)
    change = answer(0.75)[0] - answer(0.75)[1]
    medians = [permutation(traces, 2, seed)["median_change"][0] for seed in range(20)]
    away = np.abs(np.subtract.outer(medians, [0, change / 2, change]))
    assert away.min(axis=1).max() < 1e-6
    assert {*away.argmin(axis=1)} == {0, 1, 2}
    weights = np.array([[1.0, 0.0], [0.7, 0.3], [0.0, 1.0]])
    moved = [0.5 * np.abs(answer(w) - answer(0.75)).sum() for w in weights[:, 0]]
    assert moved[1] < 0.03 < moved[0] < 0.2 < moved[2]
    for epsilon, chosen in ((0.03, 1), (0.2, 0), (1.0, 2), (0.001, -1)):
        row = select(traces, weights, epsilon).iloc[0]
        assert row["adversary"] == chosen
        assert row["tvd"] == pytest.approx(moved[chosen] if chosen >= 0 else 0.0, abs=1e-6)
        expected = jsd(weights[chosen], [0.75, 0.25]) if chosen >= 0 else 0.0
        assert row["jsd"] == pytest.approx(expected, abs=1e-6)


# Bounds


def test_sparse_by_hand():
    """`question`: weights (3/4, 1/4). Within 0.2 the first word alone; within 1 the second, the least attended."""
    traces = question()
    row = sparse(traces, 1.0).iloc[0]
    assert row["jsd"] == pytest.approx(ceiling(traces)[0])
    row = sparse(traces, 0.02).iloc[0]  # of the grid only 0.7 and 0.8 on the first word change so little
    assert row["jsd"] == pytest.approx(max(jsd([w, 1 - w], [0.75, 0.25]) for w in (0.7, 0.8)), abs=1e-6)
    none = sparse(traces, 1e-6).iloc[0]
    assert none[["jsd", "tvd"]].tolist() == [0, 0]


def test_shuffled_contributions_are_held_to_one_or_two_tokens():
    """Of two words they are swapped, or not."""
    traces = replace(question(), bias=np.array([2, 0, 0], np.float32))
    swapped = replace(traces, contribution=traces.contribution[::-1])
    found = {adversarial(traces, 0.02, seed=seed)["jsd_shuffled"][0] for seed in range(9)}
    assert len(found) == 2
    assert found == {sparse(each, 0.02)["jsd"][0] for each in (traces, swapped)}


def test_long_documents_try_pairs_with_the_tokens_that_change_least():
    traces = toy_pairs((700,), seed=4)
    _, single = each_alone(traces)
    pairs = mixtures(traces.attention, single, 0.5)
    assert set(pairs.i) <= set(np.argsort(single)[:FEWEST])
    assert len(set(pairs.i)) == FEWEST
    assert (np.diff(pairs.jsd) <= 0).all()
    assert pairs.jsd.min() > 0.5
    for at in range(0, len(pairs.i), len(pairs.i) // 20):
        weights = np.zeros(700)
        weights[pairs.i[at]] = pairs.weight[at]
        weights[pairs.j[at]] = 1 - pairs.weight[at]
        assert pairs.jsd[at] == pytest.approx(jsd(weights, traces.attention), abs=1e-12)


@several
def test_bracket_holds(kind):
    """Single tokens and search <= lower end <= ceiling; all within epsilon."""
    traces = KINDS[kind](LENGTHS, seed=6)
    weights = search(traces, steps=200)
    for epsilon in (0.01, 0.1):
        table = adversarial(traces, epsilon, weights)
        alone = np.where(each_alone(traces)[1] <= epsilon, jsd_point(traces.attention), 0.0)
        assert (table["jsd_lower"] >= np.maximum.reduceat(alone, traces.offsets[:-1]) - 1e-12).all()
        assert (table["jsd_lower"] >= table[["jsd_search", "jsd_sparse"]].max(axis=1)).all()
        assert (table["jsd_lower"] <= ceiling(traces) + 1e-12).all()
        assert (table[["tvd_search", "tvd_lower"]] <= epsilon + 1e-6).all(axis=None)
        assert table["jsd_lower"].mean() > 0.03


# Tables, independence
