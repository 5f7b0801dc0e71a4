"""The real data sets, where $ATTN_DATA holds those that the archive's runs were trained on."""

import functools
import json
import os

import pytest

from attn_core.corpora import catalogue, encode, prepare, read, stories

pytestmark = pytest.mark.skipif(not os.environ.get("ATTN_DATA"), reason="ATTN_DATA is not set")
NAMES = [name for name in catalogue.FINGERPRINTS.values() if name in catalogue.CATALOGUE]

real = functools.cache(encode)  # once for all tests below


@pytest.mark.parametrize("name", NAMES)
def test_the_arrays_are_those_of_the_archive(name):
    """Every row, label and word: whatever changes the rules of a data set changes its fingerprint."""
    assert catalogue.FINGERPRINTS.get(real(name).fingerprint) == name


@pytest.mark.parametrize("name", [name for name in NAMES if catalogue.corpus(name).expected])
def test_counts_are_the_papers(name):
    entry, encoded = catalogue.corpus(name), real(name)
    for split, counts in entry.expected.items():
        if isinstance(counts, tuple) and (split == "test" or not entry.whole_train):
            assert encoded.statistics["splits"][split]["per_class"] == list(counts), split
        elif split == "vocabulary" and encoded.statistics.get("train_share", 1) == 1:
            assert abs(len(encoded.vocabulary) - counts) <= (2 if name == "20news" else 0)  # spaCy's version
    assert json.loads(json.dumps(encoded.statistics)) == encoded.statistics


def test_imdb_is_the_selection_of_the_authors():
    encoded, tables = real("imdb"), {part: read("imdb", part) for part in ("train", "test")}
    for split, documents in encoded.splits.items():
        table = tables["test" if split == "test" else "train"]
        assert set(table["jw_split"][documents.doc_ids]) == {split}
    assert (documents.lengths - 2 == table["jw_tokens"].to_numpy()[documents.doc_ids]).all()


@pytest.mark.parametrize(("name", "mean"), [("babi_1", 36.1979), ("babi_2", 94.1375)])
def test_stories_have_the_length_of_the_authors_statistics(name, mean):
    counts = real(name).statistics["splits"]
    assert sum(counts[split]["tokens"] for split in ("train", "dev")) / 10_000 == mean


def test_the_joint_words_are_those_of_the_three_real_tasks():
    found = set()
    for name in ("babi_1", "babi_2", "babi_3"):
        for split in ("train", "test"):
            table = read(name, split)
            found |= {word for passage in table["passage"] for word in prepare.story_tokens(passage)}
            found |= {word for question in table["question"] for word in question.replace("?", "").split()}
    assert sorted(found) == list(stories.WORDS) and len(stories.WORDS) == 36
