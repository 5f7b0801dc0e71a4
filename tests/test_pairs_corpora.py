"""Pairs as arrays: stories with questions, premises with hypotheses, possible answers."""

import os

import numpy as np
import pandas
import pytest

from attn_core.corpora import catalogue, encode, generated, load, pairs, prepare, read, text
from attn_core.corpora.encoding import build
from attn_core.corpora.vectors import vectors
from attn_core.errors import AttnError

needs_data = pytest.mark.skipif(not os.environ.get("ATTN_DATA"), reason="ATTN_DATA is not set")
TASKS = ("babi_1", "babi_2", "babi_3")


def words(encoded, documents, row) -> list[str]:
    own = documents.ids[documents.offsets[row] : documents.offsets[row + 1]]
    return [encoded.vocabulary[i] for i in own]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """$ATTN_DATA of a test; ``put`` writes tables there."""
    monkeypatch.setenv("ATTN_DATA", str(tmp_path / "data"))

    def put(name: str, **tables):
        (tmp_path / "data" / name).mkdir(parents=True, exist_ok=True)
        for split, rows in tables.items():
            pandas.DataFrame(rows).to_parquet(tmp_path / "data" / name / f"{split}.parquet")

    return put


def stories(n: int, source: str = "en-10k") -> list[dict]:
    story = {"passage": "Mary went to the office.\nJohn took the milk there.", "question": "Where is Mary?"}
    return [{**story, "answer": "office", "support": "0", "story": i, "source": source} for i in range(n)]


def test_story_tokens_by_hand():
    tokens = pairs.story_tokens("Mary moved to the bathroom.\nJohn got the milk there.\n")
    assert tokens == "Mary moved to the bathroom . John got the milk there".split()


def test_a_story_as_arrays(folder):
    folder("babi_1", train=stories(20), test=stories(3))
    encoded = encode("babi_1")
    assert [len(encoded.splits[s]) for s in ("train", "dev", "test")] == [17, 3, 3]
    test = encoded.splits["test"]
    assert words(encoded, test, 0) == "<s> Mary went to the office . John took the milk there </s>".split()
    assert words(encoded, test.queries, 2) == "<s> Where is Mary </s>".split()
    classes = encoded.statistics["classes"]
    assert [classes[label] for label in test.labels] == ["office"] * 3 and test.allowed(36) is None
    assert encoded.vocabulary[4:] == (".", "John", "Mary", "Where", "is", *"milk office the there to took went".split())
    counts = encoded.statistics["splits"]["test"]
    assert (counts["mean_length"], counts["mean_query_length"]) == (11, 3)
    assert counts["per_class"] == [3 * (name == "office") for name in classes]
    assert encoded.statistics["train_source"] == "en-10k" and encoded.statistics["train_share"] == 20 / 10_000


def test_the_cache_gives_pairs_back(folder, monkeypatch):
    folder("babi_1", train=stories(20), test=stories(3))
    first = encode("babi_1")
    monkeypatch.setattr(load, "read", lambda *_: pytest.fail("read again"))
    again = encode("babi_1")
    assert again.fingerprint == first.fingerprint and again.statistics == first.statistics
    assert np.array_equal(again.splits["dev"].query_ids, first.splits["dev"].query_ids)


def test_a_strange_answer_is_named(folder):
    folder("babi_2", train=stories(20), test=[{**stories(1)[0], "answer": "moon"}])
    with pytest.raises(AttnError, match="corpus 'babi_2': the answer 'moon' is none of the 36 words"):
        encode("babi_2")


@pytest.fixture
def few_generated(monkeypatch):
    """The generator with 40 training questions, so that tests stay fast."""
    make = generated.babi
    monkeypatch.setattr(generated, "babi", lambda task, n_train=40, n_test=10: make(task, n_train, n_test))


def test_the_short_training_file_is_replaced_by_generated_questions_and_it_is_said(folder, few_generated):
    folder("babi_3", train=stories(20, "en"), test=stories(3))
    told = {}
    for source in pairs.SOURCES:
        made = encode("babi_3", source=source)
        sizes = len(made.splits["train"]) + len(made.splits["dev"]), len(made.splits["test"])
        statistics = made.statistics
        told[source] = (*sizes, statistics["train_source"], statistics["test_source"], statistics.get("train_share"))
    assert told == {
        "": (40, 3, "generated", "en-10k", None),
        "files": (20, 3, "en", "en-10k", 20 / 10_000),
        "generated train": (40, 3, "generated", "en-10k", None),
        "generated": (40, 10, "generated", "generated", None),
    }
    folder("babi_3", train=stories(20))
    assert encode("babi_3").statistics["train_source"] == "en-10k"
    with pytest.raises(AttnError, match="bAbI source is 'mine'; known: '', files, generated train, generated"):
        encode("babi_3", source="mine")
    with pytest.raises(AttnError, match="corpus 'babi_3' has no option 'n_train'; known: vocabulary_from, source"):
        encode("babi_3", n_train=5)


def test_without_files_generated_questions_have_to_be_asked_for(monkeypatch, few_generated):
    monkeypatch.delenv("ATTN_DATA", raising=False)
    from attn_core.corpora import official

    def refused(source, folder):
        raise AttnError(f"{source.file} cannot be downloaded from {source.url}: no network")

    monkeypatch.setattr(official, "fetch", refused)
    with pytest.raises(AttnError, match="no data for corpus 'babi_1'.*source='generated'"):
        encode("babi_1")
    assert encode("babi_1", source="generated").statistics["train_source"] == "generated"


@pytest.mark.parametrize("name", TASKS)
def test_generated_questions_have_the_vocabulary_of_the_paper(name):
    tables = generated.babi(int(name[-1]), 300, 50)
    lists = [tokens for table in tables.values() for tokens in (pairs.story_tokens(p) for p in table["passage"])]
    lists += [question.replace("?", "").split() for table in tables.values() for question in table["question"]]
    assert len(text.vocabulary(lists)) == catalogue.corpus(name).expected["vocabulary"]


def test_vectors_of_stories_are_fifty_wide():
    assert {catalogue.corpus(name).vectors for name in TASKS} == {"random-50"}
    rows, fingerprint = vectors("random-50", [*text.SPECIALS, "a", "b"])
    longer, same = vectors("random-50", [*text.SPECIALS, *"abcdefgh"])
    assert rows.shape == (6, 50) and rows.dtype == np.float32 and fingerprint == same
    assert not rows[text.PAD].any() and (rows[1:] != 0).all() and np.array_equal(longer[:6], rows)
    assert fingerprint != vectors("random", text.SPECIALS)[1]


PAIR = {"premise": "Two Men  run.", "hypothesis": "2 people move.", "label": "entailment"}


def test_a_premise_with_its_hypothesis(folder):
    rows = [PAIR, {**PAIR, "label": "neutral"}, {**PAIR, "hypothesis": "Men sleep.", "label": "contradiction"}]
    folder("snli", train=rows, dev=rows, test=[{**PAIR, "premise": "Two dogs run."}])
    encoded = encode("snli")
    # Fewest training texts per word: 3, premises and hypotheses counted alike; 'qqq people move' occur twice.
    assert encoded.vocabulary == (*text.SPECIALS, ".", "men", "run", "two")
    assert encoded.splits["train"].labels.tolist() == [2, 0, 1]
    test = encoded.splits["test"]
    assert words(encoded, test, 0) == "<s> two <unk> run . </s>".split()
    assert words(encoded, test.queries, 0) == "<s> <unk> <unk> <unk> . </s>".split()
    assert encoded.statistics["splits"]["test"]["unknown_query_tokens"] == 3
    assert encoded.statistics["train_share"] == 3 / 549_367
    folder("snli", dev=[{**PAIR, "label": "-"}])
    with pytest.raises(AttnError, match="corpus 'snli', split 'dev': unknown label '-'; known: neutral, contradiction"):
        encode("snli")


def test_possible_answers_and_words_that_have_to_be_known():
    lists, queries = [["@a", "b", "@c"], ["@c", "b"], ["@a"]], [["b"], ["b"], ["b"]]
    answers = [np.array([0, 1]), np.array([1]), np.array([0])]
    texts = prepare.Texts(lists, np.array([0, 1, 1]), np.arange(3), queries, answers)  # the third cannot be answered
    prepared = prepare.Prepared({"train": texts, "test": texts}, classes=("@a", "@c"), entities=("@a", "@c", "@d"))
    encoded = build(catalogue.corpus("cnn"), prepared)
    assert encoded.vocabulary == (*text.SPECIALS, "@a", "@c", "@d")  # no word is in 8 texts
    test = encoded.splits["test"]
    assert test.doc_ids.tolist() == [0, 1] and test.answer_ids.tolist() == [0, 1, 1]
    assert test.allowed(2).tolist() == [[True, True], [False, True]]
    counts = encoded.statistics["splits"]["test"]
    assert (counts["dropped_answer"], counts["mean_answers"], counts["dropped_length"]) == (1, 1.5, 0)


# --- the real sets --------------------------------------------------------------------------------------------------


@needs_data
@pytest.mark.parametrize("name", TASKS)
def test_counts_and_words_of_the_real_stories(name):
    encoded = encode(name)
    assert len(encoded.vocabulary) == catalogue.corpus(name).expected["vocabulary"]
    assert [len(encoded.splits[s]) for s in ("train", "dev", "test")] == [8500, 1500, 1000]
    table, test = read(name, "test"), encoded.splits["test"]
    assert [encoded.statistics["classes"][label] for label in test.labels] == table["answer"].tolist()
    counts = encoded.statistics["splits"]
    mean = sum(counts[s]["tokens"] for s in ("train", "dev")) / 10_000
    if encoded.statistics["train_source"] == "generated":
        assert name == "babi_3"
    else:
        assert mean == {"babi_1": 36.1979, "babi_2": 94.1375}[name]  # the authors' statistics files


@needs_data
def test_the_joint_words_are_those_of_the_three_real_tasks():
    found = set()
    for name in TASKS:
        for split in ("train", "test"):
            table = read(name, split)
            found |= {word for passage in table["passage"] for word in pairs.story_tokens(passage)}
            found |= {word for question in table["question"] for word in question.replace("?", "").split()}
    assert sorted(found) == list(generated.WORDS) and len(generated.WORDS) == 36


@needs_data
def test_counts_of_the_real_pairs():
    entry, encoded = catalogue.corpus("snli"), encode("snli")
    assert tuple(encoded.statistics["splits"]["test"]["per_class"]) == entry.expected["test"]
    assert len(encoded.splits["dev"]) == 9842
    if encoded.statistics["train_share"] == 1:
        assert abs(len(encoded.vocabulary) - entry.expected["vocabulary"]) <= 20  # spaCy's version


def test_shuffled_premises_keep_everything_but_the_pairing(folder):
    rows = [{"premise": "dogs run " * n, "hypothesis": "cats " * n, "label": "neutral"} for n in range(1, 7)]
    folder("snli", train=rows, dev=rows, test=rows)
    own, shuffled = encode("snli").splits["test"], encode("snli", premise="shuffled").splits["test"]
    assert sorted(own.lengths) == sorted(shuffled.lengths) and (own.lengths != shuffled.lengths).all()
    assert shuffled.query_ids.tolist() == own.query_ids.tolist() and shuffled.labels.tolist() == own.labels.tolist()
    with pytest.raises(AttnError, match="premise is 'none'; known: own, shuffled"):
        encode("snli", premise="none")
