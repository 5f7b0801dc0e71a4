"""Data sets as arrays: stories with questions, premises with hypotheses, possible answers, texts cut into sentences."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import refused
from hypothesis import given
from hypothesis import strategies as st

from attn_core import documents as text
from attn_lab.data import catalogue, cleaning, encode, prepare, stories
from attn_lab.data.arrays import build
from attn_lab.data.prepared import Prepared, Texts


def questions(n: int, source: str = "en-10k") -> list[dict]:
    story = {"passage": "Mary went to the office.\nJohn took the milk there.", "question": "Where is Mary?"}
    answers = "office", "garden"
    return [{**story, "answer": answers[i % 2], "story": i, "source": source} for i in range(n)]


def test_a_story_as_arrays(tables):
    tables("babi_1", train=questions(20), test=questions(3))
    encoded = encode("babi_1")
    assert [len(encoded.splits[split]) for split in ("train", "dev", "test")] == [17, 3, 3]
    test, counts = encoded.splits["test"], encoded.statistics["splits"]["test"]
    assert " ".join(test.words(0, encoded.vocabulary)) == "Mary went to the office . John took the milk there"
    assert test.queries.words(2, encoded.vocabulary) == ["Where", "is", "Mary"]
    assert " ".join(encoded.vocabulary[4:]) == ". John Mary Where is milk office the there to took went"
    classes = encoded.statistics["classes"]
    assert [classes[label] for label in test.labels] == ["office", "garden", "office"]
    assert counts["per_class"] == [{"office": 2, "garden": 1}.get(name, 0) for name in classes]
    assert counts["mean_length"] == 11
    assert test.allowed(36) is None


def test_the_short_training_file_is_replaced_by_generated_questions_and_it_is_said(tables, monkeypatch):
    monkeypatch.setattr(stories, "SIZES", {"train": 40, "test": 10})
    tables("babi_3", train=questions(20, "en"), test=questions(3))
    for source, n_train, n_test, train, test, share in (
        ("", 40, 3, "generated", "en-10k", None),
        ("files", 20, 3, "en", "en-10k", 20 / 10_000),
        ("generated train", 40, 3, "generated", "en-10k", None),
        ("generated", 40, 10, "generated", "generated", None),
    ):
        made = encode("babi_3", source=source)
        told = made.statistics
        assert len(made.splits["train"]) + len(made.splits["dev"]) == n_train
        assert len(made.splits["test"]) == n_test
        assert (told["train_source"], told["test_source"], told.get("train_share")) == (train, test, share)
    tables("babi_3", train=questions(20))
    assert encode("babi_3").statistics["train_source"] == "en-10k"


PAIR = {"premise": "Two Men  run.", "hypothesis": "2 people move.", "label": "entailment"}


def test_a_premise_with_its_hypothesis(tables):
    rows = [
        PAIR,
        {**PAIR, "label": "neutral"},
        {**PAIR, "hypothesis": "Men sleep.", "label": "contradiction"},
    ]
    tables("snli", train=rows, dev=rows, test=[{**PAIR, "premise": "Two dogs run."}])
    encoded = encode("snli")
    # Fewest training texts per word: 3, premises and hypotheses counted alike; 'qqq people move' occur twice.
    assert encoded.vocabulary == (*text.SPECIALS, ".", "men", "run", "two")
    assert encoded.splits["train"].labels.tolist() == [2, 0, 1]
    test = encoded.splits["test"]
    assert test.words(0, encoded.vocabulary) == ["two", "<unk>", "run", "."]
    assert test.queries.words(0, encoded.vocabulary) == ["<unk>", "<unk>", "<unk>", "."]
    assert encoded.statistics["train_share"] == 3 / 549_367
    tables("snli", dev=[{**PAIR, "label": "-"}])
    with refused("'snli', split 'dev': the label of row 0 is '-'; known: neutral"):
        encode("snli")


def test_shuffled_premises_keep_everything_but_the_pairing(tables):
    rows = [
        PAIR | {"premise": "dogs run " * n, "hypothesis": "cats " * n, "label": label}
        for n, label in enumerate(["neutral", "entailment"] * 3, 1)
    ]
    tables("snli", train=rows, dev=rows, test=rows)
    own, shuffled = encode("snli").splits["test"], encode("snli", premise="shuffled").splits["test"]
    assert sorted(own.lengths) == sorted(shuffled.lengths)
    assert (own.lengths != shuffled.lengths).all()
    assert shuffled.query_ids.tolist() == own.query_ids.tolist()
    assert shuffled.labels.tolist() == own.labels.tolist()


def test_cloze_questions_as_arrays(tables):
    """Possible answers are the entities of the passage; a question whose answer is none of them is dropped."""
    table = {
        "passage": [
            "( @entity7 ) @entity1 came to @entity4 .",
            "nobody saw @entity2 but @entity4",
            "@entity9 is here",
        ],
        "question": ["who saw @placeholder ?"] * 3,
        "answer": ["@entity7", "@entity2", "@entity9"],
    }
    known = {name: values[:2] for name, values in table.items()}
    tables("cnn", train=known, dev=known, test=table)
    encoded = encode("cnn")
    assert encoded.statistics["classes"] == ["@entity1", "@entity2", "@entity4", "@entity7"]
    assert encoded.vocabulary[4:] == ("@entity1", "@entity2", "@entity4", "@entity7")  # no word is in 8 texts
    test = encoded.splits["test"]
    assert test.labels.tolist() == [3, 1]
    assert test.allowed(4).tolist() == [[True, False, True, True], [False, True, True, False]]
    counts = encoded.statistics["splits"]
    assert counts["train"]["dropped_answer"] == 0
    assert counts["test"]["dropped_answer"] == 1
    assert counts["test"]["dropped_length"] == 0


# --- texts cut into sentences ----------------------------------------------------------------------------------------


def test_cut_by_hand():
    sentences = cleaning.cut("It's  fine.\n So?\n\n(Ok!) x")
    assert [" ".join(words) for words in sentences] == ["it 's fine .", "so ?", "( ok ! )", "x"]


# --- arrays ---------------------------------------------------------------------------------------------------------


def test_texts_in_sentences_by_hand():
    """Training texts of more than two sentences, or with one of more than three words, are left out, but their
    words count: what is met twice is known."""
    bounds = {"min_count": 2, "most_sentences": 2, "longest_sentence": 3}
    entry = replace(catalogue.corpus("amazon"), classes=("low", "high"), **bounds)
    lists = [["a", "b", "c"], ["a", "b", "d"], ["a", "b", "e", "f"], [], ["b"]]
    train = Texts(lists, [0, 0, 1, 1, 1], np.arange(5), sentences=[[2, 1], [1, 1, 1], [4], [], [1]])
    test = Texts([["a", "a", "a", "a", "g"]], [0], np.arange(1), sentences=[[4, 1]])
    encoded = build(entry, Prepared({"train": train, "dev": test, "test": test}))
    assert encoded.vocabulary == (*text.SPECIALS, "a", "b")
    documents = encoded.splits["train"]
    assert documents.doc_ids.tolist() == [0, 4]
    assert documents.ids.tolist() == [2, 4, 5, 1, 3, 2, 5, 3]
    assert documents.sentence_lengths.tolist() == [2, 1, 1]
    assert encoded.splits["test"].ids.tolist() == [2, 4, 4, 4, 4, 1, 3]
    counts = encoded.statistics["splits"]["train"]
    expected = {"dropped_empty": 1, "dropped_length": 2, "one_sentence": 1, "sentences": 3, "max_length": 3}
    assert counts.items() >= (expected | {"mean_length": 2, "mean_sentences": 1.5}).items()


# --- tables ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "undone"),
    [
        (r"a\nb", "a\nb"),
        (r"say \"yes\"", 'say "yes"'),
        (r"C:\\new", r"C:\new"),
        (r"caf\u00e9 \u20ac5", "café €5"),
        (r"\ud83d\ude00!", "\U0001f600!"),
        (r"half \ud83d.", "half \ufffd."),
        (r"a\'b\q\u12", r"a\'b\q\u12"),
        ("no escape", "no escape"),
    ],
)
def test_escapes_are_undone(raw, undone):
    assert prepare.unescaped(raw) == undone


@given(st.lists(st.integers(0, 3), min_size=1, max_size=80).map(np.array), st.booleans())
def test_dev_is_a_tenth(labels, stratified):
    dev = prepare.tenth(labels, stratified)
    assert np.array_equal(dev, prepare.tenth(labels, stratified))
    for group in [labels == c for c in range(4)] if stratified else [labels >= 0]:
        assert dev[group].sum() == round(group.sum() / 10)


def rows(n, words="a fine day. yes.", **columns):
    """n texts, the same for train and test; columns: values that repeat."""
    table = {"text": [f"{words} {i}" for i in range(n)]}
    table |= {name: np.resize(values, n) for name, values in columns.items()}
    return {"train": table, "test": table}


def test_stars_become_eight_classes_and_breaks_line_ends(tables):
    tables("imdb", **rows(40, "Good.<br /><br />Very good", stars=(1, 2, 3, 4, 7, 8, 9, 10)))
    encoded = encode("imdb_stars")
    train, dev, test = (encoded.splits[split] for split in ("train", "dev", "test"))
    assert len(train) == 36
    assert sorted([*train.doc_ids, *dev.doc_ids]) == list(range(40))
    assert train.labels.tolist() == (train.doc_ids % 8).tolist()
    assert encoded.vocabulary == (*text.SPECIALS, ".", "good", "very")
    assert set(test.sentence_lengths) == {2, 3}
    assert encoded.statistics["classes"][4] == "7 of 10"
    assert encoded.statistics["train_share"] == 40 / 25_000


def test_the_whole_set_stands_before_its_sample(tables):
    for folder, n in (("amazon_review_full_sample", 20), ("amazon_review_full", 30)):
        tables(folder, **rows(n, label=range(5)))
        assert len(encode("amazon").splits["test"]) == n  # other tables, other arrays


@pytest.mark.parametrize(("corpus", "classes"), [("amazon", 5), ("yelp", 5), ("yahoo", 10)])
def test_escapes_end_sentences_and_classes_that_do_not_occur_are_counted(tables, corpus, classes):
    tables(catalogue.corpus(corpus).sample, **rows(20, "Why?\\nBecause.", label=(0, 1)))
    counts = encode(corpus).statistics["splits"]["test"]
    assert counts["per_class"] == [10, 10, *[0] * (classes - 2)]
    assert counts["mean_sentences"] == 3


def test_newsgroups_are_stripped_and_dev_holds_every_group(tables):
    posts = [f"Subject: hidden\n\nShown {i}.\n> quoted line" for i in range(200)]
    posts[7] = "Subject: hidden\n\n> only a quote"
    labels = np.repeat(range(20), 10)
    table = {"text": posts, "label": labels, "group": ["g"] * 200, "doc_id": [str(i) for i in range(200)]}
    tables("20newsgroups", train=table, test=table)
    encoded = encode("20news_all")
    assert "shown" in encoded.vocabulary
    assert not {"hidden", "quoted", "subject"} & set(encoded.vocabulary)
    counts = encoded.statistics["splits"]
    assert counts["dev"]["per_class"] == [1] * 20
    assert counts["train"]["dropped_empty"] + counts["dev"]["dropped_empty"] == 1
    assert counts["test"]["dropped_empty"] == 1
