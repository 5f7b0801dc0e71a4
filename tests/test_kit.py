"""Slides and handouts, cut from the built book by the plans of the page on teaching."""

import re
import shutil

import pytest
from bs4 import BeautifulSoup
from conftest import HTML, ROOT, built

from attn_build import slides, student

TEACH = HTML / slides.FOLDER


def soup(name):
    return BeautifulSoup((TEACH / name).read_text(), "html.parser")


@built
@pytest.mark.parametrize("number", range(1, 6))
def test_a_session_shows_its_pages_figures(number):
    page = soup(f"session-{number}.html")
    ids = [svg["aria-label"] for svg in page.select("figure > svg")]
    assert ids
    assert len(ids) == len(set(ids)), "each figure once"
    assert not page.select("figure .attn-fig-title"), "titles are folded"
    assert all(fold.summary and len(fold.text) > 40 for fold in page.select("details"))
    assert not re.search(r"{glue|{doc|attn-instructor", str(page))
    links = [link["href"] for link in page.select("a:not(.foot a)")]
    assert links
    assert not [link for link in links if not (TEACH / link).is_file()]
    assert page.html["lang"] == "en"
    assert not page.select("section:not(:has(h1, h2))")
    assert len(page.select("aside.notes[hidden]")) == len(page.select("ol > li")), "a note a row"


@built
@pytest.mark.parametrize("number", range(1, 6))
def test_students_slides_show_the_same_without_findings_and_notes(number):
    page = soup(f"session-{number}-students.html")
    whole = soup(f"session-{number}.html")
    assert len(page.select("figure")) == len(whole.select("figure"))
    assert not page.select("details, .notes, .attn-fig-title, figcaption")
    assert "What was found" not in page.text
    hidden = [one.text for one in whole.select("details .lead, .notes pre")]
    assert hidden
    assert not [text for text in hidden if text in str(page)]


@built
def test_the_handouts_have_the_verdicts_claims_without_answers():
    handouts = soup("handouts.html")
    page = BeautifulSoup((TEACH.parent / "verdict.html").read_text(), "html.parser")
    heads = [head.text for head in page.select(".attn-claims th")]
    assert [head.text for head in handouts.select(".wide table th")] == heads
    cells = [cell.text for cell in handouts.select(".wide table tbody td")]
    assert cells == [""] * len(page.select(".attn-claims .claim td"))
    assert len(handouts.select("ol > li")) == 10


def test_the_key_to_the_statements_is_for_teachers(tmp_path):
    (tmp_path / "_config.yml").touch()
    (tmp_path / "book" / "projects").mkdir(parents=True)
    for name in ("course.md", "answers.yml", "sessions.yml", "projects/project-1-report.md"):
        shutil.copy(ROOT / "book" / name, tmp_path / "book" / name)
    folder = student.write_student(tmp_path)
    assert {path.name for path in folder.rglob("*.*")} == {"_config.yml", "course.md"}
    source = (ROOT / "book" / "course.md").read_text()
    key = re.search(r"^:::.*?^:::$", source, re.MULTILINE | re.DOTALL)[0]
    assert "attn-instructor" in key
    assert (folder / "book" / "course.md").read_text().split() == source.replace(key, "").split()


@built
@pytest.mark.browser
def test_arrows_turn_the_slides_and_a_phone_holds_them(chromium):
    chromium.open(TEACH / "session-2.html", 390)
    assert chromium.js("document.documentElement.scrollWidth") <= 390
    press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: '{}', bubbles: true}}))".format
    top = "Math.round(document.querySelectorAll('section')[1].getBoundingClientRect().top)"
    assert chromium.js(top) > 100
    chromium.js(press("ArrowRight"))
    assert abs(chromium.js(top)) <= 1
    assert chromium.js("location.hash") == "#s2", "a slide has an address"
    assert chromium.js("document.querySelector('#s2 .foot a').textContent").startswith("2 / ")
    hidden = "document.querySelectorAll('.notes[hidden]').length"
    assert chromium.js(hidden) > 0
    chromium.js(press("n"))
    assert chromium.js(hidden) == 0
