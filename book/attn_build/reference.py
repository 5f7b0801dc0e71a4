"""The page of public names, by autodoc: docstrings are plain text with numpydoc's sections, so the signs that
reStructuredText would take for markup are escaped before napoleon reads the sections."""

import re

from sphinx.ext.autodoc.mock import _MockObject

MARKUP = re.compile(r"([\\|*]|_(?!\w))")


def escape(app, what: str, name: str, documented: object, options: dict, lines: list[str]) -> None:
    """Escape a docstring in place; code in single backticks is code."""
    lines[:] = [re.sub("`+", "``", MARKUP.sub(r"\\\1", line)) for line in lines]


def either(mocked, other: object):
    """A type such as `Tensor | None` of a torch that is mocked."""
    return mocked


def setup(app) -> dict:
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", escape, priority=400)  # napoleon's is 500
    _MockObject.__or__ = either  # type: ignore[assignment, method-assign]
    return {"parallel_read_safe": True}
