"""The verdict matrix: what passes, what counts, where its numbers come from."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scorecard_runs import result_of as scorecard_result
from scorecard_runs import whole
from wiegreffe_results import curve

from attn_book import weak
from attn_book.debate import matrix, matrix_words
from attn_book.reported import reported
from attn_book.wiegreffe import runs as wiegreffe_runs
from attn_core.measures import seed_interval


def cells(*rows) -> pd.DataFrame:
    """Cells with their verdicts from (test, corpus, encoder, values, kind)."""
    made = [matrix.cell(*row[:4], *row[4:]) for row in rows]
    found = pd.DataFrame(made, columns=matrix.COLUMNS)
    return found.assign(
        lies=[matrix.lies(row) for row in found.itertuples()], data=np.where(found["kind"] == "ours", "same", "")
    )


HIGH, LOW, WIDE = [0.8, 0.81, 0.79, 0.8, 0.8], [0.2, 0.21, 0.19, 0.2, 0.2], [0.1, 0.9, 0.5, 0.2, 0.8]

@pytest.mark.parametrize(
    ("test", "values", "expected"),
    [
        ("gradients", HIGH, "passes"), ("gradients", LOW, "fails"),
        ("gradients", WIDE, "open"), ("gradients", HIGH[:4], "few"),
        ("permutation", HIGH, "fails"), ("permutation", LOW, "passes"),
        ("adversaries", HIGH, "fails"), ("stable", HIGH, "fails"), ("necessary", HIGH, "passes"),
        ("guide", [-v for v in LOW], "fails"), ("order", [-v for v in LOW], "passes"), ("top item", LOW, "passes"),
    ],
)  # fmt: skip
def test_a_cell_passes_on_the_good_side_of_its_threshold(test, values, expected):
    found = cells((test, "sst", "lstm", values))
    assert found["lies"].tolist() == [expected]
    told = matrix_words.told_cell(next(found.itertuples()))
    assert told.startswith(matrix.SYMBOLS[expected]) and f"{len(values)} seeds" in told


@pytest.mark.parametrize(("n", "shown"), [(2, "(no interval)"), (3, " to ")])
def test_two_seeds_show_no_interval(n, shown):
    assert shown in matrix_words.told_cell(next(cells(("gradients", "sst", "lstm", WIDE[:n])).itertuples()))


@given(st.lists(st.floats(-1, 1), min_size=5, max_size=9), st.sampled_from(matrix.TESTS))
def test_mirrored_values_mirror_the_verdict(values, test):
    """Values reflected at the threshold lie on the other side; open stays open."""
    mirrored = [2 * test.threshold - value for value in values]
    low, high = seed_interval(np.array(values))
    if min(abs(low - test.threshold), abs(high - test.threshold)) < 1e-9:
        return  # rounding decides at the threshold itself
    first, second = (cells((test.key, "sst", "lstm", v))["lies"][0] for v in (values, mirrored))
    assert second == {"passes": "fails", "fails": "passes"}.get(first, first)


def test_reported_and_generated_cells_are_never_counted():
    own = cells(("gradients", "sst", "lstm", LOW))
    more = pd.concat(
        [
            own,
            cells(
                ("gradients", "planted", "lstm", HIGH, "planted"), ("gradients", "diabetes", "lstm", [0.6], "reported")
            ),
        ]
    )
    assert matrix.counts(more) == matrix.counts(own)
    assert matrix_words.told_cell(list(more.itertuples())[2]).endswith("(reported)")


def test_other_data_are_marked_and_in_no_count():
    found = cells(
        ("gradients", "sst", "lstm", LOW), ("gradients", "agnews", "lstm", LOW), ("gradients", "babi_3", "lstm", HIGH)
    )
    found = found.assign(data=["same", "subset", "generated"])
    told = [matrix_words.told_cell(row) for row in found.itertuples()]
    assert (
        told[0].endswith("5 seeds") and told[1].endswith("5 seeds, subset") and told[2].endswith("5 seeds, generated")
    )
    assert (
        matrix.counts(found)["passes"] == 0
        and matrix.counts(found)["fails"] == 1
        and matrix.counts(found, own=False)["fails"] == 1
    )
    assert matrix.counts(found.assign(data="same"))["passes"] == 1


def test_marks_of_the_matrix_are_the_scorecards():
    runs = [
        scorecard_result("sst"),
        scorecard_result("agnews", statistics=whole("agnews", 0.1)),
        scorecard_result("babi_3", statistics=whole("babi_3", train_source="generated")),
    ]
    assert matrix.data_marks(runs) == {"sst": "same", "agnews": "subset", "babi_3": "generated"}
    part = scorecard_result("sst", fraction=0.5)
    assert matrix.data_marks([part, *runs])["sst"] == "same" and matrix.data_marks([part])["sst"] == "subset", (
        "variants mark nothing that has a standard run"
    )
    none = wiegreffe_runs.table([])
    found = matrix.matrix(iter(runs), None, none, [])
    assert found[found["corpus"] == "agnews"]["data"].unique().tolist() == ["subset"] and set(
        found[found["kind"] == "reported"]["data"]
    ) == {""}


def test_cells_of_serrano_have_their_data_and_weak_models_stand_beside():
    row = {"paper": "serrano", "item": "claim: 3b x", "corpus": "amazon", "encoder": "han_rnn", "ours": 0.1,
           "low": 0.05, "high": 0.15, "n_seeds": 5, "data": "subset", "unjudged": ""}  # fmt: skip
    weak = row | {"encoder": "flan_rnn", "unjudged": "weak model"}
    scored = pd.DataFrame([row, weak, row | {"encoder": "han_conv", "ours": np.nan, "unjudged": "no run"}])
    found = matrix.matrix([], scored, wiegreffe_runs.table([]), [])
    own = found[found["kind"].isin(["ours", "weak"])]
    assert own[["test", "encoder", "lies", "data"]].to_numpy().tolist() == [
        ["top item", "han_rnn", "passes", "subset"], ["top item", "flan_rnn", "weak", "subset"],
    ]  # fmt: skip
    assert matrix.counts(found, own=False)["passes"] == 1
    assert matrix_words.told_cell(list(own.itertuples())[1]).endswith("5 seeds, subset, weak model")


def test_a_model_far_below_the_best_of_its_data_set_enters_no_count():
    assert weak.below_the_best({"lstm": [1.0, 0.9], "average": [0.8], "cnn": [0.86]}) == ["average"]
    runs = [scorecard_result("sst", encoder=name, seed=seed) for name in ("lstm", "average") for seed in (10, 50)]
    for result in runs:
        result.record["accuracy"] = 0.9 if result.record["run"]["encoder"] == "lstm" else 0.7
    kinds = {(row[0], row[2]): row[-1] for row in matrix.jain_cells(runs)}
    assert kinds["gradients", "lstm"] == "ours" and kinds["gradients", "average"] == "weak"


def test_curves_are_read_as_on_their_own_page():
    """At least one neighbour that has not converged: nothing is read, and the cell says so and enters no count."""
    row = matrix.matrix([], None, wiegreffe_runs.table(curve()), ["sst"]).query(
        "test == 'hard to move' and kind == 'ours'"
    )
    assert row["n_seeds"].item() == 3 and np.isfinite(row["mean"].item())
    late = curve()
    for result in late:
        if result.record["run"]["divergence"] == 3e-4:
            result.record["history"] = [{"test_jsd": 0.1}, {"test_jsd": 0.25}]
    found = matrix.matrix([], None, wiegreffe_runs.table(late), ["sst"])
    cell = next(found[found["kind"] == "unread"].itertuples())
    assert (cell.test, cell.corpus, cell.lies, cell.n_seeds) == ("hard to move", "sst", "unread", 3)
    assert matrix_words.told_cell(cell).startswith("no curve readable at both JSD 0.2 and 0.6, 3 seeds tried")
    assert not len(matrix.counted(found[found["test"] == "hard to move"]))


def test_adversaries_are_judged_by_the_best_weights_known_not_by_the_search():
    values = {"jsd_search@0.05": 0.3, "jsd_exact@0.05": 0.9, "jsd_lower@0.05": 0.4}
    means = {}
    for corpus in ("sst", "snli"):
        rows = matrix.jain_cells([scorecard_result(corpus, seed=seed, values=values) for seed in (10, 50)])
        means |= {(row[0], row[1]): row[3] for row in rows}
    assert means["adversaries", "sst"] == 0.9
    low = cells(("adversaries", "sst", "lstm", LOW), ("adversaries", "snli", "lstm", LOW))
    assert low["lies"].tolist() == ["passes", "open"], "the best weights found for pairs are a lower end"


def test_the_authors_choice_of_checkpoint_is_told_beside_and_never_counted():
    found = cells(
        ("necessary", "sst", "lstm", [-v for v in WIDE[1:]] + WIDE), ("necessary", "sst", "lstm", [0.0] * 5, "authors")
    )
    found = found.assign(data="same")
    assert matrix.counts(found) == matrix.counts(found.iloc[:1]) and found["lies"].tolist() == ["open", "fails"]


def test_thresholds_are_those_of_the_rules():
    rules = reported("tolerances")
    items = {
        "gradients": "claim: attention correlates only weakly with gradient",
        "permutation": "claim: permutation often changes little",
        "adversaries": "claim: adversaries exist",
        "necessary": "claim: attention is needed", "stable": "claim: seeds agree in attention",
        "top item": "claim: 3b only the top flips more often than only r",
        "order": "claim: 4b attention needs more removals than gradient",
    }  # fmt: skip
    for key, item in items.items():
        part = rules[rules["item"] == item]
        assert set(part["reference"]) == {matrix.BY_KEY[key].threshold}, key
    assert rules[rules["item"] == "band: the curve is flat"]["reference"].tolist() == [
        matrix.BY_KEY["hard to move"].threshold
    ]


def test_reported_cells_of_the_gated_sets():
    rows = pd.DataFrame(matrix.reported_cells(), columns=matrix.COLUMNS)
    assert (
        set(rows["corpus"]) == {"diabetes", "anemia"}
        and rows["mean"].notna().all()
        and set(rows["kind"]) == {"reported"}
    )
    table2 = rows[(rows["test"] == "necessary")].set_index("corpus")["mean"].round(3)
    assert table2.to_dict() == {"diabetes": 0.069, "anemia": 0.039}
    table3 = rows[(rows["test"] == "guide")].set_index("corpus")["mean"].round(3)
    assert table3.to_dict() == {"diabetes": 0.349, "anemia": 0.058}
    told = {row.test: matrix_words.told_cell(row) for row in rows.itertuples()}
    assert told["guide"].endswith("(reported)") and told["stable"].endswith("(measured on Figure 5)")


def test_need_for_the_score_waits_for_all_planned_pairs_as_on_its_page():
    row = next(cells(("necessary", "imdb", "lstm", HIGH)).itertuples())
    assert matrix.lies(row) == matrix.lies(row, planned=5) == "passes" and matrix.lies(row, planned=9) == "few"
    pairs = wiegreffe_runs.planned_pairs()
    assert pairs["sst"] == 9 and wiegreffe_runs.planned_pairs(3)["sst"] == 3 and "diabetes" not in pairs
