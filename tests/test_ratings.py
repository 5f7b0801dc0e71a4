"""Data sets cut into sentences: cutting, arrays, statistics, and the tables they come from."""

from dataclasses import replace

import numpy as np
import pandas
import plain_sentences as plain
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attn_core.corpora import catalogue, encode, ratings, sentences, text
from attn_core.errors import AttnError

PIECES = [
    "A",
    "film",
    "isn't",
    "U.S.",
    "3.5",
    "<s>",
    " ",
    "  ",
    "\n",
    ".",
    "...",
    "…",
    "!",
    "?",
    "!?",
    ")",
    '"',
    ",",
    "。",
]
pieces = st.sampled_from(PIECES)
raw_texts = st.lists(pieces, max_size=25).map(lambda parts: " ".join(parts)) | st.text(" ab.!?)\n'\"", max_size=40)


# --- cutting --------------------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(st.lists(raw_texts, max_size=6))
def test_cut_is_spacys_sentencizer(texts):
    cutter = sentences.Cutter()
    found = cutter.cut(texts)
    assert found.kinds.dtype == np.int32 and len(found.offsets) == len(found.sentence_offsets) == len(texts) + 1
    for d, raw in enumerate(texts):
        expected = plain.cut(raw)
        full = [sentence for sentence in expected if sentence]
        kinds = found.kinds[found.offsets[d] : found.offsets[d + 1]]
        lengths = found.sentence_lengths[found.sentence_offsets[d] : found.sentence_offsets[d + 1]]
        assert [cutter.words[k] for k in kinds] == [word for sentence in full for word in sentence]
        assert lengths.tolist() == [len(sentence) for sentence in full]
        assert found.dropped[d] == len(expected) - len(full)


@given(st.lists(st.lists(st.sampled_from("ep-"), max_size=9), max_size=7))
def test_starts_is_its_plain_loop(marks):
    flat = [mark for own in marks for mark in own]
    owner = np.repeat(np.arange(len(marks)), [len(own) for own in marks])
    ends, words = np.array([m == "e" for m in flat], dtype=bool), np.array([m == "p" for m in flat], dtype=bool)
    expected = [s for own in marks for s in plain.starts([m == "e" for m in own], [m == "p" for m in own])]
    assert sentences.starts(owner, ends, words).tolist() == expected


def test_a_cutter_keeps_its_words_from_call_to_call(monkeypatch):
    monkeypatch.setattr(sentences, "AT_ONCE", 2)
    texts = ["One two! Four", "two", "", "four Four? one", "five"]
    cutter = sentences.Cutter()
    once, again = cutter.cut(texts), cutter.cut(texts)
    assert sorted(cutter.words) == ["!", "?", "five", "four", "one", "two"]
    assert all(map(np.array_equal, once, again))
    assert [cutter.words[kind] for kind in once.kinds] == "one two ! four two four four ? one five".split()
    assert once.offsets.tolist() == [0, 4, 5, 5, 9, 10] and once.sentence_lengths.tolist() == [3, 1, 1, 3, 1, 1]


# --- arrays ---------------------------------------------------------------------------------------------------------

ENTRY = replace(catalogue.corpus("amazon"), classes=("low", "high"), whole_train=10)


def built(entry, **splits):
    """split -> texts, as a data set; labels 0, 1, 0, ..., rows counted from 0."""
    cutter = sentences.Cutter()
    cuts = {}
    for split in ("train", "dev", "test"):
        n = len(splits[split])
        cuts[split] = sentences.Cut(cutter.cut(splits[split]), np.arange(n) % 2, np.arange(n))
    return sentences.build(entry, sentences.Prepared(cuts, cutter.words))


some = st.lists(raw_texts, min_size=1, max_size=5)


@settings(max_examples=60)
@given(some, some, some, st.integers(1, 4), st.none() | st.integers(1, 3), st.none() | st.integers(1, 6))
def test_build_is_its_plain_loop(train, dev, test, min_count, most, longest):
    expected = plain.encoded({"train": train, "dev": dev, "test": test}, min_count, most, longest)
    assume(all(expected[split] for split in ("train", "dev", "test")))
    entry = replace(ENTRY, min_count=min_count, most_sentences=most, longest_sentence=longest)
    encoded = built(entry, train=train, dev=dev, test=test)
    assert encoded.vocabulary == expected["vocabulary"]
    for split, documents in encoded.splits.items():
        rows, ids, lengths, dropped = zip(*expected[split], strict=True)
        assert documents.doc_ids.tolist() == list(rows) and documents.labels.tolist() == [row % 2 for row in rows]
        for d in range(len(rows)):
            assert documents.ids[documents.offsets[d] : documents.offsets[d + 1]].tolist() == ids[d]
            own = slice(documents.sentence_offsets[d], documents.sentence_offsets[d + 1])
            assert documents.sentence_lengths[own].tolist() == lengths[d]
        counts = encoded.statistics["splits"][split]
        assert counts["dropped_sentences"] == sum(dropped)
        assert counts["one_sentence"] == sum(len(own) == 1 for own in lengths)
        words, per_text = plain.moments([sum(own) for own in lengths]), plain.moments([len(own) for own in lengths])
        assert (counts["mean_length"], counts["sd_length"]) == pytest.approx(words)
        assert (counts["mean_sentences"], counts["sd_sentences"]) == pytest.approx(per_text)
        picked = documents.take(np.arange(len(rows))[::-1])
        assert np.split(picked.sentence_lengths, picked.sentence_offsets[1:-1])[0].tolist() == lengths[-1]


def test_words_are_counted_as_often_as_they_are_met_before_the_filter_and_with_dev():
    train = ["rare rare rare.", "gone gone. gone gone.", "both both"]
    entry = replace(ENTRY, min_count=3, most_sentences=1)
    encoded = built(entry, train=train, dev=["both"], test=["tested tested tested both"])
    assert encoded.vocabulary == (*text.SPECIALS, ".", "both", "gone", "rare")  # 'gone' is only in a filtered text
    assert encoded.splits["train"].doc_ids.tolist() == [0, 2]
    assert encoded.splits["test"].ids.tolist() == [text.START, *[text.UNKNOWN] * 3, 5, text.END]
    assert encoded.statistics["vocabulary_all_splits"] == 9 and encoded.statistics["train_share"] == 4 / 10


def test_odd_documents_are_handled_and_counted():
    test = ["word " * 3000, "One sentence", "Two. Here.", "Blank after.  \n", " \n ", "x"]
    train = ["long word " * 80, "fine. day.", "bad. day"]
    encoded = built(ENTRY, train=train, dev=["a b"], test=test)
    counts = encoded.statistics["splits"]
    assert encoded.splits["test"].doc_ids.tolist() == [0, 1, 2, 3, 5]
    assert counts["test"]["max_length"] == counts["test"]["longest_sentence"] == 3000  # no bound on test texts
    assert (counts["test"]["one_sentence"], counts["test"]["one_token"]) == (4, 1)
    assert (counts["test"]["dropped_empty"], counts["test"]["dropped_sentences"]) == (1, 1)
    assert counts["test"]["sentences"] == 6 and counts["test"]["max_sentences"] == 2
    assert counts["train"]["dropped_length"] == 1 and encoded.splits["train"].doc_ids.tolist() == [1, 2]
    assert counts["dev"]["absent_classes"] == ["high"] and counts["dev"]["per_class"] == [1, 0]
    assert counts["test"]["absent_classes"] == []


def test_a_split_of_nothing_is_one_error():
    with pytest.raises(AttnError, match="none of the 2 documents of split 'dev' has tokens"):
        built(ENTRY, train=["a"], dev=["", " "], test=["a"])


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
    assert ratings.unescaped(raw) == undone


@given(st.lists(st.integers(0, 3), min_size=1, max_size=80), st.booleans())
def test_dev_is_a_tenth(labels, stratified):
    labels = np.array(labels)
    dev = ratings.tenth(labels, stratified)
    assert np.array_equal(dev, ratings.tenth(labels, stratified)) and dev.any()
    if not stratified:
        assert dev.sum() == max(1, round(len(labels) / 10))
    elif any(round((labels == c).sum() / 10) for c in range(4)):
        assert all(dev[labels == c].sum() == round((labels == c).sum() / 10) for c in range(4))


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Writes train and test of a folder under $ATTN_DATA."""
    monkeypatch.setenv("ATTN_DATA", str(tmp_path / "data"))

    def write(folder, train, test=None):
        (tmp_path / "data" / folder).mkdir(parents=True, exist_ok=True)
        for split, rows in (("train", train), ("test", test or train)):
            pandas.DataFrame(rows).to_parquet(tmp_path / "data" / folder / f"{split}.parquet")

    return write


def rows(n, words="a fine day. yes.", **columns):
    """n texts; columns: values that repeat."""
    own = {name: [values[i % len(values)] for i in range(n)] for name, values in columns.items()}
    return {"text": [f"{words} {i}" for i in range(n)], **own}


def test_stars_become_eight_classes_and_breaks_line_ends(tables):
    tables("imdb", rows(40, "Good.<br /><br />Very good", stars=ratings.STARS))
    encoded = encode("imdb_stars")
    train, dev = encoded.splits["train"], encoded.splits["dev"]
    assert (len(train), len(dev), len(encoded.splits["test"])) == (36, 4, 40)
    assert sorted([*train.doc_ids, *dev.doc_ids]) == list(range(40))
    assert train.labels.tolist() == (train.doc_ids % 8).tolist()
    assert encoded.vocabulary == (*text.SPECIALS, ".", "good", "very")
    assert set(encoded.splits["test"].sentence_lengths.tolist()) == {2, 3}
    assert encoded.statistics["classes"][4] == "7 of 10" and encoded.statistics["train_share"] == 40 / 25_000


def test_the_whole_set_stands_before_its_sample(tables):
    tables("amazon_review_full_sample", rows(20, label=range(5)))
    assert len(encode("amazon").splits["test"]) == 20
    tables("amazon_review_full", rows(30, label=range(5)))
    assert len(encode("amazon").splits["test"]) == 30  # other tables, other arrays


def test_yahoo_names_the_topics_that_do_not_occur(tables):
    tables("yahoo_answers_2class_sample", rows(20, "Why?\\nBecause.", label=(0, 1)))
    encoded = encode("yahoo")
    counts = encoded.statistics["splits"]["test"]
    assert counts["per_class"] == [10, 10, *[0] * 8] and counts["mean_sentences"] == 3
    assert counts["absent_classes"] == list(catalogue.corpus("yahoo").classes[2:])


def test_newsgroups_are_stripped_and_dev_holds_every_group(tables):
    header = "From: someone\nSubject: hidden\n\n"
    labels = sorted(range(20)) * 10
    posts = [f"{header}Shown {i}.\n> quoted line" for i in range(200)]
    extra = dict(group=["g"] * 200, doc_id=[str(i) for i in range(200)])
    posts[7] = f"{header}> only a quote"
    tables("20newsgroups", {"text": posts, "label": labels, **extra})
    encoded = encode("20news_all")
    assert "shown" in encoded.vocabulary and not {"hidden", "quoted", "from"} & set(encoded.vocabulary)
    assert encoded.statistics["splits"]["dev"]["per_class"] == [1] * 20
    dropped = [encoded.statistics["splits"][split]["dropped_empty"] for split in ("train", "dev", "test")]
    assert dropped[0] + dropped[1] == 1 and dropped[2] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": [0, 1, 7]}, r"corpus 'yelp', split 'train': label of row 2 is 7; known: 0, 1, 2, 3, 4"),
        ({"text": ["a", None, "b"]}, r"corpus 'yelp', split 'train': row 1 holds no text \(1 such rows\)"),
    ],
)
def test_rows_that_cannot_be_are_named(tables, change, message):
    tables("yelp_review_full_sample", rows(3, label=(0, 1, 2)) | change)
    with pytest.raises(AttnError, match=message) as caught:
        encode("yelp")
    assert "\n" not in str(caught.value)


def test_arrays_with_sentences_come_back_from_the_cache_without_text(tables, monkeypatch):
    tables("yelp_review_full_sample", rows(30, label=range(5)))
    first = encode("yelp")
    monkeypatch.delenv("ATTN_DATA")
    monkeypatch.setattr(text, "english", lambda: pytest.fail("tokenized again"))
    again = encode("yelp")
    assert again.fingerprint == first.fingerprint and again.statistics == first.statistics
    assert np.array_equal(again.splits["dev"].sentence_offsets, first.splits["dev"].sentence_offsets)


def test_these_sets_have_one_vocabulary_rule():
    with pytest.raises(AttnError, match="corpus 'yelp' has no option 'vocabulary_from'; known: none"):
        encode("yelp", vocabulary_from="all")
