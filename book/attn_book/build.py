"""Pages as notebooks, and the whole book: from MyST text to Jupyter, running pages, Sphinx, and the status page.

    notebooks/**/*.md ──jupytext, nbclient──▶ book/**/*.ipynb ──jupyter-book──▶ _build/html

A page is a MyST Markdown notebook, named by its path without suffix (`jain/04-1-correlation`). One code cell, tagged
`parameters`, holds literals only. Its front matter may hold

    attn:
      smoke: {permutations: 10}           other parameters, with which the tests run the page in a few seconds
      takes: {rule: [coded, described]}   what parameters take beside their type, and
      reads: {encoder: lstm}              whose texts the page reads, see `parameters`

An executed page carries a hash of all that its outputs depend on, its stamp; it runs again when that changes.
"""

import hashlib
import html
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from difflib import SequenceMatcher
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import jupytext
import nbformat
import yaml
from bs4 import BeautifulSoup
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from papermill.parameterize import parameterize_notebook
from sphinx_external_toc.parsing import parse_toc_yaml
from tqdm import tqdm
from traitlets.config import Config

import attn_core
from attn_book.exercises import write_student
from attn_book.page import PARTS, TEMPLATES, minus
from attn_book.parameters import check, declared, nearest, settle
from attn_book.plain import MARKUP, mark, named, readable, values_of
from attn_core import foreign, reader, store
from attn_core.corpora.files import digest, replacing, say, sha256
from attn_core.errors import AttnError, Damaged, one_line
from attn_core.results import AbsentRun

CELL_SECONDS = 900  # a cell that runs longer is taken for hung
FOLDERS = ("ATTN_DATA", "ATTN_CACHE", "ATTN_ARCHIVE")  # as absolute paths: a kernel runs in another one
PACKAGES = (Path(attn_core.__file__).parent, Path(__file__).parent)
"""Folders of attn_core and attn_book."""

RECORD = "Replication record"
"""Caption of the part of the table of contents that is no reading matter: it stands off the chain of pages."""

NOT_TEXT = re.compile(r"(<(style|script|code|pre)\b.*?</\2>|<[^>]*>)|[^<]+", re.DOTALL)
"""Group 1 of a piece of HTML: what is no text to read. Else the piece is text."""

NO_TORCH = "this trains a network, and torch is not installed; make install brings it"
"""What stands in the place of the outputs of a cell tagged `torch`, and why a page is cut short."""


# ---- finding and reading pages ---------------------------------------------------------------------------------------


def repository(root: str | Path | None = None) -> Path:
    """The folder that holds notebooks/: `root`, else the clone that these packages are of."""
    place = Path(root or Path(__file__).parents[2])
    if not (place / "notebooks").is_dir():
        raise AttnError(f"no folder notebooks/ in {place}; run the installation of a clone: make install")
    return place


def pages(root: str | Path | None = None) -> dict[str, Path]:
    """Page name -> source of every page, sorted; names that start with _ (drafts) or . (checkpoints) are no pages."""
    folder = repository(root) / "notebooks"
    names = {path.relative_to(folder).with_suffix(""): path for path in sorted(folder.rglob("*.md"))}
    return {name.as_posix(): path for name, path in names.items() if not any(part[0] in "_." for part in name.parts)}


def locate(page: str | Path, root: str | Path | None = None) -> tuple[str, Path]:
    """Name and file of a page, from its name or the last part of its name; of a draft, from its whole name."""
    known, name = pages(root), str(page).replace("\\", "/")
    if (draft := repository(root) / "notebooks" / f"{name}.md").name.startswith("_") and draft.is_file():
        return name, draft
    fits = [name] if name in known else [other for other in known if other.rsplit("/", 1)[-1] == name]
    if len(fits) == 1:
        return fits[0], known[fits[0]]
    raise AttnError(f"there is no page {name!r}{nearest(name, known)} Known: {', '.join(known) or 'none'}")


def read_source(path: Path):
    """A page as a notebook object without outputs, from MyST Markdown."""
    return jupytext.read(path, fmt={"extension": ".md", "format_name": "myst"})


def declaration(notebook, name: str) -> tuple[dict, dict, dict]:
    """What a page declares: its parameters with their defaults, what they take, and the small ones of the tests."""
    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(tagged) != 1 or tagged[0].cell_type != "code":
        raise AttnError(f"page {name}: one code cell must be tagged `parameters` (literals only)")
    defaults, own = declared(tagged[0].source, name), notebook.metadata.get("attn", {})
    takes = dict(own.get("takes", {}))
    return defaults, takes, check(defaults, own.get("smoke", {}), name, takes)


def convert(page: str | Path, root: str | Path | None = None):
    """A page as a notebook ready to run: kernel named, cells numbered, guard cell behind the parameters cell; papermill
    puts what it is given before the guard, so it is checked however the notebook is run."""
    name, path = locate(page, root)
    notebook = read_source(path)
    defaults, takes, _ = declaration(notebook, name)
    reads = notebook.metadata.get("attn", {}).get("reads")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    arguments = ", ".join([repr(name), repr(takes), repr(reads), *(f"{key}={value!r}" for key, value in defaults.items())])
    generated = lambda told: new_code_cell(TEMPLATES.get_template("guard.jinja").render(arguments=told),
                                           metadata={"tags": ["guard", "remove-cell"]})  # fmt: skip
    first = next(i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code")
    place = next(i for i, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", []))
    notebook.cells.insert(place + 1, generated(arguments))
    if place != first:  # what runs before the parameters finds the packages too
        notebook.cells.insert(first, generated(""))
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        cell.metadata.setdefault("tags", [])  # papermill wants it
    return notebook


def convert_all(folder: str | Path | None = None, root: str | Path | None = None) -> list[Path]:
    """Write every page as .ipynb, beside its source or under `folder`; returns the files written. One that was edited
    stays, and one line says so."""
    here, written = repository(root), []
    base = Path(folder) if folder else here / "notebooks"
    targets = {name: base / f"{name}.ipynb" for name in pages(root)}
    for name, path in targets.items():
        if edited(path):
            say(f"{path} was edited and stays; move it away for a new one")
            continue
        values = values_of(_read(executed(here, name)))
        written.append(_write(readable(convert(name, root), here, path, targets.get, values), path))
    return written


def edited(path: Path) -> bool:
    """Whether a file is anything but a notebook as `_write` left it, outputs apart."""
    found = _read(path)
    return path.exists() and found.metadata.get("attn", {}).get("cells") != _cells(found)


def _cells(notebook) -> str:
    """SHA-256 of what a notebook's cells hold, outputs apart."""
    return digest([[cell.cell_type, cell.source] for cell in notebook.cells])


def refuse(page: str | Path, parameters: dict, root: str | Path | None = None) -> dict:
    """The parameters in their types, with what follows from them; AttnError for what the page cannot be run with."""
    name, path = locate(page, root)
    notebook = read_source(path)
    defaults, takes, _ = declaration(notebook, name)
    values = check(defaults, parameters, name, takes)
    settled = settle(defaults, values, name, takes, notebook.metadata.get("attn", {}).get("reads"))
    return values | {key: value for key, value in settled.items() if value != defaults[key]}


# ---- running ---------------------------------------------------------------------------------------------------------


def execute(
    page: str | Path,
    parameters: dict | None = None,
    output: str | Path | None = None,
    root: str | Path | None = None,
    stamp: str | None = None,
    force: bool = False,
) -> Path:
    """Run a page with other parameters; returns the executed notebook.

    parameters: name -> value, or -> text as typed on a command line. output: by default
    `_build/executed/<page>--<parameters>.ipynb`; a failing page is kept, up to its error, in `_build/failed/`. stamp:
    of the book's build; with it, a page that stops for want of a run is written `shortened`. force: replace whatever
    stands at `output`. AttnError for a refused parameter or place, before anything runs, and for a failing cell.
    """
    name, here, notebook = locate(page, root)[0], repository(root), convert(page, root)
    defaults = declaration(notebook, name)[0]
    values = refuse(name, parameters or {}, here)
    target = Path(output) if output else here / "_build" / "executed" / f"{name}{named(values)}.ipynb"
    if not (stamp or force) and edited(target):
        raise AttnError(f"{target} is not as it was written here; name another place with --output, or say --force")
    writable(target)
    commit = git(here, "describe", "--always", "--dirty=+", "--exclude=*", "--abbrev=9") or "unknown"
    run = {"page": name, "parameters": defaults | values, "device": f"CPU, {platform.machine()}", "commit": commit}
    run |= {"stamp": stamp} if stamp else {}
    for cell in notebook.cells if find_spec("torch") is None else ():
        if "torch" in cell.metadata["tags"]:
            cell.outputs = [new_output("display_data", {"text/html": PARTS.gap(NO_TORCH, "Not run here")})]
            cell.metadata["tags"].append("skip-execution")
            run["shortened"] = NO_TORCH
    notebook.metadata["papermill"] = {"start_time": datetime.now(UTC).isoformat()}
    injected = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
    done, start = parameterize_notebook(notebook, injected) if values else notebook, time.perf_counter()
    bar = tqdm(total=sum(cell.cell_type == "code" for cell in done.cells), desc=name, unit="cell", disable=bool(stamp))
    with bar, tempfile.TemporaryDirectory(prefix="attn-", ignore_cleanup_errors=True) as own:
        # Two kernels that start at once may pick the same port, but no socket; its name has at most 104 bytes.
        sockets = {"transport": "ipc", "ip": f"{own}/kernel"} if os.name == "posix" and len(own) < 90 else {}
        client = NotebookClient(
            done, timeout=CELL_SECONDS, record_timing=False, coalesce_streams=True, extra_arguments=["--log-level=50"],
            config=Config({"KernelManager": sockets}), resources={"metadata": {"path": str(here)}},
            on_cell_executed=lambda **_: bar.update(),
        )  # fmt: skip
        try:
            client.execute(env=os.environ | kernel_environment(own))
            built = lambda name: html if (html := here / "_build" / "html" / f"{name}.html").is_file() else None
            done = tidy(done if stamp else readable(mark(done, defaults, values, in_book(here, name)), here, target, built))
        except CellExecutionError as error:
            cell, output = next((cell, output) for cell in done.cells for output in cell.get("outputs", [])
                                if output.output_type == "error")  # fmt: skip
            message = (error.evalue.splitlines() or [""])[0]
            if error.ename == ModuleNotFoundError.__name__ and find_spec("torch") is None:
                message += f"; {NO_TORCH}"
            if not (stamp and error.ename in (AbsentRun.__name__, Damaged.__name__)):
                message = f"page {name} stopped in cell {cell.execution_count}: {error.ename}: {message}"
                if len(output.traceback) != 1:  # AttnErrors render as one line: a refused input, nothing to look into
                    kept = _write(done, here / "_build" / "failed" / f"{name}.ipynb")
                    message += f"; the notebook up to there: {kept}"
                raise AttnError(message) from None
            run["shortened"], done = message, shortened(done, message)
        except Exception as error:  # the kernel did not start, died, or hung; Ctrl-C stops it, and nbclient asserts
            told = one_line(error) if str(error) else "its kernel was stopped"
            raise AttnError(f"page {name} could not be run: {told}") from error
    run["seconds"] = time.perf_counter() - start
    done.metadata["attn"] = {**done.metadata.get("attn", {}), **run}
    return _write(done, target)


@contextmanager
def writing(target: Path):
    """AttnError where a file cannot be written."""
    try:
        yield
    except OSError as error:
        told = f"cannot write {target} ({error.strerror}); make room, or name another place (execute: --output)"
        raise AttnError(told) from error


def writable(target: Path) -> None:
    """AttnError where a file could not be written: better known before the work."""
    with writing(target):
        tempfile.TemporaryFile(dir=next(place for place in target.absolute().parents if place.exists())).close()


def kernel_environment(scratch: str) -> dict[str, str]:
    """What a kernel inherits: one thread, both packages, and nothing of the user's IPython profile."""
    packages = [str(folder.parent) for folder in PACKAGES]
    return dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1") | {
        "PYTHONPATH": os.pathsep.join([*packages, *filter(None, [os.environ.get("PYTHONPATH")])]),
        **{name: os.path.abspath(os.environ[name]) for name in FOLDERS if os.environ.get(name)},
        **({foreign.PLUGINS: os.pathsep.join(map(str, foreign.plugin_files()))} if foreign.plugin_files() else {}),
        "IPYTHONDIR": scratch, "JUPYTER_RUNTIME_DIR": scratch, "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }  # fmt: skip


def git(folder: Path, *words: str) -> str:
    """What git says of a folder, '' where it says nothing."""
    with suppress(OSError):
        return subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, timeout=20).stdout.strip()
    return ""


def _write(notebook, target: Path) -> Path:
    """Write a notebook whole or not at all, with a hash by which `edited` knows it again. Returns the file."""
    notebook.metadata["attn"] = {**notebook.metadata.get("attn", {}), "cells": _cells(notebook)}
    with writing(target), replacing(target) as file:
        file.write(nbformat.writes(notebook).encode())
    return target


def tidy(notebook):
    """An executed notebook with minus signs in its HTML tables."""
    for data in (output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])):
        if "<table" in data.get("text/html", ""):
            data["text/html"] = NOT_TEXT.sub(lambda part: part[0] if part[1] else minus(part[0]), data["text/html"])
    return notebook


def shortened(stopped, reason: str):
    """A page that stopped for want of a run: its text up to the parameters, all labels, and what is absent."""
    first = next(i for i, cell in enumerate(stopped.cells) if cell.cell_type == "code")
    texts = [cell.source for cell in stopped.cells[first:] if cell.cell_type == "markdown"]
    labels = [line for text in texts for line in text.splitlines() if re.fullmatch(r"\([\w-]+\)=\s*", line)]
    told = "\n".join([*labels, "The rest of this page needs trained models that are not there.", "",
                      PARTS.gap(reason)])  # fmt: skip
    stopped.cells = [*stopped.cells[: first + 1], new_markdown_cell(told, id="shortened")]
    return tidy(stopped)


# ---- the whole book --------------------------------------------------------------------------------------------------


def build(root: str | Path | None = None, html: bool = True, edition: str = "teacher") -> int:
    """Build the book; returns an exit status: 1 for failing pages, what `review` finds, warnings of Sphinx, and damaged
    files of the archive, on which a gap in the book may hang.

    html: False stops after the pages. edition: teacher, into _build/html, or student, into _build/student.
    """
    root, start = repository(root), time.perf_counter()
    writable(root / "book" / "status.md")
    faults = store.faults(root / "data" / "archive") if store.keys(root / "data" / "archive") else []
    problems = execute_pages(root)
    write_status(root)
    problems += review(root)
    built = root / "_build" / "html"
    if html and not problems:
        place = write_student(root) if edition == "student" else root
        problems = sphinx(place)
        redirect(place)
        write_kit(place)
        archive = store.archive_folder(required=False)
        if not problems and archive and (archive / reader.FOLDER).is_dir():
            reader.write_reader(place / "_build" / "html" / "_static")
        if not problems and place != root:
            built = root / "_build" / "student"
            shutil.rmtree(built, ignore_errors=True)
            shutil.move(place / "_build" / "html", built)
    print(f"{'FAILED' if problems or faults else 'done'} after {time.perf_counter() - start:.0f} s")
    for problem in [*problems, *faults]:
        print(f"  error  {problem}")
    if html and not problems:
        print(f"  open   {built / 'index.html'}")
    return 1 if problems or faults else 0


def execute_pages(root: Path) -> list[str]:
    """Run the pages whose stamp does not fit, longest first, one a core of this process; returns the failures."""
    common, known = common_stamp(root), pages(root)
    stamps = {name: hashlib.sha256(common.encode() + source.read_bytes()).hexdigest() for name, source in known.items()}
    before = {name: _read(executed(root, name)).metadata.get("attn", {}) for name in known}
    # A shortened page is tried again: what it wants may lie in the local cache by now, which no stamp covers.
    todo = [name for name in known if before[name].get("stamp") != stamps[name] or before[name].get("shortened")]
    todo.sort(key=lambda name: before[name].get("seconds", 0.0), reverse=True)
    print(f"{len(known)} pages, {len(todo)} to run, {len(known) - len(todo)} unchanged", flush=True)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    failures = []
    pool = ThreadPoolExecutor(cores)  # as a context it would wait for all pages when the build is stopped
    running = {pool.submit(execute, name, None, executed(root, name), root, stamps[name]): name for name in todo}
    for done, future in enumerate(as_completed(running), 1):
        name, error = running[future], future.exception()
        if error:
            failures.append(str(error) if isinstance(error, AttnError) else f"page {name}: {one_line(error)}")
            executed(root, name).unlink(missing_ok=True)
        result = "FAILED" if error else f"{_read(future.result()).metadata.attn.seconds:6.1f} s"
        print(f"[{done:>2}/{len(todo)}] {name:40} {result}", flush=True)
    return failures


def executed(root: Path, name: str) -> Path:
    """Where the executed form of a page lies: beside the prose pages, ignored by git."""
    return root / "book" / f"{name}.ipynb"


def in_book(root: Path, name: str):
    """The page as the book shows it, or None where it is not built or of another text."""
    shown = _read(executed(root, name))
    same = [cell.source for cell in shown.cells] == [cell.source for cell in convert(name, root).cells]
    return shown if same else None


def common_stamp(root: Path) -> str:
    """Hash of what every page may depend on: the packages, the archive, the data of the book, the locked versions."""
    data = root / "data"
    groups = [*(package.rglob("*.*") for package in PACKAGES), root.glob("requirements.lock")]
    groups += [(data / name).rglob("*") for name in ("archive", "reported", "measured", "examples")]
    files, parts = sorted(path for group in groups for path in group if path.is_file()), [sys.version_info[:2]]
    for path in (path for path in files if path.suffix != ".pyc"):
        base = next((package.parent for package in PACKAGES if path.is_relative_to(package)), root)
        parts.append([path.relative_to(base).as_posix(), sha256(path)])
    return digest(parts)


def _read(path: Path):
    """An executed notebook, or an empty one where there is none or it is broken."""
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, KeyError):
        return nbformat.v4.new_notebook()


# ---- the table of contents, checks, and the status page --------------------------------------------------------------


def toc_pages(root: Path, record: bool = True) -> list[str]:
    """All pages that book/_toc.yml names, in its order; record=False leaves out the part of that caption."""
    toc = parse_toc_yaml(root / "book" / "_toc.yml")
    apart = [name for part in toc.root.subtrees if part.caption == RECORD for name in part.items]
    return [name for name in toc if record or name not in apart]


def review(root: Path) -> list[str]:
    """Pages that are not in the table of contents, tracebacks in outputs; prints gaps and stderr."""
    toc, known = toc_pages(root), pages(root)
    problems = [f"notebooks/{name}.md is not in book/_toc.yml; add it (or begin a draft's name with _)"
                for name in known if name not in toc]  # fmt: skip
    for name, page in ((name, _read(executed(root, name))) for name in known):
        for cell, output in ((cell, output) for cell in page.cells for output in cell.get("outputs", [])):
            if "Traceback (most recent call last)" in str(output):
                problems.append(f"page {name} shows a raw traceback below the cell: {cell.source.splitlines()[0]}")
            if output.get("name") == "stderr" and output.text.strip():
                print(f"  stderr {name}: {output.text.strip().splitlines()[0]}")
        if absent := page.metadata.get("attn", {}).get("shortened"):
            print(f"  gap    {name}: {absent}")
    return problems


def write_status(root: Path) -> None:
    """Write book/status.md from the metadata of the executed pages, with the seal of data/archive."""
    ran = [(name, _read(executed(root, name)).metadata) for name in pages(root)]
    archive = root / "data" / "archive"
    seal = sha256(archive / store.MANIFEST) if store.manifest(archive) is not None else ""
    told = [(name, page.attn, page.papermill.start_time) for name, page in ran if "attn" in page]
    plain = lambda text: html.escape(text).translate(MARKUP)
    text = TEMPLATES.get_template("status.jinja").render(
        pages=told, runs=len(store.keys(archive)), seal=seal, plain=plain, repr=repr
    )
    (root / "book" / "status.md").write_text(text, encoding="utf-8")


# ---- Sphinx ----------------------------------------------------------------------------------------------------------


def sphinx(root: Path) -> list[str]:
    """jupyter-book on all of root/book into root/_build/html; returns what went wrong, see _build/sphinx.log."""
    log = root / "_build" / "sphinx.log"
    shutil.rmtree(root / "_build" / "html", ignore_errors=True)
    log.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", "book"]
    command += ["--config", "_config.yml", "--path-output", ".", "-n", "-W", "--keep-going", "--all"]
    environment = {**os.environ, **kernel_environment(str(log.parent)), "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
    with log.open("w") as file:
        run = subprocess.run(command, cwd=root, stdout=file, stderr=subprocess.STDOUT, env=environment)
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    problems = [line.strip() for line in lines if any(f"{mark}:" in line for mark in ("WARNING", "ERROR", "CRITICAL"))]
    if run.returncode and not problems:
        problems = [f"Sphinx ended with status {run.returncode}: {line}" for line in lines[-1:]]
    return problems


def redirect(root: Path) -> None:
    """A page at every old address of book/redirects.yml that leads to the new one."""
    source = root / "book" / "redirects.yml"
    for old, new in (yaml.safe_load(source.read_text(encoding="utf-8")) if source.is_file() else {}).items():
        target = root / "_build" / "html" / f"{old}.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(PARTS.moved(os.path.relpath(f"{new}.html", Path(old).parent)), encoding="utf-8")


BINDER = "https://mybinder.org/v2/gh/{address}/HEAD?urlpath=lab/tree/notebooks/{page}.ipynb"
KICKER = re.compile(r'(<p class="attn-kicker[ "].*?)(</p>)', re.DOTALL)


def address(root: Path) -> str | None:
    """OWNER/NAME of the clone on GitHub, from the setting ATTN_REPOSITORY, else from git's remote `origin`; or None."""
    own = os.environ.get("ATTN_REPOSITORY")
    found = f"github.com/{own}" if own else git(root, "remote", "get-url", "origin")
    whole = re.search(r"github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?$", found)
    return whole[1] if whole else None


def setup(app) -> dict:
    """As an extension of Sphinx: the chain ends before the record, and a page has links to Binder and Codespaces."""
    root = Path(app.srcdir).parent
    chain, at = toc_pages(root, record=False), address(root)

    def change(app, page: str, template: str, context: dict, doctree) -> None:
        _, *others = app.env.collect_relations().get(page) or (None, None, None)
        for way, other in zip(("prev", "next"), others, strict=True):
            if other and (page in chain) != (other in chain):
                context[way] = None
        if at and (root / "notebooks" / f"{page}.md").is_file():
            links = PARTS.launch(BINDER.format(address=at, page=page), f"https://codespaces.new/{at}")
            context["body"] = KICKER.sub(rf"\1{links}\2", context["body"], count=1)

    app.connect("html-page-context", change)
    return {"parallel_read_safe": True}


# ---- one page again, as HTML -----------------------------------------------------------------------------------------

STYLE = "_static/attn.css"
"""What every page names that is made here."""


def rendered(notebook: Path, root: Path, page: str) -> Path:
    """An executed notebook of a page as HTML beside it, by Sphinx with the book's configuration; returns the file."""
    shown, target = nbformat.read(notebook, as_version=4), notebook.with_suffix(".html")
    for cell in shown.cells:
        cell.source = cell.metadata.get("myst", cell.source)
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    alone = {"article_header_start": [], "article_header_end": ["toggle-secondary-sidebar.html"]}  # no search
    config["sphinx"]["config"] |= {"myst_all_links_external": True, "html_sidebars": {"**": []}}
    config["sphinx"]["config"]["html_theme_options"] |= alone
    with tempfile.TemporaryDirectory(prefix="attn-") as scratch:
        book, html = Path(scratch) / "book", Path(scratch) / "_build" / "html"
        shutil.copytree(root / "book" / "_static", book / "_static")
        shutil.copy(root / "book" / "references.bib", book)
        (book / "_toc.yml").write_text(f"format: jb-book\nroot: {Path(page).name}\n", encoding="utf-8")
        (book.parent / "_config.yml").write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")
        nbformat.write(shown, book / f"{Path(page).name}.ipynb")
        if problems := sphinx(book.parent):
            raise AttnError(f"{notebook} was executed, but no page could be made of it: {problems[0]}")
        shutil.copytree(html / "_static", target.parent / "_static", dirs_exist_ok=True)
        text = (html / f"{Path(page).name}.html").read_text(encoding="utf-8")
        target.write_text(re.sub(r'<script src="searchindex.js"[^>]*></script>', "", text), encoding="utf-8")
    return target


BLOCKS = "article section > :not(section, .cell), article section > .cell > *"
"""What of a page is set beside its like in another run of it."""


def side_by_side(paths: list[Path], names: list[str], target: Path) -> Path:
    """HTML forms of one page as one: what is the same in all once, what differs in columns, under `names`."""
    sheets = [BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in paths]
    blocks = [sheet.select(BLOCKS) for sheet in sheets]
    texts = [[str(block) for block in sheet] for sheet in blocks]
    shared = texts[0]
    for others in texts[1:]:
        matches = SequenceMatcher(None, shared, others, autojunk=False).get_matching_blocks()
        shared = [text for start, _, size in matches for text in shared[start : start + size]]

    begins = [0] * len(texts)
    for text in [*shared, None]:  # None: up to the end
        ends = [own.index(text, begin) if text else len(own) for own, begin in zip(texts, begins, strict=True)]
        between = [slice(*ends_of) for ends_of in zip(begins, ends, strict=True)]
        if any(part.start < part.stop for part in between):
            columns = ["".join(own[part]) for own, part in zip(texts, between, strict=True)]
            columns = [columns[0], *(_renamed(column, number) for number, column in enumerate(columns[1:], 1))]
            twin = BeautifulSoup(PARTS.twin(zip(names, columns, strict=True)), "html.parser")
            blocks[0][min(begins[0], len(blocks[0]) - 1)].insert_before(twin)
            for block in blocks[0][between[0]]:
                block.extract()
        begins = [end + 1 for end in ends]
    target.write_text(str(sheets[0]), encoding="utf-8")
    return target


def _renamed(text: str, number: int) -> str:
    """HTML under ids of its own: no name stands twice on a page."""
    return re.sub(r'(\bid="|\bfor="|url\(#|href="#)', rf"\1other{number}-", text)


def rerun(
    page: str, parameters: dict, output: Path | None = None, compare: str = "", html: bool = True, force: bool = False
) -> Path:
    """Execute a page; with `html` as a page like the book's, with compare="NAME=a,b,c" once for each value. Returns the last file."""
    root, (page, _), shown = repository(), locate(page), output and Path(output).with_suffix(".html")
    if not force and (html or compare) and shown and shown.exists() and STYLE not in shown.read_text(errors="replace"):
        raise AttnError(f"{shown} is no page that was written here; name another place with --output, or say --force")
    if not compare:
        path = execute(page, parameters, output, force=force)
        return rendered(path, root, page) if html else path
    name, _, text = compare.partition("=")
    values = [value.strip() for value in text.split(";" if ";" in text else ",")]
    if len(values) < 2 or not all(values):
        raise AttnError(f"--compare takes NAME=a,b,… (lists: NAME=a,b;c,d), two values or more; got {compare!r}")
    for value in values:  # before the first one runs
        refuse(page, {**parameters, name: value})
    runs = [rendered(execute(page, {**parameters, name: value}, force=force), root, page) for value in values]
    target = shown or runs[0].with_name(f"{runs[0].stem}{named({'or': '-'.join(values[1:])})}.html")
    return side_by_side(runs, [f"{name} = {value}" for value in values], target)


# ---- slides of the five sessions and handouts, by the plans of the page on teaching ----------------------------------

PLAN, COURSE, FOLDER = "teaching", "course", "teach"
MOST_FIGURES = 3
"""A row of a plan shows at most so many figures of its page."""


def write_kit(root: Path) -> None:
    """Write _build/html/teach/session-1.html to -5.html, and handouts.html, from what Sphinx has built.

    Each row of a session's table is a slide; the guess and the figures of the page that it names follow. Handouts: the
    verdict's grid without entries, the ten statements, a triangle, and every session's figures without title.
    """
    built = root / "_build" / "html"
    target = built / FOLDER
    if not all((built / f"{page}.html").is_file() for page in (PLAN, COURSE, "verdict")):
        return
    target.mkdir(exist_ok=True)
    built_page.cache_clear()
    page_of = lambda template, **told: TEMPLATES.get_template(template).render(told)
    plan = built_page(built, PLAN).article
    guesses = {row.td.text.strip(): row.find_all("td")[1] for row in plan.select("#the-five-guesses tbody tr")}
    sessions = [session(built, head.parent, guesses) for head in plan.select("h2") if re.match(r"\d · ", head.text)]
    for number, (title, slides) in enumerate(sessions, 1):
        text = page_of("slides.html", number=number, title=title, slides=slides)
        (target / f"session-{number}.html").write_text(text, encoding="utf-8")
    grid = built_page(built, "verdict").select_one(".attn-grid table")
    for cell in grid.select("tbody td"):
        cell.clear()
    figures = {str(figure.svg): slide["question"] for _, slides in sessions for slide in slides
               for figure in slide["figures"]}  # fmt: skip
    statements = built_page(built, COURSE).select_one("#ten-statements ol")
    text = page_of("handouts.html", grid=grid, statements=statements, figures=figures)
    (target / "handouts.html").write_text(text, encoding="utf-8")


def session(built: Path, part, guesses: dict) -> tuple[str, list[dict]]:
    """Title and slides (minutes, what, guess, page, question, lead, figures) of one plan, a section of PLAN."""
    rows = [row.find_all("td") for row in part.select("tbody tr")]
    links = [row[2].a["href"].partition("#")[0].removesuffix(".html") if row[2].a else "" for row in rows]
    slides = []
    for at, ((minutes, what, _), page) in enumerate(zip(rows, links, strict=True)):
        found = re.search(r"Guess (\d)", what.text)
        slide = {"minutes": minutes.text, "what": what.text, "guess": found and guesses[found[1]].decode_contents(),
                 "page": page, "figures": []}  # fmt: skip
        if page:
            whole = built_page(built, page).article
            lead = whole.select_one(".attn-lead")
            slide |= {"question": whole.h1.text, "lead": lead.text if lead else ""}
            shown = [one for one in whole.select("figure.attn-fig:has(svg):not(:has(.attn-play))")
                     if not one.find_parent("details")]  # what is to be played with needs its page
            turn, turns = links[:at].count(page), links.count(page)
            slide["figures"] = shown[turn * len(shown) // turns : (turn + 1) * len(shown) // turns][:MOST_FIGURES]
            slide["last"] = page not in links[at + 1 :]
        slides.append(slide)
    return part.h2.text.partition(" · ")[2], slides


@cache
def built_page(built: Path, page: str):
    """A page that Sphinx has built as a tree of HTML, its article without the marks of links to headings."""
    soup = BeautifulSoup((built / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
    for mark in soup.article.select(".headerlink"):
        mark.decompose()
    return soup


# ---- on paper: one sheet of HTML, printed by a headless Chromium -----------------------------------------------------

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
"""A Chromium of this machine, or None."""

NAME = "is-attention-explanation.pdf"
LINK = f'<p class="attn-note attn-pdf"><a href="{NAME}">The whole book as one PDF</a>, to read or print.</p>'


def write_pdf(root: str | Path | None = None) -> Path | None:
    """Print the built chain and link it from the front page; returns the file, or None where there is no Chromium."""
    built = repository(root) / "_build" / "html"
    if not (built / "index.html").is_file():
        raise AttnError(f"there is no {built / 'index.html'}; build the book first: python -m attn_core book")
    if CHROMIUM is None:
        return None
    target, sheet = built / NAME, built / "print.html"
    sheet.write_text(one_sheet(repository(root)), encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        command += ["--virtual-time-budget=60000", "--generate-pdf-document-outline", "--no-pdf-header-footer"]
        done = subprocess.run([*command, f"--print-to-pdf={target}", sheet.as_uri()], capture_output=True, text=True)
    sheet.unlink()
    if not target.is_file():
        raise AttnError(f"{CHROMIUM} wrote no PDF: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    front = built / "index.html"
    text = front.read_text(encoding="utf-8")
    if LINK not in text:
        front.write_text(text.replace("</article>", f"{LINK}</article>", 1), encoding="utf-8")
    return target


def one_sheet(root: Path) -> str:
    """HTML of all articles of the chain, one section a page, without folds; links to other pages become plain text."""
    built, chain = root / "_build" / "html", toc_pages(root, record=False)
    own = {path.name for path in (root / "book" / "_static").glob("*.*js")}
    place = lambda page, anchor="": f"{page.replace('/', '-')}--{anchor}"
    heads, sections = {}, []
    built_page.cache_clear()
    for page in chain:
        soup = built_page(built, page)
        for tag in soup.select("[src], a[href], link[href]"):
            key = "src" if tag.get("src") else "href"
            tag[key] = urljoin(f"{page}.html", tag[key])  # as seen from the folder of the book
        scripts = [tag for tag in soup.head.find_all("script")
                   if "window.MathJax" in tag.text or Path(urlsplit(tag.get("src", "")).path).name in own]  # fmt: skip
        heads |= dict.fromkeys(map(str, soup.head.select("link[rel=stylesheet]") + scripts))
        article = soup.article
        for tag in article.select("details, .admonition.dropdown"):
            tag.decompose()
        for tag in article.select("[id]:not(svg, input, svg *, .attn-play *)"):
            tag["id"] = place(page, tag["id"])
        for tag in article.find_all("a", href=True):
            file, _, anchor = tag["href"].partition("#")
            if file.removesuffix(".html") in chain:
                tag["href"] = f"#{place(file.removesuffix('.html'), anchor)}"
            elif ":" not in file:
                tag.unwrap()
        sections.append((place(page), str(article)))
    return TEMPLATES.get_template("sheet.html").render(heads=heads, sections=sections)
