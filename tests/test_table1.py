"""Table 1 beside ours: slips, corrections, which F1 the printed score is."""

import matplotlib
import pandas as pd
from scorecard_runs import result_of, scored_rows

from attn_book.jain import table1

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


def test_one_list_of_slips():
    """A length off by less than a token is cut, not wrong: no slip in the list, no corrected line in the table."""
    assert table1.slips().attrs["cut"] == ["imdb", "adr", "20news", "diabetes", "cnn"]
    rows = scored_rows(item=["Table 1", "Table 1 (corrected)"] * 2, corpus=["imdb"] * 4,
                       group=["all"] * 2 + ["negative"] * 2, measure=["average_length_tokens"] * 2 + ["train_size"] * 2,
                       reported=[179.0, 179.65, 12500.0, 10854.0],
                       ours=[179.65, 179.65, 10854.0, 10854.0])  # fmt: skip
    assert table1.slips_of(rows)["measure"].tolist() == ["train_size"]
    corrected = table1.table_1(rows).set_index("whose").loc["corrected"]
    assert corrected["train"] == "10,854" and corrected["mean length"] != "179.7"


def test_a_subset_that_is_no_random_sample():
    theirs, error = table1.length_of_sample("agnews", 7013)
    assert round(theirs, 2) == 35.69 and round(error, 3) == 0.127
    result = result_of("agnews")
    sizes = {"train": (5963, 36.7), "dev": (1050, 36.7), "test": (3798, 35.5)}
    result.record["statistics"]["splits"] = {
        split: {"documents": n, "per_class": [n // 2, n - n // 2], "mean_length": mean}
        for split, (n, mean) in sizes.items()
    }
    result.record.update(n_train=5963, n_dev=1050)
    (told,) = table1.told_lengths([result])
    assert "7,013 training documents, 35.7" in told and "lies 8 of these off and is no random part" in told
    for split in ("train", "dev"):
        result.record["statistics"]["splits"][split]["mean_length"] = 35.7
    assert table1.told_lengths([result])[0].endswith("lies 0 of these off")


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
