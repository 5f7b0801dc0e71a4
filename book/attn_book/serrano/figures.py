"""The figures of Serrano & Smith in their form (specification, section 5), one panel or group a data set."""


import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from attn_book.figures import CONTROL, OURS, PAPER, WIDTH
from attn_book.serrano.pages import COLOURS, ORDERS
from attn_book.words import ENCODER_NAMES
from attn_core.index import HEADLINE_SEEDS

ORDER_COLOURS = {
    "random": "#bdbdbd", "attention": OURS, "gradient": "#d95f02", "product": "#1b9e77", "first_order": "#7570b3",
    "optimum": "#ffffff",
}  # fmt: skip


def grid(panels: list[str], height: float = 2.6) -> tuple[plt.Figure, dict[str, plt.Axes]]:
    """Panels two by two, the last row's spare one switched off; name -> axes."""
    rows = max(1, -(-len(panels) // 2))
    figure, axes = plt.subplots(rows, 2, figsize=(WIDTH, 0.3 + height * rows), squeeze=False, layout="constrained")
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    return figure, dict(zip(panels, axes.flat, strict=False))


def absent(ax: plt.Axes, title: str) -> None:
    """An empty panel that says why."""
    ax.set_title(title)
    ax.text(0.5, 0.5, "no run stored", ha="center", va="center", transform=ax.transAxes, color=PAPER)
    ax.set_xticks([])
    ax.set_yticks([])


def label_edges(figure: plt.Figure, x: str, y: str) -> None:
    """Axis labels for the whole figure."""
    figure.supxlabel(x, fontsize=11)
    figure.supylabel(y, fontsize=11)


def boxes(every: pd.DataFrame, corpora: list[str], encoders: list[str], kind: str = "fraction",
          orders: tuple[str, ...] = tuple(ORDERS)[:4], group: str = "all", suffix: str = "",
          weak: dict | None = None) -> None:  # fmt: skip
    """Fraction (or attention mass) removed until the first flip, box plots in the paper's form, one panel a model.

    every: summaries; boxes (quartiles, median, whiskers) are those of the first seed over its whole test set, outliers
    are not stored. Ours: medians over seeds, mean with 95 % Student t interval, as diamonds. Hatched: models that
    enter no claim; amber edges and crossed hatching: generated data. Models without any run have no panel.
    """
    encoders = [name for name in encoders if (every["encoder"] == name).any()] or encoders[:1]
    several = False
    figure, axes = plt.subplots(
        len(encoders), 1, figsize=(WIDTH, 0.5 + 2.3 * len(encoders)), squeeze=False, sharex=True, layout="constrained"
    )
    width = 0.8 / len(orders)
    for ax, encoder in zip(axes[:, 0], encoders, strict=True):
        mine = every[(every["encoder"] == encoder) & (every["bin"] == group)]
        for i, corpus in enumerate(corpora):
            for j, order in enumerate(orders):
                rows = mine[(mine["corpus"] == corpus) & (mine["statistic"] == f"{kind}_{order}{suffix}")]
                if rows.empty:
                    continue
                first = rows[rows["seed"] == rows["seed"].iloc[0]].set_index("measure")["value"]
                if "median" not in first:
                    continue
                x = i + (j - (len(orders) - 1) / 2) * width
                stats = {
                    "med": first["median"],
                    "q1": first["q25"],
                    "q3": first["q75"],
                    "whislo": first["whisker_low"],
                    "whishi": first["whisker_high"],
                    "fliers": [],
                }
                drawn = ax.bxp([stats], positions=[x], widths=0.85 * width, patch_artist=True, showfliers=False,
                               manage_ticks=False, medianprops={"color": "black", "linewidth": 1.6})  # fmt: skip
                drawn["boxes"][0].set(
                    facecolor=ORDER_COLOURS[order],
                    linewidth=0.7,
                    hatch="////" if (corpus, encoder) in (weak or {}) else None,
                )
                if corpus == "planted":
                    drawn["boxes"][0].set(edgecolor=CONTROL, hatch="xx")
                medians = rows.loc[rows["measure"] == "median", "value"].to_numpy()
                seeds_mark(ax, x, medians)
                several |= len(medians) > 1
        ax.set(
            title=f"{ENCODER_NAMES[encoder]}s",
            ylim=(-0.03, 1.05),
            yticks=np.arange(0, 1.01, 0.25),
            xlim=(-0.6, len(corpora) - 0.4),
        )
        ax.set_xticks(range(len(corpora)), corpora)
        for label in ax.get_xticklabels():
            label.set_color(CONTROL if label.get_text() == "planted" else "black")
    figure.supylabel(
        {"fraction": "fraction removed at the first flip", "mass": "attention mass removed"}[kind], fontsize=11
    )
    handles = [Patch(facecolor=ORDER_COLOURS[order], edgecolor="black", label=ORDERS[order]) for order in orders]
    if several:
        handles.append(
            Line2D(
                [],
                [],
                color="black",
                marker="D",
                markerfacecolor="white",
                linestyle="none",
                label="median, mean of seeds",
            )
        )
    if "planted" in corpora:
        handles.append(Patch(facecolor="white", edgecolor=CONTROL, hatch="xx", label="generated"))
    if weak:
        handles.append(Patch(facecolor="white", edgecolor="black", hatch="////", label="enters no claim"))
    figure.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=9)


def seeds_mark(ax: plt.Axes, x: float, values: np.ndarray) -> None:
    """Mean over seeds as a diamond, with its t interval from five seeds on; one seed has no mark."""
    from attn_core.measures import seed_interval

    if len(values) < 2:
        return
    if len(values) >= HEADLINE_SEEDS:
        low, high = np.clip(seed_interval(values), 0, 1)
        ax.plot([x, x], [low, high], color="black", linewidth=1.4, zorder=4)
    ax.plot(x, values.mean(), "D", markerfacecolor="white", markeredgecolor="black", markersize=4, zorder=5)


def dots(
    rows: pd.DataFrame,
    xlabel: str,
    reference: float | None = None,
    weak: dict | None = None,
    zero: bool = False,
    groups: str = "corpus",
    fewest: int = HEADLINE_SEEDS,
) -> None:
    """One line per data set and model: mean over seeds with interval; planted in its own colour, weak models grey.

    rows: corpus, encoder (a model or a pair), mean, low, high, n_seeds; optional target (an open diamond), line (the
    label). Fewer than `fewest` seeds: an open point without interval (1: intervals over documents are drawn).
    """
    rows = rows.reset_index(drop=True)
    _, ax = plt.subplots(figsize=(WIDTH, 1.0 + 0.27 * max(len(rows), 2)), layout="constrained")
    for y, row in enumerate(rows.itertuples()):
        grey = any((row.corpus, name) in (weak or {}) for name in row.encoder.split("-"))
        colour = PAPER if grey else CONTROL if row.corpus == "planted" else COLOURS.get(row.corpus, OURS)
        few = row.n_seeds < fewest
        if np.isfinite(row.low) and not few:
            ax.plot([row.low, row.high], [y, y], color=colour, linewidth=2.4, solid_capstyle="round")
        ax.plot(row.mean, y, "o", color=colour, markerfacecolor="white" if few else colour, markersize=6)
        if np.isfinite(getattr(row, "target", np.nan)):
            ax.plot(row.target, y, "D", markerfacecolor="none", markeredgecolor="black", markersize=6)
    if reference is not None:
        ax.axvline(reference, color="black", linestyle="--", linewidth=0.9)
    if zero:
        ax.axvline(0, color="black", linewidth=0.6)
    labels = (
        rows["line"]
        if "line" in rows
        else [
            f"{row.corpus}, {' − '.join(ENCODER_NAMES[name] for name in row.encoder.split('-'))}"
            for row in rows.itertuples()
        ]
    )
    ax.set_yticks(range(len(rows)), labels, fontsize=9.5)
    for y in np.flatnonzero(rows[groups].ne(rows[groups].shift()).to_numpy())[1:]:
        ax.axhline(y - 0.5, color="0.85", linewidth=0.8)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel(xlabel)


def stacked(rows: pd.DataFrame, parts: dict[str, tuple[str, str]], xlabel: str) -> None:
    """Horizontal bars of percentages that sum to 100; rows: line, and a column per key of parts -> (colour, name)."""
    _, ax = plt.subplots(figsize=(WIDTH, 1.1 + 0.32 * max(len(rows), 2)), layout="constrained")
    left = np.zeros(len(rows))
    for name, (colour, text) in parts.items():
        ax.barh(np.arange(len(rows)), rows[name], left=left, color=colour, label=text, edgecolor="white", linewidth=0.5)
        left += rows[name].to_numpy()
    ax.set_yticks(range(len(rows)), rows["line"], fontsize=9.5)
    ax.set(xlim=(0, 100), xlabel=xlabel, ylim=(len(rows) - 0.4, -0.6))
    ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=4, fontsize=9)
