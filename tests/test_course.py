"""The course in a box: a students' notebook runs and is graded by the real otter, and gives nothing away."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from nbclient import NotebookClient
from test_edition import CHAIN
from test_editions import ANSWERS, secrets
from test_exercises import PAGES, exercises

from attn_book.exercises import check, items_of, mistake, slips
from attn_book.verdict import CLAIMS
from attn_build import course, sealed, slicing
from attn_build.running import PACKAGES
from attn_build.sources import executed, read_notebook
from attn_data.sentence import sentence_traces

ROOT = Path(__file__).parents[1]
OTTER = shutil.which("otter")
GENERAL = ANSWERS["any"]
KEYS = {label: entry for label, entry in ANSWERS.items() if label != "any"}


@pytest.fixture(scope="module")
def sessions():
    return course.sessions(ROOT)


@pytest.fixture(scope="module")
def students(sessions):
    """Session -> its students' notebook."""
    return {session.number: course.notebook_of(session, ROOT) for session in sessions}


def source(notebook):
    return "\n".join(cell.source for cell in notebook.cells)


# ---- what is in it ---------------------------------------------------------------------------------------------------


def test_forty_exercises_are_checked_one_on_every_page_of_the_chain(sessions):
    assert len(KEYS) >= 40
    labels = {name: exercises(PAGES[name].read_text(encoding="utf-8")) for name in CHAIN}
    assert not [name for name, own in labels.items() if own and not KEYS.keys() & set(own)]
    asked = [exercise.label for session in sessions for exercise in session.checked]
    assert len(asked) == len(set(asked)) >= 40


def test_ninety_minutes_each_and_a_note_for_every_row(sessions):
    assert [session.number for session in sessions] == [1, 2, 3, 4, 5]
    for session in sessions:
        assert sum(int(minutes) for minutes, _, _ in session.rows) == 90
        assert all(note.keys() == {"board", "expect", "says", "reply"} and all(note.values()) for note in session.notes)


def test_the_weights_on_the_first_board_are_those_of_the_front_page():
    board = yaml.safe_load((ROOT / "book" / "sessions.yml").read_text(encoding="utf-8"))[1]["rows"][0]["board"]
    for number in "123":
        sentence, row = re.findall(rf"^{number}  (.*)$", board, re.MULTILINE)
        words, _, traces = sentence_traces(sentence)
        weight = dict(zip(words, traces.attention, strict=True))
        written = re.findall(r"(\w+) (0\.\d\d)", row)
        p = written.pop()
        assert p == ("p", f"{traces.p[0]:.2f}") and written == [(word, f"{weight[word]:.2f}") for word, _ in written]
        assert max(weight, key=weight.get) == written[0][0]


def test_minutes_under_titles_are_those_of_words_code_and_figures():
    """200 words, 30 lines of visible code, three figures a minute; the record's tables are for looking up."""
    from test_edition import lines, parts

    for name, path in PAGES.items():
        text = path.read_text(encoding="utf-8")
        if name in ("index", "_template"):  # the front page is played with
            continue
        minutes = re.search(r"attn-kicker[^\n]*?(\d+) minutes", text)
        assert minutes, name
        if name in CHAIN:
            prose, visible, _ = parts(name)
            pictures = text.count("figures.show(") + text.count("figures.widget(")
            counted = len(re.findall(r"\w+", prose)) / 200 + len(lines(visible)) / 30 + pictures / 3
            assert abs(int(minutes[1]) - counted) <= 2, (name, counted)


def findings():
    """What students are to find: the leads and guarded sentences of pages, mistakes, lines of solutions."""
    told = {why for entry in KEYS.values() for _, why in slips(entry, GENERAL)} | secrets()
    for name, path in PAGES.items():
        text = path.read_text(encoding="utf-8")
        told |= {lead.strip() for lead in re.findall(r'attn-lead">(.*?)</p>', text)}
        told |= set(re.findall(r'page\.expect\(.*, "([^"]*)"\)', text))
        for cell in read_notebook(executed(ROOT, name)).cells:
            for output in cell.get("outputs", []):
                told |= set(re.findall(r'attn-fig-title">(.*?)</p>', output.get("data", {}).get("text/html", "")))
    return {text for text in told if len(text) > 20}


def test_nothing_in_the_students_half_gives_an_answer_away(sessions, students):
    told = findings()
    assert len(told) > 250
    for session in sessions:
        text = source(students[session.number])
        assert not [line for line in told if line in text], session.name
        for exercise in session.checked:
            answer = KEYS[exercise.label]["is"]
            assert f"{exercise.variable} = ..." in text and f"{exercise.variable} = {answer!r}" not in text
            assert len(repr(answer)) < 5 or repr(answer) not in text, f"{exercise.label}: in another exercise"
    zipped = ROOT / "_build" / "course" / "students"
    for path in zipped.rglob("*.*") if zipped.is_dir() else ():
        if path.suffix in (".ipynb", ".html", ".md", ".py", ".csv"):
            text = path.read_text(encoding="utf-8")
            assert not [line for line in told if line in text], path
            assert "attn-fig-title" not in text and "answers.yml" not in text


def test_the_packages_that_students_install_hold_no_finding():
    told = findings() | {claim["says"] for claim in CLAIMS.values()}
    for package in PACKAGES:
        for path in package.rglob("*.*"):
            text = "" if path.suffix == ".pyc" else path.read_text(encoding="utf-8")
            assert not [line for line in told if line in text], path


def test_what_is_sealed_is_read_by_who_enters_it_alone(capsys):
    word = sealed.seal(KEYS, GENERAL)
    check = sealed.checker(word)
    stored = json.dumps(check.args[0], ensure_ascii=False)
    assert not [why for entry in KEYS.values() for _, why in slips(entry, GENERAL) if why in stored]
    for label, entry in KEYS.items():
        assert check(label, entry["is"]) and capsys.readouterr().out == "Right.\n"
        assert not check(label, ...) and "nothing is entered" in capsys.readouterr().out
        for wrong, _ in slips(entry, GENERAL):
            told = mistake(entry, wrong, GENERAL)
            assert check(label, *wrong) == (not told)
            assert told in capsys.readouterr().out or mistake({**entry, "within": 0.001}, wrong, GENERAL) != told
    for wrong, kind in (([0.216, 0.693, 0], "order"), (0.693, "number of parts"), ([1, 2, 3], "another answer")):
        assert not check("notation-ex-jsd", wrong) and kind in capsys.readouterr().out


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), 10**400, [1, [2, 3]], [[1, 2], {"a": 3}], None])
def test_an_answer_that_is_no_number_is_wrong_and_no_traceback(answer, capsys):
    label = "jain-prelim-ex-equal"
    behind_seal = sealed.checker(sealed.seal({label: KEYS[label]}, GENERAL))
    assert not behind_seal(label, answer) and not check(label, answer)
    assert capsys.readouterr().out.count("Not yet: ") == 2


def test_a_slice_holds_what_a_cell_needs():
    cells = [
        "import numpy as np\nx = 1\ny = 2",
        "rows = []\nfor i in range(3):\n    rows.append(i * x)\nnp.seterr()",
        "def f(a):\n    y = a\n    return y + x\ntable = {}\ntable['k'] = y\ny += 1\nz = 5",
    ]
    assert slicing.needed("sum(rows)", cells).splitlines()[:2] == ["x = 1", "rows = []"]
    assert "table" not in slicing.needed("f(2)", cells) and "y = 2" not in slicing.needed("f(2)", cells)
    assert slicing.needed("table", cells) == "y = 2\ntable = {}\ntable['k'] = y"
    assert slicing.needed("np.ones(1)", cells) == "import numpy as np"


# ---- it runs ---------------------------------------------------------------------------------------------------------

WITHOUT = ("torch", "spacy", "gensim", "distributed")


def run(notebook, folder):
    """Execute in a folder outside the repository, in which what trains a network cannot be imported."""
    for name in WITHOUT:
        (folder / f"{name}.py").write_text(f"raise ModuleNotFoundError('{name} is not of the reading extra')\n")
    environment = {**os.environ, "ATTN_ARCHIVE": str(ROOT / "data" / "archive"), "IPYTHONDIR": str(folder)}
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute(env=environment)
    return [output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 6))
def test_a_students_notebook_runs_from_top_to_bottom(students, number, tmp_path):
    printed = "".join(run(nbformat.from_dict(students[number]), tmp_path))
    asked = source(students[number]).count(" = ...  # ")
    assert asked and printed.count("nothing is entered") == asked
    assert "not of the reading extra" not in printed


def filled(notebook, answers):
    """A copy in which lines to fill in hold these answers."""
    copy = nbformat.from_dict(json.loads(json.dumps(notebook)))
    for cell in copy.cells:
        name = cell.source.partition(" = ...")[0]
        if cell.cell_type == "code" and name in answers:
            cell.source = f"{name} = {answers[name]!r}"
    return copy


def answers_and_mistakes(session):
    """Right answers of a session by variable, and wrong ones with what is wrong with them."""
    right, wrong, kinds = {}, {}, {}
    for exercise in session.checked:
        entry = KEYS[exercise.label]
        right[exercise.variable] = entry["is"]
        wrong[exercise.variable] = next((parts for parts, _ in slips(entry, GENERAL)), "no such word")
        kinds[exercise.variable] = mistake(entry, items_of(wrong[exercise.variable]), GENERAL) or "other"
    return right, wrong, kinds


@pytest.mark.slow
@pytest.mark.skipif(OTTER is None, reason="no otter; pip install otter-grader, beside what reading needs")
@pytest.mark.parametrize("keys", ["students", "instructors"])
def test_the_real_otter_gives_full_points_and_names_mistakes(sessions, tmp_path, keys):
    session = sessions[1]
    course.write_session(session, ROOT, tmp_path / "students", tmp_path / "instructors")
    folder = {"students": tmp_path / "students", "instructors": tmp_path / "instructors" / "otter" / session.name}[keys]
    notebook = nbformat.read(tmp_path / "students" / f"{session.name}.ipynb", as_version=4)
    right, wrong, kinds = answers_and_mistakes(session)
    environment = {**os.environ, "ATTN_ARCHIVE": str(ROOT / "data" / "archive")}
    options = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "timeout": 300}
    for answers in (right, wrong):
        nbformat.write(filled(notebook, answers), tmp_path / "mine.ipynb")
        done = subprocess.run([OTTER, "check", "mine.ipynb", "-t", folder / "tests"], **options, check=False)
        told = done.stdout + done.stderr
        if answers is right:
            assert "All tests passed" in told, told
        else:
            assert not [name for name, kind in kinds.items() if kind not in told], told
    if keys == "students":
        return
    subprocess.run(
        [OTTER, "generate", "-t", folder / "tests", "-o", tmp_path / "autograder.zip"], **options, check=True
    )
    points = sum(exercise.points for exercise in session.checked)
    for answers, expected in ((right, points), (wrong, 0)):
        nbformat.write(filled(notebook, answers), tmp_path / "mine.ipynb")
        command = [OTTER, "run", "mine.ipynb", "-a", tmp_path / "autograder.zip", "-o", tmp_path, "--no-logo"]
        subprocess.run(command, **options, check=True)
        results = json.loads((tmp_path / "results.json").read_text())["tests"]
        assert sum(test.get("score", 0) for test in results) == expected


def test_nbgraders_source_becomes_the_students_notebook(sessions, students):
    """As its `generate_assignment` cuts: solutions and hidden tests."""
    for session in sessions:
        notebook = course.notebook_of(session, ROOT, "nbgrader")
        graded = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
        assert sum(cell.metadata.nbgrader.points for cell in graded) == sum(one.points for one in session.checked)
        for cell, own in zip(notebook.cells, students[session.number].cells, strict=True):
            text = re.sub(r"\n### BEGIN HIDDEN TESTS.*?### END HIDDEN TESTS", "", cell.source, flags=re.DOTALL)
            is_answer = "### BEGIN SOLUTION" in text
            assert own.source.endswith(text) or is_answer and own.source.partition(" = ")[2].startswith("..."), text


# ---- projects --------------------------------------------------------------------------------------------------------

PROJECTS = ROOT / "book" / "projects"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_model_report_prints_what_it_shows(number, monkeypatch, capsys):
    monkeypatch.chdir(PROJECTS)
    brief = (PROJECTS / f"project-{number}.md").read_text(encoding="utf-8")
    assert "| good | passes | not yet |" in brief and "**Question.**" in brief
    assert "generated" in brief, "it says which data are"
    report = (PROJECTS / f"project-{number}-report.md").read_text(encoding="utf-8")
    names = {}
    for code, shown in re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)\n```", report, re.DOTALL):
        exec(code, names)
        assert capsys.readouterr().out.strip() == shown.strip()


def test_the_first_projects_data_are_the_archives():
    from attn_book.fasttext import fasttext
    from attn_core import index

    rows = pd.read_csv(PROJECTS / "project-1.csv")
    same = {"encoder": "lstm", "selection": "dev", "source": "archive"}
    runs = fasttext(index.runs, corpus=list(rows.corpus.unique()), attention=["tanh", "uniform"], **same)
    merged = rows.merge(runs, on=["corpus", "seed", "attention"], suffixes=("", "_stored"))
    assert len(merged) == len(rows) and np.allclose(merged.f1, merged.f1_1, atol=1e-4)
    assert np.allclose(merged.auc, merged.auc_stored, atol=1e-4)
