"""A table of texts and labels, of a file or a DataFrame: cleaned, split, and what was done to it in a line."""

import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_lab.data.files import FORMS
from attn_lab.data.tables import ending, read_table, renamed
from attn_lab.studies.numbers import FEWEST

LEAST = 5
"""Texts that a class needs; the texts of smaller ones are dropped, where they are few."""

MOST_HELD_OUT = 1_000
"""Texts of a drawn dev, and of a drawn test split: reading one takes the square of its length."""

UNSEEN = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"))
"""Signs without width."""

FOLDS = range(3, 11)
SPLITS = ("train", "dev", "test")
MEANT = dict.fromkeys(("val", "valid", "validation", "develop", "development"), "dev")
MEANT |= {"training": "train", "testing": "test"}
"""Other names of the splits."""


@dataclass(frozen=True)
class Cleaned:
    """Texts that can be studied.

    Parameters
    ----------
    rows : DataFrame
        Columns text, label (both text) and split: train, dev or test; with `fold` the number of the part, from 0. The
        index counts the rows of the table from 1.
    classes : list of str
        In the order of their numbers, else of the alphabet.
    faults : list of str
        What was left out, with counts.
    notes : list of str
        What else was done, what may be meant otherwise, and what the texts are.
    form : str
        Encoding and separator that were found in a file of text.
    strict : bool
        Whether what may be meant otherwise is refused.
    """

    rows: pd.DataFrame
    classes: list[str]
    faults: list[str]
    form: str = ""
    strict: bool = False
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """As in: 5 empty, 60 duplicates dropped; classes neg 85 : pos 15 %; read as cp1252, parted by ;"""
        share = self.rows["label"].value_counts(normalize=True)
        percent = (100 * share).map(lambda value: f"{value:.0f}" if value >= 0.5 else "< 1")
        classes = " : ".join(f"{name} {percent[name]}" for name in self.classes)
        sizes = self.rows["split"].value_counts()
        names = SPLITS if "train" in sizes else sorted(sizes.index)
        splits = " : ".join(f"{name} {sizes[name]}" for name in names)
        dropped = f"{', '.join(self.faults)} dropped" if self.faults else "nothing dropped"
        parts = [f"{len(self.rows):,} texts", dropped, f"classes {classes} %", f"split {splits}", *self.notes]
        if self.form:
            parts.append(f"read as {self.form}")
        return "; ".join(parts)

    def doubt(self, note: str) -> None:
        """Notes what is kept and may be meant otherwise; with `strict` an AttnError."""
        if self.strict:
            raise AttnError(f"{note}; mend it, or leave strict out: then it is kept as it is")
        self.notes.append(note)


def cleaned(
    table: pd.DataFrame | str | Path,
    text: str = "text",
    label: str = "label",
    split: str = "split",
    strict: bool = False,
    fold: int = 0,
    header: bool = True,
    encoding: str = "",
) -> Cleaned:
    """The texts of a table or a file of one, whatever its form; see `attn_lab.study` for the arguments.

    Texts are the same where they are but for case, blanks and Unicode's form. Of the same text with the same label one
    row is kept; with several labels all are, in one split. A drawn split is 60:20:20 within each class; of fewer than
    250 texts more are held out, up to a half, so that FEWEST are tested.
    """
    if len({text, label, split}) < 3:
        raise AttnError(f"texts, labels and splits are columns of their own, got '{text}', '{label}' and '{split}'")
    if fold and fold not in FOLDS:
        raise AttnError(f"fold is 0 (a single split) or {FOLDS[0]} to {FOLDS[-1]} parts, each tested once; got {fold}")
    where, table = read(table, text, label, split, header, encoding)
    rows = pd.DataFrame({"text": as_written(table[text], where), "label": as_written(table[label], where)})
    rows["split"] = as_written(table[split], where).str.lower().replace(MEANT) if split in table else ""
    rows.index = pd.RangeIndex(1, len(rows) + 1)
    rows["same"] = rows["text"].map(normal_form)
    has_split = bool(rows["split"].any())
    if has_split and fold:
        raise AttnError(f"{where} has a split of its own in column '{split}', and fold draws others; leave one out")

    faults: list[str] = []
    for fault, wrong in (
        ("empty", is_empty),
        ("in two splits", is_shared),
        ("duplicates", is_duplicate),
        ("of rare classes", is_rare),
    ):
        drop = wrong(rows)
        if drop.any():
            faults.append(f"{drop.sum():,} {fault}")
            if strict:
                raise AttnError(f"{where}: row {drop.idxmax()} is the first of {faults[-1]}; --strict drops none")
            rows = rows[~drop]
    check_sizes(rows, where, label, faults)
    rows = with_dev(rows, where, split) if has_split else rows.assign(split=drawn(rows, fold))
    classes = in_order(rows["label"])
    texts = Cleaned(rows.drop(columns="same"), classes, faults, table.attrs.get("form", ""), strict)
    for doubt in doubtful(pd.Series(classes), rows):
        texts.doubt(doubt)
    return texts


def read(
    table: pd.DataFrame | str | Path,
    text: str,
    label: str,
    split: str,
    header: bool,
    encoding: str,
) -> tuple[str, pd.DataFrame]:
    """What to call a table in messages, and its rows with the columns named as asked for."""
    optional = (split,) if split else ()
    if isinstance(table, pd.DataFrame):
        names = renamed("the table", table.columns, (text, label), optional)
        return "the table", table.set_axis(names, axis=1)
    if not isinstance(table, str | Path):
        raise AttnError(f"a table is a DataFrame, or a file of one, and no {type(table).__name__}")
    path = Path(table)
    if not path.is_file() or ending(path) not in FORMS:
        forms = f"{', '.join(FORMS)}, each also with .gz"
        raise AttnError(f"{path}: no such file, or none of {forms}; of a workbook save the sheet as CSV")
    return str(path), read_table(path, (text, label), optional, header, encoding)


def as_written(values: pd.Series, where: str) -> pd.Series:
    """A column as a CSV file would have it: text in Unicode's composed form without blanks around, '' where missing.

    AttnError for lists, mappings and bytes, which are no single text or label. Half of a sign is U+FFFD.
    """
    texts = []
    for value in values.astype(object):
        if not pd.api.types.is_scalar(value) or isinstance(value, bytes):
            raise AttnError(
                f"{where}: column '{values.name}' holds lists or the like; give one text and one label a row"
            )
        written = "" if pd.isna(value) else str(value)
        whole = written.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        texts.append(unicodedata.normalize("NFC", whole).strip())
    return pd.Series(texts, values.index)


def normal_form(text: str) -> str:
    """What is the same in two texts that differ in case, blanks or Unicode's form."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(UNSEEN).casefold().split())


# ---- rows that are left out, each (rows) -> bool a row ---------------------------------------------------------------


def is_empty(rows: pd.DataFrame) -> pd.Series:
    """No text, or no label; no split where others have one."""
    no_split = (rows["split"] == "") & rows["split"].any()
    return (rows["same"] == "") | (rows["label"] == "") | no_split


def is_shared(rows: pd.DataFrame) -> pd.Series:
    """In another split than the last (test, else dev) that holds the same text."""
    rank = rows["split"].map({name: i for i, name in enumerate(SPLITS)})
    return rank < rank.groupby(rows["same"]).transform("max")


def is_duplicate(rows: pd.DataFrame) -> pd.Series:
    """The same text with the same label stands above."""
    return rows.duplicated(["same", "label"])


def is_rare(rows: pd.DataFrame) -> pd.Series:
    """Of a class of fewer than LEAST texts, where these are less than a tenth of all."""
    rare = rows.groupby("label")["label"].transform("size") < LEAST
    return rare & (rare.mean() < 0.1)


def doubtful(classes: pd.Series, rows: pd.DataFrame) -> list[str]:
    """What may be meant otherwise: classes that differ in spelling alone, are several in one, or fractions, or of which
    train holds none."""
    number = pd.to_numeric(classes, errors="coerce")
    spelling = number.astype(str).where(number.notna(), classes.map(normal_form))
    kinds = {
        "in two spellings": spelling.duplicated(keep=False),
        "of several joined": classes.str.contains(r"[|;,]"),
        "that are fractions": number % 1 > 0,
        "that train does not hold": ~classes.isin(rows.loc[~rows["split"].isin(["dev", "test"]), "label"]),
    }
    return [f"classes {kind}: {' '.join(classes[which])[:40]}" for kind, which in kinds.items() if which.any()]


# ---- classes and splits ----------------------------------------------------------------------------------------------


def check_sizes(
    rows: pd.DataFrame,
    where: str,
    label: str,
    faults: list[str],
) -> None:
    """AttnError for too few texts, and for labels that are no classes."""
    if len(rows) < FEWEST:
        without = f" without {', '.join(faults)}" if faults else ""
        raise AttnError(f"{where} holds {len(rows)} texts{without}; at least {FEWEST} are needed")
    sizes = rows["label"].value_counts()
    if not 2 <= len(sizes) <= len(rows) / 10 or sizes.min() < LEAST:
        fault = f"{len(sizes)} classes, the smallest with {sizes.min()} texts"
        raise AttnError(f"{where}: column '{label}' has {fault}; two or more with at least {LEAST} each are needed")


def in_order(labels: pd.Series) -> list[str]:
    """The classes in the order of their numbers; of the alphabet where one is no number."""
    classes = sorted(labels.unique())
    numbers = pd.to_numeric(pd.Series(classes), errors="coerce")
    return [classes[i] for i in numbers.argsort(kind="stable")] if numbers.notna().all() else classes


def drawn(rows: pd.DataFrame, fold: int = 0) -> pd.Series:
    """The split of each row, in each class 60:20:20 but at most MOST_HELD_OUT of dev and test, and of few texts up to
    half; or the number of its part, as text. The same texts stay together."""
    firsts = rows.drop_duplicates("same").sample(frac=1, random_state=0)
    turn = firsts.groupby("label").cumcount()
    if fold:
        places = (turn % fold).astype(str)
    else:
        share = min(0.5, max(0.4, 2 * FEWEST / len(firsts)), 2 * MOST_HELD_OUT / len(firsts))
        held_out = turn < share * turn.groupby(firsts["label"]).transform("size")
        places = pd.Series(np.where(held_out, np.where(turn % 2, "dev", "test"), "train"), firsts.index)
    return rows["same"].map(dict(zip(firsts["same"], places, strict=True)))


def with_dev(
    rows: pd.DataFrame,
    where: str,
    split: str,
) -> pd.DataFrame:
    """Rows with a user's train, dev and test; dev is drawn from train where there is none. AttnError for others."""
    names = set(rows["split"])
    if names == {"train", "test"}:
        training = rows[rows["split"] == "train"]
        to_dev = drawn(training) == "dev"
        rows.loc[training.index[to_dev], "split"] = "dev"
        names.add("dev")
    if names != set(SPLITS):
        shown = ", ".join(sorted(names)[:5])
        raise AttnError(f"{where}: column '{split}' must hold train, dev and test; it holds {shown}; or rename it")
    for name, part in rows.groupby("split"):
        if part["label"].nunique() < 2:
            raise AttnError(f"{where}: all texts of split '{name}' are of one class; two are needed")
    return rows


def parts(cleaned: Cleaned, number: int = 0) -> dict[str, pd.DataFrame]:
    """Split -> its rows; of a table in parts that of this number is test, the next one dev."""
    rows = cleaned.rows
    if rows["split"].isin(SPLITS).all():
        return {name: rows[rows["split"] == name] for name in SPLITS}
    part = rows["split"].astype(int)
    after = (part - number) % (part.max() + 1)
    return {"train": rows[after > 1], "dev": rows[after == 1], "test": rows[after == 0]}
