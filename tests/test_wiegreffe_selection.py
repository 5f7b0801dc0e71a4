"""The checkpoint's choice on the test set: paired differences and a sentence that follows them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attn_book.wiegreffe import selection
from attn_core.measures import seed_interval


def f1(differences, corpus="sst"):
    dev = pd.Series(0.8 + 0.01 * np.arange(len(differences)), index=range(10, 10 + len(differences)))
    return {(corpus, "test"): dev + np.array(differences), (corpus, "dev"): dev}


def base(seed, f1_1, loss=0.5):
    return SimpleNamespace(record={"run": {"seed": seed}, "f1_1": f1_1, "history": [{"epoch": 1, "loss": loss}]})


def test_only_seeds_of_one_training_are_compared():
    stored = {
        ("sst", "test"): [base(10, 0.82), base(50, 0.85, loss=0.6)],
        ("sst", "dev"): [base(10, 0.80), base(50, 0.80), base(257, 0.80)],
        ("imdb", "test"): [],
        ("imdb", "dev"): [base(10, 0.9)],
    }
    found, apart = selection.of_one_training(stored)
    assert apart == "sst (seed 50)" and list(found["sst", "dev"].index) == [10, 257]
    row = selection.moves(found).iloc[0]
    assert (row["corpus"], row["n_seeds"], row["mean"]) == ("sst", 1, pytest.approx(0.02))
    assert selection.of_one_training({key: stored[key] for key in stored if key[0] == "imdb"})[1] == "none"


def test_differences_are_paired():
    values = [0.01, 0.012, 0.008, 0.011, 0.009]
    row = selection.moves(f1(values)).iloc[0]
    assert (row["mean"], row["n_seeds"], row["far"]) == (pytest.approx(0.01), 5, -1)
    assert (row["low"], row["high"]) == pytest.approx(seed_interval(np.array(values)))
    lacking = f1(values)
    lacking["sst", "test"] = lacking["sst", "test"].drop(12)
    assert selection.moves(lacking)["n_seeds"].item() == 4


@pytest.mark.parametrize(
    "differences, words",
    [
        ([0.01, 0.012, 0.008, 0.011, 0.009], "flatters"),
        ([-0.01, -0.012, -0.008, -0.011, -0.009], "scores lower"),
        ([0.01, -0.012, 0.008, -0.011, 0.009], "no shift shown, either way"),
        ([0.01, 0.012, 0.008, 0.011], "too few seeds"),
    ],
)
def test_the_sentence_follows_the_interval(differences, words):
    (text,) = selection.told_moves(selection.moves(f1(differences)))
    assert text.endswith(f"seeds, {words}") and text.startswith("sst: ")


def test_a_seed_that_makes_the_mean_is_named():
    rows = selection.moves(f1([0.0, 0.001, 0.1, -0.001, 0.0]))
    assert rows["far"].item() == 12 and rows["by"].item() == pytest.approx(0.1)
    assert rows["mean_without"].item() == pytest.approx(0, abs=1e-12)
    (text,) = selection.told_moves(rows)
    assert "no shift shown, either way (seed 12 alone moves by +0.100; without it " in text
    assert selection.told_moves(rows.iloc[:0]) == ["no run of both"]


def test_each_data_set_has_a_text():
    texts = selection.told_moves(selection.moves(f1([0.0] * 5) | f1([0.0] * 4, "imdb")))
    assert [text.partition(":")[0] for text in texts] == ["sst", "imdb"]
