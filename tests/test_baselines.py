"""Majority rate and bag-of-words regression, and which models are too weak to count."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from attn_core import baselines
from attn_core.corpora import encode
from benchmarks import baselines as measured

COLUMNS = ["corpus", "majority", "regression"]


def test_regression_learns_planted_words_and_the_majority_does_not():
    row = measured.bag_of_words(encode("planted", n_train=400, n_dev=100, n_test=200, positive=0.6))
    assert row["regression"] > 0.95 and row["majority"] == pytest.approx(0.6, abs=0.01)
    assert set(row) == set(measured.COLUMNS) and row["n_test"] == 200


def test_weak_models_do_not_count():
    table = pd.DataFrame([("imdb_stars", 0.2, 0.4), ("snli", 0.33, 0.59)], columns=COLUMNS)
    of = lambda corpus, accuracies, best=np.nan: baselines.weakness(
        corpus, pd.Series(accuracies), best, table.set_index("corpus")
    )
    weakness = lambda *accuracies: of("imdb_stars", accuracies)
    assert weakness(0.38, 0.39, 0.40) == "" and weakness(0.36, 0.365, 0.36)
    assert weakness(0.369) == "3.1 points below the regression", "more than the rule's 3"
    assert "majority" in weakness(0.1, 0.5, 0.6), "its interval reaches down to it"
    assert "majority" in weakness(0.2, 0.6), "of two seeds the lower one does"
    assert weakness(0.37 + 1e-9) == "" and np.isclose(0.4 - baselines.BELOW, 0.37)
    assert "does not read" in of("snli", [0.61, 0.615]), "1 to 2 points better: it ignores the premise"
    assert of("snli", [0.62, 0.63]) == "" == of("snli", [0.7], 0.79)
    assert "best encoder" in of("snli", [0.65], 0.76)
    assert of("yelp", [0.5]) == "no baseline was measured"
    assert of("planted", [0.5]) == "", "made by us"


def test_a_model_of_pairs_is_held_against_the_best_encoder_of_its_set(monkeypatch):
    monkeypatch.setattr(baselines, "stored", lambda: pd.DataFrame([("babi_1", 0.15, 0.17)], columns=COLUMNS))
    runs = [("babi_1", "lstm", 0.98), ("babi_1", "lstm", 1.0), ("babi_1", "cnn", 0.9), ("babi_1", "cnn", 0.92),
            ("babi_1", "average", 0.4), ("babi_1", "average", 0.5)]  # fmt: skip
    runs = pd.DataFrame(runs, columns=["corpus", "encoder", "accuracy"])
    found = baselines.weak(runs)
    assert list(found.index[found != ""]) == [("babi_1", "average")]
    assert baselines.weak(runs.iloc[:0]).empty


def test_the_regression_of_pairs_never_reads_the_text_attended_to():
    data = encode("babi_1", source="generated")
    data = replace(data, splits={name: part.take(range(200)) for name, part in data.splits.items()})
    other = {name: replace(part, ids=part.ids[::-1].copy()) for name, part in data.splits.items()}
    assert measured.bag_of_words(replace(data, splits=other)) == measured.bag_of_words(data)
