"""A reader's own texts: read from every form of table, cleaned, trained on, and put to the tests of the book."""

import csv
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import refused, toy_traces
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import attn_lab
from attn_core.errors import AttnError
from attn_core.models.encoders import Average
from attn_core.tracing import inputs
from attn_lab.cli import app
from attn_lab.cli.pages import outputs
from attn_lab.data import encode, pieces
from attn_lab.data.files import cache_folder
from attn_lab.data.pieces import SEP
from attn_lab.data.tables import encoding_of, ending
from attn_lab.runs import families
from attn_lab.studies.numbers import mean_interval, per_text, summary
from attn_lab.studies.study import WEAK, words_of
from attn_lab.studies.texts import cleaned, parts

REST = "cast music light end sound plot scene actor hero song joke night city"
WORDS = {"bad": ("dull", "weak", "cold"), "good": ("superb", "warm", "funny")}


def films(n: int = 200, words: dict = WORDS, length: int = 6) -> pd.DataFrame:
    """Made-up reviews of which one word tells the label; no two are equal."""
    rng = np.random.default_rng(0)
    label = np.array(list(words))[np.arange(n) % len(words)]
    texts = []
    for name in label:
        rest = " ".join(rng.choice(REST.split(), length))
        texts.append(f"the {rng.choice(['film', 'play'])} was {rng.choice(words[name])} with {rest}")
    return pd.DataFrame({"text": [f"{text} x{i}" for i, text in enumerate(texts)], "label": label})


BASE = films(60)


FORMS = {
    ".csv": partial(pd.DataFrame.to_csv, index=False),
    ".tsv": partial(pd.DataFrame.to_csv, index=False, sep="\t"),
    ".json": partial(pd.DataFrame.to_json, orient="records", force_ascii=False),
    ".jsonl": partial(pd.DataFrame.to_json, orient="records", force_ascii=False, lines=True),
    ".parquet": pd.DataFrame.to_parquet,
    ".feather": pd.DataFrame.to_feather,
}
"""Ending -> what writes a table in that form."""


def put(folder: Path, name: str, content: pd.DataFrame | str | bytes = BASE, encoding: str = "utf-8") -> Path:
    """A file of bytes, of a text, or of a table in the form that the ending names."""
    path = folder / name
    if isinstance(content, pd.DataFrame):
        FORMS[ending(path)](content, path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def lines(table: pd.DataFrame = BASE, separator: str = ",") -> str:
    return table.to_csv(index=False, sep=separator, quoting=csv.QUOTE_NONE)


def outcome(table: pd.DataFrame | Path, **options) -> object:
    """Texts, labels, splits and what was left out; of a refusal its words behind the file's name."""
    try:
        texts = cleaned(table, **options)
    except AttnError as error:
        assert "\n" not in str(error)
        return re.sub(r"^(\S*/\S+?|the table):? ", "", str(error))
    return texts.rows.to_dict("tight"), texts.classes, texts.faults


# ---- the public faults, as the cases of them have it -----------------------------------------------------------------

SAME = {
    "an index of numbers that come twice": ("a.parquet", BASE.set_axis([i % 7 for i in range(60)])),
    "blanks around labels": ("a.parquet", BASE.assign(label=BASE["label"] + "  ")),
    "columns in other case": ("a.csv", BASE.set_axis([" Text", "LABEL"], axis=1)),
    "semicolons": ("a.csv", lines(separator=";")),
    "tabs, and one in a name": ("a.csv", lines(BASE.assign(**{"a\tb": "x"}))),
    "a mark of byte order": ("a.csv", lines(), "utf-8-sig"),
    "UTF-16": ("a.csv", lines(), "utf-16"),
    "UTF-16 without mark": ("a.csv", lines(), "utf-16-le"),
    "all values in quotation marks": ("a.tsv", BASE.to_csv(index=False, sep="\t", quoting=csv.QUOTE_ALL)),
    "JSON by columns": ("a.json", BASE.to_json()),
    "an empty line first": ("a.csv", "\n" + lines()),
    "a hint and a comment": ("a.csv", "sep=;\n# of films\n" + lines(separator=";")),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_values_in_another_form_are_the_same_texts(tmp_path, name):
    assert outcome(put(tmp_path, *SAME[name])) == outcome(BASE)


def test_a_quotation_mark_in_a_tsv_is_text(tmp_path):
    table = BASE.copy()
    table.loc[3, "text"] = '"' + table.loc[3, "text"]
    table.loc[7, "text"] += '"'
    assert outcome(put(tmp_path, "a.tsv", lines(table, "\t"))) == outcome(table)


def test_a_zero_byte_makes_no_file_utf_16(tmp_path):
    text = lines().replace("the ", "the\0 ", 1)
    assert outcome(put(tmp_path, "a.csv", text))[0]["data"][1] == outcome(BASE)[0]["data"][1]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text", ["text,label\nдобрый фильм,1\n", "текст;метка\nдобрый фильм;1\nдолгий фильм;0\n"]
)
def test_short_files_of_utf_16_without_its_mark_are_read(tmp_path, text, encoding):
    assert encoding_of(put(tmp_path, "a.csv", text, encoding)) == encoding


CUT = BASE.to_json(orient="records", lines=True).splitlines()
CUT[6] = CUT[6][:-3]
REFUSED = [
    (("a.csv", "Text,label, text\na,b,c\n"), "two columns 'text'"),
    (["a text"], "a table is a DataFrame, or a file of one, and no list"),
    (("a.parquet", BASE.assign(label=[["joy", "love"]] * 60)), "'label' holds lists"),
    (("a.jsonl", '{"text": "a", "text": "b"}\n'), "two values of one name"),
    (("a.jsonl", "\n".join(CUT)), "line 7, column"),
    (("a.csv", b"PK\x03\x04xl/workbook.xml" + lines().encode()), "no text but a workbook"),
    (("a.csv", BASE.to_parquet()), "no text but a workbook"),
    (("a.json", "[" * 100_000), "RecursionError"),
    (("a.csv", "text,label\nпривет мир,да\n", "cp1251"), "neither UTF-8"),
    (("a.csv", BASE.rename(columns={"text": "review"})), "lacks the column 'text'; it"),
    (Path("none.csv"), "no such file"),
    (("a.xlsx", lines()), "of a workbook save the sheet as CSV"),
    (("a.csv", "a very long secret " * 99 + ",good\n"), "; a file without names"),
    (("a.csv", pd.concat([BASE.head(20)] * 9)), "20 texts without 160 duplicates"),
    (("a.csv", "text,label\na łza mała,1\n", "cp1250"), "--encoding"),
    (("a.csv", BASE.assign(label="good")), "has 1 classes"),
    (("a.csv", BASE.assign(label=range(60))), "has 60 classes"),
    (("a.csv", BASE.assign(split="train")), "must hold train, dev and test; it holds train"),
]


@pytest.mark.parametrize(("made", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_will_not_do_is_refused_in_a_line(tmp_path, made, message):
    with refused(re.escape(message)) as error:
        cleaned(put(tmp_path, *made) if isinstance(made, tuple) else made)
    assert len(str(error.value).replace(str(tmp_path), "")) <= 200


# ---- cleaning --------------------------------------------------------------------------------------------------------


def untidy() -> pd.DataFrame:
    """Two rows without text, one without label, three repeated, one of a rare class."""
    rows = films(120)
    rows.loc[[3, 5], "text"] = [" ", None]
    rows.loc[8, "label"] = None
    rows.loc[9, "label"] = "odd"
    return pd.concat([rows, rows[20:23].assign(text=rows["text"].str.upper() + " ")])


def test_what_is_left_out_is_counted_and_strict_refuses_it(tmp_path):
    texts = cleaned(untidy())
    assert texts.faults == ["3 empty", "3 duplicates", "1 of rare classes"]
    assert len(texts.rows) == 116
    assert str(texts).startswith(
        "116 texts; 3 empty, 3 duplicates, 1 of rare classes dropped; classes bad 51 : good 49 %; split train 57"
    )
    with refused("row 4 is the first of 3 empty"):
        cleaned(untidy(), strict=True)
    german = lines(BASE.replace("the film", "der Filmgrößenverhältnis ü", regex=True), ";")
    assert str(cleaned(put(tmp_path, "a.csv", german, "cp1252"), strict=True)).endswith(
        "read as cp1252, by a guess (--encoding names another), parted by ;"
    )


LABEL = films(120)["label"]
DOUBTS = {
    "two spellings: BAD GOOD bad good": LABEL.where(LABEL.index % 3 > 0, LABEL.str.upper()),
    "two spellings: 1 1.0": LABEL.map({"bad": "0", "good": "1"}).where(LABEL.index > 9, "1.0"),
    "of several joined: bad|good": LABEL.where(LABEL.index % 4 > 0, "bad|good"),
    "that are fractions: 0.5": LABEL.map({"bad": "0.5", "good": "1"}),
}


@pytest.mark.parametrize("told", DOUBTS)
def test_classes_that_may_be_meant_otherwise_are_said_and_strict_refuses_them(told):
    table = films(120).assign(label=DOUBTS[told])
    assert told in str(cleaned(table))
    with refused(re.escape(told)):
        cleaned(table, strict=True)


def test_a_class_that_no_model_learns_and_one_of_a_small_share_are_said():
    table = films(1_200).assign(split=["test" if i < 300 else "train" for i in range(1_200)])
    table.loc[:4, "label"] = "odd"
    texts = cleaned(table)
    assert texts.notes == ["classes that train does not hold: odd"]
    assert "odd < 1 %" in str(texts)


def test_the_words_of_a_text_and_those_that_train_does_not_hold_are_counted():
    table = pd.DataFrame({"text": [f"a b {i}" for i in range(100)], "label": ["x", "y"] * 50})
    texts = cleaned(table.assign(split=["train"] * 40 + ["dev"] * 30 + ["test"] * 30))
    words_of(texts)
    assert texts.notes == ["3.0 words a text, 33% of those of test are not in train"]


def test_what_the_texts_are_is_said():
    table = films(100, length=2)
    table.loc[[0, 1, 2, 99], "text"] = [
        "so " * 401 + "good",
        "!" * 30_000,
        "good " * 400,
        "so " * 401 + "bad",
    ]
    texts = cleaned(table.assign(split=["train"] * 40 + ["dev"] * 20 + ["test"] * 40))
    words = words_of(texts)
    assert len(words[2]) <= 200
    assert len(words[3]) == 400
    assert texts.notes[0] == "2 cut after 400 words"
    assert texts.notes[2] == "2 equal in the words that are read, in two splits"


@pytest.mark.parametrize("words", [["这部电影", "很", "好看"], ["หนัง", "เรื่อง", "นี้"]])
def test_texts_without_blanks_are_told_and_cut_by_the_readers_tokenizer(words):
    table = films(60)
    table["text"] = ["".join([*words, f"{i}分"]) for i in range(60)]
    told, cut = cleaned(table), cleaned(table)
    words_of(told)
    assert "no blanks between words" in told.notes[-1]
    assert words_of(cut, lambda text: [*words, text[-3:]])[1][:3] == words
    assert len(cut.notes) == 1
    with refused("row 1 has no words"):
        words_of(cut, lambda text: [])


def test_equal_texts_stay_in_one_split_whatever_their_case_blanks_and_form():
    """Thirty come again in capitals, with other blanks and accents, and the other label."""
    first = films(70)
    again = first[:30].assign(label=first["label"].map({"good": "bad", "bad": "good"}))
    again["text"] = again["text"].str.upper().str.replace(" ", "\u00a0 ") + " CAFE\u0301"
    first.loc[:29, "text"] += " café"
    rows = pd.concat([first, again])
    texts = cleaned(rows)
    assert not texts.faults
    split = texts.rows["split"].to_numpy()
    assert (split[:30] == split[70:]).all()
    texts = cleaned(rows.assign(Split=np.resize(["Train", "Validation", "TEST"], 100)))
    assert "in two splits" in texts.faults[0]
    assert set(texts.rows["split"]) == {"train", "dev", "test"}
    number = texts.rows["text"].str.extract("[xX]([0-9]+)")[0]
    assert texts.rows["split"].groupby(number).nunique().max() == 1


def test_a_split_is_drawn_by_class_and_a_user_s_gains_a_dev():
    sizes = cleaned(films()).rows.value_counts(["split", "label"]).unstack().sort_index()
    assert sizes.to_dict("list") == {"bad": [25, 25, 50], "good": [25, 25, 50]}
    sizes = cleaned(films(12_000, length=9)).rows["split"].value_counts()
    assert sizes[["dev", "test"]].tolist() == pytest.approx([1_000, 1_000], abs=2)
    rows = cleaned(films().assign(split=["test"] * 60 + ["train"] * 140)).rows
    assert (rows.loc[1:60, "split"] == "test").all()
    assert rows["split"].value_counts()["dev"] == 34


def test_parts_are_each_tested_once():
    texts = cleaned(films(), fold=5)
    drawn = [parts(texts, i) for i in range(5)]
    assert sorted(pd.concat([split["test"] for split in drawn]).index) == list(range(1, 201))
    for split in drawn:
        assert [len(split[name]) for name in ("train", "dev", "test")] == [120, 40, 40]
        assert pd.concat(split).index.droplevel(0).is_unique


def test_columns_without_heads_and_encodings_are_named(tmp_path):
    _, headless = lines(BASE.replace("film", "świetny", regex=True)).split("\n", 1)
    path = put(tmp_path, "a.csv", headless, "cp1250")
    texts = cleaned(path, "1", "2", header=False, encoding="cp1250")
    assert len(texts.rows) == 60
    assert "świetny" in " ".join(texts.rows["text"])
    assert texts.form.startswith("cp1250")


def test_half_a_sign_is_a_mark(tmp_path):
    text = BASE.to_json(orient="records", lines=True).replace('","label', ' \\ud83d","label')
    assert cleaned(put(tmp_path, "a.jsonl", text)).rows["text"].str.endswith("\ufffd").all()


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), exclude_characters='"'), max_size=12
)
NAMES = (*map("a{}".format, FORMS), "a.csv.gz", "B.JSONL")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(TEXT, min_size=3, max_size=12),
    labels=st.lists(st.sampled_from(["01", "1", " b", "b", "", "NA", "é"]), min_size=2, max_size=6)
    | st.sampled_from([(0, 1), (0.5, 1.5), (False, True)]),
    quoted=st.booleans(),
    split=st.lists(st.sampled_from(["train", "Dev", "TEST"]), max_size=4),
    count=st.sampled_from([40, 90]),
)
def test_any_table_ends_the_same_in_every_form(tmp_path, texts, labels, quoted, split, count):
    """Texts of any letters, with quotation marks in the middle, or numbers; a few repeat. Labels may be missing, or
    numbers, or truth values."""
    so = '"so"' if quoted else "so"
    texts = [
        f"{texts[row % len(texts)]} {so} {row // 2}" if row % 11 else f"{row % 33:04}" for row in range(count)
    ]
    table = pd.DataFrame({"text": texts, "label": np.resize(labels, count)})
    if split:
        table["Split"] = np.resize(split, count)
    expected = outcome(table)
    for name in NAMES:
        assert outcome(put(tmp_path, name, table)) == expected, name


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_a_number_has_an_interval_over_texts_and_seeds_and_a_side_of_chance():
    values = np.random.default_rng(0).random(60)
    values[0] = np.nan
    known = {"top word": 1.0, "top word, by chance": 0.5, "a, by chance": 0.0, "none": np.nan}
    seeds = [pd.DataFrame(known | {"a": values + seed / 10}) for seed in range(3)]
    rows = summary(seeds, ["top word", "a", "none", "absent"])
    assert rows.loc["top word", ["value", "low", "high", "chance", "side"]].tolist() == [1, 0.95, 1, 0.5, 1]
    assert rows.side["a"] == 1
    assert rows.texts.tolist() == [60, 59, 0, 0]


def test_an_interval_is_over_texts_and_seeds_and_never_nothing():
    values = np.array([[0.0, 1, 1, 1], [0, 0, 1, 1], [1, 1, 1, 1]])
    value, low, high, texts = mean_interval(values)
    assert (value, high, texts) == (0.75, 1, 4)
    assert 0 <= low < 0.5
    assert mean_interval(np.zeros((9, 60)))[1:3] == (0, 0.05)
    values[:, 0] = np.nan
    value, _, _, texts = mean_interval(values)
    assert (value, texts) == (pytest.approx(8 / 9), 3)


@pytest.mark.parametrize("classes", [1, 2, 4])
def test_scores_are_those_of_scikit_learn(classes):
    from sklearn.metrics import accuracy_score, balanced_accuracy_score

    label = np.random.default_rng(classes).integers(max(2, classes), size=80)
    traces = replace(toy_traces(np.arange(80) % 5 + 1, seed=classes, classes=classes), label=label)
    halves = [traces.take(range(40)), traces.take(range(40, 80))]
    frequent = np.full(80, np.bincount(label).argmax())
    expected = {
        "accuracy": accuracy_score(label, traces.predicted),
        "accuracy, by chance": accuracy_score(label, frequent),
        "balanced accuracy": balanced_accuracy_score(label, traces.predicted),
        "balanced accuracy, by chance": balanced_accuracy_score(label, frequent),
    }
    assert per_text(halves, halves)[list(expected)].mean().to_dict() == pytest.approx(expected)


# ---- the whole -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_study_of_planted_texts_finds_the_planted_word():
    planted = attn_lab.study(films(), encoder="average")
    table = planted.table.set_index("number")
    assert table.loc[["balanced accuracy", "top word"], "side"].tolist() == [1, 1]
    assert not planted.warnings
    assert len(repr(planted)) < 2_000
    assert "<table" in planted._repr_html_()
    assert set(table["seeds"]) == {3}
    assert table["value"].between(table["low"], table["high"]).all()
    traces = planted.traces[0]
    words = np.concatenate([traces.words(i) for i in range(len(traces))])
    assert np.isin(words[traces.most_attended], sum(WORDS.values(), ())).mean() > 0.9
    (model, *_), test = planted.models, encode(planted.runs[0].corpus).splits["test"]
    logits = model(**inputs(model, test, np.arange(2)))
    assert np.allclose(logits.detach().numpy(), traces.logits[:2], atol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("own_tables")
def test_an_encoder_of_the_readers_and_long_texts():
    attn_lab.register_encoder("average_again", Average, version="1", times_hidden=1)
    study = attn_lab.study(films(60, length=420), encoder="average_again", epochs=1, progress=False)
    assert len(study.traces[0].words(0)) == 400
    assert "60 cut after 400 words" in repr(study)


@pytest.mark.slow
def test_a_study_of_random_labels_says_that_nothing_can_be_said():
    rows = films()
    rows["label"] = np.random.default_rng(1).permutation(rows["label"])
    study = attn_lab.study(rows, encoder="average")
    assert not study.table["side"].any()
    assert study.warnings == [WEAK]
    assert WEAK in study.report()


@pytest.mark.slow
def test_three_classes_are_tested_in_parts():
    rows = films(150, WORDS | {"middling": ("fair", "even", "plain")}).rename(columns={"text": "review"})
    study = attn_lab.study(rows, "review", encoder="average", fold=3, epochs=20)
    table = study.table.set_index("number")
    assert table.texts["accuracy"] == 150
    assert len(study.traces) == 9
    assert table.side["balanced accuracy"] == 1
    assert np.isnan(table.value["adversarial attention"])
    assert study.texts.classes == ["bad", "good", "middling"]


@pytest.mark.slow
def test_a_pretrained_transformer_reads_the_raw_texts(monkeypatch):
    """Two small layers of random weights, and pieces that are words; none of the texts is kept."""
    table = films(60)
    words = [*map("[{}]".format, range(SEP + 1)), *table["text"].str.split().explode().unique()]
    ids = {piece: i for i, piece in enumerate(words)}
    monkeypatch.setattr(
        pieces, "pieces", lambda texts: [[ids[word] for word in text.split()] for text in texts]
    )
    monkeypatch.setattr(pieces, "tokenizer", lambda: SimpleNamespace(get_vocab=lambda: ids))
    monkeypatch.setattr(families, "SHAPE", {"words": len(ids), "width": 16, "heads": 2, "depth": 2})
    study = attn_lab.study(table, encoder="minilm_random", epochs=1)
    row = int(study.traces[0].doc_id[0])
    assert study.traces[0].words(0) == study.texts.rows["text"][row].split()
    assert not list((cache_folder() / "arrays").glob("own-*-pieces*"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 2}, "takes 3 to 9 trainings"),
        ({"encoder": "gru"}, "unknown encoder 'gru'"),
        ({"encoder": "han_rnn"}, "cut into sentences; a study takes lstm"),
        ({"text": "label"}, "columns of their own"),
        ({"fold": 2}, "3 to 10 parts, each tested once"),
        ({"fold": 11}, "3 to 10 parts, each tested once"),
        ({"fold": 5, "split": "part"}, "a split of its own"),
    ],
)
def test_a_study_refuses_before_it_trains(options, message, monkeypatch):
    monkeypatch.setattr("attn_lab.studies.study.trained", lambda *_: pytest.fail("trained for nothing"))
    with refused(message):
        attn_lab.study(films(60).assign(part="train"), **options)


# ---- the page --------------------------------------------------------------------------------------------------------

GERMAN = {"schlecht": ("öde", "fad", "übel"), "gut": ("schön", "groß", "süß")}
SHAPES = {
    "kritiken.csv": (lines(films(120, GERMAN), ";"), "latin-1"),
    "stars.parquet": (films(250, {i: (f"so{i} 🎉", f"very{i} ❤️") for i in range(1, 6)}),),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_ordinary_files_become_a_page_without_a_hand_edit(tmp_path, name):
    file = put(tmp_path, name, *SHAPES[name])
    command = ["study", str(file), "--encoder", "average", "--epochs", "4", "--output", str(tmp_path / "out")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output + str(done.exception)
    (sheet,) = (tmp_path / "out").glob(f"{file.stem}-*.html")
    page = sheet.read_text(encoding="utf-8")
    assert str(tmp_path) not in page, "a page that is handed on names no place"
    assert page.count("attn-strip") >= 4
    assert page.count("attn-fig-title") == 1
    assert "single-state agreement" in page
    assert ("by a guess" in page) == ("süß" in page) == (name == "kritiken.csv")
    assert pd.read_csv(sheet.with_name(f"{sheet.stem}-numbers.csv"))["value"].notna().sum() > 10


def test_no_two_outputs_have_one_name_and_none_replaces_a_users_file(tmp_path):
    first, second = tmp_path / "a/d.csv", tmp_path / "b/d.csv"
    page, csv = outputs(first, tmp_path)
    assert {*outputs(second, tmp_path)}.isdisjoint({page, csv})
    page.write_text("mine")
    with refused("was edited"):
        outputs(first, tmp_path)
    (tmp_path / "a file").write_text("mine")
    with refused("lies in a file; name another folder"):
        outputs(second, tmp_path / "a file")


def test_a_refusal_ends_the_command_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr("attn_lab.studies.study.trained", lambda *_: pytest.fail("trained for nothing"))
    file = put(tmp_path, "texts.csv", BASE.head(40))
    for message in ("holds 40 texts; at least 50", "no folder notebooks/"):
        done = CliRunner().invoke(app, ["study", str(file), "--output", str(tmp_path / "out")])
        assert isinstance(done.exception, AttnError)
        assert message in str(done.exception)
        assert not (tmp_path / "out").exists()
        monkeypatch.setattr("attn_build.sources.__file__", str(tmp_path / "a/b/c.py"))
        monkeypatch.chdir(tmp_path)
