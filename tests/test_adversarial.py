"""Adversarial attention: the exact optimum against grids and random points; its yardsticks."""

import itertools
from dataclasses import replace

import numpy as np
import plain
import pytest
from conftest import KINDS, one, refused, toy_pairs, toy_traces

from attn_core.experiments.adversarial import adversarial, ceiling, ceilings, mirrored
from attn_core.experiments.optimum import FEWEST, GRID, exact, expand, mixtures, sparse
from attn_core.experiments.search import search
from attn_core.measures import jsd, jsd_ragged
from attn_core.traces import each_alone, sigmoid
from attn_lab.more.best_permutation import best_permutation

LENGTHS = (1, 2, 3, 5, 5, 8, 13, 30)
several = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "one logit"])


def test_exact_by_hand():
    """Attention (0.2, 0.5, 0.3), s (-2, 1, 3), epsilon 0: z = 1; token 2 alone or 0.4 / 0.6 on tokens 1 and 3."""
    traces = one([0.2, 0.5, 0.3], [-2, 1, 3])
    row = exact(traces, 0.0).iloc[0]
    assert (row["i"], row["j"]) == (0, 2)
    assert row["weight"] == pytest.approx(0.4, abs=1e-6)
    assert row["jsd_exact"] == pytest.approx(jsd([0.4, 0, 0.6], [0.2, 0.5, 0.3]), abs=1e-6)
    assert row["jsd_exact"] > jsd([0, 1, 0], [0.2, 0.5, 0.3])
    assert row["tvd_exact"] < 1e-9
    assert expand(traces, exact(traces, 0.0)) == pytest.approx([0.4, 0, 0.6], abs=1e-6)
    # two tokens carry it where the output is to stay, one where it may move at will
    assert [adversarial(traces, epsilon)["n_support"][0] for epsilon in (0.0, 1.0)] == [2, 1]


EDGES = {
    "one token": one([1.0], [3.0]),
    "equal contributions": one([0.5, 0.1, 0.4], [1 / 3, 1 / 3, 1 / 3], 0.1),
    "p is 1 in floating point": one([0.2, 0.5, 0.3], [60, 50, 40]),
    "p is near 0": one([0.25, 0.75], [-60, -40]),
    "one weight is 0": one([0.6, 0.4, 0.0], [1.0, -1.0, 0.2]),
    "two weights are 0": one([0.5, 0.5, 0.0, 0.0], [0.1, -0.1, 2.0, -2.0]),
    "many": toy_traces(LENGTHS, seed=3),
}


@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1e-9, 1e-8, 0.01, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("name", EDGES)
def test_exact_equals_all_vertices(name, epsilon):
    traces = EDGES[name]
    table = exact(traces, epsilon)
    weights = expand(traces, table)
    np.testing.assert_allclose(table["jsd_exact"], plain.exact(traces, epsilon), atol=1e-12)
    reached = jsd_ragged(weights, traces.attention, traces.offsets)
    np.testing.assert_allclose(reached, table["jsd_exact"], atol=1e-12)
    moved = sigmoid(traces.logits_under(weights)[:, 0]) - traces.p
    np.testing.assert_allclose(np.abs(moved), table["tvd_exact"], atol=1e-12)
    assert (table["tvd_exact"] <= epsilon + 1e-9).all()


def test_two_logits_are_one_and_three_are_refused():
    traces = toy_traces(LENGTHS)
    two = replace(traces, contribution=traces.contribution * [1, 2], bias=traces.bias * [0, 1] + 1)
    np.testing.assert_allclose(exact(two, 0.05)["jsd_exact"], exact(traces, 0.05)["jsd_exact"], atol=1e-6)
    with refused("or 3 logits"):
        exact(toy_traces((3,), classes=3), 0.05)
    with refused("not by text pairs"):
        exact(toy_pairs((3,), outputs=2), 0.05)
    with refused("between 0 and 1"):
        exact(traces, -0.1)


def test_yardsticks_by_hand():
    traces = one([0.6, 0.3, 0.1], [2.0, 0.0, -2.0])
    above = ceilings(traces).iloc[0]
    assert above["ceiling"] == pytest.approx(jsd([0, 0, 1], [0.6, 0.3, 0.1]))
    assert above["ceiling_permutation"] == pytest.approx(jsd([0.1, 0.3, 0.6], [0.6, 0.3, 0.1]))
    assert best_permutation(traces, 1.0)["jsd"][0] == above["ceiling_permutation"]
    assert best_permutation(traces, 1e-6)["jsd"][0] == 0  # only the model's own order keeps the output


@pytest.mark.parametrize(("make", "best"), [(toy_traces, "jsd_exact"), (toy_pairs, "jsd_sparse")])
def test_shuffled_contributions_have_an_optimum_of_their_own(make, best):
    """Of two words they are swapped, or not."""
    traces = make((2,))
    swapped = replace(traces, contribution=traces.contribution[::-1])
    found = {adversarial(traces, 0.02, seed=seed)["jsd_shuffled"][0] for seed in range(9)}
    assert len(found) == 2
    assert found == {adversarial(each, 0.02)[best][0] for each in (traces, swapped)}


def test_permutations_are_never_better_than_all_of_them_and_nearly_as_good():
    """All 720 orders of 60 documents of 6 tokens: the climb is a lower bound and misses little of the mean. Of all
    orders, whatever the output, the mirrored one lies farthest."""
    traces = toy_traces([6] * 60, seed=2)
    orders = np.array(list(itertools.permutations(range(6))))
    for epsilon in (0.02, 0.1, 1.0):
        table = best_permutation(traces, epsilon)
        best = np.empty(60)
        for row, _, attention, contribution in plain.documents(traces):
            p = sigmoid(attention[orders] @ contribution[:, 0] + traces.bias[0])
            within = np.abs(p - traces.p[row]) <= epsilon + 1e-12
            best[row] = plain.jsd(attention[orders[within]], attention).max()
        assert (table["jsd"] <= best + 1e-12).all()
        assert table["jsd"].mean() > 0.93 * best.mean()
        assert (table["tvd"] <= epsilon + 1e-9).all()
    np.testing.assert_allclose(
        jsd_ragged(mirrored(traces), traces.attention, traces.offsets), best, atol=1e-12
    )


@pytest.mark.parametrize("n", [66, 90])
def test_climb_of_long_documents(n):
    """Both ways of proposing swaps come close to the free maximum and stay within epsilon."""
    traces = toy_traces([n] * 4, seed=1)
    free = jsd_ragged(mirrored(traces), traces.attention, traces.offsets)
    for epsilon, share in ((0.3, 0.97), (0.005, 0.9)):
        table = best_permutation(traces, epsilon)
        assert (table["tvd"] <= epsilon + 1e-9).all()
        assert (table["jsd"] > share * free).all()
        assert (table["jsd"] <= free + 1e-12).all()


# More outputs: a lower bound


@several
@pytest.mark.parametrize("epsilon", [0.001, 0.03, 0.2, 1.0])
def test_sparse_tries_every_token_and_every_pair(kind, epsilon):
    traces = KINDS[kind]((1, 2, 3, 5, 8), seed=1)
    found = sparse(traces, epsilon)
    for row, _, attention, _ in plain.documents(traces):
        alone = np.eye(len(attention))
        mixed = [w * one + (1 - w) * two for one, two in itertools.permutations(alone, 2) for w in GRID]
        weights = np.stack([attention, *alone, *mixed])
        moved = plain.moved(traces, row, weights)
        far = np.where(moved <= epsilon, plain.jsd(weights, attention), 0)
        expected = far.max(), moved[far.argmax()]
        assert found.loc[row, ["jsd", "tvd"]].tolist() == pytest.approx(expected, abs=1e-12)


def test_long_documents_try_pairs_with_the_tokens_that_change_least():
    traces = toy_pairs((700,), seed=4)
    _, single = each_alone(traces)
    pairs = mixtures(traces.attention, single, 0.5)
    assert set(pairs.i) == set(np.argsort(single)[:FEWEST])
    assert (np.diff(pairs.jsd) <= 0).all()
    assert pairs.jsd.min() > 0.5


@several
def test_bracket_holds(kind):
    """Single tokens and search <= lower end <= ceiling; all within epsilon."""
    traces = KINDS[kind]((1, 2, 3, 5, 5, 8, 20), seed=6)
    weights = search(traces, steps=200)
    for epsilon in (0.01, 0.1):
        table = adversarial(traces, epsilon, weights)
        assert (table["jsd_lower"] == table[["jsd_search", "jsd_sparse"]].max(axis=1)).all()
        assert (table["jsd_lower"] <= ceiling(traces) + 1e-12).all()
        assert (table[["tvd_search", "tvd_lower"]] <= epsilon + 1e-6).all(axis=None)
        assert table["jsd_lower"].mean() > 0.03
