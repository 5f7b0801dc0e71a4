"""Words that people marked: the file, its join with SST, and agreement by hand."""

import os

import numpy as np
import pandas as pd
import pytest

from attn_core.errors import AttnError
from attn_lab.data import encode
from attn_lab.data.prepare import MARKED, MARKS
from attn_lab.more.people import marks_of, plausible

needs_sst = pytest.mark.skipif(not os.environ.get("ATTN_DATA"), reason="ATTN_DATA is not set")


@pytest.fixture(scope="module")
def marks() -> pd.DataFrame:
    return pd.read_csv(MARKS, keep_default_na=False)


def test_six_people_marked_each_of_261_sentences(marks):
    people = marks.groupby(["split", "row"])["person"]
    assert people.size().tolist() == [6] * 261
    assert (people.nunique() == 6).all()
    assert people.min().equals(people.max() - 5), "groups of six who marked the same sentences"
    assert marks["person"].nunique() == 26 * 6


def test_the_marks_hold_places_and_no_words(marks):
    assert list(marks) == ["split", "row", "person", "judged", "marked", "n_words"]
    assert set(marks["judged"]) == {"positive", "negative", "no sentiment"}
    places = [max(map(int, line.split()), default=0) for line in marks["marked"]]
    assert (places < marks["n_words"]).all()


MARKED_BY = np.array([[1, 0, 0]] * 4 + [[0, 1, 0]] * 2, bool)
"""Of three words four people marked the first, two the second."""


@pytest.mark.parametrize(
    "values, first, precision",
    [([3, 2, 1], 1, 1), ([2, 3, 1], 0, 1 / 2), ([1, 2, 3], 0, 1 / 3), ([1, 1, 1], 1 / 3, 1 / 3)],
)
def test_agreement_with_five_of_six_by_hand(values, first, precision):
    """Whoever is left out, three or four of the five marked the first word, and it alone."""
    numbers = plausible(np.array(values), MARKED_BY, np.array([0, 3]))
    assert numbers["first"] == pytest.approx([first])
    assert numbers["precision"] == pytest.approx([precision])


def test_the_order_of_the_shares_has_a_tau_of_one():
    assert plausible(np.array([3, 2, 1]), MARKED_BY, np.array([0, 3]))["tau"] == pytest.approx([1])


def test_a_person_is_held_against_the_other_five():
    """Four people name the word that three of the others marked, two do not."""
    assert plausible(MARKED_BY, MARKED_BY, np.array([0, 3]))["first"] == pytest.approx([4 / 6])


def test_a_sentence_of_which_no_word_is_marked_has_no_first_word():
    marked = np.zeros((6, 5), bool)
    marked[:, 3] = True
    numbers = plausible(np.arange(5.0), marked, np.array([0, 3, 5]))
    assert np.isnan(numbers["first"]).tolist() == [True, False]
    assert np.isnan(numbers["precision"]).tolist() == [True, False]


@needs_sst
def test_the_sentences_that_people_marked_are_tested_on_and_never_trained_on(marks):
    """All 261 are found; the twelve of at most five words go with the papers' filter."""
    plain, apart = encode("sst").splits, encode("sst", marked="test").splits
    rows = {split: set(part["row"]) for split, part in marks.groupby("split")}
    for split in ("train", "dev"):
        assert set(plain[split].doc_ids) - set(apart[split].doc_ids) == rows[split] & set(plain[split].doc_ids)
    moved = apart["test"].doc_ids[apart["test"].doc_ids >= MARKED]
    assert set(moved) == {MARKED + row for row in rows["dev"] & set(plain["dev"].doc_ids)} | {
        2 * MARKED + row for row in rows["train"] & set(plain["train"].doc_ids)
    }
    assert len(moved) + len(rows["test"] & set(plain["test"].doc_ids)) == 261 - 12


@needs_sst
def test_the_marks_join_261_sentences_of_sst(marks):
    first = marks["split"].map({"test": 0, "dev": MARKED, "train": 2 * MARKED})
    doc_ids = np.unique(first + marks["row"])
    marked, groups = marks_of(doc_ids)
    assert len(groups) == 261
    assert marked.any(axis=1).all()


@needs_sst
def test_a_sentence_that_nobody_marked_is_named():
    with pytest.raises(AttnError, match="nobody marked sentence 0 of SST"):
        marks_of(np.array([0]))
