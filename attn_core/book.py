"""The whole book: execute the pages that changed, write the status page, run Sphinx, check what came out.

    notebooks/**/*.md ──jupytext, papermill──▶ book/**/*.ipynb ──jupyter-book──▶ _build/html

An executed page carries its stamp: a hash of all that its outputs depend on. A page whose stamp still fits is not run
again. jupyter-cache is not used, since it does not see changes of imported modules.
"""

import hashlib
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from attn_core import notebook
from attn_core.errors import AttnError
from attn_core.status import write_status

gap = notebook.gap


def build(root: str | Path | None = None, jobs: int | None = None, fresh: bool = False, html: bool = True) -> int:
    """Build the book; returns the exit status.

    root: folder with notebooks/, book/_toc.yml, _config.yml and data/ (default: the repository).
    jobs: pages run at once, one process and one thread each (default: the cores this process may use).
    fresh: run every page, whatever its stamp. html: False stops after the pages.

    1 for a failing page, a page of the table of contents that is not there, a notebook that is not in it, a traceback
    in an output, a Sphinx warning (`-n -W`) or a missing HTML file, each listed. Absent runs are gap boxes (a page that
    can do nothing without them ends in one): listed, status 0.
    """
    root = notebook.repository(root)
    start = time.perf_counter()
    problems = execute_pages(root, jobs, fresh)
    if (root / "book" / "_toc.yml").is_file():
        write_status(root)
        problems += check_sources(root)
    else:
        problems.append(f"{root / 'book' / '_toc.yml'} is missing")
    if html and not problems:
        problems += run_sphinx(root)
    elif html:
        print("Sphinx was not run: the pages above have to be mended first")
    remarks(root)
    print(f"{'FAILED' if problems else 'done'} after {time.perf_counter() - start:.0f} s")
    for problem in problems:
        print(f"  error  {problem}")
    if html and not problems:
        print(f"  open   {root / '_build' / 'html' / 'index.html'}")
    return 1 if problems else 0


# ---- pages -----------------------------------------------------------------------------------------------------------


def execute_pages(root: Path, jobs: int | None = None, fresh: bool = False) -> list[str]:
    """Run the pages whose stamp does not fit, longest first; returns the failures."""
    common = common_stamp(root)
    known = notebook.pages(root)
    remove_orphans(root, known)
    todo, expected = [], {}
    for name, source in known.items():
        stamp = hashlib.sha256(common.encode() + source.read_bytes()).hexdigest()
        before = _attn(executed(root, name))
        expected[name] = before.get("seconds", 0.0)
        # A shortened page is tried again: what it wants may lie in the local cache by now, which no stamp covers.
        if fresh or before.get("stamp") != stamp or before.get("shortened"):
            todo.append((name, stamp))
    print(f"{len(known)} pages, {len(todo)} to run, {len(known) - len(todo)} unchanged", flush=True)
    if not todo:
        return []
    todo.sort(key=lambda item: -expected[item[0]])
    jobs = max(1, min(jobs or cores(), len(todo)))
    failures, start = [], time.perf_counter()
    # Processes, for papermill's working folder is not safe between threads; spawned, for no state to be inherited.
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(_run_page, name, stamp, str(root)): name for name, stamp in todo}
        try:
            for done, future in enumerate(as_completed(running), 1):
                name, error = running[future], future.exception()
                if error is not None and not isinstance(error, AttnError):
                    error = f"page {name} could not be run: {type(error).__name__}: {error}"
                left = (time.perf_counter() - start) / done * (len(todo) - done)
                result = "FAILED" if error else f"{future.result():6.1f} s"
                count = f"[{done:>{len(str(len(todo)))}}/{len(todo)}]"
                print(f"{count} {name:44} {result}   about {left:.0f} s left", flush=True)
                if error:
                    executed(root, name).unlink(missing_ok=True)
                    failures.append(str(error))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return failures


def _run_page(name: str, stamp: str, root: str) -> float:
    """One page in a worker process; returns its seconds."""
    path = notebook.execute(name, None, executed(Path(root), name), root, note={"stamp": stamp}, shorten=True)
    return _attn(path)["seconds"]


def executed(root: Path, name: str) -> Path:
    """Where the executed form of a page lies: beside the prose pages, ignored by git."""
    return root / "book" / f"{name}.ipynb"


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def common_stamp(root: Path) -> str:
    """Hash of what every page may depend on: the package, the archive, the data of the book, the locked versions."""
    package, data = Path(__file__).parent, root / "data"
    groups = [package.rglob("*.py"), root.glob("requirements.lock")]
    groups += [(data / name).rglob("*") for name in ("archive", "reported", "measured", "examples")]
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
    for path in sorted(path for group in groups for path in group if path.is_file()):
        base = package if path.is_relative_to(package) else root
        digest.update(path.relative_to(base).as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def remove_orphans(root: Path, known: dict) -> None:
    """Delete executed pages whose source is gone; nothing else in book/ is touched."""
    for path in (root / "book").rglob("*.ipynb"):
        name = path.relative_to(root / "book").with_suffix("").as_posix()
        if name not in known and _attn(path).get("stamp"):
            path.unlink()


def _read(path: Path):
    """An executed notebook, or an empty one where there is none or it is broken."""
    import nbformat

    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, KeyError, nbformat.reader.NotJSONError):
        return nbformat.v4.new_notebook()


def _attn(path: Path) -> dict:
    return _read(path).metadata.get("attn", {})


# ---- checks ----------------------------------------------------------------------------------------------------------


def toc_pages(root: Path) -> list[str]:
    """All pages that book/_toc.yml names, in its order, without suffix."""
    import yaml

    def files(node: object) -> list[str]:
        if isinstance(node, list):
            return [name for item in node for name in files(item)]
        if isinstance(node, dict):
            own = [node[key] for key in ("root", "file") if key in node]
            return own + [name for key in ("parts", "chapters", "sections") for name in files(node.get(key))]
        return []

    toc = yaml.safe_load((root / "book" / "_toc.yml").read_text(encoding="utf-8"))
    return [name.removesuffix(".md").removesuffix(".ipynb") for name in files(toc)]


def check_sources(root: Path) -> list[str]:
    """Pages of the table of contents without a file, notebooks missing from it, tracebacks in outputs."""
    toc, known = toc_pages(root), notebook.pages(root)
    problems = []
    for name in toc:
        if name not in known and not (root / "book" / f"{name}.md").is_file():
            problems.append(f"book/_toc.yml names {name}, but there is neither book/{name}.md nor notebooks/{name}.md")
    for name in known:
        if name not in toc:
            problems.append(f"notebooks/{name}.md is not in book/_toc.yml; add it (or begin a draft's name with _)")
        for cell in _read(executed(root, name)).cells:
            for output in cell.get("outputs", []):
                if "Traceback (most recent call last)" in str(output):
                    problems.append(f"page {name} shows a raw traceback below the cell: {cell.source.splitlines()[0]}")
    return problems


def check_html(root: Path) -> list[str]:
    """Pages of the table of contents without HTML."""
    folder = root / "_build" / "html"
    wanted = ["index", *toc_pages(root)]
    return [f"_build/html/{name}.html was not written" for name in wanted if not (folder / f"{name}.html").is_file()]


def remarks(root: Path) -> None:
    """Print what is no error: gap boxes, and pages that wrote to stderr (not shown in the book)."""
    gaps, noisy = [], []
    for name in notebook.pages(root):
        page = _read(executed(root, name))
        gaps += [(name, line) for line in dict.fromkeys(notebook.gaps_of(page))]
        texts = [o.text for cell in page.cells for o in cell.get("outputs", []) if o.get("name") == "stderr"]
        noisy += [(name, text.strip().splitlines()[0]) for text in texts if text.strip()]
    for kind, entries in (("gap", gaps), ("stderr", noisy)):
        for name, line in entries:
            print(f"  {kind:6} {name}: {line}")
    if gaps:
        print(f"{len(gaps)} absent runs are shown as gap boxes")


# ---- Sphinx ----------------------------------------------------------------------------------------------------------


def run_sphinx(root: Path) -> list[str]:
    """jupyter-book on book/ with warnings as errors; returns warnings, a failure, and pages not written.

    All HTML is written anew (`--all`): an incremental build repeats no warning of an unchanged page, and would pass.
    """
    start = time.perf_counter()
    shutil.rmtree(root / "_build" / "html", ignore_errors=True)
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", "book"]
    command += ["--config", "_config.yml", "--path-output", ".", "-n", "-W", "--keep-going", "--all"]
    run = subprocess.run(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    log = root / "_build" / "sphinx.log"
    log.parent.mkdir(exist_ok=True)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", run.stdout).splitlines()  # without colours
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"Sphinx: {time.perf_counter() - start:.0f} s, log in {log}", flush=True)
    marks = ("WARNING:", "ERROR:", "CRITICAL:")
    problems = [line.strip() for line in lines if any(mark in line for mark in marks)]
    if run.returncode and not problems:
        problems = [f"Sphinx ended with status {run.returncode}: {line}" for line in lines[-1:]]
    return problems + check_html(root)
