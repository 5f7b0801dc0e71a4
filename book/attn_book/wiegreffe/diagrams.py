"""The two schematic drawings of Wiegreffe & Pinter (Figures 1 and 4), drawn anew from the description of the models."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from attn_book.figures import OURS, WIDTH

FILLS = {"words": "#ffffff", "embedding": "#cfe3f5", "encoder": "#f6cfc6", "attention": "#fbe5b6", "output": "#d7ead6"}
FIXED, FREE = "#5f6368", OURS


def classifier(words: tuple[str, ...] = ("the", "film", "was", "good")) -> None:
    """The classifier from words to prediction, with a bracket for what each experiment replaces (form of Figure 1).

    Brackets span what an experiment touches: Jain & Wallace edit weights and read the output off frozen states; 3.2
    fixes the weights; 3.3 and 4 train everything anew; 3.4 replaces the encoder and gives the weights.
    """
    figure, ax = blank(3.9)
    layers = (
        ("words", "words"),
        ("embedding", "embeddings"),
        ("encoder", "BiLSTM states"),
        ("attention", "attention weights"),
    )
    left, right = 2.6, 9.4
    for row, (kind, title) in enumerate(layers):
        columns(
            ax,
            row,
            words if kind == "words" else ("",) * len(words),
            FILLS[kind],
            left,
            right,
            across=kind == "encoder",
        )
        ax.text(left - 0.2, row + 0.3, title, ha="right", va="center", fontsize=10)
        if row:
            arrows(ax, row, len(words), left, right)
    box(ax, (left + right) / 2 - 1.2, 4, 2.4, "p(positive)", FILLS["output"])
    ax.text(left - 0.2, 4.3, "prediction", ha="right", va="center", fontsize=10)
    for x in centres(len(words), left, right):
        ax.annotate(
            "", ((left + right) / 2, 4.0), (x, 3.62), arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.8}
        )
    for i, (name, low, high, colour) in enumerate(
        (("J&W", 3, 4.6, FREE), ("3.2", 3, 3.6, FIXED), ("3.3, 4", 1, 4.6, FREE), ("3.4", 2, 3.6, FIXED))
    ):
        x = right + 0.7 + 1.05 * i
        ax.plot([x - 0.15, x, x, x - 0.15], [low, low, high, high], color=colour, linewidth=2.5)
        ax.text(x, 4.85, name, ha="center", va="bottom", fontsize=10, color=colour, fontweight="bold")
    ax.set(xlim=(-0.6, 13.9), ylim=(-0.2, 5.3))
    figure.tight_layout(pad=0.2)


def blank(height: float) -> tuple[plt.Figure, Axes]:
    """A figure of the book's width without axes."""
    figure, ax = plt.subplots(figsize=(WIDTH, height))
    ax.axis("off")
    return figure, ax


def centres(count: int, left: float, right: float) -> list[float]:
    """Middles of `count` columns between two ends."""
    width = (right - left) / count
    return [left + width * (i + 0.5) for i in range(count)]


def box(ax: Axes, x: float, y: float, width: float, text: str, fill: str) -> None:
    """A rounded box 0.6 high with a text in it."""
    ax.add_patch(
        FancyBboxPatch(
            (x, y), width, 0.6, boxstyle="round,pad=0.02,rounding_size=0.08", facecolor=fill, edgecolor="0.4"
        )
    )
    ax.text(x + width / 2, y + 0.3, text, ha="center", va="center", fontsize=10)


def columns(
    ax: Axes, row: int, texts: tuple[str, ...], fill: str, left: float, right: float, across: bool = False
) -> None:
    """One box a word; across: arrows both ways between neighbours, as a BiLSTM reads."""
    middles = centres(len(texts), left, right)
    for x, text in zip(middles, texts, strict=True):
        box(ax, x - 0.62, row, 1.24, text, fill)
    for a, b in zip(middles, middles[1:], strict=False) if across else ():
        ax.annotate("", (b - 0.66, row + 0.3), (a + 0.66, row + 0.3), arrowprops={"arrowstyle": "<->", "color": "0.3"})


def arrows(ax: Axes, row: int, count: int, left: float, right: float) -> None:
    """From each box of the row below to the one above."""
    for x in centres(count, left, right):
        ax.annotate("", (x, row), (x, row - 0.38), arrowprops={"arrowstyle": "->", "color": "0.5"})
