"""Catalogue, look-up, cache, and how splits are made."""

from functools import partial

import numpy as np
import pandas
import pytest
from conftest import ROOT, refused
from sklearn.model_selection import train_test_split
from test_official import zipped

from attn_book.scorecard import reported
from attn_lab.data import catalogue, cleaning, encode, files, official, prepare
from attn_lab.data.arrays import build
from attn_lab.data.encoding import PREPARE, identity
from attn_lab.data.prepared import Prepared, Texts
from attn_lab.data.tables import read, read_table

DATA = ROOT / "data"
NO_SET = ("all", "mean of 12", "HipSurgery", "KneeSurgery", "Phenotyping", "mortality", "readmission")
"""What tables in data/reported call a data set and is none: figures over all, side studies of the authors' files."""


# --- catalogue ------------------------------------------------------------------------------------------------------


def test_every_data_set_of_the_reported_tables_resolves():
    tables = [reported(path.name.partition(".")[0]) for path in (DATA / "reported").glob("*.csv*")]
    sets = pandas.concat(tables)[["dataset", "corpus"]].dropna(subset="dataset")
    assert set(sets["corpus"]) <= {*catalogue.CATALOGUE, *NO_SET}


@pytest.mark.parametrize(
    ("table", "name", "corpus"),
    [
        ("serrano_gradient_beats_attention", "imdb", "imdb_stars"),
        ("jain_table1_datasets", "imdb", "imdb"),
        ("wiegreffe_table2_f1_uniform", "20News", "20news"),
    ],
)
def test_reported_names_depend_on_the_paper(table, name, corpus):
    assert set(reported(table, dataset=name)["corpus"]) == {corpus}


# --- look-up and cache ----------------------------------------------------------------------------------------------


@pytest.fixture
def sst_data(tables):
    """A small SST in the form of $ATTN_DATA: sentences of 4 to 11 words."""
    words = [f"Word{letter}" for letter in "abcdefgh"] * 4
    return tables(
        "sst",
        **{
            split: {
                "label": [0, 1] * 8,
                "text": [" ".join(words[(i + k) % 8 :][: 4 + i % 8]) for i in range(16)],
            }
            for split, k in (("train", 0), ("dev", 3), ("test", 5))
        },
    )


def test_the_archives_arrays_are_cached_and_need_neither_data_nor_tokenizer_again(sst_data, monkeypatch):
    monkeypatch.setitem(catalogue.FINGERPRINTS, encode("sst").fingerprint, "sst")
    files.cache_folder().rename(files.cache_folder().with_name("before it was known"))
    first = encode("sst")
    monkeypatch.delenv("ATTN_DATA")
    monkeypatch.setattr(cleaning, "clean_sst", lambda _: pytest.fail("tokenized again"))
    again = encode("sst")
    assert again.fingerprint == first.fingerprint
    assert again.statistics == first.statistics
    assert again.splits["test"].ids.dtype == np.int32


def test_own_data_are_taken_while_they_are_named_and_never_after(sst_data, monkeypatch, offer):
    """The same command without ATTN_DATA: refused by name without a download, else of the official texts."""
    own = encode("sst").fingerprint
    assert identity("sst", ()) == own
    monkeypatch.delenv("ATTN_DATA")
    assert identity("sst", ()) is identity("imdb", ()) is None
    with refused("no data for corpus 'sst'"), monkeypatch.context() as context:
        context.setattr(official, "fetch", lambda *_: (_ for _ in ()).throw(OSError("no network")))
        encode("sst")
    trees = "".join(f"({k} (2 so) {'(2 fine) ' * n}(2 film))\n" for n in range(3, 12) for k in (0, 4))
    offer("sst", zipped({f"trees/{split}.txt": trees for split in ("train", "dev", "test")}))
    downloaded = encode("sst")
    assert {"so", "fine", "film"} < set(downloaded.vocabulary)
    assert identity("sst", ()) == downloaded.fingerprint != own
    monkeypatch.setenv("ATTN_DATA", str(sst_data.parent))
    monkeypatch.setattr(cleaning, "clean_sst", lambda _: pytest.fail("encoded again"))
    assert encode("sst").fingerprint == identity("sst", ()) == own, "both lie in the cache"


def test_without_a_writable_cache_the_data_still_serve(sst_data, monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path / "file" / "cache"))
    assert len(encode("sst").splits["train"]) == 10
    warned = capsys.readouterr().err.splitlines()
    assert len(warned) == 1
    assert "cannot be written" in warned[0]


# --- the user's own tables ------------------------------------------------------------------------------------------


def test_vocabulary_from_all_splits_is_a_set_of_its_own(sst_data, tables):
    tables("sst", test={"text": ["unheard " * n for n in (6, 7, 7, 8)], "label": [0, 1, 0, 1]})
    train, everything = encode("sst"), encode("sst", vocabulary_from="all")
    assert set(everything.vocabulary) - set(train.vocabulary) == {"unheard"}
    assert train.statistics["vocabulary_all_splits"] == len(everything.vocabulary)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: read("planted", "train"), "is generated and has no tables"),
        (lambda: read("sst", "validation"), "has no split 'validation'; it has train, dev, test"),
        (lambda: encode("sst", vocabulary_from="dev"), "vocabulary_from is 'dev'; known: 'train', 'all'"),
        (lambda: encode("sst", n_train=5), "has no option 'n_train'; known: vocabulary_from"),
        (lambda: encode("yelp", vocabulary_from="all"), "has no option 'vocabulary_from'; known: none"),
    ],
)
def test_wrong_calls_are_one_clear_line(call, message):
    with refused(message):
        call()


@pytest.mark.parametrize("index", [[5, 0, 5], ["x", "y", "z"], "text"], ids=str)
def test_an_index_of_a_parquet_file_is_a_column_like_others(tmp_path, index):
    rows = [["0001", "01"], ['say "so" twice', "1"], ["plain", "2"]]
    table = pandas.DataFrame(rows, columns=["text", "label"])
    table = table.set_index(index) if index == "text" else table.set_axis(index)
    table.to_parquet(tmp_path / "a.parquet")
    found = read_table(tmp_path / "a.parquet", ("text", "label"))
    assert found[["text", "label"]].values.tolist() == rows
    assert found.index.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [0, 1, 1]}, r"different lengths: \[2, 3\]"),
        ({"lists": [["a"], "b"]}, "the text of row 9 is no list of words"),
        ({"lists": [["a"], [7]]}, "the text of row 9 is no list of words"),
    ],
)
def test_what_a_function_of_the_users_returns_is_checked(change, message):
    sound = Texts([["a"], ["b"]], [0, 1], [8, 9])
    splits = {"train": sound._replace(**change), "dev": sound, "test": sound}
    with refused(message):
        build(catalogue.corpus("planted"), Prepared(splits))
    with refused("has the splits train, test; train, dev and test are needed"):
        build(catalogue.corpus("planted"), Prepared({"train": sound, "test": sound}))


def test_dev_is_drawn_from_train_with_the_authors_seed():
    texts = Texts([[str(i)] for i in range(20)], np.arange(20), np.arange(20) + 100)
    splits = prepare.with_dev({"train": texts, "test": texts})
    assert splits["dev"].doc_ids.tolist() == [117, 104, 111]
    assert sorted([*splits["train"].labels, *splits["dev"].labels]) == list(range(20))
    assert splits["dev"].lists == [["17"], ["4"], ["11"]]
    assert splits["test"] is texts


def test_imdb_without_the_authors_selection_draws_by_their_rule(tables):
    """Of 60 reviews of 5 to 64 words, and ten of 400; in test the word 'new' stands before each word of training."""

    def write(**chosen):
        for split, word in (("train", "Old, "), ("test", "new old ")):
            texts = [word * n for n in (*range(5, 65), *[400] * 10)]
            more = {"jw_split": chosen[split]} if chosen else {}
            tables("imdb", **{split: {"text": texts, "label": [0, 1] * 35, **more}})

    write()
    made = PREPARE["imdb"]().splits
    rows = {split: texts.doc_ids.tolist() for split, texts in made.items()}
    drawn = partial(train_test_split, range(60), random_state=1378)  # their seed, in both parts
    assert [rows["train"], rows["dev"]] == drawn(test_size=0.2)
    assert rows["test"] == drawn(test_size=0.8)[0]
    for split, texts in made.items():
        assert texts.lists == [["old"] * (5 + i) for i in rows[split]]
        assert texts.labels.tolist() == [i % 2 for i in rows[split]]
    chosen = np.full(70, "", object)
    chosen[[3, 65]] = "test"  # the second is too long
    write(train=["dev"] * 7 + [""] * 13 + ["train"] * 50, test=chosen)
    made = PREPARE["imdb"]().splits.values()
    assert [texts.doc_ids.tolist() for texts in made] == [list(range(20, 60)), list(range(7)), [3]]


def test_the_data_page_names_every_corpus_with_its_licence():
    page = (DATA / "README.md").read_text()
    for entry in catalogue.CATALOGUE.values():
        assert f"`{entry.name}`" in page
        assert entry.name.endswith("_all") or entry.licence in page, entry.name
        assert all(catalogue.SOURCES[source].file in page for source in entry.sources)


def test_composed_and_decomposed_letters_are_the_same_words():
    for clean in (cleaning.clean_sst, cleaning.clean_typed, cleaning.clean_plain, cleaning.clean_keras):
        assert clean("a nai\u0308ve cafe\u0301") == clean("a naïve café") == ["a", "naïve", "café"]
    assert cleaning.clean_sst("x\u0302 y") == cleaning.clean_typed("x\u0302 y") == ["x\u0302", "y"]
