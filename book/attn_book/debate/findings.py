"""What one code base shows that one paper alone cannot: the numbers and sentences of the page on it.

Yardsticks for Jain & Wallace's adversaries: the exact optimum, the same with contributions dealt anew over the words
(the control that knows nothing of the model), and the ceiling that ignores the output. All over seeds, pair by pair.
"""

import pandas as pd

from attn_book.wiegreffe.tables import digits
from attn_book.words import told
from attn_core.archive import Result
from attn_core.index import HEADLINE_SEEDS, data_kind, side
from attn_core.seeds import paired_difference

YARDSTICKS = {
    "the paper's search": "jsd_search", "exact optimum": "jsd_exact", "optimum, shuffled": "jsd_shuffled",
    "ceiling": "ceiling",
}  # fmt: skip
"""Names of the figure -> statistics of the summaries, the first three at an ε."""

FAR = 0.6
"""A mean JSD from which Jain & Wallace's figure has most of its mass."""

PANELS = {"mean": "mean JSD", f"share_above_{FAR:g}": f"share of documents above {FAR:g}"}
"""Measures of the summaries -> panels of the figure."""


def labelled(found: list[Result]) -> dict[str, str]:
    """Data set -> its name, with what it is where it is not the paper's own: 'agnews (subset)'."""
    kinds = {result.record["run"]["corpus"]: data_kind(result.record) for result in found}
    return {name: name if kind == "same" else f"{name} ({kind})" for name, kind in kinds.items()}


def yardsticks(every: pd.DataFrame, epsilon: float, labels: dict[str, str]) -> pd.DataFrame:
    """Mean JSD, and share of documents above FAR, by yardstick: panel, label, series, seed, value; a line a number.

    every: `seeds.summaries` of models with one logit. labels: of `labelled`, in the order of the page.
    """
    keys = {name if name == "ceiling" else f"{name}@{epsilon:g}": title for title, name in YARDSTICKS.items()}
    rows = every[(every["predicted"] == "all") & (every["bin"] == "all") & every["corpus"].isin(labels)]
    rows = rows[rows["statistic"].isin(keys) & rows["measure"].isin(PANELS)]
    rows = rows.assign(
        panel=rows["measure"].map(PANELS), label=rows["corpus"].map(labels), series=rows["statistic"].map(keys)
    )
    order = list(labels.values())
    return rows.sort_values("label", key=lambda names: names.map(order.index), kind="stable")


def differences(rows: pd.DataFrame, first: str, second: str, measure: str = "mean") -> pd.DataFrame:
    """First minus second yardstick, seed by seed: label, mean, low, high (95 % Student t), n_seeds."""
    lines = []
    for label, part in rows[rows["panel"] == PANELS[measure]].groupby("label", sort=False):
        gap = paired_difference(*(part[part["series"] == name] for name in (first, second)))
        if gap["n_seeds"]:
            lines.append({"label": label, **gap})
    return pd.DataFrame(lines, columns=["label", "mean", "low", "high", "n_seeds"])


def told_sides(rows: pd.DataFrame, above: str, below: str) -> str:
    """'… on sst, imdb; … on 20news; not decided on agnews': rows of `differences`; above, below: what that means."""
    words = {above: "above", below: "below", "not decided": "around", "too few seeds": "few"}
    found = {told: rows.loc[side(rows, 0) == name, "label"] for told, name in words.items()}
    return "; ".join(f"{words} on {', '.join(labels)}" for words, labels in found.items() if len(labels)) or "no run"


def told_range(rows: pd.DataFrame) -> str:
    """'0.00 to 0.04': the smallest and the largest difference in size over the data sets that can be judged."""
    sizes = rows.loc[rows["n_seeds"] >= HEADLINE_SEEDS, "mean"].abs()
    return f"{sizes.min():.2f} to {sizes.max():.2f}" if len(sizes) else "–"


def listed(rows: pd.DataFrame) -> list[str]:
    """'sst: +0.190 (+0.170 to +0.210), 5 seeds', a text each data set; no end prints as 0 that is not."""
    return [
        f"{r.label}: {told(r.mean, r.low, r.high, '+' + digits(r.low, r.high, 0.0))}, "
        f"{r.n_seeds} seed{'s' * (r.n_seeds != 1)}"
        for r in rows.itertuples()
    ] or ["no run"]
