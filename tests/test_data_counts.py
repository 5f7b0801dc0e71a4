"""What a run was trained on, counted beside Table 1 and named: the paper's own data, a subset, generated."""

import pytest
from scorecard_runs import PUBLIC, result_of, row_for, whole

from attn_book import data_counts
from attn_core.archive import Result
from attn_core.index import data_kind
from attn_core.runs import Run, as_dict


@pytest.mark.parametrize("corpus", PUBLIC)
def test_subset_never_counts_as_same(scored, corpus):
    for share, kind in ((1.0, "same"), (0.96, "same"), (0.94, "subset")):
        assert data_kind(result_of(corpus, statistics=whole(corpus, share)).record) == kind
    assert data_kind(result_of(corpus, fraction=0.5).record) == "subset"
    rows = scored([result_of(corpus, statistics=whole(corpus, 0.1))], "jain")
    rows = rows[rows["ours"].notna()]
    assert set(rows["corpus"]) == {corpus} and set(rows["data"]) == {"subset"}


@pytest.mark.parametrize(
    ("sources", "share", "kind", "told"),
    [
        ({"train_source": "generated"}, 1.0, "generated", " (trained on generated questions, official test)"),
        ({"test_source": "generated"}, 1.0, "generated", " (official training, generated test)"),
        ({"train_source": "generated", "test_source": "generated"}, 1.0, "generated", " (generated)"),
        ({"train_source": "en-10k"}, 1.0, "same", ""),
        ({"train_source": "en"}, 0.1, "subset", None),
    ],
)
def test_generated_questions_never_count_as_same_and_are_named(sources, share, kind, told):
    record = result_of("babi_3", statistics=whole("babi_3", share, **sources)).record
    assert data_kind(record) == kind
    if told is not None:
        assert data_counts.other_data(record) == told


def hierarchical(corpus: str, share: float, per_class=None) -> dict:
    from attn_core.corpora.catalogue import CATALOGUE

    statistics = {"splits": {"train": {"per_class": per_class or [10] * len(CATALOGUE[corpus].classes)}}}
    return {"run": as_dict(Run(corpus, "han_rnn")), "statistics": statistics | {"train_share": share}}


@pytest.mark.parametrize(
    ("corpus", "share", "kind"),
    [("imdb_stars", 1.0, "other classes"), ("amazon", 0.01, "subset"), ("amazon", 1.0, "same"),
     ("20news_all", 1.0, "other data"), ("planted", 1.0, "generated")],
)  # fmt: skip
def test_data_of_serrano_and_smiths_sets(corpus, share, kind):
    assert data_kind(hierarchical(corpus, share)) == kind


def test_a_class_without_documents_makes_other_classes():
    assert data_kind(hierarchical("amazon", 1.0, [0, 10, 10, 10, 10])) == "other classes"
    assert data_kind(hierarchical("amazon", 1.0, [10] * 4)) == "other classes"


SPLITS = {
    "train": {"documents": 6, "per_class": [2, 4, 0], "mean_length": 10.0},
    "dev": {"documents": 2, "per_class": [1, 1, 0], "mean_length": 20.0},
    "test": {"documents": 3, "per_class": [1, 2, 0], "mean_length": 7.0},
}


@pytest.mark.parametrize(
    ("corpus", "group", "measure", "ours"),
    [
        ("imdb", "positive", "train_size", 5),  # dev is cut from train, and the paper counts before that
        ("imdb", "all", "average_length_tokens", 12.5),
        ("sst", "positive", "train_size", 4),  # SST has a dev split of its own
        ("sst", "all", "average_length_tokens", 10),
        ("sst", "negative", "test_size", 1),
        ("babi_2", "all", "train_size", 8),
        ("babi_2", "all", "vocabulary_size", 40),  # 36 joint words and four special ids
        ("snli", "all", "vocabulary_size", 5),  # of the training split
        ("sst", "all", "vocabulary_size", 9),
    ],
)
def test_counts_of_table_1_by_hand(scored, corpus, group, measure, ours):
    classes = ["w"] * 36 if corpus == "babi_2" else ["a", "b"]
    statistics = {"splits": SPLITS, "classes": classes, "vocabulary": 5, "vocabulary_all_splits": 9}
    row = row_for(
        scored([result_of(corpus, statistics=statistics)], "jain"),
        item="Table 1", corpus=corpus, group=group, measure=measure,
    )  # fmt: skip
    assert (row["ours"], row["n_seeds"]) == (ours, 1) and row["low"] != row["low"]


def test_data_that_are_not_the_papers_are_listed():
    records = [result_of("sst").record, result_of("agnews", statistics=whole("agnews", 0.1)).record]
    told = data_counts.told_other_data(records)
    assert told.startswith("agnews (trained on ") and "59,998 in the paper" in told
    assert data_counts.told_other_data(records[:1]) == "none"


def test_a_result_needs_no_summary_to_be_counted(scored):
    bare = Result(result_of("sst").record, None, None, None, "archive")
    row = row_for(scored([bare], "jain"), item="Table 1", corpus="sst", group="negative", measure="train_size")
    assert (row["reported"], row["ours"], row["verdict"]) == (3034, 6355 // 2, "differs")
