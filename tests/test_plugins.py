"""ATTN_PLUGINS: a user's own file is loaded by the command line, by pages and by workers, or refused in a line."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from attn_book import build

ROOT = Path(__file__).parents[1]


def page_cell(tag):
    """What a cell of *Extend* registers, up to its training."""
    cells = build.read_source(ROOT / "notebooks" / "extending.md").cells
    source = next(cell.source for cell in cells if tag in cell.metadata.get("tags", []))
    return re.split(r"^own = ", source, flags=re.M)[0]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugins")
    for name, tag in (("data", "corpus"), ("net", "encoder")):
        (folder / f"{name}.py").write_text(page_cell(tag), encoding="utf-8")
    files = os.pathsep.join(str(folder / f"{name}.py") for name in ("data", "net"))
    return {**os.environ, "ATTN_PLUGINS": files, "ATTN_CACHE": str(folder / "cache")}


def attn(environment, *words):
    command = [sys.executable, "-m", "attn_core", *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_the_command_line_and_its_workers_know_them(environment, tmp_path):
    grid = tmp_path / "grid.yml"
    grid.write_text("- {corpus: weather, encoder: gated, epochs: 1, seed: [10, 50]}\n", encoding="utf-8")
    (tmp_path / "archive").mkdir()  # empty: the whole one takes a minute to look through
    done = attn(environment | {"ATTN_ARCHIVE": str(tmp_path / "archive")}, "sweep", str(grid), "--jobs", "2")
    assert done.returncode == 0 and "2 weather gated tanh" in done.stdout and "0 failed" in done.stdout, done.stderr


def test_a_page_knows_them(environment, tmp_path):
    page, source = tmp_path / "page.ipynb", tmp_path / "source.ipynb"
    notebook = build.convert("teaching", ROOT)
    place = next(i for i, cell in enumerate(notebook.cells) if "guard" in cell.metadata.get("tags", []))
    notebook.cells = [nbformat.v4.new_code_cell("session = 1"), notebook.cells[place], nbformat.v4.new_code_cell(
        "from attn_core import Run\nprint(Run('weather', 'gated').family)")]  # fmt: skip
    nbformat.write(notebook, source)
    command = [sys.executable, "-m", "papermill", str(source), str(page), "--cwd", str(ROOT), "--no-progress-bar"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert nbformat.read(page, as_version=4).cells[-1].outputs[0].text == "text\n"


@pytest.mark.parametrize(("name", "text", "told"), [
    ("gone.py", None, "no Python file"), ("notes.txt", "x", "no Python file"),
    ("wrong.py", "1 +", "could not be loaded: SyntaxError"),
    ("wrong.py", "import attn_core.nothing", "could not be loaded: ModuleNotFoundError"),
])  # fmt: skip
def test_what_cannot_be_loaded_is_told_in_a_line(tmp_path, name, text, told):
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = attn({**os.environ, "ATTN_PLUGINS": str(tmp_path / name)}, "corpora")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    assert "ATTN_PLUGINS" in done.stderr and name in done.stderr and told in done.stderr
