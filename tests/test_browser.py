"""Every page of the built book in a real browser; skipped where there is no Chromium, or no book in _build/html."""

from pathlib import Path

import chromium
import pytest

from attn_book import build

ROOT = Path(__file__).parents[1]
HTML = ROOT / "_build" / "html"
ICON = '<link rel="icon" href="data:,">'

pytestmark = [pytest.mark.browser, pytest.mark.slow,
              pytest.mark.skipif(chromium.CHROMIUM is None, reason="no Chromium installed")]  # fmt: skip


@pytest.mark.skipif(not (HTML / "index.html").is_file(), reason="no built book; `make book` writes it")
def test_every_page_fits_and_its_console_is_silent():
    pages = [name for name in build.toc_pages(ROOT) if (HTML / f"{name}.html").is_file()]
    with chromium.served(HTML) as address:
        found = chromium.survey(address, pages, (1280, 390))
    assert len(found) == 2 * len(pages) > 40
    problems = []
    for page, width, told, errors in found:
        problems += [f"{page}: takes {told['takes']} px of {width}"] if told["takes"] > width else []
        problems += [f"{page}, {width} px: console: {error.splitlines()[0]}" for error in errors]
        if width == 1280:
            problems += [f"{page}: a cell of parameters scrolls: {text}" for text in told["code"]]
            problems += [f"{page}: a table scrolls: {text}" for text in told["tables"]]
    assert not problems, "\n".join(dict.fromkeys(problems))


def test_what_is_wrong_is_noticed(tmp_path):
    (tmp_path / "good.html").write_text(f"<!doctype html>{ICON}<p>Short.</p>")
    wide = '<div style="width: 1500px">x</div><div class="attn-beside" style="width: 90px; overflow: auto">'
    (tmp_path / "bad.html").write_text(f"{ICON}{wide}<p style='width: 300px'>table</p></div><script>nowhere()</script>")
    with chromium.served(tmp_path) as address:
        (_, _, good, silent), (_, _, bad, errors) = chromium.survey(address, ["good", "bad"], (400,))
    assert good["takes"] == 400 and not good["tables"] and not silent
    assert bad["takes"] >= 1500 and bad["tables"] == ["table"] and "nowhere is not defined" in errors[0]
