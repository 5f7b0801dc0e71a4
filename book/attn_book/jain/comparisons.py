"""Figures that hold one number of several runs side by side: against training size, cell by cell, bin by bin.

They return nothing and leave the figure open, for a notebook to show it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from attn_book.figures import AUTHORS, OURS, WIDTH
from attn_core.measures import seed_interval

SMALL = 10.5


def interval(ax: Axes, y: float, values: np.ndarray, shade: str) -> None:
    """Mean over seeds with its Student t interval, none below three seeds; an open point for fewer than five."""
    values = values[~np.isnan(values)]
    if not len(values):
        return
    low, high = seed_interval(values)
    ax.plot([low, high], [y, y], color=shade, linewidth=2.2, solid_capstyle="butt")
    face = shade if len(values) >= 5 else "white"
    ax.plot(values.mean(), y, "o", color=shade, markerfacecolor=face, markersize=5, clip_on=False)


def authors_points(ax: Axes, y: float, points: dict[str, float]) -> None:
    """Values of the authors' runs by snapshot, as open squares (April) and diamonds (final)."""
    for snapshot, point in points.items():
        if np.isfinite(point):
            ax.plot(
                point,
                y,
                AUTHORS[snapshot][0],
                markerfacecolor="none",
                markeredgecolor="black",
                markersize=6.5,
                markeredgewidth=1.1,
            )


def sizes(
    table: pd.DataFrame,
    measures: list[str],
    references: dict[tuple[str, str], dict[str, float]] | None = None,
    possible: dict[str, tuple[float, float]] | None = None,
) -> None:
    """One panel per measure over the number of training documents, one line per data set.

    table: `variants.by_fraction`. Small points are seeds, large ones means with t intervals (open below five seeds),
    cut at what is possible; none below three seeds. possible: measure -> its lowest and highest value.
    references: (corpus, measure) -> the authors' values by snapshot, drawn as horizontal lines.
    """
    figure, axes = plt.subplots(
        len(measures), 1, figsize=(WIDTH, 0.6 + 1.75 * len(measures)), sharex=True, squeeze=False, layout="constrained"
    )
    shades = dict(
        zip(dict.fromkeys(table["corpus"]), ((OURS, "o"), ("#d95f02", "s"), ("#1b9e77", "^")) * 4, strict=False)
    )
    for ax, measure in zip(axes[:, 0], measures, strict=True):
        for corpus, (shade, marker) in shades.items():
            part = table[(table["corpus"] == corpus) & (table["measure"] == measure)]
            ax.plot(part["n_train"], part["value"], ".", color=shade, alpha=0.5, markersize=4)
            means = part.groupby("n_train")["value"].agg(["mean", "size"])
            ax.plot(means.index, means["mean"], color=shade, linewidth=1.2)
            for n_train, values in part.groupby("n_train")["value"]:
                ends = np.clip(seed_interval(values), *(possible or {}).get(measure, (-np.inf, np.inf)))
                ax.plot([n_train, n_train], ends, color=shade, linewidth=2)
                face = shade if len(values) >= 5 else "white"
                ax.plot(n_train, values.mean(), marker, color=shade, markerfacecolor=face, markersize=6)
            for snapshot, value in (references or {}).get((corpus, measure), {}).items():
                ax.axhline(value, color=shade, linestyle=AUTHORS[snapshot][1], linewidth=1)
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.set_title(measure, fontsize=SMALL + 0.5, loc="left")
        ax.tick_params(labelsize=SMALL)
    axes[-1, 0].set_xlabel("training documents")
    axes[-1, 0].xaxis.set_major_formatter("{x:,.0f}")
    axes[-1, 0].xaxis.set_minor_formatter(NullFormatter())
    lines = [plt.Line2D([], [], color=shade, marker=marker, label=corpus) for corpus, (shade, marker) in shades.items()]
    lines += [
        plt.Line2D([], [], color="black", linestyle=style, label=text)
        for _, style, text in AUTHORS.values()
        if any((references or {}).values())
    ]
    figure.legend(handles=lines, loc="outside upper center", ncols=4, fontsize=SMALL)


def runs_of_cells(rows: pd.DataFrame, xlabel: str) -> None:
    """One line per row: the authors' first (triangle), April (square) and final (diamond) value, and ours.

    rows: label, first, april, final (NaN where absent), ours (a list of values, one per seed).
    """
    _, ax = plt.subplots(figsize=(WIDTH, 1.2 + 0.29 * len(rows)), layout="constrained")
    for y, row in enumerate(rows.itertuples()):
        ax.plot([row.april, row.final], [y, y], color="0.6", linewidth=1, zorder=0)
        interval(ax, y, np.asarray(row.ours, float), OURS)
        authors_points(ax, y, dict(zip(AUTHORS, (row.april, row.final), strict=True)))
        ax.plot(row.first, y, "^", markerfacecolor="none", markeredgecolor="black", markersize=6)
    ax.set_yticks(range(len(rows)), rows["label"], fontsize=SMALL)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel(xlabel)
    handles = [
        plt.Line2D([], [], linestyle="none", marker="^", markerfacecolor="none", color="black", label="authors, first")
    ]
    handles += [
        plt.Line2D([], [], linestyle="none", marker=m, markerfacecolor="none", color="black", label=t)
        for m, _, t in AUTHORS.values()
    ]
    handles.append(plt.Line2D([], [], marker="o", color=OURS, label="ours, 95 % interval"))
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=2, fontsize=SMALL)


def by_bin(rows: pd.DataFrame, xlabel: str) -> None:
    """Medians in the four bins of the largest weight, light (lowest bin) to dark: the authors' two runs above ours.

    rows: label, then april, final and ours, each a list of four values (NaN where a bin is empty); n_seeds (optional):
    fewer than five make our points white with an edge in their tone.
    """
    _, ax = plt.subplots(figsize=(WIDTH, 1.3 + 0.44 * len(rows)), layout="constrained")
    shades = ("0.8", "0.58", "0.35", "0.0")
    blues = ("#c6d6e6", "#88aacb", "#4a79a8", OURS)
    for y, row in enumerate(rows.itertuples()):
        few = getattr(row, "n_seeds", 5) < 5
        for shift, marker, values, tones in (
            (-0.27, "s", row.april, shades),
            (0, "D", row.final, shades),
            (0.27, "o", row.ours, blues),
        ):
            for value, tone in zip(values, tones, strict=True):
                edge, width = (tone, 1.4) if few and marker == "o" else ("black", 0.5)
                face = "white" if few and marker == "o" else tone
                ax.plot(
                    value, y + shift, marker, color=face, markeredgecolor=edge, markeredgewidth=width, markersize=5.5
                )
    ax.hlines(np.arange(len(rows) - 1) + 0.5, -0.02, 1.02, color="0.88", linewidth=0.7, zorder=0)
    ax.set_yticks(range(len(rows)), rows["label"], fontsize=SMALL)
    ax.set(ylim=(len(rows) - 0.4, -0.6), xlim=(-0.02, 1.02), xlabel=xlabel)
    handles = [
        plt.Line2D([], [], linestyle="none", marker=m, color="0.58", markeredgecolor="black", label=t)
        for m, _, t in AUTHORS.values()
    ]
    handles.append(
        plt.Line2D(
            [],
            [],
            linestyle="none",
            marker="o",
            color="#4a79a8",
            markeredgecolor="black",
            label="ours, mean over seeds",
        )
    )
    handles += [
        plt.Rectangle((0, 0), 1, 1, facecolor=tone, edgecolor="black", label=text)
        for tone, text in ((shades[0], "lowest bin"), (shades[3], "highest bin"))
    ]
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, fontsize=SMALL)
