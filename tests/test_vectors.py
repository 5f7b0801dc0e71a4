"""Word vectors: text files, the random recipe, training and its cache."""

import gzip
import hashlib
import sys

import numpy as np
import pytest
from conftest import refused

from attn_core.documents import END, PAD, SPECIALS, START
from attn_lab.data import encode, files
from attn_lab.data import vectors as module
from attn_lab.data.catalogue import RECIPES, VECTORS
from attn_lab.data.vectors import vectors
from attn_lab.runs.run import Run

WIDTH = 300
WORDS = (*SPECIALS, "bad", "good", "unheard")


def line(word, value, width=WIDTH):
    return " ".join([word, *[f"{value + i / 1000:.3f}" for i in range(width)]])


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (line("far", 1, 299), "299 numbers, expected 300"),
        ("", "0 numbers, expected 300"),
        (line("good", 1).replace("1.005", "nan"), "the vector of 'good' holds NaN"),
        (line("good", 1).replace("1.005", "1,0"), "could not convert"),
    ],
)
def test_a_bad_line_is_named(tmp_path, bad, message):
    path = write(tmp_path / "v.txt", line("bad", 0), bad, line("unheard", 0))
    with refused(f"line 2: {message}") as caught:
        vectors(str(path), WORDS)
    assert str(path) in str(caught.value)


def test_a_file_without_numbers_is_refused(tmp_path):
    for first in ("the", "7 99999999999"):
        with refused("line 1: .* expected a word and its vector"):
            vectors(str(write(tmp_path / "v.txt", first)), WORDS)


GLOVE = "\ufeffgood 1 2 3\nbad 4 5 6\n  7 8 9\n. . . 7 8 9\ngood 0 0 9\n"
"""Behind a byte order mark; the third word is a blank, the last a repetition."""


@pytest.mark.parametrize(
    "lines", [GLOVE, GLOVE.replace("\ufeff", "\ufeff4 3\n"), "\ufeff  7 8 9\n" + GLOVE[1:]]
)
@pytest.mark.parametrize("ending", ["txt", "txt.gz"])
def test_marks_and_blanks_lose_no_word_and_the_coverage_is_said(tmp_path, capsys, lines, ending):
    path, data = tmp_path / f"v.{ending}", lines.encode()
    path.write_bytes(gzip.compress(data) if ending == "txt.gz" else data)
    rows, fingerprint = vectors(str(path), WORDS)
    assert fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()
    assert rows.tolist() == [[0] * 3] * 4 + [[4, 5, 6], [1, 2, 3], [0] * 3]
    (told,) = capsys.readouterr().err.splitlines()
    assert str(path) in told
    assert "2 of 3 words" in told


def test_a_truncated_gz_is_one_error(tmp_path):
    path = tmp_path / "v.txt.gz"
    path.write_bytes(gzip.compress("".join(f"w{i} {i * 37 % 101} 2\n" for i in range(999)).encode())[:-50])
    with refused("v.txt.gz cannot be read"):
        vectors(str(path), WORDS)


def test_a_file_that_covers_no_word_is_refused_and_a_recipe_that_covers_none_is_said(
    tmp_path, monkeypatch, capsys
):
    path = write(tmp_path / "v.txt", "Gut 1 2", "GOOD 3 4")
    with refused("no vector of the vocabulary's 3 words"):
        vectors(str(path), WORDS)
    about = {"words": ["gut"], "fingerprint": "of another language"}
    monkeypatch.setattr(module, "of_recipe", lambda _: (about, {"rows": np.ones((1, 300), np.float32)}))
    assert not vectors("ppmi-300", WORDS)[0].any()
    assert "start from zeros" in capsys.readouterr().err


def test_random_rows_depend_on_their_number_alone():
    small, fingerprint = vectors("random", WORDS)
    large, same = vectors("random", (*SPECIALS, *(f"w{i}" for i in range(2000))))
    assert fingerprint == same
    np.testing.assert_array_equal(small, large[:7])
    assert large.any(axis=1).tolist() == [False] + [True] * 2003
    np.testing.assert_allclose([large[1:].mean(), large[1:].std()], [0, 1], atol=0.01)


TEXTS = [["good", "fine", "film"], ["bad", "poor", "film"], ["good", "film", "once"]] * 40 + [["rare"]]
QUICK = {**VECTORS["indomain-300"], "epochs": 2, "bucket": 500, "sample": 0}


@pytest.fixture
def trained(monkeypatch):
    """'indomain-300' on three short texts instead of 53,000; the texts and parameters of each training."""
    calls, plain = [], module.train
    monkeypatch.setattr(module, "training_texts", lambda: TEXTS)
    monkeypatch.setattr(module, "train", lambda *given: calls.append(given) or plain(*given))
    monkeypatch.setitem(VECTORS, "indomain-300", QUICK)
    return calls


def test_indomain_is_trained_once_then_read_and_repeats_bit_by_bit(trained, monkeypatch, tmp_path, capsys):
    words = (*SPECIALS, "good", "fine", "film", "bad", "poor", "once", "rare")  # "rare" is below min_count
    rows, fingerprint = vectors("indomain-300", words)
    assert rows.shape == (11, WIDTH)
    assert np.isfinite(rows).all()
    assert rows.any(axis=1).tolist() == [False] * 4 + [True] * 6 + [False]
    assert "word vectors: 100%" in capsys.readouterr().err
    again, same = vectors("indomain-300", words[::-1])
    np.testing.assert_array_equal(rows, again[::-1])
    assert same == fingerprint
    assert len(trained) == 1
    fingerprints = set()
    for given in ((TEXTS, QUICK), (TEXTS[1:], QUICK), (TEXTS, QUICK | {"window": 4})):
        monkeypatch.setenv("ATTN_CACHE", str(tmp_path / str(len(trained))))
        monkeypatch.setattr(module, "training_texts", lambda given=given: given[0])
        monkeypatch.setitem(VECTORS, "indomain-300", given[1])
        other, told = vectors("indomain-300", words)
        assert trained[-1] == given
        assert np.array_equal(rows, other) == (told == fingerprint)
        fingerprints.add(told)
    assert len(fingerprints | {fingerprint}) == 3


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("indomain-300", "cannot be trained on these 1 texts"),
        ("ppmi-300", "need more than 300 words seen 2 times, these 1 texts have 0"),
    ],
)
def test_texts_without_a_repeated_word_are_one_error(monkeypatch, name, told):
    monkeypatch.setattr(module, "training_texts", lambda: [["a", "b"]])
    with refused(told):
        vectors(name, WORDS)


def test_vectors_that_gensim_trains_name_their_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    with refused(r"'indomain-300' need gensim; install it with: pip install \"attn-core\[vectors\]\"$"):
        vectors("indomain-300", WORDS)


def test_vectors_of_own_texts_lie_apart_and_are_not_taken_for_the_official_ones(trained, tables, monkeypatch):
    official = vectors("indomain-300", WORDS)[1]
    table = {"text": ["my own"], "label": [0]}
    tables("sst", train=table, dev=table, test=table)
    for times in (2, 2):
        vectors("indomain-300", WORDS)
        assert len(trained) == times
    monkeypatch.delenv("ATTN_DATA")
    assert vectors("indomain-300", WORDS)[1] == official
    assert len(trained) == 2
    assert len(list((files.cache_folder() / "vectors").glob("indomain-300*.npz"))) == 2


def test_the_name_of_a_recipe_never_means_a_file(tmp_path, monkeypatch):
    keys = {name: Run("sst", vectors=name).key for name in RECIPES}
    monkeypatch.chdir(tmp_path)
    for name in RECIPES:
        (tmp_path / name).write_text("a 1 2 3\n")
        assert Run("sst", vectors=name).key == keys[name]
    assert vectors("random-50", WORDS)[0].shape == (len(WORDS), 50)


# --- word2vec on a data set's own texts -------------------------------------------------------------------------------


REVIEWS = ["good food here. very good", "bad food! very bad", "good and bad"] * 20 + ["rare. food"]


@pytest.fixture
def reviews(tables):
    """Writes a small 'yelp' and takes its words; 'rare' is met once."""

    def write(texts):
        table = {"text": texts, "label": np.arange(len(texts)) % 5}
        tables("yelp_review_full_sample", train=table, test=table)
        return encode("yelp").vocabulary

    return write


def test_own_vectors_have_unit_rows_and_are_trained_anew_on_other_texts(reviews):
    words = reviews(REVIEWS)
    rows, fingerprint = vectors("yelp-200", words)
    empty = np.isin(np.arange(len(words)), [PAD, START, END])  # <unk> has a vector
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), np.where(empty, 0, 1), rtol=1e-6)
    assert "rare" not in words
    reordered, same = vectors("yelp-200", (*SPECIALS, "unheard", "good"))
    assert same == fingerprint
    np.testing.assert_array_equal(reordered[4:], [np.zeros(200), rows[words.index("good")]])
    assert vectors("yelp-200", reviews([text.replace("here", "there") for text in REVIEWS]))[1] != fingerprint


def test_vectors_by_counting_span_their_table():
    """Neighbours count 1, the next but one 4/5; rows' products are those of the positive information, scale and all."""
    texts = [["a", "b", "c"]]
    parameters = VECTORS["ppmi-300"] | {"vector_size": 2, "min_count": 1, "passes": 7}
    words, rows, _ = module.count(texts, parameters)
    assert words == ["a", "b", "c"]
    assert rows.dtype == np.float32
    met = np.array([[0, 1, 0.8], [1, 0, 1], [0.8, 1, 0]])
    contexts = met.sum(1) ** 0.75
    with np.errstate(divide="ignore"):
        information = np.log(met * contexts.sum() / np.outer(met.sum(1), contexts))
    left, size, _ = np.linalg.svd(np.maximum(information, 0))
    expected = (left[:, :2] * size[:2]) @ left[:, :2].T  # signs of single columns are free, products are not
    found = rows @ rows.T
    np.testing.assert_allclose(found / np.trace(found), expected / np.trace(expected), atol=1e-4)
    assert np.sqrt(np.mean(np.square(rows))) == pytest.approx(0.3)
    small = module.count(texts, parameters | {"rms": VECTORS["ppmi-300-small"]["rms"]})[1]
    np.testing.assert_allclose(small, rows * (0.19 / 0.3), rtol=1e-5)  # the control differs in scale alone
    np.testing.assert_array_equal(module.count(texts, parameters)[1], rows)
