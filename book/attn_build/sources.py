"""Pages as notebooks: found by name, read from MyST Markdown, made ready to run, written.

A page is named by its path below notebooks/ without suffix (`jain/04-1-correlation`). One code cell, tagged
`parameters`, holds literals only. Its front matter may hold

    attn:
      smoke: {permutations: 10}           other parameters, with which the tests run the page in a few seconds
      takes: {rule: [coded, described]}   what parameters take beside their type, and
      reads: {encoder: lstm}              whose texts the page reads, see `parameters`
"""

import re
import tempfile
from contextlib import contextmanager
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from attn_book.parameters import Declaration, declared, nearest
from attn_build import render
from attn_build.plain import readable, values_of
from attn_core.errors import AttnError, say
from attn_lab.data.files import digest, replacing

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}

# ---- finding pages ---------------------------------------------------------------------------------------------------


def repository(root: str | Path | None = None) -> Path:
    """The folder that holds notebooks/: `root`, else the clone that is the working folder or holds it, or that this
    package is of."""
    here = Path.cwd()
    clones = [Path(root)] if root else [here, *here.parents, Path(__file__).parents[2]]
    for folder in clones:
        if (folder / "notebooks").is_dir() and (root or (folder / "book" / "_toc.yml").is_file()):
            return folder
    raise AttnError(f"no folder notebooks/ in {clones[0]} or above; run this in a clone of the repository")


def pages(root: str | Path | None = None, drafts: bool = False) -> dict[str, Path]:
    """Name -> source of every page, sorted; names that start with _ (drafts) or . (checkpoints) are no pages."""
    folder = repository(root) / "notebooks"
    every = {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.md"))}
    return {name: path for name, path in every.items() if drafts or not re.search(r"(^|/)[_.]", name)}


def locate(page: str | Path, root: str | Path | None = None) -> str:
    """A page's whole name, from that or the last part of it; a draft's, from its whole name."""
    name = str(page).replace("\\", "/")
    listed = pages(root)
    fits = [page for page in listed if page.rsplit("/", 1)[-1] == name]
    if name in pages(root, drafts=True):
        return name
    if len(fits) == 1:
        return fits[0]
    raise AttnError(f"there is no page {name!r}{nearest(name, listed)} Known: {', '.join(listed) or 'none'}")


# ---- reading one -----------------------------------------------------------------------------------------------------


def read_source(page: str | Path, root: str | Path | None = None) -> NotebookNode:
    """A page as a notebook without outputs, from MyST Markdown."""
    path = pages(root, drafts=True)[locate(page, root)]
    return jupytext.read(path, fmt={"extension": ".md", "format_name": "myst"})


def codes(cells: list[NotebookNode], tag: str = "") -> list[NotebookNode]:
    """The cells that hold code, all or those with a tag."""
    return [cell for cell in cells if cell.cell_type == "code" and tag in ("", *cell.metadata.get("tags", ()))]


def declaration(page: str | Path, root: str | Path | None = None) -> Declaration:
    """What a page declares."""
    name = locate(page, root)
    notebook = read_source(page, root)
    tagged = codes(notebook.cells, "parameters")
    if len(tagged) != 1:
        raise AttnError(f"page {name}: one code cell must be tagged `parameters` (literals only)")
    defaults = declared(tagged[0].source, name)
    front = notebook.metadata.get("attn", {})
    return Declaration(name, defaults, dict(front.get("takes", {})), front.get("reads"), front.get("smoke", {}))


def convert(page: str | Path, root: str | Path | None = None) -> NotebookNode:
    """A page as a notebook ready to run: kernel named, cells numbered, guard cell behind the parameters cell; papermill
    puts what it is given before the guard, so it is checked however the notebook is run."""
    declares = declaration(page, root)
    notebook = read_source(page, root)
    notebook.metadata["kernelspec"] = KERNEL

    arguments = [*map(repr, (declares.page, declares.takes, declares.reads))]
    arguments += [f"{key}={value!r}" for key, value in declares.defaults.items()]
    cells = notebook.cells
    first = cells.index(codes(cells)[0])
    at_parameters = cells.index(*codes(cells, "parameters"))
    cells.insert(at_parameters + 1, guard_cell(", ".join(arguments)))
    if at_parameters != first:  # what runs before the parameters finds the packages too
        cells.insert(first, guard_cell(""))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
        cell.metadata.setdefault("tags", [])  # papermill wants it
    return notebook


def guard_cell(arguments: str) -> NotebookNode:
    """The generated cell that finds the packages and, with arguments, checks the parameters."""
    code = render("guard.jinja", arguments=arguments)
    return new_code_cell(code, metadata={"tags": ["guard", "remove-cell"]})


# ---- written notebooks -----------------------------------------------------------------------------------------------


def convert_all(folder: str | Path | None = None, root: str | Path | None = None) -> list[Path]:
    """Write every page as .ipynb, beside its source or under `folder`; returns the files written. One that was edited
    stays, and one line says so."""
    here = repository(root)
    base = Path(folder or here / "notebooks")
    targets = {name: base / f"{name}.ipynb" for name in pages(root)}
    written = []
    for name, path in targets.items():
        if edited(path):
            say(f"{path} was edited and stays; move it away for a new one")
        else:
            notebook = readable(convert(name, root), here, path, targets.get, numbers_of(name, here))
            written.append(write_notebook(notebook, path))
    return written


def executed(root: Path, name: str) -> Path:
    """Where the executed form of a page lies: beside the prose pages, ignored by git."""
    return root / "book" / f"{name}.ipynb"


def numbers_of(name: str, root: Path) -> dict:
    """What a page glues, by name; nothing where it is not executed yet."""
    return values_of(read_notebook(executed(root, name)))


def in_book(root: Path, name: str) -> NotebookNode | None:
    """The page as the book shows it, or None where it is not built or of another text."""
    shown = read_notebook(executed(root, name))
    same = [cell.source for cell in shown.cells] == [cell.source for cell in convert(name, root).cells]
    return shown if same else None


def read_notebook(path: Path) -> NotebookNode:
    """An executed notebook, or an empty one where there is none or it is broken."""
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, KeyError):
        return new_notebook()


def write_notebook(notebook: NotebookNode, target: Path) -> Path:
    """Write a notebook whole or not at all, with a hash by which `edited` knows it again. Returns the file."""
    notebook.metadata.setdefault("attn", {})["cells"] = cells_digest(notebook)
    with writing(target), replacing(target) as file:
        file.write(nbformat.writes(notebook).encode())
    return target


def edited(path: Path) -> bool:
    """Whether a file is anything but a notebook as `write_notebook` left it; outputs count in the book's own pages."""
    notebook = read_notebook(path)
    return path.exists() and notebook.metadata.get("attn", {}).get("cells") != cells_digest(notebook)


def cells_digest(notebook: NotebookNode) -> str:
    """SHA-256 of what a notebook's cells hold, outputs apart; of all that a page of the book's build is."""
    whole = "stamp" in notebook.metadata.get("attn", {})
    return digest([[cell.cell_type, cell if whole else cell.source] for cell in notebook.cells])


@contextmanager
def writing(target: Path):
    """AttnError where a file cannot be written."""
    try:
        yield
    except OSError as error:
        reason = f"cannot write {target} ({error.strerror})"
        raise AttnError(f"{reason}; make room, or name another place (execute: --output)") from error


def writable(target: Path) -> None:
    """AttnError where a file could not be written: better known before the work."""
    with writing(target):
        folder = next(parent for parent in target.absolute().parents if parent.exists())
        tempfile.TemporaryFile(dir=folder).close()
