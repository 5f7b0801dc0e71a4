"""Differences between guides in a table and in words."""

import pandas as pd

from attn_book.wiegreffe import differences as wiegreffe_differences


def difference(corpus, contrast, mean, lies, half=0.01, seeds=5, guides=5, score="f1"):
    return {"corpus": corpus, "contrast": contrast, "score": score, "mean": mean, "low": mean - half,
            "high": mean + half,
            "n_seeds": seeds, "n_guides": guides, "lies": lies}  # fmt: skip


def test_differences_are_told_by_their_side_after_holm():
    rows = [difference("sst", "a − b", 0.1, "above"), difference("imdb", "a − b", 0.02, "contains"),
            difference("agnews", "a − b", 0.0, "contains"), difference("20news", "c − d", 0.1, "above")]  # fmt: skip
    told = wiegreffe_differences.told_sides(pd.DataFrame(rows), "a − b")
    above = "above 0 on sst +0.100 (+0.090 to +0.110, 5 seeds)"
    assert told == f"{above}; not shown on imdb {wiegreffe_differences.UNSHOWN}, agnews; below 0 on none"
    flipped = wiegreffe_differences.told_sides(
        pd.DataFrame([difference("sst", "a − b", -0.1, "below"), *rows[1:]]), "a − b"
    )
    assert flipped.startswith("above 0 on none; ") and "; below 0 on sst -0.100 (" in flipped


def test_the_table_of_differences_has_a_column_a_data_set():
    rows = [difference("sst", "a − b", 0.1, "above"), difference("imdb", "a − b", 0.02, "contains"),
            difference("sst", "c − d", -0.1, "", guides=1, score="auc"), difference("imdb", "e − f", -0.1, "below"),
            difference("sst", "e − f", 0.0, "contains", seeds=6, guides=6)]  # fmt: skip
    shown = wiegreffe_differences.table_of_differences(pd.DataFrame(rows)).set_index("difference")
    assert list(shown) == ["sst", "imdb", "seeds"]
    assert shown.loc["a − b"].tolist() == [
        "+0.100 (+0.090 to +0.110), above 0",
        f"+0.020 (+0.010 to +0.030), not shown {wiegreffe_differences.UNSHOWN}", "5",
    ]  # fmt: skip
    assert shown.loc["c − d (AUC)"].tolist() == ["-0.100 (-0.110 to -0.090), not judged", "–", "5 of 1 guide"]
    assert shown.loc["e − f", "imdb"].endswith("below 0") and shown.loc["e − f", "seeds"] == "imdb 5, sst 6"
