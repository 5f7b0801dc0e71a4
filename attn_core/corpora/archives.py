"""Readers of the official archives, each in the archive's own layout.

Every reader returns split -> table in the form of the Parquet files under $ATTN_DATA, so the rest never sees a
difference.
"""

import csv
import io
import json
import re
import tarfile
import zipfile
from pathlib import Path

from attn_core.errors import AttnError

AG_NEWS_FIRST_ROWS = 10_429  # rows of the official train.csv that the sample under $ATTN_DATA holds in order


class Faults:
    """Collects the malformed lines of a file, so that one message can name them all."""

    def __init__(self, where):
        self.where, self.lines = where, {}

    def add(self, line: int, fault: str) -> None:
        self.lines.setdefault(fault, []).append(line)

    def check(self) -> None:
        """AttnError with the number of every malformed line, if there is one."""
        if self.lines:
            told = [
                f"line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}: {fault}"
                for fault, numbers in self.lines.items()
            ]
            raise AttnError(f"{self.where} is malformed; {'; '.join(told)}")


def sst(archive: Path) -> dict:
    """``trees/{train,dev,test}.txt``, one bracketed tree a line -> text, label, label5, tree_index; neutral roots
    left out."""
    tables = {}
    with zipfile.ZipFile(archive) as members:
        for split in ("train", "dev", "test"):
            rows = []
            for index, line in enumerate(members.read(f"trees/{split}.txt").decode().split("\n")):
                if not line.strip():
                    continue
                root = int(line.strip()[1])
                if root != 2:
                    text = " ".join(re.findall(r"\(\d ([^()\s]+)\)", line))
                    rows.append((text, int(root > 2), root, index))
            tables[split] = table(rows, ("text", "label", "label5", "tree_index"))
    return tables


def newsgroups(archive: Path) -> dict:
    """``20news-bydate-{train,test}/<group>/<number>``, Latin-1 -> text, label, group, doc_id, sorted by group and
    file name."""
    posts = {"train": [], "test": []}
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            folder, *rest = member.name.removeprefix("./").split("/")
            split = folder.removeprefix("20news-bydate-")
            if member.isfile() and split in posts and len(rest) == 2:
                posts[split].append((*rest, members.extractfile(member).read().decode("latin-1")))
    groups = sorted({group for rows in posts.values() for group, _, _ in rows})
    label = {group: i for i, group in enumerate(groups)}
    columns = ("text", "label", "group", "doc_id")
    return {
        split: table([(text, label[group], group, doc_id) for group, doc_id, text in sorted(rows)], columns)
        for split, rows in posts.items()
    }


def imdb(archive: Path) -> dict:
    """``aclImdb/{train,test}/{neg,pos}/<id>_<stars>.txt`` -> text, label, stars, doc_id ('pos/0_9'), sorted by
    doc_id."""
    reviews = {"train": [], "test": []}
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            found = re.fullmatch(r"(?:\./)?aclImdb/(train|test)/((neg|pos)/\d+_(\d+))\.txt", member.name)
            if found:
                split, doc_id, side, stars = found.groups()
                text = members.extractfile(member).read().decode()
                reviews[split].append((doc_id, text, int(side == "pos"), int(stars)))
    columns = ("text", "label", "stars", "doc_id")
    return {
        split: table([(*rest, doc_id) for doc_id, *rest in sorted(rows)], columns) for split, rows in reviews.items()
    }


def ag_news(train: Path, test: Path) -> dict:
    """CSV without header: class 1-4, title, description -> text, label 0-3, title, description, part."""
    tables = {}
    for split, path in (("train", train), ("test", test)):
        with open(path, "rb") as file:
            rows = [(f"{t} {d}", label, t, d) for label, t, d in labelled_rows(file, str(path), 4, 2)]
        if split == "test":
            part = ["official"] * len(rows)
        else:
            part = ["first_rows" if i < AG_NEWS_FIRST_ROWS else "rest" for i in range(len(rows))]
        rows = [(*row, name) for row, name in zip(rows, part, strict=True)]
        tables[split] = table(rows, ("text", "label", "title", "description", "part"))
    return tables


def zhang(archive: Path, folder: str, classes: int, columns: int) -> dict:
    """``<folder>/{train,test}.csv`` of Zhang et al. (2015), without header: class from 1, then text columns, which are
    joined by blanks -> text, label from 0. The files' own escapes are kept, as in the Parquet files."""
    tables = {}
    with tarfile.open(archive, "r:gz") as members:
        for split in ("train", "test"):
            name = f"{folder}/{split}.csv"
            rows = labelled_rows(members.extractfile(name), f"{archive}, {name}", classes, columns)
            tables[split] = table([(" ".join(parts), label) for label, *parts in rows], ("text", "label"))
    return tables


def labelled_rows(file, where: str, classes: int, columns: int) -> list[tuple]:
    """The rows of a CSV file opened in binary: (label from 0, column, …), with ``columns`` columns of text.

    Errors: AttnError with the number of every malformed line: not UTF-8, broken quotes, another number of columns, no
    class from 1 to ``classes``. A row that spans lines goes by its first.
    """
    rows, faults = [], Faults(where)
    lines = csv.reader(io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline=""), strict=True)
    known = {str(number): number - 1 for number in range(1, classes + 1)}
    while True:
        first = lines.line_num + 1
        try:
            row = next(lines, None)
        except csv.Error as error:
            faults.add(first, f"{error}")
            continue
        if row is None:
            break
        if len(row) != columns + 1:
            faults.add(first, f"expected {columns + 1} columns")
        elif row[0] not in known:
            faults.add(first, f"the class is none of 1 to {classes}")
        elif not all(_is_utf8(part) for part in row):
            faults.add(first, "not UTF-8")
        else:
            rows.append((known[row[0]], *row[1:]))
    faults.check()
    return rows


def _is_utf8(part: str) -> bool:
    try:
        part.encode()
    except UnicodeEncodeError:  # a byte that could not be decoded
        return False
    return True


_BABI_FILES = {
    1: "qa1_single-supporting-fact",
    2: "qa2_two-supporting-facts",
    3: "qa3_three-supporting-facts",
}


def babi(archive: Path, task: int) -> dict:
    """``tasks_1-20_v1-2/en-10k/qa<task>_…_{train,test}.txt`` -> passage, question, answer, support, story, source.

    passage: the statements so far, one a line. support: 0-based lines of the passage, in the order of the original.
    """
    tables = {}
    with tarfile.open(archive, "r:gz") as members:
        for split in ("train", "test"):
            member = members.extractfile(f"tasks_1-20_v1-2/en-10k/{_BABI_FILES[task]}_{split}.txt")
            tables[split] = babi_table(io.TextIOWrapper(member, encoding="utf-8"))
    return tables


def babi_table(lines, source: str = "en-10k"):
    """The questions of a bAbI file as a table; a line number 1 starts a new story."""
    rows, story, statements, place = [], -1, [], {}
    for line in lines:
        number, _, text = line.rstrip("\n").partition(" ")
        if not text:
            continue
        if number == "1":
            story, statements, place = story + 1, [], {}
        if "\t" in text:
            question, answer, facts = text.split("\t")
            support = ",".join(str(place[fact]) for fact in facts.split())
            rows.append(("\n".join(statements), question.strip(), answer, support, story, source))
        else:
            place[number] = len(statements)
            statements.append(text.strip())
    return table(rows, ("passage", "question", "answer", "support", "story", "source"))


def snli(archive: Path) -> dict:
    """``snli_1.0/snli_1.0_{train,dev,test}.jsonl``, one object a line with sentence1, sentence2, gold_label ->
    premise, hypothesis, label; pairs without a gold label ('-') left out."""
    tables = {}
    with zipfile.ZipFile(archive) as members:
        for split in ("train", "dev", "test"):
            name = f"snli_1.0/snli_1.0_{split}.jsonl"
            rows, faults = [], Faults(f"{archive}, {name}")
            with members.open(name) as lines:
                for number, line in enumerate(lines, start=1):
                    try:
                        pair = json.loads(line)
                        row = pair["sentence1"], pair["sentence2"], pair["gold_label"]
                    except ValueError:
                        faults.add(number, "no JSON object")
                    except (KeyError, TypeError):
                        faults.add(number, "lacks sentence1, sentence2 or gold_label")
                    else:
                        if row[2] != "-":
                            rows.append(row)
            faults.check()
            tables[split] = table(rows, ("premise", "hypothesis", "label"))
    return tables


def cnn(archive: Path) -> dict:
    """``cnn/{train,dev,test}.txt``, blocks between empty lines: question, answer, passage, then one entity a line ->
    passage, question, answer. The form that Danqi Chen made and J&W took."""
    tables = {}
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            found = re.fullmatch(r"(?:\./)?cnn/(train|dev|test)\.txt", member.name)
            if not found:
                continue
            rows, faults, block = [], Faults(f"{archive}, {member.name}"), []
            lines = io.TextIOWrapper(members.extractfile(member), encoding="utf-8")
            for number, line in enumerate(_and_empty(lines), start=1):
                if line.strip():
                    block.append(line.strip())
                elif block:
                    if len(block) < 3:
                        faults.add(number - len(block), "a block of fewer than three lines")
                    else:
                        question, answer, passage = block[:3]
                        if not answer.startswith("@entity") or " " in answer:
                            faults.add(number - len(block) + 1, "the answer is no @entity")
                        rows.append((passage, question, answer))
                    block = []
            faults.check()
            tables[found[1]] = table(rows, ("passage", "question", "answer"))
    missing = [split for split in ("train", "dev", "test") if split not in tables]
    if missing:
        raise AttnError(f"{archive} lacks the member cnn/{missing[0]}.txt")
    return tables


def _and_empty(lines):
    """The lines, then an empty one, which ends the last block."""
    yield from lines
    yield ""


def table(rows, columns):
    """Rows as a data frame."""
    import pandas

    return pandas.DataFrame(rows, columns=list(columns))
