"""Generated corpora: what is planted is what decides, and every story's answer follows from its text."""

import os

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_core.corpora import encode, generated
from attn_core.corpora.text import END, START, UNKNOWN, vocabulary
from attn_core.errors import AttnError

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
        if word in generated.POSITIVE or word in generated.NEGATIVE:
            side = int(word in generated.POSITIVE)
            found[i] = 1 - side if i and tokens[i - 1] == generated.NEGATOR else side
    return found


knobs = st.fixed_dictionaries(
    {
        "evidence": st.integers(2, 4),
        "distractors": st.integers(0, 1),
        "context": st.sampled_from([0.0, 0.4, 1.0]),
        "positive": st.sampled_from([0.1, 0.5, 1.0]),
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
            expected |= {i - 1 for i in expected if i and tokens[i - 1] == generated.NEGATOR}
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
        (label, tokens[i] in generated.POSITIVE)
        for tokens, _, label in texts(encoded, "train")
        for i in polarity(tokens)
    ]
    agree = np.mean([label == positive for label, positive in told])
    assert abs(agree - 0.5) < 0.05  # the cue alone says nothing; with context=0 it says everything
    plain = encode("planted", evidence=1)
    assert all(
        label == (tokens[i] in generated.POSITIVE)
        for tokens, _, label in texts(plain, "train")
        for i in polarity(tokens)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"evidence": 0}, "evidence must be at least 1"),
        ({"evidence": 2, "distractors": 2}, "distractors must be fewer than evidence"),
        ({"context": 1.5}, "context must lie between 0 and 1"),
        ({"cues": 13}, "cues must lie between 1 and 12"),
        ({"shortest": 3, "evidence": 2, "context": 0.5}, "shortest must leave room for all cues"),
        ({"shortest": 9, "longest": 8}, "shortest must not exceed longest"),
        ({"n_test": 0}, "n_train, n_dev and n_test must be at least 1"),
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


# --- stories --------------------------------------------------------------------------------------------------------


def note(stays, thing, place, handled, moved):
    trail = stays.setdefault(thing, [])
    if trail and trail[-1][0] == place:
        trail.pop()
    trail.append((place, handled, moved))


def solve(passage: str, question: str) -> tuple[str, tuple[int, ...]]:
    """Answer and supporting lines, read from the text alone (independent of the generator)."""
    person_at, carried, stays = {}, {}, {}
    for line, sentence in enumerate(passage.split("\n")):
        words = sentence.rstrip(".").split()
        thing = next((w for w in words if w in ("apple", "football", "milk")), None)
        if thing is None:
            person_at[words[0]] = (words[-1], line)
            for other, (holder, taken) in carried.items():
                if holder == words[0]:
                    note(stays, other, words[-1], taken, line)
            continue
        if set(words) & {"got", "grabbed", "took", "picked"}:
            carried[thing] = (words[0], line)
        else:
            assert carried.get(thing, (words[0],))[0] == words[0]  # nobody drops what another carries
            carried.pop(thing, None)
        if words[0] in person_at:
            note(stays, thing, person_at[words[0]][0], line, person_at[words[0]][1])
    asked = question.rstrip("?").split()
    if asked[:2] == ["Where", "is"] and asked[2] != "the":
        place, line = person_at[asked[2]]
        return place, (line,)
    trail = stays[asked[3]]
    if asked[1] == "is":
        return trail[-1][0], trail[-1][1:]
    last = max(i for i, (place, _, _) in enumerate(trail) if place == asked[-1])
    assert last > 0
    return trail[last - 1][0], (trail[-1][1], trail[last][2], trail[last - 1][2])


def askable(statements: list[str], task: int) -> set[str]:
    """Questions that may follow these statements by the rule of the original, read from the text alone."""
    place_of, moved, carried = {}, {}, {}
    for line, sentence in enumerate(statements):
        who, *rest = sentence.rstrip(".").split()
        thing = next((w for w in rest if w in ("apple", "football", "milk")), None)
        if thing is None:
            place_of[who], moved[who] = rest[-1], line
            for carry in carried.values():
                if carry["who"] == who:
                    carry["stays"].append(rest[-1])
        elif set(rest) & {"got", "grabbed", "took", "picked"}:
            carried[thing] = {"who": who, "line": line, "from": place_of.get(who), "stays": []}
        else:
            carried[thing] |= {"who": None, "line": line}
    last = len(statements) - 5
    if task == 1:
        return {f"Where is {who}?" for who, line in moved.items() if line >= last}
    asked = set()
    for thing, carry in carried.items():
        stays = carry["stays"]
        if carry["line"] < last:
            continue
        if task == 2 and (stays or (carry["who"] is None and carry["from"])):
            asked.add(f"Where is the {thing}?")
        if task == 3:
            asked |= {f"Where was the {thing} before the {place}?" for place in stays[1:]}
    return asked


def moments(table, task: int) -> tuple[int, int, int]:
    """Pairs of statements after which a question could be asked and was, could and was not, could not and was."""
    both = unasked = strange = 0
    for _, story in table.groupby("story"):
        statements = story["passage"].iloc[-1].split("\n")
        questions = dict(zip(story["passage"].str.count("\n") + 1, story["question"], strict=True))
        assert all(count % 2 == 0 for count in questions)
        for count in range(2, len(statements) + 1, 2):
            may, asked = askable(statements[:count], task), questions.get(count)
            both += asked in may
            unasked += asked is None and bool(may)
            strange += asked is not None and asked not in may
    return both, unasked, strange


def wrong(table) -> int:
    columns = zip(table["passage"], table["question"], table["answer"], table["support"], strict=True)
    return sum(solve(p, q) != (a, tuple(map(int, s.split(",")))) for p, q, a, s in columns)


def tokens(passage: str) -> list[str]:
    return passage.replace(".\n", " . ").rstrip(".").split()


@pytest.mark.parametrize(("task", "mean", "slack", "words"), [(1, 36.2, 0.5, 24), (2, 94.1, 5, 38), (3, 307.0, 25, 39)])
def test_stories_answer_themselves_and_resemble_the_original(task, mean, slack, words):
    tables = generated.babi(task, n_train=3000, n_test=100)
    assert len(tables["train"]) == 3000 and len(tables["test"]) == 100
    for table in tables.values():
        assert wrong(table) == 0
        assert table.columns.tolist() == ["passage", "question", "answer", "support", "story", "source"]
    lists = [tokens(p) for p in tables["train"]["passage"]]
    assert abs(np.mean([len(t) for t in lists]) - mean) < slack
    lists += [q.rstrip("?").split() for q in tables["train"]["question"]]
    assert len(vocabulary(lists)) == words
    shares = tables["train"]["answer"].value_counts(normalize=True)
    assert set(shares.index) == set(generated.PLACES) and shares.min() > 0.1


@pytest.mark.parametrize("task", [1, 2, 3])
def test_questions_are_asked_whenever_the_rule_allows(task):
    assert moments(generated.babi(task, 400, 1)["train"], task) == (400, 0, 0)


@pytest.mark.parametrize(("task", "distances"), [(1, [0.97]), (2, [1.1, 4.9]), (3, [1.2, 4.6, 7.5])])
def test_proofs_lie_as_near_to_the_end_as_in_the_original(task, distances):
    """distances: mean statements after each line of the proof, last line first, of the original's training files."""
    table = generated.babi(task, 3000, 1)["train"]
    lines = np.array([sorted(map(int, support.split(",")), reverse=True) for support in table["support"]])
    found = (table["passage"].str.count("\n").to_numpy()[:, None] - lines).mean(0)
    np.testing.assert_allclose(found, distances, rtol=0.2)


def test_stories_repeat_with_the_seed():
    one, same, other = (generated.babi(2, 50, 20, seed=s)["train"] for s in (0, 0, 1))
    assert one.equals(same) and not one.equals(other)
    assert generated.babi(2, 90, 20)["test"].equals(generated.babi(2, 50, 20)["test"])


def test_the_solver_can_fail():
    table = generated.babi(3, 50, 5)["train"]
    table["answer"] = table["answer"].map(lambda place: "office" if place != "office" else "garden")
    assert wrong(table) == 50


def test_unknown_task_and_empty_split_are_refused():
    with pytest.raises(AttnError, match="bAbI task 4 is not generated; known: 1, 2, 3"):
        generated.babi(4)
    with pytest.raises(AttnError, match="n_test is 0"):
        generated.babi(1, 10, 0)


@pytest.mark.skipif(not os.environ.get("ATTN_DATA"), reason="ATTN_DATA is not set")
@pytest.mark.parametrize("task", [1, 2, 3])
def test_the_original_follows_the_same_rules(task):
    table = pandas.read_parquet(os.path.join(os.environ["ATTN_DATA"], f"babi_{task}", "test.parquet"))
    assert wrong(table) == 0
    asked, unasked, strange = moments(table, task)
    assert asked == len(table) and strange == 0 and unasked <= 0.01 * asked
