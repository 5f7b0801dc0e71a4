"""Guided runs: F1 over seeds, differences within seeds, Holm, and a verdict that follows the numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp, ttest_rel

from attn_book import guides
from attn_book.corrected import p_of
from attn_lab import over_seeds
from attn_lab.runs.run import SEEDS

LEVELS = {
    "uniform": 0.80,
    "trained": 0.81,
    "own": 0.83,
    "adversary": 0.60,
    "permuted": 0.80,
    "swapped": 0.82,
    "untrained": 0.80,
    "searched": 0.70,
    "own, position": 0.60,
    "own, rank": 0.667,
    "uniform, position": 0.60,
}


AUC = {"own, position": 0.50, "own, rank": 0.50, "uniform, position": 0.50}


def scores_of(levels=None, corpus="sst", seeds=SEEDS[:5], spread=0.002, auc=None):
    """Made-up F1 around a level per source, one number a seed, noise of its own for each source; AUC likewise."""
    rng = np.random.default_rng(0)
    rows = []
    for source, level in (LEVELS | (levels or {})).items():
        if level is not None:
            noise = rng.normal(size=len(seeds))
            noise = spread * (noise - noise.mean())
            area = (AUC | (auc or {})).get(source, 0.9)
            rows += [
                (corpus, source, seed, seed, level + e, area + e)
                for seed, e in zip(seeds, noise, strict=True)
            ]
    return pd.DataFrame(rows, columns=["corpus", "source", "seed", "base_seed", "f1", "auc"])


def test_differences_are_taken_within_seeds():
    scores = scores_of()
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
    scores = scores_of().assign(
        base_seed=lambda rows: np.where(rows["source"] == "adversary", 10, rows["seed"])
    )
    scores.loc[scores["source"].isin(["uniform", "trained"]), "base_seed"] = -1
    found, before = (guides.differences(rows).set_index("contrast") for rows in (scores, scores_of()))
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
