"""Serrano & Smith's experiments: equal to one forward per removal, exact where they say so; acceptance tests."""

from dataclasses import replace
from itertools import product
from math import nan

import numpy as np
import pandas as pd
import pytest
from conftest import one, refused, toy_pairs, toy_traces
from scipy.special import expit

from attn_core.experiments.removal import (
    NEVER,
    RANKINGS,
    attention_gradient,
    by_class,
    ranking_values,
    removals,
)
from attn_core.experiments.single import CHOICES, RULES, other_item, single, two_by_two
from attn_core.experiments.tables import described
from attn_core.measures import jsd
from attn_core.traces import attending_only, decisions, probabilities
from attn_lab.more.beside import curve
from attn_lab.more.erasure import derived, dispersion, document_table, summary_table

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


def test_single_erasures_by_hand():
    """Weights 1/2, 1/4, 1/4, one logit, contributions 4, -1, -1, bias 1/2: logit 2; without the first -1/2."""
    row = single(one([0.5, 0.25, 0.25], [4.0, -1.0, -1.0], 0.5, gradient=np.ones(3))).iloc[0]
    own, top, second = (np.array([expit(logit), expit(-logit)]) for logit in (2, -0.5, 0.5 + 1.75 / 0.75))
    assert row["delta_js rule=described"] == pytest.approx(jsd(own, top) - jsd(own, second), abs=1e-7)
    assert row["delta_alpha rule=described"] == pytest.approx(0.25, abs=1e-7)
    assert row["flips_attention"]
    assert not row["flips_r_attention rule=described"]


def test_removals_equal_one_forward_per_removal():
    for traces in list(every_toy())[::4]:  # in turn as they are, with zero weights, with a large bias
        table = removals(traces)
        for row in range(len(traces)):
            for name in RANKINGS[:-1]:
                steps = curve(traces, row, name)
                flipped = steps[steps["label"] != steps["label"][0]]
                first, mass = flipped[["removed", "mass"]].iloc[0] if len(flipped) else (NEVER, nan)
                assert table[f"removed_{name}"][row] == first
                assert table[f"mass_{name}"][row] == pytest.approx(mass, abs=1e-12, nan_ok=True)
                assert table[f"zero_{name}"][row] == (mass > 1 - 1e-12)


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
            zero = np.add.reduceat(weights, texts.offsets[:-1]) == 0
            sets = zip(zero[flips], (~kept).sum(1)[flips], strict=True)  # some item left comes first
            found = tuple(table.loc[row, ["zero_optimum", "removed_optimum"]])
            assert found == min(sets, default=(False, NEVER))


@pytest.mark.parametrize(("decided", "smallest"), [(0, NEVER), (1, 1)])
def test_of_equal_logits_the_first_class_counts(decided, smallest):
    """Two items of equal weight, of which one speaks for one of two classes: without it the logits are equal."""
    traces = one([0.5, 0.5], np.outer([2, 0], np.eye(2)[decided]))
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
    pd.testing.assert_frame_equal(removals(traces), removals(two))
    shifted = replace(two, contribution=two.contribution + 4, bias=two.bias - 1)  # a constant for all classes
    assert (removals(shifted).filter(like="removed_") == removals(two).filter(like="removed_")).all(axis=None)


# Single erasures, dispersion, and the tables that the archive keeps


def test_an_item_flips_alone_where_it_is_the_first_that_is_removed():
    """And r, where it is that very item."""
    for traces in every_toy():
        table, removed = single(traces), removals(traces, rankings=CHOICES)
        for choice in CHOICES:
            flips = table[f"flips_{choice}"]
            np.testing.assert_array_equal(flips, (traces.lengths > 1) & (removed[f"removed_{choice}"] == 1))
        same = table["same rule=coded"]
        assert (table["flips_r_attention rule=coded"][same] == table["flips_attention"][same]).all()
        assert (table["delta_js rule=coded"][same] == 0).all()
        assert not table["same rule=described"].any()


def test_the_other_item_by_both_rules():
    """Acceptance test: as coded r is i* with chance 1 / (n - 1) unless i* is the first item; as described never."""
    draws = 200_000
    uniform = np.random.default_rng(0).random(draws)
    for n in (2, 3, 5, 9):
        for top in range(n):
            coded, described = (
                other_item(np.full(draws, top), np.full(draws, n), uniform, rule) for rule in RULES
            )
            assert set(coded) == set(range(1, n))
            assert set(described) == set(range(n)) - {top}
            for r in (coded, described):
                counts = np.unique(r, return_counts=True)[1]
                np.testing.assert_allclose(counts / draws, 1 / (n - 1), atol=0.006)


def test_two_by_two_sums_to_100_over_documents_of_several_items():
    """Acceptance test, by hand as well."""
    table = single(toy_traces([4] * 60, classes=3))
    for choice, rule in product(CHOICES, RULES):
        assert sum(two_by_two(table, choice, rule).values()) == pytest.approx(100 + 60)
    flags = pd.DataFrame({"flips_product": [1, 1, 0, 0], "flips_r_product rule=coded": [1, 0, 1, 0]})
    cells = dict.fromkeys(("both", "only_top", "only_random", "neither"), 25)
    assert two_by_two(flags, "product", "coded") == cells | {"n": 4}


def test_dispersion_by_hand():
    """Weights 3/4 and 1/4 on contributions 1 and 3: 1 - 1.5² / 3; evenly 1 - 2² / 5. What all classes get is no
    difference: of (1, -1, 0) + 8 and (0, 1, -1) + 5 it is 1 - 7/16; evenly 1 - 1/4. One item has none."""
    for contribution, expected in (([1.0, 3], (0.25, 0.2)), ([[9.0, 7, 8], [5, 6, 4]], (0.5625, 0.75))):
        found = dispersion(one([0.75, 0.25], contribution)).iloc[0]
        assert (found["dispersion_weighted"], found["dispersion"]) == pytest.approx(expected)
    assert dispersion(toy_traces((1,)))["dispersion"].isna().all()


def test_derived_by_hand():
    """Five documents: one item; ordinary; gradient never flips; only the zero vector; nothing ever flips."""
    zero, mass = [True, False, False, True, False], [1, 0.5, 0.5, 1, nan]
    columns = {"n": [1, 4, 4, 2, 4]}
    for name in RANKINGS:
        columns |= {f"removed_{name}": [1, 2, 2, 2, -1], f"zero_{name}": zero, f"mass_{name}": mass}
    columns["removed_random"], columns["zero_random"] = [1, 4, 3, 2, -1], [True, True, False, True, False]
    columns["removed_attention"] = [1, 3, 2, 2, -1]
    columns["removed_gradient"] = [1, 2, -1, 2, -1]
    columns["removed_optimum"] = [1, 2, 1, 2, -1]
    expected = {
        "fraction_attention": [nan, 0.75, 0.5, 1, nan],
        "regret_fraction_attention": [nan, 0.25, 0.25, 0, nan],
        "equals_gradient": [nan, 1, 0, 1, nan],
        "gradient_first": [nan, 1, 0, 0, 0],
        "common": [False, True, False, True, False],
    }
    kept = {
        "fraction_attention": [nan, 0.75, 0.5, nan, nan],
        "fraction_random": [nan, nan, 0.75, nan, nan],
        "mass_attention": [nan, 0.5, 0.5, nan, nan],
        "common": [False] * 5,
    }
    for item_left, by_hand in ((False, expected), (True, kept)):
        found = derived(pd.DataFrame(columns), item_left)
        pd.testing.assert_frame_equal(found[[*by_hand]], pd.DataFrame(by_hand), check_dtype=False)


def test_whiskers_reach_the_last_value_within_one_and_a_half_boxes():
    values = np.array([0.0, 4, 5, 6, np.nan, 7, 8, 20])
    names = ("q25", "median", "q75", "whisker_low", "whisker_high")
    assert described(values, *names) == dict(zip(names, (4.5, 6, 7.5, 0, 8), strict=True))
    assert described(values[:0], "mean") == {}
