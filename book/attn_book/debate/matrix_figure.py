"""The verdict matrix as a picture: data sets by test and model, a symbol for each verdict."""

from collections.abc import Iterable

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from attn_book import figures
from attn_book.debate.matrix import BY_KEY, LONG, TESTS
from attn_book.wiegreffe.live import COLOUR
from attn_book.words import ENCODER_NAMES

PANELS = (("jain", "wiegreffe"), ("serrano",))
"""Papers by panel: the second's data sets are not those of the other two."""

PASSES, FAILS, APART = "#1b7837", "#d95f02", "0.55"
ENCODERS = ("lstm", "cnn", "average")


def mark(row) -> dict:
    """How a cell is drawn: shape by verdict, hollow and small where it is of other data, filled where it is good."""
    test = BY_KEY[row.test]
    good = (row.mean > test.threshold) == (test.good == "above")
    apart = row.kind == "ours" and row.data != "same"
    shape, fill, edge = {
        "passes": ("s", PASSES, PASSES),
        "fails": ("x", FAILS, FAILS),
        "open": ("o", "none", "black"),
        "few": (".", APART, APART),
        "weak": ("+", APART, APART),
        "unread": ("_", APART, APART),
        "reported": ("D", APART if good else "none", APART),
        "planted": ("o" if good else "X", COLOUR, COLOUR),
    }[row.lies]
    return {
        "marker": shape,
        "markerfacecolor": "none" if apart else fill,
        "markeredgecolor": edge,
        "markersize": 5 if apart else 7.5,
        "markeredgewidth": 1.7,
        "alpha": 0.6 if apart else 1,
        "linestyle": "none",
    }


def columns(cells: pd.DataFrame, papers: Iterable[str]) -> list[tuple[str, str]]:
    """(test, encoder) in the order of the tests, then of ENCODERS, then as they come."""
    place = {test.key: i for i, test in enumerate(TESTS) if test.paper in papers}
    found = dict.fromkeys(zip(cells["test"], cells["encoder"], strict=True))
    rank = {name: i for i, name in enumerate(ENCODERS)}
    return sorted(
        (pair for pair in found if pair[0] in place), key=lambda pair: (place[pair[0]], rank.get(pair[1], len(rank)))
    )


def matrix_figure(cells: pd.DataFrame, sets: list[str]) -> Figure:
    """Two panels of equal cells: Jain & Wallace with Wiegreffe & Pinter, then Serrano & Smith, with the legend beside.

    cells: of `matrix.matrix`, without the kind 'authors'. sets: the data sets in their order.
    """
    panels = []
    for papers in PANELS:
        pairs = columns(cells, papers)
        part = cells[[pair in pairs for pair in zip(cells["test"], cells["encoder"], strict=True)]]
        if len(part):
            panels.append((part, pairs, [name for name in sets if name in set(part["corpus"])]))
    figure, axes = figures.canvas(
        rows=len(panels), height=sum(1.5 + 0.33 * len(names) for *_, names in panels),
        gridspec_kw={"height_ratios": [len(names) for *_, names in panels]},
    )  # fmt: skip
    figure.set_figwidth(5.6)
    widest = max(len(pairs) for _, pairs, _ in panels)
    for ax, (part, pairs, names) in zip(axes[:, 0], panels, strict=True):
        for row in part.itertuples():
            ax.plot(pairs.index((row.test, row.encoder)), names.index(row.corpus), **mark(row))
        labels = [f"{key}, {ENCODER_NAMES.get(encoder, encoder)}" for key, encoder in pairs]
        ax.set_xticks(range(len(pairs)), labels, rotation=90, fontsize=10.5)
        ax.set_yticks(range(len(names)), names, fontsize=10.5)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlim(-0.6, widest - 0.4)
        ax.hlines(range(len(names)), -0.6, len(pairs) - 0.4, color="0.92", linewidth=0.8, zorder=0)
        ax.spines["bottom"].set_bounds(-0.6, len(pairs) - 0.4)
        ends = [x for x in range(1, len(pairs)) if pairs[x][0] != pairs[x - 1][0]]
        ax.vlines([x - 0.5 for x in ends], -0.5, len(names) - 0.5, color="0.75", linewidth=0.8, zorder=0)
    axes[-1, 0].legend(handles=legend(cells), loc="upper right", fontsize=10.5)
    return figure


def legend(cells: pd.DataFrame) -> list[Line2D]:
    """One entry for each verdict that the cells have, in the order of the caption."""
    names = {
        "passes": "passes", "fails": "fails", "open": "undecided", "few": "too few seeds", "weak": "weak model",
        "unread": "curve not readable", "reported": "paper's, not rerun", "planted": LONG,
    }  # fmt: skip
    firsts = cells.sort_values("data", key=lambda data: data != "same", kind="stable").drop_duplicates("lies")
    by_name = {row.lies: row for row in firsts.itertuples()}
    return [
        Line2D([], [], label=text, **(mark(by_name[name]) | {"alpha": 1}))
        for name, text in names.items()
        if name in by_name
    ]
