"""The tables the archive keeps: every statistic per document, and its summary by class and bin."""

import numpy as np
import pandas as pd
import pytest
from conftest import KINDS, kinds

from attn_core.experiments.adversarial import adversarial
from attn_core.experiments.correlation import correlation
from attn_core.experiments.permutation import permutation
from attn_core.experiments.search import search
from attn_lab.more.single_state import single_state_agreement
from attn_lab.more.tables import summary_table


def test_summary_by_hand():
    """Bins of attention include their lower edge, and the last includes 1."""
    table = pd.DataFrame(
        {
            "doc_id": [1, 2, 3, 4],
            "label": 0,
            "predicted": [0, 0, 1, 1],
            "n": 5,
            "max_attention": [0.1, 0.25, 0.4999, 1.0],
            "tau_a_b": [0.0, 0.5, np.nan, 1.0],
            "p_a_b": [0.9, 0.01, np.nan, 0.05],
            "median_change": [0.05, 0.1, 0.2, 0.02],
        }
    )
    rows = summary_table(table).set_index(["statistic", "predicted", "bin", "measure"])["value"].sort_index()
    assert rows["tau_a_b", "all", "all"].loc[["n", "n_nan", "mean", "median"]].tolist() == [4, 1, 0.5, 0.5]
    assert rows["tau_a_b", "all", "all", "std"] == pytest.approx(np.sqrt(1 / 6))
    assert rows["tau_a_b", "1", "all", "share_significant"] == 0.5
    assert rows["tau_a_b", "0", "[0.25,0.50)", "mean"] == 0.5
    assert rows["tau_a_b", "1", "[0.25,0.50)", "n_nan"] == 1
    assert ("tau_a_b", "1", "[0.25,0.50)", "mean") not in rows
    assert ("tau_a_b", "1", "[0.00,0.25)", "n") not in rows
    assert rows["tau_a_b", "1", "[0.75,1.00]", "mean"] == 1
    assert rows["median_change", "all", "all", "share_below_0.1"] == 0.5
    counted = rows["tau_a_b", "all", "all"].filter(like="hist:")
    # 30 bins of width 1/15 from -1: 0 begins bin 15, 0.5 lies in bin 22, 1 in the last
    assert counted.to_dict() == {"hist:15": 1, "hist:22": 1, "hist:29": 1}


EXPERIMENTS = {
    "correlation": correlation,
    "permutation": permutation,
    "adversaries": lambda traces: adversarial(traces, 0.1, search(traces, steps=15)),
    "one item": single_state_agreement,
}


@kinds
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_document_is_tested_alike_in_any_company(kind, name):
    """Up to a last bit in sums."""
    traces = KINDS[kind]((1, 2, 3, 5, 5, 8, 20), seed=7, doc_ids=(5, 3, 11, 40, 2, 9, 77))
    rows = np.array([6, 0, 3, 4])
    alone = EXPERIMENTS[name](traces.take(rows))
    expected = EXPERIMENTS[name](traces).iloc[rows].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, expected, rtol=0, atol=1e-12)
