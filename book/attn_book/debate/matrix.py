"""The verdict matrix of the three papers: tests by data sets and encoders, each cell a number with its interval.

A cell says whether attention *passes* a test, that is, whether it behaves as one would ask of an explanation there: the
95 % interval over seeds lies on the test's good side of its threshold. 'fails': on the other side; 'open': around it;
'few': fewer than five seeds, or than its page asks for, which decide nothing. Thresholds are those of
data/reported/tolerances.csv. Weak models, curves that cannot be read, reported values of data sets that were not rerun,
and generated documents stand beside, in no count; cells on parts of the papers' data or on stand-ins are tallied apart.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attn_book.reported import FINAL_RUN, reported
from attn_book.weak import has_cells, weak_models
from attn_book.wiegreffe.curves import climbs_read
from attn_book.wiegreffe.runs import GATED, adversaries, f1_by_seed, guided_scores, of_role, planned_pairs
from attn_core.archive import Result
from attn_core.corpora import catalogue
from attn_core.experiments import frontier
from attn_core.index import HEADLINE_SEEDS, data_kind, difference, side
from attn_core.measures import seed_interval
from attn_core.runs import from_dict
from attn_core.seeds import summary_of

PAPERS = {"jain": "Jain & Wallace", "serrano": "Serrano & Smith", "wiegreffe": "Wiegreffe & Pinter"}


@dataclass(frozen=True)
class Test:
    """One test: what attention is asked, in words and as a number; good: the threshold's side on which it passes."""

    key: str
    paper: str
    asks: str
    number: str
    threshold: float
    good: str
    page: str
    form: str = ".2f"
    bounds: tuple[float, float] = (-np.inf, np.inf)


TESTS = (
    Test("gradients", "jain", "rank words like gradients",
         "mean τ with gradients", 0.5, "above", "jain-correlation", bounds=(-1, 1)),
    Test("permutation", "jain", "matter to the output",
         "share of documents whose median change is below 0.1", 0.5, "below", "jain-permutation", ".0%", (0, 1)),
    Test("adversaries", "jain", "be pinned down by the output",
         "share with weights known at a JSD above 0.4 within ε 0.05 (reported: searched)", 0.7, "below",
         "jain-adversarial", ".0%", (0, 1)),
    Test("top item", "serrano", "name a top item that flips more decisions than a random one",
         "share where only the top item's removal flips, minus only a random one's",
         0.0, "above", "serrano-flips", "+.2f", (-1, 1)),
    Test("order", "serrano", "order items better than gradients",
         "share of items removed by attention minus by gradient", 0.0, "below", "serrano-sets", "+.2f", (-1, 1)),
    Test("necessary", "wiegreffe", "be needed for the score",
         "F1 minus F1 with uniform weights, checkpoints chosen on development data",
         0.01, "above", "wiegreffe-uniform", "+.3f", (-1, 1)),
    Test("stable", "wiegreffe", "stay near the base's under further seeds",
         "mean JSD of further seeds to the base", 0.11, "below", "wiegreffe-variance", ".3f", (0, np.log(2))),
    Test("hard to move", "wiegreffe", "cost predictions when moved by training",
         "halved TVD at JSD 0.6 minus at 0.2", 0.01, "above", "wiegreffe-adversary", "+.3f", (-1, 1)),
    Test("guide", "wiegreffe", "help another model, word by word",
         "F1 under its weights minus under uniform weights", 0.0, "above", "wiegreffe-guides", "+.3f", (-1, 1)),
)  # fmt: skip
BY_KEY = {test.key: test for test in TESTS}

SYMBOLS = {
    "passes": "✓",
    "fails": "✗",
    "open": "○",
    "few": "·",
    "weak": "",
    "unread": "",
    "reported": "",
    "planted": "",
}
KINDS = ("ours", "authors", "weak", "unread", "reported", "planted")
"""Ours (counted, see `counted`); ours with the checkpoint that the authors choose, on the test set; models that do not
do their task; curves of ours off which nothing can be read; the papers' values; generated documents."""

CLIMB = (0.2, 0.6)
"""The two JSDs at which a curve is read for the test 'hard to move'."""

LONG = "planted, long"
"""The name of the generated documents of a thousand words and more; the other pages' generated set is a short one."""

COLUMNS = ["test", "corpus", "encoder", "mean", "low", "high", "n_seeds", "kind"]

SUMMARY = {
    "gradients": (("tau_attention_gradient", "mean"),), "permutation": (("median_change", "share_below_0.1"),),
    "adversaries": (("jsd_exact@0.05", "share_above_0.4"), ("jsd_lower@0.05", "share_above_0.4")),
}  # fmt: skip
"""Test of Jain & Wallace -> statistic and measure of the summaries, the first that a model has.

Adversaries: the claim is that such weights exist, so the exact optimum decides, and the best weights found where no
optimum is known; until 2026-11-22 the search decided, which may miss them.
"""

CLAIMS = {"top item": "claim: 3b", "order": "claim: 4b"}
"""Test of Serrano & Smith -> beginning of the scored claim that holds its number."""


def cell(test: str, corpus: str, encoder: str, values: Iterable[float], kind: str = "ours") -> list:
    """One row of COLUMNS from one number per seed."""
    known = np.array([value for value in values if np.isfinite(value)], float)
    low, high = seed_interval(known)
    return [test, corpus, encoder, known.mean() if len(known) else np.nan, low, high, len(known), kind]


def lies(row, planned: int = 0) -> str:
    """Whether attention passes in a cell: a key of SYMBOLS. planned: seeds below which its page decides nothing."""
    if row.kind not in ("ours", "authors"):
        return row.kind
    test = BY_KEY[row.test]
    found = side(row, test.threshold, fewest=max(HEADLINE_SEEDS, planned))
    if found in ("few", "around"):
        return {"around": "open"}.get(found, found)
    passes = found == test.good
    if passes and row.test == "adversaries" and catalogue.corpus(row.corpus).task != "text":
        return "open"  # the best weights found are few, but better ones may exist
    return "passes" if passes else "fails"


# ---- cells -----------------------------------------------------------------------------------------------------------


def jain_cells(results: Iterable[Result]) -> list[list]:
    """Jain & Wallace's three tests on encoders with additive attention, standard settings; results: with summaries."""
    values: dict[tuple, list[float]] = {}
    results = [result for result in results if has_cells(result)]
    for result in results:
        run, rows = from_dict(result.record["run"]), summary_of(result)
        rows = rows[(rows["predicted"] == "all") & (rows["bin"] == "all")].set_index(["statistic", "measure"])["value"]
        for test, places in SUMMARY.items():
            if place := next((place for place in places if place in rows.index), None):
                values.setdefault((test, run.corpus, run.encoder), []).append(float(rows[place]))
    weak = weak_models(results)
    return [cell(*place, v, "weak" if place[1:] in weak else "ours") for place, v in values.items()]


def serrano_cells(scored: pd.DataFrame) -> list[list]:
    """Two of Serrano & Smith's claims as the scorecard has them, by data set and model."""
    rows, scored = [], scored[(scored["paper"] == "serrano") & scored["ours"].notna()]
    for test, start in CLAIMS.items():
        for r in scored[scored["item"].str.startswith(start)].itertuples():
            kind = "weak" if r.unjudged == "weak model" else "ours"
            rows.append([test, r.corpus, r.encoder, r.ours, r.low, r.high, r.n_seeds, kind])
    return rows


def necessary(runs: pd.DataFrame, corpus: str, selection: str = "dev") -> pd.Series:
    """seed -> F1 of the base minus F1 of its uniform twin."""
    base, uniform = (f1_by_seed(runs, corpus, role, selection) for role in ("base", "uniform model"))
    return (base - uniform).dropna()


def wiegreffe_cells(runs: pd.DataFrame, corpora: Iterable[str], kind: str = "ours") -> list[list]:
    """Wiegreffe & Pinter's four demands on the BiLSTM; runs: of `wiegreffe.runs.table`.

    Checkpoints are chosen on development data; of 'ours' the need for attention also as the authors choose, 'authors'.
    """
    rows = []
    for corpus in corpora:
        scores = guided_scores(runs, [corpus])
        # as in the paper: permuted weights are worse than none
        own, plain = (scores[scores["source"] == source].set_index("seed")["f1"] for source in ("own", "uniform"))
        climbs = [climb(curve) for _, curve in adversaries(runs, corpus).groupby("seed", sort=False)]
        seeds = of_role(runs, corpus, "base")["jsd"].dropna()
        for test, values in (
            ("necessary", necessary(runs, corpus)), ("stable", seeds), ("hard to move", climbs),
            ("guide", (own - plain).dropna()),
        ):  # fmt: skip
            rows.append(cell(test, corpus, "lstm", values, kind))
        if kind == "ours" and len(climbs) and np.isnan(climbs).all():
            rows.append(["hard to move", corpus, "lstm", np.nan, np.nan, np.nan, len(climbs), "unread"])
        if kind == "ours":
            rows.append(cell("necessary", corpus, "lstm", necessary(runs, corpus, "test"), "authors"))
    return [row for row in rows if row[6]]


def climb(curve: pd.DataFrame) -> float:
    """Halved TVD at JSD 0.6 minus at 0.2 of one adversary's curve, read as on its page (`frontier.read_off`), or NaN.

    The scorecard's bands are older than that rule and join all neighbours.
    """
    low, high = frontier.read_off(curve, CLIMB)["tvd_halved"]
    return high - low


def reported_cells(corpora: Iterable[str] = GATED) -> list[list]:
    """What the papers report of data sets that need credentials: one number a test, 'not rerun'."""
    rows = []
    for corpus in corpora:
        for encoder in ("lstm", "average"):
            tau = reported("jain_repo_correlations", corpus=corpus, encoder=encoder, attention="tanh",
                           snapshot=FINAL_RUN, measure="tau_gradient", statistic="mean")  # fmt: skip
            overall = tau[tau["class"] == "Overall"]["value"] if len(tau) else []
            rows.append(["gradients", corpus, encoder, overall])
        bins = reported("jain_repo_svg_histogram_bins", corpus=corpus, encoder="lstm", attention="tanh",
                        measure="eps_max_jsd", snapshot=FINAL_RUN)  # fmt: skip
        shares = [part.loc[part["bin_left"] >= 0.4 - 1e-9, "share"].sum() for _, part in bins.groupby("class")]
        rows.append(["adversaries", corpus, "lstm", [np.mean(shares)] if shares else []])
        table2 = reported("wiegreffe_table2_f1_uniform", corpus=corpus).set_index("model")["value"]
        rows.append(
            ["necessary", corpus, "lstm", [table2["bilstm_attention_reproduced"] - table2["bilstm_uniform_frozen"]]]
        )
        figure5 = reported("wiegreffe_figure5_digitised", corpus=corpus)
        seeds = figure5[(figure5["model"] == "random_seed") & (figure5["measure"] == "JSD_attention_vs_base")]["value"]
        rows.append(["stable", corpus, "lstm", [seeds.mean()]])
        rows.append(["hard to move", corpus, "lstm", climbs_read(CLIMB, [corpus])["climb"]])
        table3 = reported("wiegreffe_table3_guides", corpus=corpus).set_index("model")["value"]
        rows.append(["guide", corpus, "lstm", [table3["guided_mlp:base_lstm"] - table3["guided_mlp:uniform"]]])
    return [
        [test, corpus, encoder, float(np.mean(list(values))), np.nan, np.nan, 0, "reported"]
        for test, corpus, encoder, values in rows
        if len(values)
    ]


def matrix(
    results: Iterable[Result],
    scored: pd.DataFrame | None,
    runs: pd.DataFrame,
    corpora: Iterable[str],
    planted: list[list] = (),
) -> pd.DataFrame:
    """All cells: COLUMNS, `lies` and `data` (`data_marks`; '' where not ours).

    results: stored summaries. scored: the scorecard, None leaves Serrano & Smith out. runs: of `wiegreffe.runs.gather`.
    corpora: of Wiegreffe & Pinter's tests. planted: rows of COLUMNS of generated documents, kind 'planted', named LONG.
    """
    results, serrano = list(results), [] if scored is None else serrano_cells(scored)
    rows = [
        *jain_cells(results),
        *serrano,
        *wiegreffe_cells(runs, [c for c in corpora if c not in GATED]),
        *reported_cells(),
        *planted,
    ]
    found = pd.DataFrame(rows, columns=COLUMNS)
    marks = data_marks([*results, *runs["result"]])
    if scored is not None:  # its data sets are none of the results'
        marks |= scored[scored["ours"].notna()].set_index("corpus")["data"].to_dict()
    data = found["corpus"].map(marks).where(found["kind"].isin(KINDS[:4])).fillna("")
    named = found["corpus"].mask(found["kind"] == "planted", LONG)
    pairs = planned_pairs()
    wanted = found["corpus"].map(pairs).where(found["test"] == "necessary").fillna(0)
    found["lies"] = [lies(row, seeds) for row, seeds in zip(found.itertuples(), wanted, strict=True)]
    return found.assign(corpus=named, data=data)


def data_marks(results: Iterable[Result]) -> dict[str, str]:
    """Data set -> 'same', 'subset' and so on, as the scorecard says of its runs, of standard ones first."""
    marks = {}
    for result in sorted(results, key=lambda result: bool(difference(from_dict(result.record["run"])))):
        run = from_dict(result.record["run"])
        marks.setdefault(
            run.corpus, data_kind(result.record)
        )
    return marks


def counted(cells: pd.DataFrame, own: bool = True) -> pd.DataFrame:
    """Cells that count: ours, on the papers' own data. own False: on parts of it, on stand-ins (never generated)."""
    real = (cells["kind"] == "ours") & (cells["data"] != "generated")
    return cells[real & ((cells["data"] == "same") == own)]


def counts(cells: pd.DataFrame, own: bool = True) -> dict[str, int]:
    """Cells of `counted` by verdict: passes, fails, open, few; judged: the first three; decided: the first two."""
    own = counted(cells, own)
    found = {name: int((own["lies"] == name).sum()) for name in ("passes", "fails", "open", "few")}
    decided = found["passes"] + found["fails"]
    return found | {"decided": decided, "judged": decided + found["open"]}
