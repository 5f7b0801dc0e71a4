"""Figures 3 and 4 of Serrano & Smith: what erasing one item changes, against its weight."""

from collections.abc import Collection

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from attn_book.figures import CONTROL, PAPER, WIDTH
from attn_book.serrano.figures import absent, grid, label_edges
from attn_book.serrano.pages import colour_of
from attn_book.words import ENCODER_NAMES
from attn_core.experiments.erasure import ALPHA_BINS
from attn_core.measures import bootstrap_interval

Weak = Collection[tuple[str, str]]

BINS, FEWEST, LIMITS = 200, 10, (-0.05, 0.45)
"""Bins of the weight gap by which the authors thin the scatter plot, documents drawn in each, and their y axis."""


def thinned(alpha: np.ndarray, js: np.ndarray, seed: int = 0) -> np.ndarray:
    """Rows that the authors' plot shows: without all at the largest js; of each of BINS bins on [0, 1) at most FEWEST,
    drawn with replacement, so sometimes fewer. Gaps below 0 (rounding) and of 1 fall out, as theirs do."""
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(np.isfinite(js) & (js < np.nanmax(js, initial=-np.inf)) & (alpha >= 0) & (alpha < 1))
    place = (alpha[rows] * BINS).astype(int)
    chosen = [
        rows[place == k] if (place == k).sum() <= FEWEST else rng.choice(rows[place == k], FEWEST)
        for k in np.unique(place)
    ]
    return np.unique(np.concatenate(chosen)) if chosen else rows


def thin_points(ax: plt.Axes, x: np.ndarray, js: np.ndarray, colour: str, size: float, alpha: float) -> None:
    """The documents of a scatter plot that `thinned` leaves."""
    rows = thinned(x, js)
    look = {"alpha": alpha, "markersize": size, "markeredgewidth": 0, "rasterized": True}
    ax.plot(x[rows], js[rows], ".", color=colour, **look)


def scatter(
    tables: dict[str, pd.DataFrame], panels: list[str], encoder: str, rule: str = "coded", weak: Weak = ()
) -> None:
    """Difference of JS against difference of weights, Figure 3; tables: data set -> documents.

    weak: (data set, model) of those that enter no claim, drawn grey. Points as the authors thin them. Ours: means by
    weight gap over *all* documents with 95 % bootstrap intervals, for bins of at least ten.
    """
    figure, axes = grid([name for name in panels if name in tables] or panels[:1])
    for name, ax in axes.items():
        if name not in tables:
            absent(ax, name)
            continue
        part = tables[name][tables[name]["n"] > 1]
        alpha, js = (part[f"delta_{kind}@{rule}"].to_numpy(float) for kind in ("alpha", "js"))
        thin_points(ax, alpha, js, colour_of(name, encoder, weak), size=5, alpha=0.35)
        place = np.clip(np.digitize(alpha, ALPHA_BINS[::2]) - 1, 0, 9)
        for k in range(10):
            values = js[place == k]
            if len(values) >= FEWEST:
                low, high = bootstrap_interval(values)
                ax.plot([0.1 * k + 0.05] * 2, [low, high], color="black", linewidth=2)
                ax.plot(0.1 * k + 0.05, values.mean(), "_", color="black", markersize=9)
        ax.axhline(0, color="black", linewidth=0.5)
        ax.set(title=f"{name}, n = {len(part):,}", xlim=(0, 1), ylim=LIMITS, xticks=np.arange(0, 1.01, 0.2))
    label_edges(figure, "Δα", "ΔJS")


def negatives(
    tables: dict[str, pd.DataFrame], panels: list[str], encoder: str, rule: str = "coded", weak: Weak = ()
) -> None:
    """Weight gaps at which negative JS differences occur, Figure 4: counts of documents, not thinned; see `edges`."""
    figure, axes = grid([name for name in panels if name in tables] or panels[:1], height=2.2)
    for name, ax in axes.items():
        if name not in tables:
            absent(ax, name)
            continue
        part = tables[name][tables[name]["n"] > 1]
        gaps = part.loc[part[f"delta_js@{rule}"] < 0, f"delta_alpha@{rule}"].to_numpy(float)
        if len(gaps):
            ax.hist(np.clip(gaps, 0, 1), bins=edges(gaps), color=colour_of(name, encoder, weak), alpha=0.7)
        ax.set(title=f"{name}, {len(gaps):,} of {len(part):,}", xlim=(0, 1), xticks=np.arange(0, 1.01, 0.2))
    label_edges(figure, "Δα where ΔJS < 0", "documents")


def many(
    tables: dict[tuple[str, str], pd.DataFrame],
    encoders: list[str],
    corpora: list[str],
    kind: str,
    rule: str = "coded",
    weak: Weak = (),
) -> None:
    """Figures 3 or 4 of several models at once: a row a model, a column a data set; kind: 'scatter' or 'negatives'.

    tables: (data set, model) -> documents. Points are thinned as in `scatter`; bins are those of `negatives`, how
    many of how many documents stands in the panel; no means. weak: as in `scatter`. Models and data sets without any
    documents have no row and no column.
    """
    encoders = [name for name in encoders if any(model == name for _, model in tables)] or encoders[:1]
    corpora = [name for name in corpora if any(corpus == name for corpus, _ in tables)] or corpora[:1]
    figure, axes = plt.subplots(len(encoders), len(corpora), figsize=(WIDTH, 0.6 + 1.45 * len(encoders)),
                                squeeze=False, sharex=True, sharey=kind == "scatter", layout="constrained")  # fmt: skip
    for line, encoder in zip(axes, encoders, strict=True):
        for ax, corpus in zip(line, corpora, strict=True):
            ax.tick_params(labelsize=8)
            ax.set(xlim=(0, 1), xticks=[0, 0.5, 1])
            part = tables.get((corpus, encoder))
            if part is None:
                ax.text(
                    0.5, 0.5, "no run stored", ha="center", va="center", transform=ax.transAxes, color=PAPER, fontsize=8
                )
                continue
            part = part[part["n"] > 1]
            alpha, js = (part[f"delta_{name}@{rule}"].to_numpy(float) for name in ("alpha", "js"))
            if kind == "scatter":
                thin_points(ax, alpha, js, colour_of(corpus, encoder, weak), size=3, alpha=0.3)
                ax.axhline(0, color="black", linewidth=0.4)
                ax.set_ylim(*LIMITS)
                continue
            gaps = alpha[js < 0]
            if len(gaps):
                ax.hist(np.clip(gaps, 0, 1), bins=edges(gaps), color=colour_of(corpus, encoder, weak), alpha=0.7)
            ax.text(
                0.97, 0.93, f"{len(gaps):,} of {len(part):,}", ha="right", va="top", transform=ax.transAxes, fontsize=8
            )
        line[0].set_ylabel(f"{ENCODER_NAMES[encoder]}s", fontsize=9)
    for ax, corpus in zip(axes[0], corpora, strict=True):
        ax.set_title(corpus, fontsize=10, color=CONTROL if corpus == "planted" else "black")
    figure.supxlabel("Δα" if kind == "scatter" else "Δα where ΔJS < 0", fontsize=11)


def edges(gaps: np.ndarray) -> np.ndarray:
    """Edges of equal bins on [0, 1], as many as Freedman and Diaconis ask for there, at least 20 and at most 50.

    The authors' bins span the gaps that occur, so that a single document would fill half the axis.
    """
    asked = len(np.histogram_bin_edges(np.clip(gaps, 0, 1), "fd", range=(0, 1))) - 1
    return np.linspace(0, 1, min(max(asked, 20), 50) + 1)
