"""Both papers' tests on made-up traces of either kind."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from attn_book.debate import exchanged
from attn_book.serrano import pages as serrano_pages
from attn_core.archive import Result
from attn_core.experiments import erasure
from attn_core.experiments.controls import ceiling
from attn_core.measures import LN2
from attn_core.traces import Traces


def made_up(classes: int, documents: int = 40) -> Traces:
    rng = np.random.default_rng(classes)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 9, documents))])
    items = int(offsets[-1])
    traces = Traces(
        np.arange(documents), rng.integers(0, 2, documents), offsets, rng.normal(size=items),
        2 * rng.normal(size=(items, classes)), rng.normal(size=classes),
        rng.normal(size=items), np.where(rng.random(items) < 0.1, np.nan, rng.normal(size=items)),
    )  # fmt: skip
    return traces.rounded()


@pytest.mark.parametrize("classes", [1, 2, 4])
def test_every_test_has_a_value_in_its_range(classes):
    traces = made_up(classes)
    table = exchanged.per_document(traces)
    assert len(table) == (traces.lengths > 1).sum() and set(exchanged.TESTS) <= set(table)
    assert table["little"].isin([0, 1]).all() and table["one_sided"].isin([-1, 0, 1]).all()
    for name in ("adversary", "adversary_upper", "fraction", "regret"):
        assert table[name].dropna().between(0, 1 + 1e-9).all(), name
    assert (table["adversary"] <= table["adversary_upper"] + 1e-9).all()
    assert (classes > 2) != np.allclose(table["adversary"], table["adversary_upper"]), (
        "exact up to two logits, else a bracket"
    )
    assert ceiling(traces).max() <= LN2 + 1e-12


def test_one_sided_is_the_difference_of_two_cells():
    traces = made_up(3, documents=200)
    table = exchanged.per_document(traces)
    cells = erasure.two_by_two(erasure.single(traces), "attention", "described")
    assert 100 * table["one_sided"].mean() == pytest.approx(cells["only_top"] - cells["only_random"])


def test_dealt_anew_equal_weights_stay_what_they_are():
    traces = made_up(3, documents=50)
    even = dataclasses.replace(traces, score=np.zeros_like(traces.score))
    table = exchanged.per_document(even)
    np.testing.assert_allclose(table["one_sided_dealt"], table["one_sided"])
    other = exchanged.per_document(traces)
    assert other["one_sided_dealt"].between(-1, 1).all() and (other["one_sided_dealt"] != other["one_sided"]).any()


def test_a_line_counts_what_is_defined():
    table = exchanged.per_document(made_up(2))
    found = exchanged.line(table).set_index("test")
    assert found.loc["tau_loo", "n"] == table["tau_loo"].notna().sum() < len(table)
    known = found[found["low"].notna()]
    assert (known["low"] <= known["mean"]).all() and (known["mean"] <= known["high"]).all() and len(known) > 8
    assert found.loc["fraction", "mean"] == np.median(table["fraction"].dropna())


def test_a_share_of_nought_has_an_interval_with_width():
    table = exchanged.per_document(made_up(2)).assign(equals_left_random=0.0, regret=0.0)
    found = exchanged.line(table).set_index("test")
    low, high = found.loc["equals_left_random", ["low", "high"]]
    assert low == 0 and high == pytest.approx(1.959964**2 / (len(table) + 1.959964**2), abs=1e-5)  # Wilson at 0 of n
    assert np.isnan(found.loc["regret", ["low", "high"]].to_numpy(float)).all()


def test_few_documents_enter_no_finding():
    few, enough = exchanged.FEWEST_DOCUMENTS - 1, exchanged.FEWEST_DOCUMENTS
    labels = [exchanged.label("sst", "lstm", {}, n) for n in (few, enough)]
    assert labels == ["sst BiLSTM *", "sst BiLSTM"]
    rows = pd.DataFrame({"label": [labels[0], labels[1], labels[1]], "n": [enough, few, enough]})
    assert exchanged.entering(rows).index.tolist() == [2], "by the model's documents, then by the test's"
    assert exchanged.entering(rows.iloc[:0]).empty


def test_sorted_test_sets_keep_all_their_classes():
    traces = made_up(2, documents=200)
    some = exchanged.some(traces, "sst", 50)
    assert len(some) == 50 and (np.diff(some.doc_id) > 0).all() and some.doc_id.max() > 150 and some.doc_id.min() < 50
    more = exchanged.some(traces, "sst", 100)
    assert set(some.doc_id) < set(more.doc_id) and len(exchanged.some(traces, "sst", 500)) == 200


def only_the_bias() -> Traces:
    """Four items that all speak for class 1 under a bias for class 0: nothing but the zero vector flips."""
    return Traces(
        np.array([0]), np.array([1]), np.array([0, 4]), np.arange(4.0), np.full((4, 1), 2.0), np.array([-1.0])
    )


def test_any_order_equals_an_optimum_that_removes_everything():
    row = exchanged.per_document(only_the_bias()).iloc[0]
    assert (row["empties"], row["equals"], row["equals_random"]) == (1, 1, 1)
    assert np.isnan(row["equals_left"]) and np.isnan(row["equals_left_random"])


def test_shares_with_an_item_left_are_of_documents_that_then_flip():
    traces = made_up(3, documents=300)
    table = exchanged.per_document(traces)
    found = erasure.derived(erasure.document_table(traces.take(np.flatnonzero(traces.lengths > 1))), item_left=True)
    for name, order in (("equals_left", "attention"), ("equals_left_random", "random")):
        np.testing.assert_array_equal(table[name], found[f"equals_{order}"])
    assert table["equals_left"].notna().sum() == ((table["empties"] == 0) & table["equals"].notna()).sum()


def models(**changes) -> pd.DataFrame:
    """Rows of `line` of six models by hand; changes: test -> its six means."""
    means = {name: np.full(6, 0.5) for name in exchanged.TESTS} | {"tau_gradient": np.linspace(0.1, 0.6, 6)}
    means |= {"equals": np.linspace(0.9, 0.4, 6), "regret": np.linspace(0.0, 0.25, 6)} | changes
    papers = ["Jain & Wallace"] * 4 + ["Serrano & Smith"] * 2
    return pd.DataFrame([
        {"test": test, "mean": values[i], "models": papers[i], "label": f"m{i}", "items": 10.0 * (i + 1)}
        for test, values in means.items() for i in range(6)
    ])  # fmt: skip


def test_words_over_models_follow_the_numbers():
    rows = models()
    assert exchanged.ranges(rows, "equals") == (
        "Jain & Wallace's 0.60 to 0.90 (4 models); Serrano & Smith's 0.40 to 0.50 (2 models)"
    )
    assert exchanged.ranges(rows[rows["label"].isin(["m5"])], "equals") == "Serrano & Smith's 0.40 (1 model)"
    assert exchanged.ranges(rows.iloc[:0], "equals") == "no run"
    assert exchanged.agreement(rows, "tau_gradient", "equals") == "-1.00 over 6 models"
    assert exchanged.agreement(rows, "tau_gradient", "regret") == "1.00 over 6 models"
    assert "not computed (models: 4; 5" in exchanged.agreement(
        rows[rows["models"] == "Jain & Wallace"], "equals", "regret"
    )
    assert exchanged.no_better(rows).startswith("6 of 6 models")
    assert exchanged.no_better(models(equals_random=np.full(6, 0.31))) == "3 of 6 models (m3, m4, m5)"
    assert exchanged.no_better(models(equals_random=np.zeros(6))) == "0 of 6 models"


def test_the_pair_of_the_exercise_follows_the_numbers():
    high, low = exchanged.opposites(models())
    assert high.startswith(
        "m0, higher by agreement with the optimum than by τ:\n  - τ 0.10\n  - agreement 0.90, a random order 0.50\n"
    )
    assert low.startswith("m5, the reverse:\n  - τ 0.60\n  - agreement 0.40, a random order 0.50\n")
    assert "\n  - More than half" in high and "\n  - Nor is it close" in low
    assert "\n  - 0% of the items too many (median document: 10 items)\n" in high and "25% of the items" in low
    assert (
        "\n  - A random order agrees much less often" in exchanged.opposites(models(equals_random=np.full(6, 0.1)))[0]
    )
    assert "yet close to one" in exchanged.opposites(models(regret=np.full(6, 0.05)))[1]
    assert "\n  - with an item left 0.50 against 0.50\n" in high
    assert "\n  - with an item left" not in exchanged.opposites(models(equals_left=np.full(6, np.nan)))[0]
    for rows in (models(equals=np.linspace(0.1, 0.6, 6)), models().iloc[:0]):
        (nothing,) = exchanged.opposites(rows)
        assert "no pair" in nothing


def test_weak_models_of_either_paper_are_named(monkeypatch):
    seen = {}
    monkeypatch.setattr(serrano_pages, "gather", lambda corpora, *_: (seen.update(corpora=corpora) or [], []))

    def of_models(runs):
        return [Result({"accuracy": 0.5}, None, None, None, "") for run in runs if run.encoder == "average"]

    monkeypatch.setattr(exchanged.across, "stored_runs", of_models)
    monkeypatch.setattr(exchanged, "weakness", lambda corpus, accuracies: f"{len(accuracies)} runs of {corpus}")
    assert exchanged.weak(["sst"], ["lstm", "average"], ["amazon", "planted"], ["han_rnn"]) == {
        ("sst", "average"): "9 runs of sst"
    }
    assert seen["corpora"] == ["amazon"]
    reasons = {("amazon", "han_rnn"): "why"}
    assert exchanged.label("amazon", "han_rnn", reasons) == "amazon HANrnn *"
    assert exchanged.label("planted", "han_rnn", {}) == "planted HANrnn *" and "*" not in exchanged.label(
        "sst", "lstm", {}
    )


def test_sampled_names_models_and_leaves_out_what_is_not_stored():
    stored = Result({}, made_up(3, documents=150), None, None, "archive")
    few = Result({}, made_up(3, documents=5), None, None, "archive")
    bare = Result({}, None, None, None, "archive")
    firsts = {"han_rnn": {"amazon": stored, "yelp": bare}, "flan_rnn": {"amazon": few, "imdb_stars": stored}}
    found = exchanged.sampled(firsts, {("imdb_stars", "flan_rnn"): "weak"})
    assert list(found) == ["amazon HANrnn", "amazon FLANrnn *", "imdb_stars FLANrnn *"]
    assert found["amazon HANrnn"] is stored.traces
