"""The whole book: its pages run where their stamp does not fit, what is wrong with them, the status page, Sphinx.

    notebooks/**/*.md ──jupytext, nbclient──▶ book/**/*.ipynb ──jupyter-book──▶ _build/html

The stamp of a page is a hash of all that its outputs depend on; it runs again when that changes. So does Sphinx.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from attn_book import play
from attn_build import render, write
from attn_build.plain import literal
from attn_build.rendering import address, redirect, sphinx, toc_pages
from attn_build.running import PACKAGES, execute, sweep_away
from attn_build.slides import write_kit
from attn_build.sources import codes, edited, executed, pages, read_notebook, repository, writable
from attn_build.student import write_student
from attn_core.errors import AttnError, one_line
from attn_lab.data.files import digest, sha256
from attn_lab.runs import sentence, store, upkeep

FOLDERS = {"teacher": "html", "student": "student"}
"""Edition -> its folder in _build."""


def build(root: str | Path | None = None, html: bool = True, edition: str = "teacher") -> int:
    """Build the book; returns an exit status: 1 for failing pages, what `review` finds, warnings of Sphinx, and damaged
    files of the archive, on which a gap in the book may hang.

    html: False stops after the pages. edition: teacher, into _build/html, or student, into _build/student.
    """
    root = repository(root)
    start = time.perf_counter()
    writable(root / "book" / "status.md")
    sweep_away(root)
    archive = root / "data" / "archive"
    faults = upkeep.faults(archive) if store.keys(archive) else []
    problems = execute_pages(root)
    write_status(root)
    problems += review(root)
    if html and not problems:
        problems = write_html(root, edition)
    print(f"{'FAILED' if problems or faults else 'done'} after {time.perf_counter() - start:.0f} s")
    for problem in [*problems, *faults]:
        print(f"  error  {problem}")
    if html and not problems:
        print(f"  open   {root / '_build' / FOLDERS[edition] / 'index.html'}")
    return 1 if problems or faults else 0


def write_html(root: Path, edition: str) -> list[str]:
    """The executed pages as HTML, old addresses, slides and the browser's model, where any of what they are made of has
    changed; returns what went wrong."""
    target = root / "_build" / FOLDERS[edition]
    made_of = [*(root / "book").rglob("*"), root / "_config.yml", root / "CITATION.cff"]
    stamp = digest([common_stamp(root), stamp_of(root, made_of), address(root)])
    mark = target.with_suffix(".stamp")
    if mark.is_file() and mark.read_text() == stamp and (target / "index.html").is_file():
        return []
    mark.unlink(missing_ok=True)
    source = write_student(root) if edition == "student" else root
    problems = sphinx(source)
    redirect(source)
    write_kit(root, source)
    built = source / "_build" / "html"
    if problems:
        return problems
    archive = store.find_archive()
    if archive and (archive / sentence.FOLDER).is_dir():
        sentence.write_reader(built / "_static")
        write_words(built / "_static")
    if source != root:
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(built, target)
    mark.write_text(stamp)
    return []


def write_words(folder: Path) -> None:
    """The model without context as a script beside the sentence model's, for a reader's own sentence."""
    table = json.dumps(play.stored()["average"])
    write(folder / "sst-words.js", f"attn.model.average = {table};\n")


# ---- running the pages -----------------------------------------------------------------------------------------------


def execute_pages(root: Path) -> list[str]:
    """Run the pages whose stamp does not fit, longest first, one a core of this process; returns the failures."""
    common = common_stamp(root)
    stamps = {name: digest([common, sha256(source)]) for name, source in pages(root).items()}
    before = {name: read_notebook(executed(root, name)).metadata.get("attn", {}) for name in stamps}
    # A shortened page is tried again: what it wants may lie in the local cache by now, which no stamp covers.
    todo = [
        name
        for name, about in before.items()
        if about.get("stamp") != stamps[name] or about.get("shortened") or edited(executed(root, name))
    ]
    todo.sort(key=lambda name: -before[name].get("seconds", 0.0))
    print(f"{len(stamps)} pages, {len(todo)} to run, {len(stamps) - len(todo)} unchanged", flush=True)
    failures = []
    pool = ThreadPoolExecutor(cores())  # as a context it would wait for all pages when the build is stopped
    running = {pool.submit(execute, name, None, executed(root, name), root, stamps[name]): name for name in todo}
    for done, future in enumerate(as_completed(running), 1):
        name = running[future]
        error = future.exception()
        if error:
            failures.append(str(error) if isinstance(error, AttnError) else f"page {name}: {one_line(error)}")
            executed(root, name).unlink(missing_ok=True)
        result = "FAILED" if error else f"{read_notebook(future.result()).metadata.attn.seconds:6.1f} s"
        print(f"[{done:>2}/{len(todo)}] {name:40} {result}", flush=True)
    return failures


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def common_stamp(root: Path) -> str:
    """Hash of what every page may depend on: the packages, the archive, the data of the book, the locked versions."""
    folders = [root / "data" / name for name in ("archive", "reported", "measured", "examples", "people")]
    files = [path for folder in (*PACKAGES, *folders) for path in folder.rglob("*")]
    return stamp_of(root, [*files, root / "requirements.lock"])


def stamp_of(root: Path, paths: Iterable[Path]) -> str:
    """Hash of those that are files, of their places, and of Python's version."""
    hashes: list[object] = [sys.version_info[:2]]
    for path in sorted(path for path in paths if path.is_file() and path.suffix != ".pyc"):
        base = next((package.parent for package in PACKAGES if path.is_relative_to(package)), root)
        hashes.append([path.relative_to(base).as_posix(), sha256(path)])
    return digest(hashes)


# ---- checks, and the status page -------------------------------------------------------------------------------------


def review(root: Path) -> list[str]:
    """Pages that are not in the table of contents, tracebacks in outputs; prints gaps and stderr."""
    toc = toc_pages(root)
    names = pages(root)
    problems = [
        f"notebooks/{name}.md is not in book/_toc.yml; add it (or begin a draft's name with _)"
        for name in names
        if name not in toc
    ]
    for name in names:
        notebook = read_notebook(executed(root, name))
        for cell in codes(notebook.cells):
            for output in cell.outputs:
                if "Traceback (most recent call last)" in str(output):
                    first_line = cell.source.splitlines()[0]
                    problems.append(f"page {name} shows a raw traceback below the cell: {first_line}")
                if output.get("name") == "stderr" and output.text.strip():
                    print(f"  stderr {name}: {output.text.strip().splitlines()[0]}")
        if absent := notebook.metadata.get("attn", {}).get("shortened"):
            print(f"  gap    {name}: {absent}")
    return problems


def write_status(root: Path) -> None:
    """Write book/status.md from the metadata of the executed pages, with the seal of data/archive."""
    metadata = {name: read_notebook(executed(root, name)).metadata for name in pages(root)}
    ran = [(name, page.attn, page.papermill.start_time) for name, page in metadata.items() if "attn" in page]
    archive = root / "data" / "archive"
    seal = sha256(archive / store.MANIFEST) if store.manifest(archive) is not None else ""

    runs = len(store.keys(archive))
    text = render("status.jinja", pages=ran, runs=runs, seal=seal, plain=literal, repr=repr)
    write(root / "book" / "status.md", text)
