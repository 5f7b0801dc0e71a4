"""Whether the sentences of a page follow its parameters: two runs of the page, compared sentence by sentence.

A *name* is what `page.here` holds of a parameter ("SST", "BiLSTM", "0.05"). A sentence of the text, of a figure's
title, caption or alternative text, or of a printed output is at fault if a number in it changed, and neither it nor
one before it in its paragraph holds a name that changed too; or if it still holds the default's name as literal text.
"""

import contextlib
import html
import io
import re

import matplotlib.pyplot as plt
import nbformat
from IPython.display import HTML
from nbformat.v4 import new_output

from attn_book import page
from attn_build import sources
from attn_build.plain import GLUED, html_of, values_of

FOLLOWED = ("corpus", "encoder", "seed", "epsilon")
"""Parameters that sentences must follow."""

LITERAL = ("corpus", "encoder", "the_encoder", "an_encoder", "epsilon")
"""Names that may not stay in a sentence whose number changed."""

SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
NUMBER = re.compile(r"\d[\d.,]*\d|\d")
FIGURE = re.compile(r'<figure class="attn-fig" id="([^"]*)">.*?</figure>', re.DOTALL)
FIGURE_TEXT = re.compile(
    r'class="attn-fig-title">(.*?)</p>|aria-label="(.*?)"|<figcaption>(.*?)</figcaption>', re.DOTALL
)


# ---- running a page in this process ----------------------------------------------------------------------------------


def run_here(notebook, parameters: dict, monkeypatch, after: dict | None = None):
    """The notebook with what its cells displayed and printed, run in this process, where what pages share is read once.

    after: tag -> code to run behind the cells of that tag.
    """
    outputs = []

    def display(*objects, metadata=None, raw=False, **_) -> None:
        for shown in objects:
            if raw:
                outputs.append(new_output("display_data", shown, metadata=metadata or {}))
            elif isinstance(shown, HTML):
                outputs.append(new_output("display_data", {"text/html": shown.data}))

    monkeypatch.setattr("IPython.display.display", display)
    names = {"display": display, "__name__": "__main__"}
    for number, cell in enumerate(sources.codes(notebook.cells)):
        outputs.clear()
        tags = cell.metadata.get("tags", [])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(cell.source, f"cell {number}", "exec"), names)
        for tag in tags:
            exec((after or {}).get(tag, ""), names)
        if printed.getvalue():
            outputs.append(new_output("stream", text=printed.getvalue()))
        cell.outputs = list(outputs)
        if "parameters" in tags:
            names |= parameters
    plt.close("all")
    return notebook


def default_run(name: str, root, monkeypatch):
    """The page at its defaults: as it lies executed in book/, if that is of this very text, else run here."""
    notebook = sources.convert(name, root)
    path = sources.executed(root, name)
    if path.is_file():
        stored = nbformat.read(path, 4)
        if [cell.source for cell in stored.cells] == [cell.source for cell in notebook.cells]:
            return stored
    return run_here(notebook, {}, monkeypatch)


def check(name: str, root, again, monkeypatch) -> None:
    """Fail where a sentence of a page, run again with its `smoke`, does not follow."""
    declares = sources.declaration(name, root)
    before = declares.defaults
    if not set(before) & set(FOLLOWED):
        return
    after = before | declares.smoke
    found = faults(default_run(name, root, monkeypatch), again, before, after)
    assert not found, "\n".join(found)


# ---- comparing -------------------------------------------------------------------------------------------------------


def faults(default, other, before: dict, after: dict) -> list[str]:
    """Sentences that do not follow. default, other: executed notebooks of one page. before, after: the parameters."""
    names_before, names_after = page.in_text(before), page.in_text(after)
    changed = {
        name: (told, names_after[name]) for name, told in names_before.items() if told != names_after[name]
    }
    left = [name for name in FOLLOWED if name in before and name not in changed]
    found = [f"the page's `smoke` leaves {name} at its default" for name in left]
    literals = [changed[name][0] for name in LITERAL if name in changed]
    values = values_of(default), values_of(other)
    cells = [cell for cell in other.cells if "injected-parameters" not in cell.metadata.get("tags", [])]
    for cell, again in zip(default.cells, cells, strict=True):
        if cell.cell_type == "markdown":
            for paragraph in paragraphs(cell.source):
                found += in_paragraph(paragraph, *values, changed, literals)
        else:
            for pair in zip(shown(cell), shown(again), strict=False):
                found += in_outputs(*pair, changed, literals)
    return found


def paragraphs(source: str) -> list[str]:
    """Paragraphs of a text; a box (`:::{div} … :::`) is one."""
    boxes = re.split(r"^(:::+\{div\}.*?^:::+)$", source, flags=re.MULTILINE | re.DOTALL)
    parts = [[text] if text.startswith(":::") else re.split(r"\n\s*\n", text) for text in boxes]
    return [paragraph for part in parts for paragraph in part]


def in_paragraph(paragraph: str, before: dict, after: dict, changed: dict, literals: list[str]) -> list[str]:
    """Faults of a paragraph of the source."""
    found, named = [], False
    for sentence in SENTENCE_END.split(paragraph):
        roles = GLUED.findall(sentence)
        moved = {name for name, form in roles if rendered(name, form, before) != rendered(name, form, after)}
        named |= bool(moved & set(changed))
        if moved - set(changed):
            fixed = GLUED.sub(" ", sentence)
            found += [
                f"says {word!r} of a number that changed: {sentence}"
                for word in literals
                if holds(fixed, word)
            ]
            if not named:
                found.append(f"names nothing that changed: {sentence}")
    return found


def in_outputs(before: list[str], after: list[str], changed: dict, literals: list[str]) -> list[str]:
    """Faults of the texts that one cell shows, a paragraph."""
    found, named = [], False
    for first, second in zip(before, after, strict=False):
        if first == second:
            continue
        named |= any(holds(first, old) and holds(second, new) for old, new in changed.values())
        old_names, new_names = zip(*changed.values(), strict=True)
        if numbers_of(first, old_names) != numbers_of(second, new_names):
            found += [
                f"says {word!r} of a number that changed: {second}"
                for word in literals
                if holds(second, word)
            ]
            if not named:
                found.append(f"names nothing that changed: {second}")
    return found


def numbers_of(text: str, names: tuple) -> list[str]:
    """The numbers of a text, those within names apart."""
    for name in names:
        text = re.sub(rf"(?<!\w){re.escape(str(name))}(?!\w)", " ", text)
    return NUMBER.findall(text)


def holds(text: str, name: object) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(str(name))}(?![\w])", text) is not None


def rendered(name: str, form: str, values: dict) -> str:
    return format(values[name], form or "") if name in values else ""


def shown(cell) -> list[list[str]]:
    """The texts of a cell's outputs, each output a paragraph: printed lines; a figure's title, alternative text,
    caption."""
    paragraphs = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream" and output.get("name", "stdout") == "stdout":
            paragraphs.append(output.text.splitlines())
        for figure in FIGURE.finditer(html_of(output)):
            texts = ["".join(groups) for groups in FIGURE_TEXT.findall(figure[0])]
            paragraphs.append([html.unescape(text) for text in texts])
    return paragraphs
