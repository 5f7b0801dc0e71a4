"""Every page teaches: two or more exercises, each with a folded solution, one checked by code that the build runs."""

import re

import pytest
from conftest import ROOT

from attn_build import sources

PAGES = {**sources.pages(ROOT), "_template": ROOT / "notebooks" / "_template.md"}
FEWEST = 2


def exercises(text: str) -> list[str]:
    """Labels of the exercises of a page."""
    return re.findall(r"^```\{exercise\}[^\n]*\n:label: ([\w-]+)$", text, re.MULTILINE)


def solutions(text: str) -> dict[str, str]:
    """Label -> text of the solution, of both forms (with cells and without), folded or not."""
    gated = re.findall(
        r"^```\{solution-start\} ([\w-]+)\n(.*?)^```\{solution-end\}$", text, re.MULTILINE | re.DOTALL
    )
    plain = re.findall(r"^```\{solution\} ([\w-]+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return dict(gated) | dict(plain)


def checked(solution: str) -> bool:
    """Whether the solution holds code that would fail if it were wrong."""
    cells = re.findall(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", solution, re.MULTILINE | re.DOTALL)
    return any(re.search(r"^\s*assert\b", cell, re.MULTILINE) for cell in cells)


RECORD = ("index", "summary", "one-word-controls", "compared", "scorecard", "gallery")
RECORD += ("serrano/other-models", "data-details")
"""The front page and pages of the replication record: tables to look things up in, not lessons."""


LESSONS = [path for name, path in PAGES.items() if name not in RECORD]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_page_has_exercises_one_of_them_checked_by_code(path):
    text = path.read_text()
    labels, solved = exercises(text), solutions(text)
    assert len(labels) >= FEWEST
    assert len(re.findall(r"^\*(Easy|Medium|Hard)\.\* Hint: .+\n```$", text, re.MULTILINE)) == len(labels)
    assert sorted(labels) == sorted(solved)
    assert all(":class: dropdown" in solution for solution in solved.values()), "solutions are folded"
    assert any(map(checked, solved.values())), "no solution is checked by code"
