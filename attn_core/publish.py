"""What the build makes of an executed page before it is published: tidied, or cut short for want of a run."""

import re

from attn_core.cells import gap_box, gaps_of, minus

LABEL = re.compile(r"\([\w-]+\)=\s*")
"""A line of MyST that names the place below it."""

NOT_TEXT = re.compile(r"(<(style|script|code|pre)\b.*?</\2>|<[^>]*>)|[^<]+", re.DOTALL)
"""Group 1 of a piece of HTML: what is no text to read. Else the piece is text."""

TIED = re.compile(r"(?<=[\d%]) (to|/) (?=[−+]?\d)|(?<=\S) \*(?=\s*$)")
"""Within an interval, within a row of shares, before a star: where a narrow column must not break."""

EMPTY = "# outputs only"
"""Source of a cell that only shows something: MyST-NB skips cells without source, outputs and all."""


def tidy(notebook):
    """An executed notebook fit to publish: no paths of this machine, minus signs, one numbered figure per figure cell.

    MyST-NB wraps every display of a cell that declares a figure into a figure of the same name. Where such a cell
    displays more (a gap box beside the picture), the rest moves to a cell of its own behind it. The bare text of the
    cell's last expression (`Text(0.5, 0, 'x')`) is dropped there.
    """
    import nbformat

    _forget(notebook)
    cells = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            _typeset(output.get("data", {}))
        cells.append(cell)
        if "figure" not in cell.metadata.get("mystnb", {}):
            continue
        shown = [o for o in cell.outputs if "data" in o and "scrapbook" not in o.metadata]
        pictures = [o for o in shown if any(kind.startswith("image/") for kind in o.data)]
        rest = [o for o in shown if o is not (pictures or shown)[0]]
        cell.outputs = [o for o in cell.outputs if not any(o is other for other in rest)]
        rest = [o for o in rest if o.output_type != "execute_result" or set(o.data) != {"text/plain"}]
        if rest:
            tags = {"tags": ["remove-input"]}
            cells.append(nbformat.v4.new_code_cell(EMPTY, outputs=rest, metadata=tags, id=f"{cell.id}-rest"))
    notebook.cells = cells
    return notebook


def shortened(source, stopped, reason: str):
    """A page that stopped for want of a run: its text up to the parameters, and one gap box with all that is absent.

    Labels of the text that is left out are kept in front of the box, for other pages may refer to them.
    """
    import nbformat

    first = next(i for i, cell in enumerate(source.cells) if cell.cell_type == "code")
    texts = [cell.source for cell in source.cells[first:] if cell.cell_type == "markdown"]
    labels = [line for text in texts for line in text.splitlines() if LABEL.fullmatch(line)]
    told = "The rest of this page needs trained models that are not there."
    lines = list(dict.fromkeys([*gaps_of(stopped), *reason.splitlines()[:1]]))
    box = nbformat.v4.new_output("display_data", **gap_box(lines))
    cells = [
        *source.cells[: first + 1],
        nbformat.v4.new_markdown_cell("\n".join([*labels, told]), id="shortened"),
        nbformat.v4.new_code_cell(EMPTY, outputs=[box], metadata={"tags": ["remove-input"]}, id="shortened-gap"),
    ]
    page = nbformat.from_dict({**stopped, "cells": cells})
    _forget(page)
    return page


def _forget(notebook) -> None:
    """Take out what papermill noted of this machine."""
    for key in ("input_path", "output_path", "environment_variables", "exception"):
        notebook.metadata.papermill.pop(key, None)


def _typeset(data: dict) -> None:
    """Minus signs in shown tables and texts, as in glued ones; styles, code and tags of HTML stay.

    In HTML tables, which scroll, spaces within intervals, within rows of shares and before a star do not break.
    """
    if "text/markdown" in data:
        data["text/markdown"] = minus(data["text/markdown"])
    if "<table" in data.get("text/html", ""):
        data["text/html"] = NOT_TEXT.sub(lambda found: found[0] if found[1] else _cell(found[0]), data["text/html"])


def _cell(text: str) -> str:
    """The text of a table's cells, or between them, as it is shown."""
    return TIED.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), minus(text))
