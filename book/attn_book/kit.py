"""Slides of the five sessions, and handouts to print: cut from the built pages by the plans of the page on teaching."""

import re
from functools import cache
from pathlib import Path

from bs4 import BeautifulSoup

from attn_book.page import TEMPLATES

PLAN, COURSE, FOLDER = "teaching", "course", "teach"
MOST_FIGURES = 3
"""A row of a plan shows at most so many figures of its page."""


def write_kit(root: Path) -> None:
    """Write _build/html/teach/session-1.html to -5.html, and handouts.html, from what Sphinx has built.

    Each row of a session's table is a slide with its minutes; a guess it names, and the figures of the page it names,
    follow, their titles folded. Rows of one page share its figures in their order. Handouts: the verdict's grid
    without entries, the ten statements, a triangle, and every session's figures without title and caption.
    """
    built = root / "_build" / "html"
    target = built / FOLDER
    if not all((built / f"{page}.html").is_file() for page in (PLAN, COURSE, "verdict")):
        return
    target.mkdir(exist_ok=True)
    write = lambda name, template, **told: (target / name).write_text(
        TEMPLATES.get_template(template).render(told), encoding="utf-8"
    )
    article.cache_clear()
    plan = article(built, PLAN)
    guesses = {row.td.text.strip(): row.find_all("td")[1] for row in plan.select("#the-five-guesses tbody tr")}
    sessions = [session(built, head.parent, guesses) for head in plan.select("h2") if re.match(r"\d · ", head.text)]
    for number, (title, slides) in enumerate(sessions, 1):
        write(f"session-{number}.html", "slides.html", number=number, title=title, slides=slides)
    grid = article(built, "verdict").select_one(".attn-grid table")
    for cell in grid.select("tbody td"):
        cell.clear()
    figures = {str(figure.svg): slide["question"] for _, slides in sessions for slide in slides
               for figure in slide["figures"]}  # fmt: skip
    statements = article(built, COURSE).select_one("#ten-statements ol")
    write("handouts.html", "handouts.html", grid=grid, statements=statements, figures=figures)


@cache
def article(built: Path, page: str):
    """What a built page says, as a tree of HTML without the marks of links to headings."""
    soup = BeautifulSoup((built / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
    found = soup.find("article", class_="bd-article")
    for mark in found.select(".headerlink"):
        mark.decompose()
    return found


def session(built: Path, part, guesses: dict) -> tuple[str, list[dict]]:
    """Title and slides (minutes, what, guess, page, question, lead, figures) of one plan, a section of PLAN."""
    rows = [row.find_all("td") for row in part.select("tbody tr")]
    links = [row[2].a["href"].partition("#")[0].removesuffix(".html") if row[2].a else "" for row in rows]
    slides = []
    for at, ((minutes, what, _), page) in enumerate(zip(rows, links, strict=True)):
        found = re.search(r"Guess (\d)", what.text)
        slide = {"minutes": minutes.text, "what": what.text, "guess": found and guesses[found[1]].decode_contents(),
                 "page": page, "figures": []}  # fmt: skip
        if page:
            whole = article(built, page)
            lead = whole.select_one(".attn-lead")
            slide |= {"question": whole.h1.text, "lead": lead.text if lead else ""}
            shown = [one for one in whole.select("figure.attn-fig:has(svg):not(:has(.attn-play))")
                     if not one.find_parent("details")]  # what is to be played with needs its page
            turn, turns = links[:at].count(page), links.count(page)
            slide["figures"] = shown[turn * len(shown) // turns : (turn + 1) * len(shown) // turns][:MOST_FIGURES]
            slide["last"] = page not in links[at + 1 :]
        slides.append(slide)
    return part.h2.text.partition(" · ")[2], slides
