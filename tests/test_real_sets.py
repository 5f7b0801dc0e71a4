"""Counts and rows of the real data sets, where $ATTN_DATA holds them."""

import functools
import json
import os

import numpy as np
import pandas
import pytest

from attn_core.corpora import catalogue, encode, files, prepare, read, stories

needs_data = pytest.mark.skipif(not os.environ.get("ATTN_DATA"), reason="ATTN_DATA is not set")


real = functools.cache(encode)  # once for all tests below


@needs_data
@pytest.mark.parametrize("name", ["sst", "20news"])
def test_counts_of_the_real_sets(name):
    entry, encoded = catalogue.corpus(name), real(name)
    for split, counts in entry.expected.items():
        if isinstance(counts, tuple):
            assert encoded.statistics["splits"][split]["per_class"] == list(counts), split
    # 20 Newsgroups: newer spaCy versions split a handful of words differently.
    slack = 0 if name == "sst" else 2
    assert abs(len(encoded.vocabulary) - entry.expected["vocabulary"]) <= slack
    assert abs(encoded.statistics["vocabulary_all_splits"] - entry.expected["vocabulary_all_splits"]) <= slack
    ids = [set(split.doc_ids.tolist()) for split in encoded.splits.values()]
    if name == "20news":  # one source, three disjoint parts
        assert not ids[0] & ids[1] and not ids[0] & ids[2] and not ids[1] & ids[2]
    assert json.loads(json.dumps(encoded.statistics)) == encoded.statistics


@needs_data
def test_imdb_is_the_selection_of_the_authors():
    entry, encoded, test = catalogue.corpus("imdb"), encode("imdb"), read("imdb", "test")
    counts = {split: found["per_class"] for split, found in encoded.statistics["splits"].items()}
    assert counts == {"train": [8667, 8533], "dev": [2187, 2110], "test": list(entry.expected["test"])}
    assert len(encoded.vocabulary) == entry.expected["vocabulary"]
    own, rows = encoded.splits["test"], encoded.splits["test"].doc_ids
    assert (own.lengths - 2 == test["jw_tokens"].to_numpy()[rows]).all() and set(test["jw_split"][rows]) == {"test"}
    assert (own.labels == test["label"].to_numpy()[rows]).all()
    train = read("imdb", "train")
    assert all(set(train["jw_split"][encoded.splits[s].doc_ids]) == {s} for s in ("train", "dev"))


@needs_data
def test_agnews_takes_the_rows_with_a_description_of_their_own():
    entry, encoded, train = catalogue.corpus("agnews"), encode("agnews"), read("agnews", "train")
    assert tuple(encoded.statistics["splits"]["test"]["per_class"]) == entry.expected["test"]
    parts = [encoded.splits[split].doc_ids for split in ("train", "dev")]
    used = np.concatenate(parts)
    assert len(set(used.tolist())) == len(used)
    usable = train["description"].notna() & train["label"].isin((0, 2))
    dropped = sum(encoded.statistics["splits"][split]["dropped_length"] for split in ("train", "dev"))
    assert usable[used].all() and len(used) + dropped == usable.sum()
    assert len(parts[1]) / len(used) == pytest.approx(0.15, abs=0.001)


@needs_data
def test_20news_labels_follow_the_groups():
    encoded = real("20news")
    groups = pandas.concat([read("20news", "train"), read("20news", "test")], ignore_index=True)["group"]
    test = encoded.splits["test"]
    assert [groups[d] == "rec.sport.hockey" for d in test.doc_ids] == test.labels.astype(bool).tolist()


@needs_data
@pytest.mark.parametrize("name", ["amazon", "yelp", "yahoo"])
def test_counts_of_the_sets_cut_into_sentences(name):
    encoded, entry = real(name), catalogue.corpus(name)
    counts = encoded.statistics["splits"]
    tables = {split: files.read(name, split) for split in ("train", "test")}
    read_in = {s: c["documents"] + c["dropped_length"] + c["dropped_empty"] for s, c in counts.items()}
    assert read_in["train"] + read_in["dev"] == len(tables["train"]) and read_in["test"] == len(tables["test"])
    assert counts["test"]["dropped_length"] == 0
    whole = counts["test"]["per_class"]
    assert whole == np.bincount(tables["test"]["label"], minlength=len(entry.classes)).tolist()
    train = encoded.splits["train"]
    assert np.diff(train.sentence_offsets).max() <= entry.most_sentences
    assert train.sentence_lengths.max() <= entry.longest_sentence
    assert encoded.statistics["train_share"] == len(tables["train"]) / entry.whole_train
    for documents in encoded.splits.values():
        assert (documents.sentence_lengths > 0).all()
        assert documents.sentence_lengths.sum() == (documents.lengths - 2).sum()
    if name == "yelp":  # escapes would be words of their own
        assert not [word for word in encoded.vocabulary if "\\n" in word]


@needs_data
def test_the_eight_ratings_of_imdb():
    entry = catalogue.corpus("imdb_stars")
    stars = {split: files.read("imdb_stars", split)["stars"] for split in ("train", "test")}
    labels, found = np.unique(stars["test"], return_counts=True)
    assert tuple(labels) == (1, 2, 3, 4, 7, 8, 9, 10) and tuple(found) == entry.expected["test"]
    assert len(stars["train"]) == entry.whole_train


TASKS = ("babi_1", "babi_2", "babi_3")


@needs_data
@pytest.mark.parametrize("name", TASKS)
def test_counts_and_words_of_the_real_stories(name):
    encoded = encode(name)
    assert len(encoded.vocabulary) == catalogue.corpus(name).expected["vocabulary"]
    assert [len(encoded.splits[s]) for s in ("train", "dev", "test")] == [8500, 1500, 1000]
    table, test = read(name, "test"), encoded.splits["test"]
    assert [encoded.statistics["classes"][label] for label in test.labels] == table["answer"].tolist()
    counts = encoded.statistics["splits"]
    mean = sum(counts[s]["tokens"] for s in ("train", "dev")) / 10_000
    if encoded.statistics["train_source"] == "generated":
        assert name == "babi_3"
    else:
        assert mean == {"babi_1": 36.1979, "babi_2": 94.1375}[name]  # the authors' statistics files


@needs_data
def test_the_joint_words_are_those_of_the_three_real_tasks():
    found = set()
    for name in TASKS:
        for split in ("train", "test"):
            table = read(name, split)
            found |= {word for passage in table["passage"] for word in prepare.story_tokens(passage)}
            found |= {word for question in table["question"] for word in question.replace("?", "").split()}
    assert sorted(found) == list(stories.WORDS) and len(stories.WORDS) == 36


@needs_data
def test_counts_of_the_real_pairs():
    entry, encoded = catalogue.corpus("snli"), encode("snli")
    assert tuple(encoded.statistics["splits"]["test"]["per_class"]) == entry.expected["test"]
    assert len(encoded.splits["dev"]) == 9842
    if encoded.statistics["train_share"] == 1:
        assert abs(len(encoded.vocabulary) - entry.expected["vocabulary"]) <= 20  # spaCy's version
