"""Running a page: with other parameters, as a page like the book's, several values side by side.

An executed page of the book carries a hash of all that its outputs depend on, its stamp; see `build`.
"""

import json
import os
import platform
import re
import subprocess
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_markdown_cell, new_output
from papermill.parameterize import parameterize_notebook
from tqdm import tqdm
from traitlets.config import Config

import attn_book
import attn_core
import attn_lab
from attn_book.page import minus
from attn_build import PARTS, scratch_folder, trained
from attn_build.plain import LABEL, html_of, mark, named, outputs_of, readable
from attn_build.sources import (
    codes,
    convert,
    declaration,
    edited,
    in_book,
    repository,
    writable,
    write_notebook,
)
from attn_core.errors import AttnError, Damaged, one_line, say
from attn_lab.data.files import folder_of
from attn_lab.runs import foreign, store
from attn_lab.runs.results import AbsentRun

CELL_SECONDS = 900  # a cell that runs longer is taken for hung
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
PACKAGES = (
    Path(attn_core.__file__).parent,
    Path(attn_lab.__file__).parent,
    Path(attn_book.__file__).parent,
    Path(__file__).parent,
)
"""Folders of the packages that outputs of a page depend on."""

NOT_TEXT = re.compile(r"(<(style|script|code|pre)\b.*?</\2>|<[^>]*>)|[^<]+", re.DOTALL)
"""Group 1 of a piece of HTML: what is no text to read. Else the piece is text."""

NO_TORCH = "this trains a network, and torch is not installed; make install brings it"
"""What stands in the place of the outputs of a cell tagged `torch`, and why a page is cut short."""

TRAINED = "this trains a network, and torch is not installed; what follows was computed before"
"""What stands above stored outputs of such a cell."""


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
    here = repository(root)
    declares = declaration(page, root)
    name = declares.page
    asked = declares.check(parameters or {})
    values = asked | declares.changed(declares.settle(asked))
    target = Path(output or here / "_build" / "executed" / f"{name}{named(values)}.ipynb")
    if not (stamp or force) and edited(target):
        raise AttnError(f"{target} is not as it was written here; name another place with --output, or say --force")
    writable(target)
    if not stamp:
        sweep_away(here, target.parent)
    if "vectors" in values.keys() - asked.keys():
        say(f"page {name} reads the stored model with word vectors {values['vectors']}")

    notebook = convert(name, root)
    about = provenance(here, name, declares.defaults | values, stamp)
    if find_spec("torch") is None and skip_torch(notebook, declares.defaults | values):
        about["shortened"] = NO_TORCH
    notebook = parameterized(notebook, values)
    start = time.perf_counter()
    try:
        run_cells(notebook, name, here, quiet=bool(stamp))
    except CellExecutionError as error:
        about["shortened"] = reason = absence(notebook, error, name, here, may_shorten=bool(stamp))
        notebook = shortened(notebook, reason)
    else:
        if not stamp:
            book = in_book(here, name)
            marked = mark(notebook, declares.defaults, values, book)
            notebook = readable(marked, here, target, partial(built_page, here))
    about["seconds"] = time.perf_counter() - start
    notebook.metadata.setdefault("attn", {}).update(about)
    return write_notebook(tidy(notebook), target)


def sweep_away(root: Path, *folders: Path) -> None:
    """Remove what killed runs of pages have left half-written."""
    store.sweep_away(store.cache_store())
    for folder in (root / "book", root / "_build"):
        store.remove_half_written(folder)
    for folder in (Path(tempfile.gettempdir()), *folders):
        store.remove_half_written(folder, ".*@*")


def provenance(root: Path, page: str, parameters: dict, stamp: str | None) -> dict[str, Any]:
    """What the status page says of a run of a page."""
    commit = git(root, "describe", "--always", "--dirty=+", "--exclude=*", "--abbrev=9") or "unknown"
    about = {"page": page, "parameters": parameters, "device": f"CPU, {platform.machine()}", "commit": commit}
    return about | ({"stamp": stamp} if stamp else {})


def skip_torch(notebook: NotebookNode, values: dict) -> bool:
    """Put what is stored in the place of cells that need torch, else a note; whether there are any such."""
    kept = trained.stored()
    cells = {trained.key(cell, values): cell for cell in codes(notebook.cells, "torch")}
    for key, cell in cells.items():
        note = PARTS.gap(TRAINED, "Stored outputs") if key in kept else PARTS.gap(NO_TORCH, "Not run here")
        cell.outputs = from_dict([new_output("display_data", {"text/html": note}), *kept.get(key, ())])
        cell.metadata["tags"].append("skip-execution")
    return not cells.keys() <= kept.keys()


def parameterized(notebook: NotebookNode, values: dict) -> NotebookNode:
    """The notebook with papermill's cell of these values, if there are any."""
    notebook.metadata["papermill"] = {"start_time": datetime.now(UTC).isoformat()}
    if not values:
        return notebook
    return parameterize_notebook(notebook, json.loads(json.dumps(values)))  # papermill writes no tuples


def run_cells(notebook: NotebookNode, name: str, root: Path, quiet: bool) -> None:
    """Run the notebook in a kernel of its own; CellExecutionError where a cell fails, AttnError where the kernel
    does."""
    with (
        tqdm(total=len(codes(notebook.cells)), desc=name, unit="cell", disable=quiet) as bar,
        scratch_folder() as scratch,
    ):
        # Two kernels that start at once may pick the same port, but no socket; its name has at most 104 bytes.
        may_use_socket = os.name == "posix" and len(scratch) < 90
        sockets = {"transport": "ipc", "ip": f"{scratch}/kernel"} if may_use_socket else {}
        sockets["connection_file"] = f"{scratch}/connection.json"  # else it outlives a kill
        client = NotebookClient(
            notebook,
            timeout=CELL_SECONDS,
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=["--log-level=50"],
            config=Config({"KernelManager": sockets}),
            resources={"metadata": {"path": str(root)}},
            on_cell_executed=lambda **_: bar.update(),
        )
        try:
            client.execute(env=os.environ | kernel_environment(scratch))
        except CellExecutionError:
            raise
        except Exception as error:  # the kernel did not start, died, or hung; Ctrl-C stops it, and nbclient asserts
            reason = one_line(error) if str(error) else "its kernel was stopped"
            raise AttnError(f"page {name} could not be run: {reason}") from error


def absence(notebook: NotebookNode, error: CellExecutionError, name: str, root: Path, may_shorten: bool) -> str:
    """What a page stopped for, where it may be shortened for it: a run that is not there, or damaged. Else an
    AttnError, and the notebook up to there is kept."""
    cell, output = next(
        (cell, output) for cell in codes(notebook.cells) for output in cell.outputs if output.output_type == "error"
    )
    reason = error.evalue.partition("\n")[0]
    if error.ename == ModuleNotFoundError.__name__ and find_spec("torch") is None:
        reason += f"; {NO_TORCH}"
    if may_shorten and error.ename in (AbsentRun.__name__, Damaged.__name__):
        return reason
    message = f"page {name} stopped in cell {cell.execution_count}: {error.ename}: {reason}"
    if len(output.traceback) != 1:  # AttnErrors render as one line: a refused input, nothing to look into
        kept = write_notebook(notebook, root / "_build" / "failed" / f"{name}.ipynb")
        message += f"; the notebook up to there: {kept}"
    raise AttnError(message) from None


def shortened(stopped: NotebookNode, reason: str) -> NotebookNode:
    """A page that stopped for want of a run: its text up to the parameters, all labels, and what is absent."""
    first = stopped.cells.index(codes(stopped.cells)[0])
    lines = [f"({label})=" for cell in stopped.cells[first:] for label in LABEL.findall(cell.source)]
    lines += ["The rest of this page needs trained models that are not there.", "", PARTS.gap(reason)]
    stopped.cells = [*stopped.cells[: first + 1], new_markdown_cell("\n".join(lines), id="shortened")]
    return stopped


def built_page(root: Path, name: str) -> Path | None:
    """The HTML of a page in the built book, None where it is not built."""
    path = root / "_build" / "html" / f"{name}.html"
    return path if path.is_file() else None


def tidy(notebook: NotebookNode) -> NotebookNode:
    """An executed notebook with minus signs in its HTML tables."""
    for output in outputs_of(notebook):
        text = html_of(output)
        if "<table" in text:
            output["data"]["text/html"] = NOT_TEXT.sub(lambda piece: piece[0] if piece[1] else minus(piece[0]), text)
    return notebook


def kernel_environment(scratch: str) -> dict[str, str]:
    """What a kernel inherits: one thread, both packages, and nothing of the user's IPython profile."""
    packages = [*(str(folder.parent) for folder in PACKAGES), os.environ.get("PYTHONPATH")]
    inherited = dict.fromkeys(THREADS, "1") | {
        "PYTHONPATH": os.pathsep.join(filter(None, packages)),
        "IPYTHONDIR": scratch,
        "JUPYTER_RUNTIME_DIR": scratch,
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    for name in ("ATTN_DATA", "ATTN_CACHE", "ATTN_ARCHIVE"):
        folder_of(name)  # its path is absolute from here on: a kernel runs in another folder
    if plugins := foreign.plugin_files():
        inherited[foreign.PLUGINS] = os.pathsep.join(map(str, plugins))
    return inherited


def git(folder: Path, *words: str) -> str:
    """What git says of a folder, '' where it says nothing."""
    with suppress(OSError):
        command = ["git", "-C", str(folder), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        return done.stdout.strip()
    return ""
