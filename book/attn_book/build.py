"""Pages as notebooks, and the whole book: from MyST text to Jupyter, running pages, Sphinx, and the status page.

    notebooks/**/*.md ──jupytext, papermill──▶ book/**/*.ipynb ──jupyter-book──▶ _build/html

A page is a MyST Markdown notebook `notebooks/<paper>/NN-section.md`, named here without folder and suffix
(`jain/04-1-correlation`). One code cell, tagged `parameters`, holds literals only. Its front matter may hold

    attn:
      smoke: {permutations: 10}           parameters under which the tests run the page in a few seconds
      takes: {rule: [coded, described]}   what parameters take beside their type (`page.check`)

An executed page carries its stamp: a hash of all that its outputs depend on. A page whose stamp still fits is not run
again. jupyter-cache is not used, since it does not see changes of imported modules.
"""

import hashlib
import html
import json
import multiprocessing
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from difflib import get_close_matches
from pathlib import Path
from unittest.mock import patch

import yaml

import attn_core
from attn_book import sentence
from attn_book.page import FIND, GUARD, check, declared, gap_box, gaps_of, minus
from attn_book.words import ATTENTION_NAMES, ENCODERS, SETS
from attn_core import archive
from attn_core.errors import AttnError
from attn_core.runs import AbsentRun

CELL_SECONDS = 900
"""A cell that runs longer is taken for hung."""

PACKAGES = (Path(attn_core.__file__).parent, Path(__file__).parent)
"""Folders of attn_core and attn_book."""

RECORD = "Replication record"
"""Caption of the part of the table of contents that is no reading matter: it stands off the chain of pages."""

LABEL = re.compile(r"\([\w-]+\)=\s*")
"""A line of MyST that names the place below it."""

NOT_TEXT = re.compile(r"(<(style|script|code|pre)\b.*?</\2>|<[^>]*>)|[^<]+", re.DOTALL)
"""Group 1 of a piece of HTML: what is no text to read. Else the piece is text."""

TIED = re.compile(r"(?<=[\d%]) (to|/) (?=[−+]?\d)|(?<=\S) \*(?=\s*$)")
"""Within an interval, within a row of shares, before a star: where a narrow column must not break."""

STATUS_HEAD = """(status)=
# Status

Written by `python -m attn_core book`. The first table says how each page that holds code was run: with which
parameters, how long, how many absent runs it shows as gap boxes, from which commit (`+`: with uncommitted changes),
and where. Pages run on one thread. The second table counts the trained models that the results rest on; every one of
them is listed by `python -m attn_core archive list`.
"""


# ---- finding and reading pages ---------------------------------------------------------------------------------------


def repository(root: str | Path | None = None) -> Path:
    """The folder that holds notebooks/: `root`, else the one of these packages, else the first one upward from here."""
    here = Path.cwd()
    for place in [Path(root)] if root else [Path(__file__).parents[2], here, *here.parents]:
        if (place / "notebooks").is_dir():
            return place
    raise AttnError("no folder notebooks/ found; run inside a clone of the repository, or name a notebook file")


def pages(root: str | Path | None = None) -> dict[str, Path]:
    """Page name -> source of every page, sorted; names that start with _ (drafts) or . (checkpoints) are no pages."""
    folder = repository(root) / "notebooks"
    names = {path.relative_to(folder).with_suffix(""): path for path in sorted(folder.rglob("*.md"))}
    return {name.as_posix(): path for name, path in names.items() if not any(part[0] in "_." for part in name.parts)}


def locate(page: str | Path, root: str | Path | None = None) -> tuple[str, Path]:
    """Name and file of a page: its name, the last part of its name, or the path of a .md or .ipynb file."""
    path, name = Path(page), Path(page).as_posix()
    if path.suffix in (".md", ".ipynb"):
        if not path.is_file():
            raise AttnError(f"there is no file {page}; name a page such as jain/04-1-correlation or a notebook file")
        known = {file.resolve(): name for name, file in pages(root).items()} if path.suffix == ".md" else {}
        return known.get(path.resolve(), path.stem), path
    known = pages(root)
    fits = [name] if name in known else [other for other in known if other.rsplit("/", 1)[-1] == name]
    if len(fits) == 1:
        return fits[0], known[fits[0]]
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise AttnError(f"there is no page {name!r}{hint} Known: {', '.join(known) or 'none'}")


def read_source(path: Path):
    """A page as a notebook object without outputs, from MyST Markdown or Jupyter."""
    import jupytext
    import nbformat

    try:
        if path.suffix == ".ipynb":
            return nbformat.read(path, as_version=4)
        return jupytext.read(path, fmt={"extension": ".md", "format_name": "myst"})
    except (OSError, ValueError, nbformat.reader.NotJSONError) as error:
        raise AttnError(f"{path} cannot be read as a notebook ({str(error).splitlines()[0]})") from error


def declaration(notebook, name: str) -> tuple[dict, dict, dict]:
    """What a page declares: its parameters with their defaults, what they take, and the small ones of the tests."""
    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(tagged) != 1 or tagged[0].cell_type != "code":
        raise AttnError(f"page {name}: one code cell must be tagged `parameters` (literals only)")
    defaults, own = declared(tagged[0].source, name), notebook.metadata.get("attn", {})
    takes = dict(own.get("takes", {}))
    return defaults, takes, check(defaults, own.get("smoke", {}), name, takes)


# ---- converting ------------------------------------------------------------------------------------------------------


def convert(page: str | Path, root: str | Path | None = None):
    """A page as a notebook ready to run: kernel named, cells numbered, guard cell behind the parameters cell.

    papermill puts the parameters it is given directly behind the parameters cell, hence before the guard, so that
    they are checked however the notebook is run. The guard carries the declared defaults: a downloaded notebook needs
    nothing but the packages.
    """
    from nbformat.v4 import new_code_cell

    name, path = locate(page, root)
    notebook = read_source(path)
    if path.suffix == ".ipynb":
        return notebook
    defaults, takes, _ = declaration(notebook, name)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    arguments = "".join(f", {key}={value!r}" for key, value in defaults.items())
    text = GUARD.replace("{page!r}", repr(name)).replace("{takes}", repr(takes)).replace("{arguments}", arguments)
    generated = lambda source: new_code_cell(source, metadata={"tags": ["guard", "remove-cell"]})
    first = next(i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code")
    place = next(i for i, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", []))
    notebook.cells.insert(place + 1, generated(text))
    if place != first:  # what runs before the parameters finds the packages too
        notebook.cells.insert(first, generated(FIND))
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    return notebook


def convert_all(folder: str | Path | None = None, root: str | Path | None = None) -> list[Path]:
    """Write every page as .ipynb, beside its source or under `folder`; returns the files written."""
    base = Path(folder) if folder else repository(root) / "notebooks"
    return [_write(convert(name, root), base / f"{name}.ipynb") for name in pages(root)]


# ---- running ---------------------------------------------------------------------------------------------------------


def execute(
    page: str | Path,
    parameters: dict | None = None,
    output: str | Path | None = None,
    root: str | Path | None = None,
    note: dict | None = None,
    shorten: bool = False,
) -> Path:
    """Run a page with other parameters; returns the executed notebook.

    parameters: name -> value, or -> text as typed on a command line; checked before anything runs.
    output: default `_build/executed/<page>.ipynb` in the repository. Written whole or not at all. Where a cell fails
    for another reason than a refused input, the notebook up to there is kept in `_build/failed/`.
    note: entries added to the notebook's metadata under `attn`, beside page, parameters, seconds, device, commit.
    shorten: a page that stops for want of a run is written as its text up to the parameters and a gap box (the book's
    build), with `shortened: True` under `attn`; else it is refused like any other failing page.

    The kernel runs in the repository with one thread, for the numbers not to depend on the machine's cores.
    Raises AttnError, one line, for a refused parameter and for a failing cell.
    """
    import nbformat
    import papermill

    name, path = locate(page, root)
    notebook = convert(path if path.suffix == ".ipynb" else name, root)
    defaults, takes, _ = declaration(notebook, name)
    values = check(defaults, parameters or {}, name, takes)
    here = repository(root) if root or path.suffix == ".md" else Path.cwd()
    target = Path(output) if output else here / "_build" / "executed" / f"{name}.ipynb"
    with tempfile.TemporaryDirectory(prefix="attn-") as scratch, patch.dict(os.environ, kernel_environment(scratch)):
        source, result = _write(notebook, Path(scratch) / "page.ipynb"), Path(scratch) / "result.ipynb"
        injected = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
        try:
            papermill.execute_notebook(
                source, result, injected, cwd=here, progress_bar=sys.stderr.isatty(), execution_timeout=CELL_SECONDS,
                config=_transport(scratch), extra_arguments=["--log-level=50"],
            )  # fmt: skip
            done = tidy(nbformat.read(result, as_version=4))
        except papermill.PapermillExecutionError as error:
            stopped, message = nbformat.read(result, as_version=4), (error.evalue.splitlines() or [""])[0]
            if not (shorten and error.ename == AbsentRun.__name__):
                message = f"page {name} stopped in cell {error.exec_count}: {error.ename}: {message}"
                if len(error.traceback) != 1:  # AttnErrors render as one line: a refused input, nothing to look into
                    kept = _write(stopped, here / "_build" / "failed" / f"{name}.ipynb")
                    message += f"; the notebook up to there: {kept}"
                raise AttnError(message) from None
            note, done = {**(note or {}), "shortened": True}, shortened(notebook, stopped, message)
        except Exception as error:  # the kernel did not start, died, or hung
            first = (str(error).splitlines() or [""])[0]
            raise AttnError(f"page {name} could not be run: {type(error).__name__}: {first}") from error
    run = {"page": name, "parameters": defaults | values, "seconds": done.metadata.papermill.duration}
    done.metadata["attn"] = {**done.metadata.get("attn", {}), **run, **_where(here), **(note or {})}
    return _write(done, target)


def kernel_environment(scratch: str) -> dict[str, str]:
    """What a kernel inherits: one thread, both packages, and nothing of the user's IPython profile."""
    packages = [str(folder.parent) for folder in PACKAGES]
    return dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1") | {
        "PYTHONPATH": os.pathsep.join([*packages, *filter(None, [os.environ.get("PYTHONPATH")])]),
        "IPYTHONDIR": scratch, "JUPYTER_RUNTIME_DIR": scratch, "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }  # fmt: skip


def _transport(scratch: str):
    """Kernels talk through sockets in the scratch folder: two that start at once cannot pick the same port.

    Windows, and folders too long for a socket's name (104 bytes on macOS), keep TCP.
    """
    from traitlets.config import Config

    sockets = os.name == "posix" and len(scratch) < 90
    return Config({"KernelManager": {"transport": "ipc", "ip": f"{scratch}/kernel"}} if sockets else {})


def _where(folder: Path) -> dict:
    """Machine, Python and commit of an execution."""
    cpuinfo = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", cpuinfo.read_text() if cpuinfo.is_file() else "")
    git = ["git", "-C", str(folder), "describe", "--always", "--dirty=+", "--exclude=*", "--abbrev=9"]
    try:
        commit = subprocess.run(git, capture_output=True, text=True, timeout=20).stdout.strip()
    except OSError:
        commit = ""
    device = model[1] if model else platform.processor() or platform.machine()
    return {"device": f"CPU, {device}", "python": platform.python_version(), "commit": commit or "unknown"}


def _write(notebook, target: Path) -> Path:
    """Write a notebook whole: to a temporary name in the same folder, then renamed. Returns the file."""
    import nbformat

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        nbformat.write(notebook, part)
        os.replace(part, target)
    except OSError as error:
        raise AttnError(f"cannot write {target} ({error.strerror}); name another place with --output") from error
    return target


# ---- tidying, or cutting short for want of a run ---------------------------------------------------------------------


def tidy(notebook):
    """An executed notebook fit to publish: no paths of this machine, minus signs in shown tables and texts.

    In HTML tables, which scroll, spaces within intervals, within rows of shares and before a star do not break.
    """
    for key in ("input_path", "output_path", "environment_variables", "exception"):
        notebook.metadata.papermill.pop(key, None)
    tied = lambda text: TIED.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), minus(text))
    for data in (output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])):
        if "text/markdown" in data:
            data["text/markdown"] = minus(data["text/markdown"])
        if "<table" in data.get("text/html", ""):
            data["text/html"] = NOT_TEXT.sub(lambda part: part[0] if part[1] else tied(part[0]), data["text/html"])
    return notebook


def shortened(source, stopped, reason: str):
    """A page that stopped for want of a run: its text up to the parameters, and one gap box with all that is absent.

    Labels of the text that is left out are kept in front of the box, for other pages may refer to them.
    """
    from nbformat import from_dict, v4

    first = next(i for i, cell in enumerate(source.cells) if cell.cell_type == "code")
    texts = [cell.source for cell in source.cells[first:] if cell.cell_type == "markdown"]
    labels = [line for text in texts for line in text.splitlines() if LABEL.fullmatch(line)]
    told = "\n".join([*labels, "The rest of this page needs trained models that are not there."])
    box = v4.new_output("display_data", **gap_box(list(dict.fromkeys([*gaps_of(stopped), reason]))))
    # MyST-NB skips cells without source, outputs and all
    shown = v4.new_code_cell("# outputs only", outputs=[box], metadata={"tags": ["remove-input"]}, id="shortened-gap")
    cells = [*source.cells[: first + 1], v4.new_markdown_cell(told, id="shortened"), shown]
    return tidy(from_dict({**stopped, "cells": cells}))


# ---- the whole book --------------------------------------------------------------------------------------------------


def build(root: str | Path | None = None, jobs: int | None = None, fresh: bool = False, html: bool = True) -> int:
    """Build the book; returns the exit status.

    root: folder with notebooks/, book/_toc.yml, _config.yml and data/ (default: the repository).
    jobs: pages run at once, one process and one thread each (default: the cores this process may use).
    fresh: run every page, whatever its stamp. html: False stops after the pages.

    1 for a failing page, a page of the table of contents that is not there, a notebook that is not in it, a traceback
    in an output, a Sphinx warning (`-n -W`) or a missing HTML file, each listed. Absent runs are gap boxes (a page that
    can do nothing without them ends in one): listed, status 0.
    """
    root, start = repository(root), time.perf_counter()
    problems = execute_pages(root, jobs, fresh)
    if (root / "book" / "_toc.yml").is_file():
        write_status(root)
        problems += check_sources(root)
    else:
        problems.append(f"{root / 'book' / '_toc.yml'} is missing")
    if html and not problems:
        problems += run_sphinx(root)
        store = archive.archive_folder(required=False)
        if not problems and store and (store / sentence.FOLDER).is_dir():
            sentence.write_reader(root / "_build" / "html" / "_static")
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
    common, known = common_stamp(root), pages(root)
    for path in (root / "book").rglob("*.ipynb"):  # executed pages whose source is gone
        if path.relative_to(root / "book").with_suffix("").as_posix() not in known and _attn(path).get("stamp"):
            path.unlink()
    todo, seconds = {}, {}
    for name, source in known.items():
        stamp = hashlib.sha256(common.encode() + source.read_bytes()).hexdigest()
        before = _attn(executed(root, name))
        # A shortened page is tried again: what it wants may lie in the local cache by now, which no stamp covers.
        if fresh or before.get("stamp") != stamp or before.get("shortened"):
            todo[name], seconds[name] = stamp, before.get("seconds", 0.0)
    print(f"{len(known)} pages, {len(todo)} to run, {len(known) - len(todo)} unchanged", flush=True)
    if not todo:
        return []
    failures, start = [], time.perf_counter()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    jobs = min(jobs or cores, len(todo))
    # Processes, for papermill's working folder is not safe between threads; spawned, for no state to be inherited.
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        order = sorted(todo, key=seconds.get, reverse=True)
        running = {pool.submit(_run_page, name, todo[name], str(root)): name for name in order}
        try:
            for done, future in enumerate(as_completed(running), 1):
                name, error = running[future], future.exception()
                if error is not None and not isinstance(error, AttnError):
                    error = f"page {name} could not be run: {type(error).__name__}: {error}"
                left = (time.perf_counter() - start) / done * (len(todo) - done)
                result = "FAILED" if error else f"{future.result():6.1f} s"
                print(f"[{done:>2}/{len(todo)}] {name:40} {result}   about {left:.0f} s left", flush=True)
                if error:
                    executed(root, name).unlink(missing_ok=True)
                    failures.append(str(error))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return failures


def _run_page(name: str, stamp: str, root: str) -> float:
    """One page in a worker process; returns its seconds."""
    path = execute(name, None, executed(Path(root), name), root, note={"stamp": stamp}, shorten=True)
    return _attn(path)["seconds"]


def executed(root: Path, name: str) -> Path:
    """Where the executed form of a page lies: beside the prose pages, ignored by git."""
    return root / "book" / f"{name}.ipynb"


def common_stamp(root: Path) -> str:
    """Hash of what every page may depend on: the packages, the archive, the data of the book, the locked versions."""
    data = root / "data"
    groups = [*(package.rglob("*.py") for package in PACKAGES), root.glob("requirements.lock")]
    groups += [(data / name).rglob("*") for name in ("archive", "reported", "measured", "examples")]
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
    for path in sorted(path for group in groups for path in group if path.is_file()):
        base = next((package.parent for package in PACKAGES if path.is_relative_to(package)), root)
        digest.update(path.relative_to(base).as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _read(path: Path):
    """An executed notebook, or an empty one where there is none or it is broken."""
    import nbformat

    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, KeyError, nbformat.reader.NotJSONError):
        return nbformat.v4.new_notebook()


def _attn(path: Path) -> dict:
    return _read(path).metadata.get("attn", {})


# ---- the table of contents, and checks -------------------------------------------------------------------------------


def toc_pages(root: Path, record: bool = True) -> list[str]:
    """All pages that book/_toc.yml names, in its order; record=False leaves out the part of that caption."""
    from sphinx_external_toc.parsing import parse_toc_yaml

    site = parse_toc_yaml(root / "book" / "_toc.yml")

    def below(tree) -> list[str]:
        inner = lambda file: [name for part in site[file].subtrees for name in below(part)]
        return [name for file in tree.files() for name in (file, *inner(file))]

    parts = [tree for tree in site.root.subtrees if record or tree.caption != RECORD]
    return [site.root.docname, *(name for tree in parts for name in below(tree))]


def check_sources(root: Path) -> list[str]:
    """Pages of the table of contents without a file, notebooks missing from it, tracebacks in outputs."""
    toc, known = toc_pages(root), pages(root)
    problems = [f"book/_toc.yml names {name}, but there is neither book/{name}.md nor notebooks/{name}.md"
                for name in toc if name not in known and not (root / "book" / f"{name}.md").is_file()]  # fmt: skip
    for name in known:
        if name not in toc:
            problems.append(f"notebooks/{name}.md is not in book/_toc.yml; add it (or begin a draft's name with _)")
        for cell in _read(executed(root, name)).cells:
            if "Traceback (most recent call last)" in str(cell.get("outputs", "")):
                problems.append(f"page {name} shows a raw traceback below the cell: {cell.source.splitlines()[0]}")
    return problems


def remarks(root: Path) -> None:
    """Print what is no error: gap boxes, and pages that wrote to stderr (not shown in the book)."""
    executions = {name: _read(executed(root, name)) for name in pages(root)}
    gaps = [(name, line) for name, page in executions.items() for line in dict.fromkeys(gaps_of(page))]
    texts = [(name, output.text.strip()) for name, page in executions.items() for cell in page.cells
             for output in cell.get("outputs", []) if output.get("name") == "stderr"]  # fmt: skip
    noisy = [(name, text.splitlines()[0]) for name, text in texts if text]
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
    start, built = time.perf_counter(), root / "_build" / "html"
    shutil.rmtree(built, ignore_errors=True)
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", "book"]
    command += ["--config", "_config.yml", "--path-output", ".", "-n", "-W", "--keep-going", "--all"]
    paths = os.pathsep.join([*(str(folder.parent) for folder in PACKAGES), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONPATH": paths},
    )  # fmt: skip
    log = root / "_build" / "sphinx.log"
    log.parent.mkdir(exist_ok=True)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", run.stdout).splitlines()  # without colours
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"Sphinx: {time.perf_counter() - start:.0f} s, log in {log}", flush=True)
    problems = [line.strip() for line in lines if any(f"{mark}:" in line for mark in ("WARNING", "ERROR", "CRITICAL"))]
    if run.returncode and not problems:
        problems = [f"Sphinx ended with status {run.returncode}: {line}" for line in lines[-1:]]
    redirect(root)
    missing = [name for name in ["index", *toc_pages(root)] if not (built / f"{name}.html").is_file()]
    return problems + [f"_build/html/{name}.html was not written" for name in missing]


def redirect(root: Path) -> None:
    """A page at every old address of book/redirects.yml that leads to the new one."""
    source = root / "book" / "redirects.yml"
    for old, new in (yaml.safe_load(source.read_text(encoding="utf-8")) if source.is_file() else {}).items():
        target = root / "_build" / "html" / f"{old}.html"
        link = html.escape(os.path.relpath(f"{new}.html", Path(old).parent))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            f'<!doctype html><meta charset="utf-8"><title>Moved</title><link rel="canonical" href="{link}">'
            f'<meta http-equiv="refresh" content="0; url={link}"><p>This page is now <a href="{link}">here</a>.</p>\n',
            encoding="utf-8",
        )


def setup(app) -> dict:
    """As an extension of Sphinx: the chain of previous and next pages ends before the record."""
    chain = toc_pages(Path(app.srcdir).parent, record=False)

    def cut(app, page: str, template: str, context: dict, doctree) -> None:
        for way in ("prev", "next"):
            other = (app.env.collect_relations().get(page) or (None,) * 3)[1 if way == "prev" else 2]
            if other and (page in chain) != (other in chain):
                context[way] = None

    app.connect("html-page-context", cut)
    return {"parallel_read_safe": True}


# ---- the status page -------------------------------------------------------------------------------------------------


def write_status(root: Path) -> None:
    """Write book/status.md from the executed pages and the records in data/archive."""
    text = f"{STATUS_HEAD}\n## Pages\n\n{page_table(root)}\n\n## Trained models\n\n{run_table(root)}\n"
    (root / "book" / "status.md").write_text(text, encoding="utf-8")


def page_table(root: Path) -> str:
    """Page × parameters × seconds × gaps × commit × device, from the metadata of the executed notebooks."""
    rows = []
    for name in pages(root):
        page = _read(executed(root, name))
        if not (run := page.metadata.get("attn")):
            rows.append((f"`{name}`", "not executed", *[""] * 5))
            continue
        parameters = ", ".join(f"`{key}={value!r}`" for key, value in run.parameters.items())
        when = page.metadata.papermill.start_time[:16].replace("T", " ")
        numbers = f"{run.seconds:.1f}", len(gaps_of(page)) or ""
        rows.append((f"{{doc}}`{name}`", parameters, *numbers, run.commit, when, run.device))
    return table(("page", "parameters", "seconds", "gaps", "commit", "started (UTC)", "device"), rows)


def run_table(root: Path) -> str:
    """Data set × model: runs, seconds of training and tracing, devices, from the records of the archive."""
    counted: dict[tuple, list] = {}
    records = [json.loads(path.read_text(encoding="utf-8")) for path in root.glob("data/archive/*/record.json")]
    for record in records:
        run = record["run"]
        model = SETS[run["corpus"]], f"{ENCODERS[run['encoder']]}, {ATTENTION_NAMES[run['attention']]} attention"
        counted.setdefault(model, []).append(record)
    rows = [(*model, len(part), len({record["run"]["seed"] for record in part}),
             f"{sum(sum(record['seconds'].values()) for record in part) / len(part):.0f}",
             ", ".join(sorted({record["device"] for record in part})))
            for model, part in sorted(counted.items())]  # fmt: skip
    body = table(("data set", "model", "runs", "seeds", "seconds a run", "device"), rows)
    return f"{len(records):,} runs.\n\n{body}"


def table(heads: tuple, rows: list[tuple]) -> str:
    """A Markdown table."""
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in lines)
