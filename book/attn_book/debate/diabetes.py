"""Jain & Wallace's explanation of Diabetes, asked of long generated documents with few decisive words."""

from dataclasses import replace

import numpy as np
import pandas as pd

from attn_book.debate.verdict import side
from attn_book.reported import FINAL_RUN, reported
from attn_book.wiegreffe.runs import seed_tables, table
from attn_book.words import listed, seeds_in_words, told
from attn_core import index
from attn_core.archive import Result
from attn_core.measures import seed_interval
from attn_core.runs import Run, as_dict, from_dict

LONG = {"shortest": 1000, "silent": 1}
"""Knobs by which the runs of data/sweeps/planted-diabetes.yml are known."""


def is_long(run: Run) -> bool:
    """Whether a run belongs to the long generated documents with few decisive words."""
    return run.corpus == "planted" and LONG.items() <= dict(run.options).items()


def is_long_result(result: Result) -> bool:
    """The same of a stored result."""
    return is_long(from_dict(result.record["run"]))


def plain(result: Result) -> Result:
    """The result as if its run had standard settings, so that tables take it; only for the long generated documents."""
    run = result.record["run"]
    own = as_dict(Run(run["corpus"], run["encoder"], run["attention"], run["seed"]))
    return replace(result, record={**result.record, "run": own if run["base"] is None and not run["guide"] else run})


def long_runs() -> pd.DataFrame:
    """The `wiegreffe.runs.table` of those archived runs, guided and adversarial ones too, under the name 'planted'."""
    keys = index.runs(source="archive", corpus="planted", variant="any")["key"]
    found = index.results(sorted(keys), summaries=False)
    return table(result for result in found if is_long(from_dict(result.record["run"]))).assign(corpus="planted")


def explanation(results: list[Result], runs: pd.DataFrame) -> pd.DataFrame:
    """What should differ between the classes if few decisive words made Diabetes special: one row per statistic.

    Columns statistic; positive, negative (mean over seeds with interval, in words); lies ('above', 'below', 'contains',
    '': positive minus negative, paired by seed); expected (the side that the explanation expects); reported_positive,
    reported_negative: of Diabetes.
    """
    own = [
        r
        for r in results
        if is_long(from_dict(r.record["run"]))
        and r.summary is not None
        and (r.record["run"]["encoder"], r.record["run"]["attention"]) == ("lstm", "tanh")
    ]
    where = {
        "median change under permutation": ("median_change", "mean", "above"),
        "searched ε-max JSD (ε 0.05)": ("jsd_search@0.05", "mean", "below"),
        "largest weight": ("max_attention", "mean", "above"),
    }
    rows = []
    for name, (statistic, measure, expected) in where.items():
        values = {"0": {}, "1": {}}
        for result in own:
            part = result.summary
            part = part[
                (part["statistic"] == statistic) & (part["measure"] == measure) & (part["bin"] == "all")
            ].set_index("predicted")["value"]
            for group in values:
                if group in part.index:
                    values[group][result.record["run"]["seed"]] = float(part[group])
        rows.append((name, expected, pd.Series(values["1"], dtype=float), pd.Series(values["0"], dtype=float)))
    apart = {"0": {}, "1": {}}
    for seed, beside in seed_tables(runs, "planted").items():
        for group in apart:
            part = beside.loc[beside["predicted"] == int(group), "jsd"]
            if len(part):
                apart[group][seed] = float(part.median())
    rows.append(
        ("median JSD between seeds", "below", pd.Series(apart["1"], dtype=float), pd.Series(apart["0"], dtype=float))
    )
    theirs = as_reported()
    return pd.DataFrame([
        {"statistic": name, "positive": in_words(positive), "negative": in_words(negative),
         "n_seeds": len((positive - negative).dropna()), "lies": side((positive - negative).dropna()),
         "expected": expected, "reported_positive": theirs[name][0], "reported_negative": theirs[name][1]}
        for name, expected, positive, negative in rows
    ])  # fmt: skip


def in_words(values: pd.Series) -> str:
    """Mean over seeds with interval; '–' for none."""
    return told(values.mean(), *seed_interval(values.to_numpy(float)), ".3f", (0, 1)) if len(values) else "–"


def with_seeds(values: pd.Series) -> str:
    """The same with the number of seeds."""
    return f"{in_words(values)}, {seeds_in_words(len(values))}" if len(values) else "no run"


def as_reported() -> dict[str, tuple[float, float]]:
    """What was reported of Diabetes, (positive, negative).

    Means over the bins of Figures 6 and 7 of Jain & Wallace and of Figure 3 of Wiegreffe & Pinter.
    """
    found = {"largest weight": (np.nan, np.nan)}
    for name, measure in (
        ("median change under permutation", "median_output_change"),
        ("searched ε-max JSD (ε 0.05)", "eps_max_jsd"),
    ):
        rows = reported(
            "jain_repo_svg_summaries",
            corpus="diabetes",
            encoder="lstm",
            attention="tanh",
            measure=measure,
            snapshot=FINAL_RUN,
        )
        wanted = rows[rows["statistic"] == ("mean_binned" if measure == "eps_max_jsd" else "median")]
        by_class = wanted.groupby("class_name")["value"].mean()
        found[name] = float(by_class.get("diabetes", np.nan)), float(by_class.get("no diabetes", np.nan))
    seeds = reported("wiegreffe_figure3_digitised", corpus="diabetes", model="random_seeds", statistic="median")
    positive = seeds["measure"].str.endswith("pos")
    found["median JSD between seeds"] = float(seeds[positive]["value"].mean()), float(seeds[~positive]["value"].mean())
    return found


def explanation_sentence(rows: pd.DataFrame) -> str:
    """Whether the generated documents behave as the explanation expects, from rows of `explanation`."""
    parts = {
        "as the explanation lets us expect": rows["lies"] == rows["expected"],
        "the other way round": rows["lies"].isin(["above", "below"]) & (rows["lies"] != rows["expected"]),
        "in no way that is shown": rows["lies"] == "contains",
    }
    if not any(part.any() for part in parts.values()):
        return "The generated documents do not decide it: fewer than five seeds are stored."
    told_of = [f"{title}: {listed(rows[part]['statistic'])}" for title, part in parts.items() if part.any()]
    waiting = rows[rows["lies"] == ""]["statistic"]
    words = f"On generated documents the classes differ {'; '.join(told_of)}."
    return words + (f" Too few seeds: {listed(waiting)}." if len(waiting) else "")


def pattern_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of `explanation` as the page shows them."""
    lies = {"above": "above 0", "below": "below 0", "contains": "not shown", "": "–"}
    printed = lambda values: ["–" if np.isnan(value) else f"{value:.3f}" for value in values]
    return pd.DataFrame({
        "statistic": rows["statistic"], "positive": rows["positive"], "negative": rows["negative"],
        "seeds": rows["n_seeds"], "positive minus negative": rows["lies"].map(lies),
        "we would expect": rows["expected"] + " 0",
        "Diabetes, positive": printed(rows["reported_positive"]),
        "Diabetes, negative": printed(rows["reported_negative"]),
    })  # fmt: skip


def of_role(runs: pd.DataFrame, role: str) -> pd.Series:
    """seed -> F1 of the runs in one role; runs: of `long_runs`."""
    return runs[runs["role"] == role].set_index("seed")["f1"]


def told_need(runs: pd.DataFrame) -> str:
    """F1 of the base minus that of its uniform twin, over the pairs of seeds; runs: of `long_runs`."""
    gap = (of_role(runs, "base") - of_role(runs, "uniform model")).dropna()
    if not len(gap):
        return "no pair of runs"
    return f"{told(gap.mean(), *seed_interval(gap.to_numpy(float)), '+.3f', (-1, 1))}, {seeds_in_words(len(gap))}"


LOST = 0.02
"""An adversary of λ 0, which only imitates, has not converged where its F1 lies so far below its base's."""


def told_imitation(runs: pd.DataFrame) -> str:
    """F1 of each trained adversary, and whether the control that only imitates reaches its base; runs: `long_runs`."""
    imitators = runs[runs["role"] == "adversary"].sort_values("divergence")
    if not len(imitators):
        return "not trained"
    each = ", ".join(f"{r.f1:.2f} (λ {r.divergence:g})" for r in imitators.itertuples())
    control = imitators[imitators["divergence"] == 0]["f1"]
    lost = len(control) and control.iloc[0] < of_role(runs, "base").mean() - LOST
    return f"F1 {each} after {imitators['epochs'].max()} epochs" + (
        "; the control that only imitates does not reach its base, so they have not converged and say nothing"
        if lost
        else ""
    )
