"""The tables, figure and lists of the scorecard page."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scorecard_runs import seeds_of

from attn_book import build, figures, scorecard
from attn_book.debate import scorecard_counts, scorecard_page
from attn_book.jain import causes_page
from attn_book.reported import reported
from attn_core.errors import AttnError
from attn_core.runs import AbsentRun


def row_of(**values):
    """One scorecard row with sensible values where none are given."""
    plain = {
        "paper": "jain",
        "item": "Table 2",
        "corpus": "sst",
        "group": "negative",
        "encoder": "lstm",
        "measure": "tau_gradient",
        "statistic": "mean",
        "reported": 0.4,
        "ours": 0.4,
        "low": 0.3,
        "high": 0.5,
        "n_seeds": 5,
        "n_train": 6355,
        "data": "same",
        "tolerance": 0.1,
        "verdict": "reproduced",
        "unjudged": "",
    }
    row = plain | values
    return pd.DataFrame([row | {"part": scorecard_page.part_of(row["item"])}])


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
    assert scorecard_page.threshold_side(row) == side


def test_intervals_end_where_the_statistic_does():
    cases = [
        ("Table 2", "sig_frac", 1.2, 1),
        ("Figure 6 [0.00,0.25)", "median", 1.2, 1),
        ("Figure 7", "mean_binned", 0.9, np.log(2)),
        ("claim: permutation often changes little", "BiLSTM+tanh, share", 1.2, 1),
        ("claim: average above BiLSTM", "difference", 1.2, 1.2),
    ]
    for item, statistic, high, expected in cases:
        cut = scorecard_page.clipped(row_of(item=item, statistic=statistic, low=-0.0, high=high)).iloc[0]
        assert cut["high"] == pytest.approx(expected) and cut["cut"] == (expected != high), item
    low = scorecard_page.clipped(row_of(statistic="median", low=-0.01)).iloc[0]
    assert low["low"] == 0 and low["cut"]
    count = scorecard_page.clipped(row_of(statistic="count", low=np.nan, high=np.nan)).iloc[0]
    assert np.isnan(count["low"]) and not count["cut"]


def test_units_of_the_tolerance_by_hand():
    rows = pd.concat(
        [
            row_of(item="Figure 7", statistic="mean_binned", ours=0.5, low=0.4, high=0.6),
            row_of(corpus="20news", ours=0.2, low=0.1, high=0.35),
            row_of(ours=0.45),
            row_of(ours=0.3),
            row_of(statistic="std"),
            row_of(item="Figure 5 (gradient variant)"),
            row_of(item="Table 1 (final run)", measure="test_performance"),
            row_of(item="Table 1", measure="train_size", statistic="count", tolerance=0.0),
            row_of(item="Table 1", measure="average_length_tokens", tolerance=0.5),
            row_of(item="claim: average above BiLSTM", tolerance=np.nan),
        ]
    )
    lines = scorecard_page.distances(rows)
    assert list(lines["line"]) == [
        "Table 1, scores",
        "Table 2, means",
        "Table 2, means",
        "Table 2, std, shares",
        "Figures 3–5",
        "Figure 7",
        "Table 2, means",
    ]
    assert list(lines["corpus"]) == ["sst"] * 6 + ["20news"], "one data set after the other"
    assert list(lines["mean"]) == pytest.approx([0, -1, 0.5, 0, 0, 1, -2])
    assert lines.iloc[-1][["low", "high"]].tolist() == pytest.approx([-3, -0.5])


def test_the_figure_counts_what_lies_in_the_band():
    lines = scorecard_page.distances(
        pd.concat(
            [row_of(), row_of(ours=1.5, low=1.4, high=1.6), row_of(corpus="snli", data="subset", ours=0.48, n_seeds=3)]
        )
    )
    canvas, axes = figures.canvas()
    scorecard_page.draw_distances(axes[0, 0], lines)
    texts = [text.get_text() for text in axes[0, 0].texts]
    assert texts == ["sst", "1/2", "snli (subset)", "1/1"]
    points = [(x, line.get_marker(), line.get_markerfacecolor()) for line in axes[0, 0].lines for x in line.get_xdata()]
    assert (scorecard_page.FARTHEST, ">", figures.OURS) in points, "11 tolerances away: a triangle at the edge"
    assert [face for x, _, face in points if x == pytest.approx(0.8)] == ["white"], "few seeds are open points"
    figures.plt.close(canvas)


def test_counts_by_data_set_keep_other_data_apart():
    rows = pd.concat(
        [
            row_of(),
            row_of(verdict="differs"),
            row_of(verdict="not rerun", unjudged="few documents"),
            row_of(verdict="not rerun", unjudged="no document"),
            row_of(corpus="snli", data="subset"),
            row_of(corpus="snli", data="subset", verdict="not rerun", unjudged="few seeds"),
            row_of(corpus="imdb", data="absent", verdict="not rerun", unjudged="no run", n_train=pd.NA),
            row_of(corpus="cnn"),
        ]
    )
    table = scorecard_counts.counts_by_corpus(rows, ["sst", "snli", "imdb"]).set_index("data set")
    assert table.loc["sst"].tolist() == ["same", 6355, 1, 1, 0, 2, 0]
    assert table.loc["paper's own", ["reproduced", "differs"]].tolist() == [1, 1]
    assert table.loc["other", ["reproduced", "differs", "few seeds"]].tolist() == [1, 0, 1]
    assert table.loc["imdb", "data"] == "absent" and table.loc["imdb", "no run"] == 1
    parts = scorecard_counts.counts_by_part(rows, ["sst", "snli", "imdb"])
    assert parts.loc["Table 2"].to_dict() == {"sst": "1/2", "snli": "1/1", "imdb": ""}
    order = [
        row_of(item=item)
        for item in (
            "claim: permutation changes much here",
            "claim: average above BiLSTM",
            "web appendix",
            "Figure 6 [0.00,0.25)",
            "Table 1 (final run)",
            "Table 1",
        )
    ]
    assert list(scorecard_counts.counts_by_part(pd.concat(order), ["sst"]).index) == [
        "Table 1",
        "Table 1 (final run)",
        "Figure 6",
        "web appendix",
        "claims",
        "patterns",
    ]


def test_rules_added_after_runs_are_counted_apart():
    late = {"reason": "every bar is positive; added after the runs of this model and data set"}
    near = {"item": "claim: average above BiLSTM", "reported": 0.35, "verdict": "differs", "reason": np.nan}
    rows = [
        row_of(reason="added before the runs of this model and data set"),
        row_of(**near),
        row_of(**near | {"reported": 0.9}),
        row_of(**late),
        row_of(**late, verdict="differs", n_seeds=3),
        row_of(**late, data="subset"),
        row_of(reason=np.nan, data="generated", verdict="differs"),
        row_of(**late, verdict="not rerun"),
        row_of(item="claim: permutation changes much here"),
    ]
    assert scorecard_counts.counts_by_rule(pd.concat(rows)) == {
        "reproduced": 1, "differs": 2, "late_reproduced": 1, "late_differs": 1,
        "other_reproduced": 1, "other_differs": 1, "other_late": 1, "few": 1, "judged": 7, "undecided": 1,
    }  # fmt: skip


def test_means_of_table_2_by_data():
    rows = pd.concat(
        [row_of(), row_of(verdict="differs"), row_of(data="subset"), row_of(statistic="std"), row_of(item="Figure 7")]
    )
    table = scorecard_counts.table2_means(rows)
    assert table.loc["all"].tolist() == pytest.approx([2, 3, 2 / 3])
    assert table.loc["same", "of"] == 2 and table.loc["other", "share"] == 1


def test_matrix_of_claims():
    claims = pd.concat(
        [
            row_of(item="claim: average above BiLSTM", reported=0.0),
            row_of(item="claim: average above BiLSTM", reported=0.0, corpus="snli", unjudged="few seeds", low=-0.1),
            row_of(
                item="claim: gradient and leave-one-out agree better",
                measure="tau(gradient,LOO)-tau(attention,LOO)",
                reported=0.9,
            ),
        ]
    )
    table = scorecard_page.claim_matrix(claims, ["sst", "imdb", "snli"])
    assert table.loc["average above BiLSTM"].to_dict() == {"sst": "✓", "snli": "(–)"}
    assert table.loc["gradient and leave-one-out agree better than attention and leave-one-out"].to_dict() == {
        "sst": "✗",
        "snli": "",
    }


def test_lists_name_rows_and_runs():
    runs = seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6})
    rows = scorecard.scorecard(runs)
    judged = scorecard_page.clipped(
        rows[rows["verdict"] != "not rerun"].assign(part=lambda rows: rows["item"].map(scorecard_page.part_of))
    )
    text = causes_page.tried_html(judged, runs)
    assert f"<code>{runs[0].key}</code>" in text and text.count("<details>") == 1 and "&lt;" not in text
    line = text[text.index("web appendix, BiLSTM, additive, τ of attention and gradient, mean</td>") :]
    assert re.findall(r">([^<>]+)</td>", line)[:2] == ["0.35 ± 0.1", "0.60 (0.58 to 0.62)"]
    assert causes_page.tried_html(judged[judged["verdict"] == "reproduced"], runs) == ""
    table = scorecard_page.rows_html(judged)
    assert table.count("<tr>") == len(judged) + 1 and '<a href="jain/03-datasets.html">03-datasets</a>' in table


def test_rows_of_the_other_papers_have_sides_parts_and_sources():
    """Their claims are asked by the words of the rule; bands are bounds on a mean."""
    low = row_of(
        item="claim: attention is needed",
        low=0.02,
        high=0.03,
        reported=0.01,
        rule="lower end of the interval above 0.01",
    )
    high = low.assign(rule="upper end of the interval below 0.01")
    assert [scorecard_page.threshold_side(next(rows.itertuples())) for rows in (low, high)] == ["clears", "opposite"]
    assert [scorecard_page.part_of(item) for item in ("band: the curve is low", "Figure 3 [0.25,0.50)", "Table 3")] == [
        "bands",
        "Figure 3",
        "Table 3",
    ]
    assert (
        scorecard_page.source_of("band: the curve is low") == "threshold of the rule"
        and scorecard_page.source_of("Table 3") == "printed"
    )
    rows = pd.concat(
        [
            row_of(item=item)
            for item in ("band: x", "claim: average above BiLSTM", "Figure 3", "Table 3", "repository share")
        ]
    )
    assert list(scorecard_counts.counts_by_part(rows, ["sst"]).index) == [
        "repository share",
        "Table 3",
        "Figure 3",
        "claims",
        "bands",
    ]


def test_words_of_the_scorecard():
    assert [scorecard_page.source_of(item) for item in ("Table 1", "Figure 8", "claim: x")] == [
        "printed",
        "read off the authors' figures or files",
        "threshold of the rule",
    ]
    words = [
        scorecard_page.seeds_in_words(next(row_of(**fields).itertuples()))
        for fields in ({}, {"n_seeds": 4}, {"measure": "train_size", "n_seeds": 1})
    ]
    assert words == ["5", "4 (few)", "–"]


def test_rows_link_to_pages_that_exist():
    known = build.pages(Path(__file__).parents[1])
    assert {scorecard.page_of(item) for item in reported("tolerances", paper="jain")["item"]} <= set(known)


def test_a_scorecard_without_runs_is_a_gap(monkeypatch):
    rows = row_of(verdict="not rerun", rule="")
    with pytest.raises(AttnError, match="paper takes: jain"):
        scorecard_page.paper_rows("jane", ["sst"], [])
    monkeypatch.setattr(scorecard_page, "scorecard", lambda results, paper: rows.drop(columns="part"))
    with pytest.raises(AbsentRun, match="no archived run of sst"):
        scorecard_page.paper_rows("jain", ["sst"])
