"""Pages as notebooks: from MyST text to Jupyter, running one page with parameters, and what pages call.

A page is a MyST Markdown notebook `notebooks/<paper>/NN-section.md`, named here without folder and suffix
(`jain/04-1-correlation`). Its first code cell, tagged `parameters`, holds literals only. Its front matter may hold

    attn:
      smoke: {permutations: 10}           parameters under which the tests run the page in a few seconds
      takes: {rule: [coded, described]}   what parameters take beside their type (`parameters.check`)

Pages themselves import three functions from here: `guard` (put in by `convert`, never written by hand), `glue` for
numbers quoted in the prose and `gap` for a run that is not there.
"""

import os
import sys
import tempfile
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from attn_core.cells import gap, gaps_of, glue
from attn_core.errors import AttnError
from attn_core.parameters import check, declared, guard
from attn_core.publish import shortened, tidy

__all__ = [
    "convert", "convert_all", "execute", "gap", "gaps_of", "glue", "guard", "locate", "pages", "parameters_of",
    "repository", "smoke_of",
]  # fmt: skip

CELL_SECONDS = 900
"""A cell that runs longer is taken for hung."""

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

GUARD = """# Outside the repository: set ATTN_ARCHIVE to a clone's data/archive, or work in a folder below a clone.
def find_clone():
    import os, sys
    from importlib.util import find_spec
    from pathlib import Path

    starts = filter(None, [os.environ.get("ATTN_ARCHIVE"), os.getcwd()])
    upward = [q for p in map(Path, starts) for q in (p.resolve(), *p.resolve().parents)]
    clones = [str(place) for place in upward if (place / "attn_core" / "notebook.py").is_file()]
    if find_spec("attn_core") is None and not clones:
        sys.exit("attn_core is neither installed nor above this folder: set ATTN_ARCHIVE to a clone's data/archive")
    if find_spec("attn_core") is None:
        sys.path.insert(0, clones[0])

find_clone()
from attn_core.archive import archive_folder
from attn_core.notebook import guard

archive_folder()  # one line where there is none
guard(globals(), {page!r}, {takes}{arguments})  # a misspelt or wrongly typed parameter stops here"""
"""Source of the cell behind the parameters: a downloaded notebook finds package and archive, or stops with one line."""


# ---- finding and reading pages ---------------------------------------------------------------------------------------


def repository(root: str | Path | None = None) -> Path:
    """The folder that holds notebooks/: `root`, else this package's own, else the first one upward from here."""
    here = Path.cwd()
    for place in [Path(root)] if root else [Path(__file__).parents[1], here, *here.parents]:
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
    """The declared parameters of a notebook; its first code cell must be the one tagged `parameters`."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if not code or "parameters" not in code[0].metadata.get("tags", []):
        raise AttnError(f"page {name}: its first code cell must be tagged `parameters` (literals only)")
    return declared(code[0].source, name)


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
    nothing but the package.
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
        first = next(i for i, other in enumerate(notebook.cells) if other.cell_type == "code")
        notebook.cells.insert(first + 1, cell)
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
    """What the kernel inherits: one thread, this package, and nothing of the user's IPython profile."""
    package = str(Path(__file__).parents[1])
    wanted = dict.fromkeys(THREADS, "1") | {
        "PYTHONPATH": os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])]),
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
    import subprocess

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
