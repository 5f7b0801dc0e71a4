"""Rules about bins of the largest weight, and the two claims that are asked anew."""

from dataclasses import replace

import pytest
from scorecard_runs import row_for, seeds_of

from attn_book import scorecard


def test_bins_need_twenty_documents():
    few, enough = (scorecard.scorecard(seeds_of(encoders=("lstm",), n_in_bin=n)) for n in (19, 20))
    for item in ("Figure 6 [0.25,0.50)", "Figure 8 [0.25,0.50)"):
        place = {"item": item, "corpus": "sst", "group": "negative", "statistic": "q75"}
        assert (row_for(few, **place)["unjudged"], row_for(few, **place)["ours"]) == ("few documents", 0.5)
        assert row_for(enough, **place)["verdict"] != "not rerun"
    place = {"item": "Figure 7", "corpus": "sst", "group": "negative", "statistic": "mean_binned"}
    assert row_for(few, **place)["verdict"] != "not rerun"


def without(result, label, predicted):
    """The run without its rows of one bin and class, as summaries are where no document lies there."""
    rows = result.summary
    gone = (rows["bin"] == label) & (rows["predicted"] == predicted)
    return replace(result, summary=rows[~gone])


def test_a_seed_without_a_document_in_a_bin_counts_as_none():
    runs = seeds_of(encoders=("lstm",), n_in_bin=50)
    place = {"item": "Figure 6 [0.50,0.75)", "corpus": "sst", "group": "negative", "statistic": "median"}
    assert row_for(scorecard.scorecard(runs), **place)["unjudged"] == ""
    row = row_for(scorecard.scorecard([without(runs[0], "[0.50,0.75)", "0"), *runs[1:]]), **place)
    assert (row["n_seeds"], row["unjudged"]) == (4, "few documents")


def test_claim_6b_joins_the_bins_of_high_weights_by_documents():
    item = "claim: permutation often changes little [0.50,1.00)"
    runs = seeds_of(encoders=("lstm",), values={"median_change": 0.6})
    for result in runs:  # the last bin: 100 documents with a share 0.3 above the other's
        rows = result.summary
        last = (rows["bin"] == "[0.75,1.00]") & (rows["statistic"] == "median_change")
        rows.loc[last & (rows["measure"] == "share_below_0.1"), "value"] += 0.3
        rows.loc[last & (rows["measure"] == "n"), "value"] = 100.0
    row = row_for(scorecard.scorecard(runs, "jain"), item=item, corpus="sst")
    assert row["ours"] == pytest.approx(0.8) and row["verdict"] == "reproduced" and row["n_seeds"] == 5
    few = [without(without(runs[0], "[0.50,0.75)", "all"), "[0.75,1.00]", "all"), *runs[1:]]
    assert row_for(scorecard.scorecard(few, "jain"), item=item, corpus="sst")["unjudged"] == "few documents"


def test_claim_7b_is_decided_by_the_best_weights_known():
    values = {"jsd_search@0.05": 0.3, "jsd_exact@0.05": 0.9, "jsd_lower@0.05": 0.8}
    for corpus, ours in (("sst", 0.9), ("snli", 0.8)):
        rows = scorecard.scorecard(seeds_of(corpus, ("lstm",), values=values), "jain")
        rows = rows[rows["corpus"] == corpus].set_index("item")
        assert rows.loc["claim: adversaries exist", ["ours", "verdict"]].tolist() == [pytest.approx(ours), "reproduced"]
        assert rows.loc["claim: adversaries are easy to find", "verdict"] == "differs"
