"""Numbers and their bounds in words, and what panels draw."""

import matplotlib
import numpy as np
import pandas as pd
import pytest

from attn_book import figures
from attn_book import words as wording

matplotlib.use("Agg")


def test_bounds_go_by_statistic():
    """What no share, ratio, change or JSD can be is never printed as the end of an interval."""
    assert wording.bounds("ratio_exact@0.05") == (0, 1) and wording.bounds("median_change", "median") == (0, 1)
    assert wording.bounds("jsd_search@0.05") == wording.bounds("ceiling") == (0, pytest.approx(np.log(2)))
    assert wording.bounds("jsd_search@0.05", "share_above_0.4") == (0, 1) == wording.bounds("accuracy", "value")
    assert wording.bounds("tau_attention_gradient") == (-1, 1)
    assert wording.bounds("difference_loo") == (-np.inf, np.inf)


def test_numbers_in_words():
    assert wording.told(0.5, 0.4, 1.2, bounds=(0, 1)) == "0.50 (0.40 to 1.00)"
    assert wording.told(0.5, np.nan, np.nan) == "0.50 (no interval)" and wording.told(np.nan, 0, 0) == "–"
    assert wording.told(-0.001, -0.02, 0.004) == "0.00 (-0.02 to 0.00)"
    assert wording.seeds_in_words(np.int64(1)) == "1 seed" and wording.seeds_in_words(3) == "3 seeds"


def test_panels_draw_what_is_there_and_nothing_else():
    rows = pd.DataFrame({
        "panel": ["a", "a", "b"], "label": ["sst", "cnn", "sst"], "mean": [0.5, np.nan, 0.4],
        "low": [0.4, np.nan, 0.1], "high": [0.6, np.nan, 0.7], "n_seeds": [5, 0, 3], "final": [0.45, 0.2, np.nan],
    })  # fmt: skip
    canvas, axes = figures.canvas(2)
    figures.interval_panels(axes[0], rows, theirs={"final": ("D", "authors, final")})
    points = [
        [line for line in ax.lines if len(line.get_xdata()) == 1 and np.isfinite(line.get_xdata()[0])] for ax in axes[0]
    ]
    assert sorted(line.get_xdata()[0] for line in points[0]) == [0.2, 0.45, 0.5]
    assert [line.get_xdata()[0] for line in points[1]] == [0.4]
    assert points[1][0].get_markerfacecolor() == "white"  # three seeds: an open point ...
    assert not [line for line in axes[0, 1].lines if len(line.get_xdata()) == 2]  # ... without an interval
    assert [text.get_text() for text in canvas.legends[0].get_texts()] == [
        "ours, mean and 95 % interval",
        "fewer than 5 seeds",
        "authors, final",
    ]
