"""Words that people marked: the file, its join with SST, and agreement by hand."""

import os

import numpy as np
import pytest

from attn_lab.data import encode
from attn_lab.data.cleaning import clean_sst
from attn_lab.data.prepare import FIRST, marks
from attn_lab.more.people import as_read, marks_of, plausible, raw_words

needs_sst = pytest.mark.skipif(not os.environ.get("ATTN_DATA"), reason="ATTN_DATA is not set")


def test_six_people_marked_places_of_261_sentences_and_no_words():
    table = marks()
    people = table.groupby("doc_id")["person"]
    assert people.nunique().tolist() == [6] * 261
    assert (people.min() % 6 == 0).all(), "one of 26 groups, who marked the same sentences"
    assert people.max().equals(people.min() + 5)
    assert list(table) == ["split", "row", "person", "judged", "marked", "n_words", "doc_id"]
    assert set(table["judged"]) == {"positive", "negative", "no sentiment"}
    places = table["marked"].str.split().explode().dropna().astype(int)
    assert (places < table["n_words"][places.index]).all()


MARKED = np.array([[1, 0, 0]] * 4 + [[0, 1, 0]] * 2, bool)
"""Of three words four people marked the first, two the second: whoever is left out, three of five marked the first."""


@pytest.mark.parametrize(
    "values, first, tau",
    [
        ([3, 2, 1], 1, 1),
        ([2, 3, 1], 0, 1 / 3),
        ([1, 2, 3], 0, -1),
        ([1, 1, 1], 1 / 3, np.nan),
        (MARKED, 4 / 6, 4 / 6 * 2 / 6**0.5),
    ],
)
def test_agreement_with_five_of_six_by_hand(values, first, tau):
    """The last is each person beside the five others. A second sentence has no mark, so no first word."""
    values = np.array(values)
    twice = np.concatenate([values, values], axis=-1)
    numbers = plausible(twice, np.hstack([MARKED, MARKED & False]), np.array([0, 3, 6]))
    np.testing.assert_allclose(numbers["first"], [first, np.nan])
    np.testing.assert_allclose(numbers["tau"][:1], [tau])


@needs_sst
def test_the_sentences_that_people_marked_are_tested_on_and_never_trained_on():
    """But the twelve of at most five words, which the papers' filter leaves out."""
    whole, apart = encode("sst").splits, encode("sst", marked="test").splits
    known = set(marks()["doc_id"])
    for split in ("train", "dev"):
        kept = {FIRST[split] + row for row in whole[split].doc_ids} - known
        assert {FIRST[split] + row for row in apart[split].doc_ids} == kept
    assert len(known & set(apart["test"].doc_ids)) == 261 - 12


def test_words_as_a_pretrained_model_reads_them():
    """The cleaning leaves signs out and makes two of the last word but one."""
    text, owner = as_read(["-LRB-", "it", "does", "n't", "feel", "...", "well-made", "."])
    assert text == "( it doesn't feel ... well-made ."
    assert owner.tolist() == [1, 2, 2, 2, 3, 5, 5]


@needs_sst
def test_each_word_of_a_marked_sentence_is_in_the_text_that_is_read():
    for words in raw_words(marks()["doc_id"].unique()):
        text, owner = as_read(words)
        cleaned = [part for word in words for part in clean_sst(word)]
        for part, place in zip(cleaned, owner, strict=True):
            word = text.split()[place]
            assert part in word.lower() or part in clean_sst(word)


@needs_sst
def test_the_marks_join_261_sentences_of_sst():
    marked, groups = marks_of(marks()["doc_id"].unique())
    assert len(groups) == 261
    assert np.unique(groups).tolist() == list(range(26))
    assert marked.any(axis=1).all()
