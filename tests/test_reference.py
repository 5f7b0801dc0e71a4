"""The page of public names, and that of licences: what they name is there."""

import re
from pathlib import Path

import pydata_sphinx_theme
import yaml
from bs4 import BeautifulSoup
from conftest import ROOT, python

import attn_lab
from attn_build import reference

PAGE = ROOT / "book" / "reference.md"
OPTIONS = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]


def test_every_public_name_has_its_entry(tmp_path):
    """Without torch, and without a warning of Sphinx: signs in a docstring are not taken for markup."""
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('No module named torch')")
    (tmp_path / "index.md").write_text(PAGE.read_text())
    (tmp_path / "conf.py").write_text(
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}, {str(ROOT / 'book')!r}]\n"
        "extensions = ['myst_parser', 'attn_build.reference', 'sphinx.ext.napoleon']\n"
        + "".join(f"{name} = {value!r}\n" for name, value in OPTIONS.items() if name.startswith("autodoc_"))
    )
    python("-m", "sphinx", "-q", "-W", "-b", "html", tmp_path, tmp_path / "html")
    page = BeautifulSoup((tmp_path / "html" / "index.html").read_text(), "html.parser")
    for name in attn_lab.__all__:
        entry = page.find(id=f"attn_lab.{name}")
        assert entry and entry.find_next("dd").get_text(strip=True), name
    assert "|gradient|" in page.get_text()


def test_signs_in_a_docstring_are_escaped_and_code_is_code():
    lines = ["How |x| compares.", "x_ : float", "    In `units` of *rest*, a_b."]
    reference.escape(None, "function", "close", None, {}, lines)
    assert lines == [r"How \|x\| compares.", r"x\_ : float", r"    In ``units`` of \*rest\*, a_b."]


def test_versions_of_what_the_theme_bundles_are_those_of_the_page():
    scripts = (
        Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static" / "scripts"
    )
    page = (ROOT / "book" / "licences.md").read_text()
    text = (ROOT / "book" / "_static" / "licences.txt").read_text()
    notice = (scripts / "bootstrap.js.LICENSE.txt").read_text()
    version = re.search(r" v?(\d+\.\d+\.\d+) ", notice)[1]
    assert f"Bootstrap {version}" in text and re.search(rf"\[Bootstrap\]\S* {version}", page), version
