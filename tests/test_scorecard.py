"""Means over seeds, the papers' numbers under our names, and verdicts that follow the numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attn_core import notebook, scorecard
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.errors import AttnError
from attn_core.reported import class_label, reported, value
from attn_core.runs import AbsentRun
from attn_core.seeds import book_seeds, over_seeds, paired_difference


def test_student_interval_by_hand():
    table = pd.DataFrame({"corpus": "sst", "seed": [1, 2, 3], "value": [1.0, 2.0, 3.0]})
    row = over_seeds(table, "corpus").iloc[0]
    assert row["mean"] == 2 and row["n_seeds"] == 3 and row["std"] == 1
    half = 4.302652729911275 / np.sqrt(3)  # t quantile 0.975 with 2 degrees of freedom
    assert row["low"] == pytest.approx(2 - half) and row["high"] == pytest.approx(2 + half)


def test_one_seed_has_no_interval():
    row = over_seeds(pd.DataFrame({"corpus": ["sst"], "value": [0.5]}), "corpus").iloc[0]
    assert row["mean"] == 0.5 and np.isnan(row["low"]) and np.isnan(row["high"])


def test_paired_difference_pairs_by_seed():
    first = pd.DataFrame({"seed": [2, 1, 3], "value": [2.0, 1.0, 9.0]})
    second = pd.DataFrame({"seed": [1, 2], "value": [0.5, 1.5]})
    found = paired_difference(first, second)
    assert found["mean"] == 0.5 and found["n_seeds"] == 2 and found["low"] == pytest.approx(0.5)


def test_generated_corpora_get_one_seed():
    assert len(book_seeds("planted", 5)) == 1 and len(book_seeds("sst", 5)) == 5
    with pytest.raises(AttnError, match="between 1 and 9"):
        book_seeds("sst", 10)


def test_the_papers_numbers_under_our_names():
    printed = value(
        "jain_table2_kendall_tau",
        corpus="20news",
        class_name="hockey",
        encoder="average",
        measure="tau_gradient",
        statistic="mean",
    )
    assert printed == 0.66  # specification, section 6.1
    assert class_label("20news", "hockey") == 1 and class_label("sst", "negative") == 0
    with pytest.raises(AttnError, match="no column 'data'"):
        reported("jain_table2_kendall_tau", data="sst")
    with pytest.raises(AttnError, match="no reported table"):
        reported("jain_table9")


def test_every_rule_names_a_known_corpus_and_class():
    for rule in reported("tolerances").itertuples():
        assert rule.corpus in CATALOGUE
        if rule.group != "all" and CATALOGUE[rule.corpus].classes:
            assert rule.group in CATALOGUE[rule.corpus].classes, rule


def rows_for(mean: float, spread: float = 0.01, seeds: int = 5) -> pd.DataFrame:
    """A summary table in which every statistic of sst has the given mean over seeds."""
    rows = []
    for encoder, shift in (("lstm", 0.0), ("average", 0.3)):
        for i in range(seeds):
            for statistic, measure in (
                ("tau_attention_gradient", "mean"),
                ("median_change", "share_below_0.1"),
                ("jsd_search@0.05", "share_above_0.4"),
            ):
                rows.append({"corpus": "sst", "encoder": encoder, "attention": "tanh", "selection": "dev", "seed": i, "statistic": statistic,
                             "predicted": "all", "bin": "all", "measure": measure, "value": mean + shift + spread * (i - 2)})  # fmt: skip
    return pd.DataFrame(rows)


RECORD = {"run": {"corpus": "sst"}, "n_train": 6355, "statistics": {}}


def verdict_of(item: str, table: pd.DataFrame) -> str:
    rule = next(r for r in reported("tolerances", item=item, corpus="sst").itertuples())
    return scorecard.judge(rule, scorecard.indexed(table), RECORD)["verdict"]


def test_verdicts_follow_the_numbers():
    weak = "claim: attention correlates only weakly with gradient"
    assert verdict_of(weak, rows_for(0.4)) == "reproduced"
    assert verdict_of(weak, rows_for(0.6)) == "differs"
    assert verdict_of(weak, rows_for(0.495)) == "differs"  # the interval crosses the threshold
    assert verdict_of(weak, rows_for(0.4, seeds=4)) == "not rerun"  # fewer than five seeds decide nothing
    assert verdict_of("claim: average above BiLSTM", rows_for(0.4)) == "reproduced"
    assert verdict_of("claim: permutation often changes little", rows_for(0.3)) == "differs"
    assert verdict_of("claim: adversaries are easy to find", rows_for(0.9)) == "reproduced"


def test_a_corpus_without_runs_is_not_rerun():
    rule = next(r for r in reported("tolerances", item="Table 2", corpus="imdb").itertuples())
    row = scorecard.judge(rule, scorecard.indexed(rows_for(0.4)), None)
    assert row["verdict"] == "not rerun" and row["data"] == "absent" and np.isnan(row["ours"])


def test_subset_never_counts_as_same():
    assert scorecard.data_of("agnews", 7_000) == "subset" and scorecard.data_of("sst", 6_355) == "same"
    assert scorecard.data_of("planted", 2_000) == "generated"


# ---- what the scorecard page shows -----------------------------------------------------------------------------------


def row_of(**values):
    """One scorecard row with sensible values where none are given."""
    plain = {"paper": "jain", "item": "Table 2", "corpus": "sst", "group": "negative", "encoder": "lstm", "measure": "tau_gradient", "statistic": "mean",
             "reported": 0.4, "ours": 0.4, "low": 0.3, "high": 0.5, "n_seeds": 5, "data": "same", "tolerance": 0.1, "verdict": "reproduced"}  # fmt: skip
    row = plain | values
    return pd.DataFrame([row | {"part": scorecard.part_of(row["item"])}])


@pytest.mark.parametrize(
    ("item", "low", "high", "side"),
    [
        ("claim: average above BiLSTM", 0.1, 0.2, "clears"),
        ("claim: average above BiLSTM", -0.1, 0.2, "contains"),
        ("claim: average above BiLSTM", 0.0, 0.2, "contains"),
        ("claim: average above BiLSTM", -0.2, -0.1, "opposite"),
        ("claim: attention correlates only weakly with gradient", -0.2, -0.1, "clears"),
        ("claim: attention correlates only weakly with gradient", 0.1, 0.2, "opposite"),
        ("claim: average above BiLSTM", np.nan, np.nan, "no interval"),
    ],
)
def test_side_of_the_threshold(item, low, high, side):
    row = next(row_of(item=item, reported=0.0, low=low, high=high).itertuples())
    assert scorecard.threshold_side(row) == side


def test_intervals_end_where_the_statistic_does():
    cases = [("Table 2", "sig_frac", 1.2, 1), ("Figure 6 [0.00,0.25)", "median", 1.2, 1), ("Figure 7", "mean_binned", 0.9, np.log(2)),
             ("claim: permutation often changes little", "BiLSTM+tanh, share", 1.2, 1), ("claim: average above BiLSTM", "difference", 1.2, 1.2)]  # fmt: skip
    for item, statistic, high, expected in cases:
        cut = scorecard.clipped(row_of(item=item, statistic=statistic, low=-0.0, high=high)).iloc[0]
        assert cut["high"] == pytest.approx(expected) and cut["cut"] == (expected != high), item
    low = scorecard.clipped(row_of(statistic="median", low=-0.01)).iloc[0]
    assert low["low"] == 0 and low["cut"]
    count = scorecard.clipped(row_of(statistic="count", low=np.nan, high=np.nan)).iloc[0]
    assert np.isnan(count["low"]) and not count["cut"]


def test_units_of_the_tolerance_by_hand():
    rows = pd.concat([
        row_of(item="Figure 7", statistic="mean_binned", ours=0.5, low=0.4, high=0.6),
        row_of(corpus="20news", ours=0.2, low=0.1, high=0.35), row_of(ours=0.45), row_of(statistic="std"),
        row_of(item="Table 1", measure="train_size", statistic="count", tolerance=0.0), row_of(item="Table 1", measure="average_length_tokens", tolerance=0.5),
        row_of(item="claim: average above BiLSTM", tolerance=np.nan),
    ])  # fmt: skip
    lines = scorecard.in_tolerances(rows)
    assert list(lines["part"]) == ["Figure 7, means", "Table 2, means", "Table 2, means", "Table 2, std"]
    assert list(lines["corpus"]) == ["sst", "sst", "20news", "sst"], "one data set after the other within a part"
    assert list(lines["mean"]) == pytest.approx([1, 0.5, -2, 0])
    assert lines.iloc[2][["low", "high"]].tolist() == pytest.approx([-3, -0.5])
    assert list(lines["y"]) == [0, 2.5, 3.5, 6]


def test_counts_by_verdict():
    rows = pd.concat([
        row_of(), row_of(verdict="differs"), row_of(data="subset"), row_of(verdict="not rerun", data="absent"), row_of(corpus="imdb"),
        row_of(item="claim: average above BiLSTM"),
    ])  # fmt: skip
    counts = scorecard.counts_by_verdict(rows, ["sst"])
    assert counts.loc["Table 2"].to_dict() == {
        "reproduced": 1,
        "differs": 1,
        "not judged": 1,
        "other data": 1,
        "other data sets": 1,
    }
    assert counts.loc["claims", "reproduced"] == 1 and counts.to_numpy().sum() == 6


def test_words_of_the_scorecard():
    assert [scorecard.source_of(item) for item in ("Table 1", "Figure 8", "claim: x")] == [
        "printed", "read off the authors' figures or files", "threshold of the rule",
    ]  # fmt: skip
    words = [
        scorecard.seeds_in_words(next(row_of(**fields).itertuples()))
        for fields in ({}, {"n_seeds": 4}, {"measure": "train_size", "n_seeds": 1})
    ]
    assert words == ["5", "4 (few)", "–"]
    rules = scorecard.rules_in_words()
    assert not rules.duplicated(scorecard.NAMES).any() and not rules["rule"].str.contains("specification").any()


def test_rows_link_to_pages_that_exist():
    known = notebook.pages(Path(__file__).parents[1])
    assert {scorecard.page_of(item) for item in reported("tolerances")["item"]} <= set(known)


def test_a_scorecard_without_runs_is_a_gap(monkeypatch):
    rows = row_of(verdict="not rerun", **reported("tolerances", item="Table 2").iloc[0][scorecard.NAMES].to_dict())
    monkeypatch.setattr(scorecard, "scorecard", lambda: rows.drop(columns="part"))
    with pytest.raises(AbsentRun, match="no archived run of sst"):
        scorecard.paper_rows("jain", ["sst"])
    with pytest.raises(AttnError, match="paper takes: jain"):
        scorecard.paper_rows("jane", ["sst"])
