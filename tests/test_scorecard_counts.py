"""How much the verdicts of the scorecard say: rows that 0 would pass, intervals that verdicts do not see, two F1s."""

import numpy as np
import pandas as pd
from test_scorecard_page import row_of

from attn_book.debate import scorecard_counts, scorecard_page


def test_rows_that_nothing_would_pass_are_counted():
    rows = pd.concat(
        [
            row_of(reported=0.08),
            row_of(reported=0.4),
            row_of(reported=0.05, verdict="differs"),
            row_of(reported=0.0, statistic="std"),
            row_of(item="claim: average above BiLSTM", reported=0.0, tolerance=np.nan),
            row_of(item="Figure 6 [0.00,0.25)", statistic="q75", measure="median_output_change", reported=0.1),
        ]
    )
    assert scorecard_counts.zero_holds(rows).tolist() == [True, False, True, False, False, True]
    parts = scorecard_counts.counts_by_part(rows, ["sst"])["sst"].to_dict()
    assert parts == {"Table 2": "3/4 (1)", "Figure 6": "1/1 (1)", "claims": "1/1"}
    assert scorecard_counts.told_kinds(rows) == (
        "means 2 of 3, spreads and shares 1 of 1, medians and quartiles 1 of 1, claims 1 of 1"
    )


def test_firmness_sees_the_interval_that_the_verdict_does_not():
    rows = pd.concat(
        [
            row_of(reported=0.4, low=0.35, high=0.45),
            row_of(reported=0.4, low=0.25, high=0.45),
            row_of(reported=0.4, ours=0.6, low=0.3, high=0.9, verdict="differs"),
            row_of(reported=0.4, ours=0.6, low=0.5, high=0.7, verdict="differs"),
        ]
    )
    found = scorecard_counts.firmness(rows)
    assert (found["numbers_hold"], found["leaves"], found["numbers_differ"], found["near"]) == (2, 1, 2, 1)


def test_the_score_of_texts_is_named_and_held_against_the_other_f1():
    row = row_of(item="Table 1", measure="test_performance", statistic="F1", reported=0.8, ours=0.82, tolerance=0.03)
    scores = pd.DataFrame({"corpus": ["sst"], "metric": ["F1 of class 1"], "mean": [0.85]})
    told = scorecard_counts.told_other_f1(row, scores)
    assert told == "sst 0.82 and 0.85 (0.80 printed; reproduced against differs)"
    assert scorecard_page.F1_MEANS["F1"] == "macro F1"
