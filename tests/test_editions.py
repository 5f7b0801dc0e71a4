"""The students' edition holds no solution, and `check` tells students what kind of mistake theirs is."""

import doctest
import re

import pytest
from conftest import ROOT, no_names_without_a_meaning, refused
from test_exercises import PAGES, exercises, solutions

from attn_book import check
from attn_book.exercises import answers_of
from attn_build import sources
from attn_build.course import Exercise, otter_test
from attn_build.plain import glued
from attn_build.student import student

ANSWERS = answers_of(ROOT / "book")
KEYS = {label: entry for label, entry in ANSWERS.items() if label != "any"}
GENERAL = ANSWERS["any"]


def secrets() -> set[str]:
    """Lines of all solutions that stand nowhere else."""
    whole = [path.read_text() for path in PAGES.values()]
    solved = [solution for text in whole for solution in solutions(text).values()]
    given = "\n".join(whole)
    for solution in solved:
        given = given.replace(solution, "")
    told = {line.strip() for solution in solved for line in solution.splitlines()}
    return {line for line in told if len(line) > 20 and line not in given and "import" not in line}


@pytest.fixture(scope="module")
def pages():
    """(name, its students' edition)."""
    return [(name, student(sources.convert(name, ROOT), ANSWERS)) for name in sources.pages(ROOT)]


def text_of(notebook) -> str:
    return "\n".join(cell.source for cell in notebook.cells)


def test_every_page_loses_its_solutions(pages):
    hidden = secrets()
    assert len(hidden) > 200
    for name, cut in pages:
        text = text_of(cut)
        assert not [line for line in {*hidden, "```{solution", "attn-instructor"} if line in text], name


def test_exercises_stay_and_say_how_to_ask(pages):
    for name, cut in pages:
        text, labels = text_of(cut), exercises(PAGES[name].read_text())
        assert exercises(text) == labels, name
        assert re.findall(r'check\("(.*?)"', text) == [label for label in labels if label in KEYS], name


def test_what_follows_the_last_solution_stays(pages):
    for name, cut in pages:
        last = glued(PAGES[name].read_text().rstrip().splitlines()[-1], {})
        assert last == "```" or last in text_of(cut), name


def test_no_code_needs_what_a_solution_made(pages, tmp_path):
    """So students can run what they download."""
    for name, cut in pages:
        code = [cell.source for cell in cut.cells if cell.cell_type == "code"]
        (tmp_path / f"{name.replace('/', '-')}.py").write_text("\n".join(code))
    no_names_without_a_meaning(tmp_path)


TOLD = [
    ("notation-ex-jsd", [0.693, 0.2158, 0.0], "Right."),
    ("read-ex-interval", (0.8, 0.84), "Right."),
    ("jain-41-ex-hand", 0.667, "Right."),
    ("jain-41-ex-model", ["LSTM", "cnn", "average"], "Right."),
    ("jain-421-ex-bound", 0.3799, "Right."),
    ("serrano-41-ex-odds", {2, 3}, "Right."),
    ("serrano-ex-smallest", [-0.5], "still negative"),
    ("notation-ex-jsd", [0.216, 0.693, 0], "another order"),
    ("read-ex-interval", 0.82, "another number of parts"),
    ("jain-41-ex-hand", "the", "another answer"),
    ("serrano-41-ex-odds", {1, 2, 3}, "another number of parts"),
    ("jain-421-ex-bound", -0.38, "the sign"),
    ("jain-421-ex-bound", 38, "per cent"),
    ("jain-421-ex-bound", 0.76, "twice"),
    ("jain-421-ex-bound", 0.548, "bits"),
    ("jain-421-ex-bound", 0.39, "near"),
    ("serrano-ex-smallest", ..., "nothing is entered"),
    *(
        ("jain-prelim-ex-equal", odd, "another")
        for odd in (float("nan"), float("inf"), 10**400, [1, [2, 3]], [[1, 2], {"a": 3}], None)
    ),
]
"""An answer in each form that one may type, right or wrong, and what is told of it."""


@pytest.mark.parametrize("label, answer, told", TOLD)
def test_an_answer_is_right_or_told_what_is_wrong(label, answer, told, capsys):
    assert check(label, answer) == (told == "Right.")
    assert re.fullmatch(
        told if told == "Right." else f"Not yet: .*{told}.*", capsys.readouterr().out.rstrip()
    )


def test_brackets_may_be_left_out():
    assert check("serrano-ex-smallest", -0.5, -0.4)


def test_a_misspelt_label_is_refused():
    with refused("did you mean 'jain-41-ex-hand'"):
        check("jain-41-ex-hnd", "film")


def test_every_answer_is_asserted_by_its_solution():
    solved = {label: text for path in PAGES.values() for label, text in solutions(path.read_text()).items()}
    asserted = [label for label in solved if re.search(rf'assert .*check(?:ed)?\("{label}"', solved[label])]
    assert set(asserted) == KEYS.keys()


@pytest.mark.parametrize("label", KEYS)
def test_otters_test_accepts_the_answer_and_no_other(label):
    """As otter runs it; `test_course` has the real one."""
    exercise = Exercise(label, "", "", KEYS[label])
    names = {}
    exec(otter_test(exercise, GENERAL), names)
    code = names["test"]["suites"][0]["cases"][0]["code"]

    def failed(answer):
        test = doctest.DocTestParser().get_doctest(code, {exercise.variable: answer}, label, None, 0)
        return doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None).failed

    assert failed(KEYS[label]["is"]) == 0
    assert failed("no answer") == 1
