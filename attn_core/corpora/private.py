"""Data sets of which only the user's own copy is read: MIMIC-III discharge summaries, the tweets of Jain & Wallace.

Where the files lie: ``$ATTN_DATA/mimic`` holds NOTEEVENTS.csv and DIAGNOSES_ICD.csv as PhysioNet gives them out (or
both with .gz), and for Diabetes the authors' admission lists {train,dev,test}_50_hadm_ids.csv; ``$ATTN_DATA/adr``
holds adr_dataset.csv. Nothing of them is stored but arrays in the user's cache.
"""

import csv
import gzip
import re
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from attn_core.corpora import load, text
from attn_core.corpora.archives import Faults
from attn_core.corpora.prepare import Prepared, Texts, with_dev
from attn_core.errors import AttnError

LISTS = tuple(f"{split}_50_hadm_ids.csv" for split in ("train", "dev", "test"))
_MIMIC, _ORIGIN = ("NOTEEVENTS.csv", "DIAGNOSES_ICD.csv"), "MIMIC-III (physionet.org/content/mimiciii)"
FILES = {
    "diabetes": ("mimic", (*_MIMIC, *LISTS), _ORIGIN + ", the lists from the authors' repository"),
    "anemia": ("mimic", _MIMIC, _ORIGIN),
    "adr": ("adr", ("adr_dataset.csv",), "the authors of the paper, on request"),
}
"""Corpus -> folder under $ATTN_DATA, files there (each may end in .gz too), who gives them out."""


def _find(corpus: str, file: str) -> Path | None:
    folder = load.data_folder()
    if folder is None:
        return None
    plain = folder / FILES[corpus][0] / file
    return next((path for path in (plain, plain.with_name(file + ".gz")) if path.is_file()), None)


def locate(corpus: str, file: str) -> Path:
    """The user's file, plain or with .gz; where it is absent, one AttnError that says what to put where."""
    path = _find(corpus, file)
    if path is None:
        folder, files, origin = FILES[corpus]
        place = load.data_folder() / folder if load.data_folder() else f"the folder {folder} under $ATTN_DATA (not set)"
        raise AttnError(
            f"corpus '{corpus}' is read from your own copy only and {file} is not there; put {', '.join(files)} "
            f"(or with .gz) into {place}; they come from {origin}"
        )
    return path


def stamps(corpus: str) -> dict[str, str] | None:
    """File -> size and time of change (the notes are too large for a checksum at each start); None if one is
    missing."""
    paths = {file: _find(corpus, file) for file in FILES[corpus][1]}
    if None in paths.values():
        return None
    return {file: f"{path.stat().st_size} bytes, {path.stat().st_mtime_ns}" for file, path in paths.items()}


@contextmanager
def _opened(path: Path):
    """The file as text, unpacked if its name ends in .gz. Bytes that are not UTF-8 become lone surrogates."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(
            path, "rt", encoding="utf-8", errors="surrogateescape", newline=""
        ) as file:
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise AttnError(f"{path} is damaged ({type(error).__name__}: {error}); copy it again") from error


def _foreign(written: str) -> bool:
    return any("\udc80" <= sign <= "\udcff" for sign in written)


def rows(path: Path, columns, faults: Faults, optional=()):
    """Records of a CSV file as (first line, values of ``columns`` and ``optional``), names without regard to case.

    Separator: a tab if the first line holds one, else a comma. An optional column that is absent gives None. Records
    of another number of columns are added to ``faults`` and left out. Where the quotes of a record do not fit, it is
    added and reading ends, because nothing after it can be told apart. Errors: AttnError for a missing column or a
    damaged .gz.
    """
    with _opened(path) as file:
        first = file.readline().removeprefix("\ufeff")
        separator = "\t" if "\t" in first else ","
        names = [name.strip().lower() for name in next(csv.reader([first], delimiter=separator), [])]
        missing = [name for name in columns if name.lower() not in names]
        if missing:
            raise AttnError(f"{path}, line 1: no column '{missing[0]}'; it holds {', '.join(names) or 'nothing'}")
        places = [names.index(name.lower()) if name.lower() in names else None for name in (*columns, *optional)]
        records = csv.reader(file, delimiter=separator, strict=True)
        while True:
            line = records.line_num + 2  # the first line of the next record; the header is line 1
            try:
                record = next(records, None)
            except csv.Error as error:
                faults.add(line, f"quotes that do not fit ({error}), nothing after it was read")
                return
            if record is None:
                return
            if record and len(record) != len(names):
                faults.add(line, f"not {len(names)} columns")
            elif record:
                yield line, [None if place is None else record[place] for place in places]


def admission_codes(path: Path) -> dict[int, set[str]]:
    """DIAGNOSES_ICD.csv -> HADM_ID -> ICD-9 codes without dots. Rows without a code (the official file has some) are
    left out."""
    codes, faults = {}, Faults(path)
    for line, (admission, code) in rows(path, ("HADM_ID", "ICD9_CODE"), faults):
        if not admission.strip().isdecimal():
            faults.add(line, "HADM_ID is no whole number")
        elif code.strip():
            codes.setdefault(int(admission), set()).add(code.strip().replace(".", "").upper())
    faults.check()
    return codes


def summaries(path: Path, wanted) -> dict[int, str]:
    """NOTEEVENTS.csv -> HADM_ID -> discharge summary of the admissions wanted.

    Notes flagged as errors are left out. Per admission first the reports, then the addenda, each by date, joined by a
    blank (J&W); notes of one day stay in the order of the file.
    """
    wanted, notes, faults = set(wanted), {}, Faults(path)
    columns = ("HADM_ID", "CHARTDATE", "CATEGORY", "DESCRIPTION", "ISERROR", "TEXT")
    for line, (admission, date, category, description, error, note) in rows(path, columns, faults):
        if category.strip().lower() != "discharge summary":
            continue
        if not admission.strip().isdecimal():
            faults.add(line, "HADM_ID is no whole number")
        elif not re.match(r"\d{4}-\d\d-\d\d", date.strip()):
            faults.add(line, "CHARTDATE is no date")
        elif error.strip() not in ("", "0", "1"):
            faults.add(line, "ISERROR is neither empty nor 1")
        elif _foreign(note):
            faults.add(line, "TEXT is not UTF-8")
        elif int(admission) in wanted and error.strip() != "1":
            addendum = description.strip().lower() == "addendum"
            notes.setdefault(int(admission), []).append((addendum, date.strip(), line, note))
    faults.check()
    return {admission: " ".join(note for *_, note in sorted(parts)) for admission, parts in notes.items()}


def admission_list(path: Path) -> list[int]:
    """One HADM_ID a line; a first line without digits is a heading."""
    found, faults = [], Faults(path)
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if line.strip().isdecimal():
                found.append(int(line))
            elif line.strip() and (number > 1 or re.search(r"\d", line)):
                faults.add(number, "no whole number")
    faults.check()
    return found


def _diabetes() -> Prepared:
    """Discharge summaries of the authors' admission lists; label 1 = ICD-9 code 250.00 is among the diagnoses."""
    codes = admission_codes(locate("diabetes", "DIAGNOSES_ICD.csv"))
    files = dict(zip(("train", "dev", "test"), LISTS, strict=True))
    lists = {split: admission_list(locate("diabetes", file)) for split, file in files.items()}
    everything = [admission for admissions in lists.values() for admission in admissions]
    if len(set(everything)) < len(everything):
        twice = next(admission for admission in everything if everything.count(admission) > 1)
        raise AttnError(f"admission {twice} stands twice in the lists {', '.join(LISTS)}; each belongs to one split")
    labels = {admission: int("25000" in codes.get(admission, ())) for admission in everything}
    texts, place, notes = _texts("diabetes", labels)
    return Prepared({s: texts.take([place[a] for a in lists[s] if a in place]) for s in lists}, notes=notes)


def _anemia() -> Prepared:
    """Discharge summaries with acute (285.1, label 1) or chronic (285.2x, label 0) anemia among the diagnoses, not
    both; split at random, stratified, over the admissions in ascending order of HADM_ID."""
    from sklearn.model_selection import train_test_split

    labels = {}
    for admission, codes in admission_codes(locate("anemia", "DIAGNOSES_ICD.csv")).items():
        acute, chronic = "2851" in codes, any(code.startswith("2852") for code in codes)
        if acute != chronic:
            labels[admission] = int(acute)
    texts, _, notes = _texts("anemia", labels)
    splits, rest = {}, np.arange(len(texts.lists))
    for split, share, seed in (("test", 0.2, 12939), ("dev", 0.15, 13448)):
        try:
            rest, part = train_test_split(rest, test_size=share, stratify=texts.labels[rest], random_state=seed)
        except ValueError as error:
            raise AttnError(f"corpus 'anemia': {len(rest)} summaries cannot be split for {split}: {error}") from error
        splits[split] = texts.take(part)
    return Prepared({"train": texts.take(rest), "dev": splits["dev"], "test": splits["test"]}, notes=notes)


def _texts(corpus: str, labels: dict[int, int]) -> tuple[Texts, dict[int, int], dict]:
    """Admissions with a summary, ascending: (texts, HADM_ID -> row, statistics). doc_ids count the rows: the number of
    an admission is never stored."""
    path = locate(corpus, "NOTEEVENTS.csv")
    found = summaries(path, labels)
    if not found:
        raise AttnError(f"{path} holds no discharge summary of the {len(labels)} admissions of corpus '{corpus}'")
    known = sorted(found)
    lists = [text.clean_clinical(found[admission]) for admission in known]
    texts = Texts(lists, np.array([labels[a] for a in known], dtype=np.int64), np.arange(len(known)))
    return texts, {a: i for i, a in enumerate(known)}, {"admissions_without_summary": len(labels) - len(known)}


def _adr() -> Prepared:
    """The authors' file adr_dataset.csv: text, label (1 = a reaction is mentioned) and, where it is there, exp_split
    (train, dev, test); without it stratified 80/20 (random_state 13020). dev: 15 % of train."""
    from sklearn.model_selection import train_test_split

    path = locate("adr", "adr_dataset.csv")
    faults, lists, labels, parts = Faults(path), [], [], []
    for line, (tweet, label, part) in rows(path, ("text", "label"), faults, optional=("exp_split",)):
        if label.strip() not in ("0", "1"):
            faults.add(line, "label is neither 0 nor 1")
        elif part is not None and part.strip() not in ("train", "dev", "test"):
            faults.add(line, "exp_split is none of train, dev, test")
        elif _foreign(tweet):
            faults.add(line, "text is not UTF-8")
        else:
            lists.append(text.clean_lower(tweet))
            labels.append(int(label))
            parts.append(part and part.strip())
    faults.check()
    row = np.arange(len(lists))
    texts = Texts(lists, np.array(labels, dtype=np.int64), row)
    try:
        if any(parts):
            splits = {part: texts.take(row[[p == part for p in parts]]) for part in dict.fromkeys(parts)}
        else:
            train, test = train_test_split(row, test_size=0.2, stratify=texts.labels, random_state=13020)
            splits = {"train": texts.take(train), "test": texts.take(test)}
        missing = [split for split in ("train", "test") if split not in splits]
        if missing:
            raise ValueError(f"no tweet has exp_split '{missing[0]}'")
        return Prepared(splits if "dev" in splits else with_dev(splits))
    except ValueError as error:
        raise AttnError(f"{path}: {len(lists)} tweets cannot be split: {error}") from error


PRIVATE = {"diabetes": _diabetes, "anemia": _anemia, "adr": _adr}
"""Corpus -> its function; ``encoding.build`` does the rest."""
