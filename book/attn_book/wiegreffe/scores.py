"""Wiegreffe & Pinter's tables, figures and targets judged by the rules of data/reported/tolerances.csv.

Three kinds of rules: numbers (mean within a tolerance), claims (whole interval on one side, five seeds or more) and
bands ('band: …': a mean on one side of a bound; the targets of the specification that one trained curve decides). TVD
is compared on the halved scale, which Figure 5 very likely shows; the argument is in the specification, section 4.5.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from attn_book.data_counts import data_of
from attn_book.reported import class_label, reported
from attn_book.scorecard import COLUMNS, FEWEST_IN_BIN, NAMES, over_seeds_of
from attn_book.wiegreffe.runs import (
    adversaries,
    best_divergence,
    f1_by_seed,
    guided_scores,
    of_role,
    planned_pairs,
    searched,
    seed_tables,
    table,
    whole_curves,
)
from attn_core.archive import Result
from attn_core.experiments import frontier, variance
from attn_core.experiments.guides import guides_of
from attn_core.measures import bootstrap_interval
from attn_core.seeds import HEADLINE_SEEDS

GUIDES = {"uniform weights": "uniform", "its own, trained": "trained", "base LSTM": "own", "adversary": "adversary"}
"""Rows of Table 3 in the rules -> sources of `experiments.guides`."""

PAIRS = {
    "base LSTM minus trained MLP": ("own", "trained"),
    "trained MLP minus uniform": ("trained", "uniform"),
    "adversary minus uniform": ("adversary", "uniform"),
}
"""Differences of guides in the rules."""

PAGES = {"Table 2": "wiegreffe/03-2-uniform", "Table 3": "wiegreffe/03-4-guides", "Figure 3": "wiegreffe/03-3-variance"}


@dataclass(frozen=True)
class Evidence:
    """The runs, and what is computed from single documents once for each data set. runs: of `runs.table`."""

    runs: pd.DataFrame
    made: dict[tuple[str, str], Any] = field(default_factory=dict)

    def once(self, name: str, corpus: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, made once."""
        if (name, corpus) not in self.made:
            self.made[name, corpus] = make()
        return self.made[name, corpus]

    def seeds(self, corpus: str) -> pd.DataFrame | None:
        """One row per document: JSD of the base of seed 10 to its further seeds (`variance.per_instance`), or None."""

        def make():
            tables = list(seed_tables(self.runs, corpus).values())
            return variance.per_instance(tables) if tables else None

        return self.once("seeds", corpus, make)

    def searched(self, corpus: str) -> pd.DataFrame | None:
        """One row per document of the trace sample of the base of seed 10: per-document search; None without traces."""
        return self.once("searched", corpus, lambda: searched(self.runs, corpus))

    def scores(self, corpus: str) -> pd.DataFrame:
        """F1 of guided networks, see `guided_scores`."""
        return self.once("scores", corpus, lambda: guided_scores(self.runs, [corpus]))

    def guide(self, corpus: str, source: str) -> pd.Series:
        """seed -> F1 of the network guided by a source."""
        rows = self.scores(corpus)
        return rows[rows["source"] == source].set_index("seed")["f1"]


def judged(rules: Iterable, results: Iterable[Result]) -> list[dict]:
    """One row per rule, with the columns of the scorecard; results: runs of all kinds, of all papers."""
    evidence = Evidence(table(results))
    return [judge(rule, evidence) for rule in rules]


def scored(results: Iterable[Result]) -> pd.DataFrame:
    """The rows of this paper alone, as the scorecard has them."""
    rows = judged(reported("tolerances", paper="wiegreffe").itertuples(), results)
    return pd.DataFrame(rows)[list(COLUMNS)].astype({"n_train": "Int64"})


def judge(rule, evidence: Evidence) -> dict:
    """Our value for one rule, its interval, and the verdict; columns as `scorecard.COLUMNS`."""
    row = {name: getattr(rule, name) for name in (*NAMES, "tolerance", "rule", "date", "reason")}
    row |= {"reported": rule.reference, "page": page_of(rule.item), "ours": np.nan, "low": np.nan, "high": np.nan}
    row |= {"n_seeds": 0, "n_train": None, "data": "absent", "verdict": "not rerun", "unjudged": "no run"}
    mine = evidence.runs[evidence.runs["corpus"] == rule.corpus]
    ours = value_of(rule, evidence) if len(mine) else None
    if ours is None:
        part = rule.item.startswith("band") and len(adversaries(evidence.runs, rule.corpus)) > 0
        return row | ({"unjudged": "incomplete curve"} if part else {})
    documents = ours.pop("documents", None)
    record = mine["result"].iloc[0].record
    row |= ours | {"data": data_of(record), "n_train": record["n_train"], "unjudged": ""}
    if documents is not None and documents < FEWEST_IN_BIN:
        return row | {"unjudged": "few documents"}
    if rule.item.startswith("claim") and min(ours["n_seeds"], guiding(rule, evidence)) < seeds_asked(rule, evidence):
        return row | {"unjudged": "few seeds"}
    return row | {"verdict": "reproduced" if holds(rule, ours) else "differs"}


def seeds_asked(rule, evidence: Evidence) -> int:
    """Seeds below which a claim has no verdict; of the gaps of Table 2 all that are planned, as on their page."""
    if rule.measure not in ("F1 gap", "F1 gap of imdb minus F1 gap"):
        return HEADLINE_SEEDS
    pairs = evidence.once("planned pairs", "all", planned_pairs)
    sets = {rule.corpus, "imdb"} if "imdb" in rule.measure else {rule.corpus}
    return max([HEADLINE_SEEDS, *(pairs.get(name, 0) for name in sets)])


def guiding(rule, evidence: Evidence) -> float:
    """Models that guide in a claim on a difference of guides: seeds guided by one model are one draw; else inf."""
    if rule.statistic not in PAIRS:
        return np.inf
    rows = evidence.scores(rule.corpus)
    return guides_of(rows[rows["source"] == PAIRS[rule.statistic][0]])


def holds(rule, ours: dict) -> bool:
    """Whether a number, a claim or a band is met; the side is in the rule's words."""
    if rule.item.startswith("claim"):
        return bool(
            ours["low"] > rule.reference if rule.rule.startswith("lower end") else ours["high"] < rule.reference
        )
    if rule.item.startswith("band"):
        above = "at least" in rule.rule.split(";")[0]
        return bool(ours["ours"] >= rule.reference if above else ours["ours"] <= rule.reference)
    return bool(abs(ours["ours"] - rule.reference) <= rule.tolerance + 1e-9)


def page_of(item: str) -> str:
    """The page that shows an item."""
    for start, page in PAGES.items():
        if item.startswith(start):
            return page
    if item.startswith("claim") and "seeds" in item:
        return PAGES["Figure 3"]
    if item.startswith("claim"):
        return PAGES["Table 2"] if "needed" in item or "uniform weights" in item or "IMDB" in item else PAGES["Table 3"]
    return "wiegreffe/04-adversaries"


# ---- values ----------------------------------------------------------------------------------------------------------


def value_of(rule, evidence: Evidence) -> dict | None:
    """Our mean `ours` with low, high, n_seeds, and `documents` where a bin must hold some; None without a run."""
    if rule.item.startswith("Figure 3"):
        return in_bin(rule, evidence)
    if rule.measure.startswith("Jain & Wallace's adversary") and rule.item == "Figure 5":
        return of_search(rule, evidence)
    values = {seed: value for seed, value in by_seed(rule, evidence).items() if np.isfinite(value)}
    ours = over_seeds_of(values)
    if rule.item == "Table 3" and ours:  # seeds guided by one model are one draw of its weights
        rows = evidence.scores(rule.corpus)
        guides = guides_of(rows[rows["source"] == GUIDES[rule.measure.split(": ")[1]]])
        ours |= {"n_seeds": guides} | ({"low": np.nan, "high": np.nan} if guides < ours["n_seeds"] else {})
    if rule.measure.startswith("uniform model: JSD") and ours:  # uniform weights are the same whatever the seed
        ours |= {"low": np.nan, "high": np.nan}
    return ours


def by_seed(rule, evidence: Evidence) -> dict[int, float]:
    """Seed -> what a rule asks for."""
    runs, corpus = evidence.runs, rule.corpus
    chosen = "test" if "test-chosen" in rule.statistic else "dev"
    if rule.item == "Table 2":
        return f1_by_seed(runs, corpus, "base" if rule.attention == "tanh" else "uniform model", chosen).to_dict()
    if rule.measure == "F1 gap":
        return gap(runs, corpus, chosen).to_dict()
    if rule.measure.startswith("F1 gap of imdb"):
        return (gap(runs, "imdb", chosen) - gap(runs, corpus, chosen)).dropna().to_dict()
    if rule.item == "Table 3":
        return evidence.guide(corpus, GUIDES[rule.measure.split(": ")[1]]).to_dict()
    if rule.statistic in PAIRS:
        first, second = (evidence.guide(corpus, source) for source in PAIRS[rule.statistic])
        return (first - second).dropna().to_dict()
    if rule.measure == "F1 gap of guides":  # the base LSTM itself minus the network guided by it
        own = evidence.scores(corpus)
        own = own[own["source"] == "own"]
        base = f1_by_seed(runs, corpus, "base")
        seeds = [result.record["run"]["base"]["seed"] for result in own["result"]]
        return {seed: base.get(of, np.nan) - f1 for seed, of, f1 in zip(own["seed"], seeds, own["f1"], strict=True)}
    if rule.measure.startswith(("seeds: ", "uniform model: ")) and "curve" not in rule.measure:
        name = "base" if rule.measure.startswith("seeds") else "uniform model"
        return beside(runs, corpus, name, "jsd" if "JSD" in rule.measure else "tvd")
    return on_curves(rule, evidence)


def gap(runs: pd.DataFrame, corpus: str, chosen: str) -> pd.Series:
    """seed -> F1 of the base minus F1 of the uniform model."""
    return (f1_by_seed(runs, corpus, "base", chosen) - f1_by_seed(runs, corpus, "uniform model", chosen)).dropna()


def beside(runs: pd.DataFrame, corpus: str, name: str, column: str) -> dict[int, float]:
    """seed -> mean JSD to the base of seed 10, or mean TVD, halved."""
    rows = of_role(runs, corpus, name).dropna(subset=column)
    scale = frontier.HALVED if column == "tvd" else 1.0
    return {seed: scale * value for seed, value in zip(rows["seed"], rows[column], strict=True)}


def on_curves(rule, evidence: Evidence) -> dict[int, float]:
    """Seed of a whole trained curve -> what a band asks of it; TVD halved, on straight lines between all points."""
    runs, corpus, measure = evidence.runs, rule.corpus, rule.measure
    rows = whole_curves(runs, corpus)
    if measure.startswith("F1 of the base"):
        best, base = rows[rows["divergence"] == best_divergence(rows)], f1_by_seed(runs, corpus, "base")
        return {r.seed: base.get(r.base_seed, np.nan) - r.f1 for r in best.itertuples()}
    found = {}
    for seed, curve in rows.groupby("seed", sort=False):

        def at(jsd, curve=curve):
            return frontier.HALVED * frontier.tvd_at(curve["jsd"], curve["tvd"], jsd)

        if measure.startswith("trained adversaries"):
            first, *second = (float(word) for word in measure.split() if word.replace(".", "", 1).isdigit())
            found[seed] = at(first) - at(second[0]) if second else at(first)
        elif measure.startswith("Jain"):
            point = evidence.searched(corpus)
            found[seed] = np.nan if point is None else frontier.HALVED * point["tvd"].mean() - at(point["jsd"].mean())
        elif measure.startswith("uniform"):
            jsd, tvd = (mean_of(beside(runs, corpus, "uniform model", column)) for column in ("jsd", "tvd"))
            found[seed] = tvd - at(jsd)
        else:  # further seeds against the left end, the smallest divergence above 0
            left = curve[curve["divergence"] > 0].head(1)["tvd"]
            found[seed] = mean_of(beside(runs, corpus, "base", "tvd")) - (
                frontier.HALVED * left.iloc[0] if len(left) else np.nan
            )
    return found


def mean_of(values: dict[int, float]) -> float:
    """Mean over seeds, NaN for none."""
    return float(np.mean(list(values.values()))) if values else np.nan


def in_bin(rule, evidence: Evidence) -> dict | None:
    """The median of Figure 3 in a bin and class, its bootstrap interval over documents; n_seeds: those compared."""
    seeds = rule.measure == "JSD of seeds"
    rows = evidence.seeds(rule.corpus) if seeds else evidence.searched(rule.corpus)
    if rows is None:
        return None
    column = "median" if seeds else "two"
    parts = evidence.once(f"bins {column}", rule.corpus, lambda: variance.by_bin(rows, column))
    label = rule.item.split(" ")[2][:5] if "[" in rule.item else "all"
    predicted = -1 if rule.group == "all" else class_label(rule.corpus, rule.group)
    part = parts[(parts["predicted"] == predicted) & (parts["bin"].str[:5] == label[:5])]
    if not len(part):
        return None
    row = part.iloc[0]
    compared = int(rows["n_tables"].iloc[0]) if seeds else 1
    return {"ours": row["median"], "low": row["low"], "high": row["high"], "n_seeds": compared, "documents": row["n"]}


def of_search(rule, evidence: Evidence) -> dict | None:
    """The plus of Figure 5: mean over documents and adversaries, bootstrap interval over documents, one seed."""
    rows = evidence.searched(rule.corpus)
    if rows is None:
        return None
    values = rows["jsd"] if "JSD" in rule.measure else frontier.HALVED * rows["tvd"]
    low, high = bootstrap_interval(values.to_numpy())
    return {"ours": float(values.mean()), "low": low, "high": high, "n_seeds": 1}
