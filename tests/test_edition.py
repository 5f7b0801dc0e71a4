"""The rules of a rewritten page, one that shows its experiment in ten lines: short, little code, mostly visible."""

import re
from pathlib import Path

import pytest

from attn_book import build, figures
from attn_core.errors import AttnError

ROOT = Path(__file__).parents[1]
PAGES = [name for name, path in build.pages(ROOT).items() if "## In ten lines" in path.read_text(encoding="utf-8")]
HIDDEN = {"remove-input", "remove-cell", "hide-input", "hide-cell"}
WORDS, LINES, WIDTH, VISIBLE = 900, 150, 72, 0.6


def parts(page: str) -> tuple[str, list, list]:
    """Prose without mark-up, visible and hidden code cells of a page."""
    cells = build.read_source(build.locate(page, ROOT)[1]).cells
    prose = " ".join(cell.source for cell in cells if cell.cell_type == "markdown")
    prose = re.sub(r"```bash.*?```|\$\$.*?\$\$|<[^>]*>", " ", prose, flags=re.S)
    prose = re.sub(r"^\([\w-]+\)=$|^:.*$|^```.*$|\{[\w:,-]+\}`[^`]*`", " ", prose, flags=re.M)
    code = [cell for cell in cells if cell.cell_type == "code"]
    hidden = [bool(HIDDEN & set(cell.metadata.get("tags", []))) for cell in code]
    pick = lambda want: [cell.source for cell, is_hidden in zip(code, hidden, strict=True) if is_hidden == want]
    return prose, pick(False), pick(True)


def lines(cells: list[str]) -> list[str]:
    return [line for cell in cells for line in cell.splitlines() if line.strip()]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_short_and_its_method_is_seen(page):
    prose, visible, hidden = parts(page)
    assert len(re.findall(r"\w+", prose)) <= WORDS * 1.05, "prose"  # marks that are no words count a little
    total = len(lines(visible)) + len(lines(hidden))
    assert total <= LINES and len(lines(visible)) >= VISIBLE * total, (len(lines(visible)), total)
    assert not [line for line in lines(visible) if len(line) > WIDTH]
    seen = "\n".join(visible)
    assert "attn_core" in seen and "traces" in seen and "print(" in seen, "computes its experiment"


@pytest.mark.parametrize("page", PAGES)
def test_qualitative_sentences_have_guards(page):
    _, visible, hidden = parts(page)
    assert "expect(" in "\n".join(visible + hidden)


def test_a_long_caption_is_refused():
    sheet, _ = figures.sheet()
    with pytest.raises(AttnError, match="caption has 151 characters"):
        figures.show(sheet, "x", "title", "c" * 151, "alt")


def test_a_figure_is_text_of_the_page(monkeypatch):
    """Inline SVG: what goes into its texts is escaped, colours are the page's, ids are its own."""
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython.display, "display", shown.append)
    sheet, axes = figures.sheet()
    axes.plot([0, 1], [0, 1], color=figures.COLOURS["lstm"])
    figures.show(sheet, "name", "a <b>", "x & y", 'say "alt"')
    text = shown[0].data
    assert "a &lt;b&gt;" in text and "x &amp; y" in text and "say &quot;alt&quot;" in text
    assert f"var(--attn-lstm, {figures.COLOURS['lstm']})" in text and 'id="fig-name"' in text
    assert "\n\n" not in text and 'id="name-' in text and "font-family: var(--attn-font" in text


def test_labels_are_kept_apart():
    assert list(figures.spaced([0.0, 0.0], 0.2)) == [-0.1, 0.1]
    assert list(figures.spaced([0.0, 1.0], 0.2)) == [0.0, 1.0]
