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
    older_curve,
    older_of,
    result_of,
    uniform_test,
)

from attn_book import derived
from attn_lab.runs.run import SEEDS, Run


@pytest.fixture
def scored(scored):
    """The scorecard of this paper over several lists of results."""
    return lambda *parts: scored([result for part in parts for result in part], "wiegreffe")


# ---- rules -----------------------------------------------------------------------------------------------------------


# ---- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gap", "verdict"), [(0.002, "differs"), (0.006, "holds"), (0.015, "undecided"), (0.02, "differs")]
)
def test_table_2_is_judged_by_its_gap(scored, gap, verdict):
    """Printed on SST: 0.831 and 0.822. Two scores within 0.015 may have a gap off by 0.03."""
    rows = scored(uniform_test(gap=gap))
    row = row_for(rows, item="Table 2", corpus="sst", measure="F1 gap", statistic="dev-chosen")
    assert (row["reported"], row["verdict"]) == (pytest.approx(0.009), verdict)
    printed = {"diabetes": 0.069, "anemia": 0.039, "imdb": 0.023, "agnews": 0.004, "20news": 0.008}
    assert row["null_prediction"] == pytest.approx(np.mean(list(printed.values())), abs=1e-9)


def test_points_and_curves_are_on_the_halved_scale(scored):
    rows = scored(uniform_test(), curve())
    points = rows[(rows["item"] == "Figure 5") & (rows["corpus"] == "sst")].set_index("measure")["ours"]
    assert points["seeds: TVD, halved"] == pytest.approx(0.04) and points[
        "uniform model: TVD, halved"
    ] == pytest.approx(0.03)
    low = rows[(rows["item"] == "band: the curve is low") & (rows["corpus"] == "sst")].set_index("measure")
    third = low.loc["trained adversaries: TVD, halved, at JSD 0.3"]
    assert third["ours"] == pytest.approx(0.03) and third["n_seeds"] == 3
    assert set(rows.loc[(rows["kind"] == "band") & rows["ours"].notna(), "unjudged"]) == {"few seeds"}, "three curves"
    left = row_for(rows, item="band: seeds move outputs more than λ = 0 baselines", corpus="sst")
    assert left["ours"] == pytest.approx(0.04 - 0.025)
    under = row_for(rows, item="band: uniform is below the curve", corpus="sst")
    assert under["ours"] == pytest.approx(0.03 - np.interp(0.11, [0.05, 0.25], [0.05, 0.06]) / 2)
    table_4 = rows[(rows["item"] == "Table 4") & (rows["corpus"] == "sst")].set_index("measure")["ours"]
    found = [table_4[f"best adversary: {name}"] for name in ("JSD", "TVD, halved")]
    assert [table_4["F1 of the best adversary"], *found] == pytest.approx([0.831 - 5 * 5e-4, 0.45, 0.03])


def test_table_4_takes_no_single_run_for_a_mean(scored):
    lucky = result_of(adversary_of("sst", SEEDS[0], 1e-3), 0.99, 0.6, 0.06)
    rows = scored(uniform_test(), curve(), [lucky])
    row = row_for(rows, item="Table 4", corpus="sst", measure="F1 of the best adversary")
    assert row["ours"] == pytest.approx(0.831 - 5 * 5e-4) and row["n_seeds"] == 3
    alone = scored(uniform_test(count=1), curve(count=1))
    row = row_for(alone, item="Table 4", corpus="sst", measure="F1 of the best adversary")
    assert (row["unjudged"], row["n_seeds"]) == ("few seeds", 1) and np.isnan(row["low"])


# ---- which run is what -----------------------------------------------------------------------------------------------


GUIDES = "F1 of the guided network: adversary"


def test_table_3_is_read_off_between_the_adversaries_on_either_side(scored):
    near, far = (result_of(guide_run("sst", "adversary", 10, at), f1) for at, f1 in ((5e-4, 0.8), (2e-3, 0.6)))
    row = row_for(scored(uniform_test(), older_curve(), [near, far]), item="Table 3", corpus="sst", measure=GUIDES)
    read = np.interp(derived.GUIDE_JSD, [CURVE[5e-4][0], CURVE[2e-3][0]], [0.8, 0.6])
    assert [row["ours"], row["low"], row["high"]] == pytest.approx([read, 0.6, 0.8])
    assert (row["verdict"], row["n_seeds"]) == ("undecided", 1)
    assert derived.guided_scores(["sst"])["f1"].tolist() == [0.6], "the nearest to the printed distance"
    row = row_for(scored(uniform_test(), older_curve(), [near]), item="Table 3", corpus="sst", measure=GUIDES)
    assert row["ours"] == pytest.approx(0.8) and row["unjudged"] == "few seeds", "nothing on the other side"


def test_table_3_is_of_lambda_0_001_where_one_is_stored_the_longest_trained(scored):
    around = [result_of(guide_run("sst", "adversary", 10, at), f1) for at, f1 in ((5e-4, 0.8), (2e-3, 0.6))]
    short, long = (replace(older_of("sst", 10, 1e-3), epochs=epochs) for epochs in (40, 80))
    trained = [result_of(run, 0.82, jsd, 0.06) for run, jsd in ((short, 0.4), (long, 0.5))]
    trained[1].record["history"] = [{"test_jsd": 0.5}] * 80
    led = [
        result_of(replace(guide_run("sst", "adversary", seed), base=run), f1)
        for run, f1 in ((short, 0.75), (long, 0.72))
        for seed in SEEDS[:5]
    ]
    rows = scored(uniform_test(), older_curve(), trained, around, led)
    row = row_for(rows, item="Table 3", corpus="sst", measure=GUIDES)
    assert row["ours"] == pytest.approx(0.72) and (row["n_seeds"], row["unjudged"]) == (1, "few seeds")
    assert derived.guided_scores(["sst"])["f1"].tolist() == pytest.approx([0.72] * 5)


def test_of_adversaries_that_differ_in_epochs_the_longest_counts(stored):
    short = replace(adversary_of("sst", 10, 5e-4), epochs=10)
    moving = result_of(short, jsd=0.5, tvd=0.1)
    moving.record["history"] = [{"test_jsd": 0.1}, {"test_jsd": 0.5}]
    other = result_of(replace(adversary_of("sst", 10, 5e-4), base=Run("sst", selection="test")), jsd=0.5, tvd=0.1)
    stored(curve(), [moving, other])
    rows = derived.adversaries("sst")
    assert len(rows) == 3 * len(CURVE) and rows["settled"].all() and set(rows["divergence"]) == {*CURVE}
    assert derived.adversaries("sst", every=True)["settled"].tolist().count(False) == 1


@pytest.mark.parametrize(
    "corpus, gap, item, verdict",
    [
        ("sst", 0.002, "claim: attention is not needed", "holds"),
        ("sst", 0.015, "claim: attention is not needed", "differs"),
        ("sst", 0.010, "claim: attention is not needed", "undecided"),
        ("imdb", 0.03, "claim: attention is needed", "holds"),
        ("imdb", 0.008, "claim: attention is needed", "differs"),
        ("imdb", 0.008, "claim: attention beats uniform weights", "holds"),
        ("imdb", -0.01, "claim: attention beats uniform weights", "differs"),
    ],
)
def test_gaps_decide_by_their_interval(scored, corpus, gap, item, verdict):
    rows = scored(uniform_test(corpus, gap=gap))
    for chosen in ("dev", "test"):
        row = row_for(rows, item=item, corpus=corpus, statistic=f"base minus uniform by seed, {chosen}-chosen")
        assert row["verdict"] == verdict and row["ours"] == pytest.approx(gap, abs=1e-3) and row["low"] < row["high"]
    few = scored(uniform_test(corpus, 4, gap=gap))
    row = row_for(few, item=item, corpus=corpus, statistic="base minus uniform by seed, dev-chosen")
    assert (row["verdict"], row["unjudged"], row["n_seeds"]) == ("unjudged", "few seeds", 4)
