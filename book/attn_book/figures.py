"""The look of the book's figures, and what several pages draw. Seaborn, which takes a second to load, is imported where
it is used.

A figure is inline SVG between its message as title and a caption. At 4.8 inches, 9.6 points are 10 px on a phone and
19 px on a desk.
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
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attn_book.page import PARTS, YOURS, minus
from attn_book.scorecard import FEWEST
from attn_book.words import ENCODERS, SETS, number
from attn_lab.runs.index import HEADLINE_SEEDS

INK = "#1d2733"
QUIET = "#8a94a3"
RULE = "#d9dee5"
SHEET = "#ffffff"
COLOURS = {
    "lstm": "#c2481a",
    "cnn": "#7a4f9a",
    "average": "#14766f",
    "transformer": "#2f66b3",
    "jain": "#8a3f73",
    "serrano": "#8a6410",
    "wiegreffe": "#3c6e2f",
    "positive": "#a37a00",
    "negative": "#b3245f",
    "yes": "#1a7f37",
    "part": "#7a6c58",
    "no": "#b00020",
}
VARIABLES = {INK: "attn-ink", QUIET: "attn-quiet", RULE: "attn-rule", SHEET: "pst-color-background"}
VARIABLES |= {colour: f"attn-{name}" for name, colour in COLOURS.items()}
"""Colour -> the style sheet's variable of it; alone (in Jupyter) the colour itself is used."""

COLOURS |= {ENCODERS[name]: COLOURS[name] for name in ENCODERS if name in COLOURS}
ABOVE = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": 9, "title": None}
"""The legend as a row of coloured names over the axes, for `seaborn.move_legend`."""


def sheet(
    rows: int = 1,
    height: float = 3.0,
    **options,
) -> tuple[Figure, Any]:
    """A figure of the book's width in its style, and its axes."""
    plt.style.use(Path(__file__).with_name("book.mplstyle"))
    return plt.subplots(rows, figsize=(4.8, height), **options)


def show(
    figure: Figure | str,
    name: str,
    title: str,
    caption: str,
    alt: str = "",
) -> None:
    """Put a figure, or HTML in its place, into the page: title (the message), picture, caption."""
    from IPython.display import HTML, display

    title, caption, alt = (" ".join(text.split()) for text in (title, caption, alt))
    picture = figure if isinstance(figure, str) else inline(figure, name, html.escape(alt))
    display(HTML(PARTS.figure(name, title, picture, caption)))


def inline(figure: Figure, name: str, alt: str) -> str:
    """A figure as SVG text for HTML: the page's font, the theme's colours, own ids; alt: escaped."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    plt.close(figure)
    text = file.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"(font-family:|font: [\d.]+px) [^;\"]*", r"\1 var(--attn-font, sans-serif)", text)
    text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var(--{variable}, {colour})")
    return text.replace("<svg", f'<svg role="img" aria-label="{alt}"', 1)


# ---- one line a data set ---------------------------------------------------------------------------------------------


def points(
    ax: Axes, rows: pd.DataFrame, line: str, hue: str = "encoder", palette: Mapping | Sequence = COLOURS, **options
) -> None:
    """`seaborn.pointplot` of means and intervals over seeds, rows of `index.over_seeds`: one line a value of the column
    `line`, a colour a value of `hue`; open for fewer than HEADLINE_SEEDS, or without interval."""
    import seaborn as sns

    sns.pointplot(
        rows.melt([line, hue], ["low", "mean", "high"]),
        x="value",
        y=line,
        hue=hue,
        estimator="median",  # of the three values
        errorbar=("pi", 100),  # from the least to the largest of them
        palette=palette,
        linestyle="none",
        linewidth=2,
        markersize=8.5,
        ax=ax,
        **options,
    )
    hollow = rows.query(f"n_seeds < {HEADLINE_SEEDS} or low.isna()")
    ax.plot(
        hollow["mean"],
        hollow[line],
        "o",
        color=SHEET,
        markersize=5,
    )
    bare(ax)


def bare(ax: Axes) -> None:
    """Named lines on a grid, without frame and titles of axes; the first and the last clear of the edge."""
    ax.grid(True, axis="x")
    ax.set(
        xlabel="",
        ylabel="",
        frame_on=False,
        ylim=(len(ax.get_yticks()) - 0.5, -0.5),
    )


def forest(ax: Axes, rows: pd.DataFrame, encoder: str) -> None:
    """One line a row of `index.over_seeds`, first on top, named by its index, in the encoder's colour."""
    rows = rows.assign(line=rows.index, encoder=encoder)
    points(ax, rows, "line", legend=False)


def beside_permuted(
    rows: pd.DataFrame,
    form: str,
    axis: str,
    name: str,
    title: str,
    caption: str,
) -> None:
    """Show rows of `derived.beside_permuted`: a test under the model's own weights minus under the same permuted; open
    below FEWEST texts. axis: what is drawn."""
    figure, axes = sheet(height=0.6 + 0.36 * len(rows))
    forest(
        axes,
        rows.assign(n_seeds=rows["n_seeds"].where(rows["documents"] >= FEWEST, 0)),
        "serrano",
    )
    axes.axvline(0, color=INK, linewidth=1)
    axes.set_xlabel(axis)
    drawn = rows.loc[rows["documents"] > 0, ["mean", "low", "high"]].map(number, form=form)
    texts = [f"{line}: {mean} ({low} to {high})" for line, mean, low, high in drawn.itertuples()]
    show(figure, name, title, caption, "; ".join(texts))


def boxes(
    ax: Axes,
    rows: pd.DataFrame,
    y: Sequence[float],
    colours: str | Sequence[str] = RULE,
) -> None:
    """Box plots from stored quartiles and whiskers, one a row."""
    ax.hlines(y, rows["whisker_low"], rows["whisker_high"], QUIET, linewidth=1)
    ax.hlines(y, rows["q25"], rows["q75"], colours, linewidth=7)
    ax.plot(
        rows["median"],
        y,
        "|",
        color=INK,
        markersize=9,
        markeredgewidth=2.5,
    )


def dots(ax: Axes, rows: pd.DataFrame) -> list[str]:
    """One line a data set, largest BiLSTM first, * if it is not the papers' own, one dot an encoder of
    `index.over_seeds`, their names above. Returns the sets."""
    import seaborn as sns

    first = rows[rows["encoder"] == "lstm"].sort_values("mean", ascending=False).set_index("corpus")
    named = {name: SETS[name] + "*" * (kind != "same") for name, kind in first["data"].items()}
    rows = rows.replace({"corpus": named, "encoder": ENCODERS})
    points(ax, rows, "corpus", order=named.values())
    sns.move_legend(ax, **ABOVE)
    return list(named)


def yours(ax: Axes, x: Sequence[float], y: Sequence[float]) -> None:
    """Mark points as those of the run that the reader chose; nothing where there are none."""
    ax.plot(x, y, "*", color=INK, markersize=15)
    for point in zip(x, y, strict=True):
        ax.text(*point, f"\n{YOURS}", linespacing=0.6, ha="center", va="top")  # close below the star


def yours_in_lines(
    ax: Axes,
    rows: pd.DataFrame,
    order: list[str],
    value: str = "mean",
) -> None:
    """Rows of `page.chosen`, by the column `value`, in a figure of one line a data set, `order`; a set that the figure
    lacks gets a line below."""
    for row in rows.itertuples():
        lines = [*order, row.corpus]
        y = lines.index(row.corpus)
        if y == len(order):
            ax.set_yticks(
                [y],
                [SETS.get(row.corpus, row.corpus)],
                minor=True,
            )
            ax.set_ylim(y + 0.6, -0.5)
        yours(ax, [getattr(row, value)], [y])


def scale(
    ax: Axes,
    left: float,
    right: float,
    low: str = "",
    high: str = "",
) -> None:
    """A horizontal axis with five ticks, its ends named."""
    ticks = np.linspace(left, right, 5)
    ends = {left: low, right: high}
    ax.set_xticks(ticks, [f"{tick:g}\n{ends.get(tick, '')}" for tick in ticks])
    ax.set_xlim(left - 0.02 * (right - left), right)


# ---- the book's one sentence -----------------------------------------------------------------------------------------


def toy_bars(
    ax: Axes,
    toy: pd.DataFrame,
    answer: dict,
    colour: str = COLOURS["lstm"],
) -> None:
    """The words of `read_sentence`: weights as bars, contributions, and the output as arithmetic. colour: grey where
    the weights are not the model's own."""
    import seaborn as sns

    sns.barplot(
        toy,
        x=toy.index,
        y="attention",
        color=colour,
        saturation=1,
        ax=ax,
    )
    words = [
        f"{row.token}\nα = {row.attention:.2f}\nc = {number(row.contribution, '+.2f')}" for row in toy.itertuples()
    ]
    ax.set_xticks(toy.index, words)
    total = toy["attention"] @ toy["contribution"]
    terms = f"{answer['bias']:.2f} + ({total:.2f}) = {answer['bias'] + total:.2f}"
    ax.set_xlabel(minus(f"b + Σ α c = {terms}, so p(positive) = {answer['p']:.2f}"), color=QUIET)
    ax.set(ylabel="", yticks=[], frame_on=False)
