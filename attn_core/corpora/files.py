"""Where a data set's tables come from, and where everything made from them is kept.

Order of look-up: ``$ATTN_DATA/<folder>/<split>.parquet``, then the local cache, then the official download, then
one clear error.
"""

import csv as lines
import hashlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas
import pyarrow
from pyarrow import csv

from attn_core.corpora import catalogue, official
from attn_core.errors import AttnError, one_line


def cache_folder() -> Path:
    """Everything that can be made again: downloads, tables, arrays, vectors, runs. $ATTN_CACHE, else the user's
    cache folder."""
    if os.environ.get("ATTN_CACHE"):
        return Path(os.environ["ATTN_CACHE"])
    import platformdirs

    return Path(platformdirs.user_cache_path("attn_core"))


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
    """A file open for writing that takes its place in one step, or not at all if the block fails. OSError where
    unwritable."""
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


def keep(stem: Path, ending: str, data: bytes, about: dict) -> None:
    """Arrays as <stem><ending> and what they are as <stem>.json with the checksums of both, each replaced in one step;
    one warning line where the cache cannot be written."""
    about = {**about, "sha256": hashlib.sha256(data).hexdigest()}
    try:
        with replacing(Path(f"{stem}{ending}")) as file:
            file.write(data)
        with replacing(Path(f"{stem}.json")) as file:
            file.write(json.dumps({**about, "check": digest(about)}).encode())
    except OSError as error:
        say(f"the cache {stem.parent} cannot be written ({error.strerror}); '{stem.name}' is not kept")


def kept(stem: Path, ending: str) -> dict | None:
    """What `keep` wrote of the arrays beside it, or None: nothing there, or damaged (one warning line)."""
    notes, arrays = Path(f"{stem}.json"), Path(f"{stem}{ending}")
    if not notes.is_file() or not arrays.is_file():
        return None
    try:
        about = json.loads(notes.read_text(encoding="utf-8"))
        if about.pop("check", None) in (None, digest(about)) and about["sha256"] == sha256(arrays):
            return about
        error = "checksum differs"
    except (ValueError, LookupError, AttributeError, OSError) as caught:
        error = type(caught).__name__
    say(f"{arrays} and its .json are damaged ({error}); they are made anew")
    return None


TEXTS = {"text", "passage", "question", "answer", "premise", "hypothesis"}
"""Columns whose every row must be a text."""


def locate(entry: catalogue.Corpus, part: str) -> Path | None:
    """The Parquet file of a split under $ATTN_DATA (the whole set before its sample) or in the local cache; of a set of
    the user's own files one of these, plain or with .gz. None if there is none; AttnError where $ATTN_DATA has the
    set's folder and a split is not in it."""
    own = data_folder()
    if entry.own:
        names = (f"{entry.folder}/{part}", f"{entry.folder}/{part}.gz") if own else ()
        return next((own / name for name in names if (own / name).is_file()), None)
    for name in filter(None, (entry.folder, entry.sample)):
        if own is not None and (own / name).is_dir():
            if (path := own / name / f"{part}.parquet").is_file():
                return path
            needed = ", ".join(f"{wanted}.parquet" for wanted in entry.files)
            raise AttnError(f"{path} is missing: corpus '{entry.name}' needs {needed} there; add it, or remove {name}")
    path = cache_folder() / "tables" / str(entry.folder) / f"{part}.parquet"
    return path if path.is_file() else None


def stamps(entry: catalogue.Corpus) -> dict[str, str] | None:
    """File of a set -> its place, size and time of change; None if one is missing."""
    paths = {part: locate(entry, part) for part in entry.own or entry.files}
    if None in paths.values():
        return None
    return {part: f"{at}, {at.stat().st_size} bytes, {at.stat().st_mtime_ns}" for part, at in paths.items()}


def own_tables(*corpora: str) -> list[Path]:
    """The tables of some data sets that are read from $ATTN_DATA."""
    own, entries = data_folder(), [entry for entry in map(catalogue.corpus, corpora) if not entry.own]
    paths = [locate(entry, split) for entry in entries for split in entry.files if own]
    return [path for path in paths if path and own in path.parents]


@contextmanager
def reading(path: Path):
    """What libraries raise of a file that is damaged or of another form, as one AttnError."""
    try:
        yield
    except (pyarrow.ArrowException, lines.Error, OSError, ValueError) as error:
        reason = one_line(error)[:100]  # not more of a private text than shows the place
        raise AttnError(f"{path} cannot be read ({reason}); copy it again, text as UTF-8") from error


def opened(path: Path):
    """The file's bytes, unpacked if its name ends in .gz."""
    return pyarrow.input_stream(str(path))


def records(path: Path, columns: tuple[str, ...], optional: tuple[str, ...] = ()) -> Iterator[pandas.DataFrame]:
    """A CSV file in parts, every value a text without blanks around it, names of columns without regard to case.

    Separator: a tab if the first line holds one, else a comma. The index counts records from 1. Errors: AttnError for
    a missing column, a record of another number of columns, bytes that are not UTF-8, a quotation mark that is left
    open, or a damaged file.
    """
    with reading(path):
        with opened(path) as file:
            head = io.BytesIO(file.read(10_000).partition(b"\n")[0] + b"\n")
        form = csv.ParseOptions(delimiter="\t" if b"\t" in head.getvalue() else ",", newlines_in_values=True)
        given = {name.strip().lower(): name for name in csv.open_csv(head, parse_options=form).schema.names}
        with opened(path) as file:
            odd = sum(part.count(b'"') for part in iter(lambda: file.read(1 << 20), b"")) % 2
        if odd:  # Arrow would take all that follows an open one for one value
            lines.field_size_limit(1 << 30)
            with opened(path) as file:
                for _ in lines.reader(io.TextIOWrapper(file, "utf-8"), delimiter=form.delimiter, strict=True):
                    pass
    if missing := [name for name in columns if name.lower() not in given]:
        raise AttnError(f"{path} lacks the column '{missing[0]}'; it holds {', '.join(given.values())}")
    names = [*columns, *(name for name in optional if name in given)]
    wanted = {given[name.lower()]: pyarrow.string() for name in names}
    once = csv.ReadOptions(block_size=1 << 24, use_threads=False)  # longer than any record; errors then count rows
    only = csv.ConvertOptions(column_types=wanted, include_columns=list(wanted))
    done = 1
    with reading(path):
        for batch in csv.open_csv(opened(path), once, form, only):
            part = batch.to_pandas().set_axis(names, axis=1).apply(lambda column: column.str.strip())
            yield part.set_index(pandas.RangeIndex(done, done := done + len(part)))
    if done == 1:
        raise AttnError(f"{path} holds no records")


def read_table(path: Path, columns: tuple[str, ...], optional: tuple[str, ...] = ()) -> pandas.DataFrame:
    """A Parquet, JSONL, CSV or TSV file as a table, checked for the columns it must hold and for rows without text; a
    damaged or foreign file is an AttnError. optional: columns that a CSV file may hold besides."""
    if path.suffix in (".csv", ".tsv"):
        return pandas.concat(records(path, columns, optional), ignore_index=True)
    with reading(path):
        table = pandas.read_json(path, lines=True) if path.suffix == ".jsonl" else pandas.read_parquet(path)
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise AttnError(f"{path} lacks the column '{missing[0]}'; it holds {', '.join(map(str, table.columns))}")
    if len(table) == 0:
        raise AttnError(f"{path} holds no rows")
    for column in TEXTS & set(columns):
        if strange := [row for row, value in enumerate(table[column]) if not isinstance(value, str)]:
            value = str(table[column].iloc[strange[0]])[:40]
            raise AttnError(
                f"{path}: column '{column}' of row {strange[0]} holds {value}, which is no text ({len(strange)} such "
                "rows); leave such rows out"
            )
    return table


def read(corpus: str, split: str) -> pandas.DataFrame:
    """The raw table of a split, text as published; columns as the catalogue names them (official downloads: the
    same form).

    Errors: AttnError for an unknown corpus or split, a set without tables, a damaged file, or data found nowhere.
    """
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
    place, downloads = f"{entry.folder}/{entry.files[0]}.parquet", cache_folder() / "downloads"
    searched = f"; ATTN_DATA is {data_folder()} and has no folder '{entry.folder}'" if data_folder() else ""
    if not entry.sources:  # registered by the user
        raise AttnError(f"no data for corpus '{entry.name}': set ATTN_DATA to a folder with {place}{searched}")
    try:
        tables = official.read(entry, downloads)
    except AttnError as error:
        given = ", ".join(catalogue.SOURCES[source].file for source in entry.sources)
        raise AttnError(
            f"no data for corpus '{entry.name}': {error}{searched}. Three ways: set ATTN_DATA to a folder with "
            f"{place}; put {given} into {downloads}; or allow the download"
        ) from error
    for split, table in tables.items():
        try:
            with replacing(cache_folder() / "tables" / entry.folder / f"{split}.parquet") as file:
                table.to_parquet(file, compression="zstd")
        except OSError as error:
            say(f"the cache {cache_folder()} cannot be written ({error.strerror}); nothing is kept")
            break
    return tables
