"""What the first edition printed and computed, kept so that the second loses no number without a reason.

pages.json.xz       page -> what it glued (name -> value) and its HTML tables (rows of cell texts)
scorecard.json.xz   the rows of `python -m attn_core scorecard --json`
tables.json.xz      document and summary tables of twelve runs, made anew from their stored traces
runs.json           twenty runs and their keys
archive.json.xz     every stored key and a digest of its record, which holds the checksums of its files
dropped.csv         page, name, reason: what was let go; name may hold * and ?, tables are called 'table 1', …;
                    'summary KEY' is no page but a run's summary table, by statistic, bin and measure;
                    'documents KEY' its document table, by column

Written once, at commit 9c2ff02; the files go when the second edition stands.
"""

import csv
import fnmatch
import hashlib
import json
import lzma
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DOCUMENTS = 12
"""Stored documents of each of these runs from which the tables are made."""

CLOSE = 1e-9

RENAMED = {"jain/appendix-correlation": "gallery", "jain/03-datasets": "data-details"}
"""Pages that the golden rows of the scorecard name -> where their numbers stand now."""


class Tables(HTMLParser):
    """The tables of a piece of HTML as rows of cell texts; nested tables do not occur."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables, self.cell = [], None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables:
            self.cell = []

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.cell is not None:
            self.tables[-1][-1].append(" ".join("".join(self.cell).split()))
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell.append(data)


def printed(path: Path) -> dict:
    """What an executed page glued, and its tables."""
    glued, tables = {}, []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if "scrapbook" in output.get("metadata", {}):
                text = next(iter(output["data"].values()))
                glued[output["metadata"]["scrapbook"]["name"]] = text if isinstance(text, str) else "".join(text)
            html = output.get("data", {}).get("text/html", "")
            tables += Tables(html if isinstance(html, str) else "".join(html)).tables
    return {"glued": glued, "tables": tables}


def executed() -> dict[str, Path]:
    """Page -> its executed form in book/."""
    book = ROOT / "book"
    return {path.relative_to(book).with_suffix("").as_posix(): path for path in sorted(book.rglob("*.ipynb"))}


def stored_tables(key: str) -> dict[str, dict]:
    """Document and summary table of a stored run, from its first documents."""
    from attn_core import experiments, store
    from attn_core.experiments import erasure

    traces = store.read(store.archive_folder(), key).traces
    traces = traces.take(range(min(DOCUMENTS, len(traces))))
    if "han_" in key or "flan_" in key:
        documents = erasure.document_table(traces)
        summary = erasure.summary_table(documents)
    else:
        documents = experiments.document_table(traces)
        summary = experiments.summary_table(documents, traces.classes)
    return {"documents": columns(documents), "summary": columns(summary)}


def columns(table) -> dict[str, list]:
    """A data frame as column -> values; NaN and None are None."""
    return {name: [None if value != value else value for value in table[name].tolist()] for name in table.columns}


def digests() -> dict[str, str]:
    """Stored key -> the first 16 digits of its record's SHA-256."""
    records = sorted((ROOT / "data" / "archive").glob("*/record.json"))
    return {path.parent.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in records}


def read(name: str) -> object:
    """A golden file."""
    path = HERE / name
    return json.loads(lzma.open(path, "rt").read() if path.suffix == ".xz" else path.read_text(encoding="utf-8"))


@cache
def dropped() -> list[tuple[str, str, str]]:
    """(page, name, reason) of what was let go."""
    found = []
    for path in sorted(HERE.glob("dropped*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            found += [(row["page"], row["name"], row["reason"]) for row in csv.DictReader(file)]
    return found


def is_dropped(page: str, name: str) -> bool:
    """Whether a value or table of a page stands among those let go."""
    return any(fnmatch.fnmatchcase(page, of) and fnmatch.fnmatchcase(name, what) for of, what, _ in dropped())


def without_dropped(key: str, summary: dict[str, list]) -> dict[str, list]:
    """A run's golden summary table without the rows let go; their name: statistic, bin and measure."""
    rows = zip(summary["statistic"], summary["bin"], summary["measure"], strict=True)
    kept = [not is_dropped(f"summary {key}", " ".join(row)) for row in rows]
    return {name: [v for v, keep in zip(values, kept, strict=True) if keep] for name, values in summary.items()}


def alike(first: object, second: object) -> bool:
    """Equal; numbers up to CLOSE of their size."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(alike(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(alike, first, second))
    if isinstance(first, int | float) and isinstance(second, int | float):
        return first == second or abs(first - second) <= CLOSE * max(1.0, abs(first), abs(second))
    return first == second


def differences(golden: dict, found: dict) -> list[str]:
    """Names of the values and tables of a page that are not what they were; a table may have moved on its page."""
    lost = [name for name, value in golden["glued"].items() if not same_value(value, found["glued"].get(name))]
    lost += [f"table {k}" for k, table in enumerate(golden["tables"], 1) if table not in found["tables"]]
    return lost


def same_value(first: str, second: str | None) -> bool:
    """Two glued values, as text: equal, or numbers that are alike."""
    try:
        return first == second or alike(float(first), float(second))
    except (TypeError, ValueError):
        return False
