"""The build of the book on a miniature; the real pages are in test_pages.py.

The complete book is built by `make book`; here its parts are tested without building it twice.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import devtools
import nbformat
import psutil
import pyarrow as pa
import pytest
from conftest import ROOT, refused
from miniature import FRONT, WAITING, WIDE

from attn_build import build, rendering, running, sources
from attn_lab.data.files import sha256
from attn_lab.runs import upkeep

MINIMAL = "```{code-cell} ipython3\n:tags: [parameters]\n\nn = 1\n```\n\n```{code-cell} ipython3\nCODE\n```\n"


TOC = f"""format: jb-book
root: index
parts:
- caption: Start
  chapters: [{{file: template}}, {{file: wide}}, {{file: waiting}}]
- caption: {rendering.RECORD}
  chapters: [{{file: status}}, {{file: references}}]
"""


@pytest.fixture(scope="session")
def miniature(tmp_path_factory):
    """A whole book of two pages of prose and three notebooks (one is the authors' template), built once."""
    root = tmp_path_factory.mktemp("book")
    (root / "notebooks").mkdir()
    shutil.copytree(ROOT / "book" / "_static", root / "book" / "_static")
    shutil.copy(ROOT / "_config.yml", root)
    shutil.copy(ROOT / "book" / "references.bib", root / "book")
    shutil.copy(ROOT / "book" / "references.md", root / "book")
    shutil.copy(ROOT / "notebooks" / "_template.md", root / "notebooks" / "template.md")
    (root / "notebooks" / "wide.md").write_text(WIDE)
    (root / "notebooks" / "waiting.md").write_text(WAITING)
    (root / "book" / "index.md").write_text(FRONT)
    (root / "book" / "_toc.yml").write_text(TOC)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTN_REPOSITORY", "own/book")
        assert build.build(root) == 0, (root / "_build" / "sphinx.log").read_text()
    return root


def page_of(root: Path, name: str) -> str:
    return (root / "_build" / "html" / f"{name}.html").read_text()


def test_the_chain_ends_before_the_record(miniature):
    onward = [name for name in rendering.toc_pages(miniature) if "next page" in page_of(miniature, name)]
    assert onward == ["index", "template", "wide", "status"]
    assert "previous page" not in page_of(miniature, "status")
    assert rendering.RECORD in page_of(miniature, "index"), "in the side bar"


@pytest.mark.parametrize(
    "name, shown, times",
    [
        ("template", r"Half of them would be <span[^>]*>\d+</span>", 1),
        ("wide", "<td>−3</td>", 1),
        ("template", 'aria-label="An alternative text gives', 1),
        ("template", "Record of this page", 1),
        ("template", 'template-toy">Figure 1.', 1),
        ("template", 'template-agreement">Figure 2.', 1),
        ("template", '#table-1">Table 1', 1),
        ("template", "mathjax-tex-svg.mjs", 0),
        ("wide", "mathjax-tex-svg.mjs", 1),
        ("template", "mybinder.org/v2/gh/own/book/HEAD.urlpath=lab/tree/notebooks/template.ipynb", 1),
        ("template", "colab.research.google.com/github/own/book/blob/notebooks/template.ipynb", 1),
        ("index", "mybinder", 0),
    ],
)
def test_a_page_holds_its_numbers_figures_and_formulas(miniature, name, shown, times):
    assert len(re.findall(shown, page_of(miniature, name))) == times


@pytest.mark.parametrize("unseen", ["guard(globals()", "thebe", "Traceback (most recent"])
def test_a_page_does_not_show_what_is_no_reading_matter(miniature, unseen):
    assert not [name for name in rendering.toc_pages(miniature) if unseen in page_of(miniature, name)]


def test_the_status_page_says_how_pages_ran(miniature):
    text = (miniature / "book" / "status.md").read_text()
    assert re.search(r"\{doc\}`wide` \| `wide=40` \| \d+\.\d \|  \| \w+ \| [-\d]+ \d\d:\d\d \| CPU, ", text)
    assert re.search(r"\{doc\}`waiting` \| `corpus='imdb'` \| [\d.]+ \| cut short \|", text)


def test_the_status_page_counts_runs_and_names_the_seal_of_the_archive(tmp_path):
    archive = small_book(tmp_path) / "data" / "archive"
    upkeep.merge(archive, "k", {"runs": pa.table({"key": ["k"], "record": ["{}"]})}, {"k": None})
    upkeep.seal(archive)
    build.write_status(tmp_path)
    text = (tmp_path / "book" / "status.md").read_text()
    digest = sha256(archive / "MANIFEST")
    assert "Trained models: 1 runs;" in text
    assert f"`{digest[:32]}` `{digest[32:]}`" in text


def test_a_page_without_its_run_is_a_gap(miniature, capsys):
    assert build.review(miniature) == []
    assert "  gap    waiting: run imdb-lstm-tanh-999999999-" in capsys.readouterr().out


def test_a_page_without_its_run_is_cut_short(miniature):
    page = page_of(miniature, "waiting")
    assert "Its text before the parameters." in page
    assert 'id="waiting-inside"' in page, "other pages may refer to it"
    assert "Never reached" not in page


@pytest.mark.thorough
def test_the_students_edition_holds_no_solution_in_any_file(miniature, tmp_path):
    root = tmp_path / "book"
    shutil.copytree(miniature, root, ignore=shutil.ignore_patterns("html"))
    assert build.build(root, edition="student") == 0
    secret = re.compile(
        rb"What a good answer weighs|at least one solution ends|toy\.attention\.idxmax|idxmax"
    )
    told = lambda folder: {path.name for path in folder.rglob("*.*") if secret.search(path.read_bytes())}
    assert {"template.html", "template.ipynb"} <= told(miniature / "_build" / "html")
    assert not told(root / "_build" / "student")
    assert "Which word of the toy" in (root / "_build" / "student" / "template.html").read_text(), (
        "exercises stay"
    )


def test_the_command_line_refuses_a_page_without_its_run(tmp_path):
    root = small_book(tmp_path)
    (root / "notebooks" / "waiting.md").write_text(WAITING)
    with refused("^page waiting stopped in cell 3: AbsentRun: run imdb-lstm-tanh-999999999-.*attn_core run"):
        running.execute("waiting", root=root)
    assert not (root / "_build").exists(), "nothing to look into"


def test_absent_and_damaged_runs_are_gaps_and_damage_is_an_error_at_the_end(tmp_path, capsys):
    """Beside a damaged archive; they are tried again."""
    root = small_book(
        tmp_path,
        waiting="from attn_lab.runs.results import AbsentRun\nraise AbsentRun('run x is absent')",
        damaged="from attn_core.errors import Damaged\nraise Damaged('runs/k.parquet is refused')",
    )
    archive = root / "data" / "archive"
    (archive / "runs").mkdir(parents=True)
    upkeep.seal(archive)
    (archive / "runs" / "k.parquet").write_text("{}")
    assert build.build(root, html=False) == 1
    out = capsys.readouterr().out.splitlines()
    told = ("gap    waiting: run x is absent", "gap    damaged: runs/k.parquet is refused")
    assert {f"  {line}" for line in told} < set(out)
    assert out[-1].startswith("  error  runs/k.parquet is no file")
    build.execute_pages(root)
    assert "2 pages, 2 to run, 0 unchanged" in capsys.readouterr().out


def test_html_that_nothing_changed_stays(miniature, monkeypatch):
    monkeypatch.setenv("ATTN_REPOSITORY", "own/book")
    front = miniature / "_build" / "html" / "index.html"
    made = front.stat().st_mtime_ns
    assert build.write_html(miniature, "teacher") == []
    assert front.stat().st_mtime_ns == made


@pytest.mark.thorough
def test_a_dead_label_fails_the_build(miniature, tmp_path, capsys):
    root = tmp_path / "book"
    shutil.copytree(miniature, root, ignore=shutil.ignore_patterns("_build"))
    (root / "book" / "index.md").write_text(FRONT + "\n{ref}`nowhere`\n")
    assert build.build(root) == 1
    assert "undefined label: 'nowhere'" in capsys.readouterr().out


def small_book(root: Path, **sources: str) -> Path:
    """Notebooks with one cell each, and a table of contents that holds them."""
    (root / "notebooks").mkdir(parents=True)
    (root / "book").mkdir()
    for name, code in sources.items():
        (root / "notebooks" / f"{name}.md").write_text(f"# {name}\n\n" + MINIMAL.replace("CODE", code))
    (root / "book" / "index.md").write_text("# Front\n")
    chapters = [{"file": name} for name in sources]
    (root / "book" / "_toc.yml").write_text(f"format: jb-book\nroot: index\nchapters: {chapters}\n")
    return root


@pytest.mark.faults
def test_a_flipped_byte_in_an_executed_page_is_noticed(tmp_path):
    """Outputs included: a number that was edited there does not get into the book; `build` runs what was edited."""
    code = "import matplotlib.pyplot as plt\nfrom IPython.display import HTML, display\nplt.plot([1, 2])\n"
    code += "display(HTML('<b>a</b>\\n<i>b</i>'))\nprint('accuracy .81\\nf1 .80')"
    root = small_book(tmp_path, one=code)
    path = running.execute("one", None, sources.executed(root, "one"), root, "stamp")
    whole = path.read_text()
    outputs = [whole.index("accuracy .81") + 10, whole.index("image/png") + 300, whole.index("<b>a") + 3]
    cells = range(whole.index('"cells"'), whole.index('"metadata": {\n  "attn"'))
    for place in [*outputs, *random.Random(0).sample(cells, 60)]:
        path.write_text(whole[:place] + chr(ord(whole[place]) ^ 1) + whole[place + 1 :])
        same = sources.read_notebook(path) == nbformat.reads(whole, as_version=4)
        assert sources.edited(path) != same, whole[place - 20 : place + 20]


def test_unchanged_pages_are_skipped_and_changed_ones_run(tmp_path, capsys):
    root = small_book(tmp_path, one="1", two="2")
    build.execute_pages(root)
    build.execute_pages(root)
    (root / "notebooks" / "two.md").write_text("# two\n\n" + MINIMAL.replace("CODE", "print(4000 + 2)"))
    build.execute_pages(root)
    path = sources.executed(root, "two")
    whole = path.read_text()
    path.write_text(whole.replace("4002", "4003"))
    build.execute_pages(root)
    assert re.findall(r"(\d) to run", capsys.readouterr().out) == ["2", "0", "1", "1"]
    assert "4002" in whole
    assert "4003" not in path.read_text()


PRINTED = "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    print(traceback.format_exc())"


def test_failures_are_listed(tmp_path, capsys):
    """A page that raises, a printed traceback, a page missing from the contents: each one line, exit status 1."""
    root = small_book(tmp_path, good="1", bad="1 / 0", stray=PRINTED)
    toc = root / "book" / "_toc.yml"
    toc.write_text(toc.read_text().replace(", {'file': 'stray'}", ""))
    assert build.build(root) == 1
    errors = re.findall(r"^  error  (\S+ \S+)", capsys.readouterr().out, re.MULTILINE)
    assert sorted(errors) == ["notebooks/stray.md is", "page bad", "page stray"]
    assert sorted(path.name for path in (root / "book").glob("*.ipynb")) == ["good.ipynb", "stray.ipynb"]


@pytest.mark.parametrize(
    "name, different",
    [
        ("reported/table.csv", 3),
        ("measured/s.csv", 3),
        ("archive/runs/sst.parquet", 3),
        ("examples/e.json", 3),
        ("../README.md", 1),
    ],
)
def test_the_stamp_follows_data_and_archive_and_no_prose(tmp_path, name, different):
    (tmp_path / "data" / Path(name).parent).mkdir(parents=True, exist_ok=True)
    stamps = {build.common_stamp(tmp_path)}
    for text in "ab":
        (tmp_path / "data" / name).write_text(text)
        stamps.add(build.common_stamp(tmp_path))
    assert len(stamps) == different


# ---- as readers see it -----------------------------------------------------------------------------------------------


@pytest.mark.browser
def test_pages_fit_desktop_and_phone(miniature, chromium):
    found = devtools.survey(chromium, miniature / "_build" / "html", ["index", "template", "wide"])
    assert len(found) == 6
    assert not [told for told in found if told["takes"] > told["width"] or told["errors"]]


# ---- stopped ---------------------------------------------------------------------------------------------------------


@contextmanager
def started(code: str, folder: Path, begun: str):
    """A program in a group of processes of its own, once a file of this name is there, and the processes below it."""
    with (folder / "log").open("w") as log:
        book = subprocess.Popen(
            [sys.executable, "-c", code], stdout=log, stderr=log, cwd=folder, start_new_session=True
        )
    try:
        until = time.monotonic() + 120
        while not list(folder.glob(begun)):
            assert book.poll() is None and time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.1)
        yield book, psutil.Process(book.pid).children(recursive=True)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(book.pid, signal.SIGKILL)


BUILD = """
import sys
from attn_build import build
from attn_lab.cli import main

whole = build.build
build.build = lambda edition: whole({root!r}, html=False)
sys.argv = ["attn_core", "book"]
main()
"""


WAYS = {"Ctrl-C twice": [signal.SIGINT] * 2, "SIGKILL": [signal.SIGKILL]}
if "ATTN_FAULTS" in os.environ:
    WAYS |= {"Ctrl-C": [signal.SIGINT], "SIGTERM": [signal.SIGTERM]}


@pytest.mark.faults
@pytest.mark.parametrize("way", WAYS)
def test_a_stopped_build_leaves_within_seconds_and_nobody_stays(tmp_path, way):
    """With every worker in the middle of a page; Ctrl-C is sent as a terminal does, to all of the group."""
    code = "import pathlib, time\npathlib.Path('{}').touch()\ntime.sleep(300)"
    root = small_book(tmp_path / "book", **{name: code.format(tmp_path / f"{name}.begun") for name in "ab"})
    with started(BUILD.format(root=str(root)), tmp_path, "*.begun") as (book, below):
        assert any("ipykernel" in " ".join(process.cmdline()) for process in below)
        for number in WAYS[way]:
            with suppress(ProcessLookupError):  # as quick as that
                (os.killpg if number == signal.SIGINT else os.kill)(book.pid, number)
            time.sleep(0.2)
        status = book.wait(timeout=20)
        assert not psutil.wait_procs(below, timeout=5)[1]
        told = (tmp_path / "log").read_text()
        stopped = ["stopped; what is done so far stays, the same command goes on from there"]
        assert way == "SIGKILL" or (status, told.splitlines()[1:]) == (130, stopped), told


SPHINX = """
import signal, sys
from pathlib import Path
from attn_build import rendering

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it

wait = "import subprocess, time; subprocess.Popen(['sleep', '300']); open('{begun}', 'w'); time.sleep(300)"
rendering.PROCESS = rendering.PROCESS.partition("from jupyter_book")[0] + wait
rendering.sphinx(Path('{root}'))
"""


@pytest.mark.faults
@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT])
def test_sphinx_ends_with_the_build_that_started_it(tmp_path, way):
    """In the place of jupyter-book a process that waits, and its child."""
    with started(SPHINX.format(begun=tmp_path / "begun", root=tmp_path), tmp_path, "begun") as (book, below):
        assert len(below) == 2
        assert below[0].pid == os.getpgid(below[0].pid), "a group of its own"
        book.send_signal(way)
        book.wait(timeout=20)
        assert not psutil.wait_procs(below, timeout=5)[1]
