"""As an extension of Sphinx: the chain's figures and tables of results are counted in reading order, and a search for
"Figure 6" finds those of the papers.

A target such as `(jain-figure-6)=` before the cell that draws our counterpart names the paper's item: links to it say
which of our figures that is.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

from attn_book.verdict import PAPERS
from attn_build.rendering import toc_pages

FIGURE = re.compile(r'(<figure class="attn-fig" id="fig-([\w-]+)">\s*<p class="attn-fig-title">)')
TABLE = re.compile(r'\A(<div class="attn-(?:beside|claims|window)"[^>]*><table)(>)')
ITEM = re.compile(rf"({'|'.join(PAPERS)})-(figure|table)-(\d+)")
"""A target of a paper's item."""

FINDER = "find-a-figure"


def setup(app) -> dict:
    """starts: what is counted before each page of the chain. named: a paper's item -> which of ours stands for it."""
    chain = toc_pages(Path(app.srcdir).parent, record=False)
    starts: dict[str, Counter] = {}
    named: dict[str, str] = {}

    def count(app, env) -> None:
        counts: Counter = Counter()
        for page in chain if len(chain) > 1 else ():  # a page alone has no numbers
            starts[page] = counts.copy()
            for node, _, number in numbered(env.get_doctree(page), counts):
                for parent in above(node):
                    for label in parent.get("ids", ()):
                        named.setdefault(label, number)

    def write(app, doctree, page: str) -> None:
        if page in starts:
            for node, text, _ in list(numbered(doctree, starts[page].copy())):
                node.children = [nodes.Text(text)]
        doctree.insert(0, addnodes.index(entries=searched(doctree)))
        if page == FINDER:
            for link in doctree.findall(nodes.reference):
                if number := named.get(link.get("refuri", "").partition("#")[2]):
                    link += nodes.inline("", f" ({number})")

    app.connect("env-updated", count)
    app.connect("doctree-resolved", write)
    return {"parallel_read_safe": True}


def numbered(doctree: nodes.document, counts: Counter) -> Iterator[tuple[nodes.raw, str, str]]:
    """HTML of the page that holds a figure or a table of results outside folds, with its number, and that number."""
    for node in doctree.findall(nodes.raw):
        text = node.astext()
        pattern = FIGURE if FIGURE.search(text) else TABLE
        if not pattern.search(text) or any("dropdown" in parent.get("classes", ()) for parent in above(node)):
            continue
        kind = "Figure" if pattern is FIGURE else "Table"
        counts[kind] += 1
        number = f"{kind} {counts[kind]}"
        if pattern is FIGURE:
            text = FIGURE.sub(rf'\1<a class="attn-number" href="#fig-\2">{number}.</a> ', text)
        else:
            anchor = number.lower().replace(" ", "-")
            link = f'<a class="attn-number" href="#{anchor}">{number}</a>'
            text = TABLE.sub(rf'\1 id="{anchor}"\2<caption>{link}</caption>', text)
        yield node, text, number


def above(node: nodes.Node) -> Iterator[nodes.Element]:
    """The elements that hold a node, nearest first."""
    while node := node.parent:
        yield node


def searched(doctree: nodes.document) -> list[tuple]:
    """Entries of the index, by which people find a paper's item: what they type is half of an entry at least, and a
    part of it."""
    entries = []
    for element in doctree.findall(nodes.Element):
        for item in filter(None, map(ITEM.fullmatch, element.get("ids", ()))):
            paper, kind, number = item.groups()
            initials = "&".join(word[0] for word in PAPERS[paper].split(" & "))
            what = f"{kind} {number}"
            names = (f"{what} ({initials})", f"{paper} {what}", f"{initials} {what}", f"{PAPERS[paper]} {what}")
            entries += [("single", name, item[0], "main", None) for name in names]
    return entries
