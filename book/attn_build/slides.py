"""Slides of the five sessions and handouts, by the plans of the page on teaching, from what Sphinx has built."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from attn_book.exercises import read_yaml
from attn_build import render, write
from attn_build.sources import pages

PLAN = "teaching"
COURSE = "course"
FOLDER = "teach"
Tree = Any
"""A tag of a page that Sphinx has built. Beautiful Soup types what is in it as perhaps absent: here it is not."""

Row = tuple[str, str, str]
"""Of a plan: minutes, what, and the page, if any."""

ROW = re.compile(r"^\| (\d+) \| (.*?) \|(?: \{doc\}`.*? </(.*?)>`)? \|$", re.MULTILINE)
MOST_FIGURES = 3
"""A row of a plan shows at most so many figures of its page."""

FIGURES = "figure.attn-fig:has(svg):not(:has(.attn-play), details *)"
"""The figures of a page, those in folds apart, and those to be played with: they need their page."""


def write_kit(root: Path, source: Path) -> None:
    """Write _build/html/teach/session-1.html to -5.html, the same without findings and notes as session-1-students.html
    (both without of a source other than the root, which is for students), and handouts.html.

    Each row of a session's table is a slide; the guess and the figures of the page that it names follow. Handouts: the
    verdict's claims without answers, the ten statements, a triangle, and every session's figures without title.
    """
    built = source / "_build" / "html"
    target = built / FOLDER
    if not all((built / f"{page}.html").is_file() for page in (PLAN, COURSE, "verdict")):
        return
    built_page.cache_clear()
    guesses = {
        row.td.text.strip(): row.find_all("td")[1].decode_contents()
        for row in built_page(built, PLAN).select("#the-five-guesses tbody tr")
    }
    notes = notes_of(source)
    figures: dict[str, str] = {}
    for number, title, rows in plans(root):
        slides = session(built, rows, guesses, notes.get(number, {}).get("rows", [{}] * len(rows)))
        for name, whole in {"": source == root, "-students": False}.items():
            sheet = render("slides.html", number=number, title=title, slides=slides, taught=whole)
            write(target / f"session-{number}{name}.html", sheet)
        figures |= {str(figure.svg): slide["question"] for slide in slides for figure in slide["figures"]}
    grid = built_page(built, "verdict").select_one(".attn-claims table")
    for cell in grid.select("tbody td, .why"):
        cell.clear()
    statements = built_page(built, COURSE).select_one("#ten-statements ol")
    write(target / "handouts.html", render("handouts.html", grid=grid, statements=statements, figures=figures))


def plans(root: Path) -> list[tuple[int, str, list[Row]]]:
    """Number, title and rows of the plan of each session, as plain text."""
    text = pages(root)[PLAN].read_text(encoding="utf-8").replace("'", "’").replace("*", "")
    text = re.sub(r"\{ref\}`(.*?) <.*?>`", r"\1", text)
    parts = re.findall(r"^## (\d) · (.*?)\n(.*?)(?=^## |^Before)", text, re.MULTILINE | re.DOTALL)
    return [(int(number), title, ROW.findall(plan)) for number, title, plan in parts]


def notes_of(root: Path) -> dict[int, dict]:
    """Session -> what `sessions.yml` holds of it, for instructors; nothing where that is not."""
    return read_yaml(root / "book" / "sessions.yml")


def session(built: Path, rows: list[Row], guesses: dict[str, str], notes: list[dict]) -> list[dict]:
    """The slides of one plan: a row of it, what of the page that it names follows (guess: HTML), whether the row is the
    last that names it, the minute at which it begins, and the note for who presents."""
    named = [page for _, _, page in rows]
    begins = 0
    slides = []
    for i, ((minutes, what, page), note) in enumerate(zip(rows, notes, strict=True)):
        article: Tree = built_page(built, page).article if page else BeautifulSoup("<h1></h1>", "html.parser")
        figures = article.select(FIGURES)
        turn, turns = named[:i].count(page), named.count(page)  # rows that name one page share its figures
        share = figures[turn * len(figures) // turns : (turn + 1) * len(figures) // turns]
        slides.append(
            {
                "minutes": minutes,
                "what": what,
                "page": page,
                "guess": guesses.get(what.partition("Guess ")[2][:1], ""),
                "question": article.h1.text,
                "lead": "".join(lead.text for lead in article.select(".attn-lead")[:1]),
                "figures": share[:MOST_FIGURES],
                "last": page not in named[i + 1 :],
                "begins": begins,
                "note": note,
            }
        )
        begins += int(minutes)
    return slides


@cache
def built_page(built: Path, page: str) -> Tree:
    """A page that Sphinx has built as a tree of HTML, its article without the marks of links to headings."""
    soup: Tree = BeautifulSoup((built / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
    for mark in soup.article.select(".headerlink"):
        mark.decompose()
    return soup
