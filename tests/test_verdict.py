"""The verdict's claims: lines of the rules, answers by intervals, numbers of the scorecard and of the stored traces."""

import re

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from conftest import ROOT
from golden import read

from attn_book import verdict
from attn_book.fasttext import newest
from attn_book.scorecard import reported
from attn_build import sources
from attn_lab.more import known
from attn_lab.runs import index
from attn_lab.runs.baselines import weak
from benchmarks import bench_tests

RULES = {
    "gradients": "claim: attention correlates only weakly with gradient",
    "permutation": "claim: permutation often changes little",
    "adversaries": "claim: adversaries exist",
    "outdone": "claim: 1a most differences of JS are not negative",
    "top item": "claim: 3a mostly neither erasure flips",
    "order": "claim: 4b attention needs more removals than gradient",
    "necessary": "claim: attention is not needed",
    "stable": "claim: seeds agree in attention",
}


ALONE = verdict.RULES | {"corrected": False}


def test_lines_are_those_of_the_rules():
    rules = reported("tolerances")
    for name, item in RULES.items():
        claim = verdict.CLAIMS[name]
        lines = rules[rules["item"] == item]
        assert set(zip(lines["reference"], lines["side"], strict=True)) == {(claim["line"], claim["side"])}, (
            name
        )


def test_every_claim_leads_to_a_page_and_every_paper_has_some():
    claims = verdict.CLAIMS.values()
    assert {claim["page"] for claim in claims} <= set(sources.pages(ROOT))
    assert {claim["paper"] for claim in claims} == set(verdict.PAPERS)


def rows_of(*intervals: tuple[str, float, float]) -> pd.DataFrame:
    rows = pd.DataFrame(intervals, columns=["corpus", "low", "high"])
    return rows.assign(mean=(rows["low"] + rows["high"]) / 2, documents=50, n_seeds=5, kind="own")


ABOVE_HALF = [("sst", 0.6, 0.7)]
ON_EITHER_SIDE = [("sst", 0.01, 0.1), ("imdb", 0.12, 0.21)]


@pytest.mark.parametrize(
    ("claim", "intervals", "rules", "said"),
    [
        (
            "permutation",
            [*ABOVE_HALF, ("imdb", 0.2, 0.4), ("agnews", 0.4, 0.6)],
            {},
            ["yes", "no", "undecided"],
        ),
        (
            "permutation",
            [*ABOVE_HALF, ("sst", 0.4, 0.6)],
            {},
            ["undecided"],
        ),  # definitions of good must agree
        ("permutation", [*ABOVE_HALF, ("sst", 0.1, 0.2)], {}, ["depends"]),
        ("permutation", ABOVE_HALF, {"texts": 51}, ["too few"]),
        ("permutation", ABOVE_HALF, {"seeds": 6}, ["too few"]),
        ("stable", ON_EITHER_SIDE, {}, ["yes", "no"]),
        ("stable", ON_EITHER_SIDE, {"corrected": True}, ["undecided", "undecided"]),  # one of two, by chance
        ("guide", [("sst", 0.012, 0.016)], {}, ["yes"]),
        ("guide", [("sst", 0.012, 0.016)], {"margin": 0.02}, ["no"]),  # the line of two scores
    ],
)
def test_an_answer_is_what_the_whole_interval_says(claim, intervals, rules, said):
    rows = rows_of(*intervals)
    assert verdict.answers(rows, verdict.CLAIMS[claim], **ALONE | rules).tolist() == said


def five(value: float, **fields) -> pd.DataFrame:
    values = value + np.array([-0.001, 0.001, 0, 0, 0])
    return pd.DataFrame({"corpus": "sst", "seed": range(5), "value": values, **fields})


@pytest.mark.parametrize(("fields", "size"), [({}, 1725), ({"texts": [60, 70, 49, 80, 90]}, 49)])
def test_a_claim_is_of_the_texts_of_the_seed_that_has_the_fewest(fields, size):
    """By default of the whole test set of SST, 863 and 862 sentences (Jain & Wallace, Table 1)."""
    assert verdict.of_claim("permutation", five(0.6, **fields))["documents"].tolist() == [size]


def test_a_score_stands_with_its_auc():
    by = {"f1": five(0.03, texts=50), "auc": five(-0.02, texts=50)}
    row = verdict.of_score("guide", by.get).iloc[0]
    assert row["mean"] == pytest.approx(0.03)
    assert "AUC −0.020 (" in row["of"]
    with pytest.raises(KeyError):
        verdict.of_score("guide", {"f1": by["f1"]}.__getitem__)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["outdone", "top item", "order", "necessary"])
def test_numbers_are_the_scorecards(name):
    golden = pd.DataFrame(read("scorecard.json.xz"))
    golden = golden.query("selection == 'dev' and unjudged == '' and encoder in ['lstm', 'han_rnn']")
    theirs = golden[golden["item"] == RULES[name]].set_index("corpus")["ours"]
    ours = verdict.cells().query("claim == @name and kind == 'own'").set_index("corpus")["mean"]
    assert len(theirs) >= 3
    assert ours[theirs.index].to_dict() == pytest.approx(theirs.to_dict())


@pytest.mark.slow
def test_the_books_rules_change_no_answer():
    assert list(verdict.changed(verdict.RULES)["claim"]) == []


def test_what_is_said_beforehand_changes_by_no_rule():
    changed = verdict.changed(verdict.RULES | {"texts": 400})
    assert not [row for row in changed.itertuples() if row.column in verdict.CLAIMS[row.claim]]


def test_every_claim_has_three_answers_and_its_numbers():
    table = BeautifulSoup(verdict.table(verdict.RULES).data, "html.parser")
    lines = table.select("tr.claim")
    assert len(lines) == len(table.select("tr.why")) == len(verdict.CLAIMS)
    for line, reason in zip(lines, table.select("tr.why"), strict=True):
        assert [bool(cell.span.b.text) for cell in line.select("td")] == [True] * 3, line.th.text
        assert reason.a["href"].endswith(".html")
        assert reason.select("details li")
    numbers = "".join(item.text for item in table.select("details li"))
    assert "-" not in re.sub("in-domain|IMDB-10", "", numbers)


SHOWN = "document.querySelector('.attn-claims details ul').checkVisibility()"


@pytest.mark.slow
@pytest.mark.browser
def test_numbers_open_by_tap_and_by_key_and_print(tmp_path, chromium):
    styles = "".join((ROOT / "book" / "_static" / name).read_text() for name in ("attn.css", "print.css"))
    table = verdict.table(verdict.RULES).data
    head = '<!doctype html><meta name="viewport" content="width=device-width">'
    (tmp_path / "page.html").write_text(f'{head}<style>{styles}</style><article class="bd-article">{table}')
    chromium.open(tmp_path / "page.html", 390)
    assert not chromium.js(SHOWN)
    chromium.tap(*chromium.place(".attn-claims summary"))
    assert chromium.js(SHOWN)
    assert chromium.js("document.documentElement.scrollWidth") <= 390
    chromium.js("document.querySelector('.attn-claims summary').focus()")
    chromium.key("Enter")
    assert not chromium.js(SHOWN)
    chromium.call("Emulation.setEmulatedMedia", media="print")
    assert chromium.js(SHOWN), "on paper all are open"


@pytest.mark.parametrize(
    "lows, survives",
    [((0.6, 0.7, 0.8), True), ((0.6, 0.5, 0.9), False), ((0.3, 0.2, 0.4), False)],
)
def test_what_survives_lies_above_a_coin_with_every_definition(lows, survives):
    rows = pd.DataFrame({"measure": "order", "corpus": "sst", "documents": 50, "low": lows})
    few = rows.assign(low=0.1, documents=49)  # too few to tell
    assert verdict.survivors(pd.concat([rows, few])) == ({("order", "sst")} if survives else set())


@pytest.fixture(scope="module")
def models():
    """Stored traces of one data set's BiLSTMs, of the texts that all of them keep."""
    return bench_tests.shared(bench_tests.runs_of("20news"))


@pytest.mark.parametrize("name", ["names", "top item"])
def test_areas_are_those_of_the_stored_traces(models, name):
    stored = verdict.areas().query("corpus == '20news' and measure == @name and definition == 'deletion'")
    good = [known.by_deletion(model) for model in models]
    again = bench_tests.told(good, models, known.TESTS[name])
    columns = ["statistic", "value", "low", "high", "documents", "n_seeds"]
    pd.testing.assert_frame_equal(
        pd.DataFrame(again)[columns], stored[columns].reset_index(drop=True), rtol=1e-4
    )


def test_neighbours_follow_from_the_document_tables(models):
    """What is counted of permuted weights is what the traces give, on the texts that are stored."""
    tables = verdict.tables_of("20news", "lstm", "documents")
    permuted = verdict.of_texts().query(
        "corpus == '20news' and claim == 'permutation' and kind == 'permuted'"
    )
    assert permuted["documents"].tolist() == [len(tables[0])]
    named = [known.names_the_word(model, model).mean() for model in models]
    stored = [table["top1_attention"].loc[models[0].doc_id].mean() for table in tables]
    assert stored == pytest.approx(named, rel=1e-4)


def test_every_model_of_the_verdict_does_its_task_by_the_one_rule():
    fails = weak(newest(index.runs, attention="tanh", family=["text", "pair", "hierarchical"]))
    assert not fails[[(name, "lstm") for name in verdict.CORPORA]].any()
    assert fails["snli"].all()
