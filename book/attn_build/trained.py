"""Outputs of cells that train, tagged `torch`: stored, and shown where torch is not installed.

`python -m attn_build.trained` executes the page `extending` and stores its outputs anew; `archive seal` follows.
"""

import json

from nbformat import NotebookNode, from_dict

from attn_build.sources import convert, declaration, pages, read_notebook, read_source, repository
from attn_lab.data.files import digest
from attn_lab.runs import store

NAME = "examples/trained.json"
PAGE = "extending"


def cells_of(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells that need torch."""
    return [cell for cell in notebook.cells if "torch" in cell.metadata.get("tags", ())]


def stored(notebook: NotebookNode, values: dict) -> list[list[NotebookNode] | None]:
    """Of each of these cells its outputs under the page's parameters; None where the cell or they are others."""
    kept = json.load(store.read_data(NAME))
    return [from_dict(kept.get(digest([cell.source, values]))) for cell in cells_of(notebook)]


def main() -> None:
    from attn_build.running import execute

    root = repository()
    values = declaration(read_source(pages(root)[PAGE]), PAGE).defaults
    written = cells_of(read_notebook(execute(PAGE, root=root, force=True)))
    keys = [digest([cell.source, values]) for cell in cells_of(convert(PAGE, root))]
    kept = {key: cell.outputs for key, cell in zip(keys, written, strict=True)}
    (root / "data" / NAME).write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
