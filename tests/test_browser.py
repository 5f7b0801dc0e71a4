"""Every page of the built book in a real browser; skipped where there is no Chromium, or no book in _build/html."""

import re
from pathlib import Path
from urllib.parse import quote

import devtools
import pandas as pd
import pytest
from conftest import HTML, ROOT, built, python

from attn_build import pdf, rendering

DEFINED = {
    "faithful": "wiegreffe/06-conclusion",
    "decision flip": "how-to-measure",
    "Figure 1 (J&W)": "one-model",
    "jain table 1": "data-and-models",
}
"""Terms, and the page that defines each."""

MOST_ELEMENTS = 8_000
FILE = re.compile(r'(?:src|href)="([^"?]*_static/[^"?]*\.m?(?:js|css))')
FRONT_PAGE = 900_000
"""Bytes, uncompressed: HTML, styles, scripts and fonts; a typed sentence loads its model."""

ICON = '<link rel="icon" href="data:,">'

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(devtools.CHROMIUM is None, reason="no Chromium installed"),
]


def pages() -> list[str]:
    return [name for name in rendering.toc_pages(ROOT) if (HTML / f"{name}.html").is_file()]


@built
def test_every_page_fits_and_its_console_is_silent(chromium):
    found = pd.DataFrame(devtools.survey(chromium, HTML, pages())).set_index(["page", "width"])
    assert len(found) == 2 * len(pages()) > 40
    assert not found[found["takes"] > found.index.get_level_values("width")].index.tolist()
    assert not found["errors"].sum(), found["errors"][found["errors"].astype(bool)]
    assert not found.query("nodes > @MOST_ELEMENTS").index.tolist()
    scrolls = found.xs(1280, level="width")[["code", "tables"]]
    assert not scrolls.sum().sum(), scrolls


def test_what_is_wrong_is_noticed(tmp_path, chromium):
    (tmp_path / "good.html").write_text(f"<!doctype html>{ICON}<p>Short.</p>")
    wide = '<div style="width: 1500px">x</div><div class="attn-beside" style="width: 90px; overflow: auto">'
    (tmp_path / "bad.html").write_text(
        f"{ICON}{wide}<p style='width: 300px'>table</p></div><script>nowhere()</script>"
    )
    good, bad = devtools.survey(chromium, tmp_path, ["good", "bad"], (700,))
    assert good["takes"] == 700
    assert not good["tables"]
    assert not good["errors"]
    assert bad["takes"] >= 1500
    assert bad["tables"] == ["table"]
    assert "nowhere is not defined" in bad["errors"][0]


# ---- for everybody, and soon -----------------------------------------------------------------------------------------


@pytest.fixture
def axe() -> str:
    return Path(pytest.importorskip("axe_core_python").__file__).with_name("axe.min.js").read_text()


@built
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_serious(chromium, axe, width, scheme):
    found = {}
    for name in pages():
        chromium.open(HTML / f"{name}.html", width, scheme)
        found[name] = chromium.axe(axe)
    assert not [name for name in found if found[name]], found


def test_axe_notices(tmp_path, chromium, axe):
    (tmp_path / "bad.html").write_text(
        f"<!doctype html><html lang=en>{ICON}<title>t</title><main><button></button>"
    )
    chromium.open(tmp_path / "bad.html")
    assert chromium.axe(axe) == ["button-name: button: <button></button>"]


@built
def test_a_page_loads_what_it_needs():
    for name in pages():
        text = (HTML / f"{name}.html").read_text()
        assert ("mathjax-tex" in text) == ('class="math' in text), f"{name}: MathJax where formulas are"
        files = FILE.findall(text)
        assert len(files) == len(set(files)), f"{name} loads a file twice"
    front = (HTML / "index.html").read_text()
    files = FILE.findall(front)
    loaded = [*(HTML / "_static").glob("inter-*.woff2"), *(HTML / file for file in files)]
    assert len(front.encode()) + sum(path.stat().st_size for path in loaded) <= FRONT_PAGE


@built
def test_icons_are_drawn():
    style = (HTML / "_static" / "attn.css").read_text()
    drawn = {*re.findall(r"\.(fa-[a-z-]+)(?=[^{}]*\{ --icon: url)", style), "fa-solid", "fa-lg"}
    for name in (*pages(), "search", "genindex"):
        classes = re.findall(r'class="([^"]*)"', (HTML / f"{name}.html").read_text())
        assert set(re.findall(r"\bfa-[a-z-]+", " ".join(classes))) <= drawn, name


@built
@pytest.mark.parametrize(("term", "page"), DEFINED.items())
def test_the_search_finds_the_definition_first(chromium, term, page):
    chromium.call("Page.navigate", url=f"{(HTML / 'search.html').as_uri()}?q={quote(term)}")
    first = chromium.wait("document.querySelector('#search-results li a')?.getAttribute('href')")
    assert first.partition("#")[0] == f"{page}.html"


@built
@pytest.mark.parametrize("page", ["index", "one-model"])
def test_the_first_control_of_a_widget_is_near(chromium, page):
    """At most five presses of Tab from the start of its section."""
    chromium.open(HTML / f"{page}.html", 1280)
    chromium.js(
        "(box => { box.tabIndex = -1; box.focus(); })(document.querySelector('.attn-play').closest('section'))"
    )
    focus = "document.activeElement.closest('.attn-play') !== null"
    assert any(chromium.key("Tab") or chromium.js(focus) for _ in range(5))


# ---- on paper --------------------------------------------------------------------------------------------------------

ARTICLE = """<html><head><link rel="stylesheet" href="UP_static/own.css"></head><body><article class="bd-article">
<section id="place"><h1>TITLE</h1><p>TEXT</p></section><details><summary>More</summary>Folded.</details>
<details class="attn-record">Every number.</details></article></body></html>"""


@pytest.fixture
def printed(tmp_path):
    """A built book of a front page, a page below, and a page of the record."""
    html = tmp_path / "_build" / "html"
    for folder in (tmp_path / "notebooks", tmp_path / "book" / "_static", html / "jain"):
        folder.mkdir(parents=True)
    record = f"parts: [{{chapters: [{{file: jain/one}}]}}, {{caption: {rendering.RECORD}, chapters: [{{file: card}}]}}]"
    (tmp_path / "book" / "_toc.yml").write_text(f"format: jb-book\nroot: index\n{record}\n")
    for name, up, text in (
        ("index", "", '<a href="jain/one.html#place">one</a>'),
        ("jain/one", "../", '<a href="../index.html">front</a> <a href="../card.html">card</a>'),
    ):
        page = ARTICLE.replace("UP", up).replace("TITLE", name).replace("TEXT", text)
        (html / f"{name}.html").write_text(page)
    return tmp_path


def test_one_sheet_holds_the_chain(printed):
    sheet = pdf.one_sheet(printed)
    assert (
        'href="#jain-one--place"' in sheet and 'id="jain-one--place"' in sheet and 'href="#index--"' in sheet
    )
    assert "card.html" not in sheet and sheet.count("own.css") == 1, "no link to what is not there; one style"
    assert "Folded" not in sheet
    assert "Every number" not in sheet
    assert "§jain-one--§" in sheet, "its line in the contents"


def test_the_pdf_is_linked_from_the_front_page_once(printed):
    for _ in range(2):
        path = pdf.write_pdf(printed)
    content = path.read_bytes()
    assert pdf.page_numbers(content) == {"index--": "3", "jain-one--": "4"}, (
        "behind the title and the contents"
    )
    assert content.startswith(b"%PDF")
    assert b"file://" not in content
    assert not (path.parent / "print.html").exists()
    assert (path.parent / "index.html").read_text().count(path.name) == 1


def test_without_chromium_there_is_one_line(printed):
    told = python("-m", "attn_core", "pdf", folder=printed, PATH="")
    assert told == "no Chromium was found, so no PDF was printed\n"
