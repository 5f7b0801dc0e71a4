"""The chain of pages as one PDF: its built articles in one sheet of HTML, printed by a headless Chromium."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from bs4 import BeautifulSoup

from attn_book.build import repository, toc_pages
from attn_book.page import TEMPLATES
from attn_core.errors import AttnError

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
"""A Chromium of this machine, or None."""

NAME = "is-attention-explanation.pdf"
LINK = f'<p class="attn-note attn-pdf"><a href="{NAME}">The whole book as one PDF</a>, to read or print.</p>'


def write_pdf(root: str | Path | None = None) -> Path | None:
    """Print the built chain and link it from the front page; returns the file, or None where there is no Chromium."""
    built = repository(root) / "_build" / "html"
    if not (built / "index.html").is_file():
        raise AttnError(f"there is no {built / 'index.html'}; build the book first: python -m attn_core book")
    if CHROMIUM is None:
        return None
    target, sheet = built / NAME, built / "print.html"
    sheet.write_text(one_sheet(repository(root)), encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        command += ["--virtual-time-budget=60000", "--generate-pdf-document-outline", "--no-pdf-header-footer"]
        done = subprocess.run([*command, f"--print-to-pdf={target}", sheet.as_uri()], capture_output=True, text=True)
    sheet.unlink()
    if not target.is_file():
        raise AttnError(f"{CHROMIUM} wrote no PDF: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    front = built / "index.html"
    text = front.read_text(encoding="utf-8")
    if LINK not in text:
        front.write_text(text.replace("</article>", f"{LINK}</article>", 1), encoding="utf-8")
    return target


def one_sheet(root: Path) -> str:
    """HTML of all articles of the chain, one section a page, without folds; links to other pages become plain text."""
    built, chain = root / "_build" / "html", toc_pages(root, record=False)
    own = {path.name for path in (root / "book" / "_static").glob("*.*js")}
    place = lambda page, anchor="": f"{page.replace('/', '-')}--{anchor}"
    heads, sections = {}, []
    for page in chain:
        soup = BeautifulSoup((built / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
        for tag in soup.select("[src], a[href], link[href]"):
            key = "src" if tag.get("src") else "href"
            tag[key] = urljoin(f"{page}.html", tag[key])  # as seen from the folder of the book
        scripts = [tag for tag in soup.head.find_all("script")
                   if "window.MathJax" in tag.text or Path(urlsplit(tag.get("src", "")).path).name in own]  # fmt: skip
        heads |= dict.fromkeys(map(str, soup.head.select("link[rel=stylesheet]") + scripts))
        article = soup.find("article", class_="bd-article")
        for tag in article.select(".headerlink, details, .admonition.dropdown"):
            tag.decompose()
        for tag in article.select("[id]:not(svg, input, svg *, .attn-play *)"):
            tag["id"] = place(page, tag["id"])
        for tag in article.find_all("a", href=True):
            file, _, anchor = tag["href"].partition("#")
            if file.removesuffix(".html") in chain:
                tag["href"] = f"#{place(file.removesuffix('.html'), anchor)}"
            elif ":" not in file:
                tag.unwrap()
        sections.append((place(page), str(article)))
    return TEMPLATES.get_template("sheet.html").render(heads=heads, sections=sections)
