"""Runs of the archive as it was before it became tables, one folder a run, into the tables.

usage: python convert_old.py OLD NEW [KEY ...]

OLD: folder of run folders (record.json, summary.parquet, documents.parquet, against.parquet, traces.parquet). NEW: an
archive of tables, made where there is none. Runs that NEW holds are left as they are, but for traces that it lacks.
KEY: only these runs.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from attn_core import rows, store
from attn_core.corpora.files import sha256


def old_run(folder: Path) -> tuple[dict, dict[str, pa.Table], bytes | None]:
    """Record, tables and traces of a run folder, checked against the sums in its record."""
    record = json.loads((folder / "record.json").read_text())
    sums = record.pop("files")
    assert sums == {name: sha256(folder / name) for name in sums}, folder
    frames = {}
    for layer in ("summary", "documents", "against"):
        path = folder / f"{layer}.parquet"
        frames[layer] = pd.read_parquet(path) if path.is_file() else None
    data = traces = None
    if (folder / "traces.parquet").is_file():
        data = (folder / "traces.parquet").read_bytes()
        traces = store.as_traces(store.parquet(folder, "traces.parquet"))
    numbers = rows.number_rows(record, frames["summary"], traces)
    return record, rows.tables(record, numbers, frames["documents"], frames["against"]), data


def main(old: Path, new: Path, only: set[str]) -> None:
    new.mkdir(parents=True, exist_ok=True)
    there = set(store.keys(new)) if (new / "runs").is_dir() else set()
    tables, traces = defaultdict(lambda: defaultdict(list)), defaultdict(dict)
    for path in sorted(old.glob("[!.]*/record.json")):
        key = path.parent.name
        if only and key not in only:
            continue
        corpus = json.loads(path.read_text())["run"]["corpus"]
        if key not in there:
            record, layers, data = old_run(path.parent)
            assert record["key"] == key
        elif path.with_name("traces.parquet").is_file() and not (new / "traces" / f"{key}.parquet").is_file():
            layers, data = {}, path.with_name("traces.parquet").read_bytes()
            for layer in store.LAYERS:
                if (new / layer / f"{corpus}.parquet").is_file():
                    whole = store.parquet(new, f"{layer}/{corpus}.parquet")
                    layers[layer] = whole.filter(pc.equal(whole["key"], key))
        else:
            continue
        for layer, table in layers.items():
            if len(table):
                tables[corpus][layer].append(table)
        traces[corpus][key] = data
    for corpus, layers in tables.items():
        whole = {layer: pa.concat_tables(parts, promote_options="default") for layer, parts in layers.items()}
        store.merge(new, corpus, whole, traces[corpus])
        print(corpus, len(traces[corpus]), "runs", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), set(sys.argv[3:]))
