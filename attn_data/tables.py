"""The tables of a data set: the user's under $ATTN_DATA, those of the cache, else from the official download."""

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path

import pandas
import pyarrow
import pyarrow.parquet

from attn_core.corpora import catalogue
from attn_core.corpora.files import cache_folder, data_folder, keep, locate, say
from attn_core.errors import AttnError, one_line
from attn_data import official

TEXTS = {"text", "passage", "question", "answer", "premise", "hypothesis"}
"""Columns whose every row must be a text."""


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
            values = [[value.strip() for value in row] for row in block]
            yield pandas.DataFrame(values, numbers, names)
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


def read_all(corpus: str) -> dict[str, pandas.DataFrame]:
    """Split -> raw table, see `read`."""
    return {split: read(corpus, split) for split in catalogue.corpus(corpus).files}


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
