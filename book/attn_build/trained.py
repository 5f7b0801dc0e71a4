"""Outputs of cells that train, tagged `torch`: stored, and shown where torch is not installed.

`python -m attn_build.train` stores them anew.
"""

import json

from nbformat import NotebookNode

from attn_lab.data.files import digest
from attn_lab.runs import store

NAME = "examples/trained.json"
PAGE = "extending"


def key(cell: NotebookNode, values: dict) -> str:
    """Under which the outputs of such a cell at these parameters of the page are stored."""
    return digest([cell.source, values])


def stored() -> dict[str, list]:
    """Key -> outputs."""
    return json.load(store.read_data(NAME))
