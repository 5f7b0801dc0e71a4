"""The verdict matrix as tables, and the long generated documents in words."""

import pandas as pd
from test_matrix import HIGH, LOW, cells

from attn_book.debate import diabetes, matrix_words


def test_tables_of_one_paper_link_each_cell_to_its_page():
    found = cells(
        ("gradients", "sst", "lstm", LOW), ("gradients", "sst", "average", HIGH), ("gradients", "imdb", "lstm", HIGH),
        ("gradients", "planted", "lstm", LOW, "planted"), ("order", "amazon", "han_rnn", LOW),
    )  # fmt: skip
    told = matrix_words.paper_tables(found, "jain", ["imdb", "sst", "planted"]).splitlines()
    assert told[0] == "**Jain & Wallace**"
    head = told.index("| data | BiLSTM | Average |")
    imdb, sst, planted = told[head + 2 : head + 5]
    assert imdb == "| imdb | {ref}`✓ 0.80 (0.79 to 0.81), 5 seeds <jain-correlation>` | – |"
    assert "✗ 0.20" in sst and "✓ 0.80" in sst
    assert planted.endswith("5 seeds <verdict-diabetes>` | – |"), "generated documents have a page of their own"
    assert not any("amazon" in line for line in told)
    assert told.count("No run yet.") == 2, "the two other tests of this paper"


def test_data_sets_by_tests():
    found = cells(("stable", "sst", "lstm", HIGH), ("guide", "imdb", "lstm", HIGH))
    head, _, sst, imdb = matrix_words.data_table(found, ("stable", "guide"), ["sst", "imdb"]).splitlines()
    assert head == "| data | {ref}`stable <wiegreffe-variance>` | {ref}`guide <wiegreffe-guides>` |"
    assert sst.startswith("| sst | ✗ 0.800") and sst.endswith("| – |")
    assert imdb.startswith("| imdb | – | ✓ +0.80")


def test_verdicts_list_their_cells():
    found = cells(("stable", "sst", "lstm", HIGH), ("stable", "imdb", "lstm", LOW), ("guide", "imdb", "lstm", LOW[:2]))
    words = {"passes": "Passed", "fails": "Failed", "few": "Waiting"}
    assert matrix_words.by_verdict(found, words) == [
        "Passed: none.", "Failed: sst (stable), imdb (stable).", "Waiting: imdb (guide).",
    ]  # fmt: skip


def runs(adversary: float) -> pd.DataFrame:
    rows = [("base", 10, 0.9, None), ("base", 50, 0.8, None), ("uniform model", 10, 0.85, None),
            ("adversary", 10, 0.5, 0.001), ("adversary", 10, adversary, 0.0)]  # fmt: skip
    return pd.DataFrame(rows, columns=["role", "seed", "f1", "divergence"]).assign(epochs=7)


def test_need_is_told_over_pairs_of_seeds():
    assert diabetes.told_need(runs(0.84)).startswith("+0.050") and diabetes.told_need(runs(0.84)).endswith("1 seed")
    assert diabetes.told_need(runs(0.84).iloc[:2]) == "no pair of runs"


def test_an_imitator_that_falls_short_of_its_base_says_nothing():
    near = diabetes.told_imitation(runs(0.84))  # the base has 0.85
    assert near == "F1 0.84 (λ 0), 0.50 (λ 0.001) after 7 epochs"
    assert diabetes.told_imitation(runs(0.82)).endswith("they have not converged and say nothing")
    assert diabetes.told_imitation(runs(0.84).iloc[:3]) == "not trained"


def test_the_pattern_as_a_table():
    rows = pd.DataFrame({
        "statistic": ["largest weight", "seeds"], "positive": ["0.5", "0.1"], "negative": ["0.4", "0.2"],
        "n_seeds": [5, 2], "lies": ["above", ""], "expected": ["above", "below"],
        "reported_positive": [float("nan"), 0.25], "reported_negative": [float("nan"), 0.5],
    })  # fmt: skip
    told = diabetes.pattern_table(rows).to_dict("records")
    assert told[0]["positive minus negative"] == "above 0" and told[0]["Diabetes, positive"] == "–"
    assert told[1]["positive minus negative"] == "–" and told[1]["we would expect"] == "below 0"
    assert told[1]["Diabetes, positive"] == "0.250" and told[1]["Diabetes, negative"] == "0.500"
