"""The verdict's matrix: its numbers are the scorecard's, its colours follow the lines, its cells tell and lead on."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from chromium import CHROMIUM, FLAGS, NO_NETWORK, served
from golden import read

from attn_book import build, verdict
from attn_book.reported import reported

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "book" / "_static" / "rows.js"
CLAIMS = {
    "gradients": "claim: attention correlates only weakly with gradient",
    "permutation": "claim: permutation often changes little", "adversaries": "claim: adversaries exist",
    "necessary": "claim: attention is needed", "stable": "claim: seeds agree in attention",
    "top item": "claim: 3b only the top flips more often than only r",
    "order": "claim: 4b attention needs more removals than gradient",
}  # fmt: skip


def cell(test="gradients", corpus="sst", encoder="lstm", low=0.2, high=0.4, n_seeds=5, **values) -> dict:
    own = {"test": test, "corpus": corpus, "encoder": encoder, "data": "same", "mean": (low + high) / 2, "low": low,
           "high": high, "n_seeds": n_seeds, "controls": [("dealt anew", 0.0)]} | values  # fmt: skip
    return own | {"colour": verdict.colour(pd.Series(own))}


def test_lines_are_those_of_the_rules():
    rules = reported("tolerances")
    for test, item in CLAIMS.items():
        assert set(rules[rules["item"] == item]["reference"]) == {verdict.TESTS[test].line}, test


@pytest.mark.slow
def test_numbers_are_the_scorecards():
    golden = pd.DataFrame(read("scorecard.json.xz"))
    found = verdict.asked()
    compared = 0
    for test, item in CLAIMS.items():
        rows = golden[(golden["item"] == item) & golden["ours"].notna() & golden["encoder"].isin(["lstm", "han_rnn"])]
        rows = rows[(rows["unjudged"] == "") & ~rows["statistic"].str.contains("test-chosen")]
        mine = found[(found["test"] == test) & (found["control"] == "")].groupby("corpus")["value"].mean()
        known = rows[rows["corpus"].isin(mine.index)].drop_duplicates("corpus")
        compared += len(known)
        assert np.allclose(known["ours"], mine[known["corpus"]]), test
    assert compared > 20


@pytest.mark.parametrize("given, colour", [
    ({}, "no"), ({"low": 0.6, "high": 0.7}, "yes"), ({"high": 0.6}, "part"), ({"n_seeds": 4}, "void"),
    ({"corpus": "snli"}, "void"), ({"test": "adversaries", "low": 0.1, "high": 0.2}, "void"),
    ({"test": "permutation"}, "yes"), ({"test": "permutation", "low": 0.6, "high": 0.9}, "no"),
])  # fmt: skip
def test_colours_follow_the_line(given, colour):
    assert cell(**given)["colour"] == colour


def table() -> str:
    cells = [cell(), cell(corpus="imdb", low=0.6, high=0.7),
             cell("order", "amazon", "han_rnn", 0.1, 0.2, data="subset"),
             cell("permutation", "snli", low=0.9, high=1.1)]  # fmt: skip
    return verdict.matrix(pd.DataFrame(cells)).data


def test_every_cell_tells_and_leads_to_its_page():
    text = table()
    links = dict(re.findall(r'<a href="([^"]*)\.html" title="([^"]*)"', text))
    assert set(links) == {"jain/04-1-correlation", "jain/04-2-1-permutation", "serrano/05-sets-of-weights"}
    assert set(verdict.TESTS[test].page for test in verdict.TESTS) <= set(build.pages(ROOT))
    assert "90% to 100%" in links["jain/04-2-1-permutation"], "an interval of a share ends at one"
    assert "hardly reads this text" in links["jain/04-2-1-permutation"] and "dealt anew 0.00" in text
    first, second = re.findall(r'title="(?:SST|IMDB), mean.*?--a: (\d+)%; --b: (\d+)%', text)
    assert int(first[1]) < 50 < int(second[0]), "to the right of the line where attention does what is asked"
    one = pd.DataFrame([cell(low=np.nan, high=np.nan, mean=0.4, n_seeds=1)])
    alone = verdict.drawn(next(one.itertuples()), 0.2)
    assert "--a: 26%; --b: 26%" in alone and "0.40 (no interval); one seed" in alone
    assert text.index("BiLSTM</th>") < text.index("HAN with GRU</th>")


ACT = """
const [first, second, third] = document.querySelectorAll("td a"), detail = document.querySelector(".attn-detail");
const told = [], note = () => told.push(detail.textContent.slice(0, 4));
const point = (cell, name, kind) => cell.dispatchEvent(new PointerEvent(name, { pointerType: kind, bubbles: true }));
point(second, "pointerenter", "mouse"); note();
first.focus(); note();
first.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true })); note();
second.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true, cancelable: true }));
told.push(document.activeElement === third);
let led = 0; addEventListener("click", event => { if (!event.defaultPrevented) led += 1; event.preventDefault(); });
for (const cell of [first, first]) { point(cell, "pointerdown", "touch"); cell.focus(); cell.click(); told.push(led); }
point(second, "pointerdown", "mouse"); second.click();
told.push(led, document.querySelectorAll("td a[tabindex='0']").length);
document.body.dataset.found = told.join();
"""


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_a_browser_tells_on_hover_focus_and_tap(tmp_path):
    """The first tap tells, the second follows the link; a click of a mouse follows it at once; arrows move."""
    page = f"<!doctype html><body>{table()}<script>{SCRIPT.read_text()}</script>"
    page += f"<script>onload = () => {{{ACT}}}</script>"
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    with served(tmp_path) as address:
        command = [CHROMIUM, *FLAGS, NO_NETWORK, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
        for _ in range(4):  # on a busy machine a headless window may come up without focus and get no events of it
            run = subprocess.run([*command, f"{address}/page.html"], capture_output=True, text=True, timeout=60)
            if 'data-found="IMDB,SST,' in run.stdout:
                break
    assert 'data-found="IMDB,SST,,IMDB,true,0,1,2,1"' in run.stdout, re.findall('data-found="[^"]*"', run.stdout)
