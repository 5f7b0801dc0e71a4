"""Figures that hold one number of several runs side by side."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from attn_book.jain import comparisons
from attn_book.reported import FINAL_RUN


def test_sizes_draw_every_seed_and_the_authors():
    table = pd.DataFrame(
        {"corpus": "sst", "measure": "accuracy", "n_train": [100, 100, 1000], "value": [0.6, 0.8, 0.9]}
    )
    comparisons.sizes(table, ["accuracy"], {("sst", "accuracy"): {FINAL_RUN: 0.81}})
    ax = plt.gcf().axes[0]
    assert ax.lines[0].get_ydata().tolist() == [0.6, 0.8, 0.9]
    assert np.allclose(ax.lines[1].get_ydata(), [0.7, 0.9]) and ax.get_xscale() == "log"
    assert [line.get_linestyle() for line in ax.lines if line.get_ydata()[0] == 0.81] == ["--"]


def test_sizes_draw_no_interval_of_two_seeds_and_none_beyond_the_possible():
    values = {100: (0.6, 0.8), 1000: (0.5, 0.9, 1.0)}
    table = pd.DataFrame([("sst", "accuracy", n, v) for n, found in values.items() for v in found],
                         columns=["corpus", "measure", "n_train", "value"])  # fmt: skip
    comparisons.sizes(table, ["accuracy"], possible={"accuracy": (0.0, 1.0)})
    bars = [
        line for line in plt.gcf().axes[0].lines if line.get_linewidth() == 2 and np.isfinite(line.get_ydata()).all()
    ]
    assert [line.get_xdata()[0] for line in bars] == [1000] and bars[0].get_ydata().max() == 1.0


def test_lines_of_cells_and_bins():
    rows = pd.DataFrame(
        {
            "label": ["a", "b"],
            "first": [0.1, np.nan],
            "april": [0.2, 0.3],
            "final": [0.4, 0.5],
            "ours": [[0.3, 0.5], []],
        }
    )
    comparisons.runs_of_cells(rows, "τ")
    marks = {m: [line.get_xdata()[0] for line in plt.gca().lines if line.get_marker() == m] for m in "sDo"}
    assert marks["s"] == [0.2, 0.3] and marks["D"] == [0.4, 0.5] and np.allclose(marks["o"], [0.4])
    bins = pd.DataFrame(
        {"label": ["a"], "april": [[0.1, 0.2, 0.3, 0.4]], "final": [[0.5, np.nan, 0.6, 0.7]], "ours": [[np.nan] * 4]}
    )
    comparisons.by_bin(bins, "change")
    assert [line.get_xdata()[0] for line in plt.gca().lines if line.get_marker() == "s"] == [0.1, 0.2, 0.3, 0.4]
    for n_seeds, white in ((4, True), (5, False)):
        comparisons.by_bin(bins.assign(ours=[[0.2, 0.3, 0.4, 0.5]], n_seeds=n_seeds), "change")
        ours = [line for line in plt.gca().lines if line.get_marker() == "o" and len(line.get_xdata()) == 1][:4]
        assert [line.get_xdata()[0] for line in ours] == [0.2, 0.3, 0.4, 0.5]
        assert all((line.get_markerfacecolor() == "white") == white for line in ours), "few seeds are open"
