"""Where a data set's tables come from, and where everything made from them is kept.

Order of look-up: ``$ATTN_DATA/<folder>/<split>.parquet``, the local cache, the official download, one clear error.
"""

import csv
import gzip
import hashlib
import json
import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pandas
import pyarrow

from attn_core.corpora import catalogue, official
from attn_core.errors import AttnError, one_line


def cache_folder() -> Path:
    """Everything that can be made again, downloads and runs too: $ATTN_CACHE, else in the user's cache folder."""
    import platformdirs

    return Path(os.environ.get("ATTN_CACHE") or platformdirs.user_cache_path("attn_core"))


def data_folder() -> Path | None:
    """$ATTN_DATA, the user's own copies of data sets as Parquet; None if unset, AttnError if it is no folder."""
    if not os.environ.get("ATTN_DATA"):
        return None
    folder = Path(os.environ["ATTN_DATA"])
    if not folder.is_dir():
        raise AttnError(
            f"ATTN_DATA names {folder}, which is no folder; let it name the one that holds sst/train.parquet and the "
            "like (data/README.md), or unset it to take the official files"
        )
    return folder


def say(message: str) -> None:
    """One warning line on stderr."""
    print(f"warning: {message}", file=sys.stderr)


@contextmanager
def replacing(path: Path, mode: str = "wb"):
    """A file open for writing that takes its place in one step, or not at all if the block fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, mode) as file:
            yield file
        os.chmod(partial, 0o644)  # mkstemp makes files private; a cache may be shared
        os.replace(partial, path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(parts) -> str:
    """SHA-256 of what JSON can hold."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


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
    place = lambda: stem.with_name(f"{stem.name}-{digest(texts)[:12]}.npz") if texts else common
    common, texts = stem.with_name(f"{stem.name}.npz"), source()
    for path in dict.fromkeys((place(), common)):
        about, arrays = _kept(path)
        same = about.get("source") == texts or (not texts and about.get("fingerprint") in catalogue.FINGERPRINTS)
        if arrays and same and about["rules"] == rules:
            return about, arrays
    about, arrays = make()
    texts = source()  # an official download has left tables, where there were none
    about |= {"rules": rules, "source": texts}
    packed = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays}
    keep(common if about["fingerprint"] in catalogue.FINGERPRINTS else place(), lambda file: np.savez(file, **packed))
    return about, arrays


def _kept(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
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


def locate(entry: catalogue.Corpus, part: str) -> Path | None:
    """The Parquet file of a split under $ATTN_DATA (the whole set before its sample) or in the local cache; of a set of
    the user's own files one of these, plain or with .gz. None if there is none; AttnError where $ATTN_DATA has the
    set's folder and a split is not in it."""
    own = data_folder()
    if entry.own:
        paths = [own / entry.folder / f"{part}{ending}" for ending in ("", ".gz")] if own else []
        return next(filter(Path.is_file, paths), None)
    for folder in (own / name for name in (entry.folder, entry.sample) if own and name):
        if folder.is_dir():
            if (path := folder / f"{part}.parquet").is_file():
                return path
            wanted = ", ".join(f"{split}.parquet" for split in entry.files)
            raise AttnError(f"{path} is missing: corpus '{entry.name}' needs {wanted}; add it, or remove {folder}")
    path = cache_folder() / "tables" / str(entry.folder) / f"{part}.parquet"
    return path if path.is_file() else None


def found(entry: catalogue.Corpus) -> dict[str, Path] | None:
    """Every file of a set and where it lies; None if one is missing."""
    paths = {part: locate(entry, part) for part in entry.own or entry.files}
    return None if None in paths.values() else paths


def stamp(path: Path) -> str:
    """Place, size and time of change of a file."""
    return f"{path}, {path.stat().st_size} bytes, {path.stat().st_mtime_ns}"


def own_tables(*corpora: str) -> list[Path]:
    """The tables of some data sets that are read from $ATTN_DATA."""
    own, entries = data_folder(), map(catalogue.corpus, corpora)
    paths = [path for entry in entries if not entry.own for path in (found(entry) or {}).values()]
    return [path for path in paths if own in path.parents]


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


def records(path: Path, columns: tuple[str, ...]) -> Iterator[pandas.DataFrame]:
    """A CSV file in parts, every value a text without blanks around it, names of columns without regard to case.

    Separator: a tab if the first line holds one, else a comma. The index counts records from 1. AttnError for a missing
    column, a record of another number of columns, an open quotation mark, or a damaged file.
    """
    csv.field_size_limit(1 << 30)
    asked, number = {name.lower(): name for name in columns}, 0
    with opened(path) as file:
        first = file.readline()
        rows = csv.reader(chain([first], file), delimiter="\t" if "\t" in first else ",", strict=True)
        given = [asked.get(name.strip().lower(), name.strip().lower()) for name in next(rows, ())]
        if missing := [name for name in columns if name not in given]:
            raise AttnError(f"{path} lacks the column '{missing[0]}'; it holds {', '.join(given) or 'nothing'}")
        rows = filter(None, rows)  # without empty lines
        while part := list(islice(rows, 20_000)):
            places = range(number + 1, number + 1 + len(part))
            for number, row in zip(places, part, strict=True):
                if len(row) != len(given):
                    raise ValueError(f"record {number} has not the {len(given)} columns of the first line")
            yield pandas.DataFrame([[value.strip() for value in row] for row in part], places, given)
    if number == 0:
        raise AttnError(f"{path} holds no records")


def read_table(path: Path, columns: tuple[str, ...]) -> pandas.DataFrame:
    """A Parquet, JSONL, CSV or TSV file as a table, checked for the columns it must hold and for rows without text."""
    if path.suffix in (".csv", ".tsv"):
        return pandas.concat(records(path, columns), ignore_index=True)
    with reading(path):
        table = pandas.read_json(path, lines=True) if path.suffix == ".jsonl" else pandas.read_parquet(path)
    if missing := [name for name in columns if name not in table.columns]:
        raise AttnError(f"{path} lacks the column '{missing[0]}'; it holds {', '.join(map(str, table.columns))}")
    if len(table) == 0:
        raise AttnError(f"{path} holds no rows")
    for column in TEXTS & set(columns):
        for row, value in enumerate(table[column]):
            if not isinstance(value, str):
                what = f"holds {str(value)[:40]}, which is no text; leave such rows out"
                raise AttnError(f"{path}: column '{column}' of row {row} {what}")
    return table


def read(corpus: str, split: str) -> pandas.DataFrame:
    """The raw table of a split, text as published; columns as the catalogue names them. AttnError for an unknown corpus
    or split, a set without tables, a damaged file, or data found nowhere."""
    entry = catalogue.corpus(corpus)
    if entry.generated or entry.own:
        made = "is generated" if entry.generated else "is made from your own files"
        raise AttnError(f"corpus '{corpus}' {made} and has no tables; use encode('{corpus}')")
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
    downloads, own = cache_folder() / "downloads", data_folder()
    first = f"set ATTN_DATA to a folder with {entry.folder}/{entry.files[0]}.parquet"
    searched = f"; ATTN_DATA is {own} and has no folder '{entry.folder}'" if own else ""
    if not entry.sources:  # registered by the user
        raise AttnError(f"no data for corpus '{entry.name}': {first}{searched}")
    try:
        tables = official.read(entry, downloads)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        given = ", ".join(catalogue.SOURCES[source].file for source in entry.sources)
        raise AttnError(
            f"no data for corpus '{entry.name}': {one_line(error)}{searched}. Three ways: {first}; put {given} into "
            f"{downloads} in place of a damaged one; or allow the download"
        ) from error
    for split, table in tables.items():
        place = cache_folder() / "tables" / entry.folder / f"{split}.parquet"
        keep(place, lambda file, table=table: table.to_parquet(file, compression="zstd"))
    return tables
