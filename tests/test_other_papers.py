"""Counts and boxes of the other two papers' rows on the scorecard page."""

import pandas as pd
from wiegreffe_results import curve, guided, uniform_test

from attn_core.debate import other_papers
from attn_core.scorecard import scorecard


def test_without_runs_the_sentence_says_so():
    for paper, title in other_papers.TITLES.items():
        assert other_papers.shown(paper, []) == (f"{title}: no scored row has a run yet.", "")


def test_counts_follow_the_rows():
    runs = [*uniform_test(), *guided(), *curve()]
    rows = scorecard(runs, "wiegreffe")
    sentence, boxes = other_papers.shown("wiegreffe", runs)
    good, bad = ((rows["verdict"] == name).sum() for name in ("reproduced", "differs"))
    assert f"{len(rows)} rows: on the paper's own data {good} are reproduced and {bad} differ" in sentence
    assert (
        f"no verdict for {(rows['unjudged'] == 'no run').sum()} (no run)" in sentence
        and "on other data" not in sentence
    )
    assert (
        boxes.count("<details>") == 2 and f"sst: {good + bad} rows" in boxes and "wiegreffe/03-2-uniform.html" in boxes
    )
    flipped, _ = other_papers.shown("wiegreffe", uniform_test(f1=0.5))
    assert flipped != sentence and "none is reproduced" not in sentence


def test_other_data_are_counted_apart():
    rows = pd.DataFrame(
        {
            "item": ["band: low", "claim: 1a x", "claim: 1b x", "claim: 2a x"],
            "data": ["same", "subset", "subset", "absent"],
            "verdict": ["reproduced", "reproduced", "differs", "not rerun"],
            "unjudged": ["", "", "", "no run"],
        }
    )
    told = other_papers.sentence("serrano", rows)
    assert told == (
        "Serrano & Smith, 4 rows: on the paper's own data 1 is reproduced and none differs (1 of these is a band, read "
        "off one to three trained curves); on other data 1 holds and 1 does not; no verdict for 1 (no run)."
    )
    told = other_papers.sentence("serrano", rows.iloc[1:])
    assert told.startswith("Serrano & Smith, 3 rows: none on the paper's own data; on other data 1 holds and 1 does")
