"""Verdicts on Wiegreffe & Pinter's numbers, claims and bands that follow the numbers."""

from dataclasses import replace

import numpy as np
import pytest
from scorecard_runs import row_for
from wiegreffe_results import (
    CURVE,
    adversary_of,
    classifiers,
    curve,
    led,
    result_of,
)

from attn_book import derived
from attn_lab.runs.run import SEEDS, Run


def test_table_4_takes_no_single_run_for_a_mean(scored):
    lucky = result_of(adversary_of(SEEDS[0], 1e-3), 0.99, 0.6, 0.06)
    rows = scored([*curve(), lucky], "wiegreffe")
    row = row_for(rows, item="Table 4", corpus="sst", measure="F1 of the best adversary")
    assert row["ours"] == pytest.approx(0.831 - 5 * 5e-4)
    assert row["n_seeds"] == 3
    alone = scored(curve(1), "wiegreffe")
    row = row_for(alone, item="Table 4", corpus="sst", measure="F1 of the best adversary")
    assert (row["unjudged"], row["n_seeds"]) == ("few seeds", 1)
    assert np.isnan(row["low"])


def test_of_adversaries_that_differ_in_epochs_the_longest_counts(stored):
    short = replace(adversary_of(10, 5e-4), epochs=10)
    moving = result_of(short, jsd=0.5, tvd=0.1)
    moving.record["history"] = [{"test_jsd": 0.1}, {"test_jsd": 0.5}]
    other = result_of(replace(adversary_of(10, 5e-4), base=Run("sst", selection="test")), jsd=0.5, tvd=0.1)
    stored(curve(), [moving, other])
    rows = derived.adversaries("sst")
    assert len(rows) == 3 * len(CURVE)
    assert set(rows["divergence"]) == {*CURVE}
    assert set(rows["epochs"]) == {40}


@pytest.mark.parametrize(
    ("corpus", "gap", "item", "verdict"),
    [
        ("sst", 0.010, "claim: attention is not needed", "undecided"),
        ("imdb", 0.03, "claim: attention is needed", "holds"),
        ("imdb", 0.008, "claim: attention beats uniform weights", "holds"),
        ("sst", 0.006, "Table 2", "holds"),
        ("sst", 0.014, "Table 2", "undecided"),
        ("sst", 0.02, "Table 2", "differs"),
    ],
)
def test_gaps_decide_by_their_interval(scored, corpus, gap, item, verdict):
    """Printed in Table 2 for SST: 0.009, of scores that may each be 0.015 off."""
    rows = scored(classifiers(corpus, gap=gap), "wiegreffe")
    for chosen in ("dev", "test"):
        row = row_for(rows, item=item, corpus=corpus, measure="F1 gap", selection=chosen)
        assert row["verdict"] == verdict
        assert row["ours"] == pytest.approx(gap, abs=1e-3)
        assert row["low"] < row["high"]


def test_points_and_curves_are_on_the_halved_scale(scored):
    rows = scored([*curve(), *classifiers()], "wiegreffe")
    ours = rows[rows["corpus"] == "sst"].set_index(["item", "measure"])["ours"]
    expected = {
        ("Figure 5", "seeds: TVD, halved"): 0.04,
        ("Figure 5", "uniform model: TVD, halved"): 0.03,
        ("band: the curve is low", "trained adversaries: TVD, halved, at JSD 0.3"): 0.03,
        (
            "band: seeds move outputs more than λ = 0 baselines",
            "seeds: TVD, halved, minus the curve's at its left end",
        ): 0.04 - 0.025,
        ("band: uniform is below the curve", "uniform model: TVD, halved, minus the curve at its JSD"): 0.03
        - (0.05 + 0.01 * 0.06 / 0.2) / 2,
        ("Table 4", "best adversary: JSD"): 0.45,
        ("Table 4", "best adversary: TVD, halved"): 0.03,
    }
    assert ours[[*expected]].to_dict() == pytest.approx(expected)
    bands = rows[(rows["kind"] == "band") & rows["ours"].notna()]
    assert {*bands["unjudged"]} == {"few seeds"}, "three curves"
    assert {*bands["n_seeds"]} == {3}


GUIDED = {"item": "Table 3", "corpus": "sst", "measure": "F1 of the guided network: adversary"}


def test_table_3_is_read_off_between_the_adversaries_on_either_side(scored):
    near, far = led(5e-4, 0.45, 0.8), led(2e-3, 0.65, 0.6)
    row = row_for(scored([*near, *far, *classifiers()], "wiegreffe"), **GUIDED)
    assert row[["ours", "low", "high"]].tolist() == pytest.approx([0.8 - 0.2 * 0.17 / 0.2, 0.6, 0.8])
    assert row[["verdict", "n_seeds"]].tolist() == ["undecided", 1]
    assert derived.guided_scores(["sst"])["f1"].tolist() == [0.6], "the nearest to the printed distance"
    row = row_for(scored([*near, *classifiers()], "wiegreffe"), **GUIDED)
    assert row[["ours", "unjudged"]].tolist() == [0.8, "few seeds"], "nothing on the other side"


def test_table_3_is_of_lambda_0_001_where_one_is_stored_the_longest_trained(scored):
    around = [*led(5e-4, 0.45, 0.8), *led(2e-3, 0.65, 0.6)]
    trained = [*led(1e-3, 0.4, 0.75, 40, 5), *led(1e-3, 0.5, 0.72, 80, 5)]
    row = row_for(scored([*around, *trained, *classifiers()], "wiegreffe"), **GUIDED)
    assert row["ours"] == pytest.approx(0.72)
    assert row[["n_seeds", "unjudged"]].tolist() == [1, "few seeds"]
    assert derived.guided_scores(["sst"])["f1"].tolist() == pytest.approx([0.72] * 5)
