"""What one code base shows that one paper alone cannot: the numbers and sentences of the page on it.

Yardsticks for Jain & Wallace's adversaries: the exact optimum, the same with contributions dealt anew over the words
(the control that knows nothing of the model), and the ceiling that ignores the output. All over seeds, pair by pair.
"""

from collections.abc import Collection, Iterable

import pandas as pd

from attn_core.across import told
from attn_core.measures import seed_interval
from attn_core.seeds import HEADLINE_SEEDS
from attn_core.wiegreffe_tables import digits

YARDSTICKS = {
    "the paper's search": "jsd_search", "exact optimum": "jsd_exact", "optimum, shuffled": "jsd_shuffled",
    "ceiling": "ceiling",
}  # fmt: skip
"""Names of the figure -> statistics of the summaries, the first three at an ε."""

FAR = 0.6
"""A mean JSD from which Jain & Wallace's figure has most of its mass."""


def yardsticks(every: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    """Mean JSD and share of documents above FAR by yardstick: corpus, seed, name, mean, far; one line a run.

    every: `seeds.summaries` of models with one logit. AttnError is left to the page: epsilon is one that is stored.
    """
    rows = every[(every["predicted"] == "all") & (every["bin"] == "all")]
    lines = []
    for name, statistic in YARDSTICKS.items():
        key = statistic if statistic == "ceiling" else f"{statistic}@{epsilon:g}"
        wide = rows[rows["statistic"] == key].pivot_table(
            index=["corpus", "seed"], columns="measure", values="value", sort=False
        )
        wide = wide.reindex(columns=["mean", f"share_above_{FAR:g}"]).set_axis(["mean", "far"], axis=1)
        lines.append(wide.reset_index().assign(name=name))
    return pd.concat(lines, ignore_index=True).dropna(subset="mean")


def differences(rows: pd.DataFrame, first: str, second: str, column: str = "mean") -> pd.DataFrame:
    """First minus second yardstick, seed by seed: corpus, mean, low, high (95 % Student t), n_seeds."""
    wide = rows.pivot_table(index=["corpus", "seed"], columns="name", values=column, sort=False)
    wide = wide.reindex(columns=[first, second]).dropna()
    lines = []
    for corpus, part in (wide[first] - wide[second]).groupby("corpus", sort=False):
        lines.append([corpus, part.mean(), *seed_interval(part.to_numpy()), len(part)])
    return pd.DataFrame(lines, columns=["corpus", "mean", "low", "high", "n_seeds"])


def side(row) -> str:
    """'above', 'below' or 'open' by the interval about 0; '' below the seeds that a verdict needs."""
    if row.n_seeds < HEADLINE_SEEDS:
        return ""
    return "above" if row.low > 0 else "below" if row.high < 0 else "open"


def told_sides(rows: pd.DataFrame, above: str, below: str) -> str:
    """'… on sst, imdb; … on 20news; not decided on agnews': rows of `differences`; above, below: what that means."""
    words = {"above": above, "below": below, "open": "not decided", "": "too few seeds"}
    found = {key: [r.corpus for r in rows.itertuples() if side(r) == key] for key in words}
    return "; ".join(f"{words[key]} on {', '.join(names)}" for key, names in found.items() if names) or "no run"


def told_range(rows: pd.DataFrame) -> str:
    """'0.00 to 0.04': the smallest and the largest difference in size over the data sets that can be judged."""
    sizes = rows.loc[rows["n_seeds"] >= HEADLINE_SEEDS, "mean"].abs()
    return f"{sizes.min():.2f} to {sizes.max():.2f}" if len(sizes) else "–"


def listed(rows: pd.DataFrame) -> list[str]:
    """'sst: +0.190 (+0.170 to +0.210), 5 seeds', a text each data set; no end prints as 0 that is not."""
    return [
        f"{r.corpus}: {told(r.mean, r.low, r.high, digits(r.low, r.high, 0.0, '+.3f'))}, "
        f"{r.n_seeds} seed{'s' * (r.n_seeds != 1)}"
        for r in rows.itertuples()
    ] or ["no run"]


def panels(rows: pd.DataFrame, order: Iterable[str]) -> pd.DataFrame:
    """Rows of `figures.interval_panels`: both columns of `yardsticks`, a line a data set, a series a yardstick."""
    lines = []
    for column, panel in (("mean", "mean JSD"), ("far", f"share of documents above {FAR:g}")):
        for corpus in order:
            for name in YARDSTICKS:
                values = rows.loc[(rows["corpus"] == corpus) & (rows["name"] == name), column].dropna()
                if len(values):
                    low, high = seed_interval(values.to_numpy())
                    lines.append([panel, corpus, name, values.mean(), low, high, len(values)])
    return pd.DataFrame(lines, columns=["panel", "label", "series", "mean", "low", "high", "n_seeds"])


def told_rules(every: pd.DataFrame, weak: Collection[tuple[str, str]] = ()) -> list[str]:
    """'amazon: 15.0% as described, 9.1% as coded', share of negative ΔJS by the rule for r, a text each data set.

    every: `serrano_pages.summaries` of one model; ΔJS is negative where r moves the output more than the top item.
    weak: (data set, model) that enter nothing.
    """
    lines = []
    rows = every[(every["measure"] == "share_negative") & (every["bin"] == "all")]
    for (corpus, encoder), part in rows.groupby(["corpus", "encoder"], sort=False):
        if (corpus, encoder) in weak:
            continue
        means = {}
        for rule in ("coded", "described"):
            values = part.loc[part["statistic"] == f"delta_js@{rule}", "value"].to_numpy(float)
            if len(values):
                means[rule] = told(values.mean(), *seed_interval(values), ".1%", (0, 1))
        if len(means) == 2:
            lines.append(f"{corpus}: {means['described']} as described, {means['coded']} as coded")
    return lines or ["no run"]
