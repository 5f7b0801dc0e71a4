"""The look of the book's figures, and what several pages draw.

A figure is inline SVG between its message as title and a caption. At 4.8 inches, 10.5 points are 11 px on a phone and
16 px on a desk.
"""

import html
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import isotonic_regression
from scipy.special import expit

from attn_book.page import PARTS, YOURS
from attn_book.words import ENCODERS, SETS, number
from attn_core.errors import AttnError
from attn_core.index import HEADLINE_SEEDS
from attn_data.sentence import read_sentence

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
VARIABLES = {INK: "attn-ink", QUIET: "attn-quiet", RULE: "attn-rule", SHEET: "pst-color-background"}
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
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    head, body = text.split(">", 1)
    text = re.sub(r' (?:width|height)="[^"]*"', "", head) + ">" + body
    text = re.sub(r"(font-family:|font: [\d.]+px) [^;\"]*", r"\1 var(--attn-font, sans-serif)", text)
    text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text)
    for colour, variable in VARIABLES.items():
        text = re.sub(colour, f"var(--{variable}, {colour})", text, flags=re.IGNORECASE)
    text = re.sub(r"\n\s*\n+", "\n", text).strip()  # an empty line would end the HTML block
    return text.replace("<svg", f'<svg role="img" aria-label="{alt}"', 1)


# ---- one line a data set ---------------------------------------------------------------------------------------------


def point(ax: Axes, row, y: float, colour: str, alone: bool = False) -> None:
    """Mean and interval over seeds, a row of `index.over_seeds`; open for fewer than HEADLINE_SEEDS, or alone."""
    is_open = alone or row.n_seeds < HEADLINE_SEEDS
    face: Any = {"markerfacecolor": SHEET} if is_open else {"markeredgecolor": SHEET}
    if not alone:
        ax.plot([row.low, row.high], [y, y], color=colour, zorder=3)
    ax.plot(row.mean, y, "o", color=colour, markersize=8.5, zorder=4, **face)


def named_lines(ax: Axes, names: Sequence[str], top: float) -> None:
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
    for row in rows.itertuples():
        point(ax, row, order.index(row.corpus), COLOURS[row.encoder])
    first = rows[rows["corpus"] == order[0]].sort_values("mean")
    heights = [-0.62] * len(first)
    if len(first) == 4:
        heights = [-0.62, -1.3, -0.62, -1.3]  # four names need two lines
    places = spaced(first["mean"].to_numpy(), 0.2)
    for row, x, y in zip(first.itertuples(), places, heights, strict=True):
        name = (names or ENCODERS)[row.encoder]
        colour = COLOURS[row.encoder]
        ax.text(min(x, 0.92), y, name, color=colour, weight="bold", ha="center")
    kind = rows.groupby("corpus")["data"].first()
    labels = []
    for y, corpus in enumerate(order):
        means = wide.loc[corpus]
        ax.plot([means.min(), means.max()], [y, y], color=RULE, linewidth=5, zorder=1)
        star = "" if kind[corpus] == "same" else "*"
        labels.append(SETS.get(corpus, corpus) + star)
    named_lines(ax, labels, min(heights) - 0.53)
    return order


def yours(ax: Axes, x: Sequence[float], y: Sequence[float]) -> None:
    """Mark points as those of the run that the reader chose; nothing where there are none."""
    below: Any = {"textcoords": "offset points", "ha": "center", "va": "top", "weight": "bold"}
    for point_at in zip(x, y, strict=True):
        ax.plot(*point_at, "*", color=INK, markersize=15, markeredgecolor=SHEET, zorder=7)
        ax.annotate(YOURS, point_at, (0, -6), color=INK, zorder=7, **below)


def yours_in_lines(ax: Axes, rows: pd.DataFrame, order: list[str], value: str = "mean") -> None:
    """Rows of `page.chosen`, by the column `value`, in a figure of one line a data set, `order`; a set that the figure
    lacks gets a line below."""
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
        point(ax, row, y, COLOURS[encoder], row.Index in alone)
        if marks is not None and row.Index in marks:
            ax.plot(marks[row.Index], y, "D", markerfacecolor="none", markeredgecolor=INK, markersize=8.5, zorder=5)
    named_lines(ax, rows.index, -0.5)


def scale(ax: Axes, left: float, right: float, low: str = "", high: str = "") -> None:
    """A horizontal axis with five ticks, its ends named."""
    ticks = np.linspace(left, right, 5)
    names = [f"{value:g}" for value in ticks]
    names[0] += f"\n{low}"
    names[-1] += f"\n{high}"
    ax.set(xlim=(left - 0.02 * (right - left), right), xticks=ticks, xticklabels=names)


def spaced(at: np.ndarray, gap: float) -> np.ndarray:
    """Rising positions moved as little as need be for neighbours to lie `gap` apart."""
    steps = gap * np.arange(len(at))
    return isotonic_regression(at - steps).x + steps


def beside_dealt(ax: Axes, rows: pd.DataFrame, unit: str = ".2f") -> None:
    """One line a HAN of `derived.beside_dealt`, largest difference first: its number, that of weights dealt anew, and
    the difference. Last the run that the reader chose, a row of `page.chosen` whose index is YOURS."""
    rows = rows.assign(is_yours=rows.index == YOURS)
    rows = rows.sort_values(["is_yours", "mean"], ascending=[True, False], ignore_index=True)
    values = rows[["own", "dealt"]].to_numpy()
    span = np.ptp(values)
    right = values.max() + 0.12 * span  # where the differences stand
    ax.set_xlim(values.min() - 0.1 * span, right + 1.1 * span)
    ax.hlines(rows.index, rows["dealt"], rows["own"], RULE, linewidth=5, zorder=1)
    dot: Any = {"s": 72, "edgecolors": SHEET, "zorder": 4}
    ax.scatter(rows["dealt"], rows.index, c=QUIET, **dot)
    ax.scatter(rows["own"], rows.index, c=rows["encoder"].map(HANS).map(COLOURS), **dot)
    names = []
    for y, row in enumerate(rows.itertuples()):
        text = number(row.mean, "+" + unit)
        if not row.is_yours:
            text += f" ({number(row.low, unit)} to {number(row.high, unit)})"
        emphasis: Any = {"weight": "bold"} if row.low > 0 else {"color": QUIET}
        ax.text(right, y, text, va="center_baseline", **emphasis)
        kind = ENCODERS[row.encoder].removeprefix("HAN with ").replace("HAN without", "no")
        names.append(f"{YOURS}\n{kind}" if row.is_yours else f"{SETS[row.corpus]}\n{kind}")
    named_lines(ax, names, -1.0)
    first = rows.iloc[0]
    sides = ["right", "left"]  # of the two names, away from each other
    if first["dealt"] > first["own"]:
        sides.reverse()
    ax.text(first["dealt"], -0.5, "dealt anew", color=QUIET, ha=sides[0])
    ax.text(first["own"], -0.5, "attention", color=INK, weight="bold", ha=sides[1])
    ax.text(right, -0.5, "difference", color=QUIET)


# ---- the book's one sentence -----------------------------------------------------------------------------------------

TOY_LEFT, TOY_RIGHT = -1.25, 2.25


def toy_places(toy: pd.DataFrame) -> np.ndarray:
    """Where the words of a sentence stand."""
    return np.linspace(-0.55, 2.0, len(toy))


def toy_bars(ax: Axes, toy: pd.DataFrame, told: dict) -> None:
    """The words of `reader.read_sentence`: weights as bars, contributions, and the output as arithmetic."""
    ax.axis("off")
    ax.set(xlim=(TOY_LEFT, TOY_RIGHT), ylim=(-1.0, max(0.75, toy["attention"].max() + 0.25)))
    centred: Any = {"ha": "center", "va": "center_baseline"}
    for x, row in zip(toy_places(toy), toy.itertuples(), strict=True):
        ax.bar(x, row.attention, 0.62, color=COLOURS["lstm"])
        ax.text(x, row.attention + 0.06, f"{row.attention:.2f}", ha="center", va="bottom")
        ax.text(x, -0.17, row.token, weight="bold", **centred)
        ax.text(x, -0.50, number(row.contribution, "+.2f"), **centred)
    ax.text(-1.17, 0.13, "α", color=QUIET, **centred)
    ax.text(-1.17, -0.50, "c", color=QUIET, **centred)
    bias = told["bias"]
    total = float(toy["attention"] @ toy["contribution"])
    sign = "−" if total < 0 else "+"
    line = f"b + Σ α c = {bias:.2f} {sign} {abs(total):.2f} = {bias + total:.2f}, so p(positive) = {told['p']:.2f}"
    ax.text(0.72, -0.86, line.replace("-", "−"), color=QUIET, **centred)


def erased(ax: Axes, toy: pd.DataFrame, told: dict, decision: bool = False) -> np.ndarray:
    """Under `toy_bars`: arrows from the output p to that without each word, which it returns. decision: with 0.5."""
    share = toy["attention"] * toy["contribution"]
    without = expit((told["bias"] + (share.sum() - share) / (1 - toy["attention"])).to_numpy())
    p = told["p"]
    ax.axis("off")
    ax.set(xlim=(TOY_LEFT, TOY_RIGHT), ylim=(0.16, 0.54))
    ax.plot([-0.85, TOY_RIGHT], [p, p], color=RULE, linewidth=1.5, zorder=1)
    ax.text(-0.9, p, f"p = {p:.2f}", ha="right", va="center_baseline", color=QUIET)
    if decision:
        ax.plot([-0.85, TOY_RIGHT], [0.5, 0.5], "--", color=INK, linewidth=1.2)
        ax.text(TOY_RIGHT, 0.505, "positive", ha="right", va="bottom")
    arrow = {"arrowstyle": "-|>", "color": COLOURS["lstm"], "shrinkA": 0, "shrinkB": 0, "linewidth": 2}
    for x, y, word in zip(toy_places(toy), without, toy["token"], strict=True):
        ax.annotate("", (x, y), (x, p), arrowprops=arrow)
        above = f"without {word}\n{y:.2f}"
        below = f"{y:.2f}\nwithout {word}"
        if y > p + 0.1:  # a long arrow: beside its head
            ax.text(x + 0.12, y, above, ha="left", va="top", linespacing=1.15)
        elif y > p:
            ax.text(x, y + 0.012, above, ha="center", va="bottom", linespacing=1.15)
        else:
            ax.text(x, y - 0.012, below, ha="center", va="top", linespacing=1.15)
    return without


def widget(kind: str, texts: list[str], paper: str | None = None, **options) -> None:
    """An element that book/_static/core.js brings to life, with what stands in it without a script and on paper.

    kind: 'move', sentences whose attention a reader can move (epsilon: by how much the farthest one may change p; own:
    with a line for the reader's own sentence), 'erase', 'strips', 'triangle' or 'dial'. paper: HTML without a script
    and on paper, by default the first sentence under bars of its weights, and how many words alone give its answer.
    """
    from IPython.display import HTML, display

    sentences = [as_numbers(text) for text in texts]
    if texts:
        options["sentences"] = sentences
    if paper is None:
        first = sentences[0]
        alone = np.array(first["c"]) + first["b"]  # the logit if one word has all the weight
        logit = float(np.dot(first["a"], alone))
        agree = sum((alone > 0) == (logit > 0))
        paper = PARTS.bars(first["w"], first["a"], logit > 0, 1 / (1 + np.exp(-logit)), agree)
    display(HTML(PARTS.play(kind, options, paper)))


def as_numbers(text: str) -> dict:
    """A sentence as the script reads it: words, attention, contributions and bias."""
    words, told = read_sentence(text)
    return {
        "w": words["token"].tolist(),
        "a": words["attention"].round(4).tolist(),
        "c": words["contribution"].round(4).tolist(),
        "b": round(told["bias"], 4),
    }
