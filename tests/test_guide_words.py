"""What the page on guides says and shows of its tables: words follow the numbers."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attn_book.wiegreffe import guide_tables, guide_words, leakage
from attn_book.wiegreffe.differences import UNSHOWN
from attn_core.experiments import guides

REPORTED = Path(__file__).parents[1] / "data" / "reported"


def difference(corpus, contrast, mean, lies="above", half=0.01, seeds=5, guided_by=None, score="f1"):
    return {"corpus": corpus, "contrast": contrast, "asks": "why", "score": score, "mean": mean, "low": mean - half,
            "high": mean + half, "n_seeds": seeds, "n_guides": seeds if guided_by is None else guided_by,
            "holm": 0.0123 if lies else np.nan, "lies": lies}  # fmt: skip


def table(*rows):
    return pd.DataFrame([difference(**row) if isinstance(row, dict) else difference(*row) for row in rows])


ADVERSARY = "adversary − uniform"


def test_every_contrast_of_the_family_has_words():
    judged = {c.name for c in guides.CONTRASTS} - {ADVERSARY}
    parts = (guide_words.ORDER, guide_words.CONTROLS, guide_words.LEAKS)
    assert {name for part in parts for name in part} == judged and sum(map(len, parts)) == len(judged)
    assert set(guide_words.ORDER_BY_AUC) == set(leakage.ORDER) <= {c.name for c in guides.WITH_WORDS}
    assert set(guide_words.LEAKS) == set(leakage.BARE)


def test_contrasts_are_told_by_their_sides():
    words = {"own − trained": "Minus learned:", "own − uniform": "Minus uniform:"}
    rows = table(("sst", "own − uniform", 0.1), ("imdb", "own − uniform", 0.02, "contains"))
    assert guide_words.told_contrasts(rows, words) == [
        "Minus learned: above 0 on none; not shown on none; below 0 on none.",
        f"Minus uniform: above 0 on sst +0.100 (+0.090 to +0.110, 5 seeds); not shown on imdb {UNSHOWN}; "
        "below 0 on none.",
    ]
    flipped = table(("sst", "own − uniform", -0.1, "below"), ("imdb", "own − uniform", 0.02, "contains"))
    text = guide_words.told_contrasts(flipped, words)[1]
    assert "above 0 on none" in text and text.endswith("below 0 on sst -0.100 (-0.110 to -0.090, 5 seeds).")


def test_differences_in_no_correction_carry_no_mark_of_one():
    rows = table(("sst", "a − b", 0.1, "contains"), ("imdb", "a − b", -0.2, "contains")).drop(columns="lies")
    assert guide_words.told_unjudged(rows) == [
        "sst: +0.100 (+0.090 to +0.110, 5 seeds)", "imdb: -0.200 (-0.210 to -0.190, 5 seeds)",
    ]  # fmt: skip
    assert guide_words.told_unjudged(rows.iloc[:0]) == []


def by_lambda_of(corpus, gaps, settled=True):
    return pd.DataFrame({
        "corpus": corpus, "divergence": [5e-4 * (i + 1) for i in range(len(gaps))], "jsd": 0.45, "settled": settled,
        "f1": [0.8 + gap for gap in gaps], "gap": gaps, "low": np.nan, "high": np.nan, "n_seeds": 1,
        "chosen": [i == 0 for i in range(len(gaps))],
    })  # fmt: skip


def test_adversaries_are_told_with_all_their_lambda():
    rows = table(("sst", ADVERSARY, -0.2, "", 0.01, 5, 1), ("sst", "own − uniform", 0.1), ("imdb", ADVERSARY, 0.1, ""))
    by_lambda = pd.concat([by_lambda_of("sst", [0.006, -0.265])])
    own = "-0.200 (-0.210 to -0.190, 5 seeds of 1 guide)"
    ends = "from +0.006 (λ 0.0005, JSD 0.45) to -0.265 (λ 0.001, JSD 0.45)"
    assert guide_words.told_adversaries(rows, by_lambda) == [
        f"sst: {own}; over all λ {ends}", "imdb: +0.100 (+0.090 to +0.110, 5 seeds); over all λ no run",
    ]  # fmt: skip
    one = guide_words.told_adversaries(rows, by_lambda_of("imdb", [0.03]))
    assert [text.split("over all λ ")[1] for text in one] == [
        "no run", "+0.030 (λ 0.0005, JSD 0.45, the only λ run)",
    ]  # fmt: skip


def test_few_seeds_are_those_of_sets_without_any_judged_difference():
    few = [("agnews", "own − uniform", 0.1, "", 0.01, 3), ("agnews", "own − permuted", 0.1, "", 0.01, 2)]
    part = [("sst", "own − uniform", 0.1), ("sst", "own − permuted", 0.1, "", 0.01, 4)]
    adversary = [("20news", ADVERSARY, 0.1, "", 0.01, 5, 1)]
    assert guide_words.told_few(table(*few, *part, *adversary)) == "agnews (3 seeds)"
    alone = ("imdb", "own − permuted", 0.1, "", 0.01, 1)
    assert guide_words.told_few(table(alone, part[1])) == "imdb (1 seed), sst (4 seeds)", "sst lost its judged one"
    assert guide_words.told_few(table(*part)) == guide_words.told_few(table(*part).iloc[:0]) == "none"


def test_first_rules_and_live_contrasts_are_told_without_verdict():
    rows = table(("sst", "weights alone − places alone", -0.1, ""), ("sst", "ranks alone − chance", 0.2, ""),
                 ("imdb", "ranks alone − chance", np.nan, ""))  # fmt: skip
    assert guide_words.told_former(rows) == [
        "sst: weights alone -0.100 (-0.110 to -0.090), ranks alone +0.200 (+0.190 to +0.210)"
    ]
    live = table(("planted", "own − uniform", 0.01, "", np.nan), ("planted", "own − permuted", np.nan, ""))
    assert guide_words.told_live(live) == ["own − uniform: +0.010 (no interval)"]
    assert guide_words.told_live(live.iloc[:0]) == guide_words.told_former(rows.iloc[:0]) == []


def scores_of(corpus, source, f1, auc, positives=0.5):
    return pd.DataFrame({"corpus": corpus, "source": source, "seed": range(len(f1)), "f1": f1, "auc": auc,
                         "positives": positives})  # fmt: skip


def test_scores_are_told_by_data_set():
    scores = pd.concat([
        scores_of("sst", "uniform", [0.80, 0.82], [0.90, 0.90]),
        scores_of("sst", "untrained", [0.81, 0.8265], [0.9, 0.8996]),
        scores_of("imdb", "uniform", [0.7], [0.8], positives=1.0),
    ])  # fmt: skip
    alike = ["sst: F1 by at most 0.0100, AUC by at most 0.0004"]
    assert guide_words.told_alike(scores, "untrained", "uniform") == alike
    assert guide_words.told_alike(scores, "own", "uniform") == []
    assert guide_words.told_one_answer(scores) == "sst 0.67, imdb 1.00", "2 p / (1 + p)"
    assert guide_words.told_one_answer(scores.assign(positives=0.25)) == "sst 0.40, imdb 0.40"
    assert guide_words.told_seeds(scores) == "sst 2, imdb 1"
    assert (guide_words.told_one_answer(scores.iloc[:0]), guide_words.told_seeds(scores.iloc[:0])) == ("no run", "none")


def test_printed_values_are_those_of_the_file():
    raw = {
        (line["dataset"], line["model"]): float(line["value"])
        for line in csv.DictReader((REPORTED / "wiegreffe_table3_guides.csv").open())
    }
    rows = guide_words.printed()
    for name, corpus in (("SST", "sst"), ("Anemia", "anemia"), ("Diabetes", "diabetes")):
        assert rows.loc[corpus, "adversary"] == raw[name, "guided_mlp:adversary_sec4"]
        assert rows.loc[corpus, "own"] == raw[name, "guided_mlp:base_lstm"]
    own = [raw["SST", f"guided_mlp:{model}"] for model in ("adversary_sec4", "base_lstm")]
    assert guide_words.told_printed(rows, ["sst"]) == [f"sst: {own[0]:.3f} and {own[1]:.3f}"]


def test_an_adversary_is_as_good_within_the_margin():
    rows = pd.DataFrame({"adversary": [0.795, 0.785, 0.9], "own": 0.8}, index=["sst", "imdb", "anemia"])
    assert guide_words.as_good(rows, ["imdb", "sst", "anemia"]) == "sst, anemia"
    assert guide_words.as_good(rows.assign(adversary=0.5), ["sst", "imdb"]) == "none"


# ---- the folded tables -----------------------------------------------------------------------------------------------


def test_scores_stand_beside_the_papers():
    rows = pd.DataFrame({
        "corpus": ["sst", "diabetes", "imdb", "planted"], "source": ["own", "uniform", "adversary", "own"],
        "paper": [0.826, 0.691, 0.5, np.nan], "mean": [0.82, np.nan, np.nan, 0.9], "low": [0.81, np.nan, np.nan, 0.7],
        "high": [0.83, np.nan, np.nan, 1.1], "n_seeds": [5, 0, 0, 2],
    })  # fmt: skip
    areas = pd.DataFrame({"corpus": ["planted", "sst"], "source": "own", "mean": [0.95, 0.91],
                          "low": [0.9, 0.905], "high": [1.0, 0.915], "n_seeds": [2, 5]})  # fmt: skip
    shown = guide_tables.scores_by_source(rows, areas)
    assert shown.iloc[0].tolist() == [
        "sst", "base LSTM", "0.826", "0.820 (0.810 to 0.830)", "0.910 (0.905 to 0.915)", 5,
    ]  # fmt: skip
    assert shown.iloc[1].tolist() == ["diabetes", "uniform", "0.691", "–", "–", "not rerun"]
    assert shown["seeds"].tolist() == [5, "not rerun", "no run", 2]
    assert shown.iloc[3].tolist()[2:5] == ["–", "0.900 (0.700 to 1.000)", "0.950 (0.900 to 1.000)"]


@pytest.mark.parametrize(("lies", "seeds", "guided_by", "expected"), [
    ("above", 5, 5, "above 0"), ("below", 5, 5, "below 0"), ("contains", 5, 5, "not shown"),
    ("", 4, 4, "too few seeds"), ("", 5, 1, "one adversary"), ("", 1, 1, "too few seeds"),
])  # fmt: skip
def test_a_difference_says_its_side_or_why_it_has_none(lies, seeds, guided_by, expected):
    (line,) = guide_tables.all_differences(
        table(("sst", "a − b", 0.1, lies, 0.01, seeds, guided_by, "auc"))
    ).itertuples(index=False)
    p = "0.012" if lies else "–"
    assert tuple(line) == ("sst", "a − b", "why", "AUC", "+0.100 (+0.090 to +0.110)", seeds, p, expected)


def test_every_lambda_has_a_line():
    shown = guide_tables.by_lambda(by_lambda_of("sst", [0.006, -0.265], settled=[False, True]))
    assert shown["shown above"].tolist() == ["yes", ""] and shown["converged"].tolist() == ["no", "yes"]
    assert shown["λ of the adversary"].tolist() == ["0.0005", "0.001"]
    assert shown.iloc[1].tolist()[3:] == ["yes", "0.535", "-0.265 (no interval)", 1, ""]
