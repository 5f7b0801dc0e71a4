"""Links under a page's title that open it on Binder or in a Codespace, from the clone's own address.

The address is the setting ATTN_REPOSITORY (OWNER/NAME on GitHub), else git's remote `origin`; where neither names a
repository of GitHub there are no links. Colab opens committed notebooks only, and this repository commits none.
"""

import html
import os
import re
import subprocess
from pathlib import Path

BINDER = "https://mybinder.org/v2/gh/{address}/HEAD?urlpath=lab/tree/notebooks/{page}.ipynb"
CODESPACE = "https://codespaces.new/{address}"
KICKER = re.compile(r'(<p class="attn-kicker[ "].*?)(</p>)', re.DOTALL)


def address(root: Path) -> str | None:
    """OWNER/NAME of the repository on GitHub, or None."""
    found = os.environ.get("ATTN_REPOSITORY", "")
    if not found:
        git = ["git", "-C", str(root), "remote", "get-url", "origin"]
        try:
            found = subprocess.run(git, capture_output=True, text=True, timeout=20).stdout.strip()
        except OSError:
            return None
        found = found.partition("github.com")[2].lstrip(":/")
    whole = re.fullmatch(r"([\w.-]+/[\w.-]+?)(?:\.git)?/?", found)
    return whole[1] if whole else None


def setup(app) -> dict:
    """As an extension of Sphinx: the links, on every page that is a notebook and has a line under its title."""
    root = Path(app.srcdir).parent
    at = address(root)

    def add(app, page: str, template: str, context: dict, doctree) -> None:
        if at and (root / "notebooks" / f"{page}.md").is_file():
            links = {"Binder": BINDER, "Codespace": CODESPACE}
            links = {name: html.escape(form.format(address=at, page=page)) for name, form in links.items()}
            told = " · ".join(f'<a class="attn-launch" href="{link}">{name}</a>' for name, link in links.items())
            context["body"] = KICKER.sub(rf"\1 · {told}\2", context["body"], count=1)

    app.connect("html-page-context", add)
    return {"parallel_read_safe": True}
