"""Where a data set's tables come from, and where everything made from them is kept.

Order of look-up: ``$ATTN_DATA/<folder>/<split>.parquet``, then the local cache, then the official download, then
one clear error.
"""

import hashlib
import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from attn_core.corpora import catalogue
from attn_core.errors import AttnError


def cache_folder() -> Path:
    """Everything that can be made again: downloads, tables, arrays, vectors, runs. $ATTN_CACHE, else the user's
    cache folder."""
    if os.environ.get("ATTN_CACHE"):
        return Path(os.environ["ATTN_CACHE"])
    import platformdirs

    return Path(platformdirs.user_cache_path("attn_core"))


def data_folder() -> Path | None:
    """$ATTN_DATA, the user's own copies of data sets as Parquet; None if unset."""
    return Path(os.environ["ATTN_DATA"]) if os.environ.get("ATTN_DATA") else None


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


def locate(entry: catalogue.Corpus, split: str) -> Path | None:
    """The Parquet file of a split under $ATTN_DATA (the whole set before its sample) or in the local cache; None if
    neither has it."""
    places = (data_folder(), entry.folder), (data_folder(), entry.sample), (cache_folder() / "tables", entry.folder)
    for folder, name in places:
        if folder is not None and name and (path := folder / name / f"{split}.parquet").is_file():
            return path
    return None


def read_table(path: Path, columns) -> "pandas.DataFrame":  # noqa: F821
    """A Parquet file as a table, checked for the columns it must hold; a damaged or foreign file is an AttnError."""
    import pandas
    import pyarrow

    try:
        table = pandas.read_parquet(path)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0][:120]
        raise AttnError(f"{path} is damaged or no Parquet file ({reason}); copy it again") from error
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise AttnError(f"{path} lacks the column '{missing[0]}'; it holds {', '.join(map(str, table.columns))}")
    if len(table) == 0:
        raise AttnError(f"{path} holds no rows")
    return table


def read(corpus: str, split: str) -> "pandas.DataFrame":  # noqa: F821
    """The raw table of a split, text as published; columns as the catalogue names them (official downloads: the
    same form).

    Errors: AttnError for an unknown corpus or split, a set without tables, a damaged file, or data found nowhere.
    """
    entry = catalogue.corpus(corpus)
    if entry.generated:
        raise AttnError(f"corpus '{corpus}' is generated and has no tables; use encode('{corpus}')")
    if entry.private:
        raise AttnError(f"corpus '{corpus}' is made from your own files and has no tables; use encode('{corpus}')")
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


def _from_official(entry: catalogue.Corpus) -> dict:
    """All splits from the official download, kept as Parquet in the cache for the next time."""
    from attn_core.corpora.official import read_official

    if not entry.sources:  # registered by the user
        place = f"{entry.folder}/{entry.files[0]}.parquet"
        raise AttnError(f"no data for corpus '{entry.name}': set ATTN_DATA to a folder with {place}")
    try:
        tables = read_official(entry.folder, cache_folder() / "downloads")
    except AttnError as error:
        files = ", ".join(source.file for source in entry.sources)
        raise AttnError(
            f"no data for corpus '{entry.name}': {error}. Three ways: set ATTN_DATA to a folder with "
            f"{entry.folder}/{entry.files[0]}.parquet; put {files} into {cache_folder() / 'downloads'}; or allow "
            "the download"
        ) from error
    for split, table in tables.items():
        try:
            with replacing(cache_folder() / "tables" / entry.folder / f"{split}.parquet") as file:
                table.to_parquet(file, compression="zstd")
        except OSError as error:
            say(f"the cache {cache_folder()} cannot be written ({error.strerror}); nothing is kept")
            break
    return tables
