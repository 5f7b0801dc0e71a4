"""Single erasures, dispersion, and the tables the archive keeps of Serrano & Smith's experiments."""

import numpy as np
import pandas as pd
import pytest
from conftest import one, toy_traces
from test_erasure import every_toy

from attn_core.experiments.removal import RANKINGS, removals
from attn_core.experiments.single import CHOICES, RULES, other_item, single, two_by_two
from attn_core.experiments.tables import described
from attn_lab.more.erasure import derived, dispersion


def test_an_item_flips_alone_where_it_is_the_first_that_is_removed():
    """And r, where it is that very item."""
    for traces in every_toy():
        table, removed, several = single(traces), removals(traces, rankings=CHOICES), traces.lengths > 1
        for choice in CHOICES:
            flips = table[f"flips_{choice}"]
            np.testing.assert_array_equal(flips, several & (removed[f"removed_{choice}"] == 1))
        same = table["same rule=coded"]
        assert (table["flips_r_attention rule=coded"][same] == table["flips_attention"][same]).all()
        assert (table["delta_js rule=coded"][same] == 0).all()
        assert not table["same rule=described"].any()


def test_the_other_item_by_both_rules():
    """Acceptance test: as coded r is i* with chance 1 / (n - 1) unless i* is the first item; as described never."""
    rng, draws = np.random.default_rng(0), 200_000
    for n in (2, 3, 5, 9):
        for top in range(n):
            tops, sizes, uniform = np.full(draws, top), np.full(draws, n), rng.random(draws)
            coded, described = (other_item(tops, sizes, uniform, rule) for rule in RULES)
            assert set(coded) == set(range(1, n))
            assert set(described) == set(range(n)) - {top}
            assert (coded == top).mean() == pytest.approx(0 if top == 0 else 1 / (n - 1), abs=0.006)
            for r, rest in ((coded, n - 1), (described, n - 1)):
                counts = np.bincount(r, minlength=n)
                np.testing.assert_allclose(counts[counts > 0] / draws, 1 / rest, atol=0.006)


def test_two_by_two_sums_to_100_over_documents_of_several_items():
    """Acceptance test, by hand as well."""
    table = single(toy_traces([4] * 60, classes=3))
    for choice in CHOICES:
        for rule in RULES:
            cells = two_by_two(table, choice, rule)
            assert cells.pop("n") == 60
            assert sum(cells.values()) == pytest.approx(100)
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


def documents_by_hand() -> pd.DataFrame:
    """Five documents: one item; ordinary; gradient never flips; only the zero vector; nothing ever flips."""
    removed = {name: [1, 2, 2, 2, -1] for name in RANKINGS} | {
        "random": [1, 4, 3, 2, -1],
        "attention": [1, 3, 2, 2, -1],
        "gradient": [1, 2, -1, 2, -1],
        "optimum": [1, 2, 1, 2, -1],
    }
    columns = {"n": [1, 4, 4, 2, 4]}
    for name, counts in removed.items():
        zero = [True, name == "random", False, True, False]
        columns |= {f"removed_{name}": counts, f"zero_{name}": zero, f"mass_{name}": [1, 0.5, 0.5, 1, np.nan]}
    return pd.DataFrame(columns)


def test_derived_by_hand():
    found, kept = derived(documents_by_hand()), derived(documents_by_hand(), item_left=True)
    np.testing.assert_array_equal(found["fraction_attention"], [np.nan, 0.75, 0.5, 1, np.nan])
    np.testing.assert_array_equal(found["regret_fraction_attention"], [np.nan, 0.25, 0.25, 0, np.nan])
    np.testing.assert_array_equal(found["equals_gradient"], [np.nan, 1, 0, 1, np.nan])
    np.testing.assert_array_equal(found["gradient_first"], [np.nan, 1, 0, 0, 0])
    assert found["common"].tolist() == [False, True, False, True, False]
    np.testing.assert_array_equal(kept["fraction_attention"], [np.nan, 0.75, 0.5, np.nan, np.nan])
    np.testing.assert_array_equal(kept["fraction_random"], [np.nan, np.nan, 0.75, np.nan, np.nan])
    np.testing.assert_array_equal(kept["mass_attention"], [np.nan, 0.5, 0.5, np.nan, np.nan])
    assert not kept["common"].any()


def test_whiskers_reach_the_last_value_within_one_and_a_half_boxes():
    values = np.array([0.0, 4, 5, 6, np.nan, 7, 8, 20])
    names = ("q25", "median", "q75", "whisker_low", "whisker_high")
    assert described(values, *names) == dict(zip(names, (4.5, 6, 7.5, 0, 8), strict=True))
    assert described(values[:0], "mean") == {}
