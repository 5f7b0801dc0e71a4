"""Generated corpora: what is planted is what decides."""

import numpy as np
import pytest
from conftest import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_network import random_model

from attn_core.models import classifier
from attn_lab.data import encode, planted
from attn_lab.runs import families
from attn_lab.runs.run import Run

SMALL = {"n_train": 60, "n_dev": 20, "n_test": 20}


def texts(encoded, split):
    """(tokens, label) of every document, specials removed."""
    documents = encoded.splits[split]
    for ids, label in zip(np.split(documents.ids, documents.offsets[1:-1]), documents.labels, strict=True):
        yield [encoded.vocabulary[i] for i in ids[1:-1]], int(label)


def cues(tokens) -> list[int]:
    """The classes that its cues speak for."""
    return [int(word in planted.POSITIVE) for word in tokens if word in planted.NEGATIVE + planted.POSITIVE]


knobs = st.fixed_dictionaries(
    {
        "evidence": st.integers(2, 4),
        "distractors": st.integers(0, 1),
        "positive": st.sampled_from([0.1, 0.5, 0.9]),
        "cues": st.integers(1, 12),
        "fillers": st.integers(1, 60),
        "seed": st.integers(0, 5),
    }
)


@settings(max_examples=25, deadline=None)
@given(knobs)
def test_the_majority_of_the_cues_is_the_label(options):
    encoded = encode("planted", **SMALL, **options)
    positive = sum(documents.labels.sum() for documents in encoded.splits.values())
    assert positive == sum(round(options["positive"] * n) for n in SMALL.values())
    for split in encoded.splits:
        for tokens, label in texts(encoded, split):
            assert 10 <= len(tokens) <= 30
            if "<unk>" not in tokens:  # a cue of the test split that training never showed
                expected = [label] * options["evidence"] + [1 - label] * options["distractors"]
                assert sorted(cues(tokens)) == sorted(expected)


def test_more_training_leaves_the_test_set():
    one, more, other = (encode("planted", **SMALL | knob) for knob in ({}, {"n_train": 90}, {"seed": 1}))
    assert one.fingerprint != other.fingerprint
    assert np.array_equal(one.splits["test"].doc_ids, more.splits["test"].doc_ids)
    for (tokens, label), (others, same) in zip(texts(one, "dev"), texts(more, "dev"), strict=True):
        # Words that only one of the two training sets shows are <unk> in the other.
        assert label == same
        assert all(a == b or "<unk>" in (a, b) for a, b in zip(tokens, others, strict=True))
    rows = np.concatenate([documents.doc_ids for documents in one.splits.values()])
    assert len(np.unique(rows)) == sum(SMALL.values())


PINNED = "f86147e32f2503eacea7ad52ea832875cb5f0dab49dad954f89dc9cae0939f38"


def test_the_usual_documents_stay_what_they_are():
    assert encode("planted").fingerprint == PINNED  # archived runs were trained on them


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(0, 6), st.integers(0, 3))
def test_sentences_cut_the_same_documents(shortest, more, seed):
    whole = encode("planted", **SMALL, seed=seed)
    longest = shortest + more
    cut = encode("planted", **SMALL, seed=seed, shortest_sentence=shortest, longest_sentence=longest)
    assert cut.fingerprint != whole.fingerprint
    assert cut.vocabulary == whole.vocabulary
    for split, documents in cut.splits.items():
        assert np.array_equal(documents.ids, whole.splits[split].ids)
        sentences = np.split(documents.sentence_lengths, documents.sentence_offsets[1:-1])
        assert [own.sum() for own in sentences] == list(documents.lengths - 2)
        assert documents.sentence_lengths.min() >= 1
        assert documents.sentence_lengths.max() <= longest
        assert all((own[:-1] >= shortest).all() for own in sentences)
    assert whole.splits["train"].sentence_lengths is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"evidence": 0}, "from 1 to"),
        ({"distractors": 2, "evidence": 2}, "from 0 to 1"),
        ({"cues": 13}, "from 1 to 12"),
        ({"shortest": 3, "evidence": 4}, "from 4 to 30"),
        ({"shortest": 9, "longest": 8}, "from 2 to 8"),
        ({"n_test": 0}, "from 1 to"),
        ({"n_train": 10.5}, "a whole number"),
        ({"positive": float("nan")}, "from 0 to 1"),
        ({"shortest_sentence": 6, "longest_sentence": 5}, "from 1 to 5"),
    ],
)
def test_impossible_knobs_are_refused(options, expected):
    """The first is what is wrong."""
    name, value = next(iter(options.items()))
    with refused(f"{name} is {value!r}, expected {expected}"):
        encode("planted", **options)


def test_silent_documents_of_class_0_hold_no_cue():
    data = encode("planted", silent=1, evidence=3, n_train=50, n_dev=10, n_test=20, shortest=20, longest=40)
    for split in data.splits:
        assert all(len(cues(tokens)) == (3 if label else 0) for tokens, label in texts(data, split))
    assert encode("planted").fingerprint == encode("planted", silent=0).fingerprint


LONG = dict.fromkeys(("shortest", "longest"), families.LONGEST_DELETED + 1)


@pytest.mark.parametrize(
    ("attention", "lengths", "deleted"), [("tanh", LONG, False), ("tanh", {}, True), ("uniform", {}, False)]
)
def test_long_documents_and_uniform_weights_are_traced_without_deletions(attention, lengths, deleted):
    data = encode("planted", n_train=4, n_dev=4, n_test=2, **lengths)
    arrays = classifier.to_arrays(
        random_model("average", attention, len(data.vocabulary), width=6, hidden=128)
    )
    traces = families.read_jain(Run("planted", "average", attention), arrays, data, False)
    assert (traces.leave_one_out is not None) == deleted
    assert traces.gradient is not None
