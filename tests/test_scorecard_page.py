"""The scorecard page: its counts, the guess beside ours, and the table that can be sorted and filtered."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from chromium import CHROMIUM, FLAGS, NO_NETWORK, served

from attn_book import build
from attn_book.debate import scorecard_page
from attn_book.reported import reported
from attn_book.scorecard import clipped

SCRIPT = Path(__file__).parents[1] / "book" / "_static" / "rows.js"


def row_of(**values) -> pd.DataFrame:
    """One scorecard row with sensible values where none are given."""
    plain = {
        "paper": "jain", "item": "Table 2", "corpus": "sst", "group": "negative", "encoder": "lstm",
        "attention": "tanh", "measure": "tau_gradient", "statistic": "mean", "reported": 0.4, "ours": 0.4, "low": 0.3,
        "high": 0.5, "n_seeds": 5, "data": "same", "tolerance": 0.1, "verdict": "reproduced", "unjudged": "",
        "kind": "number", "side": "", "statistic_ours": "mean",
        "page": "jain/04-1-correlation",
    }  # fmt: skip
    return pd.DataFrame([plain | values])


def rows_of(*several) -> pd.DataFrame:
    return pd.concat([row_of(**values) for values in several], ignore_index=True)


CLAIM = {"kind": "claim", "side": "above", "item": "claim: average above BiLSTM", "reported": 0.2}
BAND = {"paper": "wiegreffe", "kind": "band", "side": "below", "item": "band: low"}


def test_what_decides_nothing_is_neither_reproduced_nor_different():
    rows = rows_of({}, CLAIM, CLAIM | {"reported": 0.4, "verdict": "differs"}, CLAIM | {"reported": 0.9}, BAND,
                   BAND | {"n_seeds": 1}, {"unjudged": "no run", "verdict": "not rerun"})  # fmt: skip
    assert scorecard_page.standing(rows).tolist() == [
        "reproduced", "reproduced", "undecided", "reproduced", "reproduced", "few curves", "no run",
    ]  # fmt: skip


def test_counts_keep_own_texts_other_data_and_kinds_apart():
    rows = rows_of({}, {"verdict": "differs"}, {"data": "subset"}, {"data": "generated", "verdict": "differs"},
                   {"data": "absent", "verdict": "not rerun", "unjudged": "no run"}, CLAIM,
                   CLAIM | {"item": "claim: adversaries exist"},
                   CLAIM | {"item": "claim: permutation changes much here"}, BAND | {"n_seeds": 1})  # fmt: skip
    text = scorecard_page.counts(rows).data
    lines = [re.sub(r"(<[^>]+>)+", "|", line).strip("|") for line in re.findall(r'<tr><th scope="row">.*?</tr>', text)]
    assert lines == ["numbers|1|1|1|1|1", "claims|1", "claims asked anew|1", "patterns|1", "bands|1"]
    assert text.index("Jain &amp; Wallace") < text.index("patterns") < text.index("Wiegreffe &amp; Pinter")


def test_the_guess_is_the_mean_of_the_other_data_sets():
    rows = rows_of({"reported": 0.4}, {"corpus": "imdb", "reported": 0.45}, {"corpus": "snli", "reported": 0.9},
                   {"corpus": "agnews", "reported": 0.5, "verdict": "not rerun"}, {"statistic": "std"},
                   CLAIM)  # fmt: skip
    # others of sst: 0.617, of imdb: 0.6, of snli: 0.45; std has no other set
    assert scorecard_page.guesses(rows).tolist() == [False, False, False, False]
    near = rows.assign(reported=rows["reported"].replace(0.9, 0.5))
    assert scorecard_page.guesses(near).tolist() == [True, True, True, False]


def test_the_table_holds_every_row_escaped():
    rows = rows_of({"group": "<b>"}, CLAIM, {"ours": float("nan"), "unjudged": "few documents", "data": "subset"})
    text = scorecard_page.all_rows(rows).data
    assert text.count("<tr class=") == 3 and "&lt;b&gt;" in text and "&gt; 0.20" in text and "SST part" in text
    assert '<a href="jain/04-1-correlation.html">average above BiLSTM</a>' in text and "few documents" in text


def test_intervals_end_where_the_statistic_does():
    cases = [("sig_frac", 1.2, 1), ("median", 1.2, 1), ("mean_binned", 0.9, np.log(2)), ("mean", 0.9, 0.9)]
    for statistic, high, expected in cases:
        cut = clipped(row_of(statistic=statistic, low=-0.01, high=high)).iloc[0]
        assert cut["high"] == pytest.approx(expected), statistic
        assert cut["low"] == (-0.01 if statistic == "mean" else 0)
    claims = rows_of(CLAIM | {"statistic_ours": "share_below_0.1", "high": 1.2}, CLAIM | {"high": 1.2})
    assert clipped(claims)["high"].tolist() == [1.0, 1.2]


def test_rows_link_to_pages_that_exist():
    known = build.pages(Path(__file__).parents[1])
    assert {page for page in reported("tolerances")["page"].dropna()} <= set(known)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_numbers_sort_by_size_and_empty_cells_last():
    code = f"""
        const {{ order, keep }} = require({json.dumps(str(SCRIPT))});
        const sorted = (texts, sign) => [...texts].sort((a, b) => order(a, b, sign));
        const texts = ["0.5", "", "−1.2", "16,175", "> 0.20"];
        const names = ["SST", "bAbI 2", "20 News", "bAbI 1"];
        console.log(JSON.stringify([sorted(texts, 1), sorted(texts, -1), sorted(names, 1),
          keep(["a", "b"], {{ 1: "b" }}), keep(["a", "b"], {{ 0: "a", 1: "c" }}), keep(["a"], {{ 0: "" }})]));"""
    found = json.loads(subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True).stdout)
    up = ["−1.2", "> 0.20", "0.5", "16,175", ""]
    assert found[:2] == [up, [*up[3::-1], ""]], "empty cells are last in both directions"
    assert found[2] == ["20 News", "bAbI 1", "bAbI 2", "SST"] and found[3:] == [True, False, True]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_a_browser_sorts_and_filters(tmp_path):
    rows = rows_of({"ours": 0.3}, {"ours": 0.1, "corpus": "imdb"}, {"ours": 0.2, "verdict": "differs"})
    act = """<script>addEventListener("load", () => {
      const [paper, set] = document.querySelectorAll("select");
      document.querySelectorAll("th button")[4].click();
      set.value = "SST"; set.onchange();
      const shown = [...document.querySelectorAll("tbody tr")].filter(row => !row.hidden);
      document.body.dataset.found = shown.map(row => row.cells[4].textContent).join() + "; " +
        document.querySelector("output").textContent + "; " +
        document.querySelectorAll("th")[4].getAttribute("aria-sort") + "; " + paper.options.length; });</script>"""
    text = f"<!doctype html><body>{scorecard_page.all_rows(rows).data}<script>{SCRIPT.read_text()}</script>{act}"
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    with served(tmp_path) as address:
        command = [CHROMIUM, *FLAGS, NO_NETWORK, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
        run = subprocess.run([*command, f"{address}/page.html"], capture_output=True, text=True, timeout=60)
    assert 'data-found="0.20,0.30; 2 of 3 rows; ascending; 2"' in run.stdout, run.stdout[-500:]
