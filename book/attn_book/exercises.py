"""Exercises: whether an answer is right, the students' edition without solutions, tests for teachers. What is right
stands in `book/answers.yml`, in the clear: hashes would hide no answer of two digits, and know no "near"."""

import re
import shutil
from pathlib import Path

import numpy as np
import yaml

from attn_book.page import TEMPLATES
from attn_book.parameters import nearest
from attn_book.plain import glued, values_of
from attn_core.errors import AttnError


def known(book: Path) -> dict[str, dict]:
    """Label -> the entry of `answers.yml` there, whose head says what it holds; "any": what may be told of any."""
    path = book / "answers.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {"any": {}}


# ---- an answer -------------------------------------------------------------------------------------------------------


def check(label: str, *answer: object) -> bool:
    """Whether an answer (a number, a word, or several) to the exercise `label` is right; prints what it looks like."""
    answers = known(Path(__file__).parents[1])
    general, given = answers.pop("any"), [part for item in answer for part in parts(item)]
    if label not in answers:
        raise AttnError(f"no answer is stored for the exercise {label!r}{nearest(label, answers)}")
    told = mistake(answers[label], given, general)
    print(f"Not yet: {told}. Asked for: {answers[label]['give']}." if told else "Right.")
    return not told


def parts(answer: object) -> list:
    """Numbers and words of an answer; case does not count."""
    flat = np.ravel(sorted(answer) if isinstance(answer, set) else answer).tolist()
    return [part.strip().casefold() if isinstance(part, str) else part for part in flat]


def mistake(entry: dict, given: list, general: dict) -> str:
    """What is wrong with an answer, or nothing: a slip of the entry or a `general` one, else how it differs."""
    right, within = parts(entry["is"]), entry.get("within", 1e-9)
    words = any(isinstance(part, str) for part in right + given)
    same = lambda one, other, within=within: (
        len(one) == len(other) and (one == other if words else np.allclose(one, other, rtol=0, atol=within))
    )
    if same(given, right):
        return ""
    for slip in [*entry.get("slips", ()), *(() if words else general["slips"])]:
        if same(given, parts(slip["is"]) if "is" in slip else [slip["times"] * part for part in right]):
            return slip["why"]
    if len(given) != len(right):
        return general["count"]
    if same(sorted(given, key=str), sorted(right, key=str)):
        return general["order"]
    near = not words and same(given, right, max(3 * within, 0.05 * max(map(abs, right))))
    return general["near" if near else "other"]


# ---- the students' edition: cut from the executed pages before Sphinx sees them --------------------------------------

GONE = (r"^```\{solution\} ([\w-]+)\n.*?^```$", r"^```\{solution-start\} ([\w-]+)\n.*?^```\{solution-end\}\n```$",
        r"^(:{3,})\{admonition\}[^\n]*\n:class: [^\n]*attn-instructor.*?^\1$")  # fmt: skip


def student(notebook, answers: dict):
    """An executed page without its solutions; its numbers are put in first, since solutions may have made some."""
    values, cells, ask = values_of(notebook), notebook.cells, TEMPLATES.get_template("check.jinja").render
    text = "".join(f"\0{i}\n{glued(cell.source, values) * (cell.cell_type == 'markdown')}\n"
                   for i, cell in enumerate(cells))  # fmt: skip
    # In the place of a solution stands how to ask `check`, where that knows the answer.
    told = lambda gone: ask(label=gone[1], give=answers[gone[1]]["give"]) if gone[1] in answers else ""
    for pattern in GONE:
        text = re.sub(pattern, told, text, flags=re.MULTILINE | re.DOTALL)
    notebook.cells = []
    for i, left in re.findall(r"\0(\d+)\n([^\0]*)", text):
        cell = cells[int(i)]
        cell.source = left.strip() if cell.cell_type == "markdown" else cell.source
        notebook.cells += [cell] if cell.source else []
    return notebook


def write_student(root: Path) -> Path:
    """A folder like the repository with the students' pages in place of the executed ones; returns it."""
    import nbformat

    place, answers = root / "_build" / "student-source", known(root / "book")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(root / "book", place / "book", ignore=shutil.ignore_patterns("attn_book", "answers.yml"))
    shutil.copy(root / "_config.yml", place)
    for path in (place / "book").rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(GONE[2], "", text, flags=re.MULTILINE | re.DOTALL), encoding="utf-8")
    for path in (place / "book").rglob("*.ipynb"):
        nbformat.write(student(nbformat.read(path, as_version=4), answers), path)
    write_otter(root)
    return place


def write_otter(root: Path) -> None:
    """Write a test for each answer into _build/autograde/tests, for `otter check NOTEBOOK -t FOLDER` of otter-grader;
    each reads the student's variable of the exercise's name."""
    folder = root / "_build" / "autograde" / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    for label in known(root / "book").keys() - {"any"}:
        text = TEMPLATES.get_template("otter.jinja").render(label=label)
        (folder / f"{label.replace('-', '_')}.py").write_text(text, encoding="utf-8")
