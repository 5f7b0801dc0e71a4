"""Majority rate and bag-of-words regression, and which models are too weak to count."""

import pandas as pd
import pytest

from attn_lab.runs import baselines

COLUMNS = ["corpus", "majority", "regression"]


BARS = pd.DataFrame([("imdb_stars", 0.2, 0.4), ("snli", 0.33, 0.59), ("babi_1", 0.15, 0.17)], columns=COLUMNS)


@pytest.mark.parametrize(
    "corpus, accuracies, expected",
    [
        ("imdb_stars", (0.38, 0.39, 0.40), False),
        ("imdb_stars", (0.36, 0.365, 0.36), True),
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
def test_weak_models_do_not_count(corpus, accuracies, expected, monkeypatch):
    monkeypatch.setattr(baselines, "stored", lambda: BARS)
    runs = pd.DataFrame({"corpus": corpus, "encoder": "lstm", "accuracy": accuracies})
    assert baselines.weak(runs).to_dict() == {(corpus, "lstm"): expected}


def test_a_model_of_pairs_is_held_against_the_best_encoder_of_its_set(monkeypatch):
    monkeypatch.setattr(baselines, "stored", lambda: BARS)
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
