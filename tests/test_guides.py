"""Guided runs: F1 over seeds, differences within seeds, Holm, and a verdict that follows the numbers."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control, ttest_rel

from attn_book.wiegreffe import leakage
from attn_core.experiments import guides
from attn_core.runs import SEEDS

LEVELS = {
    "uniform": 0.80, "trained": 0.81, "own": 0.83, "adversary": 0.60, "permuted": 0.80, "swapped": 0.82,
    "untrained": 0.80, "searched": 0.70, "own, position": 0.60, "own, rank": 0.667, "uniform, position": 0.60,
}  # fmt: skip


AUC = {"own, position": 0.50, "own, rank": 0.50, "uniform, position": 0.50}


def scores_of(levels=None, corpus="sst", seeds=SEEDS[:5], spread=0.002, positives=0.5, auc=None):
    """Made-up F1 around a level per source, one number a seed, noise of its own for each source; AUC likewise."""
    rng = np.random.default_rng(0)
    rows = []
    for source, level in (LEVELS | (levels or {})).items():
        if level is not None:
            noise = rng.normal(size=len(seeds))
            noise = spread * (noise - noise.mean())
            area = (AUC | (auc or {})).get(source, 0.9)
            rows += [
                (corpus, source, seed, level + e, area + e, positives) for seed, e in zip(seeds, noise, strict=True)
            ]
    return pd.DataFrame(rows, columns=["corpus", "source", "seed", "f1", "auc", "positives"])


def test_differences_are_taken_within_seeds():
    scores = scores_of()
    found = guides.differences(scores).set_index("contrast")
    runs = {source: part.set_index("seed") for source, part in scores.groupby("source")}
    for contrast in guides.CONTRASTS:
        row, first = found.loc[contrast.name], runs[contrast.first][contrast.score]
        second = runs[contrast.second][contrast.score]
        test = ttest_rel(first, second)
        low, high = test.confidence_interval(0.95)
        assert (row["mean"], row["low"], row["high"], row["p"]) == pytest.approx(
            (np.mean(first - second), low, high, test.pvalue)
        )
        assert row["n_seeds"] == 5
    assert found["score"].value_counts().to_dict() == {"f1": 7, "auc": 2}


def test_weights_alone_are_judged_by_auc():
    """Networks that say class 0 alone have F1 0 and may yet order documents well: F1 hides it, AUC does not."""
    scores = scores_of({"own, position": 0.0, "own, rank": 0.0}, auc={"own, position": 0.7, "own, rank": 0.7})
    found = guides.differences(scores).set_index("contrast")
    for name in leakage.NEEDED[2:]:
        assert found.loc[name, "lies"] == "above" and found.loc[name, "mean"] == pytest.approx(0.2)


def test_ranks_stand_beside_places_with_uniform_weights():
    """A network that sees as many ranks as words sees the length; chance does not, so length alone is no leak."""
    scores = scores_of(auc={"own, rank": 0.6, "uniform, position": 0.6})
    found = guides.differences(scores).set_index("contrast")
    assert found.loc["ranks alone − places alone", "lies"] == "contains"


def test_words_are_compared_by_auc_in_a_correction_of_their_own():
    """Where a threshold is noise, F1 shows nothing and AUC may; the latter changes no verdict."""
    scores = scores_of({"own": 0.80}, auc={"own": 0.95})
    found, areas = (take(scores).set_index("contrast") for take in (guides.differences, guides.by_auc))
    assert found.loc["own − uniform", "lies"] == "contains" and areas.loc["own − uniform", "lies"] == "above"
    assert areas.loc["own − uniform", "mean"] == pytest.approx(0.05) and areas["score"].eq("auc").all()
    assert list(areas.index) == [c.name for c in guides.WITH_WORDS] and set(leakage.ORDER) <= set(areas.index)
    smallest = areas["p"].idxmin()
    assert areas.loc[smallest, "holm"] == pytest.approx(min(areas.loc[smallest, "p"] * len(areas), 1))


def test_a_leak_names_what_tells_the_label():
    gaps = guides.differences(scores_of(auc={"own, rank": 0.55}))
    assert f"{leakage.LEAKS['above']} (ranks)" in leakage.judged(gaps, "sst")[2]
    gaps = guides.differences(scores_of(auc={"own, rank": 0.55, "own, position": 0.55}))
    assert f"{leakage.LEAKS['above']} (places, ranks)" in leakage.judged(gaps, "sst")[2]


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


SHOWN = {"own, position": 0.55}


@pytest.mark.parametrize(
    "levels, auc, verdict, leak",
    [
        ({}, {}, "tokens", "contains"),
        ({}, SHOWN, "tokens", "above"),
        ({}, {"own, rank": 0.55}, "tokens", "above"),
        ({"own, position": 0.9}, {}, "tokens", "contains"),
        ({"permuted": 0.83}, SHOWN, "unexplained", "above"),
        ({"permuted": 0.83}, {}, "unexplained", "contains"),
        ({"own": 0.80}, {}, "undecided", "contains"),
        ({"own": 0.80, "permuted": 0.70}, SHOWN, "undecided", "above"),
        ({"own": 0.70}, SHOWN, "no gain", "above"),
        ({}, {"own, position": 0.45}, "tokens", "contains"),
        ({"own, position": None}, {}, "tokens", ""),
        ({"permuted": None}, {}, "open", "contains"),
        ({"uniform": None}, SHOWN, "open", "above"),
    ],
)
def test_verdict_and_leak_follow_the_numbers(levels, auc, verdict, leak):
    found, leaks, sentence = leakage.judged(guides.differences(scores_of(levels, auc=auc)), "sst")
    assert (found, leaks) == (verdict, leak) and sentence.startswith("sst: ")
    assert leakage.VERDICTS[verdict] in sentence and leakage.LEAKS[leak] in sentence


def test_a_leak_by_its_own_interval_alone_is_told_so():
    scores = scores_of(spread=0.014, auc={"own, position": 0.54})
    verdict, leak, sentence = leakage.judged(guides.differences(scores), "sst")
    assert leak == "alone" and leakage.LEAKS["alone"] in sentence and "AUC +0.040 (" in sentence


def test_few_seeds_decide_nothing():
    gaps = guides.differences(scores_of(seeds=SEEDS[:4]))
    assert leakage.judged(gaps, "sst")[0] == "open" and set(gaps["lies"]) == {""}
    assert leakage.judged(gaps, "imdb") == ("open", "", "imdb: no run of what decides it.")


def test_a_gain_that_is_not_shown_is_no_absence_and_permuting_is_told():
    """The interval of own - uniform around 0 decides nothing; what permuting costs follows its own numbers."""

    def sentence(permuted, spread=0.002):
        gaps = guides.differences(scores_of({"own": 0.80, "permuted": permuted}, spread=spread))
        verdict, _, words = leakage.judged(gaps, "sst")
        assert verdict == "undecided" and leakage.VERDICTS["undecided"] in words and "no gain" not in words
        return words

    assert leakage.PERMUTED["above"] in sentence(0.70) and leakage.PERMUTED["contains"] in sentence(0.80)
    assert leakage.PERMUTED["below"] in sentence(0.90)
    weak = sentence(0.78, spread=0.014)
    assert leakage.PERMUTED["alone"] in weak and "clear of 0, but not after Holm" in weak, "clear of 0 before Holm only"
    *_, lower = leakage.judged(guides.differences(scores_of({"own": 0.70})), "sst")
    assert leakage.VERDICTS["no gain"] in lower and leakage.VERDICTS["undecided"] not in lower


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
    assert leakage.told_gap(row).endswith("5 seeds of 1 guide)")


def test_contrasts_are_listed_by_side():
    gaps = guides.differences(pd.concat([scores_of(), scores_of({"permuted": 0.83}, "imdb")]))
    assert leakage.told_where(gaps, "own − permuted", "above").startswith("sst +0.030 (")
    assert leakage.told_where(gaps, "own − permuted", "contains").startswith("imdb 0.000 (")
    assert leakage.told_where(gaps, "own − permuted", "below") == "none"


def test_sentences_hold_the_numbers():
    *_, sentence = leakage.judged(guides.differences(scores_of()), "sst")
    assert "own − uniform +0.030 (" in sentence and "own − permuted +0.030 (" in sentence and "5 seeds" in sentence
    *_, short = leakage.judged(guides.differences(scores_of()), "sst", numbers=False)
    assert short == f"sst: {leakage.VERDICTS['tokens']}; {leakage.LEAKS['contains']}." and sentence.startswith(
        short[:-1]
    )
    *_, other = leakage.judged(guides.differences(scores_of({"own": 0.85})), "sst")
    assert "own − uniform +0.050 (" in other


def test_sources_over_seeds():
    table = guides.over_seeds(pd.concat([scores_of(corpus="imdb"), scores_of({"own": None})]))
    assert list(table["source"][:4]) == ["uniform", "trained", "own", "adversary"] and table["corpus"].iloc[0] == "imdb"
    row = table[(table["corpus"] == "sst") & (table["source"] == "uniform")].iloc[0]
    assert row["mean"] == pytest.approx(0.8) and row["low"] < 0.8 < row["high"] and row["n_seeds"] == 5
    area = guides.over_seeds(scores_of(), "auc").set_index("source")["mean"]
    assert area["own, rank"] == pytest.approx(0.5) and area["own"] == pytest.approx(0.9)


def test_without_runs_there_are_tables_without_rows():
    none = scores_of().iloc[:0]
    for take in (guides.differences, guides.by_auc):
        table = take(none)
        assert table.empty and table["mean"].dtype == float
