"""The students' edition, cut from the executed pages before Sphinx sees them."""

import re
import shutil
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from attn_book.exercises import answers_of
from attn_build import TEMPLATES
from attn_build.plain import glued, values_of

SOLUTIONS = (
    r"^```\{solution\} ([\w-]+)\n.*?^```$",
    r"^```\{solution-start\} ([\w-]+)\n.*?^```\{solution-end\}\n```$",
)
FOR_TEACHERS = r"^(:{3,})\{admonition\}[^\n]*\n:class: [^\n]*attn-instructor.*?^\1$"
LINES = re.MULTILINE | re.DOTALL
FOR_TEACHERS_ALONE = shutil.ignore_patterns("attn_*", "answers.yml", "sessions.yml", "*-report*")


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
    target = root / "_build" / "student-source"
    answers = answers_of(root / "book")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / "book", target / "book", ignore=FOR_TEACHERS_ALONE)
    shutil.copy(root / "_config.yml", target)
    for path in (target / "book").rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(FOR_TEACHERS, "", text, flags=LINES), encoding="utf-8")
    for path in (target / "book").rglob("*.ipynb"):
        nbformat.write(student(nbformat.read(path, as_version=4), answers), path)
    return target
