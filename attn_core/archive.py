"""The store of runs: one folder per key, written whole or not at all, checked on reading.

data/archive/<key>/     record.json     parameters, metrics, device, versions, SHA-256 of the files beside it
                        documents.parquet   every per-document statistic at default parameters (first seeds only)
                        summary.parquet     the same by class and bin (every seed)
                        against.parquet     attention and output beside another run's (seeds, uniform)
                        traces.parquet      traces of the corpus's fixed sample of test documents (not every seed)
<cache>/runs/<key>/     record.json and the traces of the whole test set; weights: see weights.py
"""

import hashlib
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.trace_files import read_traces, write_traces
from attn_core.traces import Traces, round_mantissa

MACHINE = platform.node().replace(".", "-")
"""Stands in the names of staging folders: a store may be shared by machines, each with processes of its own."""

DOCUMENT_BITS = 18
"""Mantissa of per-document statistics: 1e-7 of a probability near 0.05, so thresholds survive rounding."""


@dataclass(frozen=True)
class Result:
    """A run as stored: its record, its traces (whole test set or the corpus's sample), and what the archive adds.

    source: 'archive', 'cache' or 'trained'. documents and summary are None outside the archive; documents also for
    further seeds; traces where `read` was asked for the summary alone and for runs of which the archive keeps record
    and summary: seeds beyond the fifth, variants, further seeds on pairs (see packing.py).
    against: one row per document, the run beside the one it is compared with (`runs.compared_with`), or None.
    """

    record: dict
    traces: Traces | None
    documents: pd.DataFrame | None
    summary: pd.DataFrame | None
    source: str
    against: pd.DataFrame | None = None

    @cached_property
    def key(self) -> str:
        return self.record["key"]

    def documents_or(self, experiment: Callable[[Traces], pd.DataFrame]) -> tuple[pd.DataFrame, str]:
        """The archived per-document table (first seeds), else experiment(traces); and the layer in words."""
        if self.documents is not None:
            return self.documents, self.documents_layer
        return experiment(self.traces), self.traces_layer

    @property
    def traces_layer(self) -> str:
        """What the traces cover, for captions."""
        n, of = len(self.traces), self.record["n_test"]
        return f"all {of} test documents" if n == of else f"trace sample, {n} of {of} test documents"

    @property
    def documents_layer(self) -> str:
        """What `documents` covers, for captions."""
        n, of = len(self.documents), self.record["n_test"]
        return f"document layer, all {of} test documents" if n == of else f"document layer, {n} of {of} test documents"


def archive_folder(required: bool = True) -> Path | None:
    """data/archive: $ATTN_ARCHIVE, else the first found upward from the working folder, else beside this package."""
    named = os.environ.get("ATTN_ARCHIVE")
    if named and not Path(named).is_dir():
        raise AttnError(f"ATTN_ARCHIVE names {named}, which is no folder; point it at the repository's data/archive")
    here = Path.cwd()
    places = (
        [Path(named)] if named else [p / "data" / "archive" for p in (here, *here.parents, Path(__file__).parents[1])]
    )
    for place in places:
        if place.is_dir():
            return place
    if required:
        raise AttnError(
            "no data/archive found here or above; run inside the repository or set ATTN_ARCHIVE to that folder"
        )
    return None


def reported_folder() -> Path:
    """data/reported, found like the archive: beside $ATTN_ARCHIVE, upward from here, or beside the package."""
    named = os.environ.get("ATTN_ARCHIVE")
    here = Path.cwd()
    starts = [Path(named).resolve().parent] if named else []
    starts += [place / "data" for place in (here, *here.parents, Path(__file__).parents[1])]
    for place in starts:
        if (place / "reported" / "tolerances.csv").is_file():
            return place / "reported"
    raise AttnError(
        "no data/reported found here or above; run inside the repository or set ATTN_ARCHIVE to its data/archive"
    )


def cache_store() -> Path:
    """The local store of runs: <cache>/runs."""
    from attn_core.corpora.files import cache_folder

    return cache_folder() / "runs"


def has(store: Path, key: str) -> bool:
    """Whether a whole run lies in the store; its record is written last into a folder that appears at once."""
    return (store / key / "record.json").is_file()


def keys(store: Path) -> list[str]:
    """Keys of all stored runs, sorted; folders still being written, whose names begin with a dot, are none."""
    return sorted(path.parent.name for path in store.glob("[!.]*/record.json")) if store.is_dir() else []


def read_record(store: Path, key: str) -> dict:
    """A run's record; AttnError where it is unreadable or belongs to another key."""
    path = store / key / "record.json"
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise AttnError(f"{path} is unreadable ({type(error).__name__}); delete the folder and run again") from error
    if record.get("key") != key:
        raise AttnError(f"{path} holds key {record.get('key')!r}, expected {key!r}; delete the folder and run again")
    return record


def read(store: Path, key: str, whole: bool = True) -> Result:
    """A stored run, every file checked against the SHA-256 in its record.

    whole False reads record and summary alone (traces and documents are None): what the scorecard needs of every run.
    """
    record = read_record(store, key)
    for name, expected in record["files"].items():
        if not (whole or name == "summary.parquet"):
            continue
        path = store / key / name
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
        if found != expected:
            raise AttnError(
                f"{path} does not match its record (expected SHA-256 {expected[:12]}…, found {found[:12]}…); "
                "restore the folder (git checkout) or delete it and run again"
            )
    wanted = [name for name in ("documents", "summary", "against") if whole or name == "summary"]
    frames = {
        name: pd.read_parquet(store / key / f"{name}.parquet") if f"{name}.parquet" in record["files"] else None
        for name in wanted
    }
    traces = read_traces(store / key / "traces.parquet") if whole and "traces.parquet" in record["files"] else None
    source = "cache" if store.name == "runs" else "archive"
    return Result(record=record, traces=traces, **({"documents": None} | frames), source=source)


def write(store: Path, key: str, record: dict, files: dict) -> None:
    """Put a run into a store in one step: staged beside it, then renamed, so a kill leaves the old state or the new.

    files: name -> Traces or DataFrame.
    """
    stage = staging(store, key)
    old = stage.with_suffix(".old")
    try:
        for name, content in files.items():
            if isinstance(content, Traces):
                write_traces(stage / name, content)
            else:
                write_table(stage / name, content)
        sums = {name: hashlib.sha256((stage / name).read_bytes()).hexdigest() for name in files}
        (stage / "record.json").write_text(lines({**record, "files": sums}))
        stage.chmod(0o755)
        if (store / key).exists():
            os.rename(store / key, old)
        os.rename(stage, store / key)
    except BaseException:
        put_back(old, store / key)
        raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def put_back(old: Path, place: Path) -> None:
    """The old state of a run whose writer was stopped between moving it aside and bringing the new one."""
    if old.exists() and not place.exists():
        os.rename(old, place)


def lines(record: dict) -> str:
    """A record as JSON, one entry a line: half the size of one number a line, and still read by eye."""
    entries = (f"{json.dumps(name)}: {json.dumps(value, default=float)}" for name, value in record.items())
    return "{\n" + ",\n".join(entries) + "\n}\n"


def staging(store: Path, key: str) -> Path:
    """A fresh folder in the store to write into; AttnError where the store cannot be written."""
    try:
        store.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{os.getpid()}@{MACHINE}.{key}.", dir=store))
    except OSError as error:
        raise AttnError(
            f"cannot write to {store} ({error.strerror}); make it writable or set ATTN_CACHE to another folder"
        ) from error


def verify(store: Path, key: str) -> None:
    """Read a run and check that its traces tell the record's story; AttnError at the first thing that does not fit."""
    result = read(store, key)
    if result.traces is None:
        return
    if len(result.traces) == result.record["n_test"]:
        accuracy = float((result.traces.predicted == result.traces.label).mean())
        if abs(accuracy - result.record["accuracy"]) > 1e-9:
            raise AttnError(
                f"{key}: the record says accuracy {result.record['accuracy']:.4f}, its traces give {accuracy:.4f}"
            )
    if result.documents is not None:
        stored = result.documents.set_index("doc_id")["p"].reindex(
            result.traces.doc_id
        )  # NaN where the table is the shorter
        worst = float(np.abs(stored.to_numpy() - result.traces.p)[stored.notna()].max())
        if worst > 1e-5:
            raise AttnError(
                f"{key}: p in documents.parquet and p of its traces differ by {worst:.2g}; expected the same model"
            )


def sweep_away(store: Path) -> None:
    """Remove the staging folders of writers that are dead; whole runs and other sweeps' work are never touched.

    A run that such a writer had moved aside, without bringing the new one, is put back.

    Of another machine that shares the store nothing is known: what it has left is removed after a week.
    """
    for stage in store.glob(".*.*"):
        writer, _, machine = stage.name.split(".")[1].partition("@")
        try:
            old = time.time() - stage.stat().st_mtime > 7 * 24 * 3600
        except FileNotFoundError:  # just finished
            continue
        if writer.isdigit() and (old if machine != MACHINE else not alive(int(writer))):
            if stage.suffix == ".old":
                put_back(stage, store / stage.name.split(".", 2)[2].removesuffix(".old"))
            shutil.rmtree(stage, ignore_errors=True)


def alive(process: int) -> bool:
    """Whether a process of this machine is running."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def write_table(path: Path, table: pd.DataFrame) -> None:
    """A DataFrame as Parquet with 18-bit mantissas; split into byte streams, floats take a third less."""
    floats = list(table.select_dtypes("floating"))
    rounded = table.assign(**{name: round_mantissa(table[name].to_numpy(), DOCUMENT_BITS) for name in floats})
    others = [name for name in table if name not in floats]
    rounded.to_parquet(
        path, compression="zstd", compression_level=19, index=False, use_dictionary=others, use_byte_stream_split=floats
    )


def sample(doc_ids: np.ndarray, corpus: str) -> np.ndarray:
    """A fixed order of documents that depends on the corpus alone: row numbers sorted by a hash of the doc_id."""
    ranks = [hashlib.sha256(f"{corpus}/{doc_id}".encode()).digest() for doc_id in doc_ids]
    return np.array(sorted(range(len(doc_ids)), key=ranks.__getitem__))
