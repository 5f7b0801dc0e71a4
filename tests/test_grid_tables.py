"""The appendix's sentences: numbers are flipped, and the words follow."""

import matplotlib
import numpy as np

matplotlib.use("Agg")

import pandas as pd

from attn_book.jain import grid_tables, grids
from attn_book.reported import APRIL_RUN, FINAL_RUN

LSTM, AVERAGE = ("lstm", "tanh"), ("average", "tanh")


def grid_of(corpus, share, change, flat=95.0, seeds=5):
    """One model of a data set whose permutation test has the same few numbers in every seed, a little spread."""
    values = {("all", "n"): 100.0, ("[0.00,0.25)", "n"): flat, ("all", "median"): change,
              ("all", "share_below_0.1"): share}  # fmt: skip
    rows = [("all", label, measure, seed, value + seed / 1000 * (measure != "n"))
            for (label, measure), value in values.items() for seed in range(seeds)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["predicted", "bin", "measure", "seed", "value"])
    return grids.Grid(corpus, {LSTM: []}, {LSTM: {"median_change": table}}, tuple(range(5)))


def test_small_changes_turn_with_the_numbers():
    rows = grid_tables.small_changes({"sst": grid_of("sst", 0.9, 0.05), "babi_1": grid_of("babi_1", 0.1, 0.6)})
    assert rows["side"].tolist() == ["small", "large"]
    single, others = grid_tables.told_small(rows)
    assert (
        "On single texts small changes prevail in 1 of 1 models with enough seeds and large ones in 0 (none)" in single
    )
    assert "in 0 of 1 models with enough seeds and large ones in 1 (babi_1 BiLSTM, additive); open: 0." in others
    few = grid_tables.small_changes({"sst": grid_of("sst", 0.9, 0.05, seeds=4)})
    assert "On single texts no model has the seeds to decide." in grid_tables.told_small(few)


def test_flat_weights_that_move_the_output_are_named():
    moved = grid_tables.flat_but_moved({"imdb": grid_of("imdb", 0.1, 0.8)})
    assert moved == ["imdb BiLSTM, additive 0.80 (0.80 to 0.80)"]
    for quiet in (grid_of("imdb", 0.1, 0.05), grid_of("imdb", 0.1, 0.8, flat=50), grid_of("imdb", 0.1, 0.8, seeds=3)):
        assert grid_tables.flat_but_moved({"imdb": quiet}) == []


def test_distances_in_the_authors_files_have_a_yardstick():
    found = grid_tables.distances_of_authors(["sst"], "tau_attention_gradient")
    runs = [grids.authors_mean("sst", LSTM, "0", "tau_attention_gradient", run) for run in (APRIL_RUN, FINAL_RUN)]
    assert np.isclose(abs(runs[0] - runs[1]), 0.052195) and 0 < found["runs"] < 0.2
    assert found["encoder"] > found["runs"] and np.isfinite(found["attention"])
