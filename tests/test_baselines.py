"""Majority rate and bag-of-words regression, and which models are too weak to count."""

from dataclasses import replace

import pandas as pd
import pytest

from attn_lab.data import encode
from attn_lab.runs import baselines
from benchmarks.baselines import bag_of_words

COLUMNS = ["corpus", "majority", "regression"]


def test_regression_learns_planted_words_and_the_majority_does_not():
    row = bag_of_words(encode("planted", n_train=400, n_dev=100, n_test=200, positive=0.6))
    assert row["regression"] > 0.95
    assert row["majority"] == pytest.approx(0.6, abs=0.01)
    assert row["n_test"] == 200


def test_the_regression_of_pairs_never_reads_the_text_attended_to():
    data = encode("babi_1", source="generated")
    data = replace(data, splits={name: part.take(range(200)) for name, part in data.splits.items()})
    other = {name: replace(part, ids=part.ids[::-1].copy()) for name, part in data.splits.items()}
    assert bag_of_words(replace(data, splits=other)) == bag_of_words(data)


BARS = pd.DataFrame([("imdb_stars", 0.2, 0.4), ("snli", 0.33, 0.59), ("babi_1", 0.15, 0.17)], columns=COLUMNS)


@pytest.fixture(autouse=True)
def bars(monkeypatch):
    monkeypatch.setattr(baselines, "stored", lambda: BARS)


@pytest.mark.parametrize(
    "corpus, accuracies, expected",
    [
        ("imdb_stars", (0.369,), True),  # 3.1 points below the regression, more than the rule's 3
        ("imdb_stars", (0.37 + 1e-9,), False),
        ("imdb_stars", (0.1, 0.5, 0.6), True),  # its interval reaches down to the majority
        ("imdb_stars", (0.2, 0.6), True),  # of two seeds the lower one does
        ("snli", (0.61, 0.615), True),  # 1 to 2 points better: it ignores the premise
        ("snli", (0.62, 0.63), False),
        ("yelp", (0.5,), True),  # no baseline was measured
        ("planted", (0.5,), False),  # made by us
    ],
)
def test_weak_models_do_not_count(corpus, accuracies, expected):
    runs = pd.DataFrame({"corpus": corpus, "encoder": "lstm", "accuracy": accuracies})
    assert baselines.weak(runs).to_dict() == {(corpus, "lstm"): expected}


def test_a_model_of_pairs_is_held_against_the_best_encoder_of_its_set():
    runs = [
        ("babi_1", "lstm", 0.98),
        ("babi_1", "lstm", 1.0),
        ("babi_1", "cnn", 0.9),
        ("babi_1", "cnn", 0.92),
        ("babi_1", "average", 0.4),
        ("babi_1", "average", 0.5),
        ("snli", "lstm", 0.79),
        ("snli", "cnn", 0.7),
        ("imdb_stars", "han_rnn", 0.6),
        ("imdb_stars", "flan_rnn", 0.45),
    ]
    runs = pd.DataFrame(runs, columns=["corpus", "encoder", "accuracy"])
    found = baselines.weak(runs)
    assert list(found.index[found]) == [("babi_1", "average")], "texts have no such bar"
    assert baselines.weak(runs.iloc[:0]).empty
