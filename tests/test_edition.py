"""The rules of the book's pages: narrow and mostly visible code, guards, no legal prose, no raw keys."""

import re
import statistics
from pathlib import Path
from time import monotonic

import pytest
import yaml
from bs4 import BeautifulSoup
from conftest import HTML, ROOT, built

from attn_book import figures, words
from attn_build import plain, rendering, sources

PAGES = [name for name, path in sources.pages(ROOT).items() if "## In ten lines" in path.read_text()]
CHAIN = [name for name in rendering.toc_pages(ROOT, record=False) if name in sources.pages(ROOT)]
HIDDEN = {"remove-input", "remove-cell", "hide-input", "hide-cell"}
WIDTH, TEN, VISIBLE = 72, 10, 25


def lines(cells: list[str]) -> list[str]:
    return [line for cell in cells for line in cell.splitlines() if line.strip()]


def visible_cells(page: str) -> list[tuple[str, str, bool]]:
    """The code cells that stand open: their section, their code, and whether they are the cell of the parameters."""
    title, cells = "", []
    for cell, piece, within in plain.walk(sources.read_source(page, ROOT).cells):
        if cell.cell_type == "markdown":
            title = [title, *re.findall(r"^## (.*)$", piece.text, re.MULTILINE)][-1]
        elif not within and not HIDDEN & set(tags := cell.metadata.get("tags", [])):
            cells.append((title, piece.text, "parameters" in tags))
    return cells


def open_lines(page: str) -> list[str]:
    return lines([code for _, code, _ in visible_cells(page)])


@pytest.mark.parametrize("page", PAGES)
def test_ten_lines_are_ten_and_print_their_number(page):
    """The cells of the section together, that of the parameters apart; what they load and tabulate is folded."""
    cells = [code for title, code, given in visible_cells(page) if title == "In ten lines" and not given]
    assert 0 < len(lines(cells)) <= TEN and "print(" in cells[-1], "\n\n".join(cells)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_computes_its_experiment(page):
    cells = sources.codes(sources.read_source(page, ROOT).cells)
    shown = [cell.source for cell in cells if not HIDDEN & set(cell.metadata.get("tags", []))]
    assert not [line for line in lines(shown) if len(line) > WIDTH], "solutions, too"
    code = "\n".join(cell.source for cell in cells)
    assert re.search("attn_(core|lab)", code)
    assert "traces" in code or page == "people", "whose marks are a table"
    assert "expect(" in code, "sentences that hang on numbers have guards"


@pytest.mark.parametrize("page", CHAIN)
def test_a_page_of_the_chain_is_plain(page):
    text = sources.pages(ROOT)[page].read_text()
    assert "attn-lead" in text, "the answer in a sentence"
    assert not [line for line in open_lines(page) if len(line) > WIDTH]
    assert "figure:" not in text, "figures are drawn by figures.show, which takes an alternative text"


@pytest.mark.slow
@built
@pytest.mark.parametrize("page", CHAIN)
def test_readers_meet_names_and_no_keys(page):
    """In prose, heads of tables, legends and titles of the built chain; code and the cells of printed tables may."""
    keys = [key for key in (*words.SETS, *words.ENCODERS) if re.search(r"[_\d]", key)]
    article = BeautifulSoup((HTML / f"{page}.html").read_text(), "html.parser").article
    for tag in article.select("pre, code, script, style, .dataframe tbody, .attn-record"):
        tag.decompose()
    assert not re.findall(rf"(?<![\w/-])(?:{'|'.join(keys)})(?![\w-])", article.get_text(" "))


FIRST_EDITION = """
findings how-to-read index notation references scorecard sources-and-limits status teaching extending verdict
jain/01-introduction jain/02-preliminaries jain/03-datasets jain/04-experiments jain/04-1-correlation
jain/04-2-1-permutation jain/04-2-2-adversarial jain/06-discussion jain/appendix-adversarial
jain/appendix-correlation jain/appendix-heat-maps jain/appendix-permutation jain/authors-files jain/choices jain/cost
jain/how-much-data serrano/01-introduction serrano/03-data-and-models serrano/04-1-output-distributions
serrano/04-2-decision-flips serrano/05-sets-of-weights serrano/05-5-contextualisation serrano/06-limitations
serrano/appendix-other-models serrano/tests-exchanged serrano/what-exactness-shows wiegreffe/01-introduction
wiegreffe/03-1-setup wiegreffe/03-2-uniform wiegreffe/03-3-variance wiegreffe/03-4-guides wiegreffe/04-adversaries
wiegreffe/04-heat-maps wiegreffe/05-explanation wiegreffe/06-conclusion
"""
"""Every address of the first edition, commit 9c2ff02."""


def test_every_address_of_the_first_edition_leads_to_a_page():
    known = set(rendering.toc_pages(ROOT))
    moved = yaml.safe_load((ROOT / "book" / "redirects.yml").read_text())
    assert len(FIRST_EDITION.split()) == 46
    assert not [page for page in FIRST_EDITION.split() if page not in known and moved.get(page) not in known]
    assert set(moved.values()) <= known
    assert not set(moved) & known


def test_a_figure_is_text_of_the_page(displayed):
    """Inline SVG: what goes into its texts is escaped, colours are the page's, ids are its own."""
    sheet, axes = figures.sheet()
    axes.plot([0, 1], [0, 1], color=figures.COLOURS["lstm"])
    figures.show(sheet, "name", "a <b>", "x & y", 'say "alt"')
    text = displayed[0].data
    holds = ("a &lt;b&gt;", "x &amp; y", "say &quot;alt&quot;", 'id="fig-name"', 'id="name-')
    colour = f"var(--attn-lstm, {figures.COLOURS['lstm']})"
    assert not [part for part in (*holds, colour, "font-family: var(--attn-font") if part not in text]
    assert "\n\n" not in text


FOLDS = """<!doctype html><link rel="icon" href="data:,"><article class="bd-article"><h1>Title</h1>
<div class="cell"><details class="hide above-input"><summary>Code</summary><pre>x</pre></details></div>
<div class="cell"><details class="hide above-input"><summary>Code</summary><pre>y</pre></details></div>
<details class="attn-record"><summary>Every number</summary></details></article><script>SCRIPT</script>"""
OPEN = "[...document.querySelectorAll('details')].map(fold => fold.open).join(' ')"


def opened(chromium, page: Path, expected: str) -> str:
    """Which folds are open on a page; for five seconds it is opened anew until they are the expected ones, as what a
    browser keeps reaches the next page's process a moment later."""
    end = monotonic() + 5
    state = ""
    while state != expected and monotonic() < end:
        chromium.open(page)
        state = chromium.js(OPEN)
    return state


@pytest.mark.browser
def test_a_page_and_the_book_open_their_code(tmp_path, chromium):
    """By keys; on every page after the box is ticked; without the script the folds are what they were."""
    script = (ROOT / "book" / "_static" / "code.js").read_text()
    for name in ("one", "two"):
        (tmp_path / f"{name}.html").write_text(FOLDS.replace("SCRIPT", script))
    plain = "<article class='bd-article'><h1>No code</h1></article><script>"
    (tmp_path / "plain.html").write_text(plain + script)
    chromium.open(tmp_path / "one.html")
    assert chromium.js(OPEN) == "false false false"
    chromium.key("Tab")
    chromium.key("Enter")
    assert chromium.js(OPEN) == "true true false"
    assert chromium.js("document.activeElement.textContent") == "Hide code"
    chromium.key("Enter")
    assert chromium.js(OPEN) == "false false false"
    assert chromium.js("document.querySelector('.attn-code button').ariaPressed") == "false"
    tick = "document.querySelector('.attn-code input').click()"
    chromium.js(tick)
    assert opened(chromium, tmp_path / "two.html", "true true false") == "true true false"
    assert chromium.js("document.querySelector('.attn-code input').checked")
    chromium.js(tick)
    assert opened(chromium, tmp_path / "one.html", "false false false") == "false false false"
    chromium.open(tmp_path / "plain.html")
    assert chromium.js("document.querySelector('.attn-code') === null")
    assert not chromium.errors


def test_a_reader_of_the_chain_meets_little_code():
    """Plotting and queries stand folded, solutions in their folds; figures are drawn by what readers know."""
    counts = [len(open_lines(page)) for page in CHAIN]
    assert len(counts) > 20 and statistics.median(counts) <= VISIBLE, counts
    assert not [line for page in CHAIN for line in open_lines(page) if "figures.sheet(" in line]


def test_a_rounded_zero_has_no_sign():
    assert words.number(-0.001, ".2f") == "0.00"
    assert words.number(-0.02, ".2f") == "−0.02"
    assert words.number(0.25, ".0%") == "25%"
    assert words.number(-0.001, ".0%") == "0%"
