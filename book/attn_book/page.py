"""What a page calls: numbers for the prose, guards of sentences; and its parameters, which are checked twice, by
`build.execute` before it runs and by the guard cell inside every notebook: papermill lets a string replace a number."""

import ast
import re
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, Union

import yaml
from jinja2 import Environment, FileSystemLoader, select_autoescape
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from attn_book.words import ENCODERS, SETS, in_words, number
from attn_core import foreign
from attn_core.errors import AttnError
from attn_core.results import stored_vectors

SIGN = re.compile(r"(?<![\w-])-(?=\d)")
"""The sign of a number; hyphens within words and dates are none."""

SCALARS = (bool, int, float, str)
STRICT = ConfigDict(strict=True, allow_inf_nan=False)

TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=select_autoescape(),
                        trim_blocks=True)  # fmt: skip
TEMPLATES.policies["json.dumps_kwargs"] = {}  # in the order given
TEMPLATES.filters |= {"number": number, "in_words": in_words}
TEMPLATES.globals |= {"ENCODERS": ENCODERS, "SETS": SETS}
PARTS = TEMPLATES.get_template("parts.html").module
"""The macros of parts.html."""

CHANGED: dict[str, object] = {}
"""Parameters of the running page that are not at their defaults; `guard` fills it."""
OUTDATED = "banner shown"


# ---- numbers and guards ----------------------------------------------------------------------------------------------


def glue(**values: object) -> None:
    """Name numbers (or words) for the prose: `glue(tau=0.38)`, then {glue:text}`tau:.2f` in the text. The record of
    `myst_nb.glue(…, display=False)`, without Sphinx in the reader's kernel."""
    from IPython.display import display

    prefix = "application/papermill.record/"
    for name, value in values.items():
        plain = minus(value) if isinstance(value, str) else value.item() if hasattr(value, "item") else value
        record = {"scrapbook": {"name": name, "mime_prefix": prefix}}
        display({f"{prefix}text/plain": repr(plain)}, metadata=record, raw=True)


def expect(holds: object, what: str) -> None:
    """Guard a sentence of the prose: `expect(shown > judged / 2, "most sets")`. A failed guard is an error at the
    default parameters; with others the page shows one banner."""
    from IPython.display import HTML, display

    if not holds and not CHANGED:
        raise AssertionError(f"the text says: {what}; its numbers no longer do. Rewrite the sentence")
    if not holds and OUTDATED not in CHANGED:
        values = ", ".join(f"{name} = {value!r}" for name, value in CHANGED.items())
        CHANGED[OUTDATED] = True
        text = f"The text of this page was written for its default parameters; here {values}. Trust the numbers shown."
        display(HTML(PARTS.outdated(text)))


def minus(text: str) -> str:
    """Signs of numbers as minus signs."""
    return SIGN.sub("−", text)


# ---- parameters ------------------------------------------------------------------------------------------------------


def declared(cell: str, page: str) -> dict:
    """Names and defaults of a parameters cell, read and never run; AttnError at a line that is not `name = literal`."""
    found, told = {}, f"page {page}: its parameters cell holds only `name = literal`, a bool, int, float, str or a list"
    try:
        for statement in ast.parse(cell).body:
            (target,) = statement.targets
            value = found[target.id] = ast.literal_eval(statement.value)
            if not all(isinstance(item, SCALARS) for item in (value if isinstance(value, list | tuple) else [value])):
                raise ValueError
    except SyntaxError as error:
        raise AttnError(f"{told}; its line {error.lineno} is no Python ({error.msg})") from error
    except (AttributeError, ValueError) as error:
        raise AttnError(f"{told}; found: {ast.unparse(statement).splitlines()[0]}") from error
    return found


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the known one that is most like it, if any."""
    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


def check(defaults: dict, values: dict, page: str, takes: dict | None = None) -> dict:
    """`values` in the types of their defaults; AttnError, one line, for an unknown name or what is not taken.

    takes: name -> the least that a number may be; or a list of the values taken (for a list: of its items, and None
    where it may be empty); or 'default' for those of the default.
    """
    known = ", ".join(f"{name} ({type(value).__name__}, {value!r})" for name, value in defaults.items()) or "none"
    fitted = {}
    for name, value in values.items():
        if name not in defaults:
            raise AttnError(f"page {page} has no parameter {name!r}{nearest(name, defaults)} Known: {known}")
        kind = TypeAdapter(_kind(defaults[name], (takes or {}).get(name)), config=STRICT)
        try:
            fitted[name] = kind.validate_python(_read(value, defaults[name]))
        except ValidationError as error:
            told = f"{error.errors()[0]['msg']}, got {value!r}. Known: {known}"
            raise AttnError(f"page {page}: parameter {name}: {told}") from None
    return fitted


def _kind(default: object, limit: object) -> object:
    """The type of a parameter from its default and what `check` says that it takes."""
    several = isinstance(default, list | tuple)
    item = Union[tuple(map(type, default)) or SCALARS] if several else type(default)
    if isinstance(limit, int | float):
        item = Annotated[item, Field(ge=limit)]
    elif limit:
        item = Literal[tuple(default if limit == "default" else (one for one in limit if one is not None))]
    if not several:
        return item
    empty = limit is None or isinstance(limit, list) and None in limit
    return Annotated[list[item] if isinstance(default, list) else tuple[item, ...], Field(min_length=1 - empty)]


def _read(value: object, default: object) -> object:
    """A value as Python's plain types: NumPy's scalars from a caller, and for all but texts what is typed on a command
    line, a literal of Python or YAML, of several items with or without brackets."""
    several, value = isinstance(default, list | tuple), value.item() if hasattr(value, "item") else value
    if isinstance(value, str) and not isinstance(default, str):
        text = f"[{value}]" if several and not value.strip().startswith(("[", "(")) else value.strip()
        for read in (ast.literal_eval, yaml.safe_load):
            with suppress(ValueError, SyntaxError, yaml.YAMLError):
                value = read(text)
                break
    return type(default)(value) if several and isinstance(value, list | tuple) else value


def guard(names: dict, page: str, takes: dict | None = None, /, **defaults: object) -> None:
    """Check a running notebook's globals() against their defaults, and write them back in the declared type."""
    foreign.load_plugins()
    values = {name: names[name] for name in defaults if name in names}
    for cell in names.get("In", []):
        if cell.startswith("# Parameters\n"):  # papermill's
            values |= declared(cell, page)
    checked = check(defaults, values, page, takes)
    if checked.get("vectors") == defaults.get("vectors") and checked != defaults:
        fields = {name: checked[name] for name in ("corpus", "encoder", "attention", "seed") if name in checked}
        checked |= {"vectors": stored_vectors(defaults["vectors"], **fields)} if "vectors" in checked else {}
    CHANGED.clear()
    CHANGED.update({name: value for name, value in checked.items() if value != defaults[name]})
    names.update(checked)
