"""Counts and rows of the real data sets, where $ATTN_DATA holds them."""

import functools
import json
import os

import numpy as np
import pandas
import pytest

from attn_core.corpora import catalogue, encode, load, ratings, read

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
    tables = {split: load.read(name, split) for split in ("train", "test")}
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
    stars = {split: load.read("imdb_stars", split)["stars"] for split in ("train", "test")}
    labels, found = np.unique(stars["test"], return_counts=True)
    assert tuple(labels) == ratings.STARS and tuple(found) == entry.expected["test"]
    assert len(stars["train"]) == entry.whole_train
