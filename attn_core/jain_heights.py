"""Adversaries and their yardsticks on Jain & Wallace's pages: how high searched, optimal and other JSDs lie (Figure 7).

All take rows of the scorecard (`scored`) or summaries (`every`) and return a DataFrame or words, as in `jain_tables`.
"""

import pandas as pd

from attn_core import across
from attn_core.jain_tables import label, ordered, within
from attn_core.measures import LN2

HEIGHTS = {
    "searched": ("jsd_search", "#d95f02", "o"),
    "optimum": ("jsd_exact", "#1f4e79", "o"),
    "optimum, lower end": ("jsd_lower", "#1f4e79", ">"),
    "ceiling": ("ceiling", "#000000", "|"),
    "shuffled contributions": ("jsd_shuffled", "#b8860b", "X"),
    "permutations only": ("jsd_permutation", "#7f7f7f", "v"),
}
"""Side by side at one epsilon: name -> statistic, colour, marker. One logit has an optimum, pairs its lower end."""


def heights(every: pd.DataFrame, epsilon: float, measure: str = "share_above_0.6") -> pd.DataFrame:
    """HEIGHTS at one epsilon over all documents, one row per data set and series: mean over seeds with interval."""
    parts = []
    for series, (statistic, *_) in HEIGHTS.items():
        name = statistic if statistic == "ceiling" else f"{statistic}@{epsilon:g}"
        parts.append(across.over_models(every, name, measure).assign(series=series, panel=f"ε = {epsilon:g}"))
    rows = pd.concat(parts, ignore_index=True)
    return ordered(within(rows, 0, 1).assign(label=rows["corpus"]))


def height_panels(every: pd.DataFrame, epsilons: tuple[float, ...] = (0.05, 0.01)) -> pd.DataFrame:
    """`heights` for several epsilons as rows of `figures.interval_panels`, all twelve data sets.

    Columns april and final: the authors' share above 0.6, mean of their classes, beside our search at their epsilon,
    0.05.
    """
    keys = ["corpus", "class_name"]
    where = {"encoder": "lstm", "attention": "tanh", "measure": "eps_max_jsd", "statistic": "share_above_0.6"}
    theirs = across.both_runs("jain_repo_svg_summaries", keys, **where).groupby("corpus")[["april", "final"]].mean()
    rows = pd.concat([heights(every, epsilon) for epsilon in epsilons], ignore_index=True)
    empty = pd.DataFrame([
        {"corpus": name, "label": name, "series": "searched", "panel": f"ε = {epsilon:g}", "n_seeds": 0}
        for name in across.paper_sets() for epsilon in epsilons if name not in set(rows["corpus"])
    ])  # fmt: skip
    rows = pd.concat([rows, empty], ignore_index=True)
    beside = (rows["series"] == "searched") & (rows["panel"] == "ε = 0.05")
    for run in ("april", "final"):
        rows[run] = rows["corpus"].map(theirs[run]).where(beside)
    order = [f"ε = {epsilon:g}" for epsilon in epsilons]
    return ordered(rows.sort_values("panel", key=lambda panels: panels.map(order.index), kind="stable"))


def told_heights(every: pd.DataFrame, epsilon: float, having: str) -> str:
    """Shares above 0.6 in words, for the data sets that have the series `having`."""
    share = heights(every, epsilon).set_index(["corpus", "series"])["mean"]
    told = [
        f"{name}: " + ", ".join(f"{series} {share[name, series]:.0%}"
                                for series in HEIGHTS if (name, series) in share.index)
        for name, series in share.index if series == having
    ]  # fmt: skip
    return "; ".join(told) or "no run"


def height_table(every: pd.DataFrame, epsilons: tuple[float, ...] = (0.05, 0.01)) -> pd.DataFrame:
    """Share of documents with a JSD above 0.6 by data set and epsilon; last the optimum's mean share of the ceiling."""
    lines = []
    for epsilon in epsilons:
        shares = {key: row for key, row in heights(every, epsilon).set_index(["corpus", "series"]).iterrows()}
        ratios = pd.concat(
            [across.over_models(every, f"ratio_{kind}@{epsilon:g}", "mean") for kind in ("exact", "lower")]
        )
        ratios = ratios.set_index("corpus")
        for corpus in dict.fromkeys(corpus for corpus, _ in shares):
            lower = (corpus, "optimum") not in shares
            row = {"data": corpus, "ε": f"{epsilon:g}"}
            for name in (
                "searched",
                "optimum, lower end" if lower else "optimum",
                "ceiling",
                "shuffled contributions",
                "permutations only",
            ):
                found = shares.get((corpus, name))
                text = "–" if found is None else across.told(found["mean"], found["low"], found["high"], ".0%", (0, 1))
                row[name.split(",")[0].split(" ")[0]] = f"at least {text}" if name.startswith("optimum,") else text
            if corpus in ratios.index:
                found = ratios.loc[corpus]
                row["optimum / ceiling"] = ("at least " if lower else "") + across.told(
                    found["mean"], found["low"], found["high"], ".0%", (0, 1)
                )
            lines.append(row)
    lines = pd.DataFrame(lines)
    return ordered(lines.rename(columns={"data": "corpus"})).rename(columns={"corpus": "data"}) if len(lines) else lines


def resistance(every: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    """JSD that the model's own contributions cost the optimum against shuffled ones, per data set.

    Columns corpus, ours, low, high, n_seeds: mean over seeds of mean jsd_shuffled minus mean jsd_exact; text pairs have
    jsd_sparse (one or two tokens) in its place, for their shuffled control is of that kind.
    """
    rows = every[(every["measure"] == "mean") & (every["predicted"] == "all") & (every["bin"] == "all")]
    wide = rows.pivot_table(index=["corpus", "encoder", "attention", "seed"], columns="statistic", values="value")
    wide = wide.reindex(columns=[f"jsd_{kind}@{epsilon:g}" for kind in ("shuffled", "exact", "sparse")]).set_axis(
        ["shuffled", "exact", "sparse"], axis=1
    )
    lost = (wide["shuffled"] - wide["exact"].fillna(wide["sparse"])).dropna().rename("value").reset_index()
    return ordered(across.over_seeds(lost, "corpus").rename(columns={"mean": "ours"}))


def jsd_panels(scored: pd.DataFrame) -> pd.DataFrame:
    """The scored numbers of Figure 7 (searched, epsilon 0.05) as rows of `figures.interval_panels`, by class."""
    names = {"mean_binned": "mean ε-max JSD", "share_above_0.4": "share above 0.4"}
    keys = ["corpus", "class_name", "statistic"]
    theirs = across.both_runs("jain_repo_svg_summaries", keys, encoder="lstm", attention="tanh", measure="eps_max_jsd")
    rows = scored[scored["item"] == "Figure 7"].rename(columns={"group": "class_name"})
    rows = rows[[*keys, "ours", "low", "high", "n_seeds", "verdict"]].merge(theirs, on=keys, how="left")
    rows = rows.assign(panel=rows["statistic"].map(names), group=rows["class_name"], mean=rows["ours"])
    tops = rows["statistic"].map({"mean_binned": LN2}).fillna(1.0)
    return ordered(within(rows, 0, tops).assign(label=label(rows)))
