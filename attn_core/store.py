"""The stores of runs: one folder per key, written whole or not at all, checked on reading.

    data/archive/<key>/   record.json         parameters, metrics, device, versions, SHA-256 of the files beside it
                          documents.parquet   every per-document statistic at default parameters (first seeds only)
                          summary.parquet     the same by class and bin (every seed)
                          against.parquet     attention and output beside another run's (seeds, uniform)
                          traces.parquet      traces of the corpus's fixed sample of test documents (not every seed)
    data/archive/MANIFEST SHA-256 of every file of the archive and of data/reported: what does not match is refused
    <cache>/runs/<key>/   record.json and the traces of the whole test set
    <cache>/weights/      <key>.safetensors: both checkpoints of a training; never in the archive
"""

import fcntl
import hashlib
import json
import os
import platform
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from attn_core.corpora.files import cache_folder, replacing, say, sha256
from attn_core.errors import AttnError, Damaged, one_line
from attn_core.traces import PER_DOCUMENT, TOKEN_ARRAYS, Traces, round_mantissa

MACHINE = platform.node().replace(".", "-")
"""Stands in the names of staging folders: a store may be shared by machines, each with processes of its own."""

DOCUMENT_BITS = 18
"""Mantissa of per-document statistics: 1e-7 of a probability near 0.05, so thresholds survive rounding."""

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Result:
    """A run as stored: its record, its traces (whole test set or the corpus's sample), and what the archive adds.

    source: 'archive', 'cache' or 'trained'. traces: None where `read` was asked for the summary alone, and where the
    archive keeps none. documents, summary: None outside the archive; documents also for further seeds (see packing.py).
    against: one row per document, the run beside the one it is compared with (`packing.compared_with`), or None.
    """

    record: dict
    traces: Traces | None = None
    documents: pd.DataFrame | None = None
    summary: pd.DataFrame | None = None
    source: str = "trained"
    against: pd.DataFrame | None = None

    @property
    def key(self) -> str:
        return self.record["key"]


# ---- where things lie ------------------------------------------------------------------------------------------------


def archive_folder(required: bool = True) -> Path | None:
    """The folder that $ATTN_ARCHIVE names, else the first data/archive found upward from the working folder, else that
    beside this package. None, or an AttnError where required, if there is none."""
    if named := os.environ.get("ATTN_ARCHIVE"):
        if not Path(named).is_dir():
            raise AttnError(f"ATTN_ARCHIVE names {named}, no folder; point it at the repository's data/archive")
        return Path(named)
    places = (Path.cwd(), *Path.cwd().parents, Path(__file__).parents[1])
    folder = next(filter(Path.is_dir, (place / "data" / "archive" for place in places)), None)
    if folder is None and required:
        raise AttnError("no data/archive found here or above; run inside the repository or set ATTN_ARCHIVE to it")
    return folder


def reported_folder() -> Path:
    """data/reported: beside the archive, else beside that of the package."""
    archive = archive_folder(required=False)
    for folder in (archive and archive.resolve().parent, Path(__file__).parents[1] / "data"):
        if folder and (folder / "reported" / "tolerances.csv").is_file():
            return folder / "reported"
    raise AttnError("no data/reported found here or above; run in the repository or set ATTN_ARCHIVE to its archive")


def cache_store() -> Path:
    """The local store of runs: <cache>/runs."""
    return cache_folder() / "runs"


def stores() -> list[Path]:
    """The archive, where there is one, and the cache: the order in which a run is looked for."""
    return [folder for folder in (archive_folder(required=False), cache_store()) if folder is not None]


# ---- runs ------------------------------------------------------------------------------------------------------------


def has(folder: Path, key: str) -> bool:
    """Whether a whole run lies in the store; its record is written last into a folder that appears at once."""
    return (folder / key / "record.json").is_file()


def keys(folder: Path) -> list[str]:
    """Keys of all stored runs, sorted; folders still being written, whose names begin with a dot, are none."""
    return sorted(path.parent.name for path in folder.glob("[!.]*/record.json")) if folder.is_dir() else []


def read_record(folder: Path, key: str) -> dict:
    """A run's record; Damaged where it is unreadable, belongs to another key or is not the sealed one."""
    path = folder / key / "record.json"
    try:
        record = json.loads(sealed(folder, f"{key}/record.json"))
        if (record["key"], type(record["run"]), type(record["files"])) != (key, dict, dict):
            raise ValueError(f"holds key {record['key']!r}")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise Damaged(f"{path} is unreadable ({one_line(error)}); delete the folder and run again") from error
    return record


def read(folder: Path, key: str, whole: bool = True) -> Result:
    """A stored run, every file checked against the SHA-256 in its record; whole False: record and summary alone."""
    record, found = read_record(folder, key), {}
    for name in record["files"] if whole else {"summary.parquet"} & {*record["files"]}:
        path, expected = folder / key / name, record["files"][name]
        digest = sha256(path) if path.is_file() else "no file"
        if digest != expected:
            raise Damaged(f"{path} does not match its record (expected SHA-256 {expected[:12]}…, got {digest[:12]}…); "
                          "restore the folder (git checkout) or delete it and run again")  # fmt: skip
        found[path.stem] = read_traces(path) if path.stem == "traces" else pd.read_parquet(path)
    return Result(record, source="cache" if folder.name == "runs" else "archive", **found)


def write(folder: Path, key: str, record: dict, files: dict) -> None:
    """Put a run into a store in one step: staged beside it, then renamed, so a kill leaves the old state or the new.
    files: name -> Traces, DataFrame or a file to copy."""
    stage = staging(folder, key)
    new, old = stage / "new", stage / "old"
    try:
        new.mkdir()
        for name, content in files.items():
            if isinstance(content, Path):
                shutil.copyfile(content, new / name)
            else:
                (write_traces if isinstance(content, Traces) else write_table)(new / name, content)
        sums = {name: sha256(new / name) for name in files}
        entries = {**record, "files": sums}.items()  # one a line: half the size of one number a line, and read by eye
        lines = (f"{json.dumps(name)}: {json.dumps(value, default=float)}" for name, value in entries)
        (new / "record.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
        reseal(folder, key, new)  # before the run appears: after a kill it is missing, and made again
        if (folder / key).exists():
            old.mkdir()
            os.rename(folder / key, old / key)
        os.rename(new, folder / key)
        clear(stage)
    except BaseException:
        clear(stage)
        reseal(folder, key, folder / key)
        raise


def clear(stage: Path) -> None:
    """Remove a staging folder; the run that was moved aside into it is put back, unless the new one has come."""
    for old in stage.glob("old/*"):
        if not (stage.parent / old.name).exists():
            os.rename(old, stage.parent / old.name)
    shutil.rmtree(stage, ignore_errors=True)


def staging(folder: Path, key: str) -> Path:
    """A fresh folder in the store to write into; AttnError where the store cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{os.getpid()}@{MACHINE}.{key}.", dir=folder))
    except OSError as error:
        name = "ATTN_CACHE" if folder.is_relative_to(cache_folder()) else "ATTN_ARCHIVE"
        told = f"cannot write to {folder} ({error.strerror}); make it writable or set {name} to another folder"
        raise AttnError(told) from error


def verify(folder: Path, key: str) -> None:
    """Read a run and check that its traces tell the record's story; AttnError at the first thing that does not fit."""
    result = read(folder, key)
    traces, told = result.traces, result.record["accuracy"]
    if traces is None:
        return
    accuracy = float((traces.predicted == traces.label).mean())
    if len(traces) == result.record["n_test"] and abs(accuracy - told) > 1e-9:
        raise AttnError(f"{key}: the record says accuracy {told:.4f}, its traces give {accuracy:.4f}")
    if result.documents is not None:
        stored = result.documents.set_index("doc_id")["p"].reindex(traces.doc_id)  # NaN where the table is the shorter
        if (worst := np.nanmax(np.abs(stored - traces.p))) > 1e-5:
            raise AttnError(f"{key}: p in documents.parquet and p of its traces differ by {worst:.2g}")


def sweep_away(folder: Path) -> None:
    """`clear` the staging folders of dead writers, of other machines that share the store those a week old."""
    for stage in folder.glob(".*@*"):
        writer, _, machine = stage.name[1:].partition(".")[0].partition("@")
        with suppress(FileNotFoundError):  # just finished
            old = time.time() - stage.stat().st_mtime > 7 * 24 * 3600
            if writer.isdigit() and (old if machine != MACHINE else not psutil.pid_exists(int(writer))):
                clear(stage)


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
    """A file's bytes; Damaged where the folder has a manifest and they are not those that it names."""
    data, path = (folder / name).read_bytes(), folder / MANIFEST
    known = path.read_bytes() if path.is_file() else None
    if known is not None and f"{hashlib.sha256(data).hexdigest()}  {name}\n".encode() not in known:
        raise Damaged(
            f"{folder / name} is {'not the' if f'  {name}'.encode() in known else 'no'} file that {MANIFEST} names, so "
            "it is refused; restore it (git checkout), or seal a change of yours: python -m attn_core archive seal"
        )
    return data


def read_reported(name: str) -> bytes:
    """A file of data/reported, checked against the manifest of the archive beside it."""
    return sealed(reported_folder().parent / "archive", f"../reported/{name}")


def digests(folder: Path) -> dict[str, str]:
    """Path -> SHA-256 of every file that lies in an archive, staging folders apart, and in data/reported beside it."""
    own = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    own = {name: path for name, path in own.items() if name != MANIFEST and name[0] != "."}
    beside = {f"../reported/{path.name}": path for path in (folder.parent / "reported").glob("*.csv*")}
    return {name: sha256(path) for name, path in sorted((own | beside).items())}


def faults(folder: Path) -> list[str]:
    """One line for every file of an archive that is changed, missing or unknown to its manifest."""
    known, found = manifest(folder), digests(folder)
    if known is None:
        return [f"{folder} has no {MANIFEST}; restore it (git checkout) or write it: python -m attn_core archive seal"]
    told = {name: "is missing" for name in known.keys() - found}
    told |= {name: "is no file of the archive" for name in found.keys() - known}
    told |= {name: "is not the file that was sealed" for name in known.keys() & found if known[name] != found[name]}
    return [f"{name} {fault}" for name, fault in sorted(told.items())]


def seal(folder: Path) -> tuple[list[str], list[str]]:
    """Write the manifest anew, over what lies in an archive now. Returns the `faults` that there were before it, and
    one line for each run that is not sealed: its files are not those that its record names."""
    before, found, refused = faults(folder), digests(folder), []
    for key in keys(folder):
        own = {path.name: found.pop(f"{key}/{path.name}", "") for path in (folder / key).glob("*")}
        try:
            named = json.loads((folder / key / "record.json").read_text(encoding="utf-8"))["files"]
            whole = named | {"record.json": own["record.json"]} == own
        except (ValueError, LookupError, TypeError):
            whole = False
        if whole:
            found |= {f"{key}/{name}": digest for name, digest in own.items()}
        else:
            refused.append(f"{key} does not hold the files that its record names; it is not sealed")
    write_manifest(folder, found)
    return before, refused


def reseal(folder: Path, key: str, files: Path) -> None:
    """Name a run's files, as they lie in `files`, in the manifest of a store that has one."""
    if manifest(folder) is None:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # two processes that pack would each write without the other's run
        known = {name: digest for name, digest in manifest(folder).items() if not name.startswith(f"{key}/")}
        write_manifest(folder, known | {f"{key}/{path.name}": sha256(path) for path in sorted(files.glob("*"))})
    finally:
        os.close(handle)


def write_manifest(folder: Path, files: dict[str, str]) -> None:
    with replacing(folder / MANIFEST) as file:
        file.write("".join(f"{digest}  {name}\n" for name, digest in sorted(files.items())).encode())


# ---- files -----------------------------------------------------------------------------------------------------------


def write_table(path: Path, table: pd.DataFrame) -> None:
    """A DataFrame as Parquet with 18-bit mantissas; split into byte streams, floats take a third less."""
    floats = list(table.select_dtypes("floating"))
    rounded = table.assign(**{name: round_mantissa(table[name].to_numpy(), DOCUMENT_BITS) for name in floats})
    others = [name for name in table if name not in floats]
    rounded.to_parquet(path, compression="zstd", compression_level=19, index=False, use_dictionary=others,
                       use_byte_stream_split=floats)  # fmt: skip


def write_traces(path: Path, traces: Traces) -> None:
    """Traces as Parquet, one row per document with token lists; what all documents share in the schema's metadata."""
    columns = {"doc_id": pa.array(traces.doc_id), "label": pa.array(traces.label)}
    lists = dict.fromkeys(TOKEN_ARRAYS, traces.offsets) | dict.fromkeys(PER_DOCUMENT, np.arange(len(traces) + 1))
    for name, offsets in lists.items():
        if (values := getattr(traces, name)) is not None:
            flat = values.ravel() if values.dtype == bool else values.ravel().astype(np.float32)
            ends = (offsets * values[0].size).astype(np.int32)
            columns[name] = pa.ListArray.from_arrays(pa.array(ends), pa.array(flat))
    shared = {"bias": traces.bias, "readout": traces.readout, "width": traces.contribution.shape[1]}
    shared = {name: json.dumps(np.asarray(value).tolist()) for name, value in shared.items() if value is not None}
    leaves = [f"{name}.list.element" for name in columns if name in TOKEN_ARRAYS or name == "query"]
    pq.write_table(pa.table(columns, metadata=shared), path, compression="zstd", compression_level=19,
                   use_dictionary=False, use_byte_stream_split=leaves)  # fmt: skip


def read_traces(path: Path) -> Traces:
    """The traces of `write_traces`."""
    table = pq.read_table(path).combine_chunks()
    shared = {name.decode(): json.loads(text) for name, text in table.schema.metadata.items()}
    width = shared.pop("width", len(shared["bias"]))  # runs stored before there were pairs name no width
    shapes = dict.fromkeys(TOKEN_ARRAYS, (-1,)) | dict.fromkeys(PER_DOCUMENT, (len(table), -1))
    shapes["contribution"] = -1, width
    arrays = {name: np.array(value, dtype=np.float32) for name, value in shared.items()}
    for name in shapes.keys() & {*table.column_names}:
        arrays[name] = table[name].chunk(0).values.to_numpy(zero_copy_only=False).reshape(shapes[name])
    arrays |= {name: table[name].to_numpy() for name in ("doc_id", "label")}
    return Traces(offsets=table["score"].chunk(0).offsets.to_numpy().astype(np.int64), **arrays)


# ---- weights ---------------------------------------------------------------------------------------------------------


def weights_file(key: str) -> Path:
    """Where both checkpoints of a training lie in the cache."""
    return cache_folder() / "weights" / f"{key}.safetensors"


def write_weights(key: str, weights: dict[str, Arrays], training: dict, inputs: dict[str, str]) -> None:
    """Keep both checkpoints of a training in the cache (safetensors), with its history in the header. inputs:
    fingerprints of the data and vectors it was trained on, which the key does not hold."""
    path = weights_file(key)
    flat = {f"{selection}/{name}": array for selection, arrays in weights.items() for name, array in arrays.items()}
    try:
        with replacing(path) as file:
            file.write(save(flat, {"training": json.dumps(training), "inputs": json.dumps(inputs)}))
    except OSError as error:
        raise AttnError(f"cannot write to {path.parent} ({error}); make room there or set ATTN_CACHE") from error


def read_weights(key: str, inputs: dict[str, str] | None = None) -> tuple[dict[str, Arrays], dict] | None:
    """(weights by selection, training) of `write_weights`, or None where the training is not cached. inputs: the
    fingerprints it must have been trained on; other weights are passed over, with a line on standard error."""
    path, weights = weights_file(key), {}
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            about = {name: json.loads(text) for name, text in file.metadata().items()}
            if inputs is not None and about.get("inputs", {}) != inputs:
                say(f"the cached weights of {key} were trained on other data or vectors; not used")
                return None
            for flat in file.keys():
                selection, name = flat.split("/", 1)
                weights.setdefault(selection, {})[name] = file.get_tensor(flat)
            return weights, about["training"]
    except (SafetensorError, ValueError) as error:
        raise AttnError(f"{path} is damaged ({error}); delete it and run again") from error


def sample(doc_ids: np.ndarray, corpus: str) -> np.ndarray:
    """A fixed order of documents that depends on the corpus alone: row numbers sorted by a hash of the doc_id."""
    ranks = [hashlib.sha256(f"{corpus}/{doc_id}".encode()).digest() for doc_id in doc_ids]
    return np.array(sorted(range(len(doc_ids)), key=ranks.__getitem__))
