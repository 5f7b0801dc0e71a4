"""Where a data set's tables come from, and where everything made from them is kept.

Order of look-up: ``$ATTN_DATA/<folder>/<split>.parquet`` (or another of FORMS), the local cache, the official download,
one clear error.
"""

import hashlib
import json
import os
import platform
import re
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np

from attn_core.errors import AttnError, one_line, say
from attn_lab.data import catalogue

FORMS = (".parquet", ".feather", ".csv", ".tsv", ".jsonl", ".ndjson", ".json")
"""Endings of tables that can be read, in any case, and with .gz."""


def cache_folder() -> Path:
    """Everything that can be made again, downloads and runs too: $ATTN_CACHE, else in the user's cache folder."""
    if folder := folder_of("ATTN_CACHE"):
        return folder
    import platformdirs

    return platformdirs.user_cache_path("attn_core")


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


def machine() -> str:
    """Another on every machine and in every container: each numbers its processes anew, and may share a folder."""
    names = [platform.node()]
    with suppress(OSError):  # Linux's
        names.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        names.append(os.readlink("/proc/self/ns/pid"))
    return digest(names)[:16]


def digest(values) -> str:
    """SHA-256 of what JSON can hold."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


MACHINE = machine()
"""Stands in the names of half-written files."""


def half_written() -> str:
    """How the name of a half-written file or folder of this process begins; `store.sweep_away` knows by it the dead."""
    return f".{os.getpid()}@{MACHINE}."


@contextmanager
def replacing(path: Path, mode: str = "wb"):
    """A file open for writing that takes its place in one step, or not at all if the block fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial_path = tempfile.mkstemp(dir=path.parent, prefix=half_written() + path.name)
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


def checksum_file(path: Path) -> Path:
    """Where the SHA-256 of a file of the cache stands; hidden, so that a folder of tables is read without it."""
    return path.with_name(f".{path.name}.sha256")


def altered(path: Path) -> bool:
    """Whether a file is not the one that was kept; of what versions before this one kept nothing is known."""
    checksum = checksum_file(path)
    return checksum.is_file() and checksum.read_bytes() != sha256(path).encode()


def write_kept(path: Path, write: Callable) -> None:
    """A file written by write(file) in one step, and beside it its SHA-256 for `altered`."""
    with replacing(path) as file:
        write(file)
    with replacing(checksum_file(path), "w") as file:
        file.write(sha256(path))


def keep(path: Path, write: Callable) -> None:
    """A file of the cache as of `write_kept`; one warning line where the cache cannot be written."""
    try:
        write_kept(path, write)
    except OSError as error:
        say(f"the cache {path.parent} cannot be written ({error.strerror}); '{path.name}' is not kept")


Kept = tuple[dict, dict[str, np.ndarray]]
"""What the cache holds of a data set or of word vectors: what they are, and arrays by name."""


def cached(stem: Path, rules, source: Callable, make: Callable) -> Kept:
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


def _read_kept(path: Path) -> Kept:
    """What `cached` wrote there; two empty ones where there is nothing, or (one warning line) damage."""
    try:
        if path.is_file():
            if altered(path):
                raise ValueError("it has another checksum")
            with np.load(path, allow_pickle=False) as file:
                arrays = dict(file)
            return json.loads(bytes(arrays.pop("about"))), arrays
    except (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile) as error:
        say(f"{path} is damaged ({one_line(error)}); it is made anew")
    return {}, {}


def table_in(folder: Path, name: str) -> Path | None:
    """The table of that name in a folder, in the first of FORMS that is there."""
    tables = {path.name.lower().removesuffix(".gz"): path for path in sorted(folder.iterdir())}
    return next((tables[name + form] for form in FORMS if name + form in tables), None)


def locate(entry: catalogue.Corpus, file: str) -> Path | None:
    """Where a file of a set lies: named by its split, under $ATTN_DATA (the whole set before its sample) or in the
    local cache. None if it is nowhere; AttnError where $ATTN_DATA has the set's folder and the split is not in it."""
    data = data_folder()
    name = str(entry.folder)
    for folder in [data / name for name in (entry.folder, entry.sample) if data and name]:
        if folder.is_dir():
            if path := table_in(folder, file):
                return path
            path = folder / f"{file}.parquet"
            wanted = ", ".join(f"{split}.parquet" for split in entry.files)
            raise AttnError(f"{path} is missing: corpus '{entry.name}' needs {wanted}; add it, or remove {folder}")
    path = cache_folder() / "tables" / name / f"{file}.parquet"
    return path if path.is_file() else None


def found(entry: catalogue.Corpus) -> dict[str, Path] | None:
    """Every file of a set and where it lies; None if one is missing."""
    paths = {}
    for file in entry.files:
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
        paths += (found(entry) or {}).values()
    return [path for path in paths if data_folder() in path.parents]
