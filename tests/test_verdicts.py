"""The closing matrix: every cell a number and a verdict by rule; sentences that change with the numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scorecard_runs import result_of as jain_result
from scorecard_runs import seeds_of, whole
from wiegreffe_results import curve, guided, result_of, uniform_test

from attn_core import debate, notebook, verdicts
from attn_core.archive import Result
from attn_core.measures import seed_interval
from attn_core.runs import HIERARCHICAL, SEEDS, Run, as_dict

STATISTICS = ("tau_attention_gradient", "tau_attention_loo", "median_change", "jsd_search@0.05", "jsd_shuffled@0.05", "jsd_exact@0.05")


def jain(corpus="sst", encoder="lstm", count=5, **values) -> list[Result]:
    """Standard runs whose summaries hold what the matrix asks for; values by statistic, others 0.5."""
    found = []
    for i, seed in enumerate(SEEDS[:count]):
        result = jain_result(corpus, encoder, seed)
        shift = 0.01 * (i - (count - 1) / 2)
        rows = [
            (statistic, "all", "all", measure, values.get(statistic.split("@")[0], 0.5) + shift)
            for statistic in STATISTICS for measure in ("mean", "share_below_0.1", "share_above_0.4")
        ]  # fmt: skip
        summary = pd.DataFrame(rows, columns=["statistic", "predicted", "bin", "measure", "value"])
        found.append(Result(result.record, None, None, summary, "archive"))
    return found


def matrix_of(*parts):
    return verdicts.verdict_matrix([result for part in parts for result in part])


def cell(matrix, test, corpus="sst", encoder="lstm"):
    rows = matrix[(matrix["test"] == test) & (matrix["corpus"] == corpus) & (matrix["encoder"] == encoder)]
    assert len(rows) == 1, (test, corpus, encoder, len(rows))
    return rows.iloc[0]


# ---- cells -----------------------------------------------------------------------------------------------------------


def test_every_test_has_a_page_and_two_sides():
    pages = set(notebook.pages(Path(__file__).parents[1]))
    for test in verdicts.TESTS:
        assert test.page in pages and test.above in ("for", "against"), test.name
        assert {verdicts.verdict_of(test, *ends, 5) for ends in ((2, 1.5, 3), (-2, -3, -1.5), (0, -9, 9))} == {"for", "against", "undecided"}


def test_without_runs_every_planned_cell_is_a_named_gap():
    matrix = matrix_of()
    assert set(matrix["verdict"]) == {"no run", "not rerun"} and matrix["value"].isna().all() and list(matrix.columns) == list(verdicts.COLUMNS)
    assert set(matrix["test"]) == {test.name for test in verdicts.TESTS} and not matrix.duplicated(["test", "corpus", "encoder"]).any()
    medical = matrix[matrix["corpus"].isin(("diabetes", "anemia"))]
    assert set(medical["verdict"]) == {"not rerun"} and (matrix[matrix["verdict"] == "not rerun"]["corpus"].isin(("diabetes", "anemia", "adr"))).all()
    assert {encoder for encoder in matrix[matrix["test"] == "race"]["encoder"]} == set(HIERARCHICAL)
    assert cell(matrix, "uniform", "diabetes")["reported"] == pytest.approx(0.069)
    assert cell(matrix, "guide", "diabetes")["reported"] == pytest.approx(0.349)
    assert cell(matrix, "seeds", "diabetes")["reported"] == pytest.approx(0.2995)
    assert cell(matrix, "beyond seeds", "diabetes")["reported"] < 0 < cell(matrix, "imitation", "diabetes")["reported"]
    assert np.isnan(cell(matrix, "leak", "anemia")["reported"]) and matrix.loc[~matrix["verdict"].eq("not rerun"), "reported"].isna().all()


@pytest.mark.parametrize("value, verdict", [(0.3, "against"), (0.7, "for"), (0.5, "undecided")])
def test_verdicts_by_interval(value, verdict):
    row = cell(matrix_of(jain(tau_attention_gradient=value)), "gradient")
    assert row["verdict"] == verdict and row["value"] == pytest.approx(value) and row["leaning"] == "" and row["data"] == "same"
    assert (row["low"], row["high"]) == pytest.approx(seed_interval(value + 0.01 * np.arange(-2, 3)))
    few = cell(matrix_of(jain(tau_attention_gradient=value, count=4)), "gradient")
    assert few["verdict"] == "few seeds" and few["leaning"] == {"for": "for"}.get(verdict, "against")


def test_sides_of_the_tests():
    high = matrix_of(jain(median_change=0.8, jsd_search=0.9, jsd_shuffled=0.6, jsd_exact=0.5))
    assert [cell(high, test)["verdict"] for test in ("permutation", "adversary", "resistance")] == ["against", "against", "for"]
    low = matrix_of(jain(median_change=0.2, jsd_search=0.1, jsd_shuffled=0.4))
    assert [cell(low, test)["verdict"] for test in ("permutation", "adversary")] == ["for", "for"]


def test_the_resistance_is_taken_within_runs():
    row = cell(matrix_of(jain(jsd_shuffled=0.6, jsd_exact=0.55)), "resistance")
    assert row["value"] == pytest.approx(0.05) and row["low"] == pytest.approx(0.05)


def test_context_is_paired_by_seed():
    matrix = matrix_of(jain(tau_attention_gradient=0.4), jain(encoder="average", tau_attention_gradient=0.7, count=4))
    row = cell(matrix, "context", encoder="average-lstm")
    assert row["n_seeds"] == 4 and row["leaning"] == "against"
    assert cell(matrix, "gradient", encoder="average")["n_seeds"] == 4


def test_other_data_are_marked_and_generated_counts_nowhere():
    subset = jain_result("agnews", statistics=whole("agnews", 0.1))
    rows = jain("agnews", tau_attention_gradient=0.3)
    rows = [Result(r.record | {"statistics": subset.record["statistics"]}, None, None, r.summary, "archive") for r in rows]
    matrix = matrix_of(rows, jain("babi_3", tau_attention_gradient=0.3))
    assert cell(matrix, "gradient", "agnews")["data"] == "subset"
    made = matrix.assign(data=np.where(matrix["corpus"] == "babi_3", "generated", matrix["data"]))
    assert "babi_3" in set(debate.counted(matrix, "gradient")["corpus"]) and "babi_3" not in set(debate.counted(made, "gradient")["corpus"])
    assert "agnews 0.30 (0.28 to 0.32, subset)" in debate.told(debate.counted(matrix, "gradient", "lstm"), {"against": "far on"})


def test_wiegreffe_cells():
    matrix = matrix_of(uniform_test("sst", gap=0.002, count=9), uniform_test("imdb", gap=0.03), guided(), curve())
    assert cell(matrix, "uniform")["verdict"] == "against" and cell(matrix, "uniform", "imdb")["verdict"] == "for"
    assert cell(matrix, "uniform")["n_seeds"] == 9 and cell(matrix, "uniform")["data"] == "same"
    assert cell(matrix, "guide")["verdict"] == cell(matrix, "tokens")["verdict"] == cell(matrix, "bad guide")["verdict"] == "for"
    assert cell(matrix, "leak")["verdict"] == "against"
    paid, beyond = cell(matrix, "imitation"), cell(matrix, "beyond seeds")
    assert paid["value"] == pytest.approx((0.06 - 0.04) / 2) and (paid["verdict"], paid["leaning"], paid["n_seeds"]) == ("few seeds", "for", 3)
    assert beyond["value"] == pytest.approx(0.03 - 0.04) and beyond["leaning"] == "against"


def test_the_imitator_is_the_one_with_lambda_0():
    without = [result for result in curve() if result.record["run"]["divergence"] != 0]
    matrix = matrix_of(uniform_test(), without)
    assert cell(matrix, "imitation")["verdict"] == "no run" and cell(matrix, "beyond seeds")["n_seeds"] == 3


def hierarchical(corpus="imdb_stars", encoder="han_rnn", count=5, race=0.7):
    """Runs of a model of Serrano & Smith by the numbers that the matrix asks of them."""
    found = []
    for i, seed in enumerate(SEEDS[:count]):
        run = Run(corpus, encoder, "tanh", seed)
        rows = [("gradient_first", "all", "mean", race + 0.01 * i), ("flips_attention@coded", "all", "only_top", 12.0), ("flips_attention@coded", "all", "only_random", 2.0)]
        rows += [("fraction_attention", "common", "mean", 0.4 + 0.001 * i), ("fraction_gradient", "common", "mean", 0.3)]
        rows = [(statistic, "all", bin, measure, value) for statistic, bin, measure, value in rows]
        sizes = {"splits": {name: {"documents": 100, "per_class": [50] * 8, "mean_length": 9.0} for name in ("train", "test")}, "train_share": 1.0}
        record = {"key": run.key, "run": as_dict(run), "accuracy": 0.5, "statistics": sizes, "n_train": 100, "n_test": 100}
        found.append(Result(record, None, None, pd.DataFrame(rows, columns=["statistic", "predicted", "bin", "measure", "value"]), "archive"))
    return found


def test_serrano_cells(monkeypatch):
    monkeypatch.setattr(verdicts.serrano_scores, "weakness", lambda *_: "")
    matrix = matrix_of(hierarchical())
    at = {"corpus": "imdb_stars", "encoder": "han_rnn"}
    assert cell(matrix, "race", **at)["verdict"] == "against" and cell(matrix, "race", **at)["data"] == "other classes"
    assert cell(matrix, "top item", **at)["value"] == pytest.approx(0.1) and cell(matrix, "top item", **at)["verdict"] == "for"
    assert cell(matrix, "removal", **at)["verdict"] == "against"
    monkeypatch.setattr(verdicts.serrano_scores, "weakness", lambda *_: "at the majority rate")
    assert cell(matrix_of(hierarchical(race=0.2)), "race", **at)["verdict"] == "weak model"


# ---- sentences -------------------------------------------------------------------------------------------------------


def answer_of(matrix, beginning, widths=None):
    rows = debate.open_questions(matrix, widths)
    return rows[rows["question"].str.startswith(beginning)].iloc[0]


def test_answers_follow_the_numbers():
    matrix = matrix_of(uniform_test("sst", gap=0.002), uniform_test("imdb", gap=0.03))
    found = answer_of(matrix, "Which tasks")
    assert found["state"] == "answered" and "Needed on imdb 0.030 (" in found["answer"] and "not needed on sst 0.002 (" in found["answer"]
    assert "no run: " in found["answer"] and "agnews" in found["answer"] and "20news" in found["answer"]
    flipped = answer_of(matrix_of(uniform_test("sst", gap=0.05), uniform_test("imdb", gap=0.0)), "Which tasks")["answer"]
    assert "Needed on sst" in flipped and "not needed on imdb" in flipped
    few = answer_of(matrix_of(uniform_test("sst", 3)), "Which tasks")
    assert few["state"] == "open" and "Too few seeds to decide: sst 0.002 (3 seeds)" in few["answer"]


def test_answers_on_guides_and_encoders():
    found = answer_of(matrix_of(uniform_test(), guided()), "Do transferred")["answer"]
    assert "Guides help on sst" in found and "The word under the weight matters on sst" in found and "Weights tell the label without words on sst" in found
    other = answer_of(matrix_of(uniform_test(), guided(own=0.78)), "Do transferred")["answer"]
    assert "Guides harm on sst" in other and "Permuted weights are better on sst" in other
    encoders = answer_of(matrix_of(jain(tau_attention_gradient=0.4), jain(encoder="average", tau_attention_gradient=0.7)), "What do encoders")
    assert encoders["answer"].startswith("τ with gradients is higher without context on sst 0.30") and encoders["state"] == "answered"
    turned = answer_of(matrix_of(jain(tau_attention_gradient=0.7), jain(encoder="average", tau_attention_gradient=0.4)), "What do encoders")
    assert "It is lower without context on sst" in turned["answer"]


def test_what_the_medical_sets_would_add():
    below = answer_of(matrix_of(uniform_test("imdb", gap=0.03)), "What cannot")["answer"]
    assert "0.069 (diabetes) and 0.039 (anemia), beyond all that was rerun on diabetes and anemia (largest: imdb 0.030)" in below
    between = answer_of(matrix_of(uniform_test("imdb", gap=0.05)), "What cannot")["answer"]
    assert "beyond all that was rerun on diabetes (largest: imdb 0.050)" in between
    above = answer_of(matrix_of(uniform_test("imdb", gap=0.2)), "What cannot")["answer"]
    assert "within what was rerun (largest: imdb 0.200)" in above
    assert "nothing was rerun" in answer_of(matrix_of(), "What cannot")["answer"]


def test_capacity_is_open_without_widths():
    runs = [*seeds_of("sst", ("cnn",), values={"jsd_search@0.05": 0.5}), *seeds_of("sst", ("cnn",), values={"jsd_search@0.05": 0.8}, hidden=128)]
    plain = [r for r in runs if r.record["run"]["hidden"] != 128]
    assert len(debate.by_width(plain)) == 0 and answer_of(matrix_of(), "Does capacity", debate.by_width(plain))["state"] == "open"
    rows = debate.by_width(runs)
    assert len(rows) == 1 and rows["value"].iloc[0] == pytest.approx(0.3) and rows["verdict"].iloc[0] == "eases" and rows["n_seeds"].iloc[0] == 5
    found = answer_of(matrix_of(), "Does capacity", rows)
    assert found["state"] == "answered" and "sst, cnn of width 128: +30%" in found["answer"]
    few = debate.by_width(seeds_of("sst", ("cnn",), count=3) + seeds_of("sst", ("cnn",), count=3, hidden=128))
    assert answer_of(matrix_of(), "Does capacity", few)["state"] == "open"


def test_generated_documents_have_cells_of_their_own_and_count_nowhere():
    """Whatever their knobs: the regime of long documents with few decisive words goes through all tests."""
    knobs = {"options": (("longest", 2000),), "hidden": 32, "batch": 8, "learning_rate": 0.003}
    made = []
    for i, result in enumerate(jain(tau_attention_gradient=0.3)):
        run = Run("planted", seed=SEEDS[i], **knobs)
        made.append(Result(result.record | {"run": as_dict(run), "key": run.key}, None, None, result.summary, "archive"))
        twin = Run("planted", attention="uniform", seed=SEEDS[i], **knobs)
        made.append(Result(result.record | {"run": as_dict(twin), "key": twin.key, "f1_1": 0.6}, None, None, None, "archive"))
    matrix = matrix_of(made)
    assert cell(matrix, "gradient", "planted")["data"] == "generated" and cell(matrix, "gradient", "planted")["n_seeds"] == 5
    assert cell(matrix, "uniform", "planted")["value"] == pytest.approx(0.2) and cell(matrix, "uniform", "planted")["verdict"] == "for"
    assert "planted" not in answer_of(matrix, "Which tasks")["answer"]


def test_a_run_without_summary_is_passed_over():
    assert cell(matrix_of([result_of(Run("sst"))]), "gradient")["verdict"] == "no run"
