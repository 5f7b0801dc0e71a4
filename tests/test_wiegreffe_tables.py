"""Wiegreffe & Pinter's tables beside the paper's and the rule on which data sets need attention."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from wiegreffe_results import result_of, runs_of, uniform_test

from attn_book import figures
from attn_book.wiegreffe import far_off as wiegreffe_far_off
from attn_book.wiegreffe import figures as wiegreffe_figures
from attn_book.wiegreffe import runs as wiegreffe_runs
from attn_book.wiegreffe import tables
from attn_core.measures import seed_interval
from attn_core.runs import SEEDS, Run

# ---- Table 2 ---------------------------------------------------------------------------------------------------------


def test_gaps_are_paired_by_seed_and_the_rule_decides():
    runs = runs_of(
        uniform_test("sst", gap=0.002),
        uniform_test("imdb", gap=0.03),
        uniform_test("agnews", 4),
        uniform_test("20news", gap=0.0105),
    )
    rows = tables.gaps(runs)
    assert list(dict.fromkeys(rows["corpus"])) == list(wiegreffe_runs.PAPER_SETS) and len(rows) == 12
    dev = rows[rows["chosen"] == "dev"].set_index("corpus")
    assert dev["answer"].to_dict() == {
        "diabetes": "",
        "anemia": "",
        "imdb": "needed",
        "sst": "not needed",
        "agnews": "",
        "20news": "undecided",
    }
    base, uniform = (wiegreffe_runs.f1_by_seed(runs, "sst", name) for name in ("base", "uniform model"))
    assert (dev.loc["sst", "low"], dev.loc["sst", "high"]) == pytest.approx(seed_interval((base - uniform).to_numpy()))
    assert dev.loc["sst", "paper_gap"] == pytest.approx(0.009) and dev.loc["diabetes", "jain"] == 0.79
    assert [text.split(", gap")[0] for text in tables.needs(rows)] == [
        "imdb: attention is needed", "sst: attention is not needed", "agnews: too few seeds (4)", "20news: undecided",
        "diabetes: not rerun", "anemia: not rerun",
    ]  # fmt: skip
    sentence = tables.told_needs(rows)
    assert sentence.startswith("Attention is needed on imdb (gap 0.030 (") and "not needed on sst" in sentence
    assert (
        "Undecided on 20news" in sentence
        and "Too few seeds: agnews (4)" in sentence
        and sentence.endswith("Not rerun: diabetes, anemia.")
    )


def test_the_gap_in_roc_auc_is_of_the_same_pairs_and_decides_nothing():
    results = uniform_test("sst", 6, gap=0.002)
    for i, result in enumerate(results):  # in turn base and uniform model
        result.record["auc"] = 0.9 + 0.001 * (i // 4) + (0.02 if i % 2 == 0 else 0.0)
    rows = tables.gaps(runs_of(results, uniform_test("imdb", 4)), ["sst", "imdb"])
    assert rows["auc_gap"][:2].tolist() == pytest.approx([0.02, 0.02]) and rows["auc_gap"][2:].isna().all()
    both = "sst: 0.0200 (0.0200 to 0.0200) on development data, 0.0200 (0.0200 to 0.0200) on the test set"
    assert tables.told_auc(rows) == [both] and rows["answer"][1] == "not needed"
    results[2].record["auc"] = 0.8  # the base of the first seed, chosen on test
    (moved,) = tables.told_auc(tables.gaps(runs_of(results), ["sst"]))
    dev, test = moved.split(" on development data, ")
    assert dev.startswith("sst: 0.0200") and "0.0200 (" not in test and test.endswith(" on the test set")
    (part,) = tables.told_auc(tables.gaps(runs_of(results), ["sst"], {"sst": 9}))
    assert part.count(" (6 of 9 pairs)") == 2
    assert tables.told_auc(tables.gaps(runs_of(results[:16]), ["sst"])) == [], "four pairs"


def test_arms_count_over_pairs_alone_and_missing_pairs_leave_it_open():
    results = uniform_test("sst", 7, gap=0.002)
    alone = [r for r in results if r.record["run"]["attention"] == "tanh" or r.record["run"]["seed"] != SEEDS[6]]
    alone = [
        r
        if r.record["run"]["seed"] != SEEDS[6]
        else result_of(Run("sst", seed=SEEDS[6], selection=r.record["run"]["selection"]), 0.1)
        for r in alone
    ]
    rows = tables.gaps(runs_of(alone))
    row = rows[(rows["corpus"] == "sst") & (rows["chosen"] == "dev")].iloc[0]
    assert (row["n_seeds"], row["n_planned"], row["answer"]) == (6, 7, tables.OPEN)
    assert row["base"] == pytest.approx(row["uniform"] + row["gap"]) and row["base"] > 0.8, (
        "the seed without partner is in neither arm"
    )
    assert tables.told_needs(rows).startswith(
        "Open, because planned pairs are missing: sst (6 of 7 pairs, gap so far 0.0"
    )
    open_text = "sst: open, because planned pairs are missing (6 of 7 pairs), gap so far 0.0"
    assert tables.needs(rows)[0].startswith(open_text)
    shown = tables.table_2(rows).set_index(["data", "checkpoint"]).loc[("sst", "dev")]
    assert shown["pairs of seeds"] == "6 of 7" and shown["answer"] == "open"
    paired = runs_of(uniform_test("sst", 7, gap=0.002))
    assert set(tables.gaps(paired, ["sst"])["answer"]) == {"not needed"} and set(
        tables.gaps(paired, ["sst"], {"sst": 9})["answer"]
    ) == {tables.OPEN}


def test_a_training_far_off_the_others_is_told():
    results = uniform_test("sst", 7, gap=0.002)
    assert (
        wiegreffe_far_off.told_far_off(wiegreffe_far_off.far_off(runs_of(results), ["sst", "imdb"]))
        == "No training is far off the others of its model."
    )
    odd = next(
        r
        for r in results
        if (r.record["run"]["seed"], r.record["run"]["attention"], r.record["run"]["selection"])
        == (SEEDS[3], "tanh", "dev")
    )
    results[results.index(odd)] = replace(odd, record=odd.record | {"f1_1": 0.732})
    (row,) = wiegreffe_far_off.far_off(runs_of(results), ["sst"]).itertuples()
    assert (row.role, row.seed, row.chosen, row.f1) == (
        "base",
        SEEDS[3],
        "dev",
        0.732,
    ) and row.elsewhere > 0.82 > row.f1
    base, uniform = (wiegreffe_runs.f1_by_seed(runs_of(results), "sst", name) for name in ("base", "uniform model"))
    assert (row.low_without, row.high_without) == pytest.approx(
        seed_interval((base - uniform).drop(SEEDS[3]).to_numpy())
    )
    sentence = wiegreffe_far_off.told_far_off(wiegreffe_far_off.far_off(runs_of(results), ["sst"]))
    assert (
        f"seed {SEEDS[3]} of the base model has F1 0.732" in sentence
        and "widens the interval" in sentence
        and "ROC AUC on" not in sentence
    )


def test_the_sentence_on_needs_follows_the_numbers():
    flipped = tables.told_needs(tables.gaps(runs_of(uniform_test("sst", gap=0.05), uniform_test("imdb", gap=0.0))))
    assert (
        "Attention is needed on sst" in flipped
        and "not needed on imdb" in flipped
        and "No run of both models: agnews, 20news" in flipped
    )
    texts = tables.needs(tables.gaps(runs_of(uniform_test("sst", gap=0.05), uniform_test("imdb", gap=0.0))))
    assert texts[0].startswith("imdb: attention is not needed, gap ") and texts[0].endswith("), 5 seeds")
    assert texts[1].startswith("sst: attention is needed, gap ") and texts[-1] == "20news: no run of both models"


@pytest.mark.parametrize("low, high, n, answer", [
    (0.011, 0.03, 5, "needed"), (0.01, 0.03, 5, "undecided"), (-0.02, 0.0099, 5, "not needed"),
    (-0.02, 0.01, 5, "undecided"), (0.011, 0.03, 4, ""), (np.nan, np.nan, 5, ""),
])  # fmt: skip
def test_answers_by_interval(low, high, n, answer):
    assert tables.answer(low, high, n) == answer


def test_table_2_as_shown():
    shown = tables.table_2(tables.gaps(runs_of(uniform_test("sst"), uniform_test("imdb", 1)[:1])))
    line = shown[(shown["data"] == "sst") & (shown["checkpoint"] == "dev")].iloc[0]
    assert (
        line["our gap, 95 %"].startswith("0.002 (")
        and line["answer"] == "attention is not needed"
        and line["paper: base"] == "0.831"
    )
    medical = shown[shown["data"] == "diabetes"]
    assert set(medical["our base"]) == {"not rerun"} and set(medical["J&W"]) == {"0.79"}
    single = shown[(shown["data"] == "imdb") & (shown["checkpoint"] == "dev")].iloc[0]
    assert single["our base"].startswith("0.902") and single["our uniform"] == "no run"


def test_other_peoples_numbers_bear_this_books_names():
    elsewhere = tables.reported("wiegreffe_replications_context", paper="zhao_cs6741_replication").pivot(
        index="corpus", columns="model", values="value"
    )
    gap = elsewhere["bilstm_attention"] - elsewhere["bilstm_uniform_frozen"]
    assert gap.round(4).to_dict() == {"imdb": 0.0204, "sst": 0.0056, "agnews": 0.0009, "20news": -0.0055}
    printed = tables.reported("wiegreffe_dataset_stats_context", paper="jain_wallace_2019")
    assert set(printed["corpus"]) == set(wiegreffe_runs.PAPER_SETS), "the columns of the setup page are filled"


# ---- what ought to be there ------------------------------------------------------------------------------------------


def test_gather_reads_the_runs_of_the_named_sets(monkeypatch):
    there = [Run("sst", attention="uniform"), Run("imdb", seed=2)]
    records = {run.key: result_of(run).record for run in there}
    monkeypatch.setattr(wiegreffe_runs.archive, "keys", lambda store: list(records))
    monkeypatch.setattr(wiegreffe_runs.archive, "read_record", lambda store, key: records[key])
    assert wiegreffe_runs.gather(["sst"])[["corpus", "role"]].to_numpy().tolist() == [["sst", "uniform model"]]
    assert sorted(wiegreffe_runs.gather(["imdb", "sst"])["corpus"]) == ["imdb", "sst"] and not len(
        wiegreffe_runs.gather(["agnews"])
    )


def test_the_sweep_files_plan_every_test():
    plan = wiegreffe_runs.planned()
    roles = {(run.corpus, wiegreffe_runs.role(run)) for run in plan}
    for corpus in ("sst", "imdb", "agnews", "20news"):
        assert {
            (corpus, name)
            for name in ("base", "uniform model", "adversary", "guide: own", "guide: adversary", "guide: own, rank")
        } <= roles
    assert "" not in {name for _, name in roles}, "every planned run has a role"


# ---- figures ---------------------------------------------------------------------------------------------------------


def test_paired_bars():
    rows = tables.gaps(runs_of(uniform_test("sst"), uniform_test("imdb", 3)))
    figure, axes = figures.canvas()
    wiegreffe_figures.paired_bars(axes[0, 0], rows[rows["chosen"] == "dev"])
    bars = [bar for bar in axes[0, 0].patches if bar.get_height() > 0]
    assert len(bars) == 4 and sum(bar.get_hatch() == "//" for bar in bars) == 2
    heights = sorted(bar.get_height() + 0.6 for bar in bars)
    assert heights[-1] == pytest.approx(0.902)
    told = [label.get_text().split("\n")[1] for label in axes[0, 0].get_xticklabels()]
    assert told == ["not rerun", "not rerun", "3 seeds", "5 seeds", "no pair", "no pair"], (
        "only gated sets are 'not rerun'"
    )
    plt.close(figure)


def test_an_arm_alone_is_hatched_and_told_by_its_own_seeds():
    alone = [r for r in uniform_test("imdb", 5) if r.record["run"]["attention"] == "tanh"]
    rows = tables.gaps(runs_of(uniform_test("sst", 3), alone), ["sst", "imdb"]).query("chosen == 'dev'")
    assert rows[["n_seeds", "n_base", "n_uniform"]].to_numpy().tolist() == [[3, 3, 3], [0, 5, 0]]
    figure, axes = figures.canvas()
    wiegreffe_figures.paired_bars(axes[0, 0], rows)
    hatched = [bool(bar.get_hatch()) for bar in axes[0, 0].patches]
    assert hatched == [True, True, False], "three seeds of both arms; five of one alone"
    plt.close(figure)
    shown = tables.table_2(rows).set_index("data")
    assert shown.loc["imdb", "our base"].endswith("), 5 seeds alone") and shown.loc["imdb", "our gap, 95 %"] == "no run"
    assert "alone" not in shown.loc["sst", "our base"]


def test_an_end_that_would_be_printed_as_the_bound_has_four_digits():
    assert tables.digits(-0.003, 0.0098) == ".4f" and tables.digits(-0.003, 0.0088) == ".3f"
    assert tables.digits(-0.02, 0.0004, 0.0, "+.3f") == "+.4f" and tables.digits(0.1, 0.2, 0.1, ".0%") == ".0%"
