"""The closing matrix: every test of the three papers on every data set and encoder, each cell a number; its sentences are in debate.py.

A cell speaks for attention, against it, or is undecided, by where its 95 % interval over seeds lies against the threshold
of its test; fewer than five seeds decide nothing. Cells on data that are not the paper's own are marked, and those of generated
data count nowhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from attn_core import serrano_scores
from attn_core.across import in_order, paper_sets
from attn_core.archive import Result
from attn_core.corpora.catalogue import CATALOGUE, SERRANO
from attn_core.experiments import frontier
from attn_core.measures import seed_interval
from attn_core.reported import reported
from attn_core.runs import HIERARCHICAL, SEEDS, from_dict
from attn_core.scorecard import data_of, difference, standard
from attn_core.seeds import HEADLINE_SEEDS, stored_summaries
from attn_core.wiegreffe_runs import KNOBS, PAPER_SETS, adversaries, table
from attn_core.wiegreffe_scores import Evidence, beside, gap, mean_of

VERDICTS = ("for", "against", "undecided", "few seeds", "weak model", "no run", "not rerun")
"""For and against attention as an explanation; undecided: the interval contains the threshold."""


@dataclass(frozen=True)
class Test:
    """One line of the matrix. above: what an interval above the threshold says. form: how its numbers are printed."""

    name: str
    paper: str
    question: str
    measure: str
    threshold: float
    above: str
    page: str
    form: str = ".2f"


TESTS = (
    Test("gradient", "jain", "does attention rank words as gradients do", "mean Kendall τ", 0.5, "for", "jain/04-1-correlation"),
    Test("leave-one-out", "jain", "does attention rank words as leaving them out does", "mean Kendall τ", 0.5, "for", "jain/04-1-correlation"),
    Test("context", "jain", "is the agreement with gradients lost by context", "τ of Average minus BiLSTM", 0.0, "against", "jain/04-1-correlation"),
    Test("permutation", "jain", "do outputs follow permuted weights", "share of documents that change by less than 0.1", 0.5, "against", "jain/04-2-1-permutation", ".0%"),
    Test("adversary", "jain", "are there other weights with the same output", "share of documents with JSD above 0.4, searched, ε 0.05", 0.5, "against", "jain/04-2-2-adversarial", ".0%"),
    Test("resistance", "jain", "does the model resist other weights", "mean optimal JSD, shuffled contributions minus its own, ε 0.05", 0.0, "for", "jain/04-2-2-adversarial", ".3f"),
    Test("top item", "serrano", "does the top item decide more often than a random one", "share where it alone flips, minus where r alone does", 0.0, "for", "serrano/04-2-decision-flips", ".3f"),
    Test("removal", "serrano", "do gradients flip decisions with less removed", "mean share removed, attention minus gradient", 0.0, "against", "serrano/05-sets-of-weights", ".3f"),
    Test("race", "serrano", "how often are gradients first", "share of documents that gradients flip with fewer removals", 0.5, "against", "serrano/05-sets-of-weights", ".0%"),
    Test("uniform", "wiegreffe", "does the task need attention", "F1 with attention minus uniform", 0.01, "for", "wiegreffe/03-2-uniform", ".3f"),
    Test("seeds", "wiegreffe", "do other seeds attend to other words", "mean JSD to the base", 0.11, "against", "wiegreffe/03-3-variance", ".3f"),
    Test("guide", "wiegreffe", "do the weights help a network that sees single words", "F1 guided minus uniform", 0.0, "for", "wiegreffe/03-4-guides", ".3f"),
    Test("tokens", "wiegreffe", "does it matter which word a weight stands on", "F1 guided minus permuted guide", 0.0, "for", "wiegreffe/03-4-guides", ".3f"),
    Test("leak", "wiegreffe", "do weights tell the label without words", "F1 weights alone minus places alone", 0.0, "against", "wiegreffe/03-4-guides", ".3f"),
    Test("imitation", "wiegreffe", "does a trained adversary pay for other weights", "TVD, halved, at JSD 0.4 minus that of the model that only imitates", 0.0, "for", "wiegreffe/04-adversaries", ".3f"),
    Test("beyond seeds", "wiegreffe", "does it pay more than another seed", "TVD, halved, at JSD 0.4 minus that of other seeds", 0.0, "for", "wiegreffe/04-adversaries", ".3f"),
    Test("bad guide", "wiegreffe", "are an adversary's weights bad guides", "F1 uniform minus adversary-guided", 0.0, "for", "wiegreffe/03-4-guides", ".3f"),
)
"""Thresholds are those of the scorecard's rules where these have one; the two yardsticks of a trained adversary are this book's:
one trained like it with λ = 0, which only imitates (of the paper's curves the smallest λ stands in), and other seeds."""

BY_NAME = {test.name: test for test in TESTS}

STATISTICS = {
    "gradient": ("tau_attention_gradient", "mean"), "leave-one-out": ("tau_attention_loo", "mean"),
    "permutation": ("median_change", "share_below_0.1"), "adversary": ("jsd_search@0.05", "share_above_0.4"),
}  # fmt: skip

SERRANO_VALUES = {"top item": "3b", "removal": "4b", "race": "share"}
"""Numbers of `serrano_scores.VALUES`."""

COLUMNS = (
    "test", "paper", "corpus", "encoder", "value", "low", "high", "n_seeds", "data", "verdict", "leaning", "threshold",
    "reported", "page", "question", "measure",
)  # fmt: skip

Values = dict[int, float]
"""Seed -> number."""


# ---- the matrix ------------------------------------------------------------------------------------------------------


def verdict_matrix(results: Iterable[Result] | None = None) -> pd.DataFrame:
    """One row per test, data set and encoder, columns COLUMNS; results: stored runs, None takes the whole archive.

    value: mean over seeds, low and high its 95 % Student t interval. data: 'same', 'subset', 'other classes', 'other data',
    'generated' or 'absent'. verdict: of VERDICTS. leaning: the side of the mean where too few seeds decide nothing, else
    ''. reported: the authors' number on the medical data sets, which are not rerun; NaN where none is known. Every planned
    cell has a row, also without a run.
    """
    found = list(stored_summaries() if results is None else results)
    rows = jain_rows(found) + serrano_rows(found) + wiegreffe_rows(found)
    order = {test.name: i for i, test in enumerate(TESTS)}
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    place = {name: i for i, name in enumerate(in_order(dict.fromkeys(frame["corpus"])))}
    return frame.iloc[np.lexsort((frame["encoder"], frame["corpus"].map(place), frame["test"].map(order)))].reset_index(drop=True)


def cell(test: Test, corpus: str, encoder: str, values: Values, data: str = "absent", weak: str = "") -> dict:
    """One row of the matrix."""
    known = np.array([value for value in values.values() if np.isfinite(value)], float)
    bounds = (0, 1) if "share of documents" in test.measure else (-1, 1)  # Student's t knows no bounds
    low, high = np.clip(seed_interval(known), *bounds) if len(known) else (np.nan, np.nan)
    mean = float(known.mean()) if len(known) else np.nan
    row = {field.name: getattr(test, field.name) for field in fields(test) if field.name in COLUMNS}
    row |= {"test": test.name, "corpus": corpus, "encoder": encoder, "value": mean, "low": low, "high": high, "n_seeds": len(known)}
    gated = CATALOGUE[corpus].private
    row |= {"data": data if len(known) else "absent", "reported": printed(test.name, corpus) if gated else np.nan}
    verdict = verdict_of(test, mean, low, high, len(known)) if len(known) else "not rerun" if gated else "no run"
    side = test.above if mean > test.threshold else other(test.above)
    return row | {"verdict": "weak model" if weak and len(known) else verdict, "leaning": side if verdict == "few seeds" else ""}


def verdict_of(test: Test, mean: float, low: float, high: float, n_seeds: int) -> str:
    """Where the interval lies: for, against or undecided; 'few seeds' below five."""
    if n_seeds < HEADLINE_SEEDS:
        return "few seeds"
    return test.above if low > test.threshold else other(test.above) if high < test.threshold else "undecided"


def other(side: str) -> str:
    """The opposite verdict."""
    return "against" if side == "for" else "for"


def summary_values(result: Result) -> dict[tuple[str, str], float]:
    """(statistic, measure) -> value over all documents of a run, {} where it has no summary."""
    if result.summary is None:
        return {}
    rows = result.summary
    rows = rows[(rows["predicted"] == "all") & (rows["bin"] == "all")]
    return dict(zip(zip(rows["statistic"], rows["measure"], strict=True), rows["value"].astype(float), strict=True))


def comparable(result: Result) -> bool:
    """Whether a run is standard, or one on generated documents that differs in KNOBS alone."""
    run = from_dict(result.record["run"])
    generated = CATALOGUE[run.corpus].generated and run.family == "text"
    return standard(result) or (generated and run.seed in SEEDS and {name for name, _ in difference(run)} <= set(KNOBS))


def jain_rows(found: list[Result]) -> list[dict]:
    """Cells of Jain & Wallace's tests: additive attention, twelve data sets, every encoder that was run."""
    tables: dict[tuple[str, str], dict[int, dict]] = {}
    records = {}
    for result in found:
        run = result.record["run"]
        if comparable(result) and run["attention"] == "tanh" and run["encoder"] in ("lstm", "cnn", "average") and result.summary is not None:
            tables.setdefault((run["corpus"], run["encoder"]), {})[run["seed"]] = summary_values(result)
            records[run["corpus"]] = result.record
    rows = []
    for corpus in dict.fromkeys([*paper_sets(), *(name for name, _ in tables)]):
        data = data_of(records[corpus]) if corpus in records else "absent"
        for encoder in ("lstm", "cnn", "average"):
            seeds = tables.get((corpus, encoder), {})
            if not seeds and encoder != "lstm":
                continue
            for name, key in STATISTICS.items():
                rows.append(cell(BY_NAME[name], corpus, encoder, {seed: values.get(key, np.nan) for seed, values in seeds.items()}, data))
            rows.append(cell(BY_NAME["resistance"], corpus, encoder, {seed: resistance(values) for seed, values in seeds.items()}, data))
        both = [tables.get((corpus, encoder), {}) for encoder in ("average", "lstm")]
        key = STATISTICS["gradient"]
        moved = {seed: both[0][seed].get(key, np.nan) - both[1][seed].get(key, np.nan) for seed in both[0] if seed in both[1]}
        rows.append(cell(BY_NAME["context"], corpus, "average-lstm", moved, data))
    return rows


def resistance(values: dict[tuple[str, str], float]) -> float:
    """Mean JSD of the optimum with shuffled contributions minus with the model's own (text pairs: one or two tokens)."""
    own = values.get(("jsd_exact@0.05", "mean"), values.get(("jsd_sparse@0.05", "mean"), np.nan))
    return values.get(("jsd_shuffled@0.05", "mean"), np.nan) - own


def serrano_rows(found: list[Result]) -> list[dict]:
    """Cells of Serrano & Smith's tests: their data sets and six models, and others that were run."""
    models = serrano_scores.by_model(result for result in found if standard(result))
    planned = [(name, encoder) for name, entry in CATALOGUE.items() if any(paper == SERRANO for paper, _ in entry.reported) for encoder in HIERARCHICAL]
    rows = []
    for corpus, encoder in dict.fromkeys([*planned, *models]):
        runs = models.get((corpus, encoder), {})
        tables = {seed: serrano_scores.numbers(result) for seed, result in runs.items()}
        data = serrano_scores.data_of(next(iter(runs.values())).record) if runs else "absent"
        weak = serrano_scores.weakness(corpus, encoder, list(runs.values())) if runs else ""
        for name, number in SERRANO_VALUES.items():
            rows.append(cell(BY_NAME[name], corpus, encoder, serrano_scores.seed_values(number, [tables]), data, weak))
    return rows


def wiegreffe_rows(found: list[Result]) -> list[dict]:
    """Cells of Wiegreffe & Pinter's tests: BiLSTM with additive attention, six data sets and generated ones that were run."""
    runs = table(found)
    evidence = Evidence(runs)
    records = {row.corpus: row.result.record for row in runs.itertuples()}
    trained = runs[runs["role"].isin(("uniform model", "adversary"))]["corpus"]
    rows = []
    for corpus in dict.fromkeys([*PAPER_SETS, *trained]):
        data = data_of(records[corpus]) if corpus in records else "absent"
        guide = {source: evidence.guide(corpus, source) for source in ("own", "uniform", "permuted", "adversary", "own, position", "uniform, position")}
        pairs = {"guide": ("own", "uniform"), "tokens": ("own", "permuted"), "leak": ("own, position", "uniform, position"), "bad guide": ("uniform", "adversary")}
        values = {name: (guide[first] - guide[second]).dropna().to_dict() for name, (first, second) in pairs.items()}
        values |= {"uniform": gap(runs, corpus, "dev").to_dict(), "seeds": beside(runs, corpus, "base", "jsd"), **imitation(runs, corpus)}
        rows += [cell(BY_NAME[name], corpus, "lstm", mine, data) for name, mine in values.items()]
    return rows


def imitation(runs: pd.DataFrame, corpus: str, at: float = 0.4) -> dict[str, Values]:
    """Seed of an adversary's curve -> its TVD (halved) at a JSD, minus that of the imitator with λ = 0 of the same seed
    ('imitation'), and minus the mean TVD of other seeds to the same base ('beyond seeds')."""
    yardstick = mean_of(beside(runs, corpus, "base", "tvd"))
    found: dict[str, Values] = {"imitation": {}, "beyond seeds": {}}
    for seed, curve in adversaries(runs, corpus).groupby("seed", sort=False):
        there, only = frontier.HALVED * frontier.tvd_at(curve["jsd"], curve["tvd"], at), curve[curve["divergence"] == 0]["tvd"]
        found["beyond seeds"][seed] = there - yardstick
        if len(only):
            found["imitation"][seed] = there - frontier.HALVED * only.iloc[0]
    return found


def printed(test: str, corpus: str) -> float:
    """The authors' number of a test on a medical data set, NaN where none was seen."""
    if test in ("gradient", "leave-one-out"):
        measure = {"gradient": "tau_gradient", "leave-one-out": "tau_loo"}[test]
        rows = reported("jain_table2_kendall_tau", corpus=corpus, encoder="lstm", measure=measure, statistic="mean")
        return float(rows["value"].mean())
    if test == "uniform":
        rows = reported("wiegreffe_table2_f1_uniform", corpus=corpus).set_index("model")["value"]
        return float(rows["bilstm_attention_reproduced"] - rows["bilstm_uniform_frozen"])
    if test in ("guide", "bad guide"):
        rows = reported("wiegreffe_table3_guides", corpus=corpus).set_index("model")["value"]
        pair = ("base_lstm", "uniform") if test == "guide" else ("uniform", "adversary_sec4")
        return float(rows[f"guided_mlp:{pair[0]}"] - rows[f"guided_mlp:{pair[1]}"])
    if test in ("seeds", "imitation", "beyond seeds"):
        from attn_core.wiegreffe_tables import figure_5_read

        read = figure_5_read(corpus)
        seeds, curve = read[read["kind"] == "seed"], read[read["kind"] == "adversary"]
        if test == "seeds":
            return float(seeds["jsd"].mean())
        left = curve.sort_values("point")["tvd_halved"].iloc[0] if test == "imitation" else seeds["tvd_halved"].mean()
        return float(frontier.tvd_at(curve["jsd"], curve["tvd_halved"], 0.4) - left)
    return np.nan
