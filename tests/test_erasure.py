"""Serrano & Smith's experiments: equal to one forward per removal, exact where they say so; acceptance tests."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from conftest import one, refused, toy_pairs, toy_traces

from attn_core.experiments import draws as random
from attn_core.experiments.removal import (
    NEVER,
    attention_gradient,
    by_class,
    ranking_values,
    removals,
)
from attn_core.experiments.single import single
from attn_core.measures import jsd
from attn_core.traces import Traces, attending_only, decisions, probabilities
from attn_lab.more.beside import curve
from attn_lab.more.erasure import RANKINGS, document_table, summary_table

LENGTHS = (1, 2, 3, 4, 5, 5, 8, 13, 2, 7, 9)
CLASSES = (1, 2, 3, 5)


def with_zeros(traces, share=0.3, seed=1):
    """Some items of every document have weight exactly 0, never its top one."""
    rng = np.random.default_rng(seed)
    gone = (rng.random(len(traces.score)) < share) & (traces.score < 0)
    return replace(traces, score=np.where(gone, -np.inf, traces.score).astype(np.float32))


def every_toy():
    for classes in CLASSES:
        for seed in range(3):
            traces = toy_traces(LENGTHS, seed=seed, classes=classes)
            yield traces
            yield with_zeros(traces)
            yield replace(
                traces, bias=10 * traces.bias
            )  # the zero vector, and none at all, decide more often


def by_hand() -> Traces:
    """Weights 1/2, 1/4, 1/4, one logit, contributions 4, -1, -2, bias 1/2: logit 1.75; without the first -1."""
    return one([0.5, 0.25, 0.25], [4.0, -1.0, -2.0], 0.5, gradient=np.ones(3))


def seed_of(purpose, numbers, wanted):
    """The first seed whose random numbers of the document are as wanted."""
    drawn = (
        random.uniforms(seed, purpose, np.zeros(1, int), np.array([0, numbers]))[0] for seed in range(99)
    )
    return next(seed for seed, uniform in enumerate(drawn) if wanted(uniform))


def test_by_hand():
    row = removals(by_hand(), seed_of("removal", 3, lambda u: u[0] < u[1] < u[2])).iloc[0]
    # the last item first: logits 0.5 + (2 - 0.25) / 0.75, then 0.5 + 4, then the bias, all positive
    assert (row["removed_random"], row["removed_attention"], row["removed_optimum"]) == (NEVER, 1, 1)
    assert row["mass_attention"] == pytest.approx(0.5, abs=1e-7)
    assert np.isnan(row["mass_random"])
    assert not row["zero_random"]
    assert not row["zero_attention"]
    p = 1 / (1 + np.exp([-1.75, 1.0]))
    steps = curve(by_hand(), 0, "attention")
    assert steps["position"].tolist() == [-1, 0, 1, 2]
    assert steps["label"].tolist() == [1, 0, 0, 1]
    np.testing.assert_allclose(steps["p"][:2], p, atol=1e-7)
    np.testing.assert_allclose(steps["mass"], [0, 0.5, 0.75, 1], atol=1e-7)
    one = single(by_hand(), seed_of("erased item", 1, lambda u: u[0] < 0.5)).iloc[0]
    other = 1 / (1 + np.exp(-(0.5 + 1.5 / 0.75)))  # r is the second item
    own, top, second = (np.array([q, 1 - q]) for q in (*p, other))
    assert one["delta_js rule=described"] == pytest.approx(jsd(own, top) - jsd(own, second), abs=1e-7)
    assert one["delta_alpha rule=described"] == pytest.approx(0.25, abs=1e-7)
    assert one["flips_attention"]
    assert not one["flips_r_attention rule=described"]


def test_removals_equal_one_forward_per_removal():
    for traces in list(every_toy())[::4]:  # in turn as they are, with zero weights, with a large bias
        table = removals(traces)
        for row in range(len(traces)):
            for name in RANKINGS[:-1]:
                steps = curve(traces, row, name)
                flips = np.flatnonzero(steps["label"] != steps["label"][0])
                first = flips[0] if len(flips) else NEVER
                assert table[f"removed_{name}"][row] == first
                if len(flips):
                    assert table[f"mass_{name}"][row] == pytest.approx(steps["mass"][first], abs=1e-12)
                    assert table[f"zero_{name}"][row] == (steps["mass"][first] > 1 - 1e-12)


@pytest.mark.parametrize("classes", CLASSES)
def test_gradient_is_that_of_the_output(classes):
    """By central differences, each weight alone and none renormalised."""
    traces, step = by_class(toy_traces((6, 6, 6), classes=classes)), 1e-6
    found = attention_gradient(traces)
    for item, move in enumerate(step * np.eye(18)):
        p = [probabilities(traces.logits_under(traces.attention + side * move)) for side in (1, -1)]
        change = (p[0] - p[1])[np.arange(3), traces.predicted]
        assert change.sum() / (2 * step) == pytest.approx(found[item], abs=1e-8)


def test_first_order_is_the_slope_of_renormalised_erasure():
    """A small part of an item goes, the others are renormalised: p_y falls at the matched rate (specification, 8.3)."""
    traces, step = toy_traces((6,), classes=3), 1e-6
    rate = ranking_values(traces)["first_order"]
    for item in range(6):
        target = attending_only(traces, np.arange(6) != item)
        # the exact loss along the straight line from the own weights to those without the item, at its start
        toward = traces.attention + step * (target - traces.attention)
        moved = probabilities(traces.logits_under(toward))[0].max()
        assert (traces.p[0] - moved) / step == pytest.approx(rate[item], abs=1e-5)


def test_smallest_flip_set_equals_all_subsets():
    """Acceptance test: every subset is erased; also with the zero vector, with which the optimum bounds the boxes."""
    for traces in every_toy():
        table = removals(traces, rankings=("optimum",))
        for row in np.flatnonzero(traces.lengths <= 9):
            kept = np.array(list(product([False, True], repeat=traces.lengths[row])))
            texts = traces.take([row] * len(kept))
            weights = attending_only(texts, kept.ravel())
            flips = decisions(texts.logits_under(weights)) != texts.predicted
            left = np.add.reduceat(weights, texts.offsets[:-1]) > 0
            removed, zero = table.loc[row, ["removed_optimum", "zero_optimum"]]
            gone = (~kept).sum(1)
            smallest = gone[flips & left].min(initial=99)
            assert (99 if removed == NEVER or zero else removed) == smallest
            if smallest == 99:
                assert (99 if removed == NEVER else removed) == gone[flips].min(initial=99)


@pytest.mark.parametrize(("decided", "smallest"), [(0, NEVER), (1, 1)])
def test_of_equal_logits_the_first_class_counts(decided, smallest):
    """Two items of equal weight, of which one speaks for one of two classes: without it the logits are equal."""
    contribution = np.zeros((2, 2))
    contribution[0, decided] = 2.0
    traces = replace(
        toy_traces((2,), classes=2), score=np.zeros(2), contribution=contribution, bias=np.zeros(2)
    )
    assert removals(traces, rankings=("optimum",))["removed_optimum"].tolist() == [smallest]


def test_a_document_is_removed_alike_in_any_company_be_it_of_3000_items_or_of_one():
    traces = toy_traces((3, 3000, 1, 40, 41, 2999), classes=5)
    whole = document_table(traces)
    for row in range(len(traces)):
        alone = document_table(traces.take([row]))
        pd.testing.assert_frame_equal(alone, whole.iloc[[row]].reset_index(drop=True), rtol=1e-12)
    assert whole["n"].tolist() == traces.lengths.tolist()
    assert np.isnan(whole["delta_js rule=coded"][2])
    assert summary_table(whole.iloc[[2]])["value"].notna().any()  # a set of one-item documents alone


def test_what_cannot_be_erased_is_refused():
    with refused("text pairs"):
        removals(toy_pairs())


def test_one_logit_is_two_classes():
    """A flip of a one-logit model is a change of sign."""
    traces = toy_traces((2, 5, 9, 13, 4))
    two = by_class(traces)
    assert (two.contribution[:, 0] == 0).all()
    assert (two.contribution[:, 1:] == traces.contribution).all()
    pd.testing.assert_frame_equal(removals(traces), removals(two))
    shifted = replace(two, contribution=two.contribution + 4, bias=two.bias - 1)  # a constant for all classes
    assert (removals(shifted).filter(like="removed_") == removals(two).filter(like="removed_")).all(axis=None)
