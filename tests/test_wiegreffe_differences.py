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
