"""Where a data set's tables come from, and where everything made from them is kept.

Order of look-up: ``$ATTN_DATA/<folder>/<split>.parquet``, the local cache, the official download, one clear error.
"""

import csv
import gzip
import hashlib
import json
import os
import re
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet

from attn_core.corpora import catalogue, official
from attn_core.errors import AttnError, one_line


def cache_folder() -> Path:
    """Everything that can be made again, downloads and runs too: $ATTN_CACHE, else in the user's cache folder."""
    import platformdirs

    return folder_of("ATTN_CACHE") or platformdirs.user_cache_path("attn_core")


def data_folder() -> Path | None:
    """$ATTN_DATA, the user's own copies of data sets as Parquet; None if unset, AttnError if it is no folder."""
    folder = folder_of("ATTN_DATA")
    if folder and not folder.is_dir():
        raise AttnError(
            f"ATTN_DATA names {folder}, which is no folder; let it name the one that holds sst/train.parquet and the "
            "like (data/README.md), or unset it to take the official files"
        )
    return folder


def folder_of(variable: str) -> Path | None:
    """The folder that an environment variable names, ``~`` expanded; None if unset.

    A relative path is settled at the first call, for this process and those that it starts: the variable then holds the
    absolute path, and no change of folder gives it another meaning. AttnError for an address such as ``s3://…``.
    """
    value = os.path.expanduser(os.environ.get(variable, ""))
    if not value:
        return None
    if re.match(r"~|[A-Za-z][A-Za-z0-9+.-]+:", value):  # one letter and a colon is a drive
        raise AttnError(f"{variable} is '{value}', which is no folder of this machine; give a path such as /data/attn")
    os.environ[variable] = os.path.abspath(value)
    return Path(os.environ[variable])


def say(message: str) -> None:
    """One warning line on stderr."""
    print(f"warning: {message}", file=sys.stderr)


@contextmanager
def replacing(path: Path, mode: str = "wb"):
    """A file open for writing that takes its place in one step, or not at all if the block fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial_path = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, mode) as file:
            yield file
        os.chmod(partial_path, 0o644)  # mkstemp makes files private; a cache may be shared
        os.replace(partial_path, path)
    except BaseException:
        Path(partial_path).unlink(missing_ok=True)
        raise


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(values) -> str:
    """SHA-256 of what JSON can hold."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def keep(path: Path, write: Callable) -> None:
    """A file of the cache, written by write(file) in one step; one warning line where the cache cannot be written."""
    try:
        with replacing(path) as file:
            write(file)
    except OSError as error:
        say(f"the cache {path.parent} cannot be written ({error.strerror}); '{path.name}' is not kept")


def cached(stem: Path, rules, source: Callable, make: Callable) -> tuple[dict, dict[str, np.ndarray]]:
    """What arrays are (their fingerprint and more) and the arrays, from the cache or made now and kept, in one file.

    rules: another remakes them. source(): hashes of the texts at hand, under which they are kept; None or empty where
    there are none. What the archive's runs were trained on is kept under the stem itself and taken without texts.
    """
    archived = stem.with_name(f"{stem.name}.npz")

    def path_of(hashes) -> Path:
        return stem.with_name(f"{stem.name}-{digest(hashes)[:12]}.npz") if hashes else archived

    hashes = source()
    for path in dict.fromkeys((path_of(hashes), archived)):
        about, arrays = _read_kept(path)
        same = about.get("source") == hashes or (not hashes and about.get("fingerprint") in catalogue.FINGERPRINTS)
        if arrays and same and about["rules"] == rules:
            return about, arrays

    about, arrays = make()
    hashes = source()  # an official download has left tables, where there were none
    about |= {"rules": rules, "source": hashes}
    packed = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays}
    path = archived if about["fingerprint"] in catalogue.FINGERPRINTS else path_of(hashes)
    keep(path, partial(np.savez, **packed))
    return about, arrays


def _read_kept(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """What `cached` wrote there; two empty ones where there is nothing, or (one warning line) damage."""
    try:
        if path.is_file():
            with np.load(path, allow_pickle=False) as file:
                arrays = dict(file)
            return json.loads(bytes(arrays.pop("about"))), arrays
    except (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile) as error:
        say(f"{path} is damaged ({type(error).__name__}); it is made anew")
    return {}, {}


TEXTS = {"text", "passage", "question", "answer", "premise", "hypothesis"}
"""Columns whose every row must be a text."""


def locate(entry: catalogue.Corpus, file: str) -> Path | None:
    """Where a file of a set lies: named by its split, under $ATTN_DATA (the whole set before its sample) or in the
    local cache; of a set of the user's own files under its own name, plain or with .gz. None if it is nowhere;
    AttnError where $ATTN_DATA has the set's folder and the split is not in it."""
    data = data_folder()
    name = str(entry.folder)
    if entry.own:
        paths = [data / name / f"{file}{ending}" for ending in ("", ".gz")] if data else []
        return next(filter(Path.is_file, paths), None)
    for folder in [data / name for name in (entry.folder, entry.sample) if data and name]:
        if folder.is_dir():
            path = folder / f"{file}.parquet"
            if path.is_file():
                return path
            wanted = ", ".join(f"{split}.parquet" for split in entry.files)
            raise AttnError(f"{path} is missing: corpus '{entry.name}' needs {wanted}; add it, or remove {folder}")
    path = cache_folder() / "tables" / name / f"{file}.parquet"
    return path if path.is_file() else None


def found(entry: catalogue.Corpus) -> dict[str, Path] | None:
    """Every file of a set and where it lies; None if one is missing."""
    paths = {}
    for file in entry.own or entry.files:
        path = locate(entry, file)
        if path is None:
            return None
        paths[file] = path
    return paths


def stamp(path: Path) -> str:
    """Place, size and time of change of a file."""
    return f"{path}, {path.stat().st_size} bytes, {path.stat().st_mtime_ns}"


def own_tables(*corpora: str) -> list[Path]:
    """The tables of some data sets that are read from $ATTN_DATA."""
    paths: list[Path] = []
    for entry in map(catalogue.corpus, corpora):
        if not entry.own:
            paths += (found(entry) or {}).values()
    return [path for path in paths if data_folder() in path.parents]


@contextmanager
def opened(path: Path):
    """A text file in UTF-8, unpacked if its name ends in .gz; what is damaged or of another form is an AttnError."""
    unpacked = gzip.open if path.suffix == ".gz" else open
    with reading(path), unpacked(path, "rt", encoding="utf-8-sig", newline="") as file:
        yield file


@contextmanager
def reading(path: Path):
    """What libraries raise of a file that is damaged or of another form, as one AttnError."""
    try:
        yield
    except (pyarrow.ArrowException, csv.Error, zlib.error, EOFError, OSError, ValueError) as error:
        reason = one_line(error)[:100]  # not more of a private text than shows the place
        raise AttnError(f"{path} cannot be read ({reason}); copy it again, text as UTF-8") from error


def records(path: Path, columns: Sequence[str]) -> Iterator[pandas.DataFrame]:
    """A CSV or TSV file in parts, every value a text without blanks around it, columns named without regard to case.

    Separator: a tab if the first line holds one, else a comma; quotation marks of a file that ends in .tsv are text.
    The index counts records from 1. AttnError for a missing column, two of one name, a record of another number of
    columns, an open quotation mark, or a damaged file.
    """
    csv.field_size_limit(1 << 30)
    asked = {name.lower(): name for name in columns}
    quotechar = None if path.suffix.lower() == ".tsv" else '"'
    count = 0
    with opened(path) as file:
        first = file.readline()
        delimiter = "\t" if "\t" in first else ","
        lines = csv.reader(chain([first], file), delimiter=delimiter, quotechar=quotechar, strict=True)
        header = [name.strip().lower() for name in next(lines, ())]
        names = [asked.get(name, name) for name in header]
        check_columns(path, names, columns)
        filled = filter(None, lines)
        while block := list(islice(filled, 20_000)):
            numbers = range(count + 1, count + 1 + len(block))
            for number, row in zip(numbers, block, strict=True):
                if len(row) != len(names):
                    raise ValueError(f"record {number} has not the {len(names)} columns of the first line")
            yield pandas.DataFrame([[value.strip() for value in row] for row in block], numbers, names)
            count += len(block)
    if count == 0:
        raise AttnError(f"{path} holds no records")


def check_columns(path: Path, names: list[str], columns: Sequence[str]) -> None:
    """AttnError for a column that is not among a table's names, and for two of one name."""
    for name in columns:
        if name not in names:
            raise AttnError(f"{path} lacks the column '{name}'; it holds {', '.join(map(str, names)) or 'nothing'}")
    for name in names:
        if names.count(name) > 1:
            raise AttnError(f"{path} has two columns '{name}'; leave one of them out")


def read_table(path: Path, columns: Sequence[str]) -> pandas.DataFrame:
    """A Parquet, JSONL, CSV or TSV file as a table, values as written, rows counted from 0; checked for the columns it
    must hold and for rows without text."""
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv"):
        return pandas.concat(records(path, columns), ignore_index=True)
    with reading(path):
        if ending == ".jsonl":
            table = pandas.read_json(path, lines=True, dtype=False)
        else:  # the index that a user's table may bring along is none of ours
            table = pyarrow.parquet.read_table(path, partitioning=None).to_pandas(ignore_metadata=True)
    check_columns(path, list(table.columns), columns)
    if len(table) == 0:
        raise AttnError(f"{path} holds no rows")
    for column in TEXTS & set(columns):
        for row, value in enumerate(table[column]):
            if not isinstance(value, str):
                fault = f"holds {str(value)[:40]}, which is no text; leave such rows out"
                raise AttnError(f"{path}: column '{column}' of row {row} {fault}")
    return table


def read(corpus: str, split: str) -> pandas.DataFrame:
    """The raw table of a split, text as published; columns as the catalogue names them. AttnError for an unknown corpus
    or split, a set without tables, a damaged file, or data found nowhere."""
    entry = catalogue.corpus(corpus)
    if entry.generated or entry.own:
        origin = "is generated" if entry.generated else "is made from your own files"
        raise AttnError(f"corpus '{corpus}' {origin} and has no tables; use encode('{corpus}')")
    if split not in entry.files:
        raise AttnError(f"corpus '{corpus}' has no split '{split}'; it has {', '.join(entry.files)}")
    path = locate(entry, split)
    if path is not None:
        try:
            return read_table(path, entry.columns)
        except AttnError as error:
            if data_folder() in path.parents:
                raise  # the user's own file: never replaced
            say(f"{error}; it is made anew from the official files")
    return _from_official(entry)[split]


def _from_official(entry: catalogue.Corpus) -> dict[str, pandas.DataFrame]:
    """All splits from the official download, kept as Parquet in the cache for the next time."""
    downloads = cache_folder() / "downloads"
    wanted = f"set ATTN_DATA to a folder with {entry.folder}/{entry.files[0]}.parquet"
    data = data_folder()
    searched = f"; ATTN_DATA is {data} and has no folder '{entry.folder}'" if data else ""
    if not entry.sources:  # registered by the user
        raise AttnError(f"no data for corpus '{entry.name}': {wanted}{searched}")
    sources = [catalogue.SOURCES[name] for name in entry.sources]
    for source in sources:
        if source.checksum is None:
            say(
                f"nobody publishes a checksum of {source.file}, so nothing tells whether the one that is read is the "
                f"official one or was changed on the way ({source.url.partition('/')[0]}); trust it "
                "accordingly"
            )
    try:
        tables = official.read(entry, downloads)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        names = ", ".join(source.file for source in sources)
        raise AttnError(
            f"no data for corpus '{entry.name}': {one_line(error)}{searched}. Three ways: {wanted}; put {names} into "
            f"{downloads} in place of a damaged one; or allow the download"
        ) from error
    for split, table in tables.items():
        path = cache_folder() / "tables" / str(entry.folder) / f"{split}.parquet"
        keep(path, partial(table.to_parquet, compression="zstd"))
    return tables
