"""The official archives of the data sets: downloaded with checksum, unpacked while they are read.

Every reader takes the file of a split and returns the table in the form of the Parquet files under $ATTN_DATA. A file
whose checksum fits is the official one to the byte, so of lines only those of CNN are checked.
"""

import gzip
import io
import re
import shutil
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
    pattern, form = FORMS[str(entry.folder)]
    with TemporaryDirectory(prefix=half_written(), dir=downloads) as temporary:
        folder = Path(temporary)
        for path in archives:
            unpack(path, folder)
        tables = {}
        for split in entry.files:
            name = pattern.format(split)
            tables[split] = form(next(folder.glob(name), folder / name))
        return tables


def unpack(path: Path, folder: Path) -> None:
    """A .zip, .tar.gz or .csv into a folder, nothing outside it. OSError, EOFError, ValueError or zlib.error for an
    archive that is damaged, leads outside, or holds more than an official one may."""
    try:
        if path.suffix == ".csv":
            shutil.copy(path, folder)
        elif path.suffix == ".zip":
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


def trees(path: Path) -> pandas.DataFrame:
    """A bracketed tree a line -> text, label; neutral roots left out."""
    lines = pandas.Series(path.read_text(encoding="utf-8").strip().split("\n"))
    classes = lines.str[1].astype(int)  # of the root, 0 to 4
    text = lines.str.findall(r"\(\d ([^()\s]+)\)").str.join(" ")
    table = pandas.DataFrame({"text": text, "label": (classes > 2).astype(int)})
    return table[classes != 2].reset_index(drop=True)


def class_folders(path: Path, encoding: str = "utf-8", classes: list[str] | None = None) -> pandas.DataFrame:
    """A folder a class, a file a text -> text, label, group (of the class), doc_id (of the file), sorted by names;
    stars, which IMDB's files have in their names, '0_9'."""
    from sklearn.datasets import load_files

    texts = load_files(path, encoding=encoding, shuffle=False, categories=classes)
    names = pandas.Series([Path(name).stem for name in texts.filenames])
    groups = [texts.target_names[label] for label in texts.target]
    table = pandas.DataFrame({"text": texts.data, "label": texts.target, "group": groups, "doc_id": names})
    return table.assign(stars=names.str.split("_").str[1].astype(int)) if names.str.contains("_").all() else table


def labelled(path: Path, *names: str) -> pandas.DataFrame:
    """A CSV file of Zhang et al. (2015), class from 1 and texts, no heading -> text (joined by blanks), label from 0,
    the texts under the names given; escapes of the file are kept."""
    rows = pandas.read_csv(path, header=None, dtype=str, keep_default_na=False)
    texts = rows.drop(columns=0)
    table = pandas.DataFrame({"text": list(map(" ".join, texts.to_numpy())), "label": rows[0].astype(int) - 1})
    return table.assign(**{name: rows[column] for column, name in enumerate(names, 1)})


def stories(path: Path) -> pandas.DataFrame:
    """Lines of which one numbered 1 starts a story -> passage (the statements so far, one a line), question, answer,
    source."""
    rows = []
    statements: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        number, _, text = line.partition(" ")
        if number == "1":
            statements = []
        statement, *answer = text.split("\t")
        if answer:
            rows.append(("\n".join(statements), statement.strip(), answer[0], "en-10k"))
        else:
            statements.append(statement.strip())
    return pandas.DataFrame(rows, columns=["passage", "question", "answer", "source"])


def pairs(path: Path) -> pandas.DataFrame:
    """An object a line -> premise, hypothesis, label; pairs without a gold label ('-') left out."""
    names = {"sentence1": "premise", "sentence2": "hypothesis", "gold_label": "label"}
    table = pyarrow.json.read_json(path).select([*names]).to_pandas().rename(columns=names)
    return table[table["label"] != "-"].reset_index(drop=True)


def cloze(path: Path) -> pandas.DataFrame:
    """Blocks between empty lines: question, answer, passage, then one entity a line -> passage, question, answer. The
    form that Danqi Chen made and J&W took."""
    rows: list[tuple[str, str, str]] = []
    with open(path, encoding="utf-8") as file:
        for filled, lines in groupby(map(str.strip, file), key=bool):
            if filled:
                question, answer, passage = [*lines, "", ""][:3]
                if not passage or not re.fullmatch(r"@entity\S*", answer):
                    raise ValueError(f"cnn/{path.name}, block {len(rows) + 1}: not question, @entity and passage")
                rows.append((passage, question, answer))
    return pandas.DataFrame(rows, columns=["passage", "question", "answer"])


FORMS: dict[str, tuple[str, Callable[[Path], pandas.DataFrame]]] = {
    "sst": ("trees/{}.txt", trees),
    "20newsgroups": ("20news-bydate-{}", partial(class_folders, encoding="latin-1")),
    "imdb": ("aclImdb/{}", partial(class_folders, classes=["neg", "pos"])),
    "ag_news": ("ag_news_{}.csv", lambda path: labelled(path, "title", "description")),
    "babi_1": ("tasks_1-20_v1-2/en-10k/qa1_*_{}.txt", stories),
    "babi_2": ("tasks_1-20_v1-2/en-10k/qa2_*_{}.txt", stories),
    "babi_3": ("tasks_1-20_v1-2/en-10k/qa3_*_{}.txt", stories),
    "snli": ("snli_1.0/snli_1.0_{}.jsonl", pairs),
    "cnn": ("cnn/{}.txt", cloze),
    "amazon_review_full": ("*_csv/{}.csv", labelled),
    "yelp_review_full": ("*_csv/{}.csv", labelled),
    "yahoo_answers": ("*_csv/{}.csv", labelled),
}
"""Folder under $ATTN_DATA -> where a split's official file or folder lies, and what reads it."""
