"""Data sets of which only the user's own copy is read: MIMIC-III discharge summaries, the tweets of Jain & Wallace.

Where the files lie: ``$ATTN_DATA/mimic`` holds NOTEEVENTS.csv and DIAGNOSES_ICD.csv as PhysioNet gives them out (or
both with .gz), and for Diabetes the authors' admission lists {train,dev,test}_50_hadm_ids.csv; ``$ATTN_DATA/adr``
holds adr_dataset.csv. Nothing of them is stored but arrays in the user's cache.
"""

from itertools import chain
from pathlib import Path

import numpy as np
import pandas

from attn_core.corpora import catalogue, files
from attn_core.corpora.prepare import Prepared, Texts
from attn_core.errors import AttnError
from attn_data import cleaning, tables
from attn_data.prepare import apart, with_dev


def needed(corpus: str, file: str) -> Path:
    """The user's file, plain or with .gz; where it is absent, one AttnError that says what to put where."""
    entry = catalogue.corpus(corpus)
    path = files.locate(entry, file)
    if path is None:
        raise AttnError(
            f"corpus '{corpus}' is read from your own copy only and {file} is not there; put {', '.join(entry.own)} "
            f"(or with .gz) into {entry.folder} under $ATTN_DATA ({files.data_folder() or 'not set'}); "
            f"they come from {entry.origin}"
        )
    return path


def refuse(path: Path, wrong: pandas.Series, fault: str) -> None:
    """AttnError with the first record that is wrong, if one is."""
    if wrong.any():
        raise AttnError(f"{path}, record {wrong.idxmax()}: {fault} ({wrong.sum()} such records in {len(wrong)})")


def admission_codes(path: Path) -> dict[int, set[str]]:
    """DIAGNOSES_ICD.csv -> HADM_ID -> ICD-9 codes without dots; the official file has rows without a code."""
    table = pandas.concat(tables.records(path, ("hadm_id", "icd9_code")))
    refuse(path, ~table["hadm_id"].str.isdecimal(), "HADM_ID is no whole number")
    table = table[table["icd9_code"] != ""].astype({"hadm_id": int})
    codes = table["icd9_code"].str.replace(".", "").str.upper()
    return dict(codes.groupby(table["hadm_id"]).agg(set))


def summaries(path: Path, wanted) -> dict[int, str]:
    """NOTEEVENTS.csv -> HADM_ID, ascending -> discharge summary of the admissions wanted.

    Notes flagged as errors are left out. Per admission first the reports, then the addenda, each by date, joined by a
    blank (J&W); notes of one day stay in the order of the file.
    """
    columns = ("hadm_id", "chartdate", "category", "description", "iserror", "text")
    notes = []
    for block in tables.records(path, columns):
        discharge = block[block["category"].str.lower() == "discharge summary"]
        refuse(path, ~discharge["hadm_id"].str.isdecimal(), "HADM_ID is no whole number")
        refuse(path, ~discharge["chartdate"].str.match(r"\d{4}-\d\d-\d\d"), "CHARTDATE is no date")
        refuse(path, ~discharge["iserror"].isin(["", "0", "1"]), "ISERROR is neither empty nor 1")
        addendum = discharge["description"].str.lower() == "addendum"
        discharge = discharge.assign(hadm_id=discharge["hadm_id"].astype(int), addendum=addendum)
        sound = discharge["iserror"] != "1"
        notes.append(discharge[sound & discharge["hadm_id"].isin(wanted)])
    ordered = pandas.concat(notes).sort_values(["addendum", "chartdate"], kind="stable")
    return dict(ordered.groupby("hadm_id")["text"].agg(" ".join))


def admission_list(path: Path) -> list[int]:
    """One HADM_ID a line."""
    with tables.opened(path) as file:
        return [int(line) for line in file.read().split()]


def _diabetes() -> Prepared:
    """Discharge summaries of the authors' admission lists; label 1 = ICD-9 code 250.00 is among the diagnoses."""
    codes = admission_codes(needed("diabetes", "DIAGNOSES_ICD.csv"))
    lists = {
        split: admission_list(needed("diabetes", f"{split}_50_hadm_ids.csv")) for split in ("train", "dev", "test")
    }
    labels: dict[int, int] = {}
    for admission in chain.from_iterable(lists.values()):
        if admission in labels:
            raise AttnError(f"admission {admission} stands twice in the lists; each belongs to one split")
        labels[admission] = int("25000" in codes.get(admission, ()))
    summarised, texts = _texts("diabetes", labels)
    row = pandas.Series(range(len(summarised)), summarised)  # admissions without a summary have none
    splits = {}
    for split, ids in lists.items():
        rows = row.reindex(ids).dropna()
        splits[split] = texts.take(rows.astype(int))
    return Prepared(splits)


def _anemia() -> Prepared:
    """Discharge summaries with acute (285.1, label 1) or chronic (285.2x, label 0) anemia among the diagnoses, not
    both; split at random, stratified, over the admissions in ascending order of HADM_ID."""
    labels = {}
    for admission, codes in admission_codes(needed("anemia", "DIAGNOSES_ICD.csv")).items():
        acute = "2851" in codes
        chronic = any(code.startswith("2852") for code in codes)
        if acute != chronic:
            labels[admission] = int(acute)
    _, texts = _texts("anemia", labels)
    splits = apart(texts, 12939, 0.2, stratified=True)
    return Prepared(with_dev(splits, 13448, 0.15, stratified=True))


def _texts(corpus: str, labels: dict[int, int]) -> tuple[list[int], Texts]:
    """The admissions that have a summary, ascending, and their texts (doc_ids: rows; no HADM_ID is ever stored)."""
    path = needed(corpus, "NOTEEVENTS.csv")
    written = summaries(path, labels)
    if not written:
        raise AttnError(f"{path} holds no discharge summary of the {len(labels)} admissions of corpus '{corpus}'")
    lists = [cleaning.clean_clinical(summary) for summary in written.values()]
    classes = np.array([labels[admission] for admission in written])
    return list(written), Texts(lists, classes, np.arange(len(written)))


def _adr() -> Prepared:
    """The authors' file adr_dataset.csv: text, label (1 = a reaction is mentioned) and, where it is there, exp_split
    (train, dev, test); without it stratified 80/20 (random_state 13020). dev: 15 % of train."""
    path = needed("adr", "adr_dataset.csv")
    table = pandas.concat(tables.records(path, ("text", "label"), ("exp_split",)))
    refuse(path, ~table["label"].isin(["0", "1"]), "label is neither 0 nor 1")
    lists = [cleaning.clean_lower(tweet) for tweet in table["text"]]
    labels = table["label"].astype(int)
    texts = Texts(lists, labels.to_numpy(), np.arange(len(table)))
    if "exp_split" not in table:
        return Prepared(with_dev(apart(texts, 13020, 0.2, stratified=True)))
    refuse(path, ~table["exp_split"].isin(["train", "dev", "test"]), "exp_split is none of train, dev, test")
    rows_of = table.groupby("exp_split").indices
    splits = {str(split): texts.take(rows) for split, rows in rows_of.items()}
    return Prepared(with_dev(splits) if set(splits) == {"train", "test"} else splits)


PREPARE = {"diabetes": _diabetes, "anemia": _anemia, "adr": _adr}
"""Corpus -> its function; ``arrays.build`` does the rest."""
