"""What a run was trained on, counted beside Table 1 and named: the paper's own data, a subset, generated."""

import pytest
from scorecard_runs import PUBLIC, result_of, whole

from attn_book import data_counts, scorecard
from attn_book.reported import reported

RULES = list(reported("tolerances", paper="jain").itertuples())


@pytest.mark.parametrize("corpus", PUBLIC)
def test_subset_never_counts_as_same(corpus):
    assert data_counts.data_of(result_of(corpus).record) == "same"
    assert data_counts.data_of(result_of(corpus, statistics=whole(corpus, 0.9)).record) == "subset"
    assert data_counts.data_of(result_of(corpus, fraction=0.5).record) == "subset"
    rows = scorecard.scorecard([result_of(corpus, statistics=whole(corpus, 0.1))])
    rows = rows[rows["ours"].notna()]
    assert set(rows["corpus"]) == {corpus} and set(rows["data"]) == {"subset"}


def test_generated_questions_never_count_as_same():
    for split in ("train_source", "test_source"):
        assert (
            data_counts.data_of(result_of("babi_3", statistics=whole("babi_3", **{split: "generated"})).record)
            == "generated"
        )
    assert data_counts.data_of(result_of("babi_3", statistics=whole("babi_3", train_source="en-10k")).record) == "same"
    assert (
        data_counts.data_of(result_of("babi_3", statistics=whole("babi_3", 0.1, train_source="en")).record) == "subset"
    )


def test_what_is_generated_is_named():
    """Official test questions are not called generated because the training questions are."""
    train, test, both = (
        {f"{split}_source": "generated" for split in parts} for parts in (["train"], ["test"], ["train", "test"])
    )
    told = [
        data_counts.other_data(result_of("babi_3", statistics=whole("babi_3", **part)).record)
        for part in (train, test, both)
    ]
    assert told == [
        " (trained on generated questions, official test)",
        " (official training, generated test)",
        " (generated)",
    ]


def test_counts_of_table_1_by_hand():
    splits = {
        "train": {"documents": 6, "per_class": [2, 4], "mean_length": 10.0},
        "dev": {"documents": 2, "per_class": [1, 1], "mean_length": 20.0},
        "test": {"documents": 3, "per_class": [1, 2], "mean_length": 7.0},
    }
    statistics = {"splits": splits, "classes": ["a", "b"], "vocabulary": 5, "vocabulary_all_splits": 9}

    def ours(corpus, group, measure, **more):
        record = {"run": {"corpus": corpus}, "statistics": statistics | more}
        rule = next(r for r in RULES if (r.corpus, r.group, r.measure, r.item) == (corpus, group, measure, "Table 1"))
        return data_counts.counted(rule, record)["ours"]

    assert ours("imdb", "positive", "train_size") == 5, "dev is cut from train, and the paper counts before that"
    assert ours("imdb", "all", "average_length_tokens") == 12.5
    assert ours("sst", "positive", "train_size") == 4, "SST has a dev split of its own"
    assert ours("sst", "all", "average_length_tokens") == 10 and ours("sst", "negative", "test_size") == 1
    assert (
        ours("babi_2", "all", "train_size") == 8 and ours("babi_2", "all", "vocabulary_size", classes=["w"] * 36) == 40
    )
    assert ours("snli", "all", "vocabulary_size") == 5 and ours("sst", "all", "vocabulary_size") == 9
