"""What stored runs give, kept so that no later change of the code changes a number unseen.

tables.json.xz      document and summary tables of twelve runs, from the first documents of their stored traces
scorecard.json.xz   the rows of `python -m attn_core scorecard --json`
runs.json           twenty runs and their keys
archive.json.xz     every stored key and a digest of all that the archive's tables hold of it

The first two hold what the first edition computed, column by column, with what came after. Who means to change numbers
calls `write` in tests/ and says in the commit which and why.
"""

import hashlib
import json
import lzma
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DOCUMENTS = 12
"""Stored documents of each of these runs from which the tables are made."""

CLOSE, CLOSE_SEARCHED = 1e-9, 1e-6
"""Of their size, how far numbers may lie apart; the search is in single precision, and processors round differently."""


def stored_tables(key: str) -> dict[str, dict]:
    """Document and summary table of a stored run, from its first documents."""
    from attn_lab.more import erasure, tables
    from attn_lab.runs import store

    traces = store.read(store.archive_folder(), key).traces
    traces = traces.take(range(min(DOCUMENTS, len(traces))))
    if "han_" in key or "flan_" in key:
        documents = erasure.document_table(traces)
        summary = erasure.summary_table(documents)
    else:
        documents = tables.document_table(traces)
        summary = tables.summary_table(documents, traces.classes)
    return {"documents": columns(documents), "summary": columns(summary)}


def columns(table) -> dict[str, list]:
    """A data frame as column -> values; NaN and None are None."""
    return {
        name: [None if pd.isna(value) else value for value in table[name].tolist()] for name in table.columns
    }


def scorecard_rows() -> list[dict]:
    """The scorecard as its command prints it."""
    from attn_book.scorecard import scorecard

    return json.loads(scorecard().to_json(orient="records"))


def digests() -> dict[str, list[str]]:
    """Stored key -> the first 12 digits of the SHA-256 of its record, its numbers, documents, table beside another run
    and traces: of the values, so that another form of the files changes nothing."""
    from attn_lab.runs import store

    folder = ROOT / "data" / "archive"
    found = {}
    for key in store.keys(folder):
        result = store.read(folder, key)
        parts = [json.dumps(result.record, sort_keys=True).encode()]
        for table in (result.numbers, result.documents, result.against):
            parts.append(b"" if table is None else values_of(table))
        found[key] = [hashlib.sha256(part).hexdigest()[:12] if part else "" for part in parts] + [
            result.digest[:12]
        ]
    return found


def values_of(table) -> bytes:
    """A table's values, columns and rows in an order of their own."""
    table = table.astype({name: "float64" for name in table.select_dtypes("number")})
    table = table[sorted(table)].sort_values(sorted(table), ignore_index=True)
    parts = []
    for name, column in table.items():
        text = column.dtype.kind not in "fb"
        parts += [name.encode(), "\n".join(column).encode() if text else column.to_numpy().tobytes()]
    return b"".join(parts)


def read(name: str):
    """A golden file."""
    path = HERE / name
    return json.loads(
        lzma.open(path, "rt").read() if path.suffix == ".xz" else path.read_text(encoding="utf-8")
    )


def write() -> None:
    """All but the keys anew, from the archive at hand."""
    tables = {key: stored_tables(key) for key in read("tables.json.xz")}
    made = {"tables": tables, "scorecard": scorecard_rows(), "archive": digests()}
    for name, content in made.items():
        with lzma.open(HERE / f"{name}.json.xz", "wt", preset=9) as file:
            json.dump(content, file)


def alike(first: object, second: object, close: float = CLOSE) -> bool:
    """Equal; numbers up to `close` of their size."""
    if isinstance(first, int | float) and isinstance(second, int | float):
        return first == second or abs(first - second) <= close * max(1.0, abs(first), abs(second))
    return first == second
