"""The stores of runs: tables that anyone can read, written whole or not at all, checked on reading.

    runs       one row a run: its fields, its scores, its record as JSON
    numbers    one row a number: run, measure, statistic, predicted class, bin and value
    documents  one row a document of a run: every statistic at default parameters (first seeds of the archive only)
    against    one row a document of a run: attention and output beside another run's (seeds, uniform)
    traces     the corpus's fixed sample of test documents, in the cache the whole test set

data/archive has a folder of each, with a Parquet file a corpus (of traces one a run), and MANIFEST: the SHA-256 of all
its files and of the tables beside it; what does not match is refused. One process at a time writes there. The cache has
one file a run, runs/<key>.zip of these as Parquet, which is replaced in one step and begins with its SHA-256.
The cache alone has weights/<key>.safetensors: both checkpoints of a training.
"""

import hashlib
import io
import json
import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from attn_core.errors import AttnError, Damaged, one_line
from attn_core.traces import PER_DOCUMENT, TOKEN_ARRAYS, Arrays, Traces
from attn_lab.data.files import (
    MACHINE,
    altered,
    cache_folder,
    folder_of,
    half_written,
    replacing,
    say,
    stamp,
    write_kept,
)

LAYERS = ("numbers", "documents", "against", "runs")
"""The tables of a store in the order in which they are written: a run is stored once its row of `runs` is there."""

FIELDS_BESIDE_NUMBERS = (
    "corpus",
    "encoder",
    "attention",
    "seed",
    "vectors",
    "selection",
    "family",
    "variant",
    "data",
)
"""Columns of `numbers` that say of which run a number is; all fields stand in `runs`."""

SUM = 64
"""First bytes of a file of the cache: the SHA-256 of the others, as text. Programs that unpack zip pass over them."""

NAMES = ("measure", "parameter", "statistic", "predicted", "bin")
"""What a number is called."""

GROUP_ROWS = 20_000
"""Rows that Parquet files keep together: more take less space, fewer are read faster by those who look for one run."""


@dataclass(frozen=True)
class Result:
    """A run as stored: its record, its traces (whole test set or the corpus's sample), and its tables.

    source: 'archive', 'cache' or 'trained'. traces: None where `read` was asked for the numbers alone, and where the
    archive keeps none. numbers: NAMES and value. documents: None outside the archive, and for
    further seeds (see attn_lab/runs/packing.py). against: one row per document, the run beside the one it is compared
    with (`packing.compared_with`), or None. digest: SHA-256 of the file of the traces, '' without one. load: what
    `model` calls.
    """

    record: dict
    traces: Traces | None = None
    documents: pd.DataFrame | None = None
    numbers: pd.DataFrame | None = None
    source: str = "trained"
    against: pd.DataFrame | None = None
    digest: str = ""
    load: Callable | None = field(default=None, repr=False, compare=False)

    @property
    def key(self) -> str:
        return self.record["key"]

    def __repr__(self) -> str:
        scores = ", ".join(f"{name}={value:.4g}" for name, value in self.facts.items())
        return f"Result({self.key}, {self.source}: {scores}, traces={self.traces})"

    def _repr_html_(self) -> str:
        return (
            pd.Series(self.facts | {"traces": self.traces, "source": self.source}, name=self.key).to_frame().to_html()
        )

    @property
    def facts(self) -> dict:
        """Scores on the test set, of those that the record has, and its size."""
        names = ("accuracy", "macro_f1", "auc", "n_test")
        return {name: self.record[name] for name in names if self.record.get(name) is not None}

    @property
    def model(self):
        """The trained network, a torch module that `trace` and `check` take.

        AttnError where its weights are not in the cache (the archive holds none), with the command that trains it, and
        for a model that is no classifier with attention over its words or sentences.

        >>> from attn_lab import Run, obtain
        >>> run = Run("planted", "average", seed=10, epochs=1, options=(("n_train", 40), ("n_test", 10)))
        >>> obtain(run, progress=False).model.decoder.weight.shape
        torch.Size([1, 128])
        """
        if self.load is None:
            raise AttnError(f"the model of {self.key} is asked for through obtain(Run(…)).model")
        return self.load()


# ---- where things lie ------------------------------------------------------------------------------------------------


def find_archive() -> Path | None:
    """The folder that $ATTN_ARCHIVE names, else the first data/archive found upward from the working folder that has
    runs and a manifest, else that beside this package; None if there is none."""
    if named := folder_of("ATTN_ARCHIVE"):
        if not named.is_dir():
            raise AttnError(f"ATTN_ARCHIVE names {named}, no folder; point it at the repository's data/archive")
        return named
    for parent in (Path.cwd(), *Path.cwd().parents):
        folder = parent / "data" / "archive"
        if (folder / MANIFEST).is_file() and any(folder.glob("runs/*.parquet")):
            return folder
    folder = Path(__file__).parents[2] / "data" / "archive"
    return folder if folder.is_dir() else None


def archive_folder() -> Path:
    """The same; AttnError if there is none."""
    if folder := find_archive():
        return folder
    raise AttnError("no data/archive found here or above; run inside the repository or set ATTN_ARCHIVE to it")


def reported_folder() -> Path:
    """data/reported: beside the archive, else beside that of the package."""
    archive = find_archive()
    for folder in (archive and archive.resolve().parent, Path(__file__).parents[2] / "data"):
        if folder and (folder / "reported" / "tolerances.csv").is_file():
            return folder / "reported"
    raise AttnError("no data/reported found here or above; run in the repository or set ATTN_ARCHIVE to its archive")


def cache_store() -> Path:
    """The local store of runs: the user's cache."""
    return cache_folder()


def stores() -> list[Path]:
    """The archive, where there is one, and the cache: the order in which a run is looked for."""
    return list(filter(None, [find_archive(), cache_store()]))


# ---- reading ---------------------------------------------------------------------------------------------------------


def is_archive(folder: Path) -> bool:
    """Whether a store is sealed, with a file a corpus; else it has a file a run."""
    return (folder / MANIFEST).is_file()


def stems(folder: Path) -> list[str]:
    """Names of the files of a store: corpora in an archive, keys in a cache."""
    if is_archive(folder):
        settle(folder)
    return sorted(path.stem for path in (folder / "runs").glob("*.parquet" if is_archive(folder) else "*.zip"))


def file_of(folder: Path, layer: str, stem: str) -> Path:
    """The file of a store that holds a layer."""
    return folder / layer / f"{stem}.parquet" if is_archive(folder) else folder / "runs" / f"{stem}.zip"


def mark(folder: Path, layer: str, stem: str) -> str:
    """Another where the file of a layer is another; '' without one."""
    path = file_of(folder, layer, stem)
    return stamp(path) if path.is_file() else ""


def table(folder: Path, layer: str, stem: str, columns: tuple[str, ...] | None = None) -> pa.Table:
    """One file of a layer, an empty table where there is none; Damaged where it is not what was written."""
    try:
        return _table(folder, layer, stem, columns, mark(folder, layer, stem))
    except FileNotFoundError:
        return pa.table({"key": pa.array([], pa.string())})


@lru_cache(maxsize=48)
def _table(folder: Path, layer: str, stem: str, columns: tuple[str, ...] | None, _mark: str) -> pa.Table:
    return parquet(folder, layer, stem, columns)


def parquet(folder: Path, layer: str, stem: str, columns: tuple[str, ...] | None = None) -> pa.Table:
    """A table of a store; Damaged where it does not match the manifest or its checksums, FileNotFoundError without."""
    data = content(folder, layer, stem)
    try:
        return pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True).read(columns, use_threads=False)
    except (OSError, ValueError) as error:
        path = file_of(folder, layer, stem)
        raise Damaged(
            f"{path} is unreadable ({one_line(error)}); restore it (git checkout), or delete it and run again"
        ) from error


def content(folder: Path, layer: str, stem: str) -> bytes:
    """The Parquet file of a layer. FileNotFoundError where there is none, Damaged where it is not what was written."""
    if is_archive(folder):
        return sealed(folder, f"{layer}/{stem}.parquet")
    path = file_of(folder, layer, stem)
    data = path.read_bytes()
    if hashlib.sha256(data[SUM:]).hexdigest().encode() != data[:SUM]:
        raise Damaged(f"{path} is not what was stored, so it is refused; run it again with --fresh")
    with zipfile.ZipFile(io.BytesIO(data)) as run:
        if f"{layer}.parquet" in run.namelist():
            return run.read(f"{layer}.parquet")
    raise FileNotFoundError(path)


def keys_in(folder: Path, stem: str) -> list[str]:
    """Keys of the runs of one file of `runs`; of a damaged one its name: who asks for more will hear of the damage."""
    try:
        return table(folder, "runs", stem, ("key",))["key"].to_pylist()
    except Damaged:
        return [stem]


def keys(folder: Path) -> list[str]:
    """Keys of all stored runs, sorted."""
    return sorted(key for stem in stems(folder) for key in keys_in(folder, stem))


def stem_of(folder: Path, key: str) -> str | None:
    """The name of the files that hold a run, None where it is not stored. A path is no key."""
    if Path(key).name != key:
        return None
    if not is_archive(folder):
        return key if file_of(folder, "runs", key).is_file() else None
    corpora = [stem for stem in stems(folder) if f"{key}-".startswith(f"{stem}-")]
    return next((stem for stem in corpora if key in keys_in(folder, stem)), None)


def traces_bytes_of(folder: Path, key: str) -> bytes | None:
    """The file of a run's traces; None without one."""
    try:
        return content(folder, "traces", key)
    except FileNotFoundError:
        return None


def traces_digest(folder: Path, key: str) -> str:
    """SHA-256 of the file of a run's traces; '' without one."""
    data = traces_bytes_of(folder, key)
    return hashlib.sha256(data).hexdigest() if data else ""


def has_traces(folder: Path, key: str) -> bool:
    """Whether single documents of a run lie in the store."""
    return traces_bytes_of(folder, key) is not None


def read_traces(folder: Path, key: str) -> Traces:
    """The traces of a run that `has_traces`."""
    return as_traces(parquet(folder, "traces", key))


def has(folder: Path, key: str) -> bool:
    """Whether a whole run lies in the store."""
    return stem_of(folder, key) is not None


def rows_of(folder: Path, layer: str, key: str) -> pd.DataFrame | None:
    """A run's rows of a layer with the columns that it has, or None."""
    stem = stem_of(folder, key)
    columns = ("key", *NAMES, "value") if layer == "numbers" else None
    if stem is None:
        return None
    rows = table(folder, layer, stem, columns)
    rows = rows.filter(pc.equal(rows["key"], key)).drop_columns("key")
    if not len(rows):
        return None
    rows = rows.select([name for name in rows.column_names if rows[name].null_count < len(rows)])
    frame = rows.to_pandas(use_threads=False)
    return frame.astype({name: str for name in NAMES if name in frame}) if layer == "numbers" else frame


def read_record(folder: Path, key: str) -> dict:
    """A run's record; Damaged where it is unreadable or another's."""
    stem = stem_of(folder, key)
    try:
        if stem is None:
            raise LookupError("there is none")
        records = table(folder, "runs", stem, ("key", "record"))
        of_key = records.filter(pc.equal(records["key"], key))
        record = json.loads(of_key["record"][0].as_py())
        if record["key"] != key or not isinstance(record["run"], dict):
            raise ValueError(f"holds key {record['key']!r}")
    except (ValueError, LookupError, TypeError) as error:
        raise Damaged(f"the record of {key} in {folder} is unreadable ({one_line(error)}); run again") from error
    return record


def read(folder: Path, key: str, whole: bool = True) -> Result:
    """A stored run, all that is read of it checked; whole False: record and numbers alone."""
    result = Result(
        record=read_record(folder, key),
        numbers=rows_of(folder, "numbers", key),
        source="archive" if folder == find_archive() else "cache",
    )
    if not whole:
        return result
    return replace(
        result,
        documents=rows_of(folder, "documents", key),
        against=rows_of(folder, "against", key),
        traces=read_traces(folder, key) if (digest := traces_digest(folder, key)) else None,
        digest=digest,
    )


def archived_data(corpus: str, options: object) -> str | None:
    """The fingerprint of the data that the archive's runs of a corpus, with these options, were trained on; None
    without such runs. options: as in a record."""
    folder = find_archive()
    if folder is None or corpus not in stems(folder):
        return None
    wanted = json.dumps([list(pair) for pair in options])  # type: ignore[attr-defined]
    rows = table(folder, "runs", corpus)
    rows = rows.filter(pc.equal(rows["options"], wanted))
    return rows["fingerprint"][0].as_py() if len(rows) else None


# ---- writing ---------------------------------------------------------------------------------------------------------


def write(folder: Path, key: str, tables: Mapping[str, pa.Table], traces: Traces | None = None) -> None:
    """Put a run into a cache, in one step. tables: layer -> table, each with a column key."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as run:
        for layer, rows in tables.items():
            if len(rows):
                run.writestr(f"{layer}.parquet", table_bytes(rows))
        if traces is not None:
            run.writestr("traces.parquet", traces_bytes(traces))
    try:
        with replacing(folder / "runs" / f"{key}.zip") as file:
            file.write(hashlib.sha256(whole.getvalue()).hexdigest().encode())
            file.write(whole.getvalue())
    except OSError as error:
        raise unwritable(folder, error) from error


def unwritable(folder: Path, error: OSError) -> AttnError:
    """A store that cannot be written."""
    name = "ATTN_CACHE" if folder.is_relative_to(cache_folder()) else "ATTN_ARCHIVE"
    reason = f"cannot write to {folder} ({error.strerror})"
    return AttnError(f"{reason}; make room there or make it writable, or set {name} to another folder")


DECIDED = ".decided"
"""Begins the names of folders whose files are all written and only wait to be moved to their places."""


def commit(folder: Path, label: str, files: Mapping[str, bytes | None]) -> None:
    """Replace files of a store in one step: all are staged beside it, and the renaming of the stage decides. After a
    kill the old files stand or, once it is decided, whoever comes next puts the new ones in their places (`settle`).
    files: name -> content, None for one that goes; they are moved in this order."""
    stage = staging(folder, label)
    try:
        for number, (name, content) in enumerate(files.items()):
            # "/" may not stand in a name; an empty file stands for one that goes.
            (stage / f"{number:04d} {quote(name, safe='')}").write_bytes(content or b"")
        os.chmod(stage, 0o755)  # mkdtemp makes folders private; a cache may be shared
        os.rename(stage, folder / f"{DECIDED}{stage.name}")
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        raise
    settle(folder)


def settle(folder: Path) -> None:
    """Move what writers have decided to its place, theirs who were killed, too. Several processes may do so at once:
    each file is moved by one of them, and all go in the same order. Nothing leaves the folder, which may be shared;
    what cannot be moved, by who may read alone or to a full disk, stays where it is."""
    for decided in sorted(folder.glob(f"{DECIDED}*")):
        with suppress(OSError):
            for path in sorted(decided.iterdir()):
                with suppress(FileNotFoundError):  # moved by another
                    put_in_place(path, folder / unquote(path.name.partition(" ")[2]).replace("..", ""))
            decided.rmdir()


def put_in_place(path: Path, target: Path) -> None:
    """Move a file, to another disk, too, where a folder is a link to one; an empty one stands for a file that goes."""
    target.parent.mkdir(exist_ok=True)
    if not path.stat().st_size:
        target.unlink(missing_ok=True)
    elif path.stat().st_dev == target.parent.stat().st_dev:
        return os.replace(path, target)
    else:
        with replacing(target) as file:
            file.write(path.read_bytes())
    path.unlink()


def staging(folder: Path, label: str) -> Path:
    """A fresh folder in the store to write into; AttnError where the store cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f"{half_written()}{label}.", dir=folder))
    except OSError as error:
        raise unwritable(folder, error) from error


def sweep_away(folder: Path) -> None:
    """Finish what dead writers of an archive had decided, and remove what they have left half-written."""
    if is_archive(folder):
        settle(folder)
    remove_half_written(folder)


def remove_half_written(folder: Path, pattern: str = "**/.*@*") -> None:
    """Remove what dead writers have left half-written, of other machines that share the folder what is a week old."""
    stages: list[Path] = []
    with suppress(OSError):  # a folder that is gone by now: its owner removes it
        stages += folder.glob(pattern)
    for stage in stages:
        writer, _, machine = stage.name[1:].partition(".")[0].partition("@")
        with suppress(OSError):  # just finished, or another user's
            old = time.time() - stage.stat().st_mtime > 7 * 24 * 3600
            if writer.isdigit() and (old if machine != MACHINE else not psutil.pid_exists(int(writer))):
                shutil.rmtree(stage, ignore_errors=True) if stage.is_dir() else stage.unlink()


# ---- the seal --------------------------------------------------------------------------------------------------------

MANIFEST = "MANIFEST"
"""Name of an archive's list of checksums. As `sha256sum` writes it, so `sha256sum --check MANIFEST` reads it too."""


def manifest(folder: Path) -> dict[str, str] | None:
    """Path of every file that belongs to an archive -> its SHA-256; None where there is no manifest, as in a cache."""
    if not (folder / MANIFEST).is_file():
        return None
    text = (folder / MANIFEST).read_text(encoding="utf-8", errors="replace")
    return {name: digest for digest, _, name in (line.partition("  ") for line in text.splitlines())}


def sealed(folder: Path, name: str) -> bytes:
    """A file's bytes; Damaged where they are not those that the archive's manifest names."""
    sums = manifest(folder)
    path = folder / name
    data = path.read_bytes()
    if sums is not None and sums.get(name) != hashlib.sha256(data).hexdigest():
        raise Damaged(
            f"{path} is {'not the' if name in sums else 'no'} file that {MANIFEST} names, so it is refused; "
            "restore it (git checkout), or seal a change of yours: python -m attn_core archive seal"
        )
    return data


def read_data(name: str) -> io.BytesIO:
    """A file of data/reported, measured, examples or people, by its path in data/.

    Damaged where it is not the file that the manifest of the archive beside it names; FileNotFoundError without one.
    """
    return io.BytesIO(sealed(reported_folder().parent / "archive", f"../{name}"))


# ---- files -----------------------------------------------------------------------------------------------------------


def table_bytes(rows: pa.Table) -> bytes:
    """A table as Parquet; split into byte streams, floats take a third less. Each page has a checksum of its own. Texts
    of `numbers`, millions of few kinds, are categories to whoever reads them."""
    if "measure" in rows.column_names:
        for at, field in enumerate(rows.schema):
            if pa.types.is_string(field.type):
                rows = rows.set_column(at, field.name, rows[field.name].combine_chunks().dictionary_encode())
    floats = [field.name for field in rows.schema if pa.types.is_floating(field.type)]
    others = [name for name in rows.column_names if name not in floats]
    return compressed(rows, use_dictionary=others, use_byte_stream_split=floats, row_group_size=GROUP_ROWS)


def compressed(rows: pa.Table, **options) -> bytes:
    """A table as Parquet."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd", compression_level=19, write_page_checksum=True, **options)
    return sink.getvalue().to_pybytes()


def traces_bytes(traces: Traces) -> bytes:
    """Traces as Parquet, one row per document with token lists; what all documents share in the schema's metadata."""
    columns = {"doc_id": pa.array(traces.doc_id), "label": pa.array(traces.label)}
    lists = dict.fromkeys(TOKEN_ARRAYS, traces.offsets)
    lists |= dict.fromkeys(PER_DOCUMENT, np.arange(len(traces) + 1))
    for name, offsets in lists.items():
        if (values := getattr(traces, name)) is not None:
            flat = values.ravel() if values.dtype == bool else values.ravel().astype(np.float32)
            ends = (offsets * values[0].size).astype(np.int32)
            columns[name] = pa.ListArray.from_arrays(pa.array(ends), pa.array(flat))
    shared = {"bias": traces.bias, "readout": traces.readout, "width": traces.contribution.shape[1]}
    metadata = {name: json.dumps(np.asarray(value).tolist()) for name, value in shared.items() if value is not None}
    leaves = [f"{name}.list.element" for name in columns if name in TOKEN_ARRAYS or name == "query"]
    return compressed(pa.table(columns, metadata=metadata), use_dictionary=False, use_byte_stream_split=leaves)


def as_traces(rows: pa.Table) -> Traces:
    """The traces of `traces_bytes`."""
    rows = rows.combine_chunks()
    shared = {name.decode(): json.loads(text) for name, text in rows.schema.metadata.items()}
    width = shared.pop("width", len(shared["bias"]))  # runs stored before there were pairs name no width
    arrays = {name: np.array(value, dtype=np.float32) for name, value in shared.items()}
    arrays |= {name: rows[name].to_numpy() for name in ("doc_id", "label")}
    shapes = dict.fromkeys(PER_DOCUMENT, (len(rows), -1)) | {"contribution": (-1, width)}
    for name in {*rows.column_names} - {*arrays}:
        values = rows[name].chunk(0).values.to_numpy(zero_copy_only=False)
        arrays[name] = values.reshape(shapes.get(name, -1))
    offsets = rows["score"].chunk(0).offsets.to_numpy()
    return Traces(offsets=offsets.astype(np.int64), **arrays)


# ---- weights ---------------------------------------------------------------------------------------------------------


def weights_file(key: str) -> Path:
    """Where both checkpoints of a training lie in the cache."""
    return cache_folder() / "weights" / f"{key}.safetensors"


def only_trainer(key: str):
    """A lock on a training: who comes second waits and takes what the first leaves. On a GPU two trainings of one base
    would be two models."""
    from filelock import FileLock

    lock = weights_file(key).with_suffix(".lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(lock)


def write_weights(key: str, weights: dict[str, Arrays], training: dict, inputs: dict[str, str]) -> None:
    """Keep both checkpoints of a training in the cache (safetensors), with its history in the header. inputs:
    fingerprints of the data and vectors it was trained on, which the key does not hold."""
    path = weights_file(key)
    flat: Arrays = {}
    for selection, arrays in weights.items():
        flat |= {f"{selection}/{name}": array for name, array in arrays.items()}
    try:
        about = {"training": json.dumps(training), "inputs": json.dumps(inputs)}
        write_kept(path, lambda file: file.write(save(flat, about)))
    except OSError as error:
        raise AttnError(f"cannot write to {path.parent} ({error}); make room there or set ATTN_CACHE") from error


def read_weights(key: str, inputs: dict[str, str] | None = None) -> tuple[dict[str, Arrays], dict] | None:
    """(weights by selection, training) of `write_weights`, or None where the training is not cached. inputs: the
    fingerprints it must have been trained on; other weights, and damaged ones, are passed over, with a line on
    standard error."""
    path = weights_file(key)
    weights: dict[str, Arrays] = {}
    if not path.is_file():
        return None
    try:
        if altered(path):
            raise ValueError("it has another checksum")
        with safe_open(path, framework="numpy") as file:
            about = {name: json.loads(text) for name, text in file.metadata().items()}
            if inputs is not None and about.get("inputs", {}) != inputs:
                say(f"the cached weights of {key} were trained on other data or vectors; not used")
                return None
            for flat in file.keys():  # noqa: SIM118 (no mapping)
                selection, name = flat.split("/", 1)
                weights.setdefault(selection, {})[name] = file.get_tensor(flat)
            return weights, about["training"]
    except (SafetensorError, ValueError) as error:
        say(f"{path} is damaged ({one_line(error)}); it is not used")
        return None
