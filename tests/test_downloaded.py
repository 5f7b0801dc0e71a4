"""A notebook downloaded from the book, opened outside a repository: it finds the archive, or says so in one line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from attn_build import sources

HIDE = """import sys
exists, ours = sys.modules["os"].path.isfile, ("/attn_lab/runs/store.py", "/attn_book/page.py")
sys.path[:] = [p for p in sys.path if not (p and any(exists(p + file) for file in ours))]
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in str(getattr(f, "__module__", f)).lower()]
"""
"""As on a machine where the packages are not installed."""


def guard_cell() -> str:
    """The generated cell behind a page's parameters, with the parameters in front of it."""
    cells = sources.codes(sources.convert("jain/04-1-correlation", ROOT).cells)
    place = cells.index(*sources.codes(cells, "parameters"))
    assert cells[place + 1].metadata["tags"] == ["guard", "remove-cell"]
    return f"{cells[place].source}\n{cells[place + 1].source}\nprint(archive_folder())"


def run_in(folder: Path, archive: Path | None = None):
    """The guard cell in a fresh Python that starts in `folder`, ATTN_ARCHIVE set or not: status, last line, errors."""
    environment = {k: v for k, v in os.environ.items() if k not in ("ATTN_ARCHIVE", "PYTHONPATH")}
    environment |= {"ATTN_ARCHIVE": str(archive)} if archive else {}
    command = [sys.executable, "-c", HIDE + guard_cell()]
    options = {"capture_output": True, "text": True, "timeout": 120}
    done = subprocess.run(command, check=False, cwd=folder, env=environment, **options)
    *_, last = ["", *done.stdout.splitlines()]  # behind what the page glues
    return done.returncode, last, done.stderr.strip()


@pytest.fixture
def empty(tmp_path) -> Path:
    """A folder that holds nothing, with nothing above it."""
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def test_the_named_archive_or_that_of_a_clone_above_is_used(empty):
    archive = ROOT / "data" / "archive"
    assert run_in(empty, archive) == run_in(ROOT / "notebooks" / "jain") == (0, str(archive), "")


def test_without_package_and_clone_one_clear_line(empty):
    status, _, told = run_in(empty)
    assert status != 0
    assert (
        told
        == "attn_core is neither installed nor above this folder: set ATTN_ARCHIVE to a clone's data/archive"
    )


def test_with_the_package_alone_one_clear_line(empty):
    """As `pip install` leaves it: the package without data. Notebooks show the AttnError as one line."""
    for folder in (ROOT / "attn_core", ROOT / "attn_lab", ROOT / "book" / "attn_book"):
        shutil.copytree(folder, empty / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    status, _, told = run_in(empty)
    last = told.splitlines()[-1]
    assert status != 0
    assert "ATTN_ARCHIVE" in last
    assert last.startswith("attn_core.errors.AttnError: no data/archive found")


def test_a_downloaded_notebook_runs_in_an_empty_folder(empty, monkeypatch):
    """The whole notebook, executed by papermill alone, away from the repository."""
    import nbformat
    import papermill

    nbformat.write(sources.convert("one-model", ROOT), empty / "page.ipynb")
    monkeypatch.setenv("ATTN_ARCHIVE", str(ROOT / "data" / "archive"))
    monkeypatch.chdir(empty)
    papermill.execute_notebook("page.ipynb", "done.ipynb", {"epsilon": 0.1}, cwd=empty, progress_bar=False)
    assert "attn-strip" in (empty / "done.ipynb").read_text()
