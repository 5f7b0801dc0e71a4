"""ATTN_PLUGINS: a user's own file is loaded by pages, or refused in a line; by commands and workers: test_sweep.py."""

import os
import re

import nbformat
import pytest
from conftest import ROOT, python

from attn_build import sources


def page_cell(tag):
    """What a cell of *Extend* registers, up to its training."""
    (cell,) = sources.codes(sources.read_source("extending", ROOT).cells, tag)
    return re.split(r"^own = ", cell.source, flags=re.MULTILINE)[0]


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """A data set and an encoder, in two files that $ATTN_PLUGINS names."""
    files = {"data": "corpus", "net": "encoder"}
    for name, tag in files.items():
        (tmp_path / f"{name}.py").write_text(page_cell(tag))
    monkeypatch.setenv("ATTN_PLUGINS", os.pathsep.join(str(tmp_path / f"{name}.py") for name in files))


def test_a_page_knows_them(plugins, tmp_path):
    page, source = tmp_path / "page.ipynb", tmp_path / "source.ipynb"
    notebook = sources.convert("teaching", ROOT)
    notebook.cells = [
        nbformat.v4.new_code_cell("session = 1"),
        sources.codes(notebook.cells, "guard")[-1],
        nbformat.v4.new_code_cell("from attn_lab import Run\nprint(Run('weather', 'gated').family)"),
    ]
    nbformat.write(notebook, source)
    python("-m", "papermill", source, page, "--cwd", ROOT, "--no-progress-bar")
    assert nbformat.read(page, as_version=4).cells[-1].outputs[0].text == "text\n"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("gone.py", None, "no Python file"),
        ("notes.txt", "x", "no Python file"),
        ("wrong.py", "1 +", "could not be loaded: SyntaxError"),
    ],
)
def test_what_cannot_be_loaded_is_told_in_a_line(tmp_path, monkeypatch, name, text, told, called):
    if text is not None:
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("ATTN_PLUGINS", str(tmp_path / name))
    status, _, lines = called("corpora")
    assert status == 2
    assert len(lines) == 1
    assert "ATTN_PLUGINS" in lines[0]
    assert name in lines[0]
    assert told in lines[0]
