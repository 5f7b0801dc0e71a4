"""The look of the book's figures, and what several pages draw.

A figure is inline SVG between its message as title and a caption. At 4.8 inches, 10.5 points are 11 px on a phone and
16 px on a desk.
"""

import html
import io
import re
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import isotonic_regression

from attn_book.page import PARTS, YOURS
from attn_book.words import ENCODERS, SETS, number
from attn_core.errors import AttnError
from attn_core.index import HEADLINE_SEEDS
from attn_core.reader import read_sentence

INK, QUIET, RULE, SHEET = "#1d2733", "#8a94a3", "#d9dee5", "#fefefe"
COLOURS = {"lstm": "#c2481a", "cnn": "#7a4f9a", "average": "#14766f", "transformer": "#2f66b3",
           "jain": "#8a3f73", "serrano": "#8a6410", "wiegreffe": "#3c6e2f"}  # fmt: skip
VARIABLES = {INK: "attn-ink", QUIET: "attn-quiet", RULE: "attn-rule", SHEET: "pst-color-background",
             **{colour: f"attn-{name}" for name, colour in COLOURS.items()}}  # fmt: skip
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
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = file.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>\s*|<!--.*?-->\s*", "", text[text.index("<svg") :], flags=re.DOTALL)
    head, rest = text.split(">", 1)
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    text = re.sub(r"(font-family:|font: [\d.]+px) [^;\"]*", r"\1 var(--attn-font, sans-serif)", f"{head}>{rest}")
    text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text)
    for colour, variable in VARIABLES.items():
        text = re.sub(colour, f"var(--{variable}, {colour})", text, flags=re.IGNORECASE)
    text = re.sub(r"\n\s*\n+", "\n", text).strip()  # an empty line would end the HTML block
    return text.replace("<svg", f'<svg role="img" aria-label="{alt}"', 1)


def _point(ax: Axes, row, y: float, colour: str, alone: bool = False) -> None:
    """Mean and interval over seeds, a row of `index.over_seeds`; open for fewer than HEADLINE_SEEDS, or alone."""
    face = {"markerfacecolor": SHEET} if alone or row.n_seeds < HEADLINE_SEEDS else {"markeredgecolor": SHEET}
    if not alone:
        ax.plot([row.low, row.high], [y, y], color=colour, zorder=3)
    ax.plot(row.mean, y, "o", color=colour, markersize=8.5, zorder=4, **face)


def _lines(ax: Axes, names: Sequence[str], top: float) -> None:
    """Lines with their names, the first on top, on a grid without frame; the axis begins at `top`."""
    ax.set_yticks(range(len(names)), names, multialignment="right")
    ax.set_ylim(len(names) - 0.4, top)
    ax.xaxis.grid(True)
    ax.spines[["left", "bottom"]].set_visible(False)


def dots(ax: Axes, rows: pd.DataFrame, names: dict | None = None) -> list[str]:
    """One line a data set, largest BiLSTM first, * if it is not the papers' own, one dot an encoder of
    `index.over_seeds`. Returns the sets. names: what stands over the dots, ENCODERS unless given."""
    wide = rows.pivot(index="corpus", columns="encoder", values="mean")
    order = list(wide.sort_values("lstm", ascending=False).index)
    kind = rows.groupby("corpus")["data"].first()
    for row in rows.itertuples():
        _point(ax, row, order.index(row.corpus), COLOURS[row.encoder])
    first = rows[rows["corpus"] == order[0]].sort_values("mean")
    for row, x in zip(first.itertuples(), spaced(first["mean"].to_numpy(), 0.2), strict=True):
        ax.text(x, -0.62, (names or ENCODERS)[row.encoder], color=COLOURS[row.encoder], weight="bold", ha="center")
    for y, name in enumerate(order):
        ax.plot([wide.loc[name].min(), wide.loc[name].max()], [y, y], color=RULE, linewidth=5, zorder=1)
    _lines(ax, [SETS.get(name, name) + "*" * (kind[name] != "same") for name in order], -1.15)
    return order


def yours(ax: Axes, x: Sequence[float], y: Sequence[float]) -> None:
    """Mark points as those of the run that the reader chose; nothing where there are none."""
    for left, height in zip(x, y, strict=True):
        ax.plot(left, height, "*", color=INK, markersize=15, markeredgecolor=SHEET, zorder=7)
        right_half = left > sum(ax.get_xlim()) / 2
        shift, side = (-9, "right") if right_half else (9, "left")
        ax.annotate(YOURS, (left, height), (shift, 0), textcoords="offset points", ha=side, va="center_baseline",
                    weight="bold", color=INK, zorder=7)  # fmt: skip


def yours_in_lines(ax: Axes, rows: pd.DataFrame, order: list[str], value: str = "mean") -> None:
    """Rows of `page.chosen`, with the column `value`, in a figure of one line a data set, `order`; a set of the reader's own, or one
    that the figure lacks, gets a line below."""
    lines = list(order)
    for row in rows.itertuples():
        if row.corpus not in lines:
            lines.append(row.corpus)
            names = [label.get_text() for label in ax.get_yticklabels()]
            ax.set_yticks(range(len(lines)), [*names, SETS.get(row.corpus, row.corpus)])
            ax.set_ylim(len(lines) - 0.4, ax.get_ylim()[1])
        yours(ax, [getattr(row, value)], [lines.index(row.corpus)])


HANS = {"han_rnn": "lstm", "han_conv": "cnn", "han_none": "average"}
"""Serrano & Smith's models -> the encoder that they are built of."""


def plain_names(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with HANs under the encoder that they are built of; other models of their data sets left out."""
    rows = rows[rows["encoder"].isin([*HANS, *HANS.values()])]
    return rows.assign(encoder=rows["encoder"].replace(HANS))


def forest(
    ax: Axes, rows: pd.DataFrame, encoder: str, marks: pd.Series | None = None, alone: tuple[str, ...] = ()
) -> None:
    """One line a row of `index.over_seeds`, first on top, named by its index, in the encoder's colour. marks: printed
    values by index, drawn as diamonds. alone: rows that are open points without interval."""
    for y, row in enumerate(rows.itertuples()):
        _point(ax, row, y, COLOURS[encoder], row.Index in alone)
        if marks is not None and row.Index in marks:
            ax.plot(marks[row.Index], y, "D", markerfacecolor="none", markeredgecolor=INK, markersize=8.5, zorder=5)
    _lines(ax, rows.index, -0.5)


def scale(ax: Axes, left: float, right: float, low: str = "", high: str = "") -> None:
    """A horizontal axis with five ticks, its ends named."""
    at = np.linspace(left, right, 5)
    names = [f"{value:g}" for value in at]
    names = [f"{names[0]}\n{low}", *names[1:-1], f"{names[-1]}\n{high}"]
    ax.set(xlim=(left - 0.02 * (right - left), right), xticks=at, xticklabels=names)


def spaced(at: np.ndarray, gap: float) -> np.ndarray:
    """Rising positions moved as little as need be for neighbours to lie `gap` apart."""
    steps = gap * np.arange(len(at))
    return isotonic_regression(at - steps).x + steps


def toy_bars(ax: Axes, toy: pd.DataFrame, told: dict) -> None:
    """The words of `reader.read_sentence`: weights as bars, contributions, and the output as arithmetic."""
    ax.axis("off")
    ax.set(xlim=(-1.25, 2.25), ylim=(-1.0, max(0.75, toy["attention"].max() + 0.25)))
    for x, row in zip(np.linspace(-0.55, 2.0, len(toy)), toy.itertuples(), strict=True):
        ax.bar(x, row.attention, 0.62, color=COLOURS["lstm"])
        ax.text(x, row.attention + 0.06, f"{row.attention:.2f}", ha="center", va="bottom")
        ax.text(x, -0.17, row.token, ha="center", va="center_baseline", weight="bold")
        ax.text(x, -0.50, number(row.contribution, "+.2f"), ha="center", va="center_baseline")
    for y, name in ((0.13, "α"), (-0.50, "c")):
        ax.text(-1.17, y, name, ha="center", va="center_baseline", color=QUIET)
    bias, total = told["bias"], float(toy["attention"] @ toy["contribution"])
    parts = f"b + Σ α c = {bias:.2f} {'−' if total < 0 else '+'} {abs(total):.2f} = {bias + total:.2f}"
    line = f"{parts}, so p(positive) = {told['p']:.2f}".replace("-", "−")
    ax.text(0.72, -0.86, line, ha="center", va="center_baseline", color=QUIET)


def erased(ax: Axes, toy: pd.DataFrame, told: dict, decision: bool = False) -> np.ndarray:
    """Under `toy_bars`: arrows from the output p to that without each word, which it returns. decision: with 0.5."""
    part = toy["attention"] * toy["contribution"]
    logits = told["bias"] + (part.sum() - part) / (1 - toy["attention"])
    without = 1 / (1 + np.exp(-logits.to_numpy()))
    ax.axis("off")
    ax.set(xlim=(-1.25, 2.25), ylim=(0.16, 0.54))
    ax.plot([-0.85, 2.25], [told["p"]] * 2, color=RULE, linewidth=1.5, zorder=1)
    ax.text(-0.9, told["p"], f"p = {told['p']:.2f}", ha="right", va="center_baseline", color=QUIET)
    if decision:
        ax.plot([-0.85, 2.25], [0.5, 0.5], "--", color=INK, linewidth=1.2)
        ax.text(2.25, 0.505, "positive", ha="right", va="bottom")
    for x, y, word in zip(np.linspace(-0.55, 2.0, len(toy)), without, toy["token"], strict=True):
        up, long = y > told["p"], y > told["p"] + 0.1
        ax.annotate("", (x, y), (x, told["p"]), arrowprops={"arrowstyle": "-|>", "color": COLOURS["lstm"], "shrinkA": 0,
                                                            "shrinkB": 0, "linewidth": 2})  # fmt: skip
        label = f"without {word}\n{y:.2f}" if up else f"{y:.2f}\nwithout {word}"
        ax.text(x + 0.12 * long, y + (0 if long else 0.012 if up else -0.012), label, ha="left" if long else "center",
                va="top" if long or not up else "bottom", linespacing=1.15)  # fmt: skip
    return without


def beside_dealt(ax: Axes, rows: pd.DataFrame, unit: str = ".2f") -> None:
    """One line a HAN of `derived.beside_dealt`, largest difference first: its number, that of weights dealt anew, and
    the difference."""
    rows = rows.sort_values("mean", ascending=False, ignore_index=True)
    kinds = rows["encoder"].map(ENCODERS).str.removeprefix("HAN with ").str.replace("HAN without", "no")
    beyond = rows[["own", "dealt"]].to_numpy().max() + 0.12 * np.ptp(rows[["own", "dealt"]].to_numpy())
    ax.hlines(rows.index, rows["dealt"], rows["own"], RULE, linewidth=5, zorder=1)
    for x, colours in ((rows["dealt"], QUIET), (rows["own"], rows["encoder"].map(HANS).map(COLOURS))):
        ax.scatter(x, rows.index, s=72, c=colours, edgecolors=SHEET, zorder=4)
    for y, row in enumerate(rows.itertuples()):
        text = f"{number(row.mean, '+' + unit)} ({number(row.low, unit)} to {number(row.high, unit)})"
        ax.text(beyond, y, text, va="center_baseline", **({"weight": "bold"} if row.low > 0 else {"color": QUIET}))
    _lines(ax, [f"{SETS[c]}\n{kind}" for c, kind in zip(rows["corpus"], kinds, strict=True)], -1.0)
    first = rows.iloc[0]
    sides = ("right", "left") if first["dealt"] < first["own"] else ("left", "right")
    ax.text(first["dealt"], -0.5, "dealt anew", color=QUIET, ha=sides[0])
    ax.text(first["own"], -0.5, "attention", color=INK, weight="bold", ha=sides[1])
    ax.text(beyond, -0.5, "difference", color=QUIET)


def widget(kind: str, texts: list[str], paper: str | None = None, **options) -> None:
    """An element that book/_static/core.js brings to life, with what stands in it without a script and on paper.

    kind: 'move', sentences whose attention a reader can move (epsilon: by how much the farthest one may change p; own:
    with a line for the reader's own sentence), 'erase', 'strips', 'triangle' or 'dial'. paper: HTML without a script
    and on paper, by default the first sentence under bars of its weights, and how many words alone give its answer.
    """
    from IPython.display import HTML, display

    sentences = []
    for table, told in map(read_sentence, texts):
        numbers = {"a": table["attention"].round(4).tolist(), "c": table["contribution"].round(4).tolist()}
        sentences.append({"w": table["token"].tolist(), **numbers, "b": round(told["bias"], 4)})
    options |= {"sentences": sentences} if texts else {}
    if paper is None:
        first, c = sentences[0], np.array(sentences[0]["c"]) + sentences[0]["b"]
        z = float(np.dot(first["a"], c))
        paper = PARTS.bars(first["w"], first["a"], z > 0, 1 / (1 + np.exp(-z)), sum((c > 0) == (z > 0)))
    display(HTML(PARTS.play(kind, options, paper)))
