"""The base models of section 3.1: which are absent, their data and scores beside the printed ones."""

from types import SimpleNamespace

import numpy as np
import pytest

from attn_book.wiegreffe import setup
from attn_core.measures import seed_interval
from attn_core.seeds import book_seeds


def base(seed, f1_1=0.9):
    splits = {"test": {"mean_length": 19.6}}
    record = {"run": {"seed": seed}, "f1_1": f1_1, "n_train": 6000, "n_dev": 800, "n_test": 1725,
              "statistics": {"splits": splits}}  # fmt: skip
    return SimpleNamespace(record=record)


def test_absent_models_are_named_with_the_next_command():
    first, second, third = book_seeds("sst", 3)
    stored = {("sst", "test"): [base(first)], ("sst", "dev"): [base(seed) for seed in (first, second, third)]}
    private, sst = setup.absent_bases(stored | {("diabetes", chosen): [] for chosen in setup.CHOSEN},
                                      ["diabetes", "sst"], 3)  # fmt: skip
    assert private.startswith("diabetes: not rerun")
    assert sst.startswith("sst: 2 of 6 planned runs absent\n")
    assert "on the test set (as the authors): 1 of 3 seeds, checkpoint on development data: 3 of 3 seeds" in sst
    assert f"--seed {second} --selection test" in sst
    whole = {("sst", chosen): [base(seed) for seed in (first, second, third)] for chosen in setup.CHOSEN}
    assert setup.absent_bases(whole, ["sst"], 3) == []


def test_data_stand_beside_what_is_printed():
    stored = {("sst", "dev"): [base(10)], ("imdb", "dev"): [], ("diabetes", "dev"): []}
    sst, imdb, diabetes = setup.data_table(stored, ["sst", "imdb", "diabetes"]).to_dict("records")
    assert sst["ours: training + development"] == "6,000 + 800" and sst["test"] == "1,725"
    assert sst["mean length"] == "20 (test)" and sst["training, printed"] != "–"
    assert (imdb["ours: training + development"], imdb["test"]) == (setup.NO_RUN, "–")
    assert diabetes["ours: training + development"] == setup.NOT_RERUN
    assert setup.summed({"a": 1000.0, "b": 34.0}, "a", "b") == "1,034" and setup.summed({"a": 1.0}, "a", "b") == "–"


def test_scores_have_intervals_within_what_f1_can_be():
    values = [0.99, 1.0, 0.98]
    stored = {("sst", "test"): [base(i, value) for i, value in enumerate(values)], ("sst", "dev"): []}
    rows = setup.base_scores(stored, ["sst"]).set_index("series")
    chosen, none = rows.loc[setup.CHOSEN["test"]], rows.loc[setup.CHOSEN["dev"]]
    assert chosen["mean"] == pytest.approx(0.99) and chosen["n_seeds"] == 3
    assert chosen["low"] == pytest.approx(seed_interval(np.array(values))[0]) and chosen["high"] == 1
    assert np.isnan(none["mean"]) and none["n_seeds"] == 0
    assert 0.5 < none["reproduced"] < 1 and 0.5 < none["jain"] < 1, "Table 2 stands beside in any case"
