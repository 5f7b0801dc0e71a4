"""The status page of the book: which page ran with which parameters where and when, and which runs are archived."""

import json
from collections import Counter
from pathlib import Path

from attn_core import notebook


def write_status(root: Path) -> Path:
    """Write book/status.md from the executed pages and the records in data/archive; returns the file."""
    target = root / "book" / "status.md"
    target.write_text(f"{HEAD}\n{page_table(root)}\n\n## Archived runs\n\n{run_table(root)}\n", encoding="utf-8")
    return target


HEAD = """(status)=
# Status

Written by `python -m attn_core book`. The first table says how each page that holds code was run: with which
parameters, how long, how many absent runs it shows as gap boxes, from which commit (`+`: with uncommitted changes),
and where. Pages run on one thread. The second table lists the trained models that the results rest on.

## Pages
"""


def page_table(root: Path) -> str:
    """Page × parameters × seconds × device × commit, from the metadata of the executed notebooks."""
    import nbformat

    rows = []
    for name in notebook.pages(root):
        path = root / "book" / f"{name}.ipynb"
        if not path.is_file():
            rows.append((f"`{name}`", "not executed", "", "", "", "", ""))
            continue
        page = nbformat.read(path, as_version=4)
        run, when = page.metadata.attn, page.metadata.papermill.start_time
        parameters = ", ".join(f"`{key}={value!r}`" for key, value in run.parameters.items())
        gaps = len(notebook.gaps_of(page)) or ""
        when = when[:16].replace("T", " ")
        rows.append((f"{{doc}}`{name}`", parameters, f"{run.seconds:.1f}", gaps, run.commit, when, run.device))
    return table(("page", "parameters", "seconds", "gaps", "commit", "started (UTC)", "device"), rows)


def run_table(root: Path) -> str:
    """Every record of the archive: run × test metrics × seconds × device × commit, and the versions in use."""
    files = (root / "data" / "archive").glob("*/record.json")
    records = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    if not records:
        return "The archive holds no run."
    rows, versions = [], Counter()
    names = ("corpus", "encoder", "attention", "seed")
    for record in sorted(records, key=lambda record: [record["run"][name] for name in names]):
        numbers = [f"{record[name]:.3f}" for name in ("accuracy", "macro_f1")]
        seconds = f"{sum(record['seconds'].values()):.0f}"
        rows.append((*(record["run"][name] for name in names), *numbers, seconds, record["commit"], record["device"]))
        versions[", ".join(f"{name} {version}" for name, version in record["versions"].items())] += 1
    told = "; ".join(f"{text} ({count} runs)" for text, count in versions.items())
    body = table((*names, "accuracy", "macro F1", "seconds", "commit", "device"), rows)
    return f"{len(rows)} runs; accuracy and macro F1 over the whole test set. Versions: {told}.\n\n{body}"


def table(heads: tuple, rows: list[tuple]) -> str:
    """A Markdown table."""
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in lines)
