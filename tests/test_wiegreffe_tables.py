"""Wiegreffe & Pinter's tables beside the paper's and the rule on which data sets need attention."""


import numpy as np
import pytest
from wiegreffe_results import result_of, runs_of, uniform_test

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
    paired = runs_of(uniform_test("sst", 7, gap=0.002))
    assert set(tables.gaps(paired, ["sst"])["answer"]) == {"not needed"} and set(
        tables.gaps(paired, ["sst"], {"sst": 9})["answer"]
    ) == {tables.OPEN}


@pytest.mark.parametrize("low, high, n, answer", [
    (0.011, 0.03, 5, "needed"), (0.01, 0.03, 5, "undecided"), (-0.02, 0.0099, 5, "not needed"),
    (-0.02, 0.01, 5, "undecided"), (0.011, 0.03, 4, ""), (np.nan, np.nan, 5, ""),
])  # fmt: skip
def test_answers_by_interval(low, high, n, answer):
    assert tables.answer(low, high, n) == answer


def test_other_peoples_numbers_bear_this_books_names():
    elsewhere = tables.reported("wiegreffe_replications_context", paper="zhao_cs6741_replication").pivot(
        index="corpus", columns="model", values="value"
    )
    gap = elsewhere["bilstm_attention"] - elsewhere["bilstm_uniform_frozen"]
    assert gap.round(4).to_dict() == {"imdb": 0.0204, "sst": 0.0056, "agnews": 0.0009, "20news": -0.0055}
    printed = tables.reported("wiegreffe_dataset_stats_context", paper="jain_wallace_2019")
    assert set(printed["corpus"]) == set(wiegreffe_runs.PAPER_SETS), "the columns of the setup page are filled"


# ---- what ought to be there ------------------------------------------------------------------------------------------


def test_gather_reads_the_runs_of_the_named_sets(stored):
    stored([result_of(Run("sst", attention="uniform")), result_of(Run("imdb", seed=2))])
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


def test_an_end_that_would_be_printed_as_the_bound_has_four_digits():
    assert tables.digits(-0.003, 0.0098) == ".4f" and tables.digits(-0.003, 0.0088) == ".3f"
    assert tables.digits(-0.02, 0.0004, 0.0, "+.3f") == "+.4f" and tables.digits(0.1, 0.2, 0.1, ".0%") == ".0%"
