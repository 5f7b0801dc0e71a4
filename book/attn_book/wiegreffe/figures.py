"""Tables of Wiegreffe & Pinter's pages to axes: violins by bin, the trade-off, JSD by epoch.

Colours can be told apart by colour-blind readers and differ in lightness; every series has a marker of its own.
"""

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from attn_book.figures import CLASS_COLOURS, CONTROL, OURS, PAPER, author_handle
from attn_core.experiments import ATTENTION_BINS, attention_bin, frontier

KINDS = {
    "adversary": ("#cc79a7", "o", "trained adversaries, by λ"),
    "seed": ("#009e73", "^", "other seeds"),
    "uniform": ("#0072b2", "s", "uniform model"),
    "search": ("#d55e00", "P", "per-document search"),
}
"""Points of the trade-off: colour, marker, name. Forms as in the paper, colours safe for colour-blind readers."""

FEWEST_IN_VIOLIN = 10

FRONTIERS = {"best sharing": ("black", "-"), "same epsilon": ("black", ":")}


def violins(
    ax: Axes,
    documents: pd.DataFrame | None,
    column: str,
    medians: pd.DataFrame,
    names: dict[int, str],
    limits: tuple[float, float] = (0, 0.72),
    legend: bool = True,
) -> None:
    """A column by bin of the largest weight and predicted class (form of Figure 3); lowest bin and class 0 on top.

    documents: predicted, max_attention, column; None draws the paper's medians alone. medians: rows of
    `curves.figure_3` of this panel: our median on its bootstrap interval as a thick line, the paper's as
    diamonds. legend: above the panel.
    """
    step = 0.84 / len(names)
    for place, label in enumerate(ATTENTION_BINS):
        for k, predicted in enumerate(names):
            y, colour = place + (k - (len(names) - 1) / 2) * step, CLASS_COLOURS[predicted]
            if documents is not None:
                chosen = (documents["predicted"] == predicted) & (attention_bin(documents["max_attention"]) == label)
                violin(ax, documents.loc[chosen, column].dropna().to_numpy(), y, step, colour)
            for row in medians[(medians["predicted"] == predicted) & (medians["bin"] == label)].itertuples():
                if row.n:
                    ax.plot([row.low, row.high], [y, y], color=colour, linewidth=4, alpha=0.6, solid_capstyle="butt")
                    ax.plot([row.median] * 2, [y - 0.4 * step, y + 0.4 * step], color="black", linewidth=1.6)
                ax.plot(row.theirs, y, "D", markerfacecolor="white", markeredgecolor="black", markersize=5, zorder=5)
    ax.set_yticks(range(len(ATTENTION_BINS)), [label[1:-1].replace(",", "–") for label in ATTENTION_BINS])
    ax.set_ylim(len(ATTENTION_BINS) - 0.45, -0.55)
    ax.set_xlim(*limits)
    if not legend:
        return
    handles = [Patch(facecolor=CLASS_COLOURS[k], alpha=0.5, label=f"predicted: {name}") for k, name in names.items()]
    handles.append(Line2D([], [], color="black", linewidth=1.6, label="our median"))
    if medians["theirs"].notna().any():
        handles.append(author_handle("D", "the paper's median"))
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=9)


def violin(ax: Axes, values: np.ndarray, y: float, step: float, shade: str) -> None:
    """One violin with its number of documents; too few to estimate a density are points."""
    if len(values) >= FEWEST_IN_VIOLIN and np.ptp(values) > 0:
        body = ax.violinplot(
            values, positions=[y], orientation="horizontal", widths=0.95 * step, showextrema=False, points=60
        )
        body["bodies"][0].set(facecolor=shade, alpha=0.4, edgecolor="none")
    elif len(values):
        ax.plot(values, np.full(len(values), y), ".", color=shade, markersize=3)
    if len(values):
        ax.annotate(f"{len(values)}", (1.0, y), xycoords=("axes fraction", "data"), fontsize=8.5, va="center",
                    xytext=(2, 0), textcoords="offset points", color=shade)  # fmt: skip


def trade_off(
    ax: Axes, points: pd.DataFrame, frontiers: dict[str, pd.DataFrame], theirs: pd.DataFrame, top: float = 0.1
) -> None:
    """Mean JSD to the base against mean TVD, halved (form of Figure 5): adversaries joined by λ within seeds.

    Other models are points. points: of `curves.figure_5`; frontiers: of `frontiers`, of the frozen base;
    theirs: of `figure_5_read`, drawn in grey with the same forms.
    """
    for kind, (_, marker, _) in KINDS.items():
        part = theirs[theirs["kind"] == kind]
        line = {"linestyle": ":", "linewidth": 0.9} if kind == "adversary" else {"linestyle": "none"}
        ax.plot(
            part["jsd"], part["tvd_halved"], marker=marker, color=PAPER, markerfacecolor="none", markersize=5, **line
        )
    for name, (colour, style) in FRONTIERS.items():
        if name in frontiers:
            ax.plot(frontiers[name]["jsd"], frontiers[name]["tvd_halved"], linestyle=style, color=colour, linewidth=1.4)
    for kind, (colour, marker, _) in KINDS.items():
        part = points[points["kind"] == kind]
        if kind == "adversary":
            for _, curve in part.groupby("seed", sort=False):
                curve = curve.sort_values("divergence")
                ax.plot(
                    curve["jsd"],
                    curve["tvd_halved"],
                    linestyle="-",
                    linewidth=1.0,
                    marker=marker,
                    color=colour,
                    markersize=5,
                )
        else:
            ax.plot(
                part["jsd"], part["tvd_halved"], marker, color=colour, markersize=7 if kind != "seed" else 6, zorder=4
            )
    ax.set_xlim(0, 0.72)
    ax.set_ylim(0, top)


def trade_off_legend(figure, frontiers: bool = True, theirs: bool = True) -> None:
    """One legend above the whole figure."""
    handles = [
        Line2D([], [], linestyle="-" if kind == "adversary" else "none", marker=m, color=c, label=name)
        for kind, (c, m, name) in KINDS.items()
    ]
    if frontiers:
        handles += [
            Line2D([], [], color=c, linestyle=s, label=f"frozen base: {name}") for name, (c, s) in FRONTIERS.items()
        ]
    if theirs:
        handles.append(
            Line2D(
                [], [], linestyle=":", color=PAPER, marker="o", markerfacecolor="none", label="the paper, same forms"
            )
        )
    figure.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=9)


def shades(rows: pd.DataFrame) -> dict[float, tuple]:
    """λ -> colour, the darker the larger."""
    divergences = sorted(rows["divergence"].unique())
    places = np.linspace(0.1, 1.0, max(len(divergences), 2))
    return {divergence: colormaps["viridis_r"](place) for divergence, place in zip(divergences, places, strict=False)}


def by_epoch(ax: Axes, rows: pd.DataFrame) -> None:
    """JSD on the test set after each epoch, one line per λ and seed; the λ of a colour stands in the legend.

    A ring marks the kept epoch. rows: of `curves.epochs`.
    """
    for divergence, colour in shades(rows).items():
        for k, (_, part) in enumerate(rows[rows["divergence"] == divergence].groupby("seed", sort=False)):
            part = part.sort_values("epoch")
            label = f"λ {divergence:g}" if k == 0 else None
            ax.plot(part["epoch"] + 1, part["jsd"], color=colour, linewidth=1.5, label=label)
            kept = part[part["kept"].astype(bool)]
            ax.plot(kept["epoch"] + 1, kept["jsd"], "o", markerfacecolor="none", color=OURS, markersize=6)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8.5, handlelength=1.2)
    ax.set_xlabel("epoch")
    ax.set_ylabel("mean JSD to the base")
    ax.set_ylim(0, 0.72)
    ax.axhline(np.log(2), color=CONTROL, linewidth=0.8)


def any_epoch(ax: Axes, rows: pd.DataFrame, chosen: pd.DataFrame, seeds: pd.DataFrame, top: float = 0.1) -> None:
    """Mean JSD against mean TVD, halved, of the model that each epoch leaves: dots in the colour of their λ.

    A black line per seed joins the models of `curves.cheapest` (chosen); the green line is the mean TVD of
    other seeds of the base (seeds: points of kind 'seed'). rows: of `curves.epochs`.
    """
    for divergence, colour in shades(rows).items():
        part = rows[rows["divergence"] == divergence]
        ax.plot(part["jsd"], frontier.HALVED * part["tvd"], ".", color=colour, markersize=3)
    for _, part in chosen.groupby("seed", sort=False):
        ax.plot(
            part["jsd"], part["tvd_halved"], "o-", color="black", markerfacecolor="white", markersize=5, linewidth=1
        )
    if len(seeds):
        ax.axhline(seeds["tvd_halved"].mean(), color=KINDS["seed"][0], linewidth=1.2, linestyle="--")
    ax.set_xlim(0, 0.72)
    ax.set_ylim(0, top)
