"""The panels of Jain & Wallace's web appendix: one figure per data set and kind, one panel per model.

Ours come from the archive, the authors' from data/reported, both of their runs. Rows are encoders, columns kinds of
attention, so that a figure is as wide as a phone. What was not run is a panel that says so. Drawing functions return
nothing and leave the figure open, for a notebook to show it; without a grid they draw nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attn_book.figures import AUTHORS, CLASS_COLOURS, OURS, WIDTH
from attn_book.jain.grids import MEASURES, MODELS, Grid, authors_mean, name, theirs
from attn_book.reported import FINAL_RUN
from attn_book.words import bounds
from attn_core.experiments import ATTENTION_BINS, attention_bin, edges
from attn_core.measures import seed_interval

THREE_WAY = {
    "tau_attention_loo": ("attention – leave-one-out", "-", "tau(attention,LOO)"),
    "tau_attention_gradient": ("attention – gradient", "--", "tau(attention,gradient)"),
    "tau_gradient_loo": ("gradient – leave-one-out", ":", "tau(gradient,LOO)"),
}
"""Statistic -> name, line style as in the authors' appendix, measure in their files."""

YARDSTICKS = {
    "jsd_exact": "exact", "jsd_lower": "best found", "ceiling": "ceiling", "jsd_shuffled": "shuffled",
    "jsd_permutation": "permuted",
}  # fmt: skip
"""What an ε-max JSD is held against; names short enough for a panel. Statistics that a model lacks are left out."""

SMALL = 10.5
FEWEST = 10


def panels(grid: Grid, height: float, strip: float = 0.0, gap: float = 0.12) -> dict[tuple[str, str], list[Axes]]:
    """A figure of three rows and two columns of panels; model -> its axes.

    height: of one panel, inches. strip: height of a second axis below each panel, relative to it. gap: between the
    columns, inches. Laid out by hand: matplotlib's own layout would cost as long as drawing.
    """
    space, top, bottom, left, right = 0.36, 0.75, 0.55, 1.02, 0.3  # inches
    figure = plt.figure(figsize=(WIDTH, top + bottom + 3 * (height * (1 + strip) + 0.1 * bool(strip)) + 2 * space))
    wide, tall = figure.get_size_inches()
    width = (wide - left - right - gap) / 2
    found, y = {}, tall - top
    for i, model in enumerate(MODELS):
        x = left + (i % 2) * (width + gap)
        boxes = [(y - height, height)] + [(y - height * (1 + strip) - 0.1, height * strip)] * bool(strip)
        axes = [figure.add_axes((x / wide, low / tall, width / wide, size / tall)) for low, size in boxes]
        for ax in axes:
            ax.tick_params(labelsize=SMALL, labelbottom=ax is axes[-1] and i >= 4)
        y -= (height * (1 + strip) + 0.1 * bool(strip) + space) * (i % 2)
        results = grid.results.get(model, [])
        seeds = f" ({len(results)} seed{'s' if len(results) != 1 else ''})" if results else ", not rerun"
        axes[0].set_title(name(model) + seeds, fontsize=SMALL)
        found[model] = axes
    return found


def colour(group: str) -> str:
    """A class's colour; all documents together have the colour of ours."""
    return OURS if group == "all" else CLASS_COLOURS[int(group)]


def interval(
    ax: Axes, y: float, values: np.ndarray, shade: str, possible: tuple[float, float] = (-np.inf, np.inf)
) -> None:
    """Mean over seeds with its Student t interval, cut at what is possible; an open point for fewer than five seeds.

    No interval for fewer than three.
    """
    values = values[~np.isnan(values)]
    if not len(values):
        return
    low, high = np.clip(seed_interval(values), *possible)
    ax.plot([low, high], [y, y], color=shade, linewidth=2.2, solid_capstyle="butt")
    face = shade if len(values) >= 5 else "white"
    ax.plot(values.mean(), y, "o", color=shade, markerfacecolor=face, markersize=5, clip_on=False)


def authors_points(ax: Axes, y: float, points: dict[str, float], shade: str = "black") -> None:
    """Values of the authors' runs by snapshot, as open squares (April) and diamonds (final)."""
    for snapshot, point in points.items():
        if np.isfinite(point):
            ax.plot(
                point,
                y,
                AUTHORS[snapshot][0],
                markerfacecolor="none",
                markeredgecolor=shade,
                markersize=6.5,
                markeredgewidth=1.1,
            )


def legend(figure: plt.Figure, grid: Grid, outlines: bool) -> None:
    """One legend above all panels: classes, and the authors' two runs."""
    handles = [
        plt.Rectangle((0, 0), 1, 1, color=colour(group), alpha=0.5, label=text) for group, text in grid.groups.items()
    ]
    for marker, style, text in AUTHORS.values():
        line = {
            "linestyle": style if outlines else "none",
            "marker": marker,
            "markerfacecolor": "none",
            "color": "black",
        }
        handles.append(plt.Line2D([], [], label=text, **line))
    figure.legend(handles=handles, loc="upper center", ncols=3, fontsize=SMALL)


def histograms(grid: Grid | None, statistic: str, xlabel: str) -> None:
    """Share of each predicted class by bin: mean over seeds filled, lines from the lowest to the highest seed.

    Below: means with 95 % Student t intervals over seeds, beside the authors' means; for JSD also its yardsticks over
    all documents. The authors' histograms, where they were read off (additive attention), are outlines. None draws
    nothing.
    """
    if grid is None:
        return
    limits = edges(statistic)
    centres = (limits[:-1] + limits[1:]) / 2
    kind, _, epsilon = statistic.partition("@")
    rows = {(statistic, group): text for group, text in grid.groups.items()}
    if epsilon:
        held = {(key if key == "ceiling" else f"{key}@{epsilon}", "all"): text for key, text in YARDSTICKS.items()}
        there = {column for tables in grid.tables.values() for column in tables}
        rows |= {place: text for place, text in held.items() if place[0] in there}
    strip = 0.12 * len(rows)
    measure = MEASURES.get(statistic, "eps_max_jsd")
    for i, (model, (ax, below)) in enumerate(panels(grid, 1.6, strip, gap=0.5).items()):
        for group in grid.groups:
            shares = grid.shares(model, statistic, group)
            if len(shares):
                ax.stairs(shares.mean(axis=0), limits, fill=True, color=colour(group), alpha=0.4)
                ax.vlines(centres, shares.min(axis=0), shares.max(axis=0), color=colour(group), linewidth=0.7)
            for snapshot, (_, style, _) in AUTHORS.items():
                bars = theirs(
                    "jain_repo_svg_histogram_bins", grid.corpus, model, group, measure=measure, snapshot=snapshot
                )
                if len(bars):
                    bars = bars.sort_values("bin_left")
                    ends = [*bars["bin_left"], bars["bin_right"].iloc[-1]]
                    ax.stairs(bars["share"], ends, color=colour(group), linestyle=style, linewidth=1.0)
        for y, (column, group) in enumerate(rows):
            shade = colour(group) if column == statistic else "black"
            interval(below, y, grid.over_seeds(model, column, group), shade, bounds(column))
            if column == statistic:
                authors_points(below, y, {s: authors_mean(grid.corpus, model, group, kind, s) for s in AUTHORS})
        below.set_yticks(range(len(rows)), rows.values() if i % 2 == 0 else [""] * len(rows), fontsize=SMALL)
        below.set_ylim(len(rows) - 0.4, -0.6)
        below.tick_params(axis="y", length=0)
        for each in (ax, below):
            each.set_xlim(limits[0], limits[-1])
        ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        ax.yaxis.set_major_formatter("{x:.2f}")
        if not ax.patches:
            ax.set_yticks([])
        if i % 2 == 0:
            ax.set_ylabel("share", fontsize=SMALL)
        if i >= 4:
            below.set_xlabel(xlabel, fontsize=SMALL)
    legend(plt.gcf(), grid, outlines=True)


def densities(grid: Grid | None) -> None:
    """Densities of the three Kendall taus over the documents of one seed, in the authors' line styles.

    Below: means over seeds with Student t intervals, beside the means of the authors' final run. None draws nothing.
    """
    from scipy.stats import gaussian_kde

    if grid is None:
        return
    shades = ("#0173b2", "#d55e00", "#000000")
    at = np.linspace(-1, 1, 201)
    for i, (model, (ax, below)) in enumerate(panels(grid, 1.5, 0.36, gap=0.4).items()):
        documents = grid.documents(model)
        for y, ((column, (_, style, measure)), shade) in enumerate(zip(THREE_WAY.items(), shades, strict=True)):
            values = np.empty(0) if documents is None else documents[column].dropna().to_numpy()
            if len(values) >= FEWEST and np.ptp(values) > 0:
                ax.plot(at, gaussian_kde(values)(at), linestyle=style, color=shade, linewidth=1.8)
            interval(below, y, grid.over_seeds(model, column, "all"), shade, bounds(column))
            rows = theirs(
                "jain_repo_threeway_correlations", grid.corpus, model, "all", measure=measure, statistic="mean"
            )
            authors_points(below, y, {FINAL_RUN: float(rows["value"].mean())})
        below.set_yticks(range(3), ["att–LOO", "att–grad", "grad–LOO"] if i % 2 == 0 else [""] * 3, fontsize=SMALL)
        below.set_ylim(2.6, -0.6)
        below.tick_params(axis="y", length=0)
        for each in (ax, below):
            each.set_xlim(-1, 1)
        ax.set_ylim(bottom=0)
        if not ax.lines:
            ax.set_yticks([])
        if i % 2 == 0:
            ax.set_ylabel("density", fontsize=SMALL)
        if i >= 4:
            below.set_xlabel("Kendall τ", fontsize=SMALL)
    lines = [
        plt.Line2D([], [], linestyle=style, color=shade, label=text)
        for (text, style, _), shade in zip(THREE_WAY.values(), shades, strict=True)
    ]
    lines.append(
        plt.Line2D([], [], linestyle="none", marker="D", markerfacecolor="none", color="black", label="authors, final")
    )
    plt.gcf().legend(handles=lines, loc="upper center", ncols=2, fontsize=SMALL)


def violins(grid: Grid | None, statistic: str, limits: tuple[float, float], xlabel: str, ceiling: bool = False) -> None:
    """A statistic by bin of the largest weight and predicted class, over the documents of one seed.

    Points: medians over whole test sets, mean over seeds with Student t intervals. Beside them the authors' quartiles.
    ceiling: a black tick at the median of the JSD's ceiling (mean over seeds). Lowest bin on top.
    """
    if grid is None:
        return
    kind = MEASURES.get(statistic, "eps_max_jsd")
    step = 0.84 / len(grid.groups)
    for i, (model, (ax,)) in enumerate(panels(grid, 0.9 + 0.72 * len(grid.groups), gap=0.4).items()):
        documents = grid.documents(model)
        bins = None if documents is None else attention_bin(documents["max_attention"])
        for place, label in enumerate(ATTENTION_BINS):
            for k, group in enumerate(grid.groups):
                y = place + (k - (len(grid.groups) - 1) / 2) * step
                if documents is not None and statistic in documents:
                    chosen = (bins == label) & (True if group == "all" else documents["predicted"] == int(group))
                    violin(ax, documents.loc[chosen, statistic].dropna().to_numpy(), y, step, colour(group))
                values = grid.over_seeds(model, statistic, group, "median", label)
                interval(ax, y + 0.14 * step, values, colour(group), bounds(statistic))
                shade = "black" if grid.results else colour(group)  # no violin of ours tells the classes apart
                quartiles(ax, grid.corpus, model, group, kind, label, y, step, shade)
                tops = grid.over_seeds(model, "ceiling", group, "median", label) if ceiling else np.empty(0)
                if len(tops):
                    ax.plot([tops.mean()] * 2, [y - 0.4 * step, y + 0.4 * step], color="black", linewidth=1.4)
        ax.set_yticks(
            range(4),
            [text[1:-1].replace(",", "–") for text in ATTENTION_BINS] if i % 2 == 0 else [""] * 4,
            fontsize=SMALL,
        )
        ax.set_ylim(3.55, -0.55)
        ax.hlines([0.5, 1.5, 2.5], *limits, color="0.85", linewidth=0.8, zorder=0)
        ax.set_xlim(*limits)
        if i % 2 == 0:
            ax.set_ylabel("largest weight", fontsize=SMALL)
        if i >= 4:
            ax.set_xlabel(xlabel, fontsize=SMALL)
    legend(plt.gcf(), grid, outlines=False)


def violin(ax: Axes, values: np.ndarray, y: float, step: float, shade: str) -> None:
    """One violin with its number of documents; too few to estimate a density are points."""
    if len(values) >= FEWEST and np.ptp(values) > 0:
        body = ax.violinplot(
            values, positions=[y], orientation="horizontal", widths=0.95 * step, showextrema=False, points=60
        )
        body["bodies"][0].set(facecolor=shade, alpha=0.4, edgecolor="none")
    elif len(values):
        ax.plot(values, np.full(len(values), y), ".", color=shade, markersize=3)
    if len(values):
        ax.annotate(f"{len(values)}", (1.0, y), xycoords=("axes fraction", "data"), fontsize=8.5, va="center",
                    xytext=(2, 0), textcoords="offset points", color=shade)  # fmt: skip


def quartiles(
    ax: Axes, corpus: str, model: tuple[str, str], group: str, kind: str, label: str, y: float, step: float, shade: str
) -> None:
    """The authors' median as a marker on the line from lower to upper quartile, one line per run, above ours."""
    rows = theirs("jain_repo_svg_summaries", corpus, model, group, measure=kind)
    rows = rows[rows["max_attention_bin"].str[:5] == label[:5]]
    for shift, (snapshot, (marker, style, _)) in zip((0.38, 0.2), AUTHORS.items(), strict=True):
        line = rows[rows["snapshot"] == snapshot].set_index("statistic")["value"]
        if {"q25", "median", "q75"} <= set(line.index):
            at = y - shift * step
            drawn = {"color": shade, "linewidth": 0.8, "linestyle": style if style == "--" else "-"}
            ax.plot(line[["q25", "q75"]], [at, at], **drawn)
            ax.plot(line["median"], at, marker, markerfacecolor="white", markeredgecolor=shade, markersize=4.5)
