"""The page on what one code base shows: differences by hand, and sentences that turn with the numbers."""

import numpy as np
import pandas as pd
import pytest

from attn_core import findings
from attn_core.measures import seed_interval
from attn_core.runs import SEEDS

MEANS = {"jsd_search@0.05": 0.45, "jsd_exact@0.05": 0.63, "jsd_shuffled@0.05": 0.67, "ceiling": 0.68}


def every(corpora=("sst", "20news"), count=5, **changed):
    """Summaries of some seeds: each yardstick's mean rises by 0.001 a seed, its share above 0.6 is the mean."""
    rows = [
        {"corpus": corpus, "seed": seed, "statistic": statistic, "measure": measure, "predicted": "all", "bin": "all",
         "value": changed.get(statistic.split("@")[0], value) + 0.001 * i * (1 + (statistic == "ceiling"))}
        for corpus in corpora
        for i, seed in enumerate(SEEDS[:count])
        for statistic, value in MEANS.items()
        for measure in ("mean", "share_above_0.6", "median")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def short(**changed):
    return findings.differences(findings.yardsticks(every(**changed), 0.05), "exact optimum", "the paper's search")


def test_yardsticks_are_a_line_a_run_in_the_order_of_the_data_sets():
    rows = findings.yardsticks(every(), 0.05)
    assert len(rows) == 2 * 5 * 4 and list(dict.fromkeys(rows["corpus"])) == ["sst", "20news"]
    assert rows.loc[(rows["name"] == "ceiling") & (rows["corpus"] == "sst"), "mean"].tolist() == pytest.approx(
        [0.68, 0.682, 0.684, 0.686, 0.688]
    )
    other = findings.yardsticks(every(), 0.01)
    assert set(other["name"]) == {"ceiling"}, "only the ceiling does without an ε"


def test_differences_are_paired_by_seed():
    found = findings.differences(findings.yardsticks(every(), 0.05), "ceiling", "exact optimum").iloc[0]
    by_hand = 0.05 + 0.001 * np.arange(5)
    assert found["mean"] == pytest.approx(by_hand.mean()) and found["n_seeds"] == 5
    assert (found["low"], found["high"]) == pytest.approx(seed_interval(by_hand))
    one = every(("sst",))
    one = one[~((one["seed"] == SEEDS[0]) & (one["statistic"] == "ceiling"))]
    assert findings.differences(findings.yardsticks(one, 0.05), "ceiling", "exact optimum").iloc[0]["n_seeds"] == 4


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, "below on sst, 20news"),
        ({"jsd_search": 0.7}, "beyond on sst, 20news"),
        ({"count": 4}, "too few seeds on sst"),
    ],
)
def test_sentences_turn_with_the_numbers(changed, told):
    assert findings.told_sides(short(**changed), "below", "beyond").startswith(told)


def test_an_interval_about_zero_decides_nothing_and_no_run_is_said():
    rows = pd.DataFrame({"corpus": ["sst"], "mean": [0.01], "low": [-0.01], "high": [0.03], "n_seeds": [5]})
    assert findings.told_sides(rows, "below", "beyond") == "not decided on sst"
    assert findings.told_sides(rows.iloc[:0], "below", "beyond") == "no run" and findings.listed(rows.iloc[:0]) == [
        "no run"
    ]
    assert findings.told_range(rows) == "0.01 to 0.01" and findings.told_range(rows.assign(n_seeds=2)) == "–"
    assert findings.listed(rows.assign(low=0.0002)) == ["sst: +0.0100 (+0.0002 to +0.0300), 5 seeds"]


def test_panels_hold_both_columns_of_every_yardstick():
    drawn = findings.panels(findings.yardsticks(every(), 0.05), ["sst", "imdb"])
    assert set(drawn["label"]) == {"sst"} and len(drawn) == 2 * 4 and drawn["panel"].nunique() == 2
    assert drawn["mean"].between(0.4, 0.7).all() and (drawn["low"] < drawn["high"]).all()


def test_the_rule_for_r_by_hand():
    rows = pd.DataFrame(
        [
            {"corpus": corpus, "encoder": "han_rnn", "seed": seed, "statistic": f"delta_js@{rule}", "bin": "all",
             "measure": "share_negative", "value": value}
            for corpus in ("amazon", "yelp")
            for seed in SEEDS[:3]
            for rule, value in (("coded", 0.09), ("described", 0.15))
        ]
    )  # fmt: skip
    told = findings.told_rules(rows, [("yelp", "han_rnn")])
    assert told == ["amazon: 15.0% (15.0% to 15.0%) as described, 9.0% (9.0% to 9.0%) as coded"]
    assert findings.told_rules(rows.iloc[:0]) == ["no run"]
