"""Serrano & Smith's shares and claims judged by the rules of data/reported/tolerances.csv (specification, section 5).

None of the paper's tables was at hand, so the numbers scored are 16 shares from the authors' scripts; the claims are
the eight qualitative targets, each as one or more inequalities of a number per trained seed.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from attn_book.data_counts import WHOLE
from attn_book.reported import reported
from attn_book.scorecard import COLUMNS, NAMES, holds, over_seeds_of
from attn_core import baselines
from attn_core.archive import Result
from attn_core.corpora.catalogue import CATALOGUE, SERRANO
from attn_core.runs import from_dict
from attn_core.seeds import HEADLINE_SEEDS, summary_of

Numbers = dict[tuple[str, str, str], float]
"""The summary of one run: (statistic, bin, measure) -> value."""

BOXES = ("random", "attention", "gradient", "product")
"""The paper's four orders of removal."""


def js(measure: str) -> Callable[[Numbers], float]:
    """A number of the JS differences, r drawn as the authors' code draws it."""
    return lambda run: run["delta_js@coded", "all", measure]


def cell(name: str) -> Callable[[Numbers], float]:
    """Share of a cell of the 2x2 table, attention's top item against r as coded."""
    return lambda run: run["flips_attention@coded", "all", name] / 100


def removed(order: str, group: str = "common", measure: str = "mean") -> Callable[[Numbers], float]:
    """Fraction removed under an order; 'common': documents that flip under every order, 'all': its own."""
    return lambda run: run[f"fraction_{order}", group, measure]


def minus(first: Callable[[Numbers], float], second: Callable[[Numbers], float]) -> Callable[[Numbers], float]:
    """A difference within one run."""
    return lambda run: first(run) - second(run)


def wrong_way(run: Numbers) -> float:
    """How far 'only r flips' as a share of one-sided flips lies from the share of negative JS differences."""
    only_top, only_random = cell("only_top")(run), cell("only_random")(run)
    return abs(only_random / (only_top + only_random) - js("share_negative")(run)) if only_top + only_random else np.nan


def attention_behind(run: Numbers) -> float:
    """Fraction removed under attention minus the mean of both gradient orders, common documents."""
    return removed("attention")(run) - 0.5 * (removed("gradient")(run) + removed("product")(run))


VALUES: dict[str, Callable[[Numbers], float]] = {
    "1a": lambda run: 1 - js("share_negative")(run),
    "1b": js("spearman"),
    "1c": js("near_0"),
    "2a": js("share_negative"),
    "2b": js("negative_near_0"),
    "3a": cell("neither"),
    "3b": minus(cell("only_top"), cell("only_random")),
    "3c": cell("only_random"),
    "3d": wrong_way,
    "4a": minus(removed("random"), removed("attention")),
    "4b": minus(removed("attention"), removed("gradient")),
    "4c": minus(removed("gradient"), removed("product")),
    "5": lambda run: max(removed(order, "all", "median")(run) for order in BOXES),
    "6": removed("attention", "all"),
    "7": attention_behind,
    "8": lambda run: run["gradient_first", "all", "mean"],
    "share": lambda run: run["gradient_first", "all", "mean"],
}
"""Number of a claim ('share' for the 16 shares) -> the value of one run."""

DIFFERENCES = ("1b", "3b", "4a", "4b", "4c", "6", "7", "8")
"""Those whose values lie between -1 and 1 (6 and 8: of two models); all others are shares."""

PAGES = {"1": "04-1-output-distributions", "2": "04-1-output-distributions", "3": "04-2-decision-flips",
         "6": "05-5-contextualisation", "7": "05-5-contextualisation"}  # fmt: skip
"""First character of a claim's number -> its page; others stand on the page of section 5."""


def number_of(item: str) -> str:
    """'4a' of 'claim: 4a random order ...'; 'share' of the repository's shares."""
    return item.removeprefix("claim: ").split(" ")[0] if item.startswith("claim") else "share"


def page_of(item: str) -> str:
    """The page that shows an item."""
    return f"serrano/{PAGES.get(number_of(item)[0], '05-sets-of-weights')}"


def asks_above(rule: str) -> bool:
    """Whether a claim's interval must lie above its threshold, by the words of its rule."""
    return rule.startswith("lower end")


def numbers(result: Result) -> Numbers:
    """The summary of a run as a dictionary."""
    rows = summary_of(result)
    return dict(
        zip(zip(rows["statistic"], rows["bin"], rows["measure"], strict=True), rows["value"].astype(float), strict=True)
    )


def by_model(results: Iterable[Result]) -> dict[tuple[str, str], dict[int, Result]]:
    """(corpus, encoder) -> seed -> result, of the paper's six models."""
    found: dict[tuple[str, str], dict[int, Result]] = {}
    for result in results:
        run = result.record["run"]
        if from_dict(run).family == "hierarchical":
            found.setdefault((run["corpus"], run["encoder"]), {})[run["seed"]] = result
    return found


def judged(rules: Iterable, results: Iterable[Result]) -> list[dict]:
    """One row per rule, with the columns of the scorecard; results: standard runs, of all papers."""
    models = by_model(results)
    tables = {model: {seed: numbers(result) for seed, result in runs.items()} for model, runs in models.items()}
    weak = {model: weakness(model[0], list(runs.values())) for model, runs in models.items()}
    return [judge(rule, models, tables, weak) for rule in rules]


def weakness(corpus: str, runs: list[Result]) -> str:
    """Why the runs of a model enter no claim, in words; '' where they do. Generated sets have no bar to pass."""
    if CATALOGUE[corpus].generated:
        return ""
    if corpus not in set(baselines.stored()["corpus"]):
        return "no baseline was measured"
    return baselines.fit_to_count(corpus, [run.record["accuracy"] for run in runs])[1]


def judge(rule, models: dict, tables: dict, weak: dict[tuple[str, str], str]) -> dict:
    """Our value for one rule, its interval over seeds, and the verdict; columns as `scorecard.COLUMNS`."""
    row = {name: getattr(rule, name) for name in (*NAMES, "tolerance", "rule", "date", "reason")}
    row |= {"reported": rule.reference, "page": page_of(rule.item), "ours": np.nan, "low": np.nan, "high": np.nan}
    row |= {"n_seeds": 0, "n_train": None, "data": "absent", "verdict": "not rerun", "unjudged": "no run"}
    pair = [(rule.corpus, encoder) for encoder in rule.encoder.split("-")]
    ours = over_seeds_of(seed_values(number_of(rule.item), [tables.get(model, {}) for model in pair]))
    if ours is None:
        return row
    record = next(iter(models[pair[0]].values())).record
    row |= ours | {"data": data_of(record), "n_train": record["n_train"], "unjudged": ""}
    if any(weak[model] for model in pair):
        return row | {"unjudged": "weak model"}
    if rule.item.startswith("claim"):
        if ours["n_seeds"] < HEADLINE_SEEDS:
            return row | {"unjudged": "few seeds"}
        good = ours["low"] > rule.reference if asks_above(rule.rule) else ours["high"] < rule.reference
    else:
        good = holds(rule, ours)
    return row | {"verdict": "reproduced" if good else "differs"}


def seed_values(number: str, tables: list[dict[int, Numbers]]) -> dict[int, float]:
    """Seed -> what a rule asks for, of one model or first minus second within seeds; what is undefined is left out."""
    found = []
    for table in tables:
        values = {}
        for seed, run in table.items():
            try:
                values[seed] = VALUES[number](run)
            except KeyError:  # no document to take it from
                continue
        found.append({seed: value for seed, value in values.items() if np.isfinite(value)})
    first, *second = found
    return {seed: value - second[0][seed] for seed, value in first.items() if seed in second[0]} if second else first


def data_of(record: dict) -> str:
    """'same', 'subset', 'other classes', 'other data' or 'generated': what a run was trained and tested on.

    'other classes': IMDB's ratings without 5 and 6, or a copy in which classes are missing. 'other data': no set of the
    paper. 'subset': fewer than WHOLE of the official training documents. Only 'same' would count as replication.
    """
    entry = CATALOGUE[record["run"]["corpus"]]
    if entry.generated:
        return "generated"
    if not any(paper == SERRANO for paper, _ in entry.reported):
        return "other data"
    per_class = record["statistics"]["splits"]["train"]["per_class"]
    if entry.name == "imdb_stars" or len(per_class) < len(entry.classes) or 0 in per_class:
        return "other classes"
    share = record["statistics"].get("train_share", 0.0) * record["run"].get("fraction", 1.0)
    return "same" if share >= WHOLE else "subset"


def scored(results: Iterable[Result]) -> pd.DataFrame:
    """The rows of this paper alone, as the scorecard has them: what pages show without reading other papers' runs."""
    rows = judged(reported("tolerances", paper="serrano").itertuples(), results)
    return pd.DataFrame(rows)[list(COLUMNS)].astype({"n_train": "Int64"})
