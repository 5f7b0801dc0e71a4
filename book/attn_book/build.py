"""Pages as notebooks, and the whole book: from MyST text to Jupyter, running pages, Sphinx, and the status page.

    notebooks/**/*.md ──jupytext, papermill──▶ book/**/*.ipynb ──jupyter-book──▶ _build/html

A page is a MyST Markdown notebook `notebooks/<paper>/NN-section.md`, named here without folder and suffix
(`jain/04-1-correlation`). Its first code cell, tagged `parameters`, holds literals only. Its front matter may hold

    attn:
      smoke: {permutations: 10}           parameters under which the tests run the page in a few seconds
      takes: {rule: [coded, described]}   what parameters take beside their type (`page.check`)

Pages themselves import `glue` and `gap` from `attn_book.page`; `convert` puts in the cell that calls `guard`.

An executed page carries its stamp: a hash of all that its outputs depend on. A page whose stamp still fits is not run
again. jupyter-cache is not used, since it does not see changes of imported modules.
"""

import hashlib
import html
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

import attn_core
from attn_book.page import FIND, GUARD, check, declared, gap_box, gaps_of, minus
from attn_core.errors import AttnError

CELL_SECONDS = 900
"""A cell that runs longer is taken for hung."""

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

PACKAGES = (Path(attn_core.__file__).parent, Path(__file__).parent)
"""Folders of attn_core and attn_book."""

LABEL = re.compile(r"\([\w-]+\)=\s*")
"""A line of MyST that names the place below it."""

NOT_TEXT = re.compile(r"(<(style|script|code|pre)\b.*?</\2>|<[^>]*>)|[^<]+", re.DOTALL)
"""Group 1 of a piece of HTML: what is no text to read. Else the piece is text."""

TIED = re.compile(r"(?<=[\d%]) (to|/) (?=[−+]?\d)|(?<=\S) \*(?=\s*$)")
"""Within an interval, within a row of shares, before a star: where a narrow column must not break."""

EMPTY = "# outputs only"
"""Source of a cell that only shows something: MyST-NB skips cells without source, outputs and all."""

STATUS_HEAD = """(status)=
# Status

Written by `python -m attn_core book`. The first table says how each page that holds code was run: with which
parameters, how long, how many absent runs it shows as gap boxes, from which commit (`+`: with uncommitted changes),
and where. Pages run on one thread. The second table lists the trained models that the results rest on.

## Pages
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
    if Path(page).suffix in (".md", ".ipynb"):
        if not Path(page).is_file():
            raise AttnError(f"there is no file {page}; name a page such as jain/04-1-correlation or a notebook file")
        known = {path.resolve(): name for name, path in pages(root).items()} if Path(page).suffix == ".md" else {}
        return known.get(Path(page).resolve(), Path(page).stem), Path(page)
    known = pages(root)
    name = Path(page).as_posix()
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


def _defaults(notebook, name: str) -> dict:
    """The declared parameters of a notebook, those of its one cell tagged `parameters`."""
    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(tagged) != 1 or tagged[0].cell_type != "code":
        raise AttnError(f"page {name}: one code cell must be tagged `parameters` (literals only)")
    return declared(tagged[0].source, name)


def parameters_of(page: str | Path, root: str | Path | None = None) -> dict:
    """Names and defaults of a page's parameters, in the order in which the page declares them."""
    name, path = locate(page, root)
    return _defaults(read_source(path), name)


def smoke_of(page: str | Path, root: str | Path | None = None) -> dict:
    """The small parameters under which the tests run a page (`attn: {smoke: …}` in its front matter)."""
    name, path = locate(page, root)
    notebook = read_source(path)
    return check(_defaults(notebook, name), notebook.metadata.get("attn", {}).get("smoke", {}), name, _takes(notebook))


def _takes(notebook) -> dict:
    return dict(notebook.metadata.get("attn", {}).get("takes", {}))


# ---- converting ------------------------------------------------------------------------------------------------------


def convert(page: str | Path, root: str | Path | None = None):
    """A page as a notebook ready to run: kernel named, cells numbered, guard cell behind the parameters cell.

    papermill puts the parameters it is given directly behind the parameters cell, hence before the guard, so that
    they are checked however the notebook is run. The guard carries the declared defaults: a downloaded notebook needs
    nothing but the packages.
    """
    import nbformat

    name, path = locate(page, root)
    notebook = read_source(path)
    if path.suffix == ".md":
        defaults = _defaults(notebook, name)
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        arguments = "".join(f", {key}={value!r}" for key, value in defaults.items())
        text = GUARD.replace("{page!r}", repr(name)).replace("{takes}", repr(_takes(notebook)))
        text = text.replace("{arguments}", arguments)
        cell = nbformat.v4.new_code_cell(text, metadata={"tags": ["guard", "remove-cell"]})
        first, *_ = (i for i, other in enumerate(notebook.cells) if other.cell_type == "code")
        place = next(i for i, other in enumerate(notebook.cells) if "parameters" in other.metadata.get("tags", []))
        notebook.cells.insert(place + 1, cell)
        if place != first:  # what runs before the parameters finds the packages too
            notebook.cells.insert(first, nbformat.v4.new_code_cell(FIND, metadata={"tags": ["guard", "remove-cell"]}))
        for number, other in enumerate(notebook.cells):
            other["id"] = f"cell-{number}"
    return notebook


def convert_all(folder: str | Path | None = None, root: str | Path | None = None) -> list[Path]:
    """Write every page as .ipynb, beside its source or under `folder`; returns the files written."""
    import nbformat

    base = repository(root) / "notebooks"
    written = []
    for name in pages(root):
        target = (Path(folder) if folder else base) / f"{name}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(convert(name, root), target)
        written.append(target)
    return written


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

    from attn_core.runs import AbsentRun

    name, path = locate(page, root)
    notebook = convert(path if path.suffix == ".ipynb" else name, root)
    defaults = _defaults(notebook, name)
    values = check(defaults, parameters or {}, name, _takes(notebook))
    here = repository(root) if root or path.suffix == ".md" else Path.cwd()
    target = Path(output) if output else here / "_build" / "executed" / f"{name}.ipynb"
    with tempfile.TemporaryDirectory(prefix="attn-") as scratch:
        source, result = Path(scratch) / "page.ipynb", Path(scratch) / "result.ipynb"
        nbformat.write(notebook, source)
        injected = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
        try:
            with _environment(scratch):
                papermill.execute_notebook(
                    source, result, injected, cwd=here, progress_bar=sys.stderr.isatty(),
                    execution_timeout=CELL_SECONDS, config=_transport(scratch), extra_arguments=["--log-level=50"],
                )  # fmt: skip
            done = tidy(nbformat.read(result, as_version=4))
        except papermill.PapermillExecutionError as error:
            kept, stopped = "", nbformat.read(result, as_version=4)
            if shorten and error.ename == AbsentRun.__name__:
                note = {**(note or {}), "shortened": True}
                done = shortened(notebook, stopped, error.evalue)
            else:
                if len(error.traceback) != 1:  # AttnErrors render as one line: a refused input, nothing to look into
                    failed = here / "_build" / "failed" / f"{name}.ipynb"
                    _write(stopped, failed)
                    kept = f"; the notebook up to there: {failed}"
                message = (error.evalue.splitlines() or [""])[0]
                message = f"page {name} stopped in cell {error.exec_count}: {error.ename}: {message}{kept}"
                raise AttnError(message) from None
        except Exception as error:  # the kernel did not start, died, or hung
            first = (str(error).splitlines() or [""])[0]
            raise AttnError(f"page {name} could not be run: {type(error).__name__}: {first}") from error
    run = {"page": name, "parameters": defaults | values, "seconds": done.metadata.papermill.duration}
    done.metadata["attn"] = {**done.metadata.get("attn", {}), **run, **_where(here), **(note or {})}
    _write(done, target)
    return target


@contextmanager
def _environment(scratch: str):
    """What the kernel inherits: one thread, both packages, and nothing of the user's IPython profile."""
    packages = [str(folder.parent) for folder in PACKAGES]
    wanted = dict.fromkeys(THREADS, "1") | {
        "PYTHONPATH": os.pathsep.join([*packages, *filter(None, [os.environ.get("PYTHONPATH")])]),
        "IPYTHONDIR": scratch,
        "JUPYTER_RUNTIME_DIR": scratch,
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    before = {key: os.environ.get(key) for key in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for key, value in before.items():
            os.environ.pop(key) if value is None else os.environ.update({key: value})


def _transport(scratch: str):
    """Kernels talk through sockets in the scratch folder: two that start at once cannot pick the same port.

    Windows, and folders too long for a socket's name (104 bytes on macOS), keep TCP.
    """
    from traitlets.config import Config

    sockets = os.name == "posix" and len(scratch) < 90
    return Config({"KernelManager": {"transport": "ipc", "ip": f"{scratch}/kernel"}} if sockets else {})


def _where(folder: Path) -> dict:
    """Machine, Python and commit of an execution."""
    import platform

    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").is_file():
        lines = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
        model = lines[0] if lines else model
    git = ["git", "-C", str(folder), "describe", "--always", "--dirty=+", "--exclude=*", "--abbrev=9"]
    try:
        commit = subprocess.run(git, capture_output=True, text=True, timeout=20).stdout.strip()
    except OSError:
        commit = ""
    return {"device": f"CPU, {model}", "python": platform.python_version(), "commit": commit or "unknown"}


def _write(notebook, target: Path) -> None:
    """Write a notebook whole: to a temporary name in the same folder, then renamed."""
    import nbformat

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        nbformat.write(notebook, part)
        os.replace(part, target)
    except OSError as error:
        raise AttnError(f"cannot write {target} ({error.strerror}); name another place with --output") from error


# ---- tidying, or cutting short for want of a run ---------------------------------------------------------------------


def tidy(notebook):
    """An executed notebook fit to publish: no paths of this machine, minus signs, one numbered figure per figure cell.

    MyST-NB wraps every display of a cell that declares a figure into a figure of the same name. Where such a cell
    displays more (a gap box beside the picture), the rest moves to a cell of its own behind it. The bare text of the
    cell's last expression (`Text(0.5, 0, 'x')`) is dropped there.
    """
    import nbformat

    _forget(notebook)
    cells = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            _typeset(output.get("data", {}))
        cells.append(cell)
        if "figure" not in cell.metadata.get("mystnb", {}):
            continue
        shown = [o for o in cell.outputs if "data" in o and "scrapbook" not in o.metadata]
        pictures = [o for o in shown if any(kind.startswith("image/") for kind in o.data)]
        rest = [o for o in shown if o is not (pictures or shown)[0]]
        cell.outputs = [o for o in cell.outputs if not any(o is other for other in rest)]
        rest = [o for o in rest if o.output_type != "execute_result" or set(o.data) != {"text/plain"}]
        if rest:
            tags = {"tags": ["remove-input"]}
            cells.append(nbformat.v4.new_code_cell(EMPTY, outputs=rest, metadata=tags, id=f"{cell.id}-rest"))
    notebook.cells = cells
    return notebook


def shortened(source, stopped, reason: str):
    """A page that stopped for want of a run: its text up to the parameters, and one gap box with all that is absent.

    Labels of the text that is left out are kept in front of the box, for other pages may refer to them.
    """
    import nbformat

    first = next(i for i, cell in enumerate(source.cells) if cell.cell_type == "code")
    texts = [cell.source for cell in source.cells[first:] if cell.cell_type == "markdown"]
    labels = [line for text in texts for line in text.splitlines() if LABEL.fullmatch(line)]
    told = "The rest of this page needs trained models that are not there."
    lines = list(dict.fromkeys([*gaps_of(stopped), *reason.splitlines()[:1]]))
    box = nbformat.v4.new_output("display_data", **gap_box(lines))
    cells = [
        *source.cells[: first + 1],
        nbformat.v4.new_markdown_cell("\n".join([*labels, told]), id="shortened"),
        nbformat.v4.new_code_cell(EMPTY, outputs=[box], metadata={"tags": ["remove-input"]}, id="shortened-gap"),
    ]
    page = nbformat.from_dict({**stopped, "cells": cells})
    _forget(page)
    return page


def _forget(notebook) -> None:
    """Take out what papermill noted of this machine."""
    for key in ("input_path", "output_path", "environment_variables", "exception"):
        notebook.metadata.papermill.pop(key, None)


def _typeset(data: dict) -> None:
    """Minus signs in shown tables and texts, as in glued ones; styles, code and tags of HTML stay.

    In HTML tables, which scroll, spaces within intervals, within rows of shares and before a star do not break.
    """
    if "text/markdown" in data:
        data["text/markdown"] = minus(data["text/markdown"])
    if "<table" in data.get("text/html", ""):
        data["text/html"] = NOT_TEXT.sub(lambda found: found[0] if found[1] else _cell(found[0]), data["text/html"])


def _cell(text: str) -> str:
    """The text of a table's cells, or between them, as it is shown."""
    return TIED.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), minus(text))


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
    root = repository(root)
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
    known = pages(root)
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
    path = execute(name, None, executed(Path(root), name), root, note={"stamp": stamp}, shorten=True)
    return _attn(path)["seconds"]


def executed(root: Path, name: str) -> Path:
    """Where the executed form of a page lies: beside the prose pages, ignored by git."""
    return root / "book" / f"{name}.ipynb"


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
    toc, known = toc_pages(root), pages(root)
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
    for name in pages(root):
        page = _read(executed(root, name))
        gaps += [(name, line) for line in dict.fromkeys(gaps_of(page))]
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
    redirect(root)
    return problems + check_html(root)


def redirect(root: Path) -> None:
    """A page at every old address of book/redirects.yml that leads to the new one."""
    import yaml

    source = root / "book" / "redirects.yml"
    moved = yaml.safe_load(source.read_text(encoding="utf-8")) if source.is_file() else {}
    for old, new in moved.items():
        target = root / "_build" / "html" / f"{old}.html"
        link = html.escape(os.path.relpath(f"{new}.html", Path(old).parent))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(
            f'<!doctype html><meta charset="utf-8"><title>Moved</title><link rel="canonical" href="{link}">'
            f'<meta http-equiv="refresh" content="0; url={link}"><p>This page is now <a href="{link}">here</a>.</p>\n',
            encoding="utf-8",
        )


# ---- the status page -------------------------------------------------------------------------------------------------


def write_status(root: Path) -> Path:
    """Write book/status.md from the executed pages and the records in data/archive; returns the file."""
    target = root / "book" / "status.md"
    target.write_text(f"{STATUS_HEAD}\n{page_table(root)}\n\n## Archived runs\n\n{run_table(root)}\n", encoding="utf-8")
    return target


def page_table(root: Path) -> str:
    """Page × parameters × seconds × device × commit, from the metadata of the executed notebooks."""
    import nbformat

    rows = []
    for name in pages(root):
        path = executed(root, name)
        if not path.is_file():
            rows.append((f"`{name}`", "not executed", "", "", "", "", ""))
            continue
        page = nbformat.read(path, as_version=4)
        run, when = page.metadata.attn, page.metadata.papermill.start_time
        parameters = ", ".join(f"`{key}={value!r}`" for key, value in run.parameters.items())
        gaps = len(gaps_of(page)) or ""
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
