"""A page run again with other parameters, as HTML: alone, and beside another run of it."""

import pytest
from bs4 import BeautifulSoup
from conftest import refused

from attn_build import plain, rendering
from attn_build.rendering import rerun, side_by_side

pytestmark = pytest.mark.slow
PAGE = "jain/04-2-2-adversarial"
DRAWN = """[...document.querySelectorAll("article img")].every(img => img.naturalWidth > 0) &&
  [...document.querySelectorAll("article figure")].every(figure => [...figure.querySelectorAll("svg, canvas")]
    .some(drawn => drawn.getBoundingClientRect().width > 200))"""


@pytest.fixture(scope="module")
def again():
    """The page of the issue, run at another epsilon."""
    return rerun(PAGE, {"epsilon": "0.1"})


def test_a_page_run_again_reads_like_the_book(again):
    assert again.name == "04-2-2-adversarial--epsilon-0.1.html"
    assert again.with_suffix(".ipynb").is_file()
    text = again.read_text()
    assert not any(raw in text for raw in ("{glue", "{doc}", "{ref}", "{cite", ":::"))
    article = BeautifulSoup(text, "html.parser").find("article")
    assert "epsilon = 0.1" in article.find(class_="attn-changed").text
    assert len(article.find_all("figure")) == 4 and article.find(class_="solution"), "figures, folds"


@pytest.mark.browser
def test_a_browser_shows_its_figures(again, chromium):
    for width in (1280, 390):
        chromium.open(again, width)
        assert chromium.js(DRAWN)
        assert not chromium.errors
        assert chromium.js("document.documentElement.scrollWidth") <= width


SHEET = """<html><body><article><section id="s"><h1>One</h1><p>same</p><figure id="f"><svg id="g"/>{}</figure>
<div class="cell"><pre>code</pre><div class="cell_output"><p>{}</p></div></div></section></article></body></html>"""


def test_three_values_stand_side_by_side(tmp_path):
    sheets = [tmp_path / f"{name}.html" for name in "abc"]
    for path, (first, second) in zip(sheets, ((1, 5), (2, 5), (3, 6)), strict=True):
        path.write_text(SHEET.format(first, second))
    page = side_by_side(sheets, ["n = 1", "n = 2", "n = 3"], tmp_path / "all.html").read_text()
    both = BeautifulSoup(page, "html.parser")
    runs = [(part["data-run"], part.text.strip()) for part in both.find_all(attrs={"data-run": True})]
    assert page.count("same") == 1
    assert len(both.find_all(class_="attn-twin")) == 2
    assert runs == [
        ("n = 1", "1"),
        ("n = 2", "2"),
        ("n = 3", "3"),
        ("n = 1", "5"),
        ("n = 2", "5"),
        ("n = 3", "6"),
    ]
    ids = [tag["id"] for tag in both.find_all(id=True)]
    assert len(ids) == len(set(ids)) == 7
    assert page.count("code") == 1


@pytest.mark.parametrize("wrong", ["epsilon", "epsilon=0.1", "epsilon=0.1,,0.3"])
def test_two_values_or_more_are_compared(wrong):
    with refused("NAME=a,b"):
        rerun(PAGE, {}, compare=wrong)


def test_no_value_runs_where_one_is_refused(monkeypatch):
    monkeypatch.setattr(rendering, "execute", lambda *_, **__: pytest.fail("it ran"))
    with refused("epsilon: Input should be less than 1, got '1.5'"):
        rerun(PAGE, {}, compare="epsilon=0.1,1.5")


def test_a_page_of_somebody_elses_is_not_replaced(tmp_path):
    (tmp_path / "mine.html").write_text("<p>mine</p>")
    for way in ({"html": True}, {"compare": "epsilon=0.1,0.2"}):
        with refused("mine.html is no page that was written here; .*--force"):
            rerun(PAGE, {}, tmp_path / "mine.html", **way)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.html"]


def test_names_of_files():
    values = {"epsilon": 0.1, "names": ["a/b", "c"], "text": "x" * 300}
    assert plain.named(values) == f"--epsilon-0.1--names-_a_b_c_--text-{values['text']}"[:150]
    assert plain.named({"text": "a._"}) == "--text-a"
    assert plain.named({}) == ""
