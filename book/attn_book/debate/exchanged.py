"""Each paper's tests on the other paper's models: the same traces answer both.

Jain & Wallace's models have one logit, attention over words and an output p of class 1; Serrano & Smith's have K
classes, attention over sentences (HAN) or words (FLAN) and p of the predicted class. Leave-one-out of a HAN deletes the
sentence, its gradient is the sum over the sentence's words. On one logit a flip is a change of sign.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import product

import numpy as np
import pandas as pd

from attn_book import across, words
from attn_book.derived import weakness
from attn_book.serrano import pages as serrano_pages
from attn_book.serrano.intervals import over_documents
from attn_book.serrano.tables import counts
from attn_book.words import ENCODER_NAMES
from attn_core import archive
from attn_core.archive import Result
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.experiments import erasure
from attn_core.experiments.bracket import sparse, upper
from attn_core.experiments.controls import ceiling
from attn_core.experiments.correlation import correlation
from attn_core.experiments.optimum import exact
from attn_core.experiments.permutation import permutation
from attn_core.experiments.single import weights_dealt_anew
from attn_core.experiments.tables import has_one_logit
from attn_core.runs import SEEDS, Run
from attn_core.seeds import obtain_all
from attn_core.traces import Traces

TESTS = {
    "tau_gradient": ("jain", "τ with gradient", np.mean),
    "tau_loo": ("jain", "τ with leave-one-out", np.mean),
    "little": ("jain", "permuting changes < 0.1", np.mean),
    "adversary": ("jain", "adversary / ceiling", np.mean),
    "adversary_upper": ("jain", "its upper bound", np.mean),
    "one_sided": ("serrano", "only i* − only r", np.mean),
    "one_sided_dealt": ("serrano", "weights dealt anew do", np.mean),
    "fraction": ("serrano", "fraction removed", np.median),
    "regret": ("serrano", "items too many", np.mean),
    "equals": ("serrano", "equals the optimum", np.mean),
    "equals_random": ("serrano", "a random order does", np.mean),
    "empties": ("serrano", "optimum removes all", np.mean),
    "equals_left": ("serrano", "equals it, an item left", np.mean),
    "equals_left_random": ("serrano", "a random order, an item left", np.mean),
}
"""Test -> the paper whose test it is, its name, the statistic over documents."""

JAIN, SERRANO = "Jain & Wallace", "Serrano & Smith"
"""Whose models they are."""

SHARES = ("little", "equals", "equals_random", "empties", "equals_left", "equals_left_random")
"""Tests that are shares of documents."""

FEWEST_DOCUMENTS = 100
"""Documents below which a value is shown but enters no finding. Set on 2026-11-22, after the results were seen: models
of 20 documents had been counted like others."""

DEALS = 10
"""Times that a document's weights are dealt anew over its items for `one_sided_dealt`."""

FEWEST_MODELS = 5
"""Models below which no rank correlation over models is computed."""


def gather(
    theirs: list[str], kinds: list[str], corpora: list[str], encoders: list[str], seed: int
) -> tuple[dict[tuple[str, str], tuple[str, Result]], list[str]]:
    """One seed's run of each model, (corpus, encoder) -> whose model it is (JAIN or SERRANO) and its run; absent ones.

    theirs, kinds: data sets and encoders of Jain & Wallace's, with additive attention; corpora, encoders: of Serrano &
    Smith's. AttnError for a name that the latter do not have; what is not there is a line each, for a gap box.
    """
    (_, absent), models = serrano_pages.gather(corpora, encoders, 1), {}
    for corpus, kind in product(theirs, kinds):
        if found := obtain_all([Run(corpus, kind, "tanh", seed=seed)])[0]:
            models[corpus, kind] = JAIN, found[0]
        else:
            absent.append(f"{corpus}: no run of {ENCODER_NAMES[kind]} with seed {seed}")
    for encoder in encoders:
        found, _ = serrano_pages.firsts(corpora, encoder, seed)
        models |= {(corpus, encoder): (SERRANO, result) for corpus, result in found.items()}
    return models, absent


def some(traces: Traces, corpus: str, most: int) -> Traces:
    """At most `most` documents by the archive's fixed order of the data set (test sets may be sorted by class)."""
    return traces.take(np.sort(archive.sample(traces.doc_id, corpus)[:most]))


def weak(
    theirs: Iterable[str], kinds: Iterable[str], corpora: Iterable[str], encoders: Iterable[str]
) -> dict[tuple[str, str], str]:
    """(corpus, encoder) -> why a model says nothing about attention, by one rule for both papers' models.

    theirs, kinds: data sets and encoders of Jain & Wallace's; corpora, encoders: of Serrano & Smith's. All stored seeds
    of a model are asked, up to those of the book's list; models that do their task are left out.
    """
    real = [corpus for corpus in corpora if not CATALOGUE[corpus].generated]
    found, _ = serrano_pages.gather(real, encoders, len(SEEDS))
    reasons = serrano_pages.weak(found)
    for corpus in theirs:
        for kind in kinds:
            runs = across.stored_runs([Run(corpus, kind, "tanh", seed=seed) for seed in SEEDS])
            if runs and (why := weakness(corpus, [run.record["accuracy"] for run in runs])):
                reasons[corpus, kind] = why
    return reasons


def per_document(traces: Traces, epsilon: float = 0.05) -> pd.DataFrame:
    """One row per document of more than one item: a column for each of TESTS, NaN where it is not defined.

    tau_*: Kendall's tau between attention and the importance. little: whether the median change of output over 100
    permutations is below 0.1 (total variation). adversary: JSD of the farthest attention within epsilon, divided by the
    ceiling; exact for one or two logits, else the best on one or two items, a lower bound; adversary_upper: the same,
    an upper bound. one_sided: 1 where erasing the top item alone flips, -1 where erasing r alone does (r as described),
    else 0; one_sided_dealt: the same with the document's weights dealt anew over its items, mean of DEALS deals.
    fraction: items removed under attention at the first flip / n; regret: items beyond the smallest number / n; equals,
    equals_random: whether attention's order, one random order, removes that smallest number; empties: whether the
    smallest set is all items (the zero vector), so that every order that flips only there equals it; *_left: the same
    of documents that flip with an item left, where the zero vector is no flip.
    """
    traces = traces.take(np.flatnonzero(traces.lengths > 1))
    taus, documents = correlation(traces), erasure.document_table(traces)
    dealt = [one_sided(erasure.single(weights_dealt_anew(traces, deal))) for deal in range(DEALS)]
    removed, left = erasure.derived(documents), erasure.derived(documents, item_left=True)
    top = np.maximum(ceiling(traces), np.finfo(float).tiny)
    if has_one_logit(traces):
        best = bound = exact(traces, epsilon)["jsd_exact"].to_numpy()
    else:
        best, bound = sparse(traces, epsilon)["jsd"].to_numpy(), upper(traces, epsilon)
    missing, flips = np.full(len(traces), np.nan), removed["fraction_optimum"].notna()
    return pd.DataFrame({
        "doc_id": traces.doc_id, "n": traces.lengths,
        "tau_gradient": taus.get("tau_attention_gradient", missing), "tau_loo": taus.get("tau_attention_loo", missing),
        "little": (permutation(traces)["median_change"] < 0.1).to_numpy(float),
        "adversary": best / top, "adversary_upper": np.minimum(bound / top, 1.0),
        "one_sided": one_sided(documents), "one_sided_dealt": np.mean(dealt, axis=0),
        "fraction": removed["fraction_attention"], "regret": removed["regret_fraction_attention"],
        "equals": removed["equals_attention"], "equals_random": removed["equals_random"],
        "empties": removed["zero_optimum"].astype(float).where(flips),
        "equals_left": left["equals_attention"], "equals_left_random": left["equals_random"],
    })  # fmt: skip


def one_sided(documents: pd.DataFrame) -> np.ndarray:
    """1 where erasing attention's top item alone flips, -1 where erasing r alone does, else 0 (D,); r as described."""
    return documents["flips_attention"].to_numpy(float) - documents["flips_r_attention@described"].to_numpy(float)


def line(table: pd.DataFrame, tests: dict[str, tuple[str, str, Callable]] = TESTS) -> pd.DataFrame:
    """Statistics of one model: test, paper, name, mean (or median), low, high (`over_documents`), n."""
    rows = []
    for test, (paper, name, statistic) in tests.items():
        values = table[test].dropna().to_numpy(float)
        low, high = over_documents(values, statistic, test in SHARES)
        rows.append([test, paper, name, float(statistic(values)) if len(values) else np.nan, low, high, len(values)])
    return pd.DataFrame(rows, columns=["test", "paper", "name", "mean", "low", "high", "n"])


# ---- over models: rows of `of_models` --------------------------------------------------------------------------------


def of_models(
    models: Mapping[tuple[str, str], tuple[str, Result]], reasons: dict[tuple[str, str], str], epsilon: float, most: int
) -> pd.DataFrame:
    """Rows of `line` of each model of `gather` with traces, over at most `most` documents (`some`) of several items.

    Columns besides: corpus, encoder, models (whose it is), documents, items (median of a document), classes, label.
    """
    parts = []
    for (corpus, encoder), (paper, result) in models.items():
        if result.traces is None:
            continue
        table = per_document(some(result.traces, corpus, most), epsilon)
        model = {"corpus": corpus, "encoder": encoder, "models": paper, "documents": len(table)}
        model |= {"items": table["n"].median(), "classes": max(result.traces.classes, 2)}
        parts.append(line(table).assign(**model, label=label(corpus, encoder, reasons, len(table))))
    columns = ["test", "paper", "name", "mean", "low", "high", "n"]
    columns += ["corpus", "encoder", "models", "documents", "items", "classes", "label"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def entering(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that may enter a finding: models without an asterisk, tests of at least FEWEST_DOCUMENTS documents."""
    return rows[~rows["label"].str.endswith("*").astype(bool) & (rows["n"] >= FEWEST_DOCUMENTS)]


def ranges(rows: pd.DataFrame, test: str) -> str:
    """Smallest and largest value of a test over each paper's models, in words."""
    parts = []
    for paper, part in rows[(rows["test"] == test) & rows["mean"].notna()].groupby("models"):
        ends = dict.fromkeys(words.number(value, ".2f") for value in (part["mean"].min(), part["mean"].max()))
        many = f"{len(part)} model{'s' * (len(part) > 1)}"
        parts.append(f"{paper}'s {' to '.join(ends)} ({many})")
    return "; ".join(parts) or "no run"


def agreement(rows: pd.DataFrame, first: str, second: str) -> str:
    """Spearman correlation of two tests over models, in words."""
    both = rows.pivot_table(index="label", columns="test", values="mean").reindex(columns=[first, second]).dropna()
    if len(both) < FEWEST_MODELS:
        return f"not computed (models: {len(both)}; {FEWEST_MODELS} are needed)"
    return f"{both.corr(method='spearman').iloc[0, 1]:.2f} over {len(both)} models"


def no_better(rows: pd.DataFrame) -> str:
    """Models in which more than half of attention's agreement with the optimum is had by a random order, in words."""
    wide = rows.pivot_table(index="label", columns="test", values="mean", sort=False)
    wide = wide.reindex(columns=["equals", "equals_random"]).dropna()
    found = wide[wide["equals_random"] > 0.5 * wide["equals"]]
    if wide.empty:
        return "no run"
    return f"{len(found)} of {len(wide)} models" + (f" ({', '.join(found.index)})" if len(found) else "")


def opposites(rows: pd.DataFrame) -> list[str]:
    """The two models whose ranks by tau and agreement with the optimum differ most, with what lies behind, for a list.

    A reading is conditional on the numbers: a random order that has more than half of the agreement, and a regret below
    a tenth of the items.
    """
    wide = rows.pivot_table(index="label", columns="test", values="mean", sort=False)
    wide = wide.reindex(columns=list(TESTS)).dropna(subset=["tau_gradient", "equals", "regret"])
    if len(wide) < 2:
        return ["Fewer than two models that count are stored, so there is no pair to name."]
    shift = wide["equals"].rank() - wide["tau_gradient"].rank()
    if shift.max() <= 0:
        return ["Both tests rank the models alike, so there is no pair to name."]
    items = rows.groupby("label")["items"].first()
    high, low = wide.loc[shift.idxmax()], wide.loc[shift.idxmin()]
    chance = (
        "More than half of this agreement is also a random order's, in part because every order that flips last of "
        "all equals an optimum that removes everything; what attention adds shows with an item left."
        if high["equals_random"] > 0.5 * high["equals"]
        else "A random order agrees much less often, so attention's top is often right although it ranks all items "
        "differently from the gradient: τ counts all pairs, a flip set the top alone."
    )
    strict = (
        "It is seldom exactly a smallest set and yet close to one: equality is strict where documents are long."
        if low["regret"] < 0.1
        else "Nor is it close: on average it removes more than a tenth of the items beyond the smallest set. Agreement "
        "with the gradient over all items does not put the deciding ones on top."
    )
    which = ("higher by agreement with the optimum than by τ", "the reverse")
    return [
        f"{model}, {told}:" + "".join(f"\n  - {text}" for text in [*facts(row, items[model]), reading])
        for model, told, row, reading in zip((high.name, low.name), which, (high, low), (chance, strict), strict=True)
    ]


def facts(row: pd.Series, items: float) -> list[str]:
    """What a pair rests on, in words."""
    left = [f"with an item left {row['equals_left']:.2f} against {row['equals_left_random']:.2f}"]
    return [
        f"τ {words.number(row['tau_gradient'], '.2f')}",
        f"agreement {row['equals']:.2f}, a random order {row['equals_random']:.2f}",
        *(left if np.isfinite(row["equals_left"]) else []),
        f"the optimum removes everything in {row['empties']:.0%} of the documents that can flip",
        f"{row['regret']:.0%} of the items too many (median document: {items:.0f} items)",
    ]


def sampled(firsts: Mapping[str, Mapping[str, Result]], reasons: dict[tuple[str, str], str]) -> dict[str, Traces]:
    """Stored documents of models by `label`; firsts: encoder -> data set -> result. Results without traces are left
    out; what counts are documents of more than one item."""
    found = ((corpus, encoder, run.traces) for encoder, runs in firsts.items() for corpus, run in runs.items())
    return {
        label(corpus, encoder, reasons, int((traces.lengths > 1).sum())): traces
        for corpus, encoder, traces in found
        if traces is not None
    }


def label(corpus: str, encoder: str, reasons: dict[tuple[str, str], str], documents: int = FEWEST_DOCUMENTS) -> str:
    """'amazon HANrnn', with an asterisk where the model enters no finding: generated, weak or of too few documents."""
    may = counts(corpus, encoder, reasons) and documents >= FEWEST_DOCUMENTS
    return f"{corpus} {ENCODER_NAMES[encoder]}" + " *" * (not may)
