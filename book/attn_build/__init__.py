"""What runs the pages and builds the book of them. No page needs it: what pages call is `attn_book`."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import FileSystemLoader

from attn_book import page
from attn_lab.data.files import half_written

TEMPLATES = page.TEMPLATES.overlay(loader=FileSystemLoader(Path(__file__).parent))
PARTS: Any = TEMPLATES.get_template("parts.html").module
"""The macros of parts.html."""


def scratch_folder() -> TemporaryDirectory:
    """A folder that goes when it is left; what a killed command leaves of it, the next one sweeps away."""
    return TemporaryDirectory(prefix=half_written(), ignore_cleanup_errors=True)


def render(template: str, **values: object) -> str:
    """A template of this folder with these values."""
    return TEMPLATES.get_template(template).render(values)


def write(target: Path, text: str) -> None:
    """A text as a file; its folder is made."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
