"""The students' edition holds no solution, and `check` tells students what kind of mistake theirs is."""

import ast
import doctest
import re
from pathlib import Path

import pytest
from test_exercises import PAGES, exercises, solutions

from attn_book import check
from attn_book.exercises import answers_of
from attn_build import TEMPLATES, sources
from attn_build.course import Exercise
from attn_build.plain import glued
from attn_build.sealed import checker, seal
from attn_build.student import student
from attn_core.errors import AttnError

ROOT = Path(__file__).parents[1]
ANSWERS = answers_of(ROOT / "book")


def secrets() -> set[str]:
    """Lines of all solutions that stand nowhere else."""
    told, open_lines = set(), set()
    for path in PAGES.values():
        text = path.read_text(encoding="utf-8")
        own = list(solutions(text).values())
        for solution in own:
            told |= {line.strip() for line in solution.splitlines()}
            text = text.replace(solution, "")
        open_lines |= {line.strip() for line in text.splitlines()}
    given = "\n".join(open_lines)
    return {line for line in told if len(line) > 20 and line not in given and "import" not in line}


def test_every_page_loses_its_solutions_and_nothing_else():
    hidden = secrets()
    assert len(hidden) > 200
    for name in sources.pages(ROOT):
        notebook = student(sources.convert(name, ROOT), ANSWERS)
        text, source = "\n".join(cell.source for cell in notebook.cells), PAGES[name].read_text(encoding="utf-8")
        assert not [line for line in hidden if line in text] and "```{solution" not in text, name
        assert exercises(text) == exercises(source) and "attn-instructor" not in text
        assert [label for label in exercises(source) if f'check("{label}"' in text] == [
            label for label in exercises(source) if label in ANSWERS
        ]
        last = glued(source.rstrip().splitlines()[-1], {})
        assert last == "```" or last in text, "what follows the last solution stays"


@pytest.mark.parametrize("name", sources.pages(ROOT))
def test_no_code_needs_what_a_solution_made(name):
    """So students can run what they download."""
    inside, made, outside = False, set(), set()
    for cell in sources.convert(name, ROOT).cells:
        if cell.cell_type == "markdown":
            marks = re.findall(r"^```\{solution-(start|end)\}", cell.source, re.MULTILINE)
            inside = marks[-1] == "start" if marks else inside
            continue
        names = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name)]
        stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        if inside:
            made |= stored - outside
        else:
            outside |= stored
            assert not {node.id for node in names} & made - outside, cell.source


RIGHT = {
    "data-ex-filter": [6, 12],
    "notation-ex-jsd": [0.693, 0.2158, 0.0],
    "read-ex-interval": (0.8, 0.84),
    "jain-41-ex-hand": "Film",
    "jain-421-ex-bound": 0.3799,
    "jain-422-ex-peaked": 5,
    "one-word-ex-locked": 0.5,
    "jain-6-ex-refuted": ["undecided", "holds", "differs"],
    "serrano-41-ex-odds": {2, 3},
    "wiegreffe-1-ex-free": 1,
    "wiegreffe-32-ex-seeds": 7,
    "wiegreffe-33-ex-median": [0.065, 0.1275, 0.55],
    "wiegreffe-6-ex-count": 5 / 16,
}
WRONG = {
    "data-ex-filter": ([6, 12, 30, 30], [12, 6], 6),
    "notation-ex-jsd": ([1, 0.311, 0], [0.216, 0.693, 0], 0.693),
    "read-ex-interval": ([0.806, 0.834], [80, 84], 0.82),
    "jain-41-ex-hand": ("was", 2, "the"),
    "jain-421-ex-bound": (-0.38, 1.6, 0.39),
    "jain-422-ex-peaked": (8, 11, -5),
    "one-word-ex-locked": (-0.5, 1, 0.51),
    "jain-6-ex-refuted": (["holds", "undecided", "differs"], ["holds"] * 3, "holds"),
    "serrano-41-ex-odds": (1, [1, 2], {1, 2, 3}),
    "wiegreffe-1-ex-free": (2, 3, "one"),
    "wiegreffe-32-ex-seeds": (4, 6, 8),
    "wiegreffe-33-ex-median": ([0.06, 0.1275, 0.55], [0.55, 0.065, 0.1275], 0.065),
    "wiegreffe-6-ex-count": (0.25, 31.25, 0.0625),
}


@pytest.mark.parametrize("label", RIGHT)
def test_the_right_answer_is_accepted_and_three_wrong_ones_are_not(label, capsys):
    assert check(label, RIGHT[label]) and capsys.readouterr().out == "Right.\n"
    told = set()
    for wrong in WRONG[label]:
        assert not check(label, wrong), wrong
        line = capsys.readouterr().out
        assert line.startswith("Not yet: ") and line.count("\n") == 1
        told.add(line)
    assert len(told) >= 2, "the mistakes are told apart"
    assert check(label, *RIGHT[label]) if isinstance(RIGHT[label], list) else True, "with or without brackets"


def test_the_kinds_of_mistakes_are_told_apart(capsys):
    kinds = [(-0.38, "sign"), (38, "per cent"), (0.76, "twice"), (0.548, "bits"), (0.39, "near"), ([1, 2], "parts")]
    for wrong, kind in kinds:
        assert not check("jain-421-ex-bound", wrong)
        assert kind in capsys.readouterr().out
    with pytest.raises(AttnError, match="did you mean 'jain-41-ex-hand'"):
        check("jain-41-ex-hnd", "film")


def test_every_answer_is_asserted_by_its_solution():
    asserted = {
        label
        for path in PAGES.values()
        for label, text in solutions(path.read_text(encoding="utf-8")).items()
        if re.search(rf'assert .*check(?:ed)?\("{label}"', text)
    }
    assert asserted == set(ANSWERS) - {"any"}


@pytest.mark.parametrize("general", [ANSWERS["any"], None], ids=["instructors", "students"])
def test_otters_tests_accept_the_answers_and_name_the_mistake_in_others(general):
    """As otter runs them; `test_course` has the real one."""
    keys = {label: entry for label, entry in ANSWERS.items() if label != "any"}
    sealed_check = checker(seal(keys, ANSWERS["any"]))
    for label, entry in keys.items():
        exercise = Exercise(label, "", "", [], entry)
        names = {}
        exec(TEMPLATES.get_template("otter.jinja").render(exercise=exercise, general=general), names)
        code = names["test"]["suites"][0]["cases"][0]["code"]
        for answer, fails in ((entry["is"], 0), ("no answer", 1)):
            around = {exercise.variable: answer, "check": sealed_check}
            test = doctest.DocTestParser().get_doctest(code, around, label, None, 0)
            assert doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None).failed == fails, label
