"""Pages that read without Sphinx: MyST's roles and directives as the Markdown that Jupyter, VS Code and GitHub show;
and what a page says of itself when it was run with other parameters."""

import ast
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from markupsafe import Markup, escape
from nbformat import NotebookNode

from attn_book.page import RECORD
from attn_build import PARTS

GLUED = re.compile(r"\{glue:text\}`(\w+)(?::([^`]*))?`")
"""A number of the text: its name, and how it is written."""

ROLE = re.compile(r"\{(doc|ref|cite:[tp])\}`([^`<]*?)(?: <([^`>]*)>)?`")
"""A role of MyST, what it shows or names, and what it leads to where that is told apart."""

LABEL = re.compile(r"^\(([\w-]+)\)=\s*$", re.MULTILINE)

CARD = re.compile(r"^:link: (.*)\n:link-type: (doc|ref)\n", re.MULTILINE)
"""Where a whole card leads to."""

DIRECTIVE = re.compile(
    r"^(:{3,}|`{3,})\{(?P<name>[\w-]+)\} *(?P<argument>.*)\n(?::label: (?P<label>.*)\n)?(?::[\w-]+:.*\n)*"
    r"\s*(?P<body>(?s:.*?))\s*^\1$",
    re.MULTILINE,
)
"""A directive that stands in no other."""

PLAIN = (
    (r"^\([\w-]+\)=(?:\n|\Z)|^```\{index\}.*\n```\n", ""),  # labels, entries of the index
    (r"^```\{exercise\} ?(.*)\n:label: .*\n((?s:.*?))^```$", r"**Exercise: \1**\n\2"),
    (r"^```\{solution\} .*\n:.*\n((?s:.*?))^```$", r"<details><summary>Solution</summary>\n\1\n</details>"),
    (r"^```\{solution-start\} .*\n:.*\n```$", "**Solution**"),
    (r"^```\{solution-end\}\n```$", ""),
    (r"^:{3,}\{[\w-]+\} (?=\S* ?attn-).*$|^:{3,}(\{grid\}.*)?$|^:(gutter|class|link)[\w-]*:.*$", ""),
    (r"^:{3,}\{[\w-]+\} (.*)$", r"**\1**\n"),
)
"""Directives as plain Markdown, in this order."""

EQUATION = re.compile(r"\s*\$\$ \(([\w-]+)\)$", re.MULTILINE)
"""How a formula with a number ends: its label."""

NOTE = re.compile(r'<p class="attn-outdated" data-says="([^"]*)">')
"""The note of a failed guard; its group: the words of the sentence that does not hold."""

TAG_OR_TEXT = re.compile(r"(</?[a-z][^>]*>)|(?:`[^`\n]*`|[^<`]|<(?!/?[a-z]))+")
SENTENCE = re.compile(r"\S[^\n]*?(?:[.!?][*”)]*(?=\s|$)|$)", re.MULTILINE)

MARKUP = {ord(sign): f"&#{ord(sign)};" for sign in "{`$[\\"}
"""What begins a role, code, a formula or a link, as characters of HTML."""


# ---- what a page is made of ------------------------------------------------------------------------------------------


@dataclass
class Piece:
    """A directive of a page, or what stands between two of them (name: '', body: none). argument: behind its name."""

    text: str
    name: str = ""
    argument: str = ""
    label: str = ""
    body: str = ""


def pieces(text: str) -> Iterator[Piece]:
    """A cell's directives and the text between them, in order; together they are the cell."""
    at = 0
    for directive in DIRECTIVE.finditer(text):
        yield Piece(text[at : directive.start()])
        yield Piece(directive[0], **directive.groupdict(""))
        at = directive.end()
    yield Piece(text[at:])


def walk(cells: list[NotebookNode]) -> Iterator[tuple[NotebookNode, Piece, str]]:
    """(cell, piece, label of the solution that it stands in or '') of a page; a cell of code is one piece."""
    label = ""
    for cell in cells:
        for piece in pieces(cell.source) if cell.cell_type == "markdown" else [Piece(cell.source)]:
            if piece.name == "solution-end":
                label = ""
            yield cell, piece, label
            if piece.name == "solution-start":
                label = piece.argument


# ---- a page as plain Markdown ----------------------------------------------------------------------------------------


def outputs_of(notebook: NotebookNode) -> list[NotebookNode]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def values_of(notebook: NotebookNode) -> dict:
    """Name -> value of all that an executed notebook glued."""
    return {
        output.metadata["scrapbook"]["name"]: ast.literal_eval(output.data[RECORD])
        for output in outputs_of(notebook)
        if RECORD in output.get("data", {})
    }


def glued(text: str, values: dict) -> str:
    """Text with its numbers put in; one that is not among them is shown by its name, as code."""

    def shown(role: re.Match) -> str:
        name, form = role.groups()
        return format(values[name], form or "") if name in values else f"`{name}`"

    return GLUED.sub(shown, text)


def readable(
    notebook: NotebookNode,
    root: Path,
    target: Path,
    place: Callable[[str], Path | None],
    values: dict | None = None,
) -> NotebookNode:
    """A notebook with numbers, names of sources and links put in, directives as plain Markdown; a cell keeps its own
    text as `metadata.myst`. root: of the repository. target: where the notebook will lie. place: page -> the file to
    link to, None for no link. values: of `values_of`, its own unless given."""
    if values is None:
        values = values_of(notebook)
    citations = citations_of(root)
    labels = labels_of(root)

    def path_to(link: str, kind: str) -> str:
        file = place(labels.get(link, "") if kind == "ref" else link.lstrip("/"))
        return Path(os.path.relpath(file, target.parent)).as_posix() if file else ""

    def shown(role: re.Match) -> str:
        kind, text, link = role.groups()
        if kind.startswith("cite"):
            return cited(text, citations, in_text=kind == "cite:t")
        path = path_to(link or text, kind)
        return f"[{text}]({path})" if path else text

    def on_card(option: re.Match) -> str:
        path = path_to(*option.groups())
        return f":link: {path}\n" if path else ""

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = ROLE.sub(shown, glued(cell.source, values))
            cell.source = cell.metadata["myst"] = CARD.sub(on_card, text)
            cell.source = plain(cell.source)
    count_equations(notebook.cells)
    return notebook


def count_equations(cells: list[NotebookNode]) -> None:
    """Numbers in place of the labels of formulas, and where these are referred to."""
    labels = [label for cell in cells for label in EQUATION.findall(cell.source)]
    for cell in cells if labels else ():
        text = EQUATION.sub(lambda end: rf" \tag{{{labels.index(end[1]) + 1}}} $$", cell.source)
        cell.source = re.sub(r"\{eq\}`([\w-]+)`", lambda role: f"({labels.index(role[1]) + 1})", text)


def plain(text: str) -> str:
    """MyST's directives as plain Markdown."""
    for directive, form in PLAIN:
        text = re.sub(directive, form, text, flags=re.MULTILINE)
    return text


def labels_of(root: Path) -> dict[str, str]:
    """Label -> the page that it stands on."""
    folder = root / "notebooks"
    return {
        label: path.relative_to(folder).with_suffix("").as_posix()
        for path in folder.rglob("*.md")
        for label in LABEL.findall(path.read_text(encoding="utf-8"))
    }


def citations_of(root: Path) -> dict:
    """Key -> entry of the book's bibliography."""
    from pybtex.database import parse_file

    references = root / "book" / "references.bib"
    return parse_file(references).entries if references.is_file() else {}


def cited(keys: str, citations: dict, in_text: bool) -> str:
    """Sources by name, keys where one is not in the bibliography."""
    entries = [citations.get(key) for key in keys.split(",")]
    return ", ".join(citation(entry, in_text) for entry in entries) if all(entries) else keys


def citation(entry, in_text: bool) -> str:
    """Authors and year: Jain & Wallace (2019) in a sentence, else (Jain & Wallace, 2019)."""
    names = [" ".join(person.prelast_names + person.last_names) for person in entry.persons["author"]]
    who = f"{names[0]} et al." if len(names) > 2 else " & ".join(names)
    year = entry.fields["year"]
    return f"{who} ({year})" if in_text else f"({who}, {year})"


# ---- a page that was run with other parameters -----------------------------------------------------------------------


def named(values: dict) -> str:
    """Parameters as the end of a file's name: --epsilon-0.1--encoder-cnn."""
    ends = (f"--{name}-{value}" for name, value in values.items())
    return re.sub(r"[^\w.+-]+", "_", "".join(ends))[:150].rstrip("._")


def literal(text: str) -> Markup:
    """A text as HTML in which nothing is markup, neither HTML's nor MyST's."""
    return Markup(escape(text).translate(MARKUP))


def mark(notebook: NotebookNode, defaults: dict, values: dict, book: NotebookNode | None = None) -> NotebookNode:
    """A notebook that says below its title which parameters are not at their defaults, whether a sentence does not
    hold (`page.expect`), what on the page follows them and what stays. book: the page as the book shows it, or None."""
    pairs = [
        (literal(f"{name} = {value!r}"), literal(repr(defaults[name])))
        for name, value in values.items()
        if value != defaults[name]
    ]
    first = notebook.cells[0]
    if pairs:
        follows = followed(book, notebook) if book else ("", "")
        box = PARTS.changed(pairs, strike(notebook), *follows)
        first.source = re.sub(
            r"^# .*$", lambda title: f"{title[0]}\n\n{box}", first.source, count=1, flags=re.MULTILINE
        )
    return notebook


def strike(notebook: NotebookNode) -> bool:
    """Strike through the sentences whose guard failed, in the text, in the figures' titles and captions, and in what
    stands beside the verdict's claims; whether a guard did. Its note (`page.expect`) goes where a sentence has its
    words."""
    outputs = outputs_of(notebook)
    says = {note for output in outputs for note in NOTE.findall(html_of(output))}
    struck: set[str] = set()

    def sentence(text: re.Match) -> str:
        hit = {note for note in says if unescape(note) in unescape(text[0])}
        struck.update(hit)
        return struck_through(text[0]) if hit else text[0]

    def mended(text: str) -> str:
        return TAG_OR_TEXT.sub(lambda piece: piece[0] if piece[1] else SENTENCE.sub(sentence, piece[0]), text)

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = mended(cell.source)
    for output in outputs:
        if re.search("<figure|attn-claims", html_of(output)):
            output["data"]["text/html"] = mended(html_of(output))
    for output in outputs:
        if struck.intersection(NOTE.findall(html_of(output))):
            output["data"]["text/html"] = ""
    return bool(says)


def struck_through(sentence: str) -> str:
    """A sentence, or the cells of a table's row, struck through."""
    if not (sentence.startswith("|") or sentence.endswith("|")):
        return PARTS.struck(sentence)
    return re.sub(r"[^|]*\w[^|]*", lambda cell: f" {PARTS.struck(cell[0].strip())} ", sentence)


def html_of(output: NotebookNode) -> str:
    """The HTML of an output, '' if it has none."""
    return output.get("data", {}).get("text/html", "")


def followed(book: NotebookNode, notebook: NotebookNode) -> list[str]:
    """What of a page differs from the book's, and what does not, by section: "In ten lines (table, printed lines)"."""
    after = by_section(notebook)
    lists: dict[bool, dict[str, list]] = {False: defaultdict(list), True: defaultdict(list)}
    for (section, kind), shown in by_section(book).items():
        lists[after.get((section, kind)) == shown][section].append(kind)
    return [
        ", ".join(f"{section} ({', '.join(kinds)})" for section, kinds in same.items()) or "nothing"
        for same in lists.values()
    ]


def by_section(notebook: NotebookNode) -> dict[tuple[str, str], list[str]]:
    """(section, kind) -> what an executed page shows there: text with numbers, figures, tables, printed lines."""
    values = values_of(notebook)
    section = ""
    shown: dict[tuple[str, str], list[str]] = defaultdict(list)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for text in re.split(r"^(?=#+ )", cell.source, flags=re.MULTILINE):
                section = "".join(re.findall(r"\A#+ (.*)", text)) or section
                if GLUED.search(text):
                    shown[section, "text"].append(glued(text, values))
        for output in cell.get("outputs", []):
            html = html_of(output)
            if output.get("name") == "stdout":
                shown[section, "printed lines"].append(output.text)
            elif html:
                kind = "figure" if "<figure" in html else "table" if "<table" in html else "element"
                shown[section, kind].append(html)
    return shown
