"""Sphinx: the whole book, or one page again; several runs of a page side by side; old addresses; links to Binder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import yaml
from bs4 import BeautifulSoup
from sphinx_external_toc.parsing import parse_toc_yaml

from attn_book.exercises import read_yaml
from attn_build import PARTS, scratch_folder, write
from attn_build.plain import named
from attn_build.running import execute, git, kernel_environment
from attn_build.sources import declaration, repository
from attn_core.errors import AttnError

RECORD = "Replication record"
"""Caption of the part of the table of contents that is no reading matter: it stands off the chain of pages."""

PROCESS = """
import os, signal, sys, threading

def end_with_the_parent():
    sys.stdin.read()  # which holds the other end, and writes nothing
    os.killpg(0, signal.SIGKILL)

threading.Thread(target=end_with_the_parent, daemon=True).start()
from jupyter_book.cli.main import main
main()
"""
"""jupyter-book in a process group of its own, which ends when its parent does or closes its input."""

THEME = Path(__file__).parent / "theme"
"""Templates in place of the theme's."""

VIEWPORT = re.compile(r'<meta name="viewport"[^>]*>')
"""Of docutils; the theme's own stands above."""

LEAD = re.compile(r'<p class="attn-lead">(.*?)</p>', re.DOTALL)

KICKER = re.compile(r'(<p class="attn-kicker[ "].*?)(</p>)', re.DOTALL)

LONG_TABLE = re.compile(r'(<div class="attn-rows[^>]*>)(<div class="attn-window".*?</table></div>)', re.DOTALL)
ROWS_AT_ONCE = 50
"""A table of more rows is text to a browser that runs scripts; rows.js takes so many rows of it at a time."""

FONT_AWESOME = re.compile(r"/\*!\s*\* Font Awesome.*(?=html\{--pst-header-height)", re.DOTALL)
"""Its part of the theme's style sheet; attn.css draws the icons."""

STYLE = "_static/attn.css"
"""What every page names that is made here."""

BLOCKS = "article section > :not(section, .cell), article section > .cell > *"
"""What of a page is set beside its like in another run of it."""


# ---- the whole book --------------------------------------------------------------------------------------------------


def sphinx(root: Path) -> list[str]:
    """jupyter-book on all of root/book into root/_build/html; returns what went wrong, see _build/sphinx.log."""
    log = root / "_build" / "sphinx.log"
    shutil.rmtree(root / "_build" / "html", ignore_errors=True)
    log.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-c", PROCESS, "build", "book", "--config", "_config.yml", "--path-output", "."]
    command += ["-n", "-W", "--keep-going", "--all"]
    environment = os.environ | kernel_environment(str(log.parent)) | {"PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
    with (
        log.open("w") as file,
        subprocess.Popen(
            command,
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        status = process.wait()
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    problems = [line.strip() for line in lines if re.search(r"\b(WARNING|ERROR|CRITICAL):", line)]
    if status and not problems:
        problems = [f"Sphinx ended with status {status}: {line}" for line in lines[-1:]]
    return problems


def toc_pages(root: Path, record: bool = True) -> list[str]:
    """All pages that book/_toc.yml names, in its order; record=False leaves out the part of that caption."""
    toc = parse_toc_yaml(root / "book" / "_toc.yml")
    apart = [name for part in toc.root.subtrees if part.caption == RECORD for name in part.items]
    return [name for name in toc if record or name not in apart]


def redirect(root: Path) -> None:
    """A page at every old address of book/redirects.yml that leads to the new one."""
    for old, new in read_yaml(root / "book" / "redirects.yml").items():
        link = os.path.relpath(f"{new}.html", Path(old).parent)
        write(root / "_build" / "html" / f"{old}.html", PARTS.moved(link))


def address(root: Path) -> str | None:
    """OWNER/NAME of the clone on GitHub, from the setting ATTN_REPOSITORY, else from git's remote `origin`; or None."""
    setting = os.environ.get("ATTN_REPOSITORY")
    remote = f"github.com/{setting}" if setting else git(root, "remote", "get-url", "origin")
    match = re.search(r"github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?$", remote)
    return match[1] if match else None


def setup(app) -> dict:
    """As an extension of Sphinx: the book's templates; the chain ends before the record; long tables are turned over; a
    page has links to Colab, Binder and Codespaces, what citation managers read, MathJax where it has a formula, and
    nothing of Font Awesome."""
    root = Path(app.srcdir).parent
    chain = toc_pages(root, record=False)
    on_github = address(root)
    about = read_yaml(root / "CITATION.cff")

    def change(app, page: str, template: str, context: dict, doctree) -> None:
        _, *neighbours = app.env.collect_relations().get(page) or (None, None, None)
        for direction, neighbour in zip(("prev", "next"), neighbours, strict=True):
            if neighbour and (page in chain) != (neighbour in chain):
                context[direction] = None
        body = context.get("body", "")
        if on_github and (root / "notebooks" / f"{page}.md").is_file():
            body = KICKER.sub(rf"\1{PARTS.launch(on_github, page)}\2", body, count=1)
        context["metatags"] = VIEWPORT.sub("", context.get("metatags", ""))
        if body:
            lead = LEAD.search(body)
            if about:
                context["metatags"] += PARTS.cited(about, context["title"], lead[1] if lead else "")
            body = body.replace('role="list" class="citation-list"', 'class="citation-list"')
            context["body"] = LONG_TABLE.sub(packed, body)
        if 'class="math' not in body:  # Sphinx asks the pages below this one, too
            scripts = context["script_files"]
            context["script_files"] = [script for script in scripts if "mathjax" not in str(script.filename)]

    app.add_config_value("comments_config", {}, "html")  # jupyter-book sets it for sphinx_comments, which is not loaded
    app.config.templates_path.append(str(THEME))
    app.connect("html-page-context", change, priority=900)  # when all scripts of the page are there
    app.connect("build-finished", lighten)
    return {"parallel_read_safe": True}


def packed(table: re.Match) -> str:
    """A long table as what a browser without scripts shows."""
    box, rows = table.groups()
    return f"{box}<noscript>{rows}</noscript>" if rows.count("<tr>") > ROWS_AT_ONCE + 1 else table[0]


def lighten(app, error: Exception | None) -> None:
    """Take Font Awesome out of the built theme, 1.9 MB with its fonts."""
    static = Path(app.outdir) / "_static"
    for style in static.glob("styles/pydata-sphinx-theme.css"):
        write(style, FONT_AWESOME.sub("", style.read_text(encoding="utf-8")))
    for script in static.glob("scripts/fontawesome*"):
        script.unlink()
    shutil.rmtree(static / "vendor", ignore_errors=True)


# ---- one page again --------------------------------------------------------------------------------------------------


def rerun(
    page: str, parameters: dict, output: Path | None = None, compare: str = "", html: bool = True, force: bool = False
) -> Path:
    """Execute a page; with `html` as a page like the book's, with compare="NAME=a,b,c" once for each value, side by
    side. Returns the last file."""
    sheet = Path(output).with_suffix(".html") if output and (html or compare) else None
    if sheet and sheet.exists() and not force and STYLE not in sheet.read_text(errors="replace"):
        raise AttnError(f"{sheet} is no page that was written here; name another place with --output, or say --force")
    if not compare:
        path = execute(page, parameters, output, force=force)
        return rendered(path, page) if html else path

    every = choices(page, parameters, compare)
    sheets = [rendered(execute(page, choice, force=force), page) for choice in every.values()]
    values = "-".join(name.partition(" = ")[2] for name in [*every][1:])
    target = sheet or sheets[0].with_name(f"{sheets[0].stem}{named({'or': values})}.html")
    return side_by_side(sheets, [*every], target)


def choices(page: str, parameters: dict, compare: str) -> dict[str, dict]:
    """NAME = value -> the parameters of that run, of NAME=a,b,c; none runs where the page refuses one."""
    name, _, values = compare.partition("=")
    parts = [value.strip() for value in values.split(";" if ";" in values else ",")]
    if len(parts) < 2 or not all(parts):
        raise AttnError(f"--compare takes NAME=a,b,… (lists: NAME=a,b;c,d), two values or more; got {compare!r}")
    every = {f"{name} = {value}": {**parameters, name: value} for value in parts}
    for choice in every.values():
        declaration(page).settle(choice)
    return every


def rendered(notebook: Path, page: str) -> Path:
    """An executed notebook of a page as HTML beside it, by Sphinx with the book's configuration; returns the file."""
    root = repository()
    executed = nbformat.read(notebook, as_version=4)
    for cell in executed.cells:
        cell.source = cell.metadata.get("myst", cell.source)
    config = read_yaml(root / "_config.yml")
    options = config["sphinx"]["config"]
    options |= {"myst_all_links_external": True, "html_sidebars": {"**": []}}
    options["html_theme_options"] |= {
        "article_header_start": [],
        "article_header_end": ["toggle-secondary-sidebar.html"],  # and no search
    }
    name = Path(page).name
    target = notebook.with_suffix(".html")
    with scratch_folder() as scratch:
        book = Path(scratch) / "book"
        built = Path(scratch) / "_build" / "html"
        shutil.copytree(root / "book" / "_static", book / "_static")
        shutil.copy(root / "book" / "references.bib", book)
        write(book / "_toc.yml", f"format: jb-book\nroot: {name}\n")
        write(book.parent / "_config.yml", yaml.safe_dump(config, allow_unicode=True))
        nbformat.write(executed, book / f"{name}.ipynb")
        if problems := sphinx(book.parent):
            raise AttnError(f"{notebook} was executed, but no page could be made of it: {problems[0]}")
        shutil.copytree(built / "_static", target.parent / "_static", dirs_exist_ok=True)
        shutil.copy(built / f"{name}.html", target)
    return target


def side_by_side(paths: list[Path], names: list[str], target: Path) -> Path:
    """HTML forms of one page as one: what is the same in all once, what differs in columns, under `names`. They
    have the same blocks: their text is one, but for the box below the title, which a page at its defaults lacks."""
    sheets: list[Any] = [BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in paths]
    for sheet in sheets:
        if not sheet.select(".attn-changed"):
            sheet.select_one("article h1").insert_after(sheet.new_tag("div"))
    for same in zip(*(sheet.select(BLOCKS) for sheet in sheets), strict=True):
        texts = [str(block) for block in same]
        if len(set(texts)) > 1:
            columns = [renamed(text, number) for number, text in enumerate(texts)]
            twin = PARTS.twin(zip(names, columns, strict=True))
            same[0].replace_with(BeautifulSoup(twin, "html.parser"))
    write(target, str(sheets[0]))
    return target


def renamed(text: str, number: int) -> str:
    """HTML of a column, ids of all but the first its own: no name stands twice on a page."""
    return re.sub(r'(\bid="|\bfor="|url\(#|href="#)', rf"\1other{number}-", text) if number else text
