"""Two of Serrano & Smith's forms: 2x2 tables, and the test of the paper's hypothesis.

Neither is a plot of figures.py or single_figures.py.
"""

import html
from collections.abc import Collection

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from attn_book.figures import PAPER


def flip_tables(cells: dict[str, dict[str, str]]) -> str:
    """2x2 tables of decision flips side by side, HTML (form of Table 2).

    cells: data set -> both, only_top, only_random, neither in words. Only i* flips: blue with an upward mark; only r:
    orange with a downward mark, so that no reader needs the colours.
    """
    parts = []
    for name, cell in cells.items():
        top = f'<td style="background: rgba(0,114,178,.22)">▲ {html.escape(cell["only_top"])}</td>'
        other = f'<td style="background: rgba(213,94,0,.22)">▼ {html.escape(cell["only_random"])}</td>'
        parts.append(
            f'<table class="attn-flips"><caption>{html.escape(name)}</caption>'
            '<tr><td></td><th scope="col">r flips</th><th scope="col">r does not</th></tr>'
            f'<tr><th scope="row">i* flips</th><td>{html.escape(cell["both"])}</td>{top}</tr>'
            f'<tr><th scope="row">i* does not</th>{other}<td>{html.escape(cell["neither"])}</td></tr></table>'
        )
    return f'<div class="attn-flip-tables" style="display: flex; flex-wrap: wrap; gap: 1.2em">{"".join(parts)}</div>'


def dispersions(ax: Axes, runs: pd.DataFrame, names: dict[str, str], weak: Collection[tuple[str, str]] = ()) -> None:
    """Mean gap between attention and optimum against mean dispersion, a point each trained run, a line each seed.

    runs: corpus, encoder, seed, dispersion, gap (see `tables.gaps`), of one data set and one unit of attention;
    names: encoder -> name. weak: (data set, model) of those that enter no claim, grey. The lines are least squares over
    a seed's models, what the interval of the slope is computed from; one seed alone has none. The gap starts at 0.
    """
    markers = dict(zip(names, ("o", "^", "s"), strict=True))
    shades = dict(zip(names, ("#0072b2", "#e69f00", "#009e73"), strict=True))  # Okabe and Ito's
    for _, part in runs.groupby("seed") if runs["seed"].nunique() > 1 else ():
        if part["encoder"].nunique() > 1 and np.ptp(part["dispersion"]) > 0:
            slope, start = np.polyfit(part["dispersion"], part["gap"], 1)
            ends = np.array([part["dispersion"].min(), part["dispersion"].max()])
            ax.plot(ends, start + slope * ends, color=PAPER, linewidth=0.8, zorder=1)
    for encoder, part in runs.groupby("encoder"):
        ax.plot(
            part["dispersion"],
            part["gap"],
            markers[encoder],
            color=PAPER if (part["corpus"].iloc[0], encoder) in weak else shades[encoder],
            markeredgecolor="black",
            markersize=6,
        )
    there = [name for name in names if (runs["encoder"] == name).any()]
    handles = [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=markers[name],
            color=shades[name],
            markeredgecolor="black",
            label=names[name],
        )
        for name in there
    ]
    ax.legend(handles=handles, loc="best")
    ax.set_ylim(0, 1.1 * max(runs["gap"].max(), 0.01))
    ax.set(xlabel="dispersion of contributions (0: all alike)", ylabel="attention − optimum, share of items")
