"""The official archives of the data sets: downloaded with checksum, read each in its own layout.

Every reader returns split -> table in the form of the Parquet files under $ATTN_DATA, so the rest never sees a
difference.
"""

import csv
import io
import json
import re
import tarfile
import zipfile
import zlib
from functools import partial
from itertools import groupby
from pathlib import Path

import pandas

from attn_core.corpora.catalogue import SOURCES, Source
from attn_core.errors import AttnError, one_line

AG_NEWS_FIRST_ROWS = 10_429  # rows of the official train.csv that the sample under $ATTN_DATA holds in order
UNREADABLE = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, csv.Error, EOFError, OSError),
    *(LookupError, TypeError, ValueError),
)
BABI_FILES = {1: "qa1_single-supporting-fact", 2: "qa2_two-supporting-facts", 3: "qa3_three-supporting-facts"}


def fetch(source: Source, folder: Path) -> Path:
    """The file of a source in ``folder``, downloaded with a progress bar if it is absent or its checksum does not fit.

    A file put there by hand under the same name is taken if its checksum fits. Errors: AttnError for a refused
    connection, a wrong checksum (the file is then removed) or a folder that cannot be written.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel("ERROR")
    download = pooch.HTTPDownloader(progressbar=True, timeout=30)
    try:
        return Path(pooch.retrieve(source.url, source.checksum, source.file, folder, downloader=download))
    except ValueError as error:  # pooch's answer to a wrong checksum
        raise AttnError(
            f"{source.file} from {source.url} does not have the published checksum {source.checksum}; the download "
            "was incomplete or the official file has changed"
        ) from error
    except (OSError, requests.exceptions.RequestException) as error:
        raise AttnError(f"{source.file} cannot be downloaded from {source.url}: {one_line(error)}") from error


def read(folder: str, sources: tuple[str, ...], downloads: Path) -> dict[str, pandas.DataFrame]:
    """split -> table of a data set from its official files, which are downloaded into ``downloads`` if they are not
    there. AttnError in one line for a damaged archive or one of another layout."""
    files = [fetch(SOURCES[name], downloads) for name in sources]
    try:
        tables = READERS[folder](*files)
    except UNREADABLE as error:
        raise AttnError(
            f"{', '.join(str(file) for file in files)} cannot be read as the official archive of '{folder}': "
            f"{one_line(error)}; delete it to download it again"
        ) from error
    if any(len(table) == 0 for table in tables.values()):
        raise AttnError(f"{files[0]} holds no documents of '{folder}' in the official layout")
    return tables


def _table(rows, *columns: str) -> pandas.DataFrame:
    return pandas.DataFrame(rows, columns=list(columns))


def _sst(archive: Path) -> dict:
    """``trees/{train,dev,test}.txt``, one bracketed tree a line -> text, label, label5, tree_index; neutral roots
    left out."""
    tables = {}
    with zipfile.ZipFile(archive) as members:
        for split in ("train", "dev", "test"):
            rows = []
            for index, line in enumerate(members.read(f"trees/{split}.txt").decode().split("\n")):
                root = int(line.strip()[1]) if line.strip() else 2
                if root != 2:
                    rows.append((" ".join(re.findall(r"\(\d ([^()\s]+)\)", line)), int(root > 2), root, index))
            tables[split] = _table(rows, "text", "label", "label5", "tree_index")
    return tables


def _newsgroups(archive: Path) -> dict:
    """``20news-bydate-{train,test}/<group>/<number>``, Latin-1 -> text, label, group, doc_id, sorted by group and
    file name."""
    posts = {"train": [], "test": []}
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            found = re.fullmatch(r"(?:\./)?20news-bydate-(train|test)/([^/]+)/([^/]+)", member.name)
            if found and member.isfile():
                posts[found[1]].append((found[2], found[3], members.extractfile(member).read().decode("latin-1")))
    groups = sorted({group for rows in posts.values() for group, _, _ in rows})
    return {
        split: _table(
            [(text, groups.index(group), group, doc_id) for group, doc_id, text in sorted(rows)],
            "text", "label", "group", "doc_id",
        )
        for split, rows in posts.items()
    }  # fmt: skip


def _imdb(archive: Path) -> dict:
    """``aclImdb/{train,test}/{neg,pos}/<id>_<stars>.txt`` -> text, label, stars, doc_id ('pos/0_9'), sorted by
    doc_id."""
    reviews = {"train": [], "test": []}
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            found = re.fullmatch(r"(?:\./)?aclImdb/(train|test)/((neg|pos)/\d+_(\d+))\.txt", member.name)
            if found:
                split, doc_id, side, stars = found.groups()
                text = members.extractfile(member).read().decode()
                reviews[split].append((text, int(side == "pos"), int(stars), doc_id))
    return {
        split: _table(sorted(rows, key=lambda row: row[-1]), "text", "label", "stars", "doc_id")
        for split, rows in reviews.items()
    }


def _labelled(file, classes: int, columns: int) -> list[tuple]:
    """The rows of a CSV file without header, opened in binary: (label from 0, column, …), with ``columns`` columns of
    text. ValueError or csv.Error for the first line that is none."""
    rows, lines = [], csv.reader(io.TextIOWrapper(file, encoding="utf-8", newline=""), strict=True)
    label = {str(number): number - 1 for number in range(1, classes + 1)}
    for row in lines:
        if len(row) != columns + 1 or row[0] not in label:
            raise ValueError(f"line {lines.line_num}: expected a class from 1 to {classes} and {columns} columns")
        rows.append((label[row[0]], *row[1:]))
    return rows


def _ag_news(train: Path, test: Path) -> dict:
    """CSV without header: class 1-4, title, description -> text, label 0-3, title, description, part."""
    tables = {}
    for split, path in (("train", train), ("test", test)):
        with open(path, "rb") as file:
            found = _table(_labelled(file, 4, 2), "label", "title", "description")
        found.insert(0, "text", found["title"] + " " + found["description"])
        found["part"] = "official" if split == "test" else "rest"
        tables[split] = found
    tables["train"].loc[: AG_NEWS_FIRST_ROWS - 1, "part"] = "first_rows"
    return tables


def _zhang(folder: str, classes: int, columns: int, archive: Path) -> dict:
    """``<folder>/{train,test}.csv`` of Zhang et al. (2015), without header: class from 1, then text columns, which are
    joined by blanks -> text, label from 0. The files' own escapes are kept, as in the Parquet files."""
    tables = {}
    with tarfile.open(archive, "r:gz") as members:
        for split in ("train", "test"):
            rows = _labelled(members.extractfile(f"{folder}/{split}.csv"), classes, columns)
            tables[split] = _table([(" ".join(parts), label) for label, *parts in rows], "text", "label")
    return tables


def _babi(task: int, archive: Path) -> dict:
    """``tasks_1-20_v1-2/en-10k/qa<task>_…_{train,test}.txt`` -> passage, question, answer, support, story, source.

    A line number 1 starts a new story. passage: the statements so far, one a line. support: 0-based lines of the
    passage, in the order of the original.
    """
    tables = {}
    with tarfile.open(archive, "r:gz") as members:
        for split in ("train", "test"):
            rows, story, statements, place = [], -1, [], {}
            member = members.extractfile(f"tasks_1-20_v1-2/en-10k/{BABI_FILES[task]}_{split}.txt")
            for line in io.TextIOWrapper(member, encoding="utf-8"):
                number, _, text = line.rstrip("\n").partition(" ")
                if number == "1":
                    story, statements, place = story + 1, [], {}
                if "\t" in text:
                    question, answer, facts = text.split("\t")
                    support = ",".join(str(place[fact]) for fact in facts.split())
                    rows.append(("\n".join(statements), question.strip(), answer, support, story, "en-10k"))
                elif text:
                    place[number] = len(statements)
                    statements.append(text.strip())
            tables[split] = _table(rows, "passage", "question", "answer", "support", "story", "source")
    return tables


def _snli(archive: Path) -> dict:
    """``snli_1.0/snli_1.0_{train,dev,test}.jsonl``, one object a line with sentence1, sentence2, gold_label ->
    premise, hypothesis, label; pairs without a gold label ('-') left out."""
    tables = {}
    with zipfile.ZipFile(archive) as members:
        for split in ("train", "dev", "test"):
            with members.open(f"snli_1.0/snli_1.0_{split}.jsonl") as lines:
                rows = [_pair(line, number) for number, line in enumerate(lines, 1)]
            tables[split] = _table([row for row in rows if row[2] != "-"], "premise", "hypothesis", "label")
    return tables


def _pair(line: bytes, number: int) -> tuple[str, str, str]:
    try:
        pair = json.loads(line)
        return pair["sentence1"], pair["sentence2"], pair["gold_label"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"line {number}: no object with sentence1, sentence2 and gold_label") from error


def _cnn(archive: Path) -> dict:
    """``cnn/{train,dev,test}.txt``, blocks between empty lines: question, answer, passage, then one entity a line ->
    passage, question, answer. The form that Danqi Chen made and J&W took; it has no checksum, so a block that is
    none is refused by its number."""
    tables = {}
    with tarfile.open(archive, "r:gz") as members:
        for split in ("train", "dev", "test"):
            member, rows = io.TextIOWrapper(members.extractfile(f"cnn/{split}.txt"), encoding="utf-8"), []
            for written, block in groupby(map(str.strip, member), key=bool):
                lines = list(block)
                if written and (len(lines) < 3 or not re.fullmatch(r"@entity\S*", lines[1])):
                    raise ValueError(f"cnn/{split}.txt, block {len(rows) + 1}: not question, @entity and passage")
                if written:
                    rows.append((lines[2], lines[0], lines[1]))
            tables[split] = _table(rows, "passage", "question", "answer")
    return tables


READERS = {
    "sst": _sst,
    "20newsgroups": _newsgroups,
    "imdb": _imdb,
    "ag_news": _ag_news,
    **{f"babi_{task}": partial(_babi, task) for task in BABI_FILES},
    "snli": _snli,
    "cnn": _cnn,
    "amazon_review_full": partial(_zhang, "amazon_review_full_csv", 5, 2),
    "yelp_review_full": partial(_zhang, "yelp_review_full_csv", 5, 1),
    "yahoo_answers": partial(_zhang, "yahoo_answers_csv", 10, 3),
}
"""Folder under $ATTN_DATA -> reader of its official files."""
