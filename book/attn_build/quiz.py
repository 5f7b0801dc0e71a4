"""A quiz as Moodle XML, which other platforms import too: the guesses, the ten statements, the exercises that a program
can check. A slip of `answers.yml` becomes an answer of no points whose feedback names it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from attn_book.exercises import answers_of, items_of, mistake, slips
from attn_build import render, write
from attn_build.slides import PLAN
from attn_build.sources import numbers_of, pages

KINDS = {"P": "plausible", "F": "faithful", "N": "neither"}
LEAST = 0.001
"""Tolerance of answers that are to be exact: no platform compares floats as they are."""


@dataclass
class Question:
    """text: Markdown. right: the parts of the answer, none for an open question. slips: (parts, what went wrong).
    choices: of which one is right."""

    name: str
    title: str
    text: str
    right: list[Any]
    give: str = ""
    within: float = LEAST
    slips: list[tuple[list, str]] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)
    points: int = 1

    @property
    def kind(self) -> str:
        """As Moodle calls it."""
        if self.choices or not self.right:
            return "multichoice" if self.choices else "essay"
        if len(self.right) > 1:
            return "cloze"
        return "shortanswer" if isinstance(self.right[0], str) else "numerical"


def html_of(text: str) -> str:
    """Markdown as XHTML, formulas between \\( and \\)."""
    html = MarkdownIt("commonmark", {"xhtmlOut": True}).enable("table").render(text)
    return re.sub(r"\$([^$]+)\$", r"\\(\1\\)", html)


def escaped(text: str) -> str:
    """A word for a blank of Moodle."""
    return re.sub(r"([}#~/\"\\{])", r"\\\1", text)


# ---- the questions ---------------------------------------------------------------------------------------------------


def of_exercise(exercise: Any, general: dict) -> Question:
    """The question of an exercise of `course`; a slip counts where it is not right, and the first of equal ones."""
    entry = exercise.entry
    within = max(entry.get("within", 0), LEAST)
    asked = entry | {"within": within}
    told = [(parts, why) for parts, why in slips(entry, general) if mistake(asked, parts, general) == why]
    right = items_of(entry["is"])
    return Question(
        exercise.label, exercise.title, exercise.text, right, entry["give"], within, told, points=exercise.points
    )


def guesses(root: Path, notes: dict) -> Iterator[Question]:
    """The five guesses of the page on teaching, with the numbers that it glues; none where these are not made yet."""
    values = numbers_of(PLAN, root)
    table = pages(root)[PLAN].read_text(encoding="utf-8").partition("## The five guesses")[2]
    for number, text in re.findall(r"^\| (\d) \| (.*) \|$", table, re.MULTILINE):
        key = dict(notes[int(number)]["guess"])
        glued = key.pop("glued", [])
        if values.keys() >= set(glued):
            right = [round(float(values[name]), 2) for name in glued] or items_of(key.pop("is", []))
            yield Question(f"guess-{number}", f"Guess {number}", text, right, **key)


def statements(root: Path, notes: dict) -> Iterator[Question]:
    """The ten statements of the page on the course."""
    lines = (root / "book" / "course.md").read_text(encoding="utf-8").partition("## Ten statements")[2]
    texts = re.findall(r"^(\d+)\. (.*)$", lines, re.MULTILINE)
    for (number, text), key in zip(texts, notes[5]["statements"], strict=True):
        yield Question(f"statement-{number}", f"Statement {number}", text, [KINDS[key]], choices=list(KINDS.values()))


# ---- the file --------------------------------------------------------------------------------------------------------


def write_quiz(root: Path, sessions: list, notes: dict, target: Path) -> None:
    """All questions as one file of Moodle's."""
    general = answers_of(root / "book")["any"]
    asked = [*guesses(root, notes), *statements(root, notes)]
    asked += [of_exercise(exercise, general) for session in sessions for exercise in session.checked]
    write(target, render("moodle.xml", questions=asked, html_of=html_of, escaped=escaped))
