"""The students' edition: the executed pages without solutions and instructors' boxes, cut before Sphinx sees them."""

import re
import shutil
from pathlib import Path

from attn_book.answers import known
from attn_book.page import TEMPLATES
from attn_book.plain import glued, values_of

GONE = (r"^```\{solution\} ([\w-]+)\n.*?^```$", r"^(:{3,})\{admonition\}[^\n]*\n:class: [^\n]*attn-instructor.*?^\1$")
START, END = r"^```\{solution-start\} ([\w-]+)\n.*?^```$", r"^```\{solution-end\}\n```$"
FROM, TO = "\x02", "\x03"


def student(notebook, answers: dict):
    """An executed page without its solutions; its numbers are put in first, since solutions may have made some."""
    values, kept, inside, flags = values_of(notebook), [], False, re.MULTILINE | re.DOTALL
    ask = TEMPLATES.get_template("check.jinja").render  # in the place of a solution whose answer `check` knows
    told = lambda found: ask(label=found[1], give=answers[found[1]]["give"]) if found[1] in answers else ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = f"{FROM}\n" * inside + glued(cell.source, values)
            text = re.sub(START, lambda found: told(found) + FROM, text, flags=flags)
            text = re.sub(END, TO, text, flags=flags)
            inside = text.rfind(FROM) > text.rfind(TO)
            for gone in (f"{FROM}.*?(?:{TO}|\\Z)", *GONE):
                text = re.sub(gone, "", text, flags=flags)
            cell.source = text.strip()
        if cell.source if cell.cell_type == "markdown" else not inside:
            kept.append(cell)
    notebook.cells = kept
    return notebook


def write_student(root: Path) -> Path:
    """A folder like the repository with the students' pages in place of the executed ones; returns it."""
    import nbformat

    place, answers = root / "_build" / "student-source", known(root)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(root / "book", place / "book", ignore=shutil.ignore_patterns("attn_book", "answers.yml"))
    shutil.copy(root / "_config.yml", place)
    for path in (place / "book").rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub("|".join(GONE[1:]), "", text, flags=re.MULTILINE | re.DOTALL), encoding="utf-8")
    for path in (place / "book").rglob("*.ipynb"):
        nbformat.write(student(nbformat.read(path, as_version=4), answers), path)
    write_otter(root)
    return place


def write_otter(root: Path) -> None:
    """Write a test for each answer in the form of otter-grader into _build/autograde/tests.

    Each reads the student's variable of the exercise's name. For teachers: `otter check NOTEBOOK -t FOLDER`, in an
    environment with the book.
    """
    folder = root / "_build" / "autograde" / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    for label in known(root).keys() - {"any"}:
        text = TEMPLATES.get_template("otter.jinja").render(label=label)
        (folder / f"{label.replace('-', '_')}.py").write_text(text, encoding="utf-8")
