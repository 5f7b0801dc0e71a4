"""The official archives of the data sets, downloaded with checksum and resume, and read in their own layout.

Every reader returns split -> table in the form of the Parquet files under $ATTN_DATA, so the rest never sees a
difference.
"""

import csv
import io
import re
import shutil
import sys
import tarfile
import urllib.request
import zipfile
import zlib
from pathlib import Path

from attn_core.corpora.sources import SOURCES, Source
from attn_core.errors import AttnError

AG_NEWS_FIRST_ROWS = 10_429  # rows of the official train.csv that the sample under $ATTN_DATA holds in order


def fetch(source: Source, folder: Path) -> Path:
    """The file of a source in ``folder``, downloaded if absent: progress bar, checksum, an interrupted download is
    resumed.

    A file put there by hand under the same name is taken if its checksum fits. Errors: AttnError for a refused
    connection, a wrong checksum (the file is then removed) or a folder that cannot be written.
    """
    import pooch
    import requests

    part = folder / f"{source.file}.part"

    def resumable(url, output, _):
        if url.startswith("file:"):
            with urllib.request.urlopen(url) as stream, open(output, "wb") as out:
                shutil.copyfileobj(stream, out)
            return
        _continue(url, part, source)
        shutil.move(part, output)

    try:
        folder.mkdir(parents=True, exist_ok=True)
        pooch.get_logger().setLevel("ERROR")
        return Path(pooch.retrieve(source.url, source.checksum, fname=source.file, path=folder, downloader=resumable))
    except ValueError as error:  # pooch's answer to a wrong checksum
        raise AttnError(
            f"{source.file} from {source.url} does not have the published checksum {source.checksum}; the download "
            "was incomplete or the official file has changed"
        ) from error
    except (OSError, requests.exceptions.RequestException) as error:
        raise AttnError(f"{source.file} cannot be downloaded from {source.url}: {_one_line(error)}") from error


def _continue(url: str, part: Path, source: Source) -> None:
    """Download to ``part`` with requests, from the byte where an earlier attempt stopped if the server allows it."""
    import requests
    from tqdm import tqdm

    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    with requests.get(url, headers=headers, stream=True, timeout=30) as answer:
        if answer.status_code == 416:  # nothing is left to send
            return
        answer.raise_for_status()
        resumed = answer.status_code == 206
        have = have if resumed else 0
        length = int(answer.headers.get("Content-Length", 0)) + have or source.size
        with (
            open(part, "ab" if resumed else "wb") as out,
            tqdm(total=length, initial=have, unit="B", unit_scale=True, desc=source.file, file=sys.stderr) as bar,
        ):
            for block in answer.iter_content(1 << 16):
                out.write(block)
                bar.update(len(block))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


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
            tables[split] = _table(rows, ("text", "label", "label5", "tree_index"))
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
        split: _table([(text, label[group], group, doc_id) for group, doc_id, text in sorted(rows)], columns)
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
        split: _table([(*rest, doc_id) for doc_id, *rest in sorted(rows)], columns) for split, rows in reviews.items()
    }


def ag_news(train: Path, test: Path) -> dict:
    """CSV without header: class 1-4, title, description -> text, label 0-3, title, description, part."""
    tables = {}
    for split, path in (("train", train), ("test", test)):
        with open(path, encoding="utf-8", newline="") as file:
            rows = [(f"{t} {d}", int(c) - 1, t, d) for c, t, d in csv.reader(file)]
        if split == "test":
            part = ["official"] * len(rows)
        else:
            part = ["first_rows" if i < AG_NEWS_FIRST_ROWS else "rest" for i in range(len(rows))]
        rows = [(*row, name) for row, name in zip(rows, part, strict=True)]
        tables[split] = _table(rows, ("text", "label", "title", "description", "part"))
    return tables


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
    return _table(rows, ("passage", "question", "answer", "support", "story", "source"))


def _table(rows, columns):
    import pandas

    return pandas.DataFrame(rows, columns=list(columns))


READERS = {
    "sst": (("sst",), sst),
    "20newsgroups": (("20newsgroups",), newsgroups),
    "imdb": (("imdb",), imdb),
    "ag_news": (("ag_news_train", "ag_news_test"), ag_news),
    "babi_1": (("babi",), lambda archive: babi(archive, 1)),
    "babi_2": (("babi",), lambda archive: babi(archive, 2)),
    "babi_3": (("babi",), lambda archive: babi(archive, 3)),
}
"""Folder under $ATTN_DATA -> (names in SOURCES, reader of those files)."""


_UNREADABLE = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error)


def read_official(folder: str, downloads: Path) -> dict:
    """split -> table of a data set from its official files, which are downloaded into ``downloads`` if they are not
    there."""
    names, reader = READERS[folder]
    files = [fetch(SOURCES[name], downloads) for name in names]
    try:
        tables = reader(*files)
    except (*_UNREADABLE, OSError, KeyError, ValueError, IndexError) as error:
        raise AttnError(
            f"{', '.join(str(file) for file in files)} cannot be read as the official archive of '{folder}': "
            f"{_one_line(error)}; delete it to download it again"
        ) from error
    if any(len(table) == 0 for table in tables.values()):
        raise AttnError(f"{files[0]} holds no documents of '{folder}' in the official layout")
    return tables
