"""The page on what one code base shows: differences by hand, and sentences that turn with the numbers."""

import numpy as np
import pandas as pd
import pytest
from scorecard_runs import result_of

from attn_book.debate import findings
from attn_core.measures import seed_interval
from attn_core.runs import SEEDS

MEANS = {"jsd_search@0.05": 0.45, "jsd_exact@0.05": 0.63, "jsd_shuffled@0.05": 0.67, "ceiling": 0.68}
LABELS = {"sst": "sst", "agnews": "agnews (subset)"}


def drawn(count=5, epsilon=0.05, **changed):
    """Yardsticks of some seeds: each rises by 0.001 a seed, the ceiling by 0.002; shares are the means minus 0.1."""
    every = pd.DataFrame([
        {"corpus": corpus, "seed": seed, "statistic": statistic, "measure": measure, "predicted": "all", "bin": "all",
         "value": changed.get(statistic.split("@")[0], value) + 0.001 * i * (1 + (statistic == "ceiling")) - off}
        for corpus in ("agnews", "sst")
        for i, seed in enumerate(SEEDS[:count])
        for statistic, value in MEANS.items()
        for measure, off in (("mean", 0.0), ("share_above_0.6", 0.1), ("median", 0.3))
    ])  # fmt: skip
    return findings.yardsticks(every, epsilon, LABELS)


def short(**changed):
    return findings.differences(drawn(**changed), "exact optimum", "the paper's search")


def test_yardsticks_come_in_the_order_of_the_page_with_what_the_data_are():
    rows = drawn()
    assert len(rows) == 2 * 5 * 4 * 2 and list(dict.fromkeys(rows["label"])) == ["sst", "agnews (subset)"]
    chosen = rows[(rows["series"] == "ceiling") & (rows["label"] == "sst") & (rows["panel"] == "mean JSD")]
    assert chosen["value"].tolist() == pytest.approx([0.68, 0.682, 0.684, 0.686, 0.688])
    assert set(drawn(epsilon=0.01)["series"]) == {"ceiling"}, "only the ceiling does without an ε"


def test_differences_are_paired_by_seed():
    found = findings.differences(drawn(), "ceiling", "exact optimum").set_index("label").loc["sst"]
    by_hand = 0.05 + 0.001 * np.arange(5)
    assert found["mean"] == pytest.approx(by_hand.mean()) and found["n_seeds"] == 5
    assert (found["low"], found["high"]) == pytest.approx(seed_interval(by_hand))
    rows = drawn()
    rows = rows[~((rows["seed"] == SEEDS[0]) & (rows["series"] == "ceiling"))]
    assert set(findings.differences(rows, "ceiling", "exact optimum")["n_seeds"]) == {4}
    assert findings.differences(drawn(epsilon=0.01), "ceiling", "exact optimum").empty


@pytest.mark.parametrize(
    ("changed", "told"),
    [({}, "below on sst, agnews (subset)"), ({"jsd_search": 0.7}, "beyond on sst, agnews"), ({"count": 4}, "too few")],
)
def test_sentences_turn_with_the_numbers(changed, told):
    assert findings.told_sides(short(**changed), "below", "beyond").startswith(told)


def test_an_interval_about_zero_decides_nothing_and_no_run_is_said():
    rows = pd.DataFrame({"label": ["sst"], "mean": [0.01], "low": [-0.01], "high": [0.03], "n_seeds": [5]})
    none = rows.iloc[:0]
    assert findings.told_sides(rows, "below", "beyond") == "not decided on sst"
    assert findings.told_sides(none, "below", "beyond") == "no run" and findings.listed(none) == ["no run"]
    assert findings.told_range(rows) == "0.01 to 0.01" and findings.told_range(rows.assign(n_seeds=2)) == "–"
    assert findings.listed(rows.assign(low=0.0002)) == ["sst: +0.0100 (+0.0002 to +0.0300), 5 seeds"]
    below = rows.assign(mean=-0.01, low=-0.03, high=-0.0001)
    assert findings.listed(below) == ["sst: -0.0100 (-0.0300 to -0.0001), 5 seeds"]


def test_other_data_than_the_papers_say_so_in_every_label():
    found = [result_of("sst"), result_of("imdb", fraction=0.1)]
    assert findings.labelled(found) == {"sst": "sst", "imdb": "imdb (subset)"}
