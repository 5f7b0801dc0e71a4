"""Counts and boxes of the other two papers' rows on the scorecard page."""

import pandas as pd
from wiegreffe_results import curve, guided, uniform_test

from attn_book.debate import other_papers
from attn_book.scorecard import added_after, scorecard


def test_without_runs_the_sentence_says_so():
    for paper, title in other_papers.TITLES.items():
        assert other_papers.shown(paper, []) == (f"{title}: no scored row has a run yet.", "")


def test_counts_follow_the_rows():
    runs = [*uniform_test(), *guided(), *curve()]
    rows = scorecard(runs, "wiegreffe")
    sentence, boxes = other_papers.shown("wiegreffe", runs)
    good, bad = ((rows["verdict"] == name).sum() for name in ("reproduced", "differs"))
    few = rows[rows["item"].str.startswith("band") & (rows["n_seeds"] < 5) & (rows["verdict"] != "not rerun")]
    apart = [(few["verdict"] == name).sum() for name in ("reproduced", "differs")]
    assert (
        f"{len(rows)} rows: on the paper's own data {good - apart[0]} are reproduced and {bad - apart[1]} differ"
        in (sentence)
    )
    assert ("in no count" in sentence) == bool(len(few))
    thin = rows[~rows["item"].str.startswith("band") & (rows["n_seeds"] < 5) & (rows["verdict"] != "not rerun")]
    assert (f"{len(thin)} numbers counted with fewer than 5 seeds" in sentence) == (len(thin) > 1)
    late = rows[added_after(rows) & ~rows.index.isin(few.index)]["verdict"]
    assert f"of all these {(late == 'reproduced').sum()} are reproduced and " in sentence
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
            "item": ["band: low", "claim: 1a x", "claim: 1b x", "claim: 2a x", "claim: 2b x"],
            "data": ["same", "subset", "subset", "subset", "absent"],
            "corpus": ["sst", "amazon", "amazon", "amazon", "yelp"],
            "verdict": ["reproduced", "reproduced", "differs", "differs", "not rerun"],
            "unjudged": ["", "", "", "", "no run"],
            "n_seeds": [3, 5, 5, 5, 0],
            "reported": [0.1] * 5,
            "low": [0.0, 0.0, 0.2, 0.05, float("nan")],
            "high": [0.05, 0.05, 0.3, 0.15, float("nan")],
            "rule": ["mean at most 0.1"] + ["upper end below 0.1"] * 4,
            "reason": ["added before any run"] * 5,
        }
    )
    told = other_papers.sentence("serrano", rows)
    assert told == (
        "Serrano & Smith, 5 rows: none on the paper's own data; in no count 1 band read off fewer than 5 trained "
        "curves (sst 3): 1 holds and none does not; on other data 1 holds and 2 do not (1 of the latter undecided: the "
        "interval of a claim holds its threshold); all these rules are older than the runs that they judge; no verdict "
        "for 1 (no run)."
    )
    told = other_papers.sentence("serrano", rows.iloc[1:])
    assert told.startswith("Serrano & Smith, 4 rows: none on the paper's own data; on other data 1 holds and 2 do not")
    own = rows.assign(n_seeds=5, data="same", reason=["added after the runs"] * 2 + ["added before them"] * 3)
    assert other_papers.sentence("wiegreffe", own).startswith(
        "Wiegreffe & Pinter, 5 rows: on the paper's own data 2 are reproduced and 2 differ (1 of the latter undecided: "
        "the interval of a claim holds its threshold), of all these 2 are reproduced and none differs by rules added "
        "after runs were stored; no verdict"
    ), "bands of enough curves count"
