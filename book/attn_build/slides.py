"""Slides of the five sessions and handouts, by the plans of the page on teaching, from what Sphinx has built."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from attn_build import TEMPLATES

PLAN, COURSE, FOLDER = "teaching", "course", "teach"
Tree = Any
"""A tag of a page that Sphinx has built. Beautiful Soup types what is in it as perhaps absent: here it is not."""

MOST_FIGURES = 3
"""A row of a plan shows at most so many figures of its page."""


def write_kit(root: Path) -> None:
    """Write _build/html/teach/session-1.html to -5.html, and handouts.html.

    Each row of a session's table is a slide; the guess and the figures of the page that it names follow. Handouts: the
    verdict's grid without entries, the ten statements, a triangle, and every session's figures without title.
    """
    built = root / "_build" / "html"
    target = built / FOLDER
    if not all((built / f"{page}.html").is_file() for page in (PLAN, COURSE, "verdict")):
        return
    target.mkdir(exist_ok=True)
    built_page.cache_clear()
    plan = built_page(built, PLAN).article
    guesses = {row.td.text.strip(): row.find_all("td")[1] for row in plan.select("#the-five-guesses tbody tr")}
    sessions = [session(built, head.parent, guesses) for head in plan.select("h2") if re.match(r"\d · ", head.text)]
    figures: dict[str, str] = {}
    for number, (title, slides) in enumerate(sessions, 1):
        page = TEMPLATES.get_template("slides.html").render(number=number, title=title, slides=slides)
        (target / f"session-{number}.html").write_text(page, encoding="utf-8")
        figures |= {str(figure.svg): slide["question"] for slide in slides for figure in slide["figures"]}
    grid = built_page(built, "verdict").select_one(".attn-grid table")
    for cell in grid.select("tbody td"):
        cell.clear()
    statements = built_page(built, COURSE).select_one("#ten-statements ol")
    page = TEMPLATES.get_template("handouts.html").render(grid=grid, statements=statements, figures=figures)
    (target / "handouts.html").write_text(page, encoding="utf-8")


def session(built: Path, plan: Tree, guesses: dict) -> tuple[str, list[dict]]:
    """Title and slides (minutes, what, guess, page, question, lead, figures) of one plan, a section of PLAN."""
    rows = [row.find_all("td") for row in plan.select("tbody tr")]
    links = [row[2].a["href"].partition("#")[0].removesuffix(".html") if row[2].a else "" for row in rows]
    slides = []
    for i, (minutes, what, _) in enumerate(rows):
        number = re.search(r"Guess (\d)", what.text)
        guess = guesses[number[1]].decode_contents() if number else None
        slide: dict[str, Any] = {
            "minutes": minutes.text,
            "what": what.text,
            "guess": guess,
            "page": links[i],
            "figures": [],
        }
        if links[i]:
            article = built_page(built, links[i]).article
            lead = article.select_one(".attn-lead")
            figures = shown_figures(article)
            turn = links[:i].count(links[i])  # of the rows that name the page, which share its figures
            turns = links.count(links[i])
            share = slice(turn * len(figures) // turns, (turn + 1) * len(figures) // turns)
            slide |= {"question": article.h1.text, "lead": lead.text if lead else ""}
            slide |= {"figures": figures[share][:MOST_FIGURES], "last": links[i] not in links[i + 1 :]}
        slides.append(slide)
    return plan.h2.text.partition(" · ")[2], slides


def shown_figures(article: Tree) -> list[Tree]:
    """The figures of a page, those in folds apart, and those to be played with: they need their page."""
    figures = article.select("figure.attn-fig:has(svg):not(:has(.attn-play))")
    return [figure for figure in figures if not figure.find_parent("details")]


@cache
def built_page(built: Path, page: str) -> Tree:
    """A page that Sphinx has built as a tree of HTML, its article without the marks of links to headings."""
    soup: Tree = BeautifulSoup((built / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
    for mark in soup.article.select(".headerlink"):
        mark.decompose()
    return soup
