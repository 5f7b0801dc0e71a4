"""Every reported number beside ours, judged by the rules of data/reported/tolerances.csv (committed before the runs).

What differs is looked into by jain.causes; the tables and sentences of the scorecard page are in debate.scorecard_page.
"""

from collections.abc import Iterable
from dataclasses import fields
from importlib import import_module

import numpy as np
import pandas as pd

from attn_book.data_counts import COUNTED, counted, data_of
from attn_book.reported import class_label, reported
from attn_core.archive import Result
from attn_core.errors import AttnError
from attn_core.measures import seed_interval
from attn_core.runs import SEEDS, Run, from_dict
from attn_core.seeds import FAMILIES, HEADLINE_SEEDS, stored_summaries, summary_of

NAMES = ["paper", "item", "corpus", "group", "encoder", "attention", "measure", "statistic"]
"""The columns that name a row."""

COLUMNS = (
    *NAMES, "reported", "ours", "low", "high", "n_seeds", "data", "n_train", "tolerance", "verdict", "unjudged", "page",
    "rule", "date", "reason",
)  # fmt: skip

STATISTIC = {
    "tau_gradient": "tau_attention_gradient",
    "tau_loo": "tau_attention_loo",
    "tau(gradient,LOO)-tau(attention,LOO)": "difference_loo",
    "tau(gradient,LOO)-tau(attention,gradient)": "difference_gradient",
    "tau(attention,LOO): average minus lstm": "tau_attention_loo",
    "tau(attention,gradient): average minus lstm": "tau_attention_gradient",
    "median_output_change": "median_change",
    "eps_max_jsd": "jsd_search@0.05",
    "eps_max_jsd, exact optimum": "jsd_exact@0.05",
    "eps_max_jsd, best found": "jsd_lower@0.05",
    "test_performance": "macro_f1",
}
"""Our statistic for a measure of the papers; `test_performance` is accuracy where the row asks for it."""

MEASURE = {
    "sig_frac": "share_significant", "mean_binned": "mean", "mean difference": "mean", "F1": "value",
    "accuracy": "value", "micro-F1": "value",
}  # fmt: skip
"""Our measure for a statistic of the papers; others have the same name."""

CLAIM = {
    "claim: average above BiLSTM": ("mean", "above"),
    "claim: average above BiLSTM (leave-one-out)": ("mean", "above"),
    "claim: gradient and leave-one-out agree better": ("mean", "above"),
    "claim: gradient and leave-one-out agree worse here": ("mean", "below"),
    "claim: permutation often changes little": ("share_below_0.1", "above"),
    "claim: permutation often changes little [0.50,1.00)": ("share_below_0.1", "above"),
    "claim: permutation changes much here": ("share_below_0.1", "below"),
    "claim: permutation changes much here [0.50,0.75)": ("share_below_0.1", "below"),
    "claim: adversaries are easy to find": ("share_above_0.4", "above"),
    "claim: adversaries exist": ("share_above_0.4", "above"),
    "claim: adversaries are weaker here": ("mean", "below"),
    "claim: attention correlates only weakly with gradient": ("mean", "below"),
}
"""Measure of a claim, and the side of its threshold on which the whole interval must lie."""

RANGES = {
    "sig_frac": (0, 1), "share_above_0.4": (0, 1), "median": (0, 1), "q25": (0, 1), "q75": (0, 1), "F1": (0, 1),
    "accuracy": (0, 1), "micro-F1": (0, 1), "mean": (-1, 1), "std": (0, 1), "mean_binned": (0, np.log(2)),
    "mean difference": (-2, 2), "test-chosen": (0, 1), "dev-chosen": (0, 1),
}  # fmt: skip
"""Values that a statistic can take at all (those of the data have no intervals)."""

CLAIM_RANGES = {"share_below_0.1": (0, 1), "share_above_0.4": (0, 1), "mean": (-2, 2)}

FEWEST_IN_BIN = 20
"""Documents of a bin of Figures 6 and 8 below which it is not judged (the rule in tolerances.csv)."""

JOINED = {"[0.50,1.00)": ("[0.50", "[0.75")}
"""Bins of a rule that join several of the summaries; a share there is the mean of theirs, weighted by documents."""

OTHER_PAPERS = {"serrano": "attn_book.serrano.scores", "wiegreffe": "attn_book.wiegreffe.scores"}
"""Paper -> module whose `judged(rules, results)` gives its rows; Jain & Wallace's rules are judged here."""

WITH_VARIANTS = ("wiegreffe",)
"""Papers whose rules speak of runs with a base, guide or test-chosen checkpoint; standard runs judge the others."""

Cells = dict[tuple[str, ...], dict[int, float]]
"""(corpus, encoder, attention, statistic, predicted, first characters of the bin, measure) -> seed -> value."""


def scorecard(results: list[Result] | None = None, paper: str | None = None) -> pd.DataFrame:
    """One row per scored number or claim; verdict 'reproduced', 'differs' or 'not rerun'.

    results: the runs to judge by; None takes the whole archive. paper: its rows alone ('Table 2' is an item of two),
    None takes all three. Columns COLUMNS; `unjudged` says why a row has no verdict ('no run', 'no document',
    'incomplete curve', 'few documents', 'few seeds', 'weak model'), '' where it has one. Rows without a verdict may
    still have a value of ours. `data`: 'same', 'subset', 'other classes', 'other data', 'generated' or 'absent'; only
    'same' counts as replication.
    """
    every = stored_summaries(FAMILIES) if results is None else results
    found = [result for result in every if standard(result)]
    table = cells(found if paper in (None, "jain") else [])
    records = {result.record["run"]["corpus"]: result.record for result in found}
    rows = []
    asked = {} if paper is None else {"paper": paper}
    for name, rules in reported("tolerances", **asked).groupby("paper", sort=False):
        if name in OTHER_PAPERS:
            given = every if name in WITH_VARIANTS else found
            rows += import_module(OTHER_PAPERS[name]).judged(rules.itertuples(), given)
        else:
            rows += [judge(rule, table, records.get(rule.corpus)) for rule in rules.itertuples()]
    if not rows:
        raise AttnError(f"no scored rows for paper '{paper}'; paper takes: jain, {', '.join(OTHER_PAPERS)}")
    return pd.DataFrame(rows)[list(COLUMNS)].astype({"n_train": "Int64"})


def difference(run: Run) -> tuple[tuple[str, object], ...]:
    """The (field, value) pairs in which a run differs from the standard run of its data set, model and seed."""
    attention = "tanh" if run.attention == "given" else run.attention  # weights are given by a guide alone, see Run
    plain = Run(run.corpus, run.encoder, attention, run.seed)
    pairs = ((field.name, getattr(run, field.name)) for field in fields(run))
    return tuple((name, value) for name, value in pairs if value != getattr(plain, name))


def standard(result: Result) -> bool:
    """Whether a run has the default pipeline and a seed of the book's list; variants are causes tried, not scored."""
    run = from_dict(result.record["run"])
    return run.seed in SEEDS and not difference(run)


def cells(results: Iterable[Result]) -> Cells:
    """The summaries of runs by place, one value per seed; the runs must not differ in anything but place and seed."""
    statistics = {*STATISTIC.values(), "accuracy"}
    measures = {"n", "mean", "std", "median", "q25", "q75", "value", "share_above_0.4", *MEASURE.values()}
    measures |= {measure for measure, _ in CLAIM.values()}
    found: Cells = {}
    for result in results:
        if result.summary is None and result.traces is None:  # kept by its record alone
            continue
        rows = summary_of(result)
        rows = rows[rows["statistic"].isin(statistics) & rows["measure"].isin(measures)]
        run = result.record["run"]
        place = (run["corpus"], run["encoder"], run["attention"])
        columns = (rows[name] for name in ("statistic", "predicted", "bin", "measure", "value"))
        for statistic, predicted, label, measure, value in zip(*columns, strict=True):
            found.setdefault((*place, statistic, predicted, label[:5], measure), {})[run["seed"]] = float(value)
    return found


def judge(rule, table: Cells, record: dict | None) -> dict:
    """Our value for one rule of the tolerance table, and the verdict."""
    row = {name: getattr(rule, name) for name in (*NAMES, "tolerance", "rule", "date", "reason")}
    row |= {"reported": rule.reference, "page": page_of(rule.item), "ours": np.nan, "low": np.nan, "high": np.nan}
    row |= {"n_seeds": 0, "n_train": None, "data": "absent", "verdict": "not rerun", "unjudged": "no run"}
    if record is None:
        return row
    ours = counted(rule, record) if rule.measure in COUNTED else over_seeds_of(seed_values(rule, table))
    if ours is None:
        known = any(key[:3] == (rule.corpus, rule.encoder, rule.attention) for key in table)
        return row | {"unjudged": "no document" if known else "no run"}
    row |= ours | {"data": data_of(record), "n_train": record["n_train"], "unjudged": ""}
    if bin_of(rule) != "all" and fewest_documents(rule, table) < FEWEST_IN_BIN:
        return row | {"unjudged": "few documents"}
    if rule.item.startswith("claim") and ours["n_seeds"] < HEADLINE_SEEDS:
        return row | {"unjudged": "few seeds"}
    return row | {"verdict": "reproduced" if holds(rule, ours) else "differs"}


def holds(rule, ours: dict) -> bool:
    """Whether a mean over seeds lies within the tolerance, or the whole interval of a claim on its side.

    rule: a row of the tolerance table or of the scorecard. ours: mean `ours` and its interval `low`, `high`.
    """
    target = getattr(rule, "reference", None)
    target = rule.reported if target is None else target
    if rule.item.startswith("claim"):
        return bool(ours["low"] > target if CLAIM[rule.item][1] == "above" else ours["high"] < target)
    return bool(abs(ours["ours"] - target) <= rule.tolerance + 1e-9)


def added_after(rows: pd.DataFrame) -> pd.Series:
    """Whether a rule was added after runs of its model or data set were stored, as its `reason` says."""
    return rows["reason"].astype(object).fillna("").astype(str).str.contains("added after")


def digits_beside(threshold: float, *values: float) -> int:
    """Decimals, two to four, at which no value near a threshold is printed as the threshold itself."""
    near = [value for value in values if np.isfinite(value) and value != threshold]
    apart = (n for n in (2, 3) if all(round(value, n) != round(threshold, n) for value in near))
    return next(apart, 4)


def clipped(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with their intervals cut at the values that the statistic can take, and a column `cut` that says where.

    Student's t knows no bounds: the interval of a share near 1 may reach beyond 1.
    """
    measure = {item: name for item, (name, _) in CLAIM.items()}
    bounds = [
        CLAIM_RANGES[measure[row.item]] if row.item in measure else RANGES.get(row.statistic, (-np.inf, np.inf))
        for row in rows.itertuples()
    ]
    bottom, top = (np.array(ends, float) for ends in zip(*bounds, strict=True))
    cut = (rows["low"] < bottom) | (rows["high"] > top)
    return rows.assign(low=rows["low"].clip(bottom, top), high=rows["high"].clip(bottom, top), cut=cut)


def bin_of(rule) -> str:
    """The bin of maximum attention that an item names ('[0.50,0.75)'), or 'all'."""
    return rule.item.rsplit(" ", 1)[-1] if rule.item.endswith(")") and "[" in rule.item else "all"


def key_of(rule, encoder: str, measure: str, part: str | None = None) -> tuple[str, ...]:
    """Where the values of a rule stand in Cells. part: the bin, None takes the rule's."""
    accuracy = rule.measure == "test_performance" and rule.statistic != "F1"
    statistic = "accuracy" if accuracy else STATISTIC[rule.measure]
    predicted = "all" if rule.group == "all" else str(class_label(rule.corpus, rule.group))
    return rule.corpus, encoder, rule.attention, statistic, predicted, (part or bin_of(rule))[:5], measure


def encoders_of(rule) -> tuple[str, ...]:
    """The encoder of a rule, or the two whose difference it asks for (first minus second)."""
    paired = rule.encoder == "average-lstm" or rule.item.startswith("claim: average above BiLSTM")
    return ("average", "lstm") if paired else (rule.encoder,)


def seed_values(rule, table: Cells) -> dict[int, float]:
    """Seed -> what the rule asks for; differences are taken within seeds that both encoders have."""
    measure = CLAIM[rule.item][0] if rule.item.startswith("claim") else MEASURE.get(rule.statistic, rule.statistic)
    if bin_of(rule) in JOINED:
        return joined(rule, table, measure)
    first, *second = (table.get(key_of(rule, encoder, measure), {}) for encoder in encoders_of(rule))
    if second:
        first = {seed: value - second[0][seed] for seed, value in first.items() if seed in second[0]}
    return {seed: value for seed, value in first.items() if np.isfinite(value)}


def joined(rule, table: Cells, measure: str) -> dict[int, float]:
    """Seed -> a share over JOINED bins; seeds without a document there are left out."""
    found: dict[int, list[tuple[float, float]]] = {}
    for part in JOINED[bin_of(rule)]:
        shares, counts = (table.get(key_of(rule, rule.encoder, name, part), {}) for name in (measure, "n"))
        for seed, count in counts.items():
            if count and np.isfinite(shares.get(seed, np.nan)):
                found.setdefault(seed, []).append((shares[seed], count))
    return {
        seed: sum(share * count for share, count in pairs) / sum(count for _, count in pairs)
        for seed, pairs in found.items()
    }


def fewest_documents(rule, table: Cells) -> float:
    """Documents of a rule's class and bin in the seed that has the fewest; a seed that has none has no row there."""
    parts = JOINED.get(bin_of(rule), (None,))
    counts = [table.get(key_of(rule, rule.encoder, "n", part), {}) for part in parts]
    corpus, encoder, attention, statistic, *_ = key_of(rule, rule.encoder, "n")
    whole = table.get((corpus, encoder, attention, statistic, "all", "all", "n"), {})
    seeds = {*whole, *(seed for count in counts for seed in count)}
    return min((sum(count.get(seed, 0) for count in counts) for seed in seeds), default=0)


def over_seeds_of(values: dict[int, float]) -> dict | None:
    """Mean over seeds with its 95 % Student t interval (NaN for one seed); None without a value."""
    if not values:
        return None
    low, high = seed_interval(np.array(list(values.values())))
    return {"ours": float(np.mean(list(values.values()))), "low": low, "high": high, "n_seeds": len(values)}


def page_of(item: str) -> str:
    """The page that shows an item of Jain & Wallace."""
    if item.startswith("Table 1"):
        return "jain/03-datasets"
    if item.startswith("Figure 6") or "permutation" in item:
        return "jain/04-2-1-permutation"
    if item.startswith(("Figure 7", "Figure 8")) or "adversaries" in item:
        return "jain/04-2-2-adversarial"
    return "jain/appendix-correlation" if item == "web appendix" else "jain/04-1-correlation"
