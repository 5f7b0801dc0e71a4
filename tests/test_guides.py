"""Guided runs: F1 over seeds, differences within seeds, Holm, and a verdict that follows the numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control, ttest_1samp, ttest_rel

from attn_book import guides
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
            rows += [(corpus, source, seed, seed, level + e, area + e) for seed, e in zip(seeds, noise, strict=True)]
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


def test_words_are_compared_by_auc_in_a_correction_of_their_own():
    """Where a threshold is noise, F1 shows nothing and AUC may; the latter changes no verdict."""
    scores = scores_of({"own": 0.80}, auc={"own": 0.95})
    found, areas = (guides.differences(scores, of).set_index("contrast") for of in (guides.CONTRASTS, guides.BY_AUC))
    assert found.loc["own − uniform", "lies"] == "contains" and areas.loc["own − uniform", "lies"] == "above"
    assert areas.loc["own − uniform", "mean"] == pytest.approx(0.05) and areas["score"].eq("auc").all()
    assert list(areas.index) == list(guides.BY_AUC) and {"own − trained", "trained − uniform"} < set(guides.BY_AUC)
    smallest = areas["p"].idxmin()
    assert areas.loc[smallest, "holm"] == pytest.approx(min(areas.loc[smallest, "p"] * len(areas), 1))


def test_seeds_of_one_source_alone_do_not_count():
    scores = scores_of()
    scores = scores[~((scores["source"] == "permuted") & (scores["seed"] == 50))]
    found = guides.differences(scores).set_index("contrast")
    assert found.loc["own − permuted", "n_seeds"] == 4 and found.loc["own − permuted", "lies"] == ""
    assert np.isnan(found.loc["own − permuted", "holm"]) and found.loc["own − uniform", "n_seeds"] == 5


def test_holm_over_all_data_sets():
    """Holm's bounds by hand: the smallest p is multiplied by the number of tests; false discoveries are less strict."""
    both = pd.concat([scores_of(), scores_of({"own": 0.801}, "imdb")])
    found = guides.differences(both)
    assert len(found) == 2 * len(guides.CONTRASTS) and found["n_seeds"].eq(5).all()
    smallest = found["p"].idxmin()
    assert found.loc[smallest, "holm"] == pytest.approx(min(found.loc[smallest, "p"] * len(found), 1))
    assert (found["holm"] >= found["p"]).all() and (found["holm"] >= false_discovery_control(found["p"]) - 1e-12).all()
    order = found.sort_values("p")
    assert (np.diff(order["holm"]) >= -1e-12).all()
    alone = guides.differences(scores_of())
    assert (alone["holm"].to_numpy() <= found[found["corpus"] == "sst"]["holm"].to_numpy() + 1e-12).all()


def test_networks_guided_by_one_adversary_are_shown_and_not_judged():
    scores = scores_of().assign(base_seed=lambda rows: np.where(rows["source"] == "adversary", 10, rows["seed"]))
    scores.loc[scores["source"].isin(["uniform", "trained"]), "base_seed"] = -1
    found, before = (guides.differences(rows).set_index("contrast") for rows in (scores, scores_of()))
    row = found.loc["adversary − uniform"]
    assert (row["n_seeds"], row["n_guides"], row["lies"]) == (5, 1, "") and np.isnan(row["holm"]) and row["high"] < 0
    others = found.drop("adversary − uniform")
    assert others["n_guides"].eq(5).all() and others["lies"].ne("").all()
    smallest = others["p"].idxmin()
    assert others.loc[smallest, "holm"] == pytest.approx(min(others.loc[smallest, "p"] * len(others), 1))
    assert before.loc["adversary − uniform", "lies"] == "below", "five adversaries are judged"


def test_without_runs_there_are_tables_without_rows():
    table = guides.differences(scores_of().iloc[:0])
    assert table.empty and table["mean"].dtype == float


def test_p_over_seeds_is_scipys_and_defined_for_equal_seeds():
    values = np.random.default_rng(0).normal(0.3, 1, 5)
    assert guides.seed_p(values) == pytest.approx(ttest_1samp(values, 0).pvalue)
    assert (
        guides.seed_p(np.zeros(5)) == 1 and guides.seed_p(np.full(5, 0.1)) == 0 and np.isnan(guides.seed_p(np.ones(1)))
    )
