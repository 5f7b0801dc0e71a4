"""Guided runs: F1 over seeds, differences within seeds, Holm, and a verdict that follows the numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp, ttest_rel

from attn_book import guides
from attn_book.corrected import p_of
from attn_lab import over_seeds
from attn_lab.runs.run import SEEDS


def made_up():
    """Scores of five seeds of each source, F1 around 0.8, of networks guided by adversaries around 0.6."""
    rng, seeds = np.random.default_rng(0), SEEDS[:5]
    tables = []
    for source in guides.SOURCES:
        scores = rng.normal([0.6 if source == "adversary" else 0.8, 0.9], 0.002, (5, 2))
        scores = pd.DataFrame(scores, columns=["f1", "auc"])
        tables.append(scores.assign(corpus="sst", source=source, seed=seeds, base_seed=seeds))
    return pd.concat(tables, ignore_index=True)


def test_differences_are_taken_within_seeds():
    scores = made_up()
    found = guides.differences(scores).set_index("contrast")
    runs = {source: part.set_index("seed") for source, part in scores.groupby("source")}
    for name, (first, second, score) in guides.CONTRASTS.items():
        row, first, second = found.loc[name], runs[first][score], runs[second][score]
        test = ttest_rel(first, second)
        expected = np.mean(first - second), *test.confidence_interval(0.95), test.pvalue
        assert (row["mean"], row["low"], row["high"], row["p"]) == pytest.approx(expected)
        assert row["n_seeds"] == 5
    assert found["score"].value_counts().to_dict() == {"f1": 7, "auc": 2}


def test_networks_guided_by_one_adversary_are_shown_and_not_judged():
    scores = made_up()
    scores.loc[scores["source"] == "adversary", "base_seed"] = 10
    scores.loc[scores["source"].isin(["uniform", "trained"]), "base_seed"] = -1
    found, before = (guides.differences(rows).set_index("contrast") for rows in (scores, made_up()))
    row = found.loc["adversary − uniform"]
    assert (row["n_seeds"], row["n_guides"], row["lies"]) == (5, 1, "")
    assert np.isnan(row["holm"])
    assert row["high"] < 0
    others = found.drop("adversary − uniform")
    assert others["n_guides"].eq(5).all()
    assert others["lies"].ne("").all()
    smallest = others["p"].idxmin()
    assert others.loc[smallest, "holm"] == pytest.approx(min(others.loc[smallest, "p"] * len(others), 1))
    assert before.loc["adversary − uniform", "lies"] == "below", "five adversaries are judged"


SPREAD = np.random.default_rng(0).normal(0.3, 1, 5)


@pytest.mark.parametrize(
    ("values", "line", "p"),
    [
        (SPREAD, 0.0, ttest_1samp(SPREAD, 0).pvalue),
        (SPREAD, 0.5, ttest_1samp(SPREAD, 0.5).pvalue),
        (np.zeros(5), 0, 1),
        (np.full(5, 0.1), 0, 0),
        (np.ones(2), 0, 1),
    ],
)
def test_p_over_seeds_is_scipys_and_defined_for_equal_seeds_and_too_few(values, line, p):
    rows = over_seeds(pd.DataFrame({"value": values}))
    assert p_of(rows, line)[0] == pytest.approx(p)
