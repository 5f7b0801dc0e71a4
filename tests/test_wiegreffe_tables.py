"""Wiegreffe & Pinter's tables beside the paper's, the rule on which data sets need attention, and the figures drawn from them."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import toy_traces
from wiegreffe_results import BASE_F1, CURVE, adversary_of, curve, guided, result_of, uniform_test

from attn_core import figures, wiegreffe_curves, wiegreffe_figures, wiegreffe_runs
from attn_core import wiegreffe_tables as tables
from attn_core.measures import LN2, seed_interval
from attn_core.runs import SEEDS, Run


def runs_of(*parts):
    return wiegreffe_runs.table([result for part in parts for result in part])


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
    sentence = tables.told_needs(rows)
    assert sentence.startswith("Attention is needed on imdb (gap 0.030 (") and "not needed on sst" in sentence
    assert (
        "Undecided on 20news" in sentence
        and "Too few seeds: agnews (4)" in sentence
        and sentence.endswith("Not rerun: diabetes, anemia.")
    )


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
    assert tables.told_needs(rows).startswith("Open, for planned pairs are missing: sst (6 of 7 pairs, gap so far 0.0")
    shown = tables.table_2(rows).set_index(["data", "checkpoint"]).loc[("sst", "dev")]
    assert shown["pairs of seeds"] == "6 of 7" and shown["answer"] == "open"
    paired = runs_of(uniform_test("sst", 7, gap=0.002))
    assert set(tables.gaps(paired, ["sst"])["answer"]) == {"not needed"} and set(
        tables.gaps(paired, ["sst"], {"sst": 9})["answer"]
    ) == {tables.OPEN}


def test_a_training_far_off_the_others_is_told():
    results = uniform_test("sst", 7, gap=0.002)
    assert (
        tables.told_far_off(tables.far_off(runs_of(results), ["sst", "imdb"]))
        == "No training is far off the others of its model."
    )
    odd = next(
        r
        for r in results
        if (r.record["run"]["seed"], r.record["run"]["attention"], r.record["run"]["selection"])
        == (SEEDS[3], "tanh", "dev")
    )
    results[results.index(odd)] = replace(odd, record=odd.record | {"f1_1": 0.732})
    (row,) = tables.far_off(runs_of(results), ["sst"]).itertuples()
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
    sentence = tables.told_far_off(tables.far_off(runs_of(results), ["sst"]))
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


@pytest.mark.parametrize("low, high, n, answer", [
    (0.011, 0.03, 5, "needed"), (0.01, 0.03, 5, "undecided"), (-0.02, 0.0099, 5, "not needed"), (-0.02, 0.01, 5, "undecided"),
    (0.011, 0.03, 4, ""), (np.nan, np.nan, 5, ""),
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


# ---- Table 3 ---------------------------------------------------------------------------------------------------------


def test_table_3_keeps_the_papers_numbers_where_nothing_ran():
    rows = tables.table_3(runs_of(guided(), curve()), ["sst", "imdb", "diabetes"])
    sst = rows[rows["corpus"] == "sst"].set_index("source")
    assert (
        len(sst) == 11 and sst.loc["own", "paper"] == 0.824 and sst.loc["own", "mean"] == pytest.approx(0.826, abs=2e-3)
    )
    assert sst["n_seeds"].eq(5).all() and np.isnan(sst.loc["permuted", "paper"])
    rest = rows[rows["corpus"] != "sst"]
    assert rest["mean"].isna().all() and len(rest) == 8 and rest["n_seeds"].eq(0).all()


# ---- Figure 3 --------------------------------------------------------------------------------------------------------


def test_figure_3_beside_the_figure():
    runs = runs_of(uniform_test(count=9))
    documents = {
        ("sst", "seeds"): wiegreffe_curves.figure_3_documents(runs, "sst", "seeds"),
        ("sst", "search"): wiegreffe_curves.figure_3_documents(runs, "sst", "search"),
    }
    assert documents["sst", "search"] is None and documents["sst", "seeds"]["n_tables"].eq(8).all()
    rows = wiegreffe_curves.figure_3(documents)
    place = rows.set_index(["corpus", "kind", "predicted", "bin"])
    cell = place.loc[("sst", "seeds", 1, "[0.50,0.75)")]
    assert cell["theirs"] == 0.050 and cell["n"] == 25 and np.isfinite(cell["median"])
    searched = place.loc[("diabetes", "search", 0, "[0.75,1.00]")]
    assert searched["theirs"] == 0.683 and searched["n"] == 0 and np.isnan(searched["median"])
    assert place.loc[("imdb", "seeds", 0, "[0.00,0.25)"), "class_name"] == "negative"
    assert not rows.duplicated(["corpus", "kind", "predicted", "bin"]).any()


def test_a_live_run_is_compared_by_its_traces():
    base, other = toy_traces(np.full(30, 6), 1), toy_traces(np.full(30, 6), 2)
    live = [
        replace(result_of(Run("sst", seed=seed)), traces=traces, source="trained")
        for seed, traces in ((10, base), (50, other))
    ]
    found = wiegreffe_runs.seed_tables(runs_of(live), "sst")
    assert list(found) == [50] and len(found[50]) == 30 and found[50]["jsd"].between(0, LN2).all()
    assert (
        wiegreffe_curves.base_traces(runs_of(live), "sst") is base
        and len(wiegreffe_curves.figure_3_documents(runs_of(live), "sst", "search")) == 30
    )


# ---- Figure 5 and Table 4 --------------------------------------------------------------------------------------------


def test_points_of_figure_5():
    runs = runs_of(uniform_test(), curve())
    searched = pd.DataFrame({"jsd": [0.3, 0.5], "tvd": [0.004, 0.006]})
    points = wiegreffe_curves.figure_5(runs, "sst", searched)
    assert points["kind"].value_counts().to_dict() == {"adversary": 15, "uniform": 5, "seed": 4, "search": 1}
    plus = points[points["kind"] == "search"].iloc[0]
    assert (plus["jsd"], plus["tvd_halved"]) == pytest.approx((0.4, 0.0025))
    np.testing.assert_allclose(points["tvd_halved"] * 2, points["tvd"])
    theirs = wiegreffe_curves.figure_5_read("sst")
    assert theirs["kind"].value_counts().to_dict() == {"adversary": 16, "seed": 8, "uniform": 1, "search": 1}
    assert theirs[theirs["kind"] == "search"][["jsd", "tvd_halved"]].iloc[0].tolist() == [0.382, 0.0036]
    assert len(wiegreffe_curves.figure_5_read("agnews")) == 0


def test_table_4_chooses_and_names_what_lacks():
    rows = wiegreffe_curves.table_4(
        runs_of(uniform_test(), curve(), curve("imdb", 1, {1e-4: (0.1, 0.02)})), wiegreffe_runs.CONTINUED
    ).set_index("corpus")
    best = rows.loc["sst"]
    assert (
        best["divergence"] == 5e-4 and best["n_seeds"] == 3 and best["f1"] == pytest.approx(BASE_F1["sst"] - 5 * 5e-4)
    )
    assert (
        best["jsd"] == pytest.approx(CURVE[5e-4][0])
        and best["tvd_halved"] == pytest.approx(CURVE[5e-4][1] / 2)
        and best["state"] == ""
    )
    assert rows.loc["imdb", "state"] == "no adversary of JSD 0.4" and rows.loc["diabetes", "state"] == "not rerun"
    assert wiegreffe_curves.table_4(runs_of(), ["sst"])["state"].item() == "no run"


def test_epochs_show_what_has_not_settled():
    def history(jsd):
        return [
            {"epoch": i, "loss": -i, "test_jsd": value, "test_tvd": 0.01, "jsd": 9.0, "tvd": 9.0}
            for i, value in enumerate(jsd)
        ]

    still, settled = (result_of(adversary_of("sst", 10, divergence), jsd=0.5, tvd=0.1) for divergence in (1e-3, 1e-4))
    still.record["history"] = history([0.1 * i for i in range(7)])
    settled.record["history"] = history([0.0, 0.2, 0.3, 0.3, 0.31, 0.31, 0.31, 0.31])
    rows = wiegreffe_curves.epochs(runs_of([still, settled]), "sst")
    assert (
        len(rows) == 15
        and rows[rows["kept"].astype(bool)]["epoch"].tolist() == [7, 6]
        and rows["jsd"].max() == pytest.approx(0.6)
    )
    moving = wiegreffe_curves.unconverged(rows)
    assert (
        moving["divergence"].tolist() == [1e-3]
        and moving["moved"].iloc[0] == pytest.approx(0.5)
        and moving["epochs"].iloc[0] == 7
    )
    assert len(wiegreffe_curves.unconverged(wiegreffe_curves.epochs(runs_of([]), "sst"))) == 0


def test_frontiers_need_traces():
    live = [replace(result_of(Run("sst")), traces=toy_traces(np.full(30, 6), 1))]
    found = wiegreffe_curves.frontiers(runs_of(live), "sst")
    assert set(found) == {"same epsilon", "best sharing"} and found["same epsilon"]["n"].eq(30).all()
    assert wiegreffe_curves.frontiers(runs_of(curve()), "sst") == {}


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
    assert told == ["not rerun", "not rerun", "3 seeds", "5 seeds", "no run", "no run"], (
        "only gated sets are 'not rerun'"
    )
    plt.close(figure)


def test_violins_and_the_papers_medians():
    runs = runs_of(uniform_test(count=9))
    documents = wiegreffe_curves.figure_3_documents(runs, "sst", "seeds")
    documents["median"] += np.random.default_rng(0).normal(0, 0.01, len(documents))
    rows = wiegreffe_curves.figure_3({("sst", "seeds"): documents})
    part = rows[(rows["corpus"] == "sst") & (rows["kind"] == "seeds")]
    figure, axes = figures.canvas(columns=2)
    wiegreffe_figures.violins(axes[0, 0], documents, "median", part, {0: "negative", 1: "positive"})
    diamonds = [line.get_xdata()[0] for line in axes[0, 0].lines if line.get_marker() == "D"]
    assert sorted(diamonds) == sorted(part["theirs"]) and len(axes[0, 0].collections) == 8
    absent = rows[(rows["corpus"] == "diabetes") & (rows["kind"] == "search")]
    wiegreffe_figures.violins(axes[0, 1], None, "two", absent, {0: "no diabetes", 1: "diabetes"})
    assert not axes[0, 1].collections and sum(line.get_marker() == "D" for line in axes[0, 1].lines) == len(absent)
    plt.close(figure)


def test_the_trade_off_and_epochs():
    runs = runs_of(uniform_test(), curve())
    figure, axes = figures.canvas(columns=2)
    frontier = {"same epsilon": pd.DataFrame({"jsd": [0.5, 0.6], "tvd_halved": [0.0, 0.05]})}
    wiegreffe_figures.trade_off(
        axes[0, 0], wiegreffe_curves.figure_5(runs, "sst"), frontier, wiegreffe_curves.figure_5_read("sst")
    )
    wiegreffe_figures.trade_off_legend(figure)
    curves = [line for line in axes[0, 0].lines if line.get_marker() == "o" and line.get_linestyle() == "-"]
    assert len(curves) == 3 and all(len(line.get_xdata()) == len(CURVE) for line in curves)
    assert list(curves[0].get_xdata()) == [jsd for jsd, _ in CURVE.values()], "joined in the order of lambda"
    rows = pd.DataFrame(
        {
            "seed": 10,
            "divergence": [0.1, 0.1, 0.2],
            "epoch": [0, 1, 0],
            "jsd": [0.1, 0.2, 0.5],
            "kept": [False, True, True],
        }
    )
    wiegreffe_figures.by_epoch(axes[0, 1], rows)
    assert {text.get_text() for text in axes[0, 1].texts} == {"0.1", "0.2"}
    plt.close(figure)
