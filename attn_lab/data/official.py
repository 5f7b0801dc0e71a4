"""The official archives of the data sets: downloaded with checksum, unpacked while they are read.

Every reader takes the folder with the unpacked files and a split and returns the table in the form of the Parquet files
under $ATTN_DATA. A file whose checksum fits is the official one to the byte, so of lines only those of CNN are checked.
"""

import csv
import gzip
import io
import re
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas
import pyarrow
import pyarrow.json

from attn_lab.data.catalogue import Corpus, Source
from attn_lab.data.files import half_written, replacing

LARGEST_DOWNLOAD = 2 * 10**9
"""Bytes; the largest official file, Amazon's reviews, has a third of it."""
LARGEST_GROWTH = 30
"""Bytes unpacked for one packed, more than any official archive has."""
ALWAYS_UNPACKED = 10**8
"""Bytes that an archive of any size may hold."""


@dataclass
class Limited(io.RawIOBase):
    """A binary file that lets no more than so many bytes through; ValueError for the first one more."""

    file: Any
    most: int
    name: str
    passed: int = 0

    def count(self, size: int):
        self.passed += size
        if self.passed > self.most:
            raise ValueError(f"{self.name} holds more than {self.most:,} bytes")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        size = self.file.readinto(buffer)
        self.count(size)
        return size

    def write(self, data) -> int:
        self.count(len(data))
        return self.file.write(data)


def limited(path: Path, file: Any = None) -> Limited:
    """What holds a packed file to the size that an official one may have, and a user's."""
    return Limited(file, max(ALWAYS_UNPACKED, LARGEST_GROWTH * path.stat().st_size), path.name)


def fetch(source: Source, folder: Path) -> Path:
    """The file of a source in ``folder`` (perhaps put there by hand), downloaded with a progress bar if it is absent or
    its checksum does not fit. OSError for a refused connection or a folder that cannot be written, ValueError for a
    download that is too large or has a wrong checksum, which is removed."""
    import pooch

    def download(url, path, _) -> None:
        with replacing(Path(path)) as file:  # what a kill leaves is swept away, see `store.sweep_away`
            bounded = Limited(file, LARGEST_DOWNLOAD, source.file)
            pooch.HTTPDownloader(progressbar=True, timeout=30)(url, bounded, None)

    pooch.get_logger().setLevel("ERROR")
    return Path(pooch.retrieve(source.url, source.checksum, source.file, folder, downloader=download))


def read(entry: Corpus, sources: list[Source], downloads: Path) -> dict[str, pandas.DataFrame]:
    """split -> table of a data set from its official files. Errors as of `fetch` and `unpack`."""
    archives = [fetch(source, downloads) for source in sources]
    with TemporaryDirectory(prefix=half_written(), dir=downloads) as folder:
        for path in archives:
            if path.suffix != ".csv":  # those are read where they lie
                unpack(path, Path(folder))
        reader = READERS[str(entry.folder)]
        return {split: reader(Path(folder), split) for split in entry.files}


def unpack(path: Path, folder: Path) -> None:
    """A .zip or .tar.gz into a folder, nothing outside it. OSError, EOFError, ValueError or zlib.error for an archive
    that is damaged, leads outside, or holds more than an official one may."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                limited(path).count(sum(member.file_size for member in archive.infolist()))
                archive.extractall(folder)  # drops what leads outside, and knows no links
        else:
            with gzip.open(path) as packed:
                unpack_tar(limited(path, packed), folder.resolve())
    except (tarfile.TarError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path.name} is no sound archive: {error}") from error


def unpack_tar(packed: Limited, folder: Path) -> None:
    """The files of a .tar into a folder, one by one: `extractall` has its filter from Python 3.11.4 on only.

    ValueError for a name that leads outside, a link, a device, and a sparse file, which has no bound.
    """
    with tarfile.open(fileobj=packed, mode="r|") as archive:
        for member in archive:
            if member.isdir():
                continue
            path = (folder / member.name).resolve()
            if not member.isfile() or member.issparse() or not path.is_relative_to(folder):
                raise ValueError(f"{packed.name} holds '{member.name}', which is no plain file or leads outside")
            path.parent.mkdir(parents=True, exist_ok=True)
            archive.makefile(member, path)


def _sst(folder: Path, split: str) -> pandas.DataFrame:
    """``trees/{train,dev,test}.txt``, a bracketed tree a line -> text, label; neutral roots left out."""
    rows = []
    trees = (folder / f"trees/{split}.txt").read_text(encoding="utf-8")
    for tree in trees.strip().split("\n"):
        root = tree[1]  # its class, 0 to 4
        if root != "2":
            leaves = re.findall(r"\(\d ([^()\s]+)\)", tree)
            rows.append((" ".join(leaves), int(root > "2")))
    return pandas.DataFrame(rows, columns=["text", "label"])


def _folders(folder: Path, encoding: str, classes: list[str] | None = None) -> pandas.DataFrame:
    """A folder a class, a file a text -> text, label, group (of the class), doc_id (of the file), sorted by names."""
    from sklearn.datasets import load_files

    texts = load_files(folder, encoding=encoding, shuffle=False, categories=classes)
    names = [Path(name).stem for name in texts.filenames]
    groups = [texts.target_names[label] for label in texts.target]
    return pandas.DataFrame({"text": texts.data, "label": texts.target, "group": groups, "doc_id": names})


def _newsgroups(folder: Path, split: str) -> pandas.DataFrame:
    """``20news-bydate-{train,test}/<group>/<number>`` -> text, label, group, doc_id."""
    return _folders(folder / f"20news-bydate-{split}", "latin-1")


def _imdb(folder: Path, split: str) -> pandas.DataFrame:
    """``aclImdb/{train,test}/{neg,pos}/<id>_<stars>.txt`` -> text, label, group, doc_id ('0_9'), stars."""
    reviews = _folders(folder / "aclImdb" / split, "utf-8", ["neg", "pos"])
    stars = reviews["doc_id"].str.split("_").str[1]
    return reviews.assign(stars=stars.astype(int))


def _labelled(path: Path, *columns: str) -> pandas.DataFrame:
    """A CSV file of Zhang et al. (2015), class from 1 and texts, no heading -> text (joined by blanks), label from 0,
    the texts under the names given; escapes of the file are kept."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = []
        for label, *texts in csv.reader(file):
            rows.append((" ".join(texts), int(label) - 1, *texts[: len(columns)]))
    return pandas.DataFrame(rows, columns=["text", "label", *columns])


def _ag_news(folder: Path, split: str) -> pandas.DataFrame:
    """``ag_news_{train,test}.csv`` beside the folder -> text, label, title, description."""
    return _labelled(folder.parent / f"ag_news_{split}.csv", "title", "description")


def _reviews(folder: Path, split: str) -> pandas.DataFrame:
    """``<name>_csv/{train,test}.csv`` -> text, label."""
    (path,) = folder.glob(f"*_csv/{split}.csv")
    return _labelled(path)


def _babi(task: int, folder: Path, split: str) -> pandas.DataFrame:
    """``tasks_1-20_v1-2/en-10k/qa<task>_…_{train,test}.txt``, where a line numbered 1 starts a story -> passage (the
    statements so far, one a line), question, answer, source."""
    rows = []
    statements: list[str] = []
    (path,) = folder.glob(f"tasks_1-20_v1-2/en-10k/qa{task}_*_{split}.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        number, _, text = line.partition(" ")
        if number == "1":
            statements = []
        if "\t" in text:
            question, answer, _ = text.split("\t")
            rows.append(("\n".join(statements), question.strip(), answer, "en-10k"))
        else:
            statements.append(text.strip())
    return pandas.DataFrame(rows, columns=["passage", "question", "answer", "source"])


def _snli(folder: Path, split: str) -> pandas.DataFrame:
    """``snli_1.0/snli_1.0_{train,dev,test}.jsonl``, one object a line with sentence1, sentence2, gold_label ->
    premise, hypothesis, label; pairs without a gold label ('-') left out."""
    keys = {"sentence1": "premise", "sentence2": "hypothesis", "gold_label": "label"}
    schema = pyarrow.schema(dict.fromkeys(keys, pyarrow.string()))
    options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    pairs = pyarrow.json.read_json(folder / f"snli_1.0/snli_1.0_{split}.jsonl", parse_options=options).to_pandas()
    return pairs[pairs["gold_label"] != "-"].rename(columns=keys).reset_index(drop=True)


def _cnn(folder: Path, split: str) -> pandas.DataFrame:
    """``cnn/{train,dev,test}.txt``, blocks between empty lines: question, answer, passage, then one entity a line ->
    passage, question, answer. The form that Danqi Chen made and J&W took."""
    rows: list[tuple[str, str, str]] = []
    with open(folder / f"cnn/{split}.txt", encoding="utf-8") as file:
        for filled, lines in groupby(map(str.strip, file), key=bool):
            if filled:
                block = list(lines)
                if len(block) < 3 or not re.fullmatch(r"@entity\S*", block[1]):
                    raise ValueError(f"cnn/{split}.txt, block {len(rows) + 1}: not question, @entity and passage")
                question, answer, passage = block[:3]
                rows.append((passage, question, answer))
    return pandas.DataFrame(rows, columns=["passage", "question", "answer"])


READERS: dict[str, Callable[[Path, str], pandas.DataFrame]] = {
    "sst": _sst,
    "20newsgroups": _newsgroups,
    "imdb": _imdb,
    "ag_news": _ag_news,
    "babi_1": partial(_babi, 1),
    "babi_2": partial(_babi, 2),
    "babi_3": partial(_babi, 3),
    "snli": _snli,
    "cnn": _cnn,
    "amazon_review_full": _reviews,
    "yelp_review_full": _reviews,
    "yahoo_answers": _reviews,
}
"""Folder under $ATTN_DATA -> reader of its official files."""
