"""Heights of adversaries beside their yardsticks: numbers are flipped, and the words follow."""

import matplotlib
import numpy as np
import pandas as pd

from attn_book.jain import heights as jain_heights
from attn_book.jain import tables as jain_tables

matplotlib.use("Agg")


def test_what_the_own_contributions_cost_is_held_against_the_control_of_the_same_kind():
    place = {"encoder": "lstm", "attention": "tanh", "predicted": "all", "bin": "all", "measure": "mean"}
    values = [("sst", "jsd_shuffled@0.01", 0.6), ("sst", "jsd_exact@0.01", 0.5),
              ("snli", "jsd_shuffled@0.01", 0.6), ("snli", "jsd_sparse@0.01", 0.3),
              ("snli", "jsd_lower@0.01", 0.65)]  # fmt: skip
    every = pd.DataFrame(
        [{**place, "corpus": c, "statistic": s, "value": v, "seed": seed} for c, s, v in values for seed in (1, 2)]
    )
    found = jain_heights.resistance(every, 0.01).set_index("corpus")["ours"]
    assert found.round(9).to_dict() == {"sst": 0.1, "snli": 0.3}
    assert jain_heights.resistance(every[:0], 0.01).empty


def test_trends_ask_for_both_end_bins_and_turn_with_the_numbers():
    def line(label, panel, final, low, high, n_seeds=5):
        return {"label": label, "panel": panel, "final": final, "low": low, "high": high, "n_seeds": n_seeds,
                "verdict": "reproduced"}  # fmt: skip

    first, last = jain_tables.BINS[0], jain_tables.BINS[-1]
    rows = pd.DataFrame([
        line("a", first, 0.6, 0.55, 0.65), line("a", last, 0.2, 0.1, 0.3),
        line("b", first, 0.6, 0.55, 0.65, 4), line("b", last, 0.4, 0.1, 0.2),
        line("c", first, 0.6, 0.5, 0.7), line("c", last, np.nan, 0.2, 0.26),
    ])  # fmt: skip
    found = jain_heights.trends(rows)
    assert found.set_index("label")["final"].dropna().to_dict() == {"a": 1.0, "b": 0.0}
    assert found.set_index("label")["ours"].dropna().to_dict() == {"a": 0.0, "c": 0.0}, "the upper end must be low"
    theirs, ours = jain_heights.told_trends(found)
    assert "does not fit the authors' own Figure 8 (final run) in 1 of 2 classes with both end bins: a." in theirs
    assert "It fits our runs: in none of 2 classes" in ours
    assert "In our runs no class" in jain_heights.told_trends(found.assign(ours=np.nan))[1]


def test_ends_name_their_classes_and_intervals_decide():
    medians = pd.DataFrame({"class_name": ["x", "x", "y"], "max_attention_bin": ["[0.00,0.25)", "[0.75,1.00)", "[0.00"],
                            "value": [0.5, 0.16, 0.51]})  # fmt: skip
    assert jain_heights.told_ends(medians, "[0.00,0.25)", "[0.75,1.00]") == "x 0.50 and 0.16; y 0.51 and no median"
    assert jain_heights.told_ends(medians[:0], "[0.00,0.25)", "[0.75,1.00]") == "no value"
    assert jain_heights.told_pinned((0.9, 1.0), (0.5, 0.6)).startswith("less")
    assert jain_heights.told_pinned((0.5, 0.6), (0.9, 1.0)).startswith("more")
    assert "no difference" in jain_heights.told_pinned((0.5, 0.6), (0.55, 0.7))


def test_near_the_bound_is_a_share_above_six_tenths():
    seeds = range(5)
    every = pd.DataFrame({
        "corpus": "sst", "encoder": "lstm", "attention": "tanh", "seed": seeds, "statistic": "jsd_search@0.05",
        "predicted": "all", "bin": "all", "measure": "share_above_0.6", "value": [0.6 + seed / 100 for seed in seeds],
    })  # fmt: skip
    found = jain_heights.near_bound(every)
    (row,) = found["ours"].itertuples()
    assert (row.corpus, row.side, row.told) == ("sst", "above", "62% (60% to 64%)")
    (row,) = jain_heights.near_bound(every.assign(value=1 - every["value"]))["ours"].itertuples()
    assert row.side == "below" and row.told.startswith("38%")
    assert 0 < found["authors_most"] < found["authors_cells"] and "sst" not in found["authors_sets"]
    assert jain_heights.told_heights(every, 0.05, "searched") == ["sst: searched 62%"]
    assert jain_heights.told_heights(every[:0], 0.05, "searched") == ["no run"]


def test_the_authors_own_figures_by_the_line_of_claim_7():
    found = jain_heights.authors_easy(0.7)
    assert found["below"] == "babi_1, snli" and found["split"] == "none"
    assert found["told"] == ["babi_1 0.59 (April), 0.58 (final)", "snli 0.52 (April), 0.62 (final)"]
    assert "diabetes diabetes" in found["classes"] and "diabetes no diabetes" not in found["classes"]
    assert found["final"]["diabetes"] and not found["final"]["snli"]
    assert jain_heights.authors_easy(0.75)["split"] == "adr", "the line moves, and so do the sets"


def test_the_last_bin_is_closed_for_readers():
    assert jain_tables.closed("Figure 6 [0.75,1.00)") == "Figure 6 [0.75,1.00]"
    assert jain_tables.closed("[0.50,0.75)") == "[0.50,0.75)" and jain_tables.BINS[-1].endswith("]")
