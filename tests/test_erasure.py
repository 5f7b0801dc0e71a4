"""Serrano & Smith's experiments: equal to one forward per removal, exact where they say so; acceptance tests."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import plain
import plain_erasure as twin
import pytest
from conftest import toy_pairs, toy_traces

from attn_book.derived import curve
from attn_core.errors import AttnError
from attn_core.experiments import draws as random
from attn_core.experiments.removal import (
    NEVER,
    Block,
    attention_gradient,
    by_class,
    ranking_values,
    removals,
    smallest_by_rival,
)
from attn_core.experiments.single import single
from attn_core.measures import jsd
from attn_core.traces import Traces, decisions
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
            yield replace(traces, bias=10 * traces.bias)  # the zero vector, and none at all, decide more often


def by_hand() -> Traces:
    """Weights 1/2, 1/4, 1/4, one logit, contributions 4, -1, -2, bias 1/2: logit 1.75; without the first -1."""
    contribution, bias = np.array([[4.0], [-1.0], [-2.0]]), np.array([0.5])
    return replace(toy_traces((3,)), score=np.log([1.0, 0.5, 0.5]), contribution=contribution, bias=bias)


def seed_of(purpose, numbers, wanted):
    """The first seed whose random numbers of the document are as wanted."""
    drawn = (random.uniforms(seed, purpose, np.zeros(1, int), np.array([0, numbers]))[0] for seed in range(99))
    return next(seed for seed, uniform in enumerate(drawn) if wanted(uniform))


def test_by_hand():
    row = removals(by_hand(), seed_of("removal", 3, lambda u: u[0] < u[1] < u[2])).iloc[0]
    # the last item first: logits 0.5 + (2 - 0.25) / 0.75, then 0.5 + 4, then the bias, all positive
    assert (row["removed_random"], row["removed_attention"], row["removed_optimum"]) == (NEVER, 1, 1)
    assert row["mass_attention"] == pytest.approx(0.5, abs=1e-7) and np.isnan(row["mass_random"])
    assert not row["zero_random"] and not row["zero_attention"]
    p = 1 / (1 + np.exp([-1.75, 1.0]))
    steps = curve(by_hand(), 0, "attention")
    assert steps["position"].tolist() == [-1, 0, 1, 2] and steps["label"].tolist() == [1, 0, 0, 1]
    np.testing.assert_allclose(steps["p"][:2], p, atol=1e-7)
    np.testing.assert_allclose(steps["mass"], [0, 0.5, 0.75, 1], atol=1e-7)
    one = single(by_hand(), seed_of("erased item", 1, lambda u: u[0] < 0.5)).iloc[0]
    other = 1 / (1 + np.exp(-(0.5 + 1.5 / 0.75)))  # r is the second item
    own, top, second = (np.array([q, 1 - q]) for q in (*p, other))
    assert one["delta_js@described"] == pytest.approx(jsd(own, top) - jsd(own, second), abs=1e-7)
    assert one["delta_alpha@described"] == pytest.approx(0.25, abs=1e-7)
    assert one["flips_attention"] and not one["flips_r_attention@described"]


def test_removals_equal_one_forward_per_removal():
    for traces in every_toy():
        draws = random.uniforms(3, "removal", traces.doc_id, traces.offsets)[0]
        table = removals(traces, 3, RANKINGS[:-1])
        for name, expected in twin.removals(traces, draws).items():
            removed, mass, zero = zip(*expected, strict=True)
            assert table[f"removed_{name}"].tolist() == list(removed), name
            np.testing.assert_allclose(table[f"mass_{name}"], mass, atol=1e-12)
            assert table[f"zero_{name}"].tolist() == [bool(flag) for flag in zero], name


@pytest.mark.parametrize("classes", CLASSES)
def test_gradient_is_that_of_the_output(classes):
    traces = toy_traces((6, 6, 6), classes=classes)
    found = attention_gradient(by_class(traces)).reshape(3, 6)
    for row, _, attention, contribution in plain.documents(traces):
        np.testing.assert_allclose(found[row], twin.slopes(traces, attention, contribution), atol=1e-8)


def test_first_order_is_the_slope_of_renormalised_erasure():
    """A small part of an item goes, the others are renormalised: p_y falls at the matched rate (specification, 8.3)."""
    traces, step = toy_traces((6,) * 4, classes=3), 1e-6
    rate = ranking_values(traces)["first_order"].reshape(4, 6)
    for row, _, attention, contribution in plain.documents(traces):
        y = twin.decode(traces, attention, contribution).argmax()
        for t in range(6):
            # the exact loss along the straight line from the own weights to those without item t, at its start
            target = attention.copy()
            target[t] = 0
            toward = attention + step * (target / target.sum() - attention)
            logits = [traces.bias + weight @ contribution for weight in (attention, toward)]
            p = [plain.output(one)[y] for one in logits]
            assert (p[0] - p[1]) / step == pytest.approx(rate[row, t], abs=1e-5)


def test_smallest_flip_set_equals_all_subsets():
    """Acceptance test: every subset is erased; also with the zero vector, with which the optimum bounds the boxes."""
    for traces in every_toy():
        short = traces.take(np.flatnonzero(traces.lengths <= 9))
        table = removals(short, rankings=("optimum",))
        for row, (removed, zero) in enumerate(zip(table["removed_optimum"], table["zero_optimum"], strict=True)):
            kept = twin.smallest_flip_set(short, row)
            assert (None if removed == NEVER or zero else removed) == kept
            if kept is None:
                assert (None if removed == NEVER else removed) == twin.smallest_flip_set(short, row, item_left=False)


@pytest.mark.parametrize("longest, trials", [(6, 1200), (10, 45)])
def test_smallest_flip_set_in_exact_arithmetic(longest, trials):
    """Whole numbers, rich in ties and zero weights: sums are exact, so the first index decides ties as in the code."""
    rng, tied = np.random.default_rng(0), 0
    for trial in range(trials):
        n, classes = int(rng.integers(1, longest + 1)), (2, 3, 5)[trial % 3]
        weight = rng.integers(trial % 2, 5, n)
        weight[0] += not weight.sum()
        value, bias = rng.integers(-2, 3, (n, classes)), rng.integers(-1, 2, classes)

        def decided(kept):
            return int((weight[kept, None] * (value + bias)[kept]).sum(axis=0).argmax())  # noqa: B023

        y = decided(range(n))
        brute = next(
            (
                size
                for size in range(1, n)
                for gone in combinations(range(n), size)
                for kept in [[t for t in range(n) if t not in gone]]
                if weight[kept].sum() and decided(kept) != y
            ),
            n + 3,
        )
        rivals = [k for k in range(classes) if k != y]
        margin = (weight[:, None] * (value + bias - (value[:, y] + bias[y])[:, None]))[:, rivals].astype(float)
        level = np.array([np.nextafter(0, -1) if k < y else 0 for k in rivals])  # a rival before y wins ties
        pad = ((0, 3), (0, 0))  # padding has weight 0
        attention, margin = np.pad(weight, pad[0])[None], np.pad(margin, pad)[None]
        tokens = np.arange(n + 3)[None]
        block = Block(np.array([0]), tokens, attention, margin, level[None])
        assert smallest_by_rival(block).min() == brute
        tied += smallest_by_rival(replace(block, level=np.zeros((1, classes - 1)))).min() != brute
    assert tied > trials / 50  # without the tie rule it would be wrong


def test_optimum_bounds_every_ranking_and_who_never_flips_has_the_label_of_the_bias():
    """Acceptance tests: with an item left and with the zero vector; and that some never flip."""
    never = 0
    for traces in every_toy():
        table, decided = removals(traces), decisions(traces.bias[None])[0]
        for name in RANKINGS:
            flips = table[table[f"removed_{name}"] != NEVER]
            assert flips["removed_optimum"].between(1, flips[f"removed_{name}"]).all()
            assert flips[f"zero_{name}"][flips[f"removed_{name}"] == flips["n"]].all()
            gone = (table[f"removed_{name}"] == NEVER).to_numpy()
            assert (decisions(traces.logits)[gone] == decided).all()
            never += gone.sum()
            if not np.isinf(traces.score).any():
                whole = (table[f"removed_{name}"] == table["n"]).to_numpy()
                assert (table[f"zero_{name}"].to_numpy() == whole).all()
    assert never > 100


def test_a_document_is_removed_alike_in_any_company_be_it_of_3000_items_or_of_one():
    traces = toy_traces((3, 3000, 1, 40, 41, 2999), classes=5)
    whole = document_table(traces)
    for row in range(len(traces)):
        alone = document_table(traces.take([row]))
        pd.testing.assert_frame_equal(alone, whole.iloc[[row]].reset_index(drop=True), rtol=1e-12)
    assert whole["n"].tolist() == traces.lengths.tolist() and np.isnan(whole["delta_js@coded"][2])
    assert summary_table(whole.iloc[[2]])["value"].notna().any()  # a set of one-item documents alone


def test_what_cannot_be_erased_is_refused():
    with pytest.raises(AttnError, match="text pairs"):
        removals(toy_pairs())


def test_one_logit_is_two_classes():
    """A flip of a one-logit model is a change of sign."""
    traces = toy_traces((2, 5, 9, 13, 4))
    two = by_class(traces)
    assert (two.contribution[:, 0] == 0).all() and (two.contribution[:, 1:] == traces.contribution).all()
    pd.testing.assert_frame_equal(removals(traces), removals(two))
    shifted = replace(two, contribution=two.contribution + 4, bias=two.bias - 1)  # a constant for all classes
    assert (removals(shifted).filter(like="removed_") == removals(two).filter(like="removed_")).all(axis=None)
