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
from IPython.display import HTML
from nbformat.v4 import new_output

from attn_book import page
from attn_build import sources
from attn_build.plain import GLUED, glued, html_of, values_of

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
            if raw or isinstance(shown, HTML):
                data = shown if raw else {"text/html": shown.data}
                outputs.append(new_output("display_data", data, metadata=metadata or {}))

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


def check(name: str, root, again, monkeypatch) -> None:
    """Fail where a sentence of a page, run again with its `smoke`, does not follow; the page at its defaults as it lies
    in book/, if that is of this very text, else run here."""
    declares = sources.declaration(name, root)
    before = declares.defaults
    if set(before) & set(FOLLOWED):
        default = sources.in_book(root, name) or run_here(sources.convert(name, root), {}, monkeypatch)
        found = faults(default, again, before, before | declares.smoke)
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
            told = [of_text(paragraph, *values, changed) for paragraph in paragraphs(cell.source)]
        else:
            told = [of_outputs(*pair, changed) for pair in zip(shown(cell), shown(again), strict=False)]
        for paragraph in told:
            found += left_behind(paragraph, literals)
    return found


def left_behind(paragraph, literals: list[str]) -> list[str]:
    """The faults of a paragraph. Of each sentence: itself, its literal text, whether a name in it changed, and whether
    a number did."""
    found, named = [], False
    for sentence, fixed, names_change, numbers_change in paragraph:
        named |= names_change
        if numbers_change:
            found += [
                f"says {word!r} of a number that changed: {sentence}"
                for word in literals
                if holds(fixed, word)
            ]
            if not named:
                found.append(f"names nothing that changed: {sentence}")
    return found


def paragraphs(source: str) -> list[str]:
    """Paragraphs of a text; a box (`:::{div} … :::`) is one."""
    boxes = re.split(r"^(:::+\{div\}.*?^:::+)$", source, flags=re.MULTILINE | re.DOTALL)
    parts = [[text] if text.startswith(":::") else re.split(r"\n\s*\n", text) for text in boxes]
    return [paragraph for part in parts for paragraph in part]


def of_text(paragraph: str, before: dict, after: dict, changed: dict):
    """The sentences of a paragraph of the source, as `left_behind` takes them."""
    for sentence in SENTENCE_END.split(paragraph):
        roles = GLUED.finditer(sentence)
        moved = {role[1] for role in roles if glued(role[0], before) != glued(role[0], after)}
        yield sentence, GLUED.sub(" ", sentence), bool(moved & set(changed)), bool(moved - set(changed))


def of_outputs(before: list[str], after: list[str], changed: dict):
    """The texts that one cell shows, a paragraph, as `left_behind` takes them."""
    for first, second in zip(before, after, strict=False):
        if first != second:
            old_names, new_names = zip(*changed.values(), strict=True)
            names_change = any(holds(first, old) and holds(second, new) for old, new in changed.values())
            numbers_change = numbers_of(first, old_names) != numbers_of(second, new_names)
            yield second, second, names_change, numbers_change


def numbers_of(text: str, names: tuple) -> list[str]:
    """The numbers of a text, those within names apart."""
    for name in names:
        text = re.sub(rf"(?<!\w){re.escape(str(name))}(?!\w)", " ", text)
    return NUMBER.findall(text)


def holds(text: str, name: object) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(str(name))}(?![\w])", text) is not None


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
