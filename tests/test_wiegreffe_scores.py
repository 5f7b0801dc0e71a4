"""Verdicts on Wiegreffe & Pinter's numbers, claims and bands that follow the numbers."""

from dataclasses import replace

import numpy as np
import pytest
from scorecard_runs import row_for
from wiegreffe_results import (
    CURVE,
    adversary_of,
    curve,
    result_of,
)

from attn_book import derived
from attn_lab.runs.run import SEEDS, Run


def test_table_4_takes_no_single_run_for_a_mean(scored):
    lucky = result_of(adversary_of(SEEDS[0], 1e-3), 0.99, 0.6, 0.06)
    rows = scored([*curve(), lucky], "wiegreffe")
    row = row_for(rows, item="Table 4", corpus="sst", measure="F1 of the best adversary")
    assert row["ours"] == pytest.approx(0.831 - 5 * 5e-4) and row["n_seeds"] == 3
    alone = scored(curve(1), "wiegreffe")
    row = row_for(alone, item="Table 4", corpus="sst", measure="F1 of the best adversary")
    assert (row["unjudged"], row["n_seeds"]) == ("few seeds", 1) and np.isnan(row["low"])


def test_of_adversaries_that_differ_in_epochs_the_longest_counts(stored):
    short = replace(adversary_of(10, 5e-4), epochs=10)
    moving = result_of(short, jsd=0.5, tvd=0.1)
    moving.record["history"] = [{"test_jsd": 0.1}, {"test_jsd": 0.5}]
    other = result_of(replace(adversary_of(10, 5e-4), base=Run("sst", selection="test")), jsd=0.5, tvd=0.1)
    stored(curve(), [moving, other])
    rows = derived.adversaries("sst")
    assert len(rows) == 3 * len(CURVE) and set(rows["divergence"]) == {*CURVE}
    assert len(derived.adversaries("sst", every=True)) == len(rows) + 1
