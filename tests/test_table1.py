"""Table 1 beside ours: slips, corrections, which F1 the printed score is."""

import matplotlib
import pandas as pd
from scorecard_runs import result_of, scored_rows

from attn_core.jain import table1

matplotlib.use("Agg")


def test_the_slips_of_table_1_as_the_specification_lists_them():
    slips = table1.slips()
    told = {
        (row.corpus, row["class"], row["count"]): (row.printed, round(row.files, 1), row["taken_from"])
        for _, row in slips.iterrows()
    }
    assert told["20news", "baseball", "test"] == (151, 171, "") and told["diabetes", "no diabetes", "test"] == (
        1295,
        1296,
        "",
    )
    assert told["babi_1", "all", "mean length"] == (8, 36.2, "minimum of cnn")
    assert told["babi_3", "all", "mean length"] == (421, 307.0, "maximum of babi_2")
    assert ("anemia", "acute", "test") not in told and len(slips) == 10 and slips.attrs["compared"] == 66


def test_a_corrected_class_leaves_the_others_as_printed():
    rows = scored_rows(item=["Table 1", "Table 1", "Table 1 (corrected)"], corpus=["20news"] * 3,
                       group=["baseball", "hockey", "baseball"], measure=["test_size"] * 3,
                       reported=[151.0, 183.0, 171.0], ours=[179.0, 178.0, 179.0])  # fmt: skip
    table = table1.table_1(rows)
    assert list(table["whose"]) == ["paper", "corrected", "ours"] and list(table["test"]) == [
        "151 / 183",
        "171 / 183",
        "179 / 178",
    ]


def test_development_questions_beside_test_questions():
    def of_seed(seed, dev, test):
        result = result_of("babi_2", seed=seed)
        rows = [{"dev_accuracy": 1.0, "test_accuracy": 0.0}]  # the first epoch is never kept
        rows += [{"dev_accuracy": a, "test_accuracy": b} for a, b in zip(dev, test, strict=True)]
        result.record["history"] = rows
        return result

    found = [of_seed(10, (0.5, 0.8, 0.7), (0.9, 0.6, 0.9)), of_seed(50, (0.7, 0.6), (0.5, 0.9)), result_of("sst")]
    assert table1.shared_stories(found) == "babi_2 0.750 and 0.550, apart by 0.200 (no interval), 2 seeds"
    found[0].record["statistics"]["train_source"] = "generated"
    assert table1.shared_stories(found[:1]).startswith(
        "babi_2 (trained on generated questions, official test) 0.800 and 0.600, apart by 0.200 (no interval)"
    )
    assert table1.shared_stories([result_of("sst")]) == "no run of bAbI"


def test_the_nearer_f1_turns_with_the_numbers():
    rows = pd.DataFrame({"corpus": "adr", "metric": ["F1 of class 1", "macro F1", "accuracy"], "printed": 0.8,
                         "april": [0.81, 0.7, 0.5], "final": [0.79, 0.9, 0.5]})  # fmt: skip
    told = table1.told_nearer(rows)
    assert "apart (adr)" in told and "F1 of class 1 in 2 of 2, so this page puts" in told
    swapped = rows.assign(metric=["macro F1", "F1 of class 1", "accuracy"])
    assert "in 0 of 2, which speaks for macro F1" in table1.told_nearer(swapped)
    assert "do not tell" in table1.told_nearer(rows.assign(april=0.8, final=0.8))
