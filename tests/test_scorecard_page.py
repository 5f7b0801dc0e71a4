"""What was tried where numbers differ, and the tables, figure and lists of the scorecard page."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scorecard_runs import PUBLIC, result_of, row_for, seeds_of, whole

from attn_core import causes, figures, notebook, scorecard, scorecard_page
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.errors import AttnError
from attn_core.reported import reported
from attn_core.runs import SEEDS, AbsentRun, Run

# ---- causes ----------------------------------------------------------------------------------------------------------

PLACE = {"item": "web appendix", "corpus": "sst", "encoder": "lstm", "attention": "tanh"}  # reported 0.35, tolerance 0.10


def test_a_variant_that_explains_a_difference():
    standard_runs = seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6})
    variant = [result_of(seed=seed, values={"tau_attention_gradient": 0.40 + 0.01 * i}, vectors="random") for i, seed in enumerate(SEEDS[:3])]
    found = causes.causes(results=[*standard_runs, *variant])
    row = row_for(found, cause="vectors=random", **PLACE)
    assert row["shift"] == pytest.approx(0.41 - 0.59) and row["value"] == pytest.approx(0.41) and row["n_seeds"] == 3
    assert row["key"] == variant[0].key and row["within"] and f"`{variant[0].key}` and 2 more seeds" in row["sentence"]
    assert np.isclose(row["low"], row["high"]) and "which holds" in row["sentence"] and "public word vectors" in row["why"]
    seeds = row_for(found, cause="seed", **PLACE)
    assert seeds["key"] == standard_runs[0].key and not seeds["within"] and "0.58 to 0.62" in seeds["sentence"]


def test_a_variant_that_explains_nothing_says_so():
    runs = [*seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6}), result_of(values={"tau_attention_gradient": 0.9}, selection="test")]
    row = row_for(causes.causes(results=runs), cause="selection=test", **PLACE)
    assert not row["within"] and "still differs" in row["sentence"] and np.isnan(row["low"]) and row["shift"] == pytest.approx(0.32)


def test_runs_that_differ_in_two_fields_or_another_model_explain_nothing():
    runs = seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6})
    runs += [result_of(vectors="random", selection="test"), result_of(encoder="cnn", vectors="random"), result_of(seed=SEEDS[6], vectors="random")]
    found = causes.causes(results=runs)
    found = found[(found["item"] == "web appendix") & (found["encoder"] == "lstm")]
    assert list(found["cause"]) == ["seed"]


def test_differences_of_encoders_need_the_variant_of_both():
    runs = seeds_of(values={"tau_attention_loo": 0.3}, shift=0.9) + [result_of(seed=10, selection="test", values={"tau_attention_loo": 0.3})]
    place = {"item": "Figure 5", "corpus": "sst"}
    assert "selection=test" not in set(causes.causes(results=runs).query("item == 'Figure 5'")["cause"])
    runs.append(result_of(encoder="average", seed=10, selection="test", values={"tau_attention_loo": 0.65}))
    row = row_for(causes.causes(results=runs), cause="selection=test", **place)
    assert row["value"] == pytest.approx(0.35) and row["within"] and row["key"] == runs[-1].key


def test_training_size_is_tested_on_another_data_set():
    runs = seeds_of("agnews", ("lstm",), values={"tau_attention_gradient": 0.9}, statistics=whole("agnews", 0.1))
    runs += seeds_of("imdb", ("lstm",), values={"tau_attention_gradient": 0.7})
    runs += [result_of("imdb", fraction=share, values={"tau_attention_gradient": 0.8}) for share in (0.1, 0.25)]
    found = causes.causes(results=runs)
    place = {"item": "web appendix", "encoder": "lstm", "attention": "tanh"}
    row = row_for(found, corpus="agnews", cause="fraction=0.1", **place)
    assert row["shift"] == pytest.approx(0.12) and "on the same number of imdb" in row["sentence"] and not row["within"]
    assert "fraction=0.25" not in set(found["cause"]), "only the declared share"
    assert list(found[(found["item"] == "web appendix") & (found["corpus"] == "imdb")]["cause"]) == ["seed"], "less data explain no full set"
    sizes = found[(found["corpus"] == "agnews") & found["sentence"].str.startswith("We train on")]
    assert sizes["sentence"].str.contains("59,998").all() and "test_size" not in set(sizes["measure"]) and len(sizes) > 2


def test_generated_questions_are_named():
    generated = whole("babi_3", train_source="generated")
    found = causes.causes(results=seeds_of("babi_3", ("lstm",), values={"accuracy": 0.2}, statistics=generated, count=3))
    told = found[found["sentence"] == "We train on questions of our own generator."]
    assert {"test_performance", "average_length_tokens"} <= set(told["measure"]) and "test_size" not in set(told["measure"])


def test_the_authors_other_run_and_corrected_slips():
    found = causes.causes(results=seeds_of("20news", values={"tau_attention_gradient": 0.3}, shift=0.5))
    row = row_for(found, item="Table 2", corpus="20news", group="hockey", encoder="lstm", measure="tau_gradient", statistic="mean", cause="final run")
    assert row["within"] and "has 0.21; ours lies within" in row["sentence"]
    found = causes.causes(results=[result_of("imdb")])
    slips = found[(found["item"] == "Table 1") & (found["cause"] == "corrected")]
    assert set(slips["measure"]) == {"train_size"} and slips["sentence"].str.startswith("Corrected: 10").all()


def test_every_differing_row_has_a_sentence_and_others_none():
    runs = [run for corpus in PUBLIC for run in seeds_of(corpus, values={"tau_attention_gradient": 0.9}, count=3)]
    rows = scorecard.scorecard(runs)
    told = causes.with_sentences(rows, runs)
    assert len(told) == len(rows) and ((told["tried"] != "") >= (told["verdict"] == "differs")).all()
    assert (told.loc[told["verdict"] != "differs", "tried"] == "").all()
    counts = told[(told["verdict"] == "differs") & (told["corpus"] == "sst") & (told["measure"] == "train_size")]
    assert (counts["tried"] == "Nothing was tried yet.").all() and len(counts) == 2
    measured = told[(told["verdict"] == "differs") & ~told["measure"].isin(scorecard.COUNTED)]
    assert len(measured) and measured["tried"].str.contains("`").all(), "a run key is named"


def test_declared_causes_name_known_things():
    for cause in reported("causes").itertuples():
        assert any(causes.fnmatch(name, cause.corpus) for name in CATALOGUE)
        assert any(causes.speaks_to(cause, rule) for rule in reported("tolerances").itertuples()), cause
        assert pd.isna(cause.field) or cause.field in {field.name for field in dataclasses.fields(Run)}
        assert pd.isna(cause.tested_on) or cause.tested_on in CATALOGUE


# ---- what the scorecard page shows -----------------------------------------------------------------------------------


def row_of(**values):
    """One scorecard row with sensible values where none are given."""
    plain = {"paper": "jain", "item": "Table 2", "corpus": "sst", "group": "negative", "encoder": "lstm", "measure": "tau_gradient", "statistic": "mean",
             "reported": 0.4, "ours": 0.4, "low": 0.3, "high": 0.5, "n_seeds": 5, "n_train": 6355, "data": "same", "tolerance": 0.1,
             "verdict": "reproduced", "unjudged": ""}  # fmt: skip
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
    cases = [("Table 2", "sig_frac", 1.2, 1), ("Figure 6 [0.00,0.25)", "median", 1.2, 1), ("Figure 7", "mean_binned", 0.9, np.log(2)),
             ("claim: permutation often changes little", "BiLSTM+tanh, share", 1.2, 1), ("claim: average above BiLSTM", "difference", 1.2, 1.2)]  # fmt: skip
    for item, statistic, high, expected in cases:
        cut = scorecard_page.clipped(row_of(item=item, statistic=statistic, low=-0.0, high=high)).iloc[0]
        assert cut["high"] == pytest.approx(expected) and cut["cut"] == (expected != high), item
    low = scorecard_page.clipped(row_of(statistic="median", low=-0.01)).iloc[0]
    assert low["low"] == 0 and low["cut"]
    count = scorecard_page.clipped(row_of(statistic="count", low=np.nan, high=np.nan)).iloc[0]
    assert np.isnan(count["low"]) and not count["cut"]


def test_units_of_the_tolerance_by_hand():
    rows = pd.concat([
        row_of(item="Figure 7", statistic="mean_binned", ours=0.5, low=0.4, high=0.6),
        row_of(corpus="20news", ours=0.2, low=0.1, high=0.35), row_of(ours=0.45), row_of(ours=0.3), row_of(statistic="std"),
        row_of(item="Figure 5 (gradient variant)"), row_of(item="Table 1 (final run)", measure="test_performance"),
        row_of(item="Table 1", measure="train_size", statistic="count", tolerance=0.0), row_of(item="Table 1", measure="average_length_tokens", tolerance=0.5),
        row_of(item="claim: average above BiLSTM", tolerance=np.nan),
    ])  # fmt: skip
    lines = scorecard_page.distances(rows)
    assert list(lines["line"]) == ["Table 1, scores", "Table 2, means", "Table 2, means", "Table 2, std, shares", "Figures 3–5", "Figure 7", "Table 2, means"]
    assert list(lines["corpus"]) == ["sst"] * 6 + ["20news"], "one data set after the other"
    assert list(lines["mean"]) == pytest.approx([0, -1, 0.5, 0, 0, 1, -2])
    assert lines.iloc[-1][["low", "high"]].tolist() == pytest.approx([-3, -0.5])


def test_the_figure_counts_what_lies_in_the_band():
    lines = scorecard_page.distances(pd.concat([row_of(), row_of(ours=1.5, low=1.4, high=1.6), row_of(corpus="snli", data="subset", ours=0.48, n_seeds=3)]))
    canvas, axes = figures.canvas()
    scorecard_page.draw_distances(axes[0, 0], lines)
    texts = [text.get_text() for text in axes[0, 0].texts]
    assert texts == ["sst", "1/2", "snli (subset)", "1/1"]
    points = [(x, line.get_marker(), line.get_markerfacecolor()) for line in axes[0, 0].lines for x in line.get_xdata()]
    assert (scorecard_page.FARTHEST, ">", figures.OURS) in points, "11 tolerances away: a triangle at the edge"
    assert [face for x, _, face in points if x == pytest.approx(0.8)] == ["white"], "few seeds are open points"
    figures.plt.close(canvas)


def test_counts_by_data_set_keep_other_data_apart():
    rows = pd.concat([
        row_of(), row_of(verdict="differs"), row_of(verdict="not rerun", unjudged="few documents"), row_of(verdict="not rerun", unjudged="no document"),
        row_of(corpus="snli", data="subset"), row_of(corpus="snli", data="subset", verdict="not rerun", unjudged="few seeds"),
        row_of(corpus="imdb", data="absent", verdict="not rerun", unjudged="no run", n_train=pd.NA), row_of(corpus="cnn"),
    ])  # fmt: skip
    table = scorecard_page.counts_by_corpus(rows, ["sst", "snli", "imdb"]).set_index("data set")
    assert table.loc["sst"].tolist() == ["same", 6355, 1, 1, 0, 2, 0]
    assert table.loc["paper's own", ["reproduced", "differs"]].tolist() == [1, 1]
    assert table.loc["other", ["reproduced", "differs", "few seeds"]].tolist() == [1, 0, 1]
    assert table.loc["imdb", "data"] == "absent" and table.loc["imdb", "no run"] == 1
    parts = scorecard_page.counts_by_part(rows, ["sst", "snli", "imdb"])
    assert parts.loc["Table 2"].to_dict() == {"sst": "1/2", "snli": "1/1", "imdb": ""}
    order = [row_of(item=item) for item in ("claim: average above BiLSTM", "web appendix", "Figure 6 [0.00,0.25)", "Table 1 (final run)", "Table 1")]
    assert list(scorecard_page.counts_by_part(pd.concat(order), ["sst"]).index) == ["Table 1", "Table 1 (final run)", "Figure 6", "web appendix", "claims"]


def test_means_of_table_2_by_data():
    rows = pd.concat([row_of(), row_of(verdict="differs"), row_of(data="subset"), row_of(statistic="std"), row_of(item="Figure 7")])
    table = scorecard_page.table2_means(rows)
    assert table.loc["all"].tolist() == pytest.approx([2, 3, 2 / 3])
    assert table.loc["same", "of"] == 2 and table.loc["other", "share"] == 1


def test_matrix_of_claims():
    claims = pd.concat([
        row_of(item="claim: average above BiLSTM", reported=0.0), row_of(item="claim: average above BiLSTM", reported=0.0, corpus="snli", unjudged="few seeds", low=-0.1),
        row_of(item="claim: gradient and leave-one-out agree better", measure="tau(gradient,LOO)-tau(attention,LOO)", reported=0.9),
    ])  # fmt: skip
    table = scorecard_page.claim_matrix(claims, ["sst", "imdb", "snli"])
    assert table.loc["average above BiLSTM"].to_dict() == {"sst": "✓", "snli": "(–)"}
    assert table.loc["gradient and leave-one-out agree better than attention and leave-one-out"].to_dict() == {"sst": "✗", "snli": ""}


def test_lists_name_rows_and_runs():
    runs = seeds_of(encoders=("lstm",), values={"tau_attention_gradient": 0.6})
    rows = scorecard.scorecard(runs)
    judged = scorecard_page.clipped(rows[rows["verdict"] != "not rerun"].assign(part=lambda rows: rows["item"].map(scorecard_page.part_of)))
    text = causes.tried_html(judged, runs)
    assert f"<code>{runs[0].key}</code>" in text and text.count("<details>") == 1 and "&lt;" not in text
    assert "BiLSTM, additive, tau gradient, mean</b>: reported 0.35, ours 0.60" in text
    assert causes.tried_html(judged[judged["verdict"] == "reproduced"], runs) == ""
    table = scorecard_page.rows_html(judged)
    assert table.count("<tr>") == len(judged) + 1 and '<a href="jain/03-datasets.html">03-datasets</a>' in table
    told = causes.differing("Table 2", ["sst"], rows, runs)
    assert set(told["item"]) == {"Table 2"} and told["tried"].str.contains(runs[0].key).any()


def test_words_of_the_scorecard():
    assert [scorecard_page.source_of(item) for item in ("Table 1", "Figure 8", "claim: x")] == [
        "printed", "read off the authors' figures or files", "threshold of the rule",
    ]  # fmt: skip
    words = [
        scorecard_page.seeds_in_words(next(row_of(**fields).itertuples()))
        for fields in ({}, {"n_seeds": 4}, {"measure": "train_size", "n_seeds": 1})
    ]
    assert words == ["5", "4 (few)", "–"]


def test_rows_link_to_pages_that_exist():
    known = notebook.pages(Path(__file__).parents[1])
    assert {scorecard.page_of(item) for item in reported("tolerances")["item"]} <= set(known)


def test_a_scorecard_without_runs_is_a_gap(monkeypatch):
    rows = row_of(verdict="not rerun", rule="")
    monkeypatch.setattr(scorecard_page, "scorecard", lambda results: rows.drop(columns="part"))
    with pytest.raises(AbsentRun, match="no archived run of sst"):
        scorecard_page.paper_rows("jain", ["sst"])
    with pytest.raises(AttnError, match="paper takes: jain"):
        scorecard_page.paper_rows("jane", ["sst"])
