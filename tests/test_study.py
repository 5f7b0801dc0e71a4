"""A reader's own texts: read from every form of table, cleaned, trained on, and put to the tests of the book."""

import gzip
import json
import re
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import attn_core
from attn_build.running import execute
from attn_cli import app
from attn_cli.pages import outputs
from attn_core import families
from attn_core.corpora.files import cache_folder
from attn_core.corpora.text import SEP
from attn_core.errors import AttnError
from attn_core.models.encoders import Average
from attn_data import pieces
from attn_data.tables import encoding_of
from attn_study.numbers import mean_interval


from attn_study.study import words_of
from attn_study.texts import cleaned, parts

REST = ["cast", "music", "light", "end", "sound", "plot", "scene", "actor", "hero", "song", "joke", "night", "city"]
WORDS = {"bad": ("dull", "weak", "cold"), "good": ("superb", "warm", "funny")}


def films(n: int = 200, words: dict = WORDS, length: int = 6, seed: int = 0) -> pd.DataFrame:
    """Made-up reviews of which one word tells the label; no two are equal."""
    rng = np.random.default_rng(seed)
    label = np.array(list(words))[np.arange(n) % len(words)]
    texts = [
        f"the {rng.choice(['film', 'play'])} was {rng.choice(words[name])} with {' '.join(rng.choice(REST, length))}"
        for name in label
    ]
    table = pd.DataFrame({"text": texts, "label": label})
    return table.assign(text=table["text"] + [f" x{i}" for i in range(n)])


def write(table: pd.DataFrame, path: Path) -> Path:
    """A table in the form that the ending names."""
    plain = path.with_name(path.name.removesuffix(".gz"))
    form = plain.suffix.lower()
    if form == ".parquet":
        table.to_parquet(plain)
    elif form == ".feather":
        table.to_feather(plain)
    elif form in (".json", ".jsonl"):
        table.to_json(plain, orient="records", lines=form == ".jsonl", force_ascii=False)
    else:
        table.to_csv(plain, index=False, sep="\t" if form == ".tsv" else ",", encoding="utf-8")
    if path != plain:
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    return path


def outcome(table: pd.DataFrame | Path, **options) -> object:
    """Texts, labels, splits and what was left out; of a refusal its words behind the file's name."""
    try:
        texts = cleaned(table, **options)
    except AttnError as error:
        assert "\n" not in str(error)
        return re.sub(r"^(\S*/\S+?|the table):? ", "", str(error))
    return texts.rows.to_dict("tight"), texts.classes, texts.faults


# ---- the public faults, as the cases of them have it -----------------------------------------------------------------

BASE = films(60)


def numbered(path: Path, index, **columns) -> Path:
    BASE.assign(**columns).set_axis(index).to_parquet(path)
    return path


def text_file(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def packed(path: Path) -> Path:
    """A zip with tables, as workbooks are."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("xl/workbook.xml", lines(BASE, ","))
    return path


def database(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as file:
        BASE.to_sql("texts", file, index=False)
    return path


def lines(table: pd.DataFrame, separator: str) -> str:
    return "\n".join([separator.join(table), *(separator.join(row) for row in table.to_numpy())]) + "\n"


SAME = {
    "an index of numbers that come twice": lambda f: numbered(f / "a.parquet", [i % 7 for i in range(60)]),
    "an index of names": lambda f: numbered(f / "a.parquet", pd.Index([f"doc-{i}" for i in range(60)], name="id")),
    "blanks around labels": lambda f: numbered(f / "a.parquet", range(60), label=BASE["label"] + "  "),
    "a category": lambda f: numbered(f / "a.parquet", range(60), label=BASE["label"].astype("category")),
    "an ending in capitals": lambda f: write(BASE, f / "A.CSV"),
    "columns in other case": lambda f: write(BASE.rename(columns={"text": " Text", "label": "LABEL"}), f / "a.csv"),
    "semicolons": lambda f: text_file(f / "a.csv", lines(BASE, ";")),
    "bars": lambda f: text_file(f / "a.csv", lines(BASE, "|")),
    "tabs in a .csv": lambda f: text_file(f / "a.csv", lines(BASE, "\t")),
    "a mark of byte order": lambda f: text_file(f / "a.csv", lines(BASE, ","), "utf-8-sig"),
    "UTF-16": lambda f: text_file(f / "a.csv", lines(BASE, ","), "utf-16"),
    "UTF-16 without mark": lambda f: text_file(f / "a.csv", lines(BASE, ","), "utf-16-le"),
    "all values in quotation marks": lambda f: text_file(
        f / "a.tsv", lines(BASE, '"\t"').replace("\n", '"\n"')[:-1].join(['"', ""])
    ),
    "JSON by columns": lambda f: text_file(f / "a.json", BASE.to_json()),
    "an empty line first": lambda f: text_file(f / "a.csv", "\n" + lines(BASE, ",")),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_values_in_another_form_are_the_same_texts(tmp_path, name):
    assert outcome(SAME[name](tmp_path)) == outcome(write(BASE, tmp_path / "base.csv"))


@pytest.mark.parametrize(
    "ending", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".feather", ".jsonl.gz", ".parquet.gz"]
)
def test_values_are_as_written_in_every_form(tmp_path, ending):
    labels = np.array(["01", "1", "2"])[np.arange(60) % 3]
    table = pd.DataFrame({"text": [f"{i:04}" for i in range(60)], "label": labels})
    texts = cleaned(write(table, tmp_path / f"a{ending}"))
    assert texts.classes == ["01", "1", "2"] and texts.rows["text"].tolist() == table["text"].tolist()


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".feather"])
@pytest.mark.parametrize("label", [1, 1.5, True], ids=str)
def test_numbers_and_truth_values_are_labels_as_a_csv_has_them(tmp_path, ending, label):
    kind = type(label)
    table = BASE.assign(label=[kind(i % 2) if kind is not float else label * (i % 2) for i in range(60)])
    expected = outcome(write(table, tmp_path / "a.csv"))
    found = outcome(write(table, tmp_path / f"b{ending}"))
    assert found == expected and not isinstance(found, str)


def test_a_quotation_mark_in_a_tsv_is_text(tmp_path):
    table = BASE.copy()
    table.loc[3, "text"] = '"' + table.loc[3, "text"]
    table.loc[7, "text"] += '"'
    assert outcome(text_file(tmp_path / "a.tsv", lines(table, "\t"))) == outcome(table)
    written = table.assign(text=table["text"] + ' and "so"')
    assert outcome(write(written, tmp_path / "b.tsv")) == outcome(written)


def test_a_zero_byte_makes_no_file_utf_16(tmp_path):
    text = lines(BASE, ",").replace("the ", "the\0 ", 1)
    assert outcome(text_file(tmp_path / "a.csv", text))[0]["data"][1] == outcome(BASE)[0]["data"][1]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["text,label\nдобрый фильм,1\n", "текст;метка\nдобрый фильм;1\nдолгий фильм;0\n"])
def test_short_files_of_utf_16_without_its_mark_are_read(tmp_path, text, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode(encoding))
    assert encoding_of(path) == encoding


def test_a_table_without_heads_shows_no_more_of_its_texts_than_their_beginning(tmp_path):
    path = text_file(tmp_path / "a.csv", "a secret " * 1_000 + ",good\n")
    with pytest.raises(AttnError, match="lacks the column 'text'; it holds a secret") as error:
        cleaned(path)
    assert len(str(error.value)) < len(str(path)) + 300


def test_a_list_is_no_table():
    with pytest.raises(AttnError, match="a table is a DataFrame, or a file of one, and no list"):
        cleaned(["a text"])


def test_a_broken_record_of_json_lines_is_named(tmp_path):
    rows = [json.dumps(row) for row in BASE.to_dict("records")]
    rows[6] = rows[6][:-3]
    assert "line 7, column" in outcome(text_file(tmp_path / "a.jsonl", "\n".join(rows)))


REFUSED = {
    "two columns of one name": (lambda f: text_file(f / "a.csv", "text,text,label\na,b,c\n"), "two columns 'text'"),
    "lists": (lambda f: numbered(f / "a.parquet", range(60), label=[["joy", "love"]] * 60), "'label' holds lists"),
    "mappings": (lambda f: numbered(f / "a.parquet", range(60), text=[{"a": 1}] * 60), "'text' holds lists"),
    "a name twice in JSON": (
        lambda f: text_file(f / "a.jsonl", '{"text": "a", "text": "b"}\n'),
        "two values of one name",
    ),
    "a workbook": (lambda f: packed(f / "a.csv"), "no text but a workbook"),
    "Parquet": (lambda f: numbered(f / "a.parquet", range(60)).rename(f / "a.csv"), "no text but a workbook"),
    "a database": (lambda f: database(f / "a.csv"), "no text but a workbook"),
    "lists without end": (lambda f: text_file(f / "a.json", "[" * 100_000), "RecursionError"),
    "half of the bytes": (lambda f: text_file(f / "a.csv", "text,label\nпривет мир,да\n" * 40, "cp1251"), "no UTF-8"),
    "no column": (lambda f: write(BASE.rename(columns={"text": "review"}), f / "a.csv"), "lacks the column 'text'; it"),
    "no file": (lambda f: f / "none.csv", "no such file"),
    "a form that is none": (lambda f: text_file(f / "a.txt", lines(BASE, ",")), "none of .parquet"),
    "few": (lambda f: write(BASE.head(40), f / "a.csv"), "holds 40 texts; at least 50"),
    "one class": (lambda f: write(BASE.assign(label="good"), f / "a.csv"), "has 1 classes"),
    "numbers for classes": (lambda f: write(BASE.assign(label=range(60)), f / "a.csv"), "has 60 classes"),
    "splits": (
        lambda f: write(BASE.assign(split="train"), f / "a.csv"),
        "must hold train, dev and test; it holds train",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_will_not_do_is_refused_in_a_line(tmp_path, name):
    make, message = REFUSED[name]
    with pytest.raises(AttnError, match=re.escape(message)) as error:
        cleaned(make(tmp_path))
    assert "\n" not in str(error.value)


# ---- cleaning --------------------------------------------------------------------------------------------------------


def untidy() -> pd.DataFrame:
    """Two rows without text, one without label, three repeated, one of a rare class."""
    rows = films(120)
    rows.loc[[3, 5], "text"] = [" ", None]
    rows.loc[8, "label"] = None
    rows.loc[9, "label"] = "odd"
    again = rows.loc[[20, 21, 22]].assign(text=rows["text"].str.upper() + " ")
    return pd.concat([rows, again], ignore_index=True)


def test_what_is_left_out_is_counted_and_strict_refuses_it(tmp_path):
    texts = cleaned(untidy())
    assert texts.faults == ["3 empty", "3 duplicates", "1 of rare classes"] and len(texts.rows) == 116
    assert str(texts).startswith(
        "116 texts; 3 empty, 3 duplicates, 1 of rare classes dropped; classes bad 51 : good 49 %; split train 69"
    )
    with pytest.raises(AttnError, match="row 4 is the first of 3 empty"):
        cleaned(untidy(), strict=True)
    text_file(
        tmp_path / "a.csv",
        lines(films(60).replace("the film", "der Filmgrößenverhältnis ü", regex=True), ";"),
        "cp1252",
    )
    assert str(cleaned(tmp_path / "a.csv", strict=True)).endswith("read as cp1252, parted by ;")


DOUBTS = {
    "capitals": (lambda label: label.where(label.index % 3 > 0, label.str.upper()), "two spellings: BAD GOOD bad good"),
    "numbers": (
        lambda label: label.map({"bad": "0", "good": "1"}).where(label.index > 9, "1.0"),
        "two spellings: 1 1.0",
    ),
    "joined": (lambda label: label.where(label.index % 4 > 0, "bad|good"), "of several joined: bad|good"),
    "fractions": (lambda label: label.map({"bad": "0.5", "good": "1"}), "that are fractions: 0.5"),
}


@pytest.mark.parametrize("kind", DOUBTS)
def test_classes_that_may_be_meant_otherwise_are_said_and_strict_refuses_them(kind):
    change, told = DOUBTS[kind]
    table = films(120)
    table["label"] = change(table["label"])
    assert told in str(cleaned(table))
    with pytest.raises(AttnError, match=re.escape(told)):
        cleaned(table, strict=True)


def test_a_class_that_no_model_learns_and_one_of_a_small_share_are_said():
    table = films(1_200).assign(split=["test" if i < 300 else "train" for i in range(1_200)])
    table.loc[:4, "label"] = "odd"
    texts = cleaned(table)
    assert texts.notes == ["classes that train does not hold: odd"]
    assert "odd < 1 %" in str(texts)


def test_what_the_texts_are_is_said():
    table = pd.DataFrame({"text": [f"a b {i}" for i in range(100)], "label": ["x", "y"] * 50})
    table["split"] = ["train"] * 40 + ["dev"] * 30 + ["test"] * 30
    texts = cleaned(table)
    words_of(texts)
    assert texts.notes == ["3.0 words a text, 33% of those of test are not in train"]


@pytest.mark.parametrize("words", [["这部电影", "很", "好看"], ["หนัง", "เรื่อง", "นี้"]])
def test_texts_without_blanks_are_told_and_cut_by_the_readers_tokenizer(words):
    table = films(60)
    table["text"] = ["".join([*words, f"{i}分"]) for i in range(60)]
    texts = cleaned(table)
    words_of(texts)
    assert "no blanks between words" in texts.notes[-1]
    texts = cleaned(table)
    assert words_of(texts, lambda text: [*words, text[-3:]])[1][:3] == words
    assert len(texts.notes) == 1
    with pytest.raises(AttnError, match="row 1 has no words"):
        words_of(texts, lambda text: [])


def test_texts_that_are_equal_as_far_as_they_are_read_are_told():
    table = films(100)
    table.loc[[0, 99], "text"] = ["so " * 400 + end for end in ("good", "bad")]
    texts = cleaned(table.assign(split=["train"] * 50 + ["test"] * 50))
    words_of(texts)
    assert texts.notes[-1] == "2 equal in the words that are read, in two splits"


def test_a_run_of_one_sign_is_cut_before_it_is_tokenized():
    table = films(60)
    table.loc[0, "text"] = "!" * 30_000
    assert len(words_of(cleaned(table))[1]) <= 200


def test_equal_texts_stay_in_one_split_whatever_their_case_blanks_and_form():
    rows = films(100)
    rows.loc[50:79, "text"] = rows.loc[0:29, "text"].str.upper().str.replace(" ", "\u00a0 ").to_numpy() + " cafe\u0301"
    rows.loc[0:29, "text"] += " café"
    rows.loc[50:79, "label"] = rows.loc[0:29, "label"].map({"good": "bad", "bad": "good"}).to_numpy()
    texts = cleaned(rows)
    assert not texts.faults
    splits = texts.rows["split"]
    assert (splits.loc[1:30].to_numpy() == splits.loc[51:80].to_numpy()).all()
    assert splits.value_counts().to_dict() == pytest.approx({"train": 60, "dev": 20, "test": 20}, abs=6)

    rows["Split"] = np.array(["Train", "Validation", "TEST"])[np.arange(100) % 3]
    texts = cleaned(rows)
    same = texts.rows["text"].str.lower().str.split().str.join(" ")
    assert "in two splits" in texts.faults[0] and texts.rows.groupby(same)["split"].nunique().max() == 1
    assert set(texts.rows["split"]) == {"train", "dev", "test"}


def test_a_split_is_drawn_by_class_and_a_user_s_gains_a_dev(tmp_path):
    sizes = cleaned(films()).rows.groupby(["split", "label"]).size().unstack()
    assert sizes.loc["train"].tolist() == [60, 60] and sizes.loc["dev"].tolist() == sizes.loc["test"].tolist() == [
        20,
        20,
    ]
    given_split = films().assign(split=["test" if i < 60 else "train" for i in range(200)])
    rows = cleaned(given_split).rows
    assert (rows.loc[1:60, "split"] == "test").all() and rows["split"].value_counts()["dev"] == 28
    large = cleaned(films(12_000, length=9)).rows["split"].value_counts()
    assert large["test"] == pytest.approx(1_000, abs=2) and large["dev"] == pytest.approx(1_000, abs=2)


def test_parts_are_each_tested_once_and_others_are_refused():
    texts = cleaned(films(), fold=5)
    tested = [parts(texts, i) for i in range(5)]
    assert sorted(np.concatenate([split["test"].index for split in tested])) == list(range(1, 201))
    for split in tested:
        assert [len(split[name]) for name in ("train", "dev", "test")] == [120, 40, 40]
        assert not set(split["train"].index) & set(split["test"].index)
    for fold in (1, 2, 11, -1):
        with pytest.raises(AttnError, match="3 to 10 parts, each tested once"):
            cleaned(films(), fold=fold)
    with pytest.raises(AttnError, match="a split of its own"):
        cleaned(films().assign(split="train"), fold=5)


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), exclude_characters='"'), max_size=12)
FORMS = ("a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet", "a.feather", "a.csv.gz", "B.JSONL")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(TEXT, min_size=3, max_size=12),
    labels=st.lists(st.sampled_from(["01", "1", " b", "b", "", "NA", "é"]), min_size=2, max_size=6),
    quoted=st.booleans(),
    split=st.lists(st.sampled_from(["train", "Dev", "TEST"]), max_size=4),
    count=st.sampled_from([40, 90]),
)
def test_any_table_ends_the_same_in_every_form(tmp_path, texts, labels, quoted, split, count):
    """Texts of any letters, with quotation marks in the middle; a few repeat, labels may be missing or rare."""
    rows = range(count)
    mark = '"' if quoted else ""
    table = pd.DataFrame(
        {
            "text": [
                f"{texts[i % len(texts)]} {mark}so{mark} {i // 2}" if i % 11 else texts[i % len(texts)] for i in rows
            ],
            "label": [labels[i % len(labels)] for i in rows],
        }
    )
    if split:
        table["Split"] = [split[i % len(split)] for i in rows]
    expected = outcome(table)
    for name in FORMS:
        assert outcome(write(table, tmp_path / name)) == expected, name


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_an_interval_is_over_texts_and_seeds_and_never_nothing():
    values = np.array([[0.0, 1, 1, 1], [0, 0, 1, 1], [1, 1, 1, 1]])
    value, low, high, texts = mean_interval(values)
    assert value == pytest.approx(0.75) and 0 <= low < 0.5 and high == 1 and texts == 4
    assert mean_interval(np.full((3, 40), np.nan))[3] == 0
    assert ends(1.0, np.ones(9), 60) == (0.95, 1.0) and ends(0.0, np.zeros(9), 60, -1.0) == (-0.05, 0.05)
    gaps = np.where(np.isnan(values), np.nan, values)
    gaps[:, 0] = np.nan
    assert mean_interval(gaps)[0] == pytest.approx(8 / 9) and mean_interval(gaps)[3] == 3


def test_a_top_word_drawn_at_random_is_not_told_from_chance():
    """Twelve texts of twenty words, none hit by any seed: by chance in 54 of 100 studies."""
    seed = pd.DataFrame({"top word": np.zeros(13), "top word by chance": np.full(13, 0.05)})
    seed.loc[12] = np.nan  # of one word
    rows = top_words([seed] * 3)
    assert rows["top word"][0] == 0
    assert rows["top word"][3] == 12
    value, low, high, _ = rows["top word beyond chance"]
    assert value == pytest.approx(-0.05)
    assert low <= 0 <= high
    assert top_words([seed.assign(**{"top word": 1.0})] * 3)["top word beyond chance"][1] > 0.6


@pytest.mark.parametrize("classes", [2, 4])
def test_scores_are_those_of_scikit_learn(classes):
    from sklearn.metrics import f1_score, roc_auc_score

    rng = np.random.default_rng(classes)
    label = rng.integers(classes, size=80)
    outputs = rng.dirichlet(np.ones(classes), 80).round(2) + 1e-9
    outputs /= outputs.sum(axis=1, keepdims=True)
    assert macro_f1(label, outputs) == pytest.approx(f1_score(label, outputs.argmax(1), average="macro"))
    judged = outputs if classes > 2 else outputs[:, 1]
    assert auc(label, outputs) == pytest.approx(roc_auc_score(label, judged, multi_class="ovr"))
    assert np.isnan(auc(np.zeros(5, int), np.ones((5, 2))))


def test_a_verdict_asks_the_whole_interval():
    assert [verdict(0.6, 0.7, 0.5), verdict(0.4, 0.6, 0.5), verdict(0.3, 0.45, 0.5)] == [HOLDS, OPEN, DOES_NOT]
    assert [verdict(-0.01, 0.015, 0.0, 0.02), verdict(-0.01, 0.03, 0.0, 0.02)] == [DOES_NOT, OPEN]
    powers = pd.DataFrame({"test": list("aabbcd"), "value": [0.9, 0.8, 0.5, 0.9, 0.6, np.nan]})
    powers["low"] = powers["value"] - 0.05
    powers["high"] = powers["value"] + 0.05
    powers.loc[4, "low"] = 0.45
    assert verdicts(powers) == {"a": HOLDS, "b": DOES_NOT, "c": OPEN}


# ---- the whole -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted():
    """A study of texts of which one word decides."""
    return attn_core.study(films(), encoder="average", progress=False)


@pytest.mark.slow
def test_a_study_of_planted_texts_finds_the_planted_word(planted):
    answers = {sentence.question: sentence.verdict for sentence in planted.sentences}
    assert answers["Does the model beat the majority?"] == answers["Does its top word matter?"] == HOLDS
    assert len(repr(planted)) < 2_000
    assert not planted.warning and len(planted.models) == len(planted.traces) == 3
    deciding = {word for words in WORDS.values() for word in words}
    traces = planted.traces[0]
    places = traces.heaviest - traces.offsets[:-1]
    tops = [traces.words(i)[place] for i, place in enumerate(places)]
    assert np.mean([top in deciding for top in tops]) > 0.9
    bounded = planted.table[~planted.table["number"].isin(["gain over equal weights", "top word beyond chance"])]
    known = bounded.dropna(subset=["value"])
    assert (known["low"] >= -1).all() and (known["low"] <= known["value"] + 1e-9).all() and (known["high"] <= 1).all()
    assert planted.table["value"].notna().eq(planted.table["why"] == "").all()


@pytest.mark.slow
def test_a_study_of_random_labels_says_that_nothing_can_be_said():
    rows = films()
    rows["label"] = np.random.default_rng(1).permutation(rows["label"])
    study = attn_core.study(rows, encoder="average", progress=False)
    assert [sentence.verdict for sentence in study.sentences] == [OPEN] * 5
    assert study.warning.startswith("Nothing can be said of this attention") and study.warning in study.report()


@pytest.mark.slow
def test_a_library_script_goes_from_a_frame_to_numbers_a_figure_and_a_heat_map(planted):
    assert "true good" in attn_core.heat_map(
        planted.traces[0], int(planted.traces[0].label.argmax()), planted.texts.classes
    )
    assert set(planted.table["seeds"]) == {3} and planted.report().count("\n") > 30
    figure = planted.plot()
    figure.canvas.draw()
    for axes in figure.axes:  # each has a title, and no words are cut off
        for words in (axes._left_title, axes.xaxis.label):
            assert words.get_text() and words.get_window_extent().x1 <= figure.bbox.x1, words
    assert len(figure.axes) == 3
    ids = planted.trainings[0].data.splits["test"]
    logits = planted.models[0](**attn_core.tracing.inputs(planted.models[0], ids, np.arange(2)))
    assert np.allclose(logits.detach().numpy(), planted.traces[0].logits[:2], atol=1e-5)


@pytest.mark.slow
def test_a_pretrained_transformer_reads_the_raw_texts(monkeypatch):
    """Two small layers of random weights, and pieces that are words; none of the texts is kept."""
    table = films(60)
    words = sorted({word for text in table["text"] for word in text.split()})
    vocabulary = {word: SEP + 1 + i for i, word in enumerate(words)}
    monkeypatch.setattr(pieces, "pieces", lambda texts: [[vocabulary[word] for word in text.split()] for text in texts])
    everything = {f"[{i}]": i for i in range(SEP + 1)} | vocabulary
    monkeypatch.setattr(pieces, "tokenizer", lambda: SimpleNamespace(get_vocab=lambda: everything))
    shape = {"words": len(everything), "width": 16, "heads": 2, "depth": 2}
    monkeypatch.setattr(families, "SHAPE", shape)
    study = attn_core.study(table, encoder="minilm_random", epochs=1, progress=False)
    row = int(study.traces[0].doc_id[0])
    assert study.traces[0].words(0) == study.texts.rows["text"][row].split()
    assert len(study.sentences) == 5 and not list((cache_folder() / "arrays").glob("own-*-pieces*"))


@pytest.mark.slow
def test_three_classes_in_parts_have_dashes_with_reasons():
    rows = films(150, WORDS | {"middling": ("fair", "even", "plain")}).rename(columns={"text": "review"})
    study = attn_core.study(rows, "review", encoder="average", fold=3, epochs=20, progress=False)
    table = study.table.set_index("number")
    assert table.loc["accuracy", "texts"] == 150 and len(study.traces) == 9 and table.loc["AUC", "low"] > 0.5
    assert (
        table.loc["farthest twin", "texts"] >= 40 and table.loc["farthest twin", "high"] <= table.loc["ceiling", "high"]
    )
    assert "two classes only" in set(study.power["why"])
    assert study.texts.classes == ["bad", "good", "middling"]


@pytest.mark.slow
def test_an_encoder_of_the_readers_and_long_texts():
    attn_core.register_encoder("average again", Average, version="1", times_hidden=1)
    study = attn_core.study(films(60, length=420), encoder="average again", epochs=1, progress=False)
    assert len(study.traces[0].words(0)) == 400 and "60 cut after 400 words" in study.report()


def test_texts_of_just_the_most_words_are_not_cut():
    rows = films(60)
    rows.loc[0, "text"] = " ".join(["good"] * 400)
    rows.loc[1, "text"] = " ".join(["good"] * 401)
    texts = cleaned(rows, "text", "label")
    words = words_of(texts)
    assert sorted(map(len, words.values()))[-2:] == [400, 400]
    assert [note for note in texts.notes if "cut" in note] == ["1 cut after 400 words"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 2}, "takes 3 to 9 trainings"),
        ({"encoder": "gru"}, "unknown encoder 'gru'"),
        ({"encoder": "han_rnn"}, "cut into sentences; a study takes lstm"),
        ({"text": "label"}, "columns of their own"),
    ],
)
def test_a_study_refuses_before_it_trains(options, message, monkeypatch):
    monkeypatch.setattr("attn_study.study.trained", lambda *_: pytest.fail("trained for nothing"))
    with pytest.raises(AttnError, match=message):
        attn_core.study(films(60), progress=False, **options)


# ---- the page --------------------------------------------------------------------------------------------------------


def german(n: int) -> pd.DataFrame:
    words = {"schlecht": ("öde", "fad", "übel"), "gut": ("schön", "groß", "süß")}
    return films(n, words).rename(columns={"text": "Bewertung", "label": "Urteil"})


@pytest.mark.slow
def test_german_reviews_in_latin_1_become_a_page_without_a_hand_edit(tmp_path):
    file = text_file(tmp_path / "kritiken.csv", lines(german(120), ";"), "latin-1")
    command = ["study", str(file), "--text", "bewertung", "--label", "urteil", "--encoder", "average"]
    done = CliRunner().invoke(app, [*command, "--output", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output + str(done.exception)
    page = (tmp_path / "out/kritiken.html").read_text(encoding="utf-8")
    assert any(word in page for word in ("schön", "groß", "süß"))
    for words in ("read as cp1252, parted by ;", "Does its top word matter?", "row ", 'id="fig-study-twin"'):
        assert words in page, words
    assert page.count("attn-strip") >= 4 and page.count("attn-fig-title") == 3
    numbers = pd.read_csv(tmp_path / "out/kritiken-numbers.csv").set_index("number")["value"]
    assert numbers["accuracy"] > 0.8 and numbers["farthest twin"] <= numbers["ceiling"]


SHAPES = {
    "tweets.csv": lambda: films(160, {"sad": ("dull 😢", "weak 👎", "cold"), "glad": ("superb 🎉", "warm ❤️", "funny")}),
    "stars.parquet": lambda: films(250, {i: (f"so{i}", f"very{i}") for i in range(1, 6)}),
    "repeated.feather": lambda: pd.concat([films(1_000)] * 5, ignore_index=True),
    "split.tsv": lambda: films(150).assign(Split=np.array(["Train", "TRAIN", "Test"])[np.arange(150) % 3]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_ordinary_files_become_a_page_without_a_hand_edit(tmp_path, name):
    file = write(SHAPES[name](), tmp_path / name)
    values = {"file": str(file), "csv": str(tmp_path / "n.csv"), "encoder": "average", "epochs": 4}
    notebook = nbformat.read(execute("_study", values, tmp_path / "page.ipynb"), as_version=4)
    shown = "".join(
        output.get("data", {}).get("text/html", "") for cell in notebook.cells for output in cell.get("outputs", [])
    )
    assert shown.count("attn-fig-title") == 3 and "Is attention needed?" in shown and "nan" not in shown.lower()
    numbers = pd.read_csv(tmp_path / "n.csv", keep_default_na=False)
    assert (numbers["value"].eq("") == numbers["why"].ne("")).all()


def page_of(file: Path, page: Path) -> None:
    """What `execute` leaves of a study of a file, as far as `outputs` looks."""
    from nbformat.v4 import new_notebook

    from attn_build.sources import write_notebook

    notebook = new_notebook()
    notebook.metadata["attn"] = {"parameters": {"file": str(file)}}
    write_notebook(notebook, page)


def test_no_two_outputs_have_one_name_and_none_replaces_a_users_file(tmp_path):
    first = tmp_path / "a/d.csv"
    second = tmp_path / "b/d.csv"
    page, csv = outputs(first, tmp_path)
    assert (page.name, csv.name) == ("d.ipynb", "d-numbers.csv")
    page_of(first, page)
    csv.write_text("numbers")
    assert outputs(first, tmp_path) == (page, csv)
    other, numbers = outputs(second, tmp_path)
    assert other.name.startswith("d-") and {other, numbers}.isdisjoint({page, csv})

    for name in ("e.ipynb", "e.html", "e-numbers.csv"):
        (tmp_path / name).write_text("mine")
        with pytest.raises(AttnError, match=f"{name} was not written here"):
            outputs(tmp_path / "e.csv", tmp_path)
        (tmp_path / name).unlink()
    left = tmp_path / "f-numbers.csv"  # by a study that was killed before its page lay there
    left.write_text("question,number,value,low,high,texts,seeds,why\n")
    assert outputs(tmp_path / "f.csv", tmp_path)[1] == left
    (tmp_path / "f.ipynb").write_text("mine")
    with pytest.raises(AttnError, match="f.ipynb was not written here"):
        outputs(tmp_path / "f.csv", tmp_path)
    notebook = json.loads(page.read_text())
    notebook["cells"] = [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "mine"}]
    page.write_text(json.dumps(notebook))
    with pytest.raises(AttnError, match="was edited"):
        outputs(first, tmp_path)
    (tmp_path / "a file").write_text("mine")
    with pytest.raises(AttnError, match="lies in a file; name another folder"):
        outputs(tmp_path / "d.csv", tmp_path / "a file")


def test_a_refusal_ends_the_command_with_nothing_written(tmp_path):
    file = write(films(40), tmp_path / "texts.csv")
    done = CliRunner().invoke(app, ["study", str(file), "--output", str(tmp_path / "out")])
    assert isinstance(done.exception, AttnError) and "holds 40 texts; at least 50" in str(done.exception)
    assert not (tmp_path / "out").exists()
