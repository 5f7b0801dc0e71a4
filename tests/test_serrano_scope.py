"""Whom the most attended item speaks for: hand-worked documents, and words that follow the numbers."""

import numpy as np
import pandas as pd
import pytest

from attn_book.serrano import scope
from attn_core.traces import Traces

RIVAL = ([0.4, 0.3, 0.3], [[0, 2, 0], [3, 0, 0], [3, 0, 0]])
"""Weights and contributions: class 0 wins, the top item speaks for class 1, either other item for class 0."""

OWN = ([0.6, 0.4], [[3, 0, 0], [1, 0, 0]])
"""The top item speaks for class 0, which wins; without the other one class 0 rises, so that one speaks for another."""

TURNS = ([0.4, 0.3, 0.3], [[1.5, 4.3, 0], [2, 0, 2.2], [2, 0, 2.2]])
"""As RIVAL, but class 2 wins where the top item is gone."""

ALONE = ([1.0], [[0, 5, 0]])


def made_of(*documents) -> Traces:
    weights, contributions = zip(*documents, strict=True)
    return Traces(
        np.arange(len(documents)), np.zeros(len(documents), int), np.cumsum([0, *map(len, weights)]),
        np.concatenate([np.log(part) - np.log(max(part)) for part in weights]),
        np.concatenate([np.array(part, float) for part in contributions]), np.zeros(3),
    )  # fmt: skip


def softmax(*logits: float) -> np.ndarray:
    return np.exp(logits) / np.exp(logits).sum()


def test_shares_by_hand():
    rows = scope.shares(made_of(RIVAL, OWN, ALONE)).set_index("what")
    assert rows["n"].to_dict() == {"other": 2, "rises": 2, "by chance": 2, "beyond": 2, "tvd": 1, "stays": 1}
    assert rows.loc[["other", "rises", "by chance", "beyond", "stays"], "mean"].tolist() == [0.5, 0.5, 0.5, 0.0, 1.0]
    assert rows.loc["tvd", "mean"] == pytest.approx(np.abs(softmax(1.8, 0.8, 0) - softmax(3, 0, 0)).sum() / 2)
    assert rows.loc[["by chance", "tvd", "stays"], ["low", "high"]].isna().all(axis=None)
    assert rows.loc["other", ["low", "high"]].tolist() == [0, 1] and rows.loc["beyond", "high"] == 1


def test_the_median_change_and_the_decision_are_of_the_documents_that_speak_so():
    rows = scope.shares(made_of(RIVAL, RIVAL, TURNS, OWN, OWN)).set_index("what")
    assert rows.loc["stays", ["mean", "n"]].tolist() == [pytest.approx(2 / 3), 3]
    rival, turns = (scope.shares(made_of(one)).set_index("what").loc["tvd", "mean"] for one in (RIVAL, TURNS))
    assert rows.loc["tvd", "mean"] == rival != turns, "the median, not the mean"


def test_documents_that_are_all_alike_have_a_wilson_interval():
    rows = scope.shares(made_of(*[RIVAL] * 30)).set_index("what")
    assert rows.loc["other", "low"] == pytest.approx(30 / (30 + 1.959964**2), abs=1e-5)
    assert np.isnan(rows.loc["beyond", "low"]) and rows.loc["beyond", "mean"] == 1
    none = scope.shares(made_of(OWN, OWN)).set_index("what")
    assert none.loc["stays", "n"] == 0 and none.loc[["tvd", "stays"], "mean"].isna().all()


def models(other=0.12, beyond=0.03, n=980, weak=()) -> pd.DataFrame:
    """Two models by hand: amazon HANrnn with the numbers given, and the generated set's."""
    parts = []
    for corpus, documents in (("amazon", n), ("planted", 300)):
        numbers = {
            "other": (other, other - 0.02, other + 0.02, documents), "rises": (0.25, 0.2, 0.3, documents),
            "by chance": (other - beyond, np.nan, np.nan, documents),
            "beyond": (beyond, beyond - 0.02, beyond + 0.02, documents),
            "tvd": (0.0625, np.nan, np.nan, 1117), "stays": (0.9, np.nan, np.nan, 1117),
        }  # fmt: skip
        rows = [[what, *values] for what, values in numbers.items()]
        found = pd.DataFrame(rows, columns=["what", "mean", "low", "high", "n"])
        counts = scope.counts(corpus, "han_rnn", weak)
        parts.append(found.assign(corpus=corpus, encoder="han_rnn", n_seeds=1, counts=counts))
    return pd.concat(parts, ignore_index=True)


def test_words_follow_the_numbers():
    rows = models()
    may, few = scope.entering(rows, 100)
    assert scope.told(may) == "amazon HANrnn 12% (10% to 14%) of 980" and few.empty
    assert scope.beside(rows, may) == ["amazon HANrnn: 9% by chance, difference +3 (+1 to +5) points"]
    assert scope.findings(rows, may) == [
        "amazon HANrnn: 12% (10% to 14%) of 980; 9% by chance, difference +3 (+1 to +5) points"
    ]
    rarer = models(other=0.01, beyond=-0.05)
    (line,) = scope.findings(rarer, scope.entering(rarer, 100)[0])
    assert line == "amazon HANrnn: 1% (0% to 3%) of 980; 6% by chance, difference -5 (-7 to -3) points"


def test_few_documents_weak_models_and_generated_data_enter_no_finding():
    rows = models(n=99)
    may, few = scope.entering(rows, 100)
    assert may.empty and scope.told_few(few) == "amazon HANrnn (n = 99)"
    assert scope.told_few(scope.entering(models(n=100), 100)[1]) == "none"
    for rows in (rows, models(weak=[("amazon", "han_rnn")])):
        may, _ = scope.entering(rows, 100)
        assert scope.told(may) == "no model that counts"
        assert scope.findings(rows, may) == scope.beside(rows, may) == ["no model that counts"]
    assert scope.entering(rows, 100)[1].empty, "a weak model is not one of few documents"


def test_the_table_shows_each_number_in_its_column():
    shown = scope.shown(models(weak=[("amazon", "han_rnn")]))
    assert shown.iloc[0].tolist() == [
        "amazon HANrnn *", "980", "12% (10% to 14%)", "25% (20% to 30%)", "1,117", "0.062", "90%",
    ]  # fmt: skip
    assert shown["model"].tolist() == ["amazon HANrnn *", "planted HANrnn *"] and shown["documents"].iloc[1] == "300"
    never = scope.of_models({("amazon", "han_rnn"): made_of(OWN, OWN, OWN)})
    assert scope.shown(never).iloc[0, -3:].tolist() == ["0", "–", "–"]


def test_models_come_with_what_figures_and_findings_ask():
    models_ = {("amazon", "han_rnn"): made_of(RIVAL, OWN), ("yelp", "flan_rnn"): made_of(OWN, OWN, OWN)}
    rows = scope.of_models(models_, [("yelp", "flan_rnn")])
    other = rows[rows["what"] == "other"]
    assert other["mean"].tolist() == [0.5, 0.0] and other["counts"].tolist() == [True, False]
    assert other["n"].tolist() == [2, 3] and (rows["n_seeds"] == 1).all() and len(rows) == 12


def test_without_runs_nothing_is_said():
    rows = scope.of_models({})
    may, few = scope.entering(rows, 100)
    assert scope.told(may) == "no model that counts" and scope.told_few(few) == "none"
    assert scope.shown(rows).empty
