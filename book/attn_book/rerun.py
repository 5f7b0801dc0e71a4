"""One executed notebook as a page like the book's, and two of them side by side."""

import re
import shutil
import tempfile
from difflib import SequenceMatcher
from pathlib import Path

import nbformat
import yaml
from bs4 import BeautifulSoup

from attn_book.build import execute, locate, repository, sphinx
from attn_book.page import PARTS
from attn_book.plain import named
from attn_core.errors import AttnError

STYLE = "_static/attn.css"
"""What every page names that is made here."""


def rendered(notebook: Path, root: Path, page: str) -> Path:
    """An executed notebook as HTML beside it, by Sphinx with the book's configuration; returns the file.

    page: its name in the book, such as jain/04-1-correlation; style and scripts go into `_static` beside the HTML.
    """
    shown, target = nbformat.read(notebook, as_version=4), notebook.with_suffix(".html")
    for cell in shown.cells:
        cell.source = cell.metadata.get("myst", cell.source)
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    alone = {"article_header_start": [], "article_header_end": ["toggle-secondary-sidebar.html"]}  # no search
    config["sphinx"]["config"] |= {"myst_all_links_external": True, "html_sidebars": {"**": []}}
    config["sphinx"]["config"]["html_theme_options"] |= alone
    with tempfile.TemporaryDirectory(prefix="attn-") as scratch:
        book, html = Path(scratch) / "book", Path(scratch) / "_build" / "html"
        shutil.copytree(root / "book" / "_static", book / "_static")
        shutil.copy(root / "book" / "references.bib", book)
        (book / "_toc.yml").write_text(f"format: jb-book\nroot: {Path(page).name}\n", encoding="utf-8")
        (book.parent / "_config.yml").write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")
        nbformat.write(shown, book / f"{Path(page).name}.ipynb")
        if problems := sphinx(book.parent):
            raise AttnError(f"{notebook} was executed, but no page could be made of it: {problems[0]}")
        shutil.copytree(html / "_static", target.parent / "_static", dirs_exist_ok=True)
        text = (html / f"{Path(page).name}.html").read_text(encoding="utf-8")
        target.write_text(re.sub(r'<script src="searchindex.js"[^>]*></script>', "", text), encoding="utf-8")
    return target


BLOCKS = "article section > :not(section, .cell), article section > .cell > *"
"""What of a page is set beside its like in another run of it."""


def side_by_side(left: Path, right: Path, names: tuple[str, str], target: Path) -> Path:
    """Two HTML forms of one page as one: what is the same once, what differs in two columns, under `names`."""
    first, second = (BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in (left, right))
    ours, others = first.select(BLOCKS), second.select(BLOCKS)
    parts = SequenceMatcher(None, [*map(str, ours)], [*map(str, others)], autojunk=False).get_opcodes()
    for way, start, end, its_start, its_end in parts:
        if way != "equal":
            one, other = ("".join(map(str, part)) for part in (ours[start:end], others[its_start:its_end]))
            other = re.sub(r'(\bid="|\bfor="|url\(#|href="#)', r"\1other-", other)  # no name twice on a page
            twin = BeautifulSoup(PARTS.twin(zip(names, (one, other), strict=True)), "html.parser")
            ours[min(start, len(ours) - 1)].insert_before(twin)
            for part in ours[start:end]:
                part.extract()
    target.write_text(str(first), encoding="utf-8")
    return target


def rerun(
    page: str, parameters: dict, output: Path | None = None, compare: str = "", html: bool = True, force: bool = False
) -> Path:
    """Execute a page; with `html` as a page like the book's, with compare="NAME=a,b" twice. Returns the last file.

    force: replace what stands at `output`, whoever made it."""
    root, (page, _), shown = repository(), locate(page), output and Path(output).with_suffix(".html")
    if not force and (html or compare) and shown and shown.exists() and STYLE not in shown.read_text(errors="replace"):
        raise AttnError(f"{shown} is no page that was written here; name another place with --output, or say --force")
    if not compare:
        path = execute(page, parameters, output, force=force)
        return rendered(path, root, page) if html else path
    name, _, values = compare.partition("=")
    both = [value.strip() for value in values.split(";" if ";" in values else ",")]
    if len(both) != 2 or not all(both):
        raise AttnError(f"--compare takes NAME=a,b (lists: NAME=a,b;c,d), two values of one parameter; got {compare!r}")
    runs = [rendered(execute(page, {**parameters, name: value}, force=force), root, page) for value in both]
    target = shown or runs[0].with_name(f"{runs[0].stem}{named({'or': both[1]})}.html")
    return side_by_side(*runs, tuple(f"{name} = {value}" for value in both), target)
