"""The book without torch, spaCy, gensim and Dask: the list of versions that it needs, imports, a few whole pages."""

import ast
import os
import re

import pytest
import sentences
from conftest import ROOT, python
from golden import CLOSE_SEARCHED
from test_pages import ELSEWHERE, executed

from attn_book import derived
from attn_build import running, sources
from attn_core.experiments.search import search
from attn_lab.more import beside
from attn_lab.runs import store

ABSENT = ("torch", "spacy", "gensim", "dask", "distributed")


def lock(name: str) -> dict[str, str]:
    """Package -> version."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))


def test_what_reading_needs_is_a_part_of_the_whole():
    read = lock("requirements-read.lock")
    whole = lock("requirements.lock") | lock("requirements-torch.lock")
    assert read.items() <= whole.items()
    assert not set(read) & set(ABSENT)
    assert set(ABSENT) <= set(whole)


def test_every_locked_version_has_the_day_of_its_release():
    lines = (ROOT / "data" / "locks.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    assert lines[0] == "package,version,published"
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d", row[2]) for row in rows)
    assert {name: version for name, version, _ in rows} == lock("requirements.lock") | lock(
        "requirements-torch.lock"
    )


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-read.lock"])
def test_locked_versions_carry_hashes_and_no_address(name):
    text = (ROOT / name).read_text()
    hashed = re.findall(r"^\w.* \\\n    --hash=sha256:[0-9a-f]{64}", text, re.MULTILINE)
    assert len(hashed) == len(re.findall(r"^\w", text, re.MULTILINE)) > 100
    assert "://" not in text


@pytest.fixture
def reading(tmp_path, monkeypatch):
    """This process and those that it starts find none of ABSENT."""
    for name in ABSENT:
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError('No module named {name}')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT), str(ROOT / "book")]))
    monkeypatch.setattr(running, "find_spec", lambda name: None)
    return tmp_path


def test_every_import_of_every_page_does_without(reading):
    lines = {}
    for name in sources.pages(ROOT):
        for cell in sources.codes(sources.read_source(name, ROOT).cells):
            if "torch" not in cell.metadata.get("tags", []):
                every = ast.walk(ast.parse(cell.source))
                nodes = [node for node in every if type(node) in (ast.Import, ast.ImportFrom)]
                lines |= {ast.unparse(node): name for node in nodes}
    assert len(lines) > 50
    python("-c", "\n".join(lines), folder=ROOT)


@pytest.mark.parametrize("page", executed([*ELSEWHERE, "extending"]))
def test_a_page_executes_without(page, reading, monkeypatch):
    """Sentences that are read live; trainings at other parameters, which are code with a note; planted runs."""
    small = sources.declaration(page, ROOT).smoke
    path = running.execute(page, small, reading / "page.ipynb", ROOT, stamp="0")
    notebook = sources.read_notebook(path)
    shortened = notebook.metadata.attn.get("shortened")
    assert shortened == (running.NO_TORCH if page == "extending" else None)
    tagged = len(sources.codes(sources.convert(page, ROOT).cells, "torch"))
    shown = [str(cell.get("outputs", "")) for cell in notebook.cells]
    assert sum(running.NO_TORCH in text for text in shown) == tagged
    assert any(shown)
    if page in ELSEWHERE:
        sentences.check(page, ROOT, notebook, monkeypatch)


def test_outputs_of_every_cell_that_trains_are_stored():
    """After a change of such a cell: `python -m attn_build.train`."""
    notebook = sources.convert("extending", ROOT)
    values = sources.declaration("extending", ROOT).defaults
    assert not running.skip_torch(notebook, values)
    shown = [cell.outputs for cell in sources.codes(notebook.cells, "torch")]
    assert "single-state agreement" in str(shown[0])
    assert all(running.TRAINED in str(outputs[0]) for outputs in shown)
    assert running.skip_torch(notebook, values | {"epochs": 3})


@pytest.mark.parametrize("corpus", ["sst", "20news"])
def test_the_searches_that_pages_show_are_those_of_the_code(corpus, monkeypatch):
    """Of five texts each: a text's search does not depend on the others."""
    monkeypatch.setattr(derived, "per_search", lambda *_: pytest.fail("not in data/measured"))
    stored, rows = derived.searched(corpus), derived.classifiers(corpus)
    few = store.read(store.archive_folder(), rows.set_index("seed")["key"][10]).traces.take(range(0, 100, 20))
    found = beside.per_search(few, search(few)).set_index("doc_id")
    assert (
        found.sub(stored.set_index("doc_id").loc[found.index, found.columns]).abs().to_numpy().max()
        < CLOSE_SEARCHED
    )
