"""Killed at any moment, and all at once: commands end equal, leave no process behind, and no file after the next run.

`make test-faults` alone runs these: ten kills of each command.
"""

import io
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import pandas as pd
import psutil
import pytest
from conftest import HTML, ROOT
from test_book import small_book
from tiny_runs import grid

from attn_build.plain import outputs_of
from attn_build.sources import read_notebook
from attn_lab.runs import store, upkeep

KILLS = int(os.environ.get("ATTN_KILLS", "10"))
ORPHANS_SECONDS = 4
"""On a machine that has a core for every process; else so many times longer."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.faults,
    pytest.mark.skipif("ATTN_FAULTS" not in os.environ, reason="make test-faults"),
]

LIBRARIES = ("torchinductor", "pip-", "org.chromium", ".org.chromium")
"""How the names of what libraries leave in the folder of temporary files begin."""

RESULTS = ("accuracy", "auc", "n_test", "fingerprints")
LINES = {
    "sweep": "sweep grid.yml --jobs 2",
    "pack": "sweep grid.yml --pack",
    "execute": "execute _template --output page.ipynb",
    "study": "study mine.csv --encoder average --epochs 1 --output out",
}
SCRIPTS = {
    "book": "import os, sys; from attn_build.build import build; sys.exit(build(os.getcwd(), html=False))",
    "kit": "from pathlib import Path; from attn_build.slides import write_kit; write_kit(Path.cwd(), Path.cwd())",
    "course": "from pathlib import Path; from attn_build.course import publish, write_course; "
    "from attn_build.running import sweep_away; "  # as the book does, which `make course` builds before
    "root = Path.cwd(); sweep_away(root); publish(root, write_course(root))",
}


def runs_of(folder: Path) -> dict:
    """Key -> scores and numbers of every run of a store, all of them checked."""
    assert not store.is_archive(folder) or not upkeep.faults(folder)
    stored = {}
    for key in store.keys(folder):
        upkeep.verify(folder, key)
        result = store.read(folder, key)
        numbers = result.numbers.sort_values(list(store.NAMES)).round(9).to_csv(index=False)
        stored[key] = [[result.record.get(name) for name in RESULTS], numbers]
    return stored


def members_of(path: Path | io.BytesIO) -> dict:
    """Name -> content of the files in an archive, and of those in archives in it; None of PDFs, which hold the time."""
    contents: dict = {}
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            contents[name] = None if name.endswith(".pdf") else archive.read(name)
            if name.endswith((".zip", ".whl")):
                contents[name] = members_of(io.BytesIO(contents[name]))
    return contents


def content_of(path: Path):
    """What is compared of a file: code and outputs of a notebook, members of an archive, else its bytes."""
    if path.suffix == ".ipynb":
        notebook = read_notebook(path)
        return [cell.source for cell in notebook.cells], outputs_of(notebook)
    return members_of(path) if path.suffix == ".zip" else path.read_bytes()


def unneeded(folder: str, names: list[str]) -> set[str]:
    """What no wheel needs of a folder of the clone."""
    skipped = {"_build", "build", "tests", "__pycache__"} | ({"data"} if Path(folder) == ROOT else set())
    return {name for name in names if name in skipped or name.startswith(".") or name.endswith(".egg-info")}


class Command:
    """A command in a place of its own: what it finds there, how it is called, and what it leaves."""

    def __init__(self, place: Path, kind: str) -> None:
        self.place = place / kind
        self.place.mkdir()
        self.kind = kind
        self.temporary = Path(tempfile.mkdtemp(prefix="kills"))  # a short name: Chromium puts sockets there
        own = {"ATTN_CACHE": self.place / "cache", "TMPDIR": self.temporary, "TRIAL": self.place}
        if kind in ("sweep", "pack"):
            grid(self.place, "[0, 1, 2, 3]")
        if kind == "pack":
            own["ATTN_ARCHIVE"] = self.place / "archive"
            own["ATTN_ARCHIVE"].mkdir()
        if kind == "study":
            texts = [f"a {'fine' if n % 2 else 'bad'} film, says number {n} of them" for n in range(240)]
            pd.DataFrame({"text": texts, "label": [0, 1] * 120}).to_csv(self.place / "mine.csv", index=False)
        if kind == "book":
            small_book(self.place, **dict.fromkeys(("one", "two", "three"), "print(40 + 2)"))
        if kind in ("kit", "course"):
            if not HTML.is_dir():
                pytest.skip("no built book; `make book` writes it")
            shutil.copytree(HTML, self.place / "_build" / "html")
            shutil.copytree(ROOT / "notebooks", self.place / "notebooks")
        if kind == "course":
            shutil.copytree(ROOT, self.place, ignore=unneeded, dirs_exist_ok=True)
            removed = self.place / "build" / "lib" / "attn_book" / "removed.py"  # of an earlier wheel
            removed.parent.mkdir(parents=True)
            removed.write_text("ANSWERS = {}\n")
        self.environment = os.environ | {name: str(path) for name, path in own.items()}

    def start(self) -> subprocess.Popen:
        script = SCRIPTS.get(self.kind)
        words = ["-c", script] if script else ["-m", "attn_core", *LINES[self.kind].split()]
        options = {"cwd": self.place, "env": self.environment, "start_new_session": True}
        with (self.place / "log").open("w") as log:
            return subprocess.Popen([sys.executable, *words], stdout=log, stderr=log, **options)

    def finish(self) -> None:
        status = self.start().wait(timeout=900)
        assert status == 0, (self.place / "log").read_text()[-2000:]

    def below(self) -> list[psutil.Process]:
        """The processes that were started here, whoever is their parent now."""
        processes = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                ours = process.environ().get("TRIAL") == str(self.place)
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    processes.append(process)
        return processes

    def result(self) -> dict:
        """Pages, tables and archives by their paths, and all runs."""
        paths = {path.relative_to(self.place): path for path in self.place.rglob("*")}
        left = {
            str(name): content_of(path)
            for name, path in paths.items()
            if path.suffix in (".ipynb", ".html", ".csv", ".zip")
            and name.parts[0] not in ("cache", "archive")
        }
        return left | runs_of(self.place / "cache") | runs_of(self.place / "archive")

    def left(self) -> list[Path]:
        """What is half-written: none of it is left after a whole run."""
        temporary = [path for path in self.temporary.iterdir() if not path.name.startswith(LIBRARIES)]
        return temporary + [path for path in self.place.rglob(".*@*") if not path.name.endswith(".lock")]


@pytest.mark.parametrize("kind", [*LINES, *SCRIPTS])
def test_sigkill_at_any_moment(kind, tmp_path):
    """Ten kills at random moments of the time that a whole run takes; then a whole one, equal to one that never was."""
    whole = Command(tmp_path, kind)
    before = whole.result()
    start = time.monotonic()
    whole.finish()
    seconds = time.monotonic() - start
    right = whole.result()
    assert kind == "kit" or right.keys() > before.keys()  # the kit stands in the built book
    if kind == "course":
        students = right["_build/html/teach/course-students.zip"]
        (wheel,) = [content for name, content in students.items() if name.endswith(".whl")]
        assert "attn_book/exercises.py" in wheel
        assert "attn_book/removed.py" not in wheel
    whole.place.rename(tmp_path / "whole")
    killed = Command(tmp_path, kind)
    rng = random.Random(f"{kind}{os.environ.get('ATTN_SEED', '')}")
    for _ in range(KILLS):
        process = killed.start()
        time.sleep(seconds * rng.uniform(0.05, 0.9))
        for child in killed.below():
            listening = [each for each in child.net_connections("inet") if each.status == psutil.CONN_LISTEN]
            assert kind != "sweep" or not listening, "a port is open"
        process.send_signal(signal.SIGKILL)
        process.wait()
        end = time.monotonic() + ORPHANS_SECONDS * max(1, os.getloadavg()[0] / os.cpu_count())
        while (orphans := killed.below()) and time.monotonic() < end:
            time.sleep(0.1)
        assert not orphans, orphans
    killed.finish()
    assert killed.result() == right
    assert not killed.left()
    for command in (whole, killed):
        shutil.rmtree(command.temporary)


def test_two_sweeps_a_book_and_a_page_at_once(tmp_path):
    """On one checkout; the sweeps share a cache."""
    commands = [Command(tmp_path, kind) for kind in ("sweep", "book", "execute")]
    alone = tmp_path / "alone"
    alone.mkdir()
    running = [command.start() for command in (commands[0], *commands)]
    assert [process.wait(timeout=900) for process in running] == [0] * 4
    for command in commands:
        reference = Command(alone, command.kind)
        reference.finish()
        assert command.result() == reference.result()
        assert not command.left()
        shutil.rmtree(command.temporary)
        shutil.rmtree(reference.temporary)
    assert len(runs_of(commands[0].place / "cache")) == 4
