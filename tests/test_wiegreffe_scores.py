"""Verdicts on Wiegreffe & Pinter's numbers, claims and bands that follow the numbers."""

from dataclasses import replace

import numpy as np
import pytest
from scorecard_runs import row_for
from wiegreffe_results import (
    CURVE,
    adversary_of,
    curve,
    guide_run,
    result_of,
)

from attn_book import derived
from attn_lab.runs.run import SEEDS, Run


@pytest.fixture
def scored(scored):
    """The scorecard of this paper over several lists of results."""
    return lambda *parts: scored([result for part in parts for result in part], "wiegreffe")


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_table_4_takes_no_single_run_for_a_mean(scored):
    lucky = result_of(adversary_of(SEEDS[0], 1e-3), 0.99, 0.6, 0.06)
    rows = scored(curve(), [lucky])
    row = row_for(rows, item="Table 4", corpus="sst", measure="F1 of the best adversary")
    assert row["ours"] == pytest.approx(0.831 - 5 * 5e-4) and row["n_seeds"] == 3
    alone = scored(curve(1))
    row = row_for(alone, item="Table 4", corpus="sst", measure="F1 of the best adversary")
    assert (row["unjudged"], row["n_seeds"]) == ("few seeds", 1) and np.isnan(row["low"])


# ---- which run is what -----------------------------------------------------------------------------------------------


GUIDES = "F1 of the guided network: adversary"


def test_table_3_is_read_off_between_the_adversaries_on_either_side(scored):
    near, far = (result_of(guide_run(10, adversary_of(10, at, 2)), f1) for at, f1 in ((5e-4, 0.8), (2e-3, 0.6)))
    row = row_for(scored(curve(5, 2), [near, far]), item="Table 3", corpus="sst", measure=GUIDES)
    read = np.interp(derived.GUIDE_JSD, [CURVE[5e-4][0], CURVE[2e-3][0]], [0.8, 0.6])
    assert [row["ours"], row["low"], row["high"]] == pytest.approx([read, 0.6, 0.8])
    assert (row["verdict"], row["n_seeds"]) == ("undecided", 1)
    assert derived.guided_scores(["sst"])["f1"].tolist() == [0.6], "the nearest to the printed distance"
    row = row_for(scored(curve(5, 2), [near]), item="Table 3", corpus="sst", measure=GUIDES)
    assert row["ours"] == pytest.approx(0.8) and row["unjudged"] == "few seeds", "nothing on the other side"


def test_of_adversaries_that_differ_in_epochs_the_longest_counts(stored):
    short = replace(adversary_of(10, 5e-4), epochs=10)
    moving = result_of(short, jsd=0.5, tvd=0.1)
    moving.record["history"] = [{"test_jsd": 0.1}, {"test_jsd": 0.5}]
    other = result_of(replace(adversary_of(10, 5e-4), base=Run("sst", selection="test")), jsd=0.5, tvd=0.1)
    stored(curve(), [moving, other])
    rows = derived.adversaries("sst")
    assert len(rows) == 3 * len(CURVE) and rows["settled"].all() and set(rows["divergence"]) == {*CURVE}
    assert derived.adversaries("sst", every=True)["settled"].tolist().count(False) == 1
