"""Trained adversaries in words: each sentence follows its numbers."""

import re
from dataclasses import replace

import pandas as pd
from wiegreffe_results import (
    CURVE,
    adversary_of,
    curve,
    guide_run,
    guided,
    result_of,
    runs_of,
    uniform_test,
)

from attn_book.wiegreffe import adversaries as told
from attn_book.wiegreffe import curves as wiegreffe_curves
from attn_book.wiegreffe import runs as wiegreffe_runs
from attn_core.experiments import frontier
from attn_core.runs import SEEDS


def points_of(*parts):
    return wiegreffe_curves.figure_5(runs_of(*parts), "sst")


def trained(points):
    return points[points["kind"] == "adversary"]


def test_epochs_are_those_of_the_runs():
    wanted = [adversary_of("imdb", 10, 1e-3), adversary_of("sst", 10, 1e-3)]
    assert told.told_epochs(runs_of(curve()), ["sst", "imdb", "agnews"], wanted) == "sst 40, imdb 40 (planned)"
    short = curve()
    for result in short:
        result.record["run"]["epochs"] = 20
    assert told.told_epochs(runs_of(short), ["sst"], wanted) == "sst 20"
    assert told.told_epochs(runs_of(), ["sst"], []) == "none"


def test_what_was_added_later_is_told():
    wanted = [adversary_of("sst", seed, divergence) for seed in SEEDS[:3] for divergence in CURVE]
    more = [result_of(replace(adversary_of("sst", 10, value), epochs=80), 0.8, 0.6, 0.05) for value in (5e-4, 8e-4)]
    assert told.told_added(runs_of(curve()), ["sst", "imdb"], wanted) == "none"
    more[0].record["history"] = [{"test_jsd": 0.6}] * 80
    assert told.told_added(runs_of(curve(), more), ["sst", "imdb"], wanted) == "sst λ 0.0005, 0.0008"


def test_the_grid_of_a_curve():
    assert told.told_grid(trained(points_of(curve()))) == "5 λ (0, 0.0001, 0.0003, 0.0005, 0.002), 3 seeds"
    assert told.told_grid(trained(points_of(curve(points={0.0: CURVE[0.0]}, count=1)))) == "1 λ (0), 1 seed"


def test_readings_say_where_no_point_is_near():
    read = frontier.read_off(trained(points_of(curve())), (0.15, 0.68))
    words = told.told_read("sst", read, 3)
    assert words == "sst (3 seeds, not decided): 0.028 at 0.15 (of 3 curves), not read at 0.68 (not reached)"
    far = frontier.read_off(trained(points_of(curve())), (0.15,), apart=0.1)
    assert told.told_read("sst", far, 3) == "sst (3 seeds, not decided): not read at 0.15 (gap 0.20 > 0.1)"
    assert told.told_read("sst", read.iloc[:1].assign(n_seeds=1), 1) == "sst (1 seed, not decided): 0.028 at 0.15"
    assert "not decided" not in told.told_read("sst", read, 5)
    assert "not read" not in told.told_read("sst", read, 3, rest_too=False)
    assert "not read at 0.15 (gap" in told.told_read("sst", far, 3, rest_too=False)
    moving = points_of(curve()).assign(settled=lambda rows: rows["divergence"] != 3e-4)
    late = frontier.read_off(trained(moving), (0.15, 0.35, 0.68))
    expected = "sst (3 seeds, not decided): not read at 0.15, 0.35 (not converged), not read at 0.68 (not reached)"
    assert told.told_read("sst", late, 3) == expected


def test_a_cell_holds_a_number_or_why_there_is_none():
    points = trained(points_of(curve()))
    moving = points.assign(settled=points["divergence"] != 3e-4)
    one = moving.assign(settled=moving["settled"] | (moving["seed"] == 10))
    interval = r"0\.028 \(0\.\d{3} to 0\.\d{3}\)"
    for rows, apart, wanted in ((points, 0.3, interval), (points, 0.1, "far"), (moving, 0.3, "moving"),
                                (one, 0.3, r"0\.0\d\d \[1 of 3\]")):  # fmt: skip
        (row,) = frontier.read_off(rows, (0.15,), apart=apart).itertuples()
        assert re.fullmatch(wanted, told.told_cell(row, 3)), told.told_cell(row, 3)
    (row,) = frontier.read_off(points, (0.68,)).itertuples()
    assert told.told_cell(row, 3) == "–"


def test_what_has_not_converged_is_named_by_seed():
    late = pd.DataFrame({"seed": [10, 50, 10], "divergence": [8e-4, 8e-4, 2e-3], "moved": [0.075, 0.0239, 0.03]})
    expected = "λ 0.0008 (seed 10 by 0.075, seed 50 by 0.0239), λ 0.002 (seed 10 by 0.03)"
    assert told.told_late(late) == expected and told.told_late(late.iloc[:0]) == "none"


def test_sides_follow_the_numbers_and_the_rule_for_reading():
    low, high = (points_of(uniform_test(uniform=(0.11, tvd)), curve()) for tvd in (0.01, 0.2))
    assert told.side_of_curve(low, "uniform") == "below" and told.side_of_curve(high, "uniform") == "above"
    assert told.side_of_curve(low, "search") == "" == told.side_of_curve(points_of(uniform_test()), "uniform")
    between = points_of(uniform_test(uniform=(0.11, 0.06)), curve())
    for points, side in ((low, "below every point"), (high, "above every point"), (between, "5 of 5 between them")):
        moving = points.assign(settled=points["divergence"] != 3e-4)
        assert told.side_of_curve(moving, "uniform") == f"{side} (not converged at its JSD)"
        own = moving["kind"].eq("uniform") & moving["seed"].isin([10, 50])
        mixed = told.side_of_curve(moving.assign(tvd_halved=moving["tvd_halved"].mask(own, 0.3)), "uniform")
        assert side == "above every point" or mixed.startswith("2 of 5 above every point, 3 of 5 "), "a mean hides them"


def test_the_cheapest_model_beside_other_seeds():
    found = pd.DataFrame({"at": [0.0] * 3 + [0.6], "seed": [10, 50, 257, 10], "tvd_halved": [0.02, 0.021, 0.022, 0.04]})
    others = pd.DataFrame({"tvd_halved": [0.03, 0.05, 0.07]})
    words = told.told_cheapest("sst", found, others, 3)
    assert words == (
        "sst (3 seeds, not decided): 0.021 (0.019 to 0.023) from JSD 0, 0.040 from JSD 0.6 (1 of 3 seeds), "
        "the last below that of 2 of 3 other seeds of the base (mean 0.050, median 0.050)"
    )
    assert "below that of 0 of 3" in told.told_cheapest("sst", found.assign(tvd_halved=0.08), others, 3)
    assert told.told_cheapest("sst", found[3:], others[:0], 1) == "sst (1 seed, not decided): 0.040 from JSD 0.6"
    assert told.told_cheapest("sst", found[:0], others, 3) == "sst (3 seeds, not decided): none"


def test_a_guide_is_judged_by_its_own_training_and_not_by_a_longer_one():
    """A longer training of the same λ, and a λ between, enter the curve; what guided is the shorter one."""
    short, guide = curve(count=1), guide_run("sst", "adversary", 10, 5e-4)
    longer = result_of(replace(adversary_of("sst", 10, 5e-4), epochs=80), 0.8, 0.6, 0.05)
    longer.record["history"] = [{"test_jsd": 0.6}] * 80
    between = result_of(replace(adversary_of("sst", 10, 8e-4), epochs=80), 0.99, 0.62, 0.05)  # the best, guides none
    guided_by = [result_of(replace(guide, seed=seed), 0.7) for seed in SEEDS[:5]]
    runs = runs_of(uniform_test(), short, [longer, between], guided(adversary=None), guided_by)
    assert {80, 3} == set(wiegreffe_runs.adversaries(runs, "sst")["epochs"])
    scores = wiegreffe_runs.guided_scores(runs, ["sst"])
    assert set(scores[scores["source"] == "adversary"]["divergence"]) == {5e-4}


def test_other_seeds_are_told_by_mean_and_median():
    seeds = pd.DataFrame({"seed": [50, 257, 7], "jsd": [0.1, 0.2, 0.6], "tvd_halved": [0.03, 0.04, 0.09]})
    assert told.told_others(seeds) == (
        "0.300 and 0.053 (medians 0.200 and 0.040; 3 seeds, the farthest in TVD, seed 7, at 0.600 and 0.090)"
    )
