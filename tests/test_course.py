"""The course in a box: a students' notebook runs and is graded by the real otter, and gives nothing away."""

import json
import os
import re
import shutil
import subprocess
import zipfile

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell
from test_edition import CHAIN, open_lines
from test_editions import GENERAL, KEYS, secrets, text_of
from test_exercises import PAGES, exercises

from attn_book.exercises import items_of, mistake, slips
from attn_book.verdict import CLAIMS
from attn_build import course
from attn_build.plain import html_of, outputs_of
from attn_build.running import PACKAGES
from attn_build.sources import executed, read_notebook
from attn_lab.runs import index
from attn_lab.runs.sentence import sentence_traces

OTTER = shutil.which("otter")
AT_HOME = os.environ | {"ATTN_ARCHIVE": str(ROOT / "data" / "archive")}
BUILT = ROOT / "_build" / "course-students.zip"


@pytest.fixture(scope="module")
def sessions():
    return course.sessions(ROOT)


@pytest.fixture(scope="module")
def students(sessions):
    """The students' notebook of every session."""
    return [course.notebook_of(session, ROOT) for session in sessions]


# ---- what is in it ---------------------------------------------------------------------------------------------------


def test_five_sessions_take_ninety_minutes_each(sessions):
    assert [sum(int(minutes) for minutes, _, _ in session.rows) for session in sessions] == [90] * 5


def test_what_a_plan_asks_is_plain_text(sessions):
    assert not [what for session in sessions for _, what, _ in session.rows if "{" in what]


def test_no_exercise_is_asked_twice(sessions):
    asked = [exercise.label for session in sessions for exercise in session.checked]
    assert len(asked) == len(set(asked))


def test_every_page_of_the_chain_has_an_exercise_that_is_checked():
    labels = {name: exercises(PAGES[name].read_text()) for name in CHAIN}
    assert not [name for name, own in labels.items() if own and not KEYS.keys() & set(own)]


def test_every_row_has_a_whole_note(sessions):
    for note in [note for session in sessions for note in session.notes]:
        assert [key for key in note if note[key]] == ["board", "expect", "says", "reply"]


def test_the_weights_on_the_first_board_are_those_of_the_front_page():
    board = yaml.safe_load((ROOT / "book" / "sessions.yml").read_text())[1]["rows"][0]["board"]
    for number in "123":
        sentence, row = re.findall(rf"^{number}  (.*)$", board, re.MULTILINE)
        words, _, traces = sentence_traces(sentence)
        numbers = dict(zip(words, traces.attention, strict=True)) | {"p": traces.p[0]}
        written = re.findall(r"(\w+) (0\.\d\d)", row)
        assert written == [(name, f"{numbers[name]:.2f}") for name, _ in written]
        assert written[0][0] == words[traces.attention.argmax()]
        assert written[-1][0] == "p"


PROSELESS = re.compile(
    r"^```(?:\{code|bash|python).*?^```$|\$\$.*?\$\$|<[^>]*>|\{.*?\}", re.MULTILINE | re.DOTALL
)
"""Code, formulas, HTML and roles."""


@pytest.mark.parametrize(
    "name", sorted(PAGES.keys() - {"index", "_template"})
)  # the front page is played with
def test_minutes_under_titles_are_those_of_words_code_and_figures(name):
    """200 words, 30 lines of visible code, three figures a minute; the record's tables are for looking up."""
    text = PAGES[name].read_text()
    minutes = re.search(r"attn-kicker[^\n]*?(\d+) minutes", text)[1]
    if name in CHAIN:
        words = re.findall(r"\w+", PROSELESS.sub(" ", text))
        pictures = re.findall(r"figures\.(?:show|widget)\(", text)
        counted = len(words) / 200 + len(open_lines(name)) / 30 + len(pictures) / 3
        assert int(minutes) == pytest.approx(counted, abs=2)


def findings():
    """What students are to find: the leads and guarded sentences of pages, mistakes, lines of solutions."""
    told = {why for entry in KEYS.values() for _, why in slips(entry, GENERAL)} | secrets()
    for name, path in PAGES.items():
        text = path.read_text()
        told |= {lead.strip() for lead in re.findall(r'attn-lead">(.*?)</p>', text)}
        told |= set(re.findall(r'page\.expect\(.*, "([^"]*)"\)', text))
        for output in outputs_of(read_notebook(executed(ROOT, name))):
            told |= set(re.findall(r'attn-fig-title">(.*?)</p>', html_of(output)))
    return {text for text in told if len(text) > 20}


def test_no_students_notebook_tells_a_finding(students):
    told = findings()
    assert len(told) > 250
    text = "\n".join(map(text_of, students))
    assert not [line for line in told if line in text]


def test_students_fill_in_the_answers(sessions, students):
    for session, notebook in zip(sessions, students, strict=True):
        filled = re.findall(r"^(\w+) = \.\.\.  # ", text_of(notebook), re.MULTILINE)
        assert filled == [exercise.variable for exercise in session.checked]


def test_solved_notebooks_hold_answers_and_solutions(sessions):
    text = "\n".join(text_of(course.notebook_of(session, ROOT, solved=True)) for session in sessions)
    for exercise in [exercise for session in sessions for exercise in session.checked]:
        assert f"{exercise.variable} = {exercise.entry['is']!r}" in text
        assert all(cell.source in text for cell in exercise.solution)
        assert exercise.solution


@pytest.mark.skipif(not BUILT.is_file(), reason="make course builds it")
def test_the_built_archive_opens_and_tells_no_finding():
    with zipfile.ZipFile(BUILT) as box:
        assert box.testzip() is None
        names = [name for name in box.namelist() if name.endswith((".ipynb", ".html", ".md"))]
        text = "\n".join(box.read(name).decode() for name in names)
    assert {f"session-{number}/session-{number}.ipynb" for number in range(1, 6)} < set(names)
    assert not [line for line in findings() if line in text]


def test_the_packages_that_students_install_hold_no_finding():
    told = findings() | {claim["says"] for claim in CLAIMS.values()}
    files = [path for package in PACKAGES for path in package.rglob("*.*") if path.suffix != ".pyc"]
    text = "\n".join(path.read_text() for path in files)
    assert not [line for line in told if line in text]


# ---- it runs ---------------------------------------------------------------------------------------------------------

WITHOUT = ("torch", "spacy", "gensim", "distributed")


@pytest.mark.slow
def test_students_notebooks_run_from_top_to_bottom(students, tmp_path):
    """In one kernel, cleared between them, outside the repository; what trains a network cannot be imported there."""
    for name in WITHOUT:
        (tmp_path / f"{name}.py").write_text(
            f"raise ModuleNotFoundError('{name} is not of the reading extra')\n"
        )
    whole = nbformat.v4.new_notebook()
    for notebook in students:
        whole.cells += [new_code_cell("%reset -f"), *notebook.cells]
    client = NotebookClient(whole, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute(env=AT_HOME | {"IPYTHONDIR": str(tmp_path)})
    printed = "".join(output.get("text", "") for output in outputs_of(whole))
    assert printed.count("nothing is entered") == text_of(whole).count(" = ...  # ")
    assert "not of the reading extra" not in printed


def wrong_of(entry):
    """A wrong answer that is told, and what is told of it."""
    wrong = next((parts for parts, _ in slips(entry, GENERAL)), "no such word")
    return wrong, mistake(entry, items_of(wrong), GENERAL)


@pytest.mark.slow
@pytest.mark.skipif(OTTER is None, reason="no otter; pip install otter-grader, beside what reading needs")
@pytest.mark.parametrize("right", [True, False])
def test_the_real_otter_gives_full_points_and_names_mistakes(sessions, tmp_path, right):
    session = sessions[1]
    course.write_session(session, ROOT, tmp_path / "students", tmp_path / "instructors")
    text = (tmp_path / "students" / f"{session.name}.ipynb").read_text()
    entries = {exercise.variable: exercise.entry for exercise in session.checked}
    for variable, entry in entries.items():
        answer = entry["is"] if right else wrong_of(entry)[0]
        text = text.replace(f"{variable} = ...", json.dumps(f"{variable} = {answer!r}")[1:-1])
    (tmp_path / "mine.ipynb").write_text(text)
    command = [OTTER, "check", "mine.ipynb", "-t", tmp_path / "students" / "tests"]
    done = subprocess.run(command, cwd=tmp_path, env=AT_HOME, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    assert ("All tests passed" in told) == right
    assert right or not [why for _, why in map(wrong_of, entries.values()) if why not in told]


# ---- projects --------------------------------------------------------------------------------------------------------

PROJECTS = ROOT / "book" / "projects"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_model_report_prints_what_it_shows(number, monkeypatch, capsys):
    monkeypatch.chdir(PROJECTS)
    brief = (PROJECTS / f"project-{number}.md").read_text()
    assert "| good | passes | not yet |" in brief
    assert "**Question.**" in brief
    assert "generated" in brief, "it says which data are"
    report = (PROJECTS / f"project-{number}-report.md").read_text()
    names = {}
    for code, shown in re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)\n```", report, re.DOTALL):
        exec(code, names)
        assert capsys.readouterr().out.strip() == shown.strip()


def test_the_first_projects_data_are_the_archives():
    rows = pd.read_csv(PROJECTS / "project-1.csv").set_index(["corpus", "seed", "attention"])
    runs = index.runs(corpus=list(rows.index.unique("corpus")), encoder="lstm", attention=["tanh", "uniform"])
    stored = runs.query("selection == 'dev' and source == 'archive'").set_index(rows.index.names)
    assert rows.index.unique("seed").size == 5
    assert len(rows) == np.prod(rows.index.levshape), "of every set and attention"
    assert np.allclose(rows[["f1", "auc"]], stored.loc[rows.index, ["f1_1", "auc"]], atol=1e-4)
