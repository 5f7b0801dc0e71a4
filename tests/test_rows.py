"""Long tables that can be sorted and filtered, as on the scorecard; where its rows lead."""

import json

import pytest
from conftest import ROOT
from IPython.display import HTML
from test_play import in_node, node

from attn_book import tables
from attn_book.scorecard import reported
from attn_build import rendering, sources

SCRIPT = ROOT / "book" / "_static" / "rows.js"


def test_rows_link_to_pages_that_exist():
    known = sources.pages(ROOT)
    assert {page for page in reported("tolerances")["page"].dropna()} <= set(known)


@node
def test_numbers_sort_by_size_and_empty_cells_last():
    before = """
        const sorted = (texts, sign) => [...texts].sort((a, b) => rows.order(a, b, sign));
        const texts = ["0.5", "", "−1.2", "16,175", "> 0.20"];
        const names = ["SST", "bAbI 2", "20 News", "bAbI 1"];"""
    found = in_node(
        """[sorted(texts, 1), sorted(texts, -1), sorted(names, 1),
          rows.keep(["a", "b"], { 1: "b" }), rows.keep(["a", "b"], { 0: "a", 1: "c" }), rows.keep(["a"], { 0: "" })]""",
        before=f"const rows = require({json.dumps(str(SCRIPT))}); {before}",
    )
    up = ["−1.2", "> 0.20", "0.5", "16,175", ""]
    assert found[:2] == [up, [*up[3::-1], ""]], "empty cells are last in both directions"
    assert found[2] == ["20 News", "bAbI 1", "bAbI 2", "SST"]
    assert found[3:] == [True, False, True]


@pytest.mark.parametrize("sheet", sorted(SCRIPT.parent.glob("*.css")), ids=lambda path: path.name)
def test_no_block_of_a_style_sheet_is_left_open(sheet):
    text = sheet.read_text(encoding="utf-8")
    assert text.count("{") == text.count("}")


def test_a_table_escapes_all_but_what_is_html():
    text = tables.rows({"a": True, "b": False}, [("<b>", HTML('<a href="x.html">x</a>')), ("-1.2", "")]).data
    assert "&lt;b&gt;" in text
    assert '<td><a href="x.html">x</a></td>' in text
    assert "<th data-filter>a</th><th>b</th>" in text


ACT = """(() => {
  const [set] = document.querySelectorAll("select");
  document.querySelectorAll("th button")[1].click();
  set.value = "SST"; set.onchange();
  const shown = [...document.querySelectorAll("tbody tr")].filter(row => !row.hidden);
  return [shown.map(row => row.cells[1].textContent), document.querySelector("output").textContent,
    document.querySelectorAll("th")[1].getAttribute("aria-sort"), set.options.length]; })()"""


@pytest.mark.browser
def test_a_browser_sorts_and_filters(tmp_path, chromium):
    table = tables.rows(
        {"data set": True, "here": False}, [("SST", "0.30"), ("IMDB", "0.10"), ("SST", "0.20")]
    ).data
    text = f"<!doctype html><body>{table}<script>{SCRIPT.read_text()}</script>"
    (tmp_path / "page.html").write_text(text)
    chromium.open(tmp_path / "page.html")
    assert chromium.js(ACT) == [["0.20", "0.30"], "2 of 3 rows", "ascending", 3]


TURN = """(() => {
  const seen = () => [...document.querySelectorAll("tbody tr")].map(row => row.cells[0].textContent);
  const out = [seen().length, document.querySelectorAll("td a").length, document.querySelector("output").textContent];
  const [back, on] = document.querySelectorAll(".attn-filters > button");
  on.click(); out.push(seen()[0], document.querySelector("output").textContent, back.disabled);
  on.click(); out.push(seen().length, on.disabled);
  const search = document.querySelector("input");
  search.value = "row LINK7"; search.oninput(); out.push(seen(), document.querySelector("output").textContent);
  return out; })()"""


@pytest.mark.browser
def test_a_long_table_is_turned_over_and_searched_and_whole_without_scripts(tmp_path, chromium):
    lines = [(f"row {number}", HTML(f'<a href="#x">link{number}</a>')) for number in range(120)]
    long, short = (tables.rows({"a": False, "b": False}, lines[:count]).data for count in (120, 50))
    assert rendering.LONG_TABLE.sub(rendering.packed, short) == short
    body = rendering.LONG_TABLE.sub(rendering.packed, f"<p>{long}</p>")
    for name in ("page", "again"):
        (tmp_path / f"{name}.html").write_text(
            f"<!doctype html><body>{body}<script>{SCRIPT.read_text()}</script>"
        )
    chromium.open(tmp_path / "page.html")
    found = chromium.js(TURN)
    assert found[:6] == [50, 50, "1–50 of 120 rows", "row 50", "51–100 of 120 rows", False]
    assert found[6:] == [20, True, [f"row {number}" for number in (7, *range(70, 80))], "11 of 120 rows"]
    chromium.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.open(tmp_path / "again.html")
        assert chromium.js("document.querySelectorAll('noscript tbody tr').length") == 120, (
            "all without scripts"
        )
    finally:
        chromium.call("Emulation.setScriptExecutionDisabled", value=False)
