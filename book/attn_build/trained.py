"""Outputs of cells that train, tagged `torch`: stored, and shown where torch is not installed.

`python -m attn_build.train` stores them anew.
"""

import json

from nbformat import NotebookNode, from_dict

from attn_build.sources import codes
from attn_lab.data.files import digest
from attn_lab.runs import store

NAME = "examples/trained.json"
PAGE = "extending"


def stored(notebook: NotebookNode, values: dict) -> list[list[NotebookNode] | None]:
    """Of each of these cells its outputs under the page's parameters; None where the cell or they are others."""
    kept = json.load(store.read_data(NAME))
    return [from_dict(kept.get(digest([cell.source, values]))) for cell in codes(notebook.cells, "torch")]
