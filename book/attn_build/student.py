"""The students' edition, cut from the executed pages before Sphinx sees them."""

import shutil
from collections import defaultdict
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from attn_book.exercises import answers_of
from attn_build import render, write
from attn_build.plain import glued, pieces, values_of, walk

FOR_TEACHERS = "attn-instructor"
"""Class of what only teachers are to read."""

NOT_FOR_STUDENTS = shutil.ignore_patterns("attn_*", "answers.yml", "sessions.yml", "*-report*")


def student(notebook: NotebookNode, answers: dict) -> NotebookNode:
    """An executed page without its solutions; its numbers are put in, since solutions may have made some. In the place
    of a solution stands how to ask `check`, where that knows the answer."""
    values = values_of(notebook)
    kept: dict[str, str] = defaultdict(str)
    for cell, piece, within in walk(notebook.cells):
        if piece.name in ("solution", "solution-start") and piece.argument in answers:
            kept[cell.id] += render("check.jinja", label=piece.argument, give=answers[piece.argument]["give"])
        elif not (within or piece.name.startswith("solution") or FOR_TEACHERS in piece.text):
            kept[cell.id] += piece.text
    for cell in notebook.cells:
        cell.source = glued(kept[cell.id], values).strip()
    notebook.cells = [cell for cell in notebook.cells if cell.source]
    return notebook


def write_student(root: Path) -> Path:
    """A folder like the repository with the students' pages in place of the executed ones; returns it."""
    target = root / "_build" / "student-source"
    answers = answers_of(root / "book")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / "book", target / "book", ignore=NOT_FOR_STUDENTS)
    shutil.copy(root / "_config.yml", target)
    for path in (target / "book").rglob("*.md"):
        kept = [piece.text for piece in pieces(path.read_text(encoding="utf-8")) if FOR_TEACHERS not in piece.text]
        write(path, "".join(kept))
    for path in (target / "book").rglob("*.ipynb"):
        nbformat.write(student(nbformat.read(path, as_version=4), answers), path)
    return target
