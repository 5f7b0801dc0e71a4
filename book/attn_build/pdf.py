"""The book on paper: a cover, contents and the chain of pages as one sheet of HTML, printed by a headless Chromium."""

import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urljoin

from attn_build import render, scratch_folder, write
from attn_build.rendering import toc_pages
from attn_build.slides import Tree, built_page
from attn_build.sources import repository
from attn_core.errors import AttnError

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
"""A Chromium of this machine, or None."""

NAME = "is-attention-explanation.pdf"
LINK = f'<p class="attn-note attn-pdf"><a href="{NAME}">The whole book as one PDF</a>, to read or print.</p>'
PAGE = re.compile(rb"^(\d+) 0 obj\n<</Type /Page\n", re.MULTILINE)
PLACE = re.compile(rb"/([\w-]+--) \[(\d+) 0 R")
"""As Chromium writes what a link leads to: its name, and the object of its page."""

NUMBER = re.compile(r"§([\w-]+--)§")
"""Where the table of contents gets the number of a page."""

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--virtual-time-budget=60000",
    "--generate-pdf-document-outline",
    "--no-pdf-header-footer",
)


def write_pdf(root: str | Path | None = None) -> Path | None:
    """Print the built chain and link it from the front page; returns the file, or None where there is no Chromium."""
    root = repository(root)
    built = root / "_build" / "html"
    front = built / "index.html"
    if not front.is_file():
        raise AttnError(f"there is no {front}; build the book first: python -m attn_core book")
    if CHROMIUM is None:
        return None
    sheet = built / "print.html"
    text = one_sheet(root)
    target = built / NAME
    write(sheet, text)
    printed(sheet, target)
    numbers = page_numbers(target.read_bytes())
    write(sheet, NUMBER.sub(lambda line: numbers.get(line[1], ""), text))
    printed(sheet, target)
    sheet.unlink()
    link_from(front, LINK)
    return target


def page_numbers(content: bytes) -> dict[str, str]:
    """Anchor of each of the book's pages -> the number of the sheet of paper on which it begins."""
    sheets = PAGE.findall(content)
    return {name.decode(): str(sheets.index(page) + 1) for name, page in PLACE.findall(content) if page in sheets}


def link_from(page: Path, note: str) -> None:
    """Put a note at the end of a built page, once."""
    text = page.read_text(encoding="utf-8")
    if note not in text:
        write(page, text.replace("</article>", f"{note}</article>", 1))


def printed(sheet: Path, target: Path) -> Path | None:
    """Print a file of HTML; returns the PDF, or None where there is no Chromium."""
    if CHROMIUM is None:
        return None
    with scratch_folder() as profile:
        command = [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", f"--print-to-pdf={target}", sheet.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not target.is_file():
        raise AttnError(f"{CHROMIUM} wrote no PDF: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return target


def one_sheet(root: Path) -> str:
    """HTML of all articles of the chain, one section a page, without folds; links to other pages become plain text."""
    built = root / "_build" / "html"
    chain = toc_pages(root, record=False)
    scripts = [f'script[src*="/{path.name}"]' for path in (root / "book" / "_static").glob("*.*js")]
    needed = ", ".join(['script:-soup-contains("window.MathJax")', *scripts])
    heads: dict[str, None] = {}
    sections = []
    built_page.cache_clear()
    for page in chain:
        soup = built_page(built, page)
        for tag in soup.select("[src], a[href], link[href]"):
            key = "src" if tag.get("src") else "href"
            tag[key] = urljoin(f"{page}.html", tag[key])  # as seen from the folder of the book
        heads |= dict.fromkeys(map(str, [*soup.head.select("link[rel=stylesheet]"), *soup.head.select(needed)]))
        for tag in soup.article.select("details:not(.attn-claims details), .admonition.dropdown"):
            tag.decompose()
        within_the_sheet(soup.article, page, chain)
        sections.append((anchor(page), soup.h1.text, str(soup.article)))
    return render("sheet.html", heads=heads, sections=sections)


def within_the_sheet(article: Tree, page: str, chain: list[str]) -> None:
    """Anchors that no other page has, and links that lead to them."""
    for tag in article.select("[id]:not(svg, input, svg *, .attn-play *)"):
        tag["id"] = anchor(page, tag["id"])
    for tag in article.find_all("a", href=True):
        file, _, name = tag["href"].partition("#")
        target = file.removesuffix(".html")
        if target in chain:
            tag["href"] = f"#{anchor(target, name)}"
        elif ":" not in file:
            tag.unwrap()


def anchor(page: str, name: str = "") -> str:
    return f"{page.replace('/', '-')}--{name}"
