"""The look of the book's figures, and what several pages draw.

A figure is inline SVG between its message as title and a caption. At 4.8 inches, 10.5 points are 11 px on a phone and
16 px on a desk.
"""

import html
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import expit

from attn_book.page import PARTS, YOURS
from attn_book.words import ENCODERS, SETS, number
from attn_core.errors import AttnError
from attn_core.index import HEADLINE_SEEDS

INK = "#1d2733"
QUIET = "#8a94a3"
RULE = "#d9dee5"
SHEET = "#fefefe"
COLOURS = {
    "lstm": "#c2481a",
    "cnn": "#7a4f9a",
    "average": "#14766f",
    "transformer": "#2f66b3",
    "jain": "#8a3f73",
    "serrano": "#8a6410",
    "wiegreffe": "#3c6e2f",
}
VARIABLES = {INK: "attn-ink", QUIET: "attn-quiet", RULE: "attn-rule"}
VARIABLES |= dict.fromkeys([SHEET, "#ffffff"], "pst-color-background")  # white: edges of seaborn's dots
VARIABLES |= {colour: f"attn-{name}" for name, colour in COLOURS.items()}
"""Colour -> the style sheet's variable of it; alone (in Jupyter) the colour itself is used."""

LONGEST_CAPTION = 150


def sheet(rows: int = 1, height: float = 3.0, **options) -> tuple[Figure, Axes]:
    """A figure of the book's width in its style, and its axes."""
    plt.style.use(Path(__file__).with_name("book.mplstyle"))
    return plt.subplots(rows, figsize=(4.8, height), **options)


def show(figure: Figure | str, name: str, title: str, caption: str, alt: str = "") -> None:
    """Put a figure, or HTML in its place, into the page: title (the message), picture, caption."""
    from IPython.display import HTML, display

    title, caption, alt = (" ".join(text.split()) for text in (title, caption, alt))
    if len(caption) > LONGEST_CAPTION:
        raise AttnError(f"figure {name}: its caption has {len(caption)} characters; at most {LONGEST_CAPTION}")
    picture = figure if isinstance(figure, str) else inline(figure, name, html.escape(alt))
    display(HTML(PARTS.figure(name, title, picture, caption)))


def inline(figure: Figure, name: str, alt: str) -> str:
    """A figure as SVG text for HTML: no fixed size, the page's font, the theme's colours, own ids; alt: escaped."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    plt.close(figure)
    text = file.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r' (?:width|height)="[\d.]+pt"', "", text)
    text = re.sub(r"(font-family:|font: [\d.]+px) [^;\"]*", r"\1 var(--attn-font, sans-serif)", text)
    text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var(--{variable}, {colour})")
    return text.replace("<svg", f'<svg role="img" aria-label="{alt}"', 1)


# ---- one line a data set ---------------------------------------------------------------------------------------------


def points(ax: Axes, rows: pd.DataFrame, line: str, hue: str = "encoder", **options) -> None:
    """Means and intervals over seeds, rows of `index.over_seeds`, one line a value of the column `line`, the first on
    top, a colour a value of `hue`; open for fewer than HEADLINE_SEEDS, or without interval. options: of
    `seaborn.pointplot`."""
    options.setdefault("palette", COLOURS)
    sns.pointplot(
        rows.melt([line, hue], ["low", "mean", "high"]),
        x="value",
        y=line,
        hue=hue,
        estimator="median",  # of the three values
        errorbar=("pi", 100),  # from the least to the largest of them
        linestyle="none",
        linewidth=2,
        markersize=8.5,
        ax=ax,
        **options,
    )
    few = rows[(rows["n_seeds"] < HEADLINE_SEEDS) | rows["low"].isna()]
    ax.plot(few["mean"], few[line], "o", color=SHEET, markersize=5, zorder=4)
    bare(ax)


def bare(ax: Axes) -> None:
    """Named lines on a grid, without frame and titles of axes."""
    count = len(ax.get_yticks())
    ax.set(xlabel="", ylabel="", ylim=(count - 0.5, -0.5))
    ax.xaxis.grid(True)
    ax.spines[["left", "bottom"]].set_visible(False)


def names_above(ax: Axes, names: Mapping[str, str]) -> None:
    """The legend as one row of coloured names over the axes; names: label -> what stands there."""
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(
        handles,
        [names.get(label, label) for label in labels],
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=len(labels),
        borderaxespad=0,
        columnspacing=1,
        handlelength=1,
        handletextpad=0.3,
        labelcolor="linecolor",
    )


def dots(ax: Axes, rows: pd.DataFrame, names: Mapping[str, str] = ENCODERS) -> list[str]:
    """One line a data set, largest BiLSTM first, * if it is not the papers' own, one dot an encoder of
    `index.over_seeds`, their `names` above. Returns the sets."""
    wide = rows.pivot(index="corpus", columns="encoder", values="mean").sort_values("lstm", ascending=False)
    rows = rows.set_index("corpus").loc[wide.index].reset_index()
    star = rows.groupby("corpus")["data"].transform("first").eq("same").map({True: "", False: "*"})
    rows["line"] = rows["corpus"].replace(SETS) + star
    points(ax, rows, "line", hue_order=[name for name in names if name in wide])
    names_above(ax, names)
    ax.hlines(range(len(wide)), wide.min(axis=1), wide.max(axis=1), RULE, linewidth=5, zorder=1)
    return list(wide.index)


def forest(
    ax: Axes, rows: pd.DataFrame, encoder: str, marks: pd.Series | None = None, alone: tuple[str, ...] = ()
) -> None:
    """One line a row of `index.over_seeds`, first on top, named by its index, in the encoder's colour. marks: printed
    values by index, drawn as diamonds. alone: rows that are open points without interval."""
    rows = rows.assign(line=rows.index, encoder=encoder)
    rows.loc[list(alone), ["low", "high"]] = np.nan
    points(ax, rows, "line", legend=False)
    if marks is not None:
        ax.plot(
            marks.reindex(rows.index),
            rows.index,
            "D",
            markerfacecolor="none",
            markeredgecolor=INK,
            markersize=8.5,
            zorder=5,
        )


def yours(ax: Axes, x: Sequence[float], y: Sequence[float]) -> None:
    """Mark points as those of the run that the reader chose; nothing where there are none."""
    ax.plot(x, y, "*", color=INK, markersize=15, markeredgecolor=SHEET, zorder=7)
    for place in zip(x, y, strict=True):
        ax.text(
            *place,
            f"\n{YOURS}",
            linespacing=0.6,  # close below the star
            ha="center",
            va="top",
            weight="bold",
            zorder=7,
        )


def yours_in_lines(ax: Axes, rows: pd.DataFrame, order: list[str], value: str = "mean") -> None:
    """Rows of `page.chosen`, by the column `value`, in a figure of one line a data set, `order`; a set that the figure
    lacks gets a line below."""
    for row in rows.itertuples():
        lines = [*order, row.corpus]
        y = lines.index(row.corpus)
        if y == len(order):
            ax.set_yticks([y], [SETS.get(row.corpus, row.corpus)], minor=True)
            ax.set_ylim(y + 0.6, ax.get_ylim()[1])
        yours(ax, [getattr(row, value)], [y])


HANS = {"han_rnn": "lstm", "han_conv": "cnn", "han_none": "average"}
"""Serrano & Smith's models -> the encoder that they are built of."""


def scale(ax: Axes, left: float, right: float, low: str = "", high: str = "") -> None:
    """A horizontal axis with five ticks, its ends named."""
    ticks = np.linspace(left, right, 5)
    between = [f"{value:g}" for value in ticks[1:-1]]
    ax.set_xticks(ticks, [f"{left:g}\n{low}", *between, f"{right:g}\n{high}"])
    ax.set_xlim(left - 0.02 * (right - left), right)


def beside_dealt(ax: Axes, rows: pd.DataFrame, unit: str = ".2f") -> None:
    """One line a HAN of `derived.beside_dealt`, largest difference first, which its name tells: its number and that of
    weights dealt anew. Last the run that the reader chose, a row of `page.chosen` whose index is YOURS."""
    rows = rows.assign(last=rows.index == YOURS).sort_values(["last", "mean"], ascending=[True, False])
    lines = []
    for row in rows.itertuples():
        kind = ENCODERS[row.encoder].removeprefix("HAN with ").replace("HAN without", "no")
        name = YOURS if row.last else SETS[row.corpus]
        interval = "" if row.last else f" ({number(row.low, unit)} to {number(row.high, unit)})"
        lines.append(f"{name}, {kind}\n{number(row.mean, '+' + unit)}{interval}")
    sns.stripplot(
        rows.assign(line=lines).melt("line", ["dealt", "own"]),
        x="value",
        y="line",
        hue="variable",
        palette={"dealt": QUIET, "own": COLOURS["serrano"]},
        jitter=False,
        size=8.5,
        ax=ax,
    )
    ax.hlines(lines, rows["dealt"], rows["own"], RULE, linewidth=5, zorder=1)
    names_above(ax, {"dealt": "dealt anew", "own": "attention"})
    bare(ax)


# ---- the book's one sentence -----------------------------------------------------------------------------------------


def toy_bars(ax: Axes, toy: pd.DataFrame, told: dict) -> None:
    """The words of `read_sentence`: weights as bars, contributions, and the output as arithmetic."""
    places = range(len(toy))
    sns.barplot(
        x=places,
        y=toy["attention"].to_numpy(),
        errorbar=None,
        width=0.7,
        saturation=1,
        color=COLOURS["lstm"],
        ax=ax,
    )
    bars: Any = ax.containers[0]
    ax.bar_label(bars, fmt="α = %.2f", padding=3)
    ax.set_xticks(places, toy["token"] + "\nc = " + toy["contribution"].map(signed))
    total = float(toy["attention"] @ toy["contribution"])
    sign = "−" if total < 0 else "+"
    logit = number(told["bias"] + total, ".2f")
    line = f"b + Σ α c = {number(told['bias'], '.2f')} {sign} {abs(total):.2f} = {logit}"
    ax.set_xlabel(f"{line}, so p(positive) = {told['p']:.2f}", color=QUIET)
    ax.set(
        ylabel="",
        ylim=(0, max(0.75, toy["attention"].max() + 0.25)),
        yticks=[],
        frame_on=False,
    )


def signed(value: float) -> str:
    return number(value, "+.2f")


def erased(ax: Axes, toy: pd.DataFrame, told: dict, decision: bool = False) -> np.ndarray:
    """Under `toy_bars`: bars from the output p to that without each word, which it returns. decision: with 0.5."""
    share = toy["attention"] * toy["contribution"]
    without = expit((told["bias"] + (share.sum() - share) / (1 - toy["attention"])).to_numpy())
    p = told["p"]
    bars = ax.bar(range(len(toy)), without - p, 0.15, p, color=COLOURS["lstm"], zorder=3)
    behind = {"facecolor": SHEET, "edgecolor": "none", "pad": 1}
    ax.bar_label(bars, [f"{y:.2f}" for y in without], padding=3, bbox=behind)
    ticks = {p: f"p = {p:.2f}"} | ({0.5: "positive\nfrom 0.5"} if decision else {})
    ax.set_yticks(list(ticks), ticks.values())
    ax.set_xticks(range(len(toy)), "without\n" + toy["token"])
    ax.set(xlim=(-0.5, len(toy) - 0.5), ylim=(0.16, 0.54), frame_on=False)
    ax.yaxis.grid(True)
    return without
