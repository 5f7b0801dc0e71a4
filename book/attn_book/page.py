"""What a page calls: numbers for the prose, guards of sentences, names that follow the parameters, the reader's run.

A page that is run again with other parameters must not say of one data set what is true of another. Three things help:

- *Names follow.* Every scalar parameter is glued under its own name, in people's words: {glue:text}`corpus` is "SST",
  {glue:text}`encoder` "BiLSTM", {glue:text}`an_encoder` "a BiLSTM", {glue:text}`the_encoder` "the BiLSTM" or "the
  encoder without context", {glue:text}`epsilon` "0.05". In code, for captions and printed lines: `page.here.corpus`.
  A sentence whose number follows a parameter names it so, or comes after one of its paragraph that does. A number of a
  fixed data set stays, and so does the set's name in the text.
- *The reader's run stands beside the book's.* `page.chosen(mean=…)` is one row with the parameters' corpus, encoder,
  attention and seed, its index "yours, 1 seed"; at the defaults it is an empty table. `page.with_yours(rows, yours)`
  puts it below a table, `figures.yours(axes, x, y)` or `figures.yours_in_lines(axes, yours, order)` into a figure.
- *What cannot be shown is refused* before the page runs: see `attn_book.parameters`.
"""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, select_autoescape

from attn_book import parameters
from attn_book.words import ATTENTION_NAMES, ENCODERS, SETS, WITH_ARTICLE, YOURS, in_words, number
from attn_core.errors import say
from attn_lab.runs import foreign

SIGN = re.compile(r"(?<![\w-])-(?=\d)")
"""The sign of a number; hyphens within words and dates are none."""

RECORD = "application/papermill.record/text/plain"
"""As what a number for the prose is displayed."""

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=select_autoescape(), trim_blocks=True
)
TEMPLATES.policies["json.dumps_kwargs"] = {}  # in the order given
TEMPLATES.filters |= {"number": number, "in_words": in_words}
TEMPLATES.globals |= {"ENCODERS": ENCODERS, "SETS": SETS}
PARTS: Any = TEMPLATES.get_template("parts.html").module
"""The macros of parts.html."""

CHANGED: dict[str, object] = {}
"""Parameters of the running page that are not at their defaults; `guard` fills it."""
PARAMETERS: dict[str, object] = {}
"""All parameters of the running page, and the fixed fields of the run that it reads."""

here = SimpleNamespace()
"""The running page's parameters as sentences name them: `here.corpus` is "SST"."""


# ---- numbers and guards ----------------------------------------------------------------------------------------------


def glue(**values: object) -> None:
    """Name numbers (or words) for the prose: `glue(tau=0.38)`, then {glue:text}`tau:.2f` in the text. The record of
    `myst_nb.glue(…, display=False)`, without Sphinx in the reader's kernel."""
    from IPython.display import display

    for name, value in values.items():
        if isinstance(value, str):
            value = minus(value)
        elif hasattr(value, "item"):
            value = value.item()
        record = {"scrapbook": {"name": name, "mime_prefix": RECORD.removesuffix("text/plain")}}
        display({RECORD: repr(value)}, metadata=record, raw=True)


def expect(holds: object, *says: str) -> None:
    """Guard sentences of the page, each named by words that stand in it: `expect(shown > judged / 2, "on most sets")`.
    A failed guard is an error at the default parameters; with others these sentences, titles and captions are struck
    through where they stand (`attn_build.plain.strike`), and where none has the words a note stands here."""
    from IPython.display import HTML, display

    if holds:
        return
    if not CHANGED:
        raise AssertionError(f"the text says: {'; '.join(says)}; its numbers no longer do. Rewrite the sentence")
    for words in says:
        display(HTML(PARTS.outdated(words)))


def minus(text: str) -> str:
    """Signs of numbers as minus signs."""
    return SIGN.sub("−", text)


# ---- parameters ------------------------------------------------------------------------------------------------------


def guard(names: dict, page: str, takes: dict | None = None, reads: dict | None = None, /, **defaults: object) -> None:
    """Check a running notebook's globals() against their defaults, and write them back in the declared type: papermill
    lets a string replace a number."""
    foreign.load_plugins()
    values = {name: names[name] for name in defaults if name in names}
    for cell in names.get("In", []):
        if cell.startswith("# Parameters\n"):  # papermill's
            values |= parameters.declared(cell, page)
    declares = parameters.Declaration(page, defaults, takes or {}, reads)
    settled = declares.settle(values)
    if settled.get("vectors") != values.get("vectors", settled.get("vectors")):
        say(f"page {page} reads the stored model with word vectors {settled['vectors']}")
    CHANGED.clear()
    CHANGED.update(declares.changed(settled))
    PARAMETERS.clear()
    PARAMETERS.update({**(reads or {}), **settled})
    names.update(settled)
    here.__dict__.clear()
    here.__dict__.update(in_text(settled))


def in_text(settled: dict) -> dict[str, object]:
    """Scalar parameters as sentences name them, see the head of this file."""
    said: dict[str, Any] = {name: value for name, value in settled.items() if isinstance(value, parameters.SCALARS)}
    said |= {name: f"{value:g}" for name, value in said.items() if isinstance(value, float)}
    for name, words in (("corpus", SETS), ("encoder", ENCODERS), ("attention", ATTENTION_NAMES)):
        if name in said:
            said[name] = words.get(said[name], said[name])
    if "encoder" in said:
        noun = WITH_ARTICLE.get(settled["encoder"], said["encoder"])
        article = "an" if noun[0] in "aeiou" else "a"
        said |= {"an_encoder": f"{article} {noun}", "the_encoder": f"the {noun}"}
    return said


def chosen(**values: object) -> pd.DataFrame:
    """The run that the reader chose, as a row to stand beside the book's: its fields, these values, n_seeds 1; the
    index is YOURS. At the defaults a table without rows and columns."""
    if not CHANGED:
        return pd.DataFrame()
    fields = {name: PARAMETERS[name] for name in parameters.RUN_FIELDS if name in PARAMETERS}
    return pd.DataFrame([fields | values | {"n_seeds": 1}], index=[YOURS])


def with_yours(rows: pd.DataFrame, yours: pd.DataFrame) -> pd.DataFrame:
    """A table of the book's with the row of `chosen` below, in the table's columns."""
    return pd.concat([rows, yours.filter(rows.columns)])
