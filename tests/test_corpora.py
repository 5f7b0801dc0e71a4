"""Cleaning, vocabulary, length filter, documents and batches."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attn_core import documents as text
from attn_core.documents import Documents, batches, pad
from attn_lab.data import arrays, cleaning
from attn_lab.data.arrays import fingerprint


def documents(lengths) -> Documents:
    """Documents of the given numbers of real tokens; token t of document d has id 4 + 100 d + t."""
    lists = [[f"{100 * d + t:06d}" for t in range(n)] for d, n in enumerate(lengths)]
    words = text.SPECIALS + tuple(word for tokens in lists for word in tokens)
    ids, offsets = arrays.to_ids(lists, words)
    return Documents(ids, offsets, np.arange(len(lengths)) % 2, np.arange(len(lengths)) + 1000)


# --- cleaning -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clean", "raw", "tokens"),
    [
        (
            cleaning.clean_sst,
            "It 's n't -LRB- quite -RRB- a 1\\/2-Hearted Film , but ... good .",
            "it s n t quite a 1 2 hearted film but good",
        ),
        (
            cleaning.clean_plain,
            "  The 2nd\tGame isn't\n over. ",
            "the qqq game is n't over .",
        ),  # digits masked after lowering
        # Of each run of signs the last: what stands alone goes (so does the hyphen, which spaCy splits off).
        (
            cleaning.clean_news,
            "It isn't over - the 7th time, e-mail.",
            "it is n ' t over the qqq time e mail .",
        ),
        (
            cleaning.clean_keras,
            "Don't<br />stop:\tRe-run_2,\nno\xa0break.",
            "don't br stop re run 2 no\xa0break",
        ),
        (cleaning.simple_tokens, "Don't stop: route66,\nOK_go!", "don t stop qqq ok_go"),
    ],
)
def test_cleaners_by_hand(clean, raw, tokens):
    assert clean(raw) == tokens.split(" ")


def test_posts_lose_header_footer_and_quotes():
    post = "From: a\nSubject: b\n\nJoe writes:\n> old\nnew line\n\n--\nsignature"
    assert cleaning.strip_post(post) == "new line\n"


# --- vocabulary and ids ---------------------------------------------------------------------------------------------


def test_a_token_spelled_like_a_special_one_does_not_shift_the_index():
    assert arrays.vocabulary([["<s>", "a"]]) == (*text.SPECIALS, "a")


# --- length filter --------------------------------------------------------------------------------------------------

bounds = st.none() | st.integers(0, 12)


@given(st.lists(st.integers(0, 15), max_size=30), bounds, bounds)
def test_length_filter_is_its_plain_loop(lengths, low, high):
    least = min(lengths, default=0) if low is None else low
    most = max(lengths, default=0) if high is None else high
    assert arrays.length_filter(lengths, low, high).tolist() == [least < n < most for n in lengths]


# --- documents, padding, batches ------------------------------------------------------------------------------------


def test_a_padded_text_ends_in_pads():
    ids, lengths = pad(documents([1, 3]), np.array([1, 0]))
    assert ids.tolist() == [[2, 5, 6, 7, 3], [2, 4, 3, 0, 0]]
    assert lengths.tolist() == [5, 3]
    assert ids.dtype == np.int64


NOISE = st.sampled_from([0.0, 0.1, 0.5])


@given(st.lists(st.integers(1, 60), max_size=80), st.integers(1, 9), NOISE, st.integers(0, 9))
def test_batches_hold_every_row_once_and_texts_of_like_length(lengths, size, noise, seed):
    """A row may stand before another only if the noise, floor(-noise L) to ceil(noise L) - 1, can close the gap."""
    docs = documents(lengths)
    made = batches(docs, size, np.random.default_rng(seed), noise)
    assert sorted(np.concatenate([[], *made]).tolist()) == list(range(len(lengths)))
    assert sum(len(rows) != size for rows in made) <= 1
    for n in [docs.lengths[rows] for rows in made]:
        lowest = n + np.floor(-noise * n)
        highest = n + np.maximum(np.ceil(noise * n) - 1, 0)
        assert all(lowest[: j + 1].max() <= highest[j] for j in range(len(n)))
    made.sort(key=lambda rows: docs.lengths[rows].min())
    assert noise or all(docs.lengths[a].max() <= docs.lengths[b].min() for a, b in pairwise(made))


def test_texts_are_taken_with_their_second_texts_and_answers():
    second = documents([1, 2, 1])
    answers = {"answer_ids": np.array([0, 2, 1], np.int32), "answer_offsets": np.array([0, 2, 2, 3])}
    pairs = replace(documents([2, 1, 3]), query_ids=second.ids, query_offsets=second.offsets, **answers)
    taken = pairs.take([2, 0])
    assert taken.doc_ids.tolist() == taken.queries.doc_ids.tolist() == [1002, 1000]
    assert taken.ids.tolist() == [2, 7, 8, 9, 3, 2, 4, 5, 3]
    assert taken.query_ids.tolist() == [2, 7, 3, 2, 4, 3]
    assert taken.allowed(3).tolist() == [[False, True, False], [True, False, True]]


def test_fingerprint_sees_every_array_and_the_words():
    docs = documents([2, 3])
    others = [replace(docs, **{name: getattr(docs, name) + 1}) for name in ("ids", "labels", "doc_ids")]
    seen = [({"train": texts}, ("a",)) for texts in (docs, *others)]
    seen += [({"test": docs}, ("a",)), ({"train": docs}, ("b",))]
    assert len({fingerprint(*given) for given in seen}) == 6
    wider = replace(docs, ids=docs.ids.astype(np.int64))
    assert fingerprint({"train": wider}, ("a",)) == fingerprint(*seen[0])
