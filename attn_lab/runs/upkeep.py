"""Writing an archive: runs put in, its list of checksums, whether its files and numbers are what was stored."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from filelock import FileLock

from attn_core.errors import AttnError
from attn_lab.data.files import replacing, sha256
from attn_lab.runs.store import (
    LAYERS,
    MANIFEST,
    commit,
    file_of,
    has_traces,
    manifest,
    read_record,
    read_traces,
    rows_of,
    settle,
    table,
    table_bytes,
    traces_bytes_of,
)


def merge(folder: Path, corpus: str, tables: Mapping[str, pa.Table], traces: Mapping[str, bytes | None]) -> None:
    """Put runs of a corpus into an archive in one step: rows of the same keys are replaced, and the manifest names what
    lies there then. tables: as in `write`, of one or more runs. traces: key -> file, None where none is kept."""
    with only_writer(folder):
        settle(folder)
        files: dict[str, bytes | None] = {f"traces/{key}.parquet": data for key, data in traces.items()}
        for layer in LAYERS:
            name = f"{layer}/{corpus}.parquet"
            before = plain(table(folder, layer, corpus))
            others = before.filter(~pc.field("key").isin(list(traces)))
            added = tables.get(layer, before.slice(length=0))
            if len(added) or len(others) < len(before):
                parts = [part for part in (others, plain(added)) if len(part)]
                files[name] = table_bytes(by_key(parts)) if parts else None
        sums = manifest(folder) or digests(folder)
        for name, data in files.items():
            sums.pop(name, None)
            if data is not None:
                sums[name] = hashlib.sha256(data).hexdigest()
        files[MANIFEST] = manifest_bytes(sums)
        commit(folder, corpus, files)


def by_key(parts: list[pa.Table]) -> pa.Table:
    """Tables as one, sorted by key, the order within a run kept; columns that one lacks are null there."""
    together = pa.concat_tables(parts, promote_options="default")
    return together.take(pc.sort_indices(together, [("key", "ascending")])).combine_chunks()


def files_of_run(folder: Path, key: str) -> tuple[dict[str, pa.Table], bytes | None]:
    """A run of a cache, as `merge` takes it: its tables and the file of its traces."""
    tables = {layer: table(folder, layer, key) for layer in LAYERS}
    return {layer: rows for layer, rows in tables.items() if len(rows)}, traces_bytes_of(folder, key)


def remove(folder: Path, key: str) -> None:
    """Remove a run from a cache."""
    file_of(folder, "runs", key).unlink(missing_ok=True)


def plain(rows: pa.Table) -> pa.Table:
    """A table with texts in place of categories, whose lists differ from file to file."""
    types = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in rows.schema]
    return rows.cast(pa.schema(zip(rows.column_names, types, strict=True)))


def only_writer(folder: Path):
    """A lock on an archive: two processes that pack would each write without the other's run."""

    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / ".lock")


BESIDE = ("reported/[!.]*.*", "measured/[!.]*.*", "examples/[!.]*.*", "people/*.csv")
"""What is sealed with an archive that lies in data/: what lies beside it there, of which pages print numbers."""


def manifest_bytes(sums: Mapping[str, str]) -> bytes:
    """The manifest's text, sorted by name."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())).encode()


def digests(folder: Path) -> dict[str, str]:
    """Name -> SHA-256 of every file of an archive, staging folders apart, and of BESIDE where there are any."""
    sums = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name[0] != "." and name not in (MANIFEST, "README.md"):
            sums[name] = sha256(path)
    for pattern in BESIDE if (folder.parent / "reported").is_dir() else ():
        for path in folder.parent.glob(pattern):
            sums[f"../{path.relative_to(folder.parent).as_posix()}"] = sha256(path)
    return sums


def faults(folder: Path) -> list[str]:
    """One line for every file of an archive that is changed, missing or unknown to its manifest."""
    settle(folder)
    sums = manifest(folder)
    there = digests(folder)
    if sums is None:
        return [f"{folder} has no {MANIFEST}; restore it (git checkout) or write it: python -m attn_core archive seal"]
    lines = []
    for name in sorted({name for name, _ in sums.items() ^ there.items()}):
        unlisted = "is no file of the archive" if name not in sums else "is not the file that was sealed"
        lines.append(f"{name} {unlisted if name in there else 'is missing'}")
    return lines


def seal(folder: Path) -> list[str]:
    """Write the manifest anew, over what lies in an archive now; returns the `faults` that there were before it."""
    with only_writer(folder):
        before = faults(folder)
        with replacing(folder / MANIFEST) as file:
            file.write(manifest_bytes(digests(folder)))
    return before


def verify(folder: Path, key: str) -> None:
    """Check that a run's traces tell the record's story; AttnError at the first thing that does not fit."""
    record = read_record(folder, key)
    if not has_traces(folder, key):
        return
    traces = read_traces(folder, key)
    documents = rows_of(folder, "documents", key)
    accuracy = (traces.predicted == traces.label).mean()
    if len(traces) == record["n_test"] and abs(accuracy - record["accuracy"]) > 1e-9:
        raise AttnError(f"{key}: the record says accuracy {record['accuracy']:.4f}, its traces give {accuracy:.4f}")
    if documents is not None:
        stored = documents.set_index("doc_id")["p"].reindex(traces.doc_id)  # NaN where the table is the shorter
        if (worst := np.nanmax(np.abs(stored - traces.p))) > 1e-5:
            raise AttnError(f"{key}: p of its documents and p of its traces differ by {worst:.2g}")
