"""What the cells of a page call: numbers for the prose, and boxes for runs that are not there."""

import html
import re

SIGN = re.compile(r"(\{(?:ref|doc)\})`([^`]*)`|(`[^`]*`)|(?<![\w-])-(?=\d)")
"""Groups 1 and 2: a link to another page and its text; 3: other text between backticks; else the sign of a number."""


def glue(**values: object) -> None:
    """Name numbers (or words) for the prose: `glue(tau=0.38)`, then {glue:text}`tau:.2f` in the text.

    The same record that `myst_nb.glue(…, display=False)` leaves, without importing Sphinx into the reader's kernel;
    NumPy scalars become plain numbers, so that a format such as `:.2f` works. A list of texts becomes a bulleted list,
    for the directive glue:md. In texts the signs of numbers become minus signs.
    """
    from IPython.display import display

    prefix = "application/papermill.record/"
    for name, value in values.items():
        record = {"scrapbook": {"name": name, "mime_prefix": prefix}}
        if isinstance(value, list):
            data = {f"{prefix}text/markdown": "\n".join(f"- {minus(text)}" for text in value)}
        else:
            plain = minus(value) if isinstance(value, str) else value.item() if hasattr(value, "item") else value
            data = {f"{prefix}text/plain": repr(plain)}
        display(data, metadata=record, raw=True)


def minus(text: str) -> str:
    """Signs of numbers as minus signs; hyphens within words and what stands between backticks stay, links excepted."""
    link = lambda found: f"{found[1]}`{minus(found[2])}`"
    return SIGN.sub(lambda found: link(found) if found[1] else found[3] or "−", text)


def gap(*lines: str) -> None:
    """Show a gap box: what is not there and what would fill it. The build lists all gap boxes at its end.

    Call it once per cell with all that is missing (`gap(*absent)`; nothing missing shows nothing). AttnErrors may be
    passed as they are. What follows a line break in a text is folded away under its first line.
    """
    from IPython.display import display

    if lines:
        box = gap_box([str(line) for line in lines])
        display(box["data"], metadata=box["metadata"], raw=True)


def gap_box(texts: list[str]) -> dict:
    """A gap box as a display: its data in two forms, and its lines in the metadata, from which builds list them."""
    parts = [text.partition("\n") for text in texts]
    body = "".join(
        f"<details><summary>{html.escape(first)}</summary>{html.escape(rest)}</details>"
        if rest
        else f"<p>{html.escape(first)}</p>"
        for first, _, rest in parts
    )
    texts = [f"{first}; {rest}" if rest else first for first, _, rest in parts]
    box = f'<div class="admonition attn-gap"><p class="admonition-title">Not in the archive</p>{body}</div>'
    data = {"text/html": box, "text/plain": "\n".join(f"[gap] {text}" for text in texts)}
    return {"data": data, "metadata": {"attn": {"gap": texts}}}


def gaps_of(notebook) -> list[str]:
    """The lines of all gap boxes of an executed notebook."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [line for output in outputs for line in output.get("metadata", {}).get("attn", {}).get("gap", [])]
