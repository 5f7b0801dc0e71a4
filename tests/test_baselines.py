"""Majority rate and bag-of-words regression, and which models are too weak to count."""

import numpy as np
import pandas as pd
import pytest

from attn_core import baselines
from attn_core.corpora import encode
from attn_core.corpora.text import SPECIALS


def test_bags_count_words_and_no_specials():
    documents = encode("planted", n_train=7, n_dev=2, n_test=2).splits["train"]
    counts = baselines.bags(documents, 500).toarray()
    for d in range(len(documents)):
        ids = documents.ids[documents.offsets[d] : documents.offsets[d + 1]]
        for word in range(len(SPECIALS), 500):
            assert counts[d, word - len(SPECIALS)] == (ids == word).sum()


def test_regression_learns_planted_words_and_the_majority_does_not():
    row = baselines.bag_of_words(encode("planted", n_train=400, n_dev=100, n_test=200, positive=0.6))
    assert row["regression"] > 0.95 and row["majority"] == pytest.approx(0.6, abs=0.01)
    assert set(row) == set(baselines.COLUMNS) and row["n_test"] == 200


def test_weak_models_do_not_count(monkeypatch):
    table = pd.DataFrame([{"corpus": "imdb_stars", "majority": 0.2, "regression": 0.4}])
    monkeypatch.setattr(baselines, "stored", lambda: table)
    weakness = lambda *accuracies: baselines.weakness("imdb_stars", accuracies)
    assert weakness(0.38, 0.39, 0.40) == "" and weakness(0.36, 0.365, 0.36)
    assert weakness(0.369) == "3.1 points below the regression", "more than the rule's 3"
    assert "majority" in weakness(0.1, 0.5, 0.6), "its interval reaches down to it"
    assert "majority" in weakness(0.2, 0.6), "of two seeds the lower one does"
    assert weakness(0.37 + 1e-9) == "" and np.isclose(0.4 - baselines.BELOW, 0.37)
    assert baselines.weakness("yelp", [0.5]) == "no baseline was measured"
    assert baselines.weakness("planted", [0.5]) == "", "made by us"
