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
from contextlib import suppress
from pathlib import Path

import devtools
import nbformat
import psutil
import pyarrow as pa
import pytest
import yaml
from miniature import FRONT, WAITING, WIDE

from attn_archive import upkeep
from attn_build import build, rendering, running, sources
from attn_core import store
from attn_core.corpora.files import sha256
from attn_core.errors import AttnError

ROOT = Path(__file__).parents[1]
MINIMAL = "```{code-cell} ipython3\n:tags: [parameters]\n\nn = 1\n```\n\n```{code-cell} ipython3\nCODE\n```\n"


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
    parts = {"Start": ("template", "wide", "waiting"), rendering.RECORD: ("status", "references")}
    parts = [{"caption": name, "chapters": [{"file": page} for page in part]} for name, part in parts.items()]
    toc = {"format": "jb-book", "root": "index", "parts": parts}
    (root / "book" / "_toc.yml").write_text(yaml.safe_dump(toc))
    assert build.build(root) == 0, (root / "_build" / "sphinx.log").read_text()
    return root


@pytest.mark.slow
def test_every_page_of_the_toc_is_built(miniature):
    chain = ["index", "template", "wide", "waiting"]
    assert rendering.toc_pages(miniature) == [*chain, "status", "references"]
    assert rendering.toc_pages(miniature, record=False) == chain


@pytest.mark.slow
def test_the_chain_ends_before_the_record(miniature):
    pages = {
        name: (miniature / "_build" / "html" / f"{name}.html").read_text() for name in rendering.toc_pages(miniature)
    }
    assert "next page" in pages["wide"] and "next page" not in pages["waiting"], "the last of the chain"
    assert "previous page" in pages["waiting"] and "previous page" not in pages["status"]
    assert "next page" in pages["status"] and rendering.RECORD in pages["index"], "in the side bar"


@pytest.mark.slow
def test_html_holds_numbers_figures_and_folds(miniature):
    page = (miniature / "_build" / "html" / "template.html").read_text()
    assert "guard(globals()" not in page, "the guard cell is no reading matter"
    assert re.search(r"Half of them would be <span[^>]*>\d+</span>", page), "glue works within what a reader opens"
    assert 'aria-label="An alternative text gives' in page and "Record of this page" in page
    assert page.count("mathjax-tex-svg.mjs") == 0 and "thebe" not in page, "no formula on it"
    wide = (miniature / "_build" / "html" / "wide.html").read_text()
    assert wide.count("mathjax-tex-svg.mjs") == 1, "a formula on it"
    assert "<td>−3</td>" in wide and 'id="fig-wide"' in wide
    written = (miniature / "_build" / "html").glob("*.html")
    assert not any("Traceback (most recent" in path.read_text() for path in written)


@pytest.mark.slow
def test_status_page_names_pages_and_runs(miniature, tmp_path):
    text = (miniature / "book" / "status.md").read_text()
    assert re.search(r"\{doc\}`wide` \| `wide=40` \| \d+\.\d \|  \| \w+ \| [-\d]+ \d\d:\d\d \| CPU, ", text)
    for folder in ("notebooks", "book"):
        (tmp_path / folder).mkdir(parents=True)
    store.write(tmp_path / "data" / "archive", "k", {"runs": pa.table({"key": ["k"], "record": ["{}"]})})
    build.write_status(tmp_path)
    assert "Trained models: 1 runs;" in (tmp_path / "book" / "status.md").read_text()


@pytest.mark.slow
def test_a_page_without_its_run_is_cut_short(miniature, capsys):
    assert build.review(miniature) == []
    assert "  gap    waiting: run imdb-lstm-tanh-999999999-" in capsys.readouterr().out
    page = (miniature / "_build" / "html" / "waiting.html").read_text()
    assert "Its text before the parameters." in page and "run imdb-lstm-tanh-999999999-" in page
    assert 'id="waiting-inside"' in page, "other pages may refer to it"
    assert "Never reached" not in page and "AbsentRun" not in page
    status = (miniature / "book" / "status.md").read_text()
    assert re.search(r"\{doc\}`waiting` \| `corpus='imdb'` \| [\d.]+ \| cut short \|", status)


@pytest.mark.slow
def test_the_students_edition_holds_no_solution_in_any_file(miniature, tmp_path):
    root = tmp_path / "book"
    shutil.copytree(miniature, root, ignore=shutil.ignore_patterns("html"))
    assert build.build(root, edition="student") == 0
    teacher, student = miniature / "_build" / "html", root / "_build" / "student"
    secret = re.compile(rb"What a good answer weighs|at least one solution ends|toy\.attention\.idxmax|idxmax")
    files = lambda folder: [path for path in folder.rglob("*") if path.is_file()]
    holds = lambda folder: {path.name for path in files(folder) if secret.search(path.read_bytes())}
    assert {"template.html", "template.ipynb"} <= holds(teacher) and not holds(student)
    page = (student / "template.html").read_text()
    assert "Which word of the toy" in page and re.search(r"Half of them would be \d+", page), "exercises, numbers"


def test_the_command_line_refuses_a_page_without_its_run(tmp_path):
    root = small_book(tmp_path)
    (root / "notebooks" / "waiting.md").write_text(WAITING)
    with pytest.raises(
        AttnError, match="^page waiting stopped in cell 3: AbsentRun: run imdb-lstm-tanh-999999999-.*attn_core run"
    ):
        running.execute("waiting", root=root)
    assert not (root / "_build").exists(), "nothing to look into"


def test_absent_and_damaged_runs_are_gaps_tried_again_and_damage_is_an_error_at_the_end(tmp_path, capsys, monkeypatch):
    root = small_book(
        tmp_path,
        waiting="from attn_core.results import AbsentRun\nraise AbsentRun('run x is absent')",
        damaged="from attn_core.errors import Damaged\nraise Damaged('runs/k.parquet is refused')",
    )
    (root / "data" / "archive" / "runs").mkdir(parents=True)
    upkeep.seal(root / "data" / "archive")
    (root / "data" / "archive" / "runs" / "k.parquet").write_text("{}")
    assert build.build(root, html=False) == 1
    out = capsys.readouterr().out
    assert "  gap    waiting: run x is absent\n" in out and "  gap    damaged: runs/k.parquet is refused\n" in out
    assert "  error  runs/k.parquet is no file of the arch" in out
    monkeypatch.setattr(build, "execute", lambda name, *_, **__: sources.executed(root, name))
    assert build.execute_pages(root) == [] and "2 pages, 2 to run, 0 unchanged" in capsys.readouterr().out
    digest = sha256(root / "data" / "archive" / "MANIFEST")
    assert f"`{digest[:32]}` `{digest[32:]}`" in (root / "book" / "status.md").read_text()


@pytest.mark.slow
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
    toc = {"format": "jb-book", "root": "index", "chapters": [{"file": name} for name in sources]}
    (root / "book" / "_toc.yml").write_text(yaml.safe_dump(toc))
    return root


@pytest.mark.faults
def test_a_flipped_byte_in_an_executed_page_runs_it_again(tmp_path, capsys, monkeypatch):
    """Outputs included: a number that was edited there does not get into the book."""
    monkeypatch.setattr(build, "common_stamp", lambda root: "fixed")
    drawn = "import matplotlib.pyplot as plt\nfrom IPython.display import HTML, display\nplt.plot([1, 2])\n"
    root = small_book(tmp_path, one=drawn + "display(HTML('<b>a</b>\\n<i>b</i>'))\nprint('accuracy .81\\nf1 .80')")
    assert build.execute_pages(root) == []
    path = sources.executed(root, "one")
    whole = path.read_text()
    outputs = [whole.index("accuracy .81") + 10, whole.index("image/png") + 300, whole.index("<b>a") + 3]
    cells = (whole.index('"cells"'), whole.index('"metadata": {\n  "attn"'))
    capsys.readouterr()
    for place in [*outputs, *random.Random(0).sample(range(*cells), 60)]:
        changed = chr(ord(whole[place]) ^ 1)
        path.write_text(whole[:place] + changed + whole[place + 1 :])
        same = sources.read_notebook(path) == nbformat.reads(whole, as_version=4)
        with monkeypatch.context() as patched:
            patched.setattr(build, "execute", lambda *_: path)
            with suppress(AttributeError):  # of a page that is none any more, nothing can be told
                build.execute_pages(root)
        assert f"{int(not same)} to run" in capsys.readouterr().out, whole[place - 20 : place + 20]
    path.write_text(whole)
    assert build.execute_pages(root) == [] and "0 to run" in capsys.readouterr().out


def test_unchanged_pages_are_skipped_and_changed_ones_run(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(build, "common_stamp", lambda root: "fixed")  # test_the_stamp_follows_… looks at it
    root = small_book(tmp_path, one="1", two="2")

    def printed():
        assert build.build(root, html=False) == 0
        return capsys.readouterr().out

    assert "2 pages, 2 to run, 0 unchanged" in printed()
    assert "2 pages, 0 to run, 2 unchanged" in printed()
    (root / "notebooks" / "two.md").write_text("# two\n\n" + MINIMAL.replace("CODE", "print(40 + 2)"))
    assert "2 pages, 1 to run, 1 unchanged" in printed()
    assert "42" in (root / "book" / "two.ipynb").read_text()


def test_failures_are_listed(tmp_path, capsys):
    """A page that raises, a printed traceback, a page missing here and there: each one line, exit status 1."""
    printed = "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    print(traceback.format_exc())"
    root = small_book(tmp_path, good="1", bad="1 / 0", stray=printed)
    toc = yaml.safe_load((root / "book" / "_toc.yml").read_text())
    toc["chapters"] = [{"file": "good", "sections": [{"file": "bad"}]}]
    (root / "book" / "_toc.yml").write_text(yaml.safe_dump(toc))
    assert build.build(root) == 1
    errors = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  error")]
    for expected in (
        "page bad stopped in cell 3: ZeroDivisionError: division by zero",
        "page stray shows a raw traceback",
        "notebooks/stray.md is not in book/_toc.yml",
    ):
        assert sum(expected in line for line in errors) == 1
    assert len(errors) == 3
    assert (root / "book" / "good.ipynb").is_file() and not (root / "book" / "bad.ipynb").exists()


def test_the_stamp_follows_data_and_archive(tmp_path):
    for name in ("runs", "traces"):
        (tmp_path / "data" / "archive" / name).mkdir(parents=True)
    for name in ("reported", "measured"):
        (tmp_path / "data" / name).mkdir()
    seen = [build.common_stamp(tmp_path)]
    for name, text in (
        ("data/reported/table.csv", "a"),
        ("data/archive/runs/sst.parquet", "{}"),
        ("data/archive/traces/k.parquet", "xx"),
        ("data/reported/table.csv", "b"),
        ("data/measured/seconds.csv", "1"),
    ):
        (tmp_path / name).write_text(text)
        seen.append(build.common_stamp(tmp_path))
    assert len(set(seen)) == len(seen)
    (tmp_path / "README.md").write_text("x")
    assert build.common_stamp(tmp_path) == seen[-1]


# ---- as readers see it -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.browser
def test_pages_fit_desktop_and_phone(miniature, chromium):
    found = devtools.survey(chromium, miniature / "_build" / "html", ["index", "template", "wide"])
    assert len(found) == 6
    for page, width, told, errors in found:
        assert told["takes"] <= width and not errors, (page, width, told, errors)


# ---- stopped ---------------------------------------------------------------------------------------------------------

STOPPED = """
import sys
from attn_build import build
from attn_cli import main

if __name__ == "__main__":
    whole, root = build.build, sys.argv.pop()
    build.build = lambda edition: whole(root, html=False)
    main()
"""


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("way", ["Ctrl-C twice", "SIGKILL", *["Ctrl-C", "SIGTERM"] * ("ATTN_FAULTS" in os.environ)])
def test_a_stopped_build_leaves_within_seconds_and_nobody_stays(tmp_path, way):
    """With every worker in the middle of a page, the signal sent as a terminal does: to all of the group."""
    code = "import pathlib, time\npathlib.Path('{}').touch()\ntime.sleep(300)"
    root = small_book(tmp_path / "book", **{name: code.format(tmp_path / f"{name}.begun") for name in "ab"})
    (tmp_path / "stopped.py").write_text(STOPPED)
    command = [sys.executable, tmp_path / "stopped.py", "book", root]
    with (tmp_path / "log").open("w") as log:
        book = subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path, start_new_session=True)
    told = lambda: (tmp_path / "log").read_text()
    try:
        until = time.monotonic() + 120
        while not list(tmp_path.glob("*.begun")):
            assert book.poll() is None and time.monotonic() < until, told()
            time.sleep(0.1)
        below = psutil.Process(book.pid).children(recursive=True)
        assert len([process for process in below if "ipykernel" in " ".join(process.cmdline())]) >= 1
        start = time.monotonic()
        if way.startswith("Ctrl-C"):
            os.killpg(book.pid, signal.SIGINT)
            if way.endswith("twice"):
                time.sleep(0.2)
                with suppress(ProcessLookupError):  # as quick as that
                    os.killpg(book.pid, signal.SIGINT)
        else:
            book.send_signal(getattr(signal, way))
        status = book.wait(timeout=20)
        _, alive = psutil.wait_procs(below, timeout=max(0.1, 5 - (time.monotonic() - start)))
        assert not alive, (alive, told())
        if way == "SIGKILL":
            return
        assert status == 130 and "Traceback" not in told(), told()
        assert told().splitlines()[1:] == ["stopped; what is done so far stays, the same command goes on from there"]
    finally:
        with suppress(ProcessLookupError):
            os.killpg(book.pid, signal.SIGKILL)


SPHINX = """
import signal, sys
from pathlib import Path
from attn_build import rendering

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it

wait = "import subprocess, time; subprocess.Popen(['sleep', '300']); open('{begun}', 'w'); time.sleep(300)"
rendering.PROCESS = rendering.PROCESS.partition("from jupyter_book")[0] + wait
rendering.sphinx(Path('{root}'))
"""


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT])
def test_sphinx_ends_with_the_build_that_started_it(tmp_path, way):
    """In the place of jupyter-book a process that waits, and its child."""
    begun = tmp_path / "begun"
    command = [sys.executable, "-c", SPHINX.format(begun=begun, root=tmp_path)]
    with (tmp_path / "log").open("w") as log:
        book = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        until = time.monotonic() + 120
        while not begun.exists():
            assert book.poll() is None and time.monotonic() < until, (tmp_path / "log").read_text()
            time.sleep(0.1)
        below = psutil.Process(book.pid).children(recursive=True)
        assert len(below) == 2 and below[0].pid == os.getpgid(below[0].pid), "a group of its own"
        book.send_signal(way)
        book.wait(timeout=20)
        assert not psutil.wait_procs(below, timeout=5)[1]
    finally:
        with suppress(ProcessLookupError):
            os.killpg(book.pid, signal.SIGKILL)
