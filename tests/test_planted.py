"""Generated corpora: what is planted is what decides."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_core.corpora import encode, planted
from attn_core.corpora.text import END, START, UNKNOWN
from attn_core.errors import AttnError
from attn_core.run import Run

SMALL = dict(n_train=60, n_dev=20, n_test=20)


def texts(encoded, split):
    """(tokens, evidence marks, label) of every document, specials removed."""
    documents, marks = encoded.splits[split], encoded.evidence[split]
    for d, label in enumerate(documents.labels):
        own = slice(documents.offsets[d] + 1, documents.offsets[d + 1] - 1)
        yield [encoded.vocabulary[i] for i in documents.ids[own]], marks[own], int(label)


def polarity(tokens):
    """Independent reading of a text: cues and, after 'not', their opposites -> position of each cue and its side."""
    found = {}
    for i, word in enumerate(tokens):
        if word in planted.POSITIVE or word in planted.NEGATIVE:
            side = int(word in planted.POSITIVE)
            found[i] = 1 - side if i and tokens[i - 1] == planted.NEGATOR else side
    return found


knobs = st.fixed_dictionaries(
    {
        "evidence": st.integers(2, 4),
        "distractors": st.integers(0, 1),
        "context": st.sampled_from([0.0, 0.4, 1.0]),
        "positive": st.sampled_from([0.1, 0.5, 0.9]),
        "cues": st.integers(1, 12),
        "fillers": st.integers(1, 60),
        "seed": st.integers(0, 5),
    }
)


@settings(max_examples=25, deadline=None)
@given(knobs)
def test_the_majority_of_the_cues_is_the_label_and_the_marks_are_its_evidence(options):
    encoded = encode("planted", **SMALL, **options)
    labels = np.concatenate([encoded.splits[s].labels for s in ("train", "dev", "test")])
    assert labels.sum() == sum(round(options["positive"] * n) for n in SMALL.values())
    for split in SMALL:
        for tokens, marks, label in texts(encoded, split.removeprefix("n_")):
            cues = polarity(tokens)
            assert 10 <= len(tokens) <= 30
            if "<unk>" in tokens:  # a cue of the test split that training never showed
                continue
            sides = list(cues.values())
            assert sides.count(label) == options["evidence"] and sides.count(1 - label) == options["distractors"]
            expected = {i for i, side in cues.items() if side == label}
            expected |= {i - 1 for i in expected if i and tokens[i - 1] == planted.NEGATOR}
            assert set(np.flatnonzero(marks)) == expected


def test_the_same_seed_gives_the_same_arrays_and_more_training_leaves_the_test_set():
    one, same, other = encode("planted", **SMALL), encode("planted", **SMALL), encode("planted", **SMALL, seed=1)
    assert one.fingerprint == same.fingerprint != other.fingerprint
    more = encode("planted", **{**SMALL, "n_train": 90})
    assert np.array_equal(one.splits["test"].doc_ids, more.splits["test"].doc_ids)
    for (tokens, marks, label), (others, same_marks, same_label) in zip(
        texts(one, "dev"), texts(more, "dev"), strict=True
    ):
        # Words that only one of the two training sets shows are <unk> in the other.
        assert all(a == b or "<unk>" in (a, b) for a, b in zip(tokens, others, strict=True))
        assert np.array_equal(marks, same_marks) and label == same_label


PINNED = "f86147e32f2503eacea7ad52ea832875cb5f0dab49dad954f89dc9cae0939f38"


def test_the_usual_documents_stay_what_they_are():
    assert encode("planted").fingerprint == PINNED  # archived runs were trained on them


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(0, 6), st.integers(0, 3))
def test_sentences_cut_the_same_documents(shortest, more, seed):
    whole = encode("planted", **SMALL, seed=seed)
    longest = shortest + more
    cut = encode("planted", **SMALL, seed=seed, shortest_sentence=shortest, longest_sentence=longest)
    assert cut.fingerprint != whole.fingerprint and cut.vocabulary == whole.vocabulary
    for split, documents in cut.splits.items():
        assert np.array_equal(documents.ids, whole.splits[split].ids)
        assert np.array_equal(cut.evidence[split], whole.evidence[split])
        for d, words in enumerate(documents.lengths - 2):
            own = documents.sentence_lengths[documents.sentence_offsets[d] : documents.sentence_offsets[d + 1]]
            assert own.sum() == words and own.min() >= 1 and own.max() <= longest
            assert (own[:-1] >= shortest).all()
        counts = cut.statistics["splits"][split]
        assert counts["sentences"] == len(documents.sentence_lengths)
        assert counts["tokens"] == documents.sentence_lengths.sum()
    assert whole.splits["train"].sentence_lengths is None


def test_marks_lie_along_the_ids_and_specials_are_no_evidence():
    encoded = encode("planted")
    assert {s: len(d) for s, d in encoded.splits.items()} == {"train": 1500, "dev": 300, "test": 500}
    for split, documents in encoded.splits.items():
        marks = encoded.evidence[split]
        assert marks.dtype == bool and marks.shape == documents.ids.shape
        assert not marks[np.isin(documents.ids, (START, END))].any()
        assert (np.add.reduceat(marks, documents.offsets[:-1]) == 2).all()
        assert not (documents.ids == UNKNOWN).any()
    rows = np.concatenate([d.doc_ids for d in encoded.splits.values()])
    assert len(set(rows.tolist())) == 2300
    assert encoded.statistics["knobs"]["evidence"] == 2


def test_context_leaves_no_single_telling_cue():
    encoded = encode("planted", context=0.5, evidence=1)
    told = [
        (label, tokens[i] in planted.POSITIVE)
        for tokens, _, label in texts(encoded, "train")
        for i in polarity(tokens)
    ]
    agree = np.mean([label == positive for label, positive in told])
    assert abs(agree - 0.5) < 0.05  # the cue alone says nothing; with context=0 it says everything
    plain = encode("planted", evidence=1)
    assert all(
        label == (tokens[i] in planted.POSITIVE)
        for tokens, _, label in texts(plain, "train")
        for i in polarity(tokens)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"evidence": 0}, "evidence is 0, expected a whole number from 1"),
        ({"evidence": 2, "distractors": 2}, "distractors must be fewer than evidence"),
        ({"context": 1.5}, "context is 1.5, expected a number from 0 to 1"),
        ({"cues": 13}, "cues is 13, expected a whole number from 1 to 12"),
        ({"shortest": 3, "evidence": 2, "context": 0.5}, "shortest must leave room for all cues"),
        ({"shortest": 9, "longest": 8}, "shortest must not exceed longest"),
        ({"n_test": 0}, "n_test is 0, expected a whole number from 1 to"),
        ({"n_train": 10.5}, "n_train is 10.5, expected a whole number"),
        ({"positive": "half"}, "positive is 'half', expected a number"),
        ({"seed": True}, "seed is True, expected a whole number"),
        ({"longest_sentence": 5}, "shortest_sentence must be at least 1 and not exceed longest_sentence"),
        ({"shortest_sentence": 6, "longest_sentence": 5}, "shortest_sentence must be at least 1 and not exceed"),
    ],
)
def test_impossible_knobs_are_refused(options, message):
    with pytest.raises(AttnError, match=message):
        encode("planted", **options)


def test_silent_documents_of_class_0_hold_no_cue():
    data = encode("planted", silent=1, evidence=3, n_train=50, n_dev=10, n_test=20, shortest=20, longest=40)
    for split, documents in data.splits.items():
        per_document = np.add.reduceat(data.evidence[split].astype(int), documents.offsets[:-1])
        assert (per_document == np.where(documents.labels == 1, 3, 0)).all()
    assert encode("planted").fingerprint == encode("planted", silent=0).fingerprint
    with pytest.raises(AttnError, match="silent is 2, expected a whole number from 0 to 1"):
        encode("planted", silent=2)


def test_long_generated_documents_and_uniform_weights_are_traced_without_deletions():
    from attn_core.models import classifier
    from attn_core.training import jain

    data = encode(
        "planted",
        n_train=4,
        n_dev=4,
        n_test=2,
        shortest=jain.LONGEST_DELETED + 1,
        longest=jain.LONGEST_DELETED + 1,
    )
    vectors = np.random.default_rng(0).normal(size=(len(data.vocabulary), 6)).astype(np.float32)
    vectors[0] = 0  # of pads
    arrays = classifier.to_arrays(classifier.build("average", "tanh", vectors))
    traces = jain.read(Run("planted", "average"), arrays, data, "cpu", False)
    assert traces.leave_one_out is None and traces.gradient is not None
    short = encode("planted", n_train=4, n_dev=4, n_test=2)
    vectors = np.random.default_rng(0).normal(size=(len(short.vocabulary), 6)).astype(np.float32)
    vectors[0] = 0
    arrays = classifier.to_arrays(classifier.build("average", "tanh", vectors))
    assert jain.read(Run("planted", "average"), arrays, short, "cpu", False).leave_one_out is not None
    arrays = classifier.to_arrays(classifier.build("average", "uniform", vectors))
    assert jain.read(Run("planted", "average", "uniform"), arrays, short, "cpu", False).leave_one_out is None, (
        "equal weights rank nothing"
    )
