"""Exercises: whether an answer is right, the students' edition without solutions, tests for teachers. What is right
stands in `book/answers.yml`, in the clear: hashes would hide no answer of two digits, and know no "near"."""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from nbformat import NotebookNode

from attn_book.page import TEMPLATES
from attn_book.parameters import nearest
from attn_book.plain import glued, values_of
from attn_core.errors import AttnError

SOLUTIONS = (
    r"^```\{solution\} ([\w-]+)\n.*?^```$",
    r"^```\{solution-start\} ([\w-]+)\n.*?^```\{solution-end\}\n```$",
)
FOR_TEACHERS = r"^(:{3,})\{admonition\}[^\n]*\n:class: [^\n]*attn-instructor.*?^\1$"
LINES = re.MULTILINE | re.DOTALL


def answers_of(book: Path) -> dict[str, dict]:
    """Label -> the entry of `answers.yml` there, whose head says what it holds; "any": what may be told of any."""
    path = book / "answers.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {"any": {}}


# ---- an answer -------------------------------------------------------------------------------------------------------


def check(label: str, *answer: object) -> bool:
    """Whether an answer (a number, a word, or several) to the exercise `label` is right; prints what it looks like."""
    answers = answers_of(Path(__file__).parents[1])
    general = answers.pop("any")
    if label not in answers:
        raise AttnError(f"no answer is stored for the exercise {label!r}{nearest(label, answers)}")
    entry = answers[label]
    wrong = mistake(entry, [item for value in answer for item in items_of(value)], general)
    print(f"Not yet: {wrong}. Asked for: {entry['give']}." if wrong else "Right.")
    return not wrong


def items_of(answer: Any) -> list:
    """Numbers and words of an answer; case does not count."""
    flat = np.ravel(sorted(answer) if isinstance(answer, set) else answer).tolist()
    return [item.strip().casefold() if isinstance(item, str) else item for item in flat]


def mistake(entry: dict, answer: list, general: dict) -> str:
    """What is wrong with an answer, or nothing: a slip of the entry or a `general` one, else how it differs."""
    right = items_of(entry["is"])
    within = entry.get("within", 1e-9)
    if same(answer, right, within):
        return ""
    words = any(isinstance(item, str) for item in right + answer)
    for slip in [*entry.get("slips", ()), *(() if words else general["slips"])]:
        wrong = items_of(slip["is"]) if "is" in slip else [slip["times"] * item for item in right]
        if same(answer, wrong, within):
            return slip["why"]
    if len(answer) != len(right):
        return general["count"]
    if same(sorted(answer, key=str), sorted(right, key=str), within):
        return general["order"]
    if words or not same(answer, right, max(3 * within, 0.05 * max(map(abs, right)))):
        return general["other"]
    return general["near"]


def same(first: list, second: list, within: float) -> bool:
    """Whether the items are equal, numbers up to `within`."""
    if len(first) != len(second):
        return False
    if any(isinstance(item, str) for item in first + second):
        return first == second
    return np.allclose(first, second, rtol=0, atol=within)


# ---- the students' edition: cut from the executed pages before Sphinx sees them --------------------------------------


def student(notebook: NotebookNode, answers: dict) -> NotebookNode:
    """An executed page without its solutions; its numbers are put in first, since solutions may have made some. In the
    place of a solution stands how to ask `check`, where that knows the answer."""
    values = values_of(notebook)
    texts = []  # all cells in one text, each behind \0 and its number: a solution may span several
    for i, cell in enumerate(notebook.cells):
        texts.append(f"\0{i}\n{glued(cell.source, values) if cell.cell_type == 'markdown' else ''}\n")
    whole = "".join(texts)
    ask = TEMPLATES.get_template("check.jinja")

    def in_its_place(solution: re.Match) -> str:
        label = solution[1]
        return ask.render(label=label, give=answers[label]["give"]) if label in answers else ""

    for pattern in SOLUTIONS:
        whole = re.sub(pattern, in_its_place, whole, flags=LINES)
    whole = re.sub(FOR_TEACHERS, "", whole, flags=LINES)
    cells = []
    for i, text in re.findall(r"\0(\d+)\n([^\0]*)", whole):
        cell = notebook.cells[int(i)]
        if cell.cell_type == "markdown":
            cell.source = text.strip()
        if cell.source:
            cells.append(cell)
    notebook.cells = cells
    return notebook


def write_student(root: Path) -> Path:
    """A folder like the repository with the students' pages in place of the executed ones; returns it."""
    import nbformat

    target = root / "_build" / "student-source"
    answers = answers_of(root / "book")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / "book", target / "book", ignore=shutil.ignore_patterns("attn_*", "answers.yml"))
    shutil.copy(root / "_config.yml", target)
    for path in (target / "book").rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(FOR_TEACHERS, "", text, flags=LINES), encoding="utf-8")
    for path in (target / "book").rglob("*.ipynb"):
        nbformat.write(student(nbformat.read(path, as_version=4), answers), path)
    write_otter(root)
    return target


def write_otter(root: Path) -> None:
    """Write a test for each answer into _build/autograde/tests, for `otter check NOTEBOOK -t FOLDER` of otter-grader;
    each reads the student's variable of the exercise's name."""
    folder = root / "_build" / "autograde" / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    for label in answers_of(root / "book").keys() - {"any"}:
        text = TEMPLATES.get_template("otter.jinja").render(label=label)
        (folder / f"{label.replace('-', '_')}.py").write_text(text, encoding="utf-8")
