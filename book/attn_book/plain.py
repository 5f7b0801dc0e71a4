"""Pages that read without Sphinx: MyST's roles and directives as the Markdown that Jupyter, VS Code and GitHub show."""

import ast
import os
import re
from collections.abc import Callable
from pathlib import Path

from markupsafe import Markup, escape

from attn_book.page import PARTS

ROLE = re.compile(r"\{(doc|ref|cite:[tp])\}`([^`<]*?)(?: <([^`>]*)>)?`")
"""A role of MyST, what it shows or names, and what it leads to where that is told apart."""

PLAIN = (
    (r"^\([\w-]+\)=\n", ""),  # labels
    (r"^```\{exercise\} ?(.*)\n:label: .*\n((?s:.*?))^```$", r"**Exercise: \1**\n\2"),
    (r"^```\{solution\} .*\n:.*\n((?s:.*?))^```$", r"<details><summary>Solution</summary>\n\1\n</details>"),
    (r"^```\{solution-start\} .*\n:.*\n```$", "**Solution**"),
    (r"^```\{solution-end\}\n```$", ""),
    (r"^:{3,}\{[\w-]+\} (?=\S* ?attn-).*$|^:{3,}(\{grid\}.*)?$|^:(gutter|class|link)[\w-]*:.*$", ""),
    (r"^:{3,}\{[\w-]+\} (.*)$", r"**\1**\n"),
)
"""Directives as plain Markdown, in this order."""


def values_of(notebook) -> dict:
    """Name -> value of all that an executed notebook glued."""
    records = [(output.metadata["scrapbook"]["name"], text) for cell in notebook.cells
               for output in cell.get("outputs", []) for kind, text in output.get("data", {}).items()
               if kind.startswith("application/papermill.record/")]  # fmt: skip
    return {name: ast.literal_eval(text) for name, text in records}


GLUED = re.compile(r"\{glue:text\}`(\w+)(?::([^`]*))?`")


def glued(text: str, values: dict) -> str:
    """Text with its numbers put in; one that is not among them is shown by its name, as code."""
    put = lambda role: format(values[role[1]], role[2] or "") if role[1] in values else f"`{role[1]}`"
    return GLUED.sub(put, text)


def readable(notebook, root: Path, target: Path, place: Callable[[str], Path | None], values: dict | None = None):
    """A notebook with numbers, names of sources and links put in, directives as plain Markdown; a cell keeps its own
    text as `metadata.myst`. root: of the repository. target: where the notebook will lie. place: page -> the file to
    link to, None for no link. values: of `values_of`, its own unless given."""
    from pybtex.database import parse_file

    references, values = root / "book" / "references.bib", values_of(notebook) if values is None else values
    sources = parse_file(references).entries if references.is_file() else {}
    labels = {}  # -> page
    for path in (root / "notebooks").rglob("*.md"):
        page = path.relative_to(root / "notebooks").with_suffix("").as_posix()
        labels |= dict.fromkeys(re.findall(r"^\(([\w-]+)\)=$", path.read_text(encoding="utf-8"), re.MULTILINE), page)

    def said(role: re.Match) -> str:
        kind, name, other = role.groups()
        if kind in ("doc", "ref"):
            page = labels.get(other or name) if kind == "ref" else (other or name).lstrip("/")
            found = place(page) if page else None
            return f"[{name}]({Path(os.path.relpath(found, target.parent)).as_posix()})" if found else name
        if not all(key in sources for key in name.split(",")):
            return name
        return ", ".join(_source(sources[key], kind == "cite:t") for key in name.split(","))

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = cell.metadata["myst"] = ROLE.sub(said, glued(cell.source, values))
            for directive, plain in PLAIN:
                cell.source = re.sub(directive, plain, cell.source, flags=re.MULTILINE)
    return notebook


def _source(entry, in_text: bool) -> str:
    """Authors and year: Jain & Wallace (2019) in a sentence, else (Jain & Wallace, 2019)."""
    names = [" ".join(person.prelast_names + person.last_names) for person in entry.persons["author"]]
    who, year = names[0] + " et al." if len(names) > 2 else " & ".join(names), entry.fields["year"]
    return f"{who} ({year})" if in_text else f"({who}, {year})"


MARKUP = {ord(sign): f"&#{ord(sign)};" for sign in "{`$[\\"}
"""What begins a role, code, a formula or a link, as characters of HTML."""


def named(values: dict) -> str:
    """Parameters as the end of a file's name: --epsilon-0.1--encoder-cnn."""
    ends = (f"--{name}-{value}" for name, value in values.items())
    return re.sub(r"[^\w.+-]+", "_", "".join(ends))[:150].rstrip("._")


def mark(notebook, defaults: dict, values: dict, book=None):
    """A notebook that says below its title which parameters are not at their defaults, what on the page follows them and
    what stays. book: the same page as the book shows it, or None."""
    changed = {name: value for name, value in values.items() if value != defaults[name]}
    first = next((cell for cell in notebook.cells if cell.cell_type == "markdown"), None)
    if changed and first:
        pairs = [(f"{name} = {value!r}", repr(defaults[name])) for name, value in changed.items()]
        pairs = [[Markup(escape(text).translate(MARKUP)) for text in pair] for pair in pairs]
        box = PARTS.changed(pairs, *(followed(book, notebook) if book else ("", "")))
        first.source = re.sub(r"^# .*$", lambda title: f"{title[0]}\n\n{box}", first.source, count=1, flags=re.M)
    return notebook


def followed(book, notebook) -> tuple[str, str]:
    """What of a page differs from the book's, and what does not, by section: "In ten lines (table, printed lines)"."""
    values = values_of(book), values_of(notebook)
    section, follows, stays = "", {}, {}
    cells = [cell for cell in notebook.cells if "injected-parameters" not in cell.metadata.get("tags", [])]
    for before, after in zip(book.cells, cells, strict=True):
        if before.cell_type == "markdown":
            for part in re.split(r"^(?=#+ )", before.source, flags=re.M):
                section = part.partition("\n")[0].lstrip("# ") if part.startswith("#") else section
                if GLUED.search(part):
                    same = glued(part, values[0]) == glued(part, values[1])
                    (stays if same else follows).setdefault(section, {})["text"] = None
        else:
            ours, theirs = _pictured(before), _pictured(after)
            for kind in {**ours, **theirs}:
                same = ours.get(kind) == theirs.get(kind)
                (stays if same else follows).setdefault(section, {})[kind] = None
    told = [", ".join(f"{name} ({', '.join(kinds)})" for name, kinds in part.items()) for part in (follows, stays)]
    return told[0] or "nothing", told[1] or "nothing"


def _pictured(cell) -> dict[str, list[str]]:
    """Kind -> what a cell shows of it, guards and names apart."""
    kinds = {}
    if "guard" in cell.metadata.get("tags", []):
        return kinds
    for output in cell.get("outputs", []):
        if output.output_type == "stream" and output.get("name") == "stdout":
            kinds.setdefault("printed lines", []).append(output.text)
        data = output.get("data", {})
        text = data.get("text/html", data.get("text/plain", ""))
        if "<figure" in text:
            kinds.setdefault("figure", []).append(text)
        elif "<table" in text:
            kinds.setdefault("table", []).append(text)
        elif text:
            kinds.setdefault("output", []).append(text)
    return kinds
