"""MIMIC-III and tweet loaders on small made-up files in the official form; no line of them is real."""

import csv
import gzip
import io

import numpy as np
import pytest

from attn_core.corpora import catalogue, encode, files, text
from attn_core.errors import AttnError
from attn_data import gated, read

NOTES = [
    *("ROW_ID", "SUBJECT_ID", "HADM_ID", "CHARTDATE", "CHARTTIME", "STORETIME"),
    *("CATEGORY", "DESCRIPTION", "CGID", "ISERROR", "TEXT"),
]
CODES = ["ROW_ID", "SUBJECT_ID", "HADM_ID", "SEQ_NUM", "ICD9_CODE"]


def table(header, rows, delimiter=",") -> str:
    """A CSV file as the official ones are: names and texts quoted, line ends LF, quotes doubled."""
    out = io.StringIO()
    write = csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    write.writerows([header, *rows])
    return out.getvalue()


def note(admission, written, *, date="2101-05-03", kind="Report", category="Discharge summary", error="", row=1):
    return [row, 7, admission, date, "", "", category, kind, "", error, written]


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Writes files into a folder under $ATTN_DATA."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("ATTN_DATA", str(tmp_path / "data"))

    def put(folder: str, **files):
        for name, content in files.items():
            path = tmp_path / "data" / folder / name.replace("__", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            data = content.encode("utf-8", "surrogateescape")
            path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return tmp_path / "data" / folder

    return put


def one_line(caught) -> str:
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("ending", "order"), [("csv", 1), ("csv.gz", -1)])
def test_summaries_join_reports_then_addenda_by_date_and_leave_errors_out(mine, ending, order):
    rows = [
        note(100, "added first", kind="Addendum", date="2101-01-01"),
        note(100, 'late "quoted"\nsecond line', date="2101-03-02"),
        note(100, "early", date="2101-03-01"),
        note(100, "wrong", error="1"),
        note(100, "heart", category="ECG"),
        note(200, "not wanted"),
        note("", "an outpatient", category="Radiology"),
    ]
    head = NOTES if order == 1 else [name.lower() for name in reversed(NOTES)]  # columns are found by name in any case
    folder = mine("mimic", **{f"NOTEEVENTS.{ending}": table(head, [row[::order] for row in rows])})
    found = gated.summaries(folder / f"NOTEEVENTS.{ending}", [100, 300])
    assert found == {100: 'early late "quoted"\nsecond line added first'}


def test_codes_lose_their_dots_and_rows_without_a_code_are_left_out(mine):
    rows = [[1, 7, 100, 1, "25000"], [2, 7, 100, 2, "285.1"], [3, 7, 200, "", ""], [4, 7, 300, 1, "v3000"]]
    folder = mine("mimic", DIAGNOSES_ICD__csv=table(CODES, rows))
    assert gated.admission_codes(folder / "DIAGNOSES_ICD.csv") == {100: {"25000", "2851"}, 300: {"V3000"}}


# --- whole sets -----------------------------------------------------------------------------------------------------


def words(n: int) -> str:
    return " ".join(["pain"] * n)


def test_diabetes_follows_the_lists_and_the_code(mine):
    notes = [note(a, words(7 + a % 3)) for a in range(100, 130)] + [note(999, words(9))]
    codes = [[1, 7, a, 1, "25000" if a % 2 else "25001"] for a in range(100, 131)]
    mine(
        "mimic",
        NOTEEVENTS__csv=table(NOTES, notes),
        DIAGNOSES_ICD__csv=table(CODES, codes),
        train_50_hadm_ids__csv="".join(f"{a}\n" for a in range(119, 99, -1)),
        dev_50_hadm_ids__csv="120\n121\n122\n130\n",
        test_50_hadm_ids__csv="".join(f"{a}\r\n" for a in range(123, 130)),
    )
    encoded = encode("diabetes")
    # Rows count the admissions that have a summary, in ascending order; 130 has none.
    assert encoded.splits["train"].doc_ids.tolist() == list(range(19, -1, -1))
    assert encoded.splits["dev"].doc_ids.tolist() == [20, 21, 22]
    assert encoded.splits["test"].doc_ids.tolist() == list(range(23, 30))
    assert all((split.labels == split.doc_ids % 2).all() for split in encoded.splits.values())
    assert (encoded.splits["test"].lengths - 2).tolist() == [7 + a % 3 for a in range(123, 130)]
    assert encoded.vocabulary == (*text.SPECIALS, "pain")
    assert encode("diabetes").fingerprint == encoded.fingerprint


def test_anemia_takes_admissions_with_one_kind_only(mine):
    codes, notes = [], []
    for a in range(100, 140):
        codes += [[1, 7, a, 1, "2851" if a % 2 else "28521"], [1, 7, a, 2, "4019"]]
        notes.append(note(a, words(5 + (a - 100) // 2 % 4)))
    codes += [[1, 7, 140, 1, "2851"], [1, 7, 140, 2, "28529"], [1, 7, 141, 1, "2859"]]  # both; neither
    notes += [note(140, words(6)), note(141, words(6))]
    mine("mimic", NOTEEVENTS__csv=table(NOTES, notes[::-1]), DIAGNOSES_ICD__csv__gz=table(CODES, codes))
    made = gated.PREPARE["anemia"]().splits
    rows = {split: set(texts.doc_ids.tolist()) for split, texts in made.items()}
    assert rows["test"] == {0, 1, 2, 10, 11, 23, 27, 30} and rows["dev"] == {3, 4, 5, 8, 31}  # their two seeds
    assert set.union(*rows.values()) == set(range(40)) and made["test"].labels.sum() == 4
    for texts in made.values():
        assert (texts.labels == texts.doc_ids % 2).all()
        assert [len(tokens) for tokens in texts.lists] == [5 + row // 2 % 4 for row in texts.doc_ids]
    kept = encode("anemia").splits["train"].lengths - 2
    assert set(kept.tolist()) == {6, 7, 8}  # no lower bound is given: the shortest of the split go


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_tweets_with_the_authors_split(mine, delimiter):
    written = [f'so, I took 5 {"pill " * (i % 3)}and "slept"' for i in range(80)]
    rows = [[tweet, i % 2, "test" if i % 4 == 0 else "train"] for i, tweet in enumerate(written)]
    mine("adr", adr_dataset__csv=table(["text", "label", "exp_split"], rows, delimiter))
    made = gated.PREPARE["adr"]().splits
    assert made["test"].doc_ids.tolist() == list(range(0, 80, 4)) and len(made["dev"].lists) == 9
    assert " ".join(made["test"].lists[0]) == 'so , i took 5 and " slept "'  # digits stay
    encoded = encode("adr")
    assert [len(encoded.splits[s]) for s in ("train", "dev", "test")] == [51, 9, 20]
    assert (encoded.splits["train"].labels == encoded.splits["train"].doc_ids % 2).all()


def test_tweets_without_the_split_are_drawn_by_the_rule(mine):
    rows = [["bad dream after pill no", int(i < 20)] for i in range(100)]
    mine("adr", adr_dataset__csv=table(["Text", "Label"], rows))
    made = gated.PREPARE["adr"]().splits
    assert (len(made["test"].lists), int(made["test"].labels.sum())) == (20, 4)
    assert made["test"].doc_ids.min() == 11 and {13, 15, 19, 93} <= set(made["test"].doc_ids.tolist())  # their seed
    rows = np.concatenate([texts.doc_ids for texts in made.values()])
    assert sorted(rows.tolist()) == list(range(100)) and len(made["dev"].lists) == 12


# --- what can be wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("corpus", ["diabetes", "anemia", "adr"])
@pytest.mark.parametrize("folder", [True, False])
def test_an_absent_file_says_what_to_put_where(corpus, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTN_DATA", str(tmp_path)) if folder else monkeypatch.delenv("ATTN_DATA", raising=False)
    with pytest.raises(AttnError) as caught:
        encode(corpus)
    message, entry = one_line(caught), catalogue.corpus(corpus)
    place = f"into {entry.folder} under $ATTN_DATA ({tmp_path if folder else 'not set'})"
    assert all(file in message for file in entry.own) and place in message and entry.origin in message
    with pytest.raises(AttnError, match="is made from your own files and has no tables; use encode"):
        read(corpus, "train")


def test_a_malformed_list_is_refused_with_its_line(mine):
    folder = mine("mimic", train_50_hadm_ids__csv="100\n\n10x\n101\n")
    with pytest.raises(AttnError, match="train_50_hadm_ids.csv cannot be read .*'10x'"):
        gated.admission_list(folder / "train_50_hadm_ids.csv")


def test_an_admission_of_two_splits_is_refused(mine):
    ids = dict.fromkeys(("train_50_hadm_ids__csv", "dev_50_hadm_ids__csv", "test_50_hadm_ids__csv"), "100\n")
    codes = table(CODES, [[1, 7, 100, 1, "25000"]])
    mine("mimic", NOTEEVENTS__csv=table(NOTES, [note(100, "x")]), DIAGNOSES_ICD__csv=codes, **ids)
    with pytest.raises(AttnError, match="admission 100 stands twice in the lists"):
        encode("diabetes")


def test_a_truncated_gz_is_named(mine):
    folder = mine("mimic", DIAGNOSES_ICD__csv__gz=table(CODES, [[i, 7, i, 1, f"{i * 37 % 999}"] for i in range(999)]))
    path = folder / "DIAGNOSES_ICD.csv.gz"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(AttnError, match="DIAGNOSES_ICD.csv.gz cannot be read .*copy it again"):
        gated.admission_codes(path)


def test_changed_files_make_new_arrays_and_absent_ones_none(mine, monkeypatch):
    rows = [["one two three four five six", i % 2, "test" if i % 4 == 0 else "train"] for i in range(40)]
    mine("adr", adr_dataset__csv=table(["text", "label", "exp_split"], rows))
    first = encode("adr").fingerprint
    changed = [[written, 1 - label, split] for written, label, split in rows]
    mine("adr", adr_dataset__csv=table(["text", "label", "exp_split"], changed) + "\n")
    assert encode("adr").fingerprint != first
    assert not list((files.cache_folder()).glob("tables/*"))  # arrays only: no text is copied
    monkeypatch.delenv("ATTN_DATA")
    with pytest.raises(AttnError, match="read from your own copy only"):
        encode("adr")
