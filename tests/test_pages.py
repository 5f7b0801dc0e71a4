"""Every real page: its parameters, its execution with small ones, its place in the book, and what it refers to."""

import ast
import re
import subprocess
from functools import cache

import pytest
import sentences
from conftest import ROOT, refused
from nbformat.v4 import new_code_cell, new_output
from test_extending import EXPECTED

from attn_book import verdict
from attn_book.page import PARTS
from attn_book.scorecard import reported
from attn_build import plain, rendering, sources
from attn_lab import Run, obtain

PAGES = sorted(sources.pages(ROOT))
SOURCES = [*(ROOT / "notebooks").rglob("*.md"), *(ROOT / "book").glob("*.md")]


def test_toc_and_sources_agree():
    prose = {path.stem for path in (ROOT / "book").glob("*.md")} | {"status"}  # the build writes status.md
    toc = rendering.toc_pages(ROOT)
    assert len(set(toc)) == len(toc)
    assert set(toc) == set(PAGES) | prose
    assert not set(PAGES) & prose, "a page is prose or a notebook, not both"


@pytest.mark.parametrize("page", PAGES)
def test_parameters_are_literals_with_smoke_values(page):
    declares = sources.declaration(page, ROOT)
    defaults = declares.defaults
    assert defaults
    assert set(declares.takes) <= set(defaults)
    assert declares.check(defaults) == defaults


ELSEWHERE = ("one-model", "testing-the-tests")
"""Executed in kernels without torch, by test_reading.py."""


ALWAYS = ("how-to-measure", "jain/04-2-2-adversarial", "wiegreffe/03-3-variance")
"""Pages that `make test` executes, changed or not."""


def changed() -> str:
    """Sources of pages that are not what the server's main branch holds; without a server, not what is committed."""
    base = "$(git merge-base HEAD origin/HEAD || echo HEAD)"
    command = f"git diff --name-only {base}; git ls-files --others --exclude-standard notebooks"
    return subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def executed(pages) -> list:
    """These pages; `make test` leaves out those that did not change."""
    wanted = {*ALWAYS, *re.findall(r"^notebooks/(.*)\.md$", changed(), re.MULTILINE)}
    return [pytest.param(page, marks=() if page in wanted else pytest.mark.thorough) for page in pages]


@pytest.mark.parametrize("page", executed(page for page in PAGES if page not in ELSEWHERE))
@pytest.mark.usefixtures("own_tables")
def test_every_page_executes_and_its_sentences_follow(page, monkeypatch):
    """With the other parameters of its front matter; compared with the page as it stands in the book."""
    notebook = sources.convert(page, ROOT)
    small = sources.declaration(page, ROOT).smoke
    monkeypatch.chdir(ROOT)
    again = sentences.run_here(notebook, small, monkeypatch, EXPECTED)
    sentences.check(page, ROOT, again, monkeypatch)


SEVERAL = {"corpus": "agnews_all"}
"""Stored models of four classes, which most pages cannot read."""

REFUSED = [
    ("how-to-measure", {"text": "film"}, "three words or more, this one has 1"),
    ("wiegreffe/03-3-variance", {"seed": 10}, "give the second another one"),
    ("wiegreffe/04-adversaries", {"seed": 10}, "give the second another one"),
    ("in-practice", {"second": 10}, "give the second another one"),
    *[
        (page, SEVERAL, "is not in the archive")
        for page in ("jain/04-2-1-permutation", "one-word", "wiegreffe/03-2-uniform", "wiegreffe/03-4-guides")
    ],
]


@pytest.mark.parametrize(("page", "values", "message"), REFUSED)
def test_what_a_text_or_a_model_does_not_have_is_refused_in_one_line(page, values, message, monkeypatch):
    with refused(message):
        sentences.run_here(sources.convert(page, ROOT), values, monkeypatch)


def up_to(page: str, word: str):
    """A page to the first cell that holds this word."""
    notebook = sources.convert(page, ROOT)
    last = next(cell for cell in sources.codes(notebook.cells) if word in cell.source)
    notebook.cells = notebook.cells[: notebook.cells.index(last) + 1]
    return notebook


def test_a_sentence_of_one_word_and_a_set_that_the_book_lacks_have_their_page(monkeypatch):
    sentences.run_here(sources.convert("one-model", ROOT), {"sentence": "film"}, monkeypatch)
    sentences.run_here(
        sources.convert("gallery", ROOT), {"corpora": ["diabetes"]}, monkeypatch
    )  # nobody ran it
    notebook = sentences.run_here(up_to("one-word", "invariant.append"), {"corpus": "planted"}, monkeypatch)
    assert "planted" in notebook.cells[-1].outputs[0].text


def test_of_several_classes_the_predicted_one_s_p_is_read(monkeypatch):
    """A word speaks against the decision where the predicted class is surer without it."""
    notebook = sentences.run_here(up_to("in-practice", "speak against"), SEVERAL, monkeypatch)
    model = obtain(Run("agnews_all", vectors="ppmi-300")).traces
    against = (model.leave_one_out[model.most_attended] > 0).mean()
    assert f"{against:.0%} of the most" in notebook.cells[-1].outputs[0].text


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_references_survive_a_shortened_page(path):
    """A page cut short keeps its text up to the parameters and all text labels, but no number."""
    text = path.read_text()
    before = text.split("```{code-cell}")[0]
    assert path.parent.name == "book" or "{glue" not in before, "it quotes a number above its parameters"
    assert not re.search(r"\{(numref|prf:ref)\}`", text), "name a page's label instead"
    own = re.findall(r"\$\$ \(([\w-]+)\)$", text, re.MULTILINE)
    assert set(re.findall(r"\{eq\}`([\w-]+)`", text)) <= set(own), "an equation of another page"


def test_evidence_table_and_pages_agree():
    """Every statement that a page refers to stands in the table; marks and evidence fit."""
    table = reported("evidence")
    assert table.id.is_unique
    assert not table.isna().any().any()
    legend = (ROOT / "notebooks" / "sources-and-limits.md").read_text()
    assert not [kind for kind in table.evidence if f"| {kind} |" not in legend], "every kind is explained"
    figures = table.evidence.eq("printed number") & table.statement.str.contains("Figure")
    assert not figures.any(), "what is measured on a figure is printed nowhere"
    text = "\n".join(path.read_text() for path in SOURCES)
    records = [ast.unparse(call) for page in PAGES for call in calls(page, "tables.record")]
    used = re.findall(r"\bevidence-([a-z]+-\d+)", text) + re.findall(r"\b[a-z]{2,}-\d+\b", "".join(records))
    assert set(used) == set(table.id), "every statement is cited by a page, and nothing else is"


@cache
def cells_of(page: str) -> list:
    """Code cells of a page."""
    return sources.codes(sources.read_source(page, ROOT).cells)


def test_code_is_no_wider_than_a_screen():
    """Ruff holds the modules; cells of parameters have their own layout."""
    cells = [
        cell for page in PAGES for cell in cells_of(page) if "parameters" not in cell.metadata.get("tags", ())
    ]
    assert len(cells) > len(PAGES)
    assert not [line for cell in cells for line in cell.source.splitlines() if len(line) > 120]


def calls(page: str, *names: str) -> list[ast.Call]:
    """Calls of these functions in a page's cells."""
    nodes = (node for cell in cells_of(page) for node in ast.walk(ast.parse(cell.source)))
    return [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) in names]


def test_every_value_that_a_page_glues_is_shown_there():
    for page in PAGES:
        text = (ROOT / "notebooks" / f"{page}.md").read_text()
        named = {word.arg for call in calls(page, "glue", "page.glue") for word in call.keywords if word.arg}
        shown = set(re.findall(r"\{glue:(?:text|md)\}`?\s?(\w+)", text))
        assert named <= shown, f"{page} glues {sorted(named - shown)} and shows them nowhere"


def literals(nodes) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


@pytest.mark.parametrize("page", PAGES)
def test_the_words_of_every_guard_stand_in_a_sentence_of_the_page(page):
    """If all guards failed, `strike` would leave no note; f-strings in titles and captions count by their parts."""
    words = [word for guard in calls(page, "expect", "page.expect") for word in literals(guard.args[1:])]
    drawn = [text for figure in calls(page, "figures.show") for text in literals(ast.walk(figure))]
    drawn += [claim["why"] for claim in verdict.CLAIMS.values() if calls(page, "verdict.table")]
    shown = [
        *map(PARTS.outdated, words),
        *(PARTS.figure("name", " ".join(text.split()), "", "") for text in drawn),
    ]
    outputs = [new_output("display_data", {"text/html": html}) for html in shown]
    notebook = sources.read_source(page, ROOT)
    notebook.cells.append(new_code_cell(outputs=outputs))
    plain.strike(notebook)
    left = [word for word, output in zip(words, outputs, strict=False) if output["data"]["text/html"]]
    assert not left, f"no sentence has these words: {left}"
