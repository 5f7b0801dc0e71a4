"""The authors' drawings of April 2019 beside ours, on the same axes: one row a model, left the paper, right ours."""

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy.special import expit

from attn_book import figures, tables
from attn_book.derived import five
from attn_book.fasttext import newest
from attn_book.page import PARTS, minus
from attn_book.scorecard import APRIL_RUN, reported
from attn_book.words import ENCODERS, SETS, class_names, listed, number
from attn_core.measures import jsd
from attn_lab.more.tables import ATTENTION_BINS, edges
from attn_lab.runs.index import has, numbers

THEIRS = {
    "tau_attention_gradient": "tau_gradient",
    "jsd_search epsilon=0.05": "eps_max_jsd",
}
"""Our measure -> its name among the authors' histograms."""

LINES = ("-", "--", ":")
MARKS = ("o", "s", "D")


def columns(
    names: list[str],
    height: float,
    ticks: tuple,
) -> tuple[Figure, np.ndarray]:
    """Axes in two columns, a named row a model."""
    sheet, grid = figures.sheet(
        len(names),
        height,
        ncols=2,
        sharex=True,
        sharey="row",
        squeeze=False,
    )
    sheet.set_layout_engine("constrained", hspace=0.3)
    for axes, name in zip(grid[:, 0], names, strict=True):
        axes.set_ylabel(name)
    for axes, title in zip(grid[0], ("the paper", "ours"), strict=True):
        axes.set_title(title, pad=20)
        axes.set(xticks=ticks, xlim=(ticks[0] - 0.03, ticks[-1] + 0.03))
    return sheet, grid


def name_classes(axes: Axes) -> None:
    """The classes' lines or marks, in one row above the axes."""
    names = axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=3,
        labelcolor=figures.INK,
    )
    names.set_in_layout(False)


def shares_of(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Rows of `index.numbers` with counts 'hist:…' as each bar's share of the texts, a column a bar: means over
    seeds of the groups `keys`."""
    rows = rows.assign(bar=rows["statistic"].str.removeprefix("hist:").astype(int))
    counts = rows.pivot_table(
        index=[*keys, "seed"],
        columns="bar",
        values="value",
        fill_value=0,
    )
    shares = counts.div(counts.sum(axis=1), axis=0).groupby(keys).mean()
    return shares.reindex(columns=range(40), fill_value=0)


def histograms(
    measure: str,
    models: list[tuple[str, str]],
    height: float,
    ticks: tuple,
) -> tuple[Figure, str]:
    """Shares of the test texts by a measure, a line a predicted class, for models (corpus, encoder) with additive
    attention; and the means, as an alternative text."""
    bins = edges(measure)
    middle = (bins[1:] + bins[:-1]) / 2
    theirs = reported("jain_repo_svg_histogram_bins", snapshot=APRIL_RUN, attention="tanh", measure=THEIRS[measure])
    theirs = theirs.fillna({"class_name": "all questions"}).sort_values("bin_left")
    theirs = theirs.groupby(["corpus", "encoder", "class_name"])["share"]
    corpora, encoders = map(list, zip(*models, strict=True))
    where = {"corpus": corpora, "encoder": encoders, "attention": "tanh", "source": "archive"}
    bars = {name for name in has("statistic") if name.startswith("hist:")}
    ours = shares_of(newest(five(numbers), measure, bars, "any", **where), ["corpus", "encoder", "predicted"])
    names = [f"{SETS[corpus]}\n{ENCODERS[encoder]}" for corpus, encoder in models]
    sheet, grid = columns(names, height, ticks)
    means = []
    for (corpus, encoder), pair in zip(models, grid, strict=True):
        for (group, name), line in zip(class_names(corpus).items(), LINES, strict=False):
            paper = theirs.get_group((corpus, encoder, name)).to_numpy()
            here = ours.loc[corpus, encoder, group].to_numpy()[: len(middle)]
            colours = figures.INK, figures.COLOURS[encoder]
            for axes, shares, colour in zip(pair, (paper, here), colours, strict=True):
                axes.stairs(shares, bins, color=colour, linestyle=line, label=name)
            both = f"{number(paper @ middle, '.2f')}, {number(here @ middle, '.2f')}"
            means.append(f"{SETS[corpus]}, {ENCODERS[encoder]}, {name}: {both}")
        name_classes(pair[0])
    return sheet, "Means, the paper’s and ours: " + "; ".join(means)


def quartiles(
    rows: pd.DataFrame,
    corpora: list[str],
    height: float,
    ticks: tuple,
) -> tuple[Figure, str]:
    """Medians and quartiles by range of the largest weight and by class, from rules of the scorecard; and the medians,
    as an alternative text. Ours of fewer than 20 texts are left out."""
    rows = rows.assign(ours=rows["ours"].mask(rows["unjudged"].str.contains("document")))
    table = rows.pivot(index=["corpus", "group", "bin"], columns="statistic", values=["reported", "ours"])
    sheet, grid = columns([SETS[corpus] for corpus in corpora], height, ticks)
    looks = {"reported": (figures.INK, figures.SHEET), "ours": 2 * (figures.COLOURS["lstm"],)}
    medians = []
    for corpus, pair in zip(corpora, grid, strict=True):
        names = table.loc[corpus].index.unique("group")
        for n, name in enumerate(names):
            by_range = []
            heights = np.arange(4) + 0.24 * (n - (len(names) - 1) / 2)
            for axes, (side, (colour, face)) in zip(
                pair,
                looks.items(),
                strict=True,
            ):
                of_class = table.loc[corpus, name][side].reindex(ATTENTION_BINS)
                by_range.append(" ".join(number(median, ".2f") for median in of_class["median"].dropna()))
                axes.hlines(heights, of_class["q25"], of_class["q75"], color=colour)
                axes.plot(
                    of_class["median"],
                    heights,
                    MARKS[n],
                    color=colour,
                    mfc=face,
                    label=name,
                )
            medians.append(f"{SETS[corpus]}, {name}: {'; '.join(by_range)}")
        pair[0].set_yticks(range(4), [bin[1:-1].replace(",", "–") for bin in ATTENTION_BINS])
        pair[0].set_ylim(3.5, -0.5)
        name_classes(pair[0])
    return sheet, "Medians by range, the paper’s and ours: " + "; ".join(medians)


def bars(
    rows: pd.DataFrame,
    printed: pd.DataFrame,
    heads: dict[str, str],
    height: float,
) -> tuple[Figure, str]:
    """Printed bars of the figures `heads` (item -> its head), and ours as dots with intervals from rules of the
    scorecard; and their numbers, as an alternative text."""
    sheet, panels = figures.sheet(
        1,
        height,
        ncols=len(heads),
        sharex=True,
        sharey=True,
    )
    sentences = []
    for axes, (item, head) in zip(panels, heads.items(), strict=True):
        theirs = printed[printed["table"] == item].set_index("corpus")["value"].rename(SETS)
        theirs = theirs.reindex(SETS.values()).dropna()
        ours = rows[rows["item"] == item].set_index("corpus").rename(SETS).dropna(subset="ours")
        axes.barh(theirs.index, theirs, color=figures.SHEET, edgecolor=figures.INK)
        ends = [ours["ours"] - ours["low"], ours["high"] - ours["ours"]]
        axes.errorbar(
            ours["ours"],
            ours.index,
            xerr=ends,
            fmt="o",
            color=figures.COLOURS["lstm"],
        )
        axes.set_title(f"{item}\n{head}", loc="left")
        axes.grid(True, axis="x")
        sentences.append(f"{item}, printed: {listed(theirs)}; ours: {listed(ours['ours'])}")
    axes.invert_yaxis()
    return sheet, "; ".join(sentences)


def triangle(toy: pd.DataFrame, read: dict) -> Figure:
    """Every attention over three words of `read_sentence` as a point: lines of equal JSD to the model's own, the
    band in which p stays within 0.05, and the optimal adversarial attention."""
    own, far, contribution = toy[["attention", "adversary", "contribution"]].to_numpy(float).T
    orange = figures.COLOURS["lstm"]
    steps = range(61)
    grid = np.array([(i, j, 60 - i - j) for i in steps for j in steps if i + j <= 60]) / 60
    change = expit(read["bias"] + grid @ contribution) - read["p"]
    limits = {"xlim": (-0.2, 1.2), "ylim": (-0.12, 0.98), "aspect": "equal"}
    sheet, axes = figures.sheet(height=3.7, subplot_kw=limits)
    axes.tricontourf(
        *place(grid),
        change,
        levels=[-0.05, 0.05],
        colors=[orange],
        alpha=0.3,
    )
    levels = [0.1, 0.2, 0.3, 0.4]
    lines = axes.tricontour(
        *place(grid),
        jsd(grid, own),
        levels=levels,
        colors=figures.QUIET,
        linewidths=1,
    )
    ray = np.linspace(own, [0, 0.8, 0.2], 99)  # along which the lines are labelled
    at_level = [ray[np.abs(jsd(ray, own) - level).argmin()] for level in levels]
    axes.clabel(lines, fmt="%.1f", manual=[*place(at_level).T])
    axes.plot(
        *place(np.eye(3)[[0, 1, 2, 0]]),
        color=figures.INK,
        linewidth=1.4,
    )
    axes.plot(*place(own), "o", color=figures.INK)
    axes.plot(
        *place(far),
        "*",
        color=orange,
        markersize=17,
        markeredgecolor=figures.SHEET,
        zorder=5,
    )
    alone = expit(read["bias"] + contribution)  # p if one word has all the weight
    names = [f"{word}: p = {p:.2f}" for word, p in zip(toy["token"], alone, strict=True)]
    shifts = [
        (0, -0.08),
        (0, 0.08),
        (0, -0.08),
        (0, -0.08),
        (-0.17, 0),
    ]
    labels = zip(
        [*np.eye(3), own, far],
        [*names, "the model’s", "optimum"],
        shifts,
        strict=True,
    )
    for weights, name, shift in labels:
        axes.text(*place(weights) + shift, name, ha="center", va="center_baseline")
    axes.axis("off")
    return sheet


def place(weights: ArrayLike) -> np.ndarray:
    """Where attentions over three words lie in the triangle: x and y."""
    return (np.asarray(weights) @ [[0, 0], [0.5, 0.866], [1, 0]]).T


def claims(rows: pd.DataFrame, asks: dict[str, str]) -> HTML:
    """Claims of the scorecard as a matrix: below what the claim `name` asks, a cell a data set, coloured by its
    `word`."""
    cells = rows["ours"].map("{:.2f}".format)
    kinds = rows.groupby("corpus")["data"].first()
    order = sorted(
        (name for name in SETS if name in kinds),
        key=lambda name: kinds[name] != "same",
    )
    heads = [(SETS[name], tables.PART.get(kinds[name], "")) for name in order]
    lines = {}
    for name, group in rows.assign(cell=cells).groupby("name"):
        line = f"{group['side'].iloc[0]} {group['reported'].iloc[0]:g}"
        found = {row.corpus: row for row in group.itertuples()}
        lines[f"{name}. {asks[name]}", line] = [found.get(corpus) for corpus in order]
    return HTML(minus(PARTS.matrix(heads, lines, rows["word"].unique())))
