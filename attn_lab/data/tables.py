"""The tables of a data set: the user's under $ATTN_DATA, those of the cache, else from the official download.

One reader for all: `read_table` of CSV, TSV, JSON, JSON Lines, Parquet and Feather.
"""

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pandas
import pyarrow.compute
import pyarrow.feather
import pyarrow.parquet

from attn_core.errors import AttnError, one_line, say
from attn_lab.data import catalogue, official
from attn_lab.data.files import altered, cache_folder, data_folder, keep, locate

TEXTS = {"text", "passage", "question", "answer", "premise", "hypothesis"}
"""Columns whose every row must be a text."""

DELIMITERS = ",;\t|"
SAMPLE = 1 << 26
"""First bytes of a file that tell its encoding."""

FOREIGN = 0.3
"""Where more characters than this are no ASCII, a text is in no language of Western Europe."""

BROKEN = re.compile("[^\\W\\d_][¡-©«-³¶¹»-¿][^\\W\\d_]")
"""A sign within a word: a letter of another encoding than cp1252 (not · and ´: Catalan, careless apostrophes)."""

DOUBLED = re.compile(r'"[^"]*""(?:[^"]|"")*"')
"""A field that is in quotation marks because it holds some."""


# ---- files of text ---------------------------------------------------------------------------------------------------


def ending(path: Path) -> str:
    """The ending that names the form, in lower case: '.csv' of a.CSV.gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def unpacked(path: Path, mode: str, **options):
    """An open file, unpacked if its name ends in .gz; to read on where such a one grows too large is a ValueError."""
    if path.suffix.lower() != ".gz":
        return open(path, mode, **options)
    file = io.BufferedReader(official.limited(path, gzip.GzipFile(path)))
    return io.TextIOWrapper(file, **options) if options else file


def encoding_of(path: Path) -> str:
    """utf-8-sig, utf-16 (with or without its mark) or cp1252, which holds latin-1; ValueError for any other."""
    with unpacked(path, "rb") as file:
        data = file.read(SAMPLE)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if re.match(rb"PK\x03\x04|SQLite format|PAR1|\x1f\x8b|\xd0\xcf\x11\xe0", data):  # whatever the file's ending
        raise ValueError("it holds no text but a workbook, an archive, a database or Parquet; save it as CSV")
    wide = re.search(rb"(?:[^\0]\0){2}", data[:1000])  # two signs of ASCII in a row; damage lies singly
    if wide:
        return "utf-16-be" if wide.start() % 2 else "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
        return "utf-8-sig"
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
    text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    beyond_ascii = sum(character > "\x7f" for character in text)
    if beyond_ascii > 2 * wrong:
        raise ValueError(f"line {line} is no UTF-8, and other lines are")
    broken = len(BROKEN.findall(data.decode("cp1252", "replace")))
    if wrong > FOREIGN * len(text) or broken > wrong / 20:
        raise ValueError(f"line {line} is neither UTF-8 nor of Western Europe; name what it is, --encoding cp1250")
    return "cp1252"


@contextmanager
def opened(path: Path, encoding: str = ""):
    """A file of text in an encoding, else in the one it is found to have; what is damaged or of another form is an
    AttnError."""
    with reading(path), unpacked(path, "rt", encoding=encoding or encoding_of(path), newline="") as file:
        yield file


@contextmanager
def reading(path: Path):
    """What libraries raise of a file that is damaged or of another form, as one AttnError."""
    try:
        yield
    except (
        pyarrow.ArrowException,
        csv.Error,
        zlib.error,
        EOFError,
        OSError,
        LookupError,
        ValueError,
        RecursionError,
    ) as error:
        # not more of a private text than shows the place
        raise AttnError(
            f"{path} cannot be read ({one_line(error)[:150]}); unpack or copy it again, text as UTF-8"
        ) from error


def form_of(file) -> str:
    """The encoding of an open file, in words."""
    guess = ", by a guess (--encoding names another)" if file.encoding == "cp1252" else ""
    return f"{file.encoding.removesuffix('-sig')}{guess}"


def delimiter_of(line: str, columns: Sequence[str]) -> str:
    """The separator by which a file's first line has most of the columns asked for, then most columns."""
    asked = set(map(str.lower, columns))

    def fit(delimiter: str) -> tuple[int, int]:
        names = line.lower().split(delimiter)
        return len(asked & {name.strip('" \r\n') for name in names}), len(names)

    return max(DELIMITERS, key=fit)


def quotes_are_text(lines: list[str]) -> bool:
    """Whether a file with tabs knows no quoting: each line is a record, and not all its quotation marks are in pairs
    that a writer must have set."""
    rows = [line.rstrip("\r\n").split("\t") for line in lines if line.strip()]
    marked = [value for value in chain.from_iterable(rows) if value.startswith('"')]
    of_one_width = len(set(map(len, rows))) == 1
    return of_one_width and lines[0][0] != '"' and not all(map(DOUBLED.fullmatch, marked))


def _records(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    """The records of a delimited file, empty lines left out."""
    plain = False
    if delimiter == "\t":
        lines = list(lines)
        plain = quotes_are_text(lines)
    quote = None if plain else '"'
    return [row for row in csv.reader(lines, delimiter=delimiter, quotechar=quote, strict=True) if row]


def _delimited(
    path: Path, columns: Sequence[str], optional: Sequence[str], header: bool, encoding: str
) -> pandas.DataFrame:
    """A delimited file, every value a text without blanks around it, columns named as asked for; without a header they
    are named 1, 2, …

    The separator is that of the first line, see `delimiter_of`, or of a line sep=; above it; lines that begin with "# "
    there are skipped. Of quotation marks between tabs see `quotes_are_text`.
    """
    csv.field_size_limit(1 << 30)
    with opened(path, encoding) as file:
        first = next((line for line in file if line.strip() and not line.startswith(("# ", "sep="))), "")
        delimiter = delimiter_of(first, [*columns, *optional])
        rows = _records(chain([first], file), delimiter)
        head = rows[0] if rows else []
        if header:
            rows = rows[1:]
        else:
            head = [str(number) for number, _ in enumerate(head, 1)]
        names = renamed(path, head, columns, optional)
        for number, row in enumerate(rows, 1):
            if len(row) != len(names):
                raise ValueError(f"record {number} has {len(row)} columns, not the {len(names)} of the first line")
        table = pandas.DataFrame([[value.strip() for value in row] for row in rows], columns=names)
        table.attrs["form"] = f"{form_of(file)}, parted by {delimiter.replace(chr(9), 'tab')}"
        return table


# ---- tables of every form --------------------------------------------------------------------------------------------


def renamed(where: object, names: Iterable, columns: Sequence[str], optional: Sequence[str] = ()) -> list[str]:
    """The names of a table, those asked for as they are asked for, without regard to case and blanks around them.

    AttnError for a column that is not there, and for two of one name.
    """
    names = [str(name).strip() for name in names]
    for column in (*columns, *optional):
        places = [i for i, name in enumerate(names) if name.lower() == column.lower()]
        if len(places) > 1:
            raise AttnError(f"{where} has two columns '{column}'; leave one of them out")
        if not places and column in columns:
            of_text = any(name.count(" ") > 2 for name in names)
            way = "; a file without names of columns: --no-header --text 1 --label 2" if of_text else ""
            found = ", ".join(names)[: 40 if of_text else 200] or "nothing"
            raise AttnError(f"{where} lacks the column '{column}'; it holds {found}{way}")
        for i in places:
            names[i] = column
    return names


def read_table(
    path: Path, columns: Sequence[str], optional: Sequence[str] = (), header: bool = True, encoding: str = ""
) -> pandas.DataFrame:
    """A file of one of `files.FORMS`, or the same with .gz, as a table with the columns asked for, rows counted from 0.

    Values of text files are text, as written; of header and encoding see `_delimited` and `opened`. `attrs["form"]`:
    their encoding, and the separator that was found. AttnError for a missing column, two of one name, no rows, a record
    of another number of columns, an open quotation mark, or a damaged file.
    """
    if not path.is_file():
        raise AttnError(f"{path} is no file of a table; a device, a pipe or a folder is not read")
    form = ending(path)
    if form in (".csv", ".tsv"):
        table = _delimited(path, columns, optional, header, encoding)
    elif form in (".parquet", ".feather"):
        with reading(path):
            table = _arrow(path).to_pandas(ignore_metadata=True, integer_object_nulls=True, use_threads=False)
    else:
        with opened(path, encoding) as file:
            table = pandas.DataFrame(_json_rows(file.read()), dtype=object)
            table.attrs["form"] = form_of(file)
    table.columns = renamed(path, table.columns, columns, optional)
    if table.empty:
        raise AttnError(f"{path} holds no rows")
    return table


FRAMES = (0xFD2FB528, 0x184D2204, *range(0x184D2A50, 0x184D2A60))
"""With these four bytes packed parts of a Feather file begin; before them stands how many bytes they unpack to."""


def _arrow(path: Path) -> pyarrow.Table:
    """A file of Apache's; the index that a user's table may bring along is a column like others. What it holds unpacked
    is counted first, and each text as often as it is named."""
    with unpacked(path, "rb") as file:
        source = pyarrow.py_buffer(file.read())
    bounded = official.limited(path)
    if ending(path) == ".feather":
        words = np.frombuffer(source, "<u8", len(source) // 8)
        sizes = words[:-1][np.isin(words[1:] % 2**32, FRAMES)]
        bounded.count(int(sizes[sizes < 2**40].sum()))
        table = pyarrow.feather.read_table(source, use_threads=False)
    else:
        table = _parquet(source, bounded)
    return pyarrow.table([_counted(column, bounded) for column in table.columns], table.column_names)


def _parquet(source: pyarrow.Buffer, bounded: official.Limited) -> pyarrow.Table:
    """A Parquet file, texts as categories; what it says that it holds is counted."""
    about = pyarrow.parquet.read_metadata(pyarrow.BufferReader(source))
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    parts = [group.column(j) for group in groups for j in range(about.num_columns)]
    widths = [max(about.schema.column(j).length or 1, 1) for j in range(about.num_columns)] * len(groups)
    if any("DELTA_BYTE_ARRAY" in part.encodings for part in parts):
        raise ValueError("it is of an encoding that may hold more than it says; save it anew, as CSV")
    values = sum(part.num_values * width for part, width in zip(parts, widths, strict=True))
    bounded.count(max(values, sum(part.total_uncompressed_size for part in parts)))
    texts = [part.path_in_schema for part in parts if part.physical_type == "BYTE_ARRAY"]
    reader = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(source), read_dictionary=texts)
    return reader.read(use_threads=False)


def _counted(column: pyarrow.ChunkedArray, bounded: official.Limited) -> pyarrow.ChunkedArray:
    """A column, of categories the texts that they name, counted."""
    if not pyarrow.types.is_dictionary(column.type):
        return column
    for chunk in column.chunks:
        sizes = pyarrow.compute.binary_length(chunk.dictionary.cast(pyarrow.large_binary(), safe=False))
        bounded.count(pyarrow.compute.sum(sizes.take(chunk.indices)).as_py() or 0)
    return pyarrow.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)


def _json_rows(text: str) -> list | dict:
    """The records of JSON Lines, or of one JSON value: a list of records, or lists (or mappings) by column. Numbers
    are left as written. ValueError for a name that stands twice in a record."""

    def once(pairs: list[tuple]) -> dict:
        record = dict(pairs)
        if len(record) < len(pairs):
            raise ValueError(f"a record has two values of one name, {', '.join(name for name, _ in pairs)}")
        return record

    load = partial(json.loads, parse_int=str, parse_float=str, parse_constant=lambda _: None, object_pairs_hook=once)
    try:
        rows = load(text)
    except json.JSONDecodeError:  # more than one value
        lines = text.split("\n")
        try:
            rows = [load(line) for line in lines if line.strip()]
        except json.JSONDecodeError as error:
            raise ValueError(f"line {lines.index(error.doc) + 1}, column {error.colno}: {error.msg}") from error
    if isinstance(rows, dict) and not all(isinstance(values, dict | list) for values in rows.values()):
        return [rows]
    return rows


# ---- the data sets of the catalogue ----------------------------------------------------------------------------------


def read(corpus: str, split: str) -> pandas.DataFrame:
    """The raw table of a split, text as published; columns as the catalogue names them. AttnError for an unknown corpus
    or split, a set without tables, a damaged file, or data found nowhere."""
    entry = catalogue.corpus(corpus)
    if entry.generated:
        raise AttnError(f"corpus '{corpus}' is generated and has no tables; use encode('{corpus}')")
    if split not in entry.files:
        raise AttnError(f"corpus '{corpus}' has no split '{split}'; it has {', '.join(entry.files)}")
    path = locate(entry, split)
    if path is not None:
        try:
            if altered(path):
                raise AttnError(f"{path} is damaged (it has another checksum)")
            return _typed(read_table(path, entry.columns), entry.columns, path)
        except AttnError as error:
            if data_folder() in path.parents:
                raise  # the user's own file: never replaced
            say(f"{error}; it is made anew from the official files")
    return _from_official(entry)[split]


def _typed(table: pandas.DataFrame, columns: Sequence[str], path: Path) -> pandas.DataFrame:
    """A table of the catalogue: whole numbers that a text file holds as numbers; AttnError for rows without text."""
    for column in columns:
        if column in ("label", "stars") and table[column].astype(str).str.isdecimal().all():
            table[column] = table[column].astype("int64")
    for column in TEXTS & set(columns):
        for row, value in enumerate(table[column]):
            if not isinstance(value, str):
                fault = f"holds {str(value)[:40]}, which is no text; leave such rows out"
                raise AttnError(f"{path}: column '{column}' of row {row} {fault}")
    return table


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
        tables = official.read(entry, sources, downloads)
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
