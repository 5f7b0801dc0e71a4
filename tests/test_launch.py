"""Links to Binder and Codespaces, which come from the clone's own address and from nowhere else."""

import re
import subprocess
from unittest.mock import MagicMock

import pytest
from conftest import ROOT

from attn_build import rendering


def test_every_file_that_the_guide_for_contributors_names_is_there():
    """`experiments/single.py` and the like lie in attn_core too; a bare name lies in the folder named before it."""
    folder, lacking, text = "", [], (ROOT / "CONTRIBUTING.md").read_text()
    for name in re.findall(r"`([a-z_]+(?:/[a-z_]*)*(?:\.(?:py|yml|csv|md))?/?)`", text):
        if "/" not in name and not name.endswith(".py"):
            continue
        folder = name.rpartition("/")[0] if "/" in name else folder
        places = [ROOT / name, ROOT / "attn_core" / name, ROOT / "attn_core" / folder / name]
        lacking += [name] * (not any(place.exists() for place in places))
    assert not lacking


@pytest.mark.parametrize(
    ("remote", "found"),
    [
        ("https://github.com/a-b/c.d.git", "a-b/c.d"),
        ("git@github.com:a/b.git", "a/b"),
        ("https://github.com/a/b/", "a/b"),
        ("https://example.org/a/b.git", None),
        ("/srv/clone", None),
        ("https://github.com/a", None),
        ('https://github.com/a/"><script>', None),
        ("", None),
    ],
)
def test_the_remotes_address(tmp_path, monkeypatch, remote, found):
    monkeypatch.delenv("ATTN_REPOSITORY", raising=False)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    if remote:
        subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", remote], check=True)
    assert rendering.address(tmp_path) == found
    monkeypatch.setenv("ATTN_REPOSITORY", "own/book")
    assert rendering.address(tmp_path) == "own/book"


@pytest.mark.parametrize(("known", "links"), [("own/book", 3), ("", 0)])
def test_pages_have_links_where_there_is_an_address_alone(tmp_path, monkeypatch, known, links):
    monkeypatch.setenv("ATTN_REPOSITORY", known)
    for folder in ("notebooks", "book"):
        (tmp_path / folder).mkdir()
    (tmp_path / "notebooks" / "one.md").touch()
    (tmp_path / "book" / "_toc.yml").write_text("format: jb-book\nroot: one\n")
    app = MagicMock(srcdir=tmp_path / "book")
    app.env.collect_relations.return_value = {}
    rendering.setup(app)
    (_, change), _ = app.connect.call_args_list[0]
    context = {"body": '<p class="attn-kicker jain">3 minutes</p>', "script_files": []}
    change(app, "one", "", context, None)
    assert context["body"].count("attn-launch") == links
