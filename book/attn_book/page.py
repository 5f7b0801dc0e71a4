"""What a page calls, and its parameters: numbers for the prose, guards of sentences, refusal of wrong parameters.

papermill only logs an unknown name and lets a string replace a number, so values are checked twice: by
`attn_book.build.execute` before a page runs, and by the guard cell inside every notebook.
"""

import ast
import html
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches

import yaml

from attn_core.errors import AttnError

SIGN = re.compile(r"(?<![\w-])-(?=\d)")
"""The sign of a number; hyphens within words and dates are none."""

SCALARS = (bool, int, float, str)

FIND = """# Outside the repository: set ATTN_ARCHIVE to a clone's data/archive, or work in a folder below a clone.
def find_clone():
    import os, sys
    from importlib.util import find_spec
    from pathlib import Path

    starts = [Path(start).resolve() for start in (os.environ.get("ATTN_ARCHIVE"), os.getcwd()) if start]
    for place in (folder for start in starts for folder in (start, *start.parents)):
        if (place / "book" / "attn_book" / "page.py").is_file():
            sys.path += [str(place), str(place / "book")]  # behind what is installed
    if not (find_spec("attn_core") and find_spec("attn_book")):
        sys.exit("attn_core is neither installed nor above this folder: set ATTN_ARCHIVE to a clone's data/archive")

find_clone()"""
"""Source of a cell before all others: a downloaded notebook finds the packages, or stops with one line."""

GUARD = """
from attn_core.store import archive_folder
from attn_book.page import guard

archive_folder()  # one line where there is none
guard(globals(), {})  # a misspelt or wrongly typed parameter stops here"""
"""Source of the cell behind the parameters, after `FIND`; the braces take the further arguments of `guard`."""

CHANGED: dict[str, object] = {}
"""Parameters of the running page that are not at their defaults; `guard` fills it."""


# ---- numbers and guards ----------------------------------------------------------------------------------------------


def glue(**values: object) -> None:
    """Name numbers (or words) for the prose: `glue(tau=0.38)`, then {glue:text}`tau:.2f` in the text.

    The record of `myst_nb.glue(…, display=False)`, without Sphinx in the reader's kernel.
    """
    from IPython.display import display

    prefix = "application/papermill.record/"
    for name, value in values.items():
        plain = minus(value) if isinstance(value, str) else value.item() if hasattr(value, "item") else value
        record = {"scrapbook": {"name": name, "mime_prefix": prefix}}
        display({f"{prefix}text/plain": repr(plain)}, metadata=record, raw=True)


class Outdated(AssertionError):
    """A sentence of a page that its numbers no longer bear out."""


def expect(holds: object, what: str) -> None:
    """Guard a sentence of the prose: `expect(shown > judged / 2, "most sets")`.

    A failed guard is an error at the default parameters; with others the page shows one banner.
    """
    from IPython.display import HTML, display

    if holds:
        return
    if not CHANGED:
        raise Outdated(f"the text says: {what}; its numbers no longer do. Rewrite the sentence")
    if not CHANGED.get(OUTDATED):
        CHANGED[OUTDATED] = True
        values = ", ".join(f"{name} = {value!r}" for name, value in CHANGED.items() if name != OUTDATED)
        text = f"The text of this page was written for its default parameters; here {values}. Trust the numbers shown."
        display(HTML(f'<div class="admonition attn-outdated"><p>{html.escape(text)}</p></div>'))


OUTDATED = "banner shown"


def minus(text: str) -> str:
    """Signs of numbers as minus signs."""
    return SIGN.sub("−", text)


# ---- parameters ------------------------------------------------------------------------------------------------------


class ParameterError(AttnError):
    """A parameter that a page does not know or cannot take. In a notebook it shows as one line, not as a traceback."""


def declared(cell: str, page: str) -> dict:
    """Names and defaults of a parameters cell, read and never run; AttnError at a line that is not `name = literal`."""
    found = {}
    try:
        for statement in ast.parse(cell).body:
            (target,) = statement.targets
            value = found[target.id] = ast.literal_eval(statement.value)
            if not all(isinstance(item, SCALARS) for item in listed(value)):
                raise ValueError
    except SyntaxError as error:
        raise AttnError(f"page {page}: line {error.lineno} of its parameters is no Python ({error.msg})") from error
    except (AttributeError, ValueError) as error:
        line, kinds = ast.unparse(statement).splitlines()[0], "a bool, int, float, str or a list of these"
        told = f"its parameters cell holds only `name = literal` ({kinds}), found: {line}"
        raise AttnError(f"page {page}: {told}") from error
    return found


def listed(value: object) -> list:
    """The items of a list or tuple; anything else as the one item of a list."""
    return list(value) if isinstance(value, list | tuple) else [value]


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the known one that is most like it, if any."""
    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


def check(defaults: dict, values: dict, page: str, takes: dict | None = None) -> dict:
    """`values` in the types of their defaults; ParameterError, one line, for an unknown name or what is not taken.

    takes: name -> the least that a number may be; or a list of the values taken (for a list: of its items, and None
    where it may be empty); or 'default' for those of the default.
    """
    kinds = {name: type(value).__name__ for name, value in defaults.items()}
    for name, value in defaults.items():
        if isinstance(value, list | tuple) and value:
            kinds[name] += " of " + " or ".join(sorted({type(item).__name__ for item in value}))
    known = "Known: " + (", ".join(f"{name} ({kinds[name]}, {value!r})" for name, value in defaults.items()) or "none")
    fitted = {}
    for name, value in values.items():
        if name not in defaults:
            raise ParameterError(f"page {page} has no parameter {name!r}{nearest(name, defaults)} {known}")
        try:
            fitted[name] = _fit(value, defaults[name])
        except ValueError as error:
            told = f"must be {kinds[name]}, got {value!r} ({error}). {known}"
            raise ParameterError(f"page {page}: parameter {name} {told}") from None
        items, limit = listed(fitted[name]), (takes or {}).get(name)
        if isinstance(limit, int | float):
            fits, told = items and min(items) >= limit, f"numbers of at least {limit}"
        else:
            taken = defaults[name] if limit == "default" else limit or [*items, None]
            fits = set(items) <= set(taken) and (items or None in taken)
            told = " or ".join("nothing" if item is None else str(item) for item in taken)
        if not fits:
            raise ParameterError(f"page {page}: parameter {name} takes {told}; got {fitted[name]!r}")
    return fitted


def _fit(value: object, default: object) -> object:
    """`value` as the type of `default`; ValueError with the reason where it does not fit."""
    several = isinstance(default, list | tuple)
    if isinstance(value, str) and not isinstance(default, str):
        value = _read(value, several)
    if several != isinstance(value, list | tuple):
        raise ValueError("not a list" if several else f"a {type(value).__name__}")
    kinds, items = {type(item) for item in listed(default)} or set(SCALARS), []
    for item in listed(value):
        item = item.item() if hasattr(item, "item") else item  # NumPy's scalars, from a caller in Python
        item = float(item) if type(item) is int and int not in kinds and float in kinds else item
        if type(item) not in kinds:
            raise ValueError(f"a {type(item).__name__}")
        if isinstance(item, float) and not math.isfinite(item):
            raise ValueError("not finite")
        items.append(item)
    return type(default)(items) if several else items[0]


def _read(text: str, several: bool) -> object:
    """What is written on a command line: a literal of Python or YAML, of several items with or without brackets."""
    text = f"[{text}]" if several and not text.strip().startswith(("[", "(")) else text.strip()
    for read in (ast.literal_eval, yaml.safe_load):
        with suppress(ValueError, SyntaxError, yaml.YAMLError):
            return read(text)
    return text


def guard(names: dict, page: str, takes: dict | None = None, /, **defaults: object) -> None:
    """Check a running notebook's globals() against their defaults, and write them back in the declared type."""
    values = {name: names[name] for name in defaults if name in names}
    for cell in names.get("In", []):
        if cell.startswith("# Parameters\n"):  # papermill's
            assigned = [target.id for line in ast.parse(cell).body for target in getattr(line, "targets", [])]
            values |= {name: names.get(name) for name in assigned}
    checked = check(defaults, values, page, takes)
    CHANGED.clear()
    CHANGED.update({name: value for name, value in checked.items() if value != defaults[name]})
    names.update(checked)
