"""The hypothesis that Serrano & Smith state and do not test: attention ranks better what is not contextualised.

Takes summaries (`pages.summaries`) and the models that enter no claim (`pages.weak`); every word
follows from the numbers.
"""

from collections.abc import Collection, Iterable

import numpy as np
import pandas as pd

from attn_book.serrano.tables import on_common
from attn_book.words import ENCODER_NAMES, told
from attn_core.archive import Result
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.experiments.dispersion import slope
from attn_core.experiments.erasure import derived
from attn_core.index import HEADLINE_SEEDS, over_seeds, side
from attn_core.measures import LEVEL, holm, seed_p
from attn_core.runs import HIERARCHICAL
from attn_core.seeds import paired_difference

NOT_MIXED, MIXED = "none", ("rnn", "conv")
"""Encoders of a unit (HAN or FLAN) without and with contextualisation."""


def gaps(every: pd.DataFrame, item_left: bool = False) -> pd.DataFrame:
    """One row per trained run: corpus, unit ('HAN' or 'FLAN'), encoder, seed, dispersion, gap, relative, slope.

    gap: mean share of items that attention removes beyond the smallest flip set, documents that flip under attention.
    relative: (attention - optimum) / (random - optimum), means of the share removed over the documents that flip under
    every order. (Until 2026-11-22, after results had been seen, gap divided by the same of a random order: means over
    different documents.) dispersion: mean of dispersion_weighted. slope: of gap on dispersion over the run's documents.
    item_left: a flip that comes with the zero vector counts as none; no slope is stored of these.
    """
    gap = "gap@left" if item_left else "gap"
    wanted = {("dispersion_weighted", "mean"): "dispersion", (gap, "mean"): "gap"}
    if not item_left:
        wanted["slope_gap", "value"] = "slope"
    part = every[(every["bin"] == "all") & every["encoder"].isin(HIERARCHICAL)]
    part = part.assign(name=[wanted.get(pair) for pair in zip(part["statistic"], part["measure"], strict=True)]).dropna(
        subset="name"
    )
    runs = (
        part.pivot_table(index=["corpus", "encoder", "seed"], columns="name", values="value")
        .reindex(columns=["dispersion", "gap", "slope"])
        .reset_index()
    )
    common = on_common(every, item_left)
    by_random = common["random"] - common["optimum"]
    relative = ((common["attention"] - common["optimum"]) / by_random.where(by_random > 0)).rename("relative")
    runs = runs.merge(relative.reset_index(), on=["corpus", "encoder", "seed"], how="left")
    runs["unit"] = runs["encoder"].str.split("_").str[0].str.upper()
    return runs[["corpus", "unit", "encoder", "seed", "dispersion", "gap", "relative", "slope"]].rename_axis(
        columns=None
    )


def slopes_twice(found: Iterable[Result]) -> pd.DataFrame:
    """The slope of gap on dispersion over a run's documents, over all that flip and over those with an item left.

    A document of alike items flips with its last item under every order: a gap of 0 at a low dispersion, which pushes
    the slope up whatever attention does. Columns corpus, encoder, seed, all, left, n_all, n_left: of runs whose table
    of documents is stored (first seeds), generated ones left out.
    """
    rows = []
    for result in found:
        run = result.record["run"]
        if result.documents is None or CATALOGUE[run["corpus"]].generated:
            continue
        whole, left = (derived(result.documents, item_left) for item_left in (False, True))
        slopes = [slope(table["dispersion_weighted"], table["gap"]) for table in (whole, left)]
        counts = [int(table["gap"].notna().sum()) for table in (whole, left)]
        rows.append([run["corpus"], run["encoder"], run["seed"], *slopes, *counts])
    return pd.DataFrame(rows, columns=["corpus", "encoder", "seed", "all", "left", "n_all", "n_left"])


TESTS = {
    "gap": "gap without encoder minus with one",
    "relative": "the same, relative to a random order",
    "between": "slope of gap on dispersion, between models",
    "within": "slope of gap on dispersion, within documents of a model",
}
"""Tests of the hypothesis; negative values speak for it."""

SHORT = {"gap": "gap", "relative": "relative to random"}
"""The first two tests in short."""

COLUMNS = {"gap": "gap", "relative": "relative to random", "between": "slope between", "within": "slope within"}
"""The tests as columns of a table."""

JUDGED = ("supported", "contradicted", "not decided")
"""Verdicts of tests that are judged."""


def hypothesis(runs: pd.DataFrame, weak: Collection[tuple[str, str]] = ()) -> pd.DataFrame:
    """The paper's untested statement: attention is a better ranking where items are not contextualised.

    runs: `gaps`. One row per data set, unit (HAN or FLAN) and test of TESTS, each a number per seed and its Student t
    interval over seeds: the gap of the model without encoder minus the mean of the two with one; the same of
    `relative`; the least-squares slope of gap on dispersion over a seed's three models; the mean over them of the slope
    over documents. Only seeds of which all three models are stored. Columns corpus, unit, test, mean, low, high,
    n_seeds, p (two-sided), holm (corrected for all rows that are judged), verdict: 'supported' (interval below 0),
    'contradicted' (above), 'not decided', or why it is not judged: 'few seeds', 'weak model', 'generated'. An interval
    that excludes 0 while the corrected p does not is 'not decided'.
    """
    lines = []
    for (corpus, unit), part in runs.groupby(["corpus", "unit"]):
        names = [f"{unit.lower()}_{kind}" for kind in (NOT_MIXED, *MIXED)]
        wide = part.pivot(index="seed", columns="encoder", values=["gap", "relative", "dispersion", "slope"])
        if not set(names) <= set(part["encoder"]):
            continue
        wide = wide[wide["gap"][names].notna().all(axis=1)]
        tests = {
            kind: wide[kind][names[0]] - wide[kind][names[1:]].mean(axis=1, skipna=False)
            for kind in ("gap", "relative")
        }
        x, y = (wide[kind][names].sub(wide[kind][names].mean(axis=1), axis=0) for kind in ("dispersion", "gap"))
        tests["between"] = (x * y).sum(axis=1, skipna=False) / (x**2).sum(axis=1, skipna=False).replace(0, np.nan)
        tests["within"] = wide["slope"][names].mean(axis=1, skipna=False)
        reason = (
            "generated"
            if CATALOGUE[corpus].generated
            else "weak model"
            if any((corpus, name) in weak for name in names)
            else ""
        )
        for test, values in tests.items():
            values = values.dropna().to_numpy()
            if not len(values):
                continue
            row = over_seeds(pd.DataFrame({"corpus": corpus, "value": values}), "corpus").iloc[0]
            why = reason or ("few seeds" if len(values) < HEADLINE_SEEDS else "")
            lines.append(
                {
                    "corpus": corpus,
                    "unit": unit,
                    "test": test,
                    **row[["mean", "low", "high", "n_seeds"]],
                    "p": seed_p(values),
                    "verdict": why,
                }
            )
    rows = pd.DataFrame(lines, columns=["corpus", "unit", "test", "mean", "low", "high", "n_seeds", "p", "verdict"])
    judged = (rows["verdict"] == "") & rows["p"].notna()
    rows.insert(8, "holm", np.nan)
    rows.loc[judged, "holm"] = holm(rows.loc[judged, "p"].to_numpy(float))
    sure = rows["holm"] < LEVEL
    found = side(rows, 0, fewest=0).map({"below": "supported", "above": "contradicted"}).where(sure, None)
    rows.loc[rows["verdict"] == "", "verdict"] = found.fillna("not decided")
    return rows


def each_encoder(runs: pd.DataFrame, weak: Collection[tuple[str, str]] = ()) -> pd.DataFrame:
    """The first two tests of `hypothesis` against each encoder alone, where both models count and have five seeds.

    runs: `gaps`. Columns corpus, unit, encoder ('rnn' or 'conv'), test, mean, low, high, n_seeds. The mean of two
    encoders can hide one: asked after results had been seen, so in no correction and no verdict.
    """
    lines = []
    for (corpus, unit), part in runs.groupby(["corpus", "unit"], sort=False):
        plain = f"{unit.lower()}_{NOT_MIXED}"
        for kind in MIXED:
            pair = (plain, f"{unit.lower()}_{kind}")
            if CATALOGUE[corpus].generated or any((corpus, name) in weak for name in pair):
                continue
            for test in ("gap", "relative"):
                values = part.rename(columns={test: "value"})
                gap = paired_difference(*(values[values["encoder"] == name] for name in pair))
                if gap["n_seeds"] >= HEADLINE_SEEDS:
                    lines.append({"corpus": corpus, "unit": unit, "encoder": kind, "test": test, **gap})
    return pd.DataFrame(lines, columns=["corpus", "unit", "encoder", "test", "mean", "low", "high", "n_seeds"])


def told_each(rows: pd.DataFrame) -> list[str]:
    """'agnews_all FLANnoenc minus FLANrnn: gap +0.022 (…), relative to random -0.370 (…)', a text each pair."""
    texts = []
    for (corpus, unit, encoder), part in rows.groupby(["corpus", "unit", "encoder"], sort=False):
        plain, mixed = (ENCODER_NAMES[f"{unit.lower()}_{kind}"] for kind in (NOT_MIXED, encoder))
        values = [f"{SHORT[r.test]} {told(r.mean, r.low, r.high, '+.3f')}" for r in part.itertuples()]
        texts.append(f"{corpus} {plain} minus {mixed}: {', '.join(values)}")
    return texts or ["no pair of models can be judged"]


def hypothesis_verdict(rows: pd.DataFrame) -> str:
    """What the tests of `hypothesis` come to, in words; where none is judged, that."""
    judged = rows[rows["verdict"].isin(JUDGED)]
    if judged.empty:
        return f"Not decided: no data set has all three models with {HEADLINE_SEEDS} seeds that do their task."
    found = {word: int((judged["verdict"] == word).sum()) for word in JUDGED}
    summary = (
        "The statement holds" if found["supported"] == len(judged)
        else "The statement fails" if found["contradicted"] == len(judged)
        else "The statement depends on the model and the test" if found["supported"] and found["contradicted"]
        else "The statement is supported in part" if found["supported"]
        else "The statement is contradicted in part" if found["contradicted"]
        else "Nothing is decided"
    )  # fmt: skip
    return (
        f"{summary} (tests that support it: {found['supported']}, contradict it: {found['contradicted']}, do not "
        f"decide: {found['not decided']}; Holm-corrected for {len(judged)})."
    )


def told_left(rows: pd.DataFrame, left: pd.DataFrame) -> list[str]:
    """The judged tests of `hypothesis` again over flips with an item left, uncorrected; a text each, and the count.

    left: `hypothesis` of `gaps(every, item_left=True)`, which has no slope within documents.
    """
    judged = rows[rows["verdict"].isin(JUDGED)].merge(left, on=["corpus", "unit", "test"], suffixes=("", "_left"))
    if judged.empty:
        return ["no test is judged"]
    clear = np.select([judged["high_left"] < 0, judged["low_left"] > 0], ["below 0", "above 0"], "around 0")
    texts = [
        f"{COLUMNS[r.test]}, {r.corpus} {r.unit}: {told(r.mean, r.low, r.high, '.3f')}, with an item left "
        f"{told(r.mean_left, r.low_left, r.high_left, '.3f')}"
        for r in judged.itertuples()
    ]
    count = ", ".join(f"{int((clear == side).sum())} {side}" for side in ("below 0", "above 0", "around 0"))
    return [*texts, f"of these {len(judged)} intervals, with an item left: {count}"]


def hypothesis_tests(rows: pd.DataFrame) -> list[str]:
    """What each test of `hypothesis` says of which data set and unit; where none is judged, why, for a list."""
    judged = rows[rows["verdict"].isin(JUDGED)]
    if judged.empty:
        places = rows.drop_duplicates(["corpus", "unit"]).groupby("verdict")
        return [f"{why}: {', '.join(part['corpus'] + ' ' + part['unit'])}" for why, part in places] or ["no run"]
    texts = []
    for test, part in judged.groupby("test", sort=False):
        groups = part.groupby("verdict", sort=False)
        clauses = [f"\n  - {verdict} on {', '.join(map(place, some.itertuples()))}" for verdict, some in groups]
        texts.append(f"{TESTS[test]}:{''.join(clauses)}")
    return texts


def side_by_side(rows: pd.DataFrame) -> pd.DataFrame:
    """The tests of `hypothesis` side by side: a row per data set and unit, judged ones first, for display."""
    lines = []
    for (corpus, unit), part in rows.groupby(["corpus", "unit"], sort=False):
        state = "judged" if part["verdict"].isin(JUDGED).any() else part["verdict"].iloc[0]
        cells = {}
        for r in part.itertuples():
            p = f", p {r.holm:.3f}" if r.holm >= 0.001 else ", p < 0.001"
            decided = f"; {r.verdict}{p if r.verdict in JUDGED else ''}" if state == "judged" else ""
            cells[COLUMNS[r.test]] = told(r.mean, r.low, r.high, ".3f") + decided
        order = ("judged", "few seeds", "weak model", "generated").index(state)
        seeds = f"{part['n_seeds'].min():.0f}"
        lines.append({"order": order, "data set": f"{corpus} {unit}", "state": state, "seeds": seeds, **cells})
    made = pd.DataFrame(lines, columns=["order", "data set", "state", *COLUMNS.values(), "seeds"])
    return made.sort_values("order", kind="stable").drop(columns="order").fillna("–")


def place(row) -> str:
    """'amazon HAN -0.081 (-0.105 to -0.056)': where a test was made, with its value."""
    return f"{row.corpus} {row.unit} {told(row.mean, row.low, row.high, '.3f')}"
