"""What exactness shows of Serrano & Smith's rankings, and the hypothesis that the paper states and does not test.

All take summaries (`serrano_pages.summaries`: corpus, encoder, seed, statistic, bin, measure, value) and the models that
enter no claim (`serrano_pages.weak`), and return tables or words; every word follows from the numbers.
"""

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from attn_core.across import told
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.experiments.erasure import RANKINGS, derived
from attn_core.measures import LEVEL, bootstrap_interval, holm, seed_p
from attn_core.reported import reported
from attn_core.runs import HIERARCHICAL
from attn_core.seeds import HEADLINE_SEEDS, over_seeds

NAMES = {
    "random": "random", "attention": "attention", "gradient": "gradient", "product": "gradient × attention",
    "first_order": "first order", "optimum": "optimum",
}  # fmt: skip
"""Rankings in running text."""

QUANTITIES = {
    "fraction": ("median fraction removed", "median", np.median),
    "equals": ("share equal to the optimum", "mean", np.mean),
    "regret": ("items beyond the optimum, mean", "mean", np.mean),
    "regret_fraction": ("share of items beyond the optimum, mean", "mean", np.mean),
}
"""Quantity -> its name, the measure of a summary that holds it, the statistic over documents."""

PAPERS_ORDER = ("product", "gradient", "attention", "random")
"""The paper's four rankings from few removals to many, as it is reported to find them (specification, section 5, target 4)."""

NOT_MIXED, MIXED = "none", ("rnn", "conv")
"""Encoders of a unit (HAN or FLAN) without and with contextualisation."""


def counts(corpus: str, encoder: str, weak: Collection[tuple[str, str]]) -> bool:
    """Whether a model may enter a claim: its data are not generated and it does its task."""
    return not CATALOGUE[corpus].generated and (corpus, encoder) not in weak


# ---- rankings against the optimum ------------------------------------------------------------------------------------


def rankings(
    every: pd.DataFrame,
    weak: Collection[tuple[str, str]] = (),
    item_left: bool = False,
    documents: Mapping[tuple[str, str], pd.DataFrame] | None = None,
) -> pd.DataFrame:
    """How far each ranking lies from the smallest flip set: one row per data set, model, ranking and quantity.

    Columns corpus, encoder, ranking, quantity (a key of QUANTITIES), mean, low, high, n_seeds, over, counts. Documents of
    more than one item; fraction and regret: those that flip under the ranking; equals: those that flip at all. The
    interval is Student's t over seeds (over = 'seeds'); a model of one seed whose document table is given in
    `documents` has a bootstrap over its documents ('documents'), others none. Where no resampling moves the number a
    bootstrap says nothing: a share then has Wilson's interval, the others have none. item_left: a flip that comes with the
    zero vector counts as none. The optimum has no regret.
    """
    suffix, parts = "@left" if item_left else "", []
    for ranking in RANKINGS:
        for quantity, (_, measure, _) in QUANTITIES.items():
            chosen = (
                (every["statistic"] == f"{quantity}_{ranking}{suffix}")
                & (every["measure"] == measure)
                & (every["bin"] == "all")
            )
            part = every[chosen & every["value"].notna()]
            parts.append(over_seeds(part, "corpus", "encoder").assign(ranking=ranking, quantity=quantity))
    rows = pd.concat(parts, ignore_index=True)
    rows["over"] = np.where(rows["low"].notna(), "seeds", "")
    for model, table in (documents or {}).items():
        mine = rows[(rows["corpus"] == model[0]) & (rows["encoder"] == model[1]) & (rows["n_seeds"] == 1)]
        found = derived(table, item_left)
        for row in mine.itertuples():
            values = found[f"{row.quantity}_{row.ranking}"].to_numpy(float)
            interval = over_documents(values, row.quantity)
            rows.loc[row.Index, ["low", "high", "over"]] = [*interval, "documents" if np.isfinite(interval[0]) else ""]
    rows["counts"] = [counts(*model, weak) for model in zip(rows["corpus"], rows["encoder"], strict=True)]
    places = {encoder: i for i, encoder in enumerate(HIERARCHICAL)}
    rows = rows.sort_values("encoder", key=lambda names: names.map(places), kind="stable")
    return rows[
        ["corpus", "encoder", "ranking", "quantity", "mean", "low", "high", "n_seeds", "over", "counts"]
    ].reset_index(drop=True)


def over_documents(values: np.ndarray, quantity: str) -> tuple[float, float]:
    """95 % interval over documents: bootstrap; where that has no width, Wilson's for a share, else NaN."""
    from scipy.stats import binomtest

    values = values[np.isfinite(values)]
    low, high = bootstrap_interval(values, QUANTITIES[quantity][2]) if len(values) else (np.nan, np.nan)
    if low < high:
        return low, high
    if len(values) and quantity == "equals":
        interval = binomtest(int(values.sum()), len(values)).proportion_ci(method="wilson")
        return float(interval.low), float(interval.high)
    return np.nan, np.nan


def ranking_table(rows: pd.DataFrame, quantity: str, names: Mapping[str, str]) -> pd.DataFrame:
    """One quantity of `rankings` to show: a line per data set and model, a column per ranking; models that do not count have an asterisk.

    names: encoder -> name.
    """
    form, bounds = (
        (".2f", (0, np.inf)) if quantity == "regret" else (".3f" if quantity == "regret_fraction" else ".2f", (0, 1))
    )
    part, lines = rows[rows["quantity"] == quantity], []
    for (corpus, encoder), found in part.groupby(["corpus", "encoder"], sort=False):
        cells = {NAMES[row.ranking]: told(row.mean, row.low, row.high, form, bounds) for row in found.itertuples()}
        mark = "" if found["counts"].iloc[0] else " *"
        lines.append(
            {"data set": corpus, "model": names[encoder] + mark, **cells, "seeds": int(found["n_seeds"].max())}
        )
    there = [NAMES[ranking] for ranking in RANKINGS if (part["ranking"] == ranking).any()]
    return pd.DataFrame(lines, columns=["data set", "model", *there, "seeds"])


def panels(
    rows: pd.DataFrame,
    names: Mapping[str, str],
    quantities: tuple[str, ...] = ("fraction", "equals", "regret_fraction"),
) -> pd.DataFrame:
    """Quantities of `rankings` as rows of `figures.interval_panels`: a panel a quantity, a line a model, a series a ranking."""
    part = rows[rows["quantity"].isin(quantities)]
    part = part.sort_values(
        "quantity", key=lambda values: values.map({name: i for i, name in enumerate(quantities)}), kind="stable"
    )
    marks = np.where(part["counts"], "", " *")
    label = part["corpus"] + ", " + part["encoder"].map(names) + marks
    return part.assign(
        panel=part["quantity"].map(lambda name: QUANTITIES[name][0].replace(", ", ",\n")),
        label=label,
        series=part["ranking"],
    )


def sentence(rows: pd.DataFrame) -> str:
    """What `rankings` adds up to, in words: which ranking is closest to the optimum, and whether the paper's order holds.

    Over the models that count: with five seeds or more where there are such, else with fewer, which the sentence says.
    """
    told_seeds, mine = "", rows[rows["counts"] & (rows["ranking"] != "optimum")]
    if mine.empty:
        return "No model that counts is stored, so nothing is said of the rankings."
    if (mine["n_seeds"] >= HEADLINE_SEEDS).any():
        mine = mine[mine["n_seeds"] >= HEADLINE_SEEDS]
    else:
        told_seeds = f", none of {HEADLINE_SEEDS} seeds, so this decides nothing"
    wide = mine.pivot_table(index=["corpus", "encoder"], columns=["quantity", "ranking"], values="mean")
    beyond = wide["regret_fraction"].dropna()
    if beyond.empty:
        return "No ranking of a model that counts flips a decision, so nothing is said of the rankings."
    order = beyond.mean().sort_values().index.tolist()
    best = beyond.idxmin(axis=1).value_counts()
    wins = ", ".join(f"{NAMES[name]} on {best[name]}" for name in order if name in best)
    clauses = [
        f"{NAMES[name]} ({beyond[name].mean():.1%} of the items too many; the smallest set in {wide['equals'][name].mean():.0%} of documents)"
        for name in order
    ]
    paper = [name for name in order if name in PAPERS_ORDER]
    same = (
        "the order reported of the paper"
        if paper == list(PAPERS_ORDER)
        else "not the order reported of the paper, which is " + ", ".join(map(NAMES.get, PAPERS_ORDER))
    )
    return (
        f"Over {len(beyond)} model{'' if len(beyond) == 1 else 's'} that count{'s' if len(beyond) == 1 else ''}{told_seeds}, the rankings from the closest to the smallest flip set are: "
        f"{'; '.join(clauses)}. Closest on single models: {wins}. "
        f"Of the paper's four, {', '.join(map(NAMES.get, paper))}: {same}."
    )


# ---- the race of section 6 -------------------------------------------------------------------------------------------


def races(every: pd.DataFrame, weak: Collection[tuple[str, str]] = ()) -> pd.DataFrame:
    """Share of documents of several items where the gradient order flips strictly sooner than attention, beside the authors' 16.

    Columns corpus, encoder, mean, low, high, n_seeds, reported (NaN where there is none: HANnoenc, FLANnoenc, other data
    sets), counts. Models that were not rerun stay with the reported share alone.
    """
    chosen = (every["statistic"] == "gradient_first") & (every["measure"] == "mean") & (every["bin"] == "all")
    ours = over_seeds(every[chosen], "corpus", "encoder")
    theirs = reported("serrano_gradient_beats_attention", statistic="fraction")
    theirs = theirs.assign(encoder=theirs["model"].map({name.replace("_", ""): name for name in HIERARCHICAL}))
    theirs = theirs[["corpus", "encoder", "value"]].rename(columns={"value": "reported"})
    rows = ours.merge(theirs, on=["corpus", "encoder"], how="outer").fillna({"n_seeds": 0}).astype({"n_seeds": int})
    rows["counts"] = [counts(*model, weak) for model in zip(rows["corpus"], rows["encoder"], strict=True)]
    rows["counts"] &= rows["n_seeds"] > 0
    places = {encoder: i for i, encoder in enumerate(HIERARCHICAL)}
    return rows.sort_values(
        ["corpus", "encoder"], key=lambda names: names.map(places) if names.name == "encoder" else names
    ).reset_index(drop=True)


# ---- is attention better without contextualisation? ------------------------------------------------------------------


def gaps(every: pd.DataFrame) -> pd.DataFrame:
    """One row per trained run: corpus, unit ('HAN' or 'FLAN'), encoder, seed, dispersion, gap, relative, slope.

    gap: mean share of items that attention removes beyond the smallest flip set, documents that flip under attention.
    relative: gap divided by the same of a random order, which does not depend on how easily a model's decisions flip.
    dispersion: mean of dispersion_weighted. slope: of gap on dispersion over the run's documents.
    """
    wanted = {
        ("dispersion_weighted", "mean"): "dispersion", ("gap", "mean"): "gap", ("regret_fraction_random", "mean"): "by_random",
        ("slope_gap", "value"): "slope",
    }  # fmt: skip
    part = every[(every["bin"] == "all") & every["encoder"].isin(HIERARCHICAL)]
    part = part.assign(name=[wanted.get(pair) for pair in zip(part["statistic"], part["measure"], strict=True)]).dropna(
        subset="name"
    )
    runs = (
        part.pivot_table(index=["corpus", "encoder", "seed"], columns="name", values="value")
        .reindex(columns=list(wanted.values()))
        .reset_index()
    )
    runs["relative"] = runs["gap"] / runs["by_random"].where(runs["by_random"] > 0)
    runs["unit"] = runs["encoder"].str.split("_").str[0].str.upper()
    return runs[["corpus", "unit", "encoder", "seed", "dispersion", "gap", "relative", "slope"]].rename_axis(
        columns=None
    )


TESTS = {
    "gap": "gap without encoder minus with one",
    "relative": "the same, relative to a random order",
    "between": "slope of gap on dispersion, between models",
    "within": "slope of gap on dispersion, within documents of a model",
}
"""Tests of the hypothesis; negative values speak for it."""


def hypothesis(runs: pd.DataFrame, weak: Collection[tuple[str, str]] = ()) -> pd.DataFrame:
    """The paper's untested statement: attention is a better ranking where items are not contextualised.

    runs: `gaps`. One row per data set, unit (HAN or FLAN) and test of TESTS, each a number per seed and its Student t
    interval over seeds: the gap of the model without encoder minus the mean of the two with one; the same of `relative`;
    the least-squares slope of gap on dispersion over a seed's three models; the mean over them of the slope over
    documents. Only seeds of which all three models are stored. Columns corpus, unit, test, mean, low, high, n_seeds, p
    (two-sided), holm (corrected for all rows that are judged), verdict: 'supported' (interval below 0), 'contradicted' (above),
    'not decided', or why it is not judged: 'few seeds', 'weak model', 'generated'. An interval that excludes 0 while the corrected p
    does not is 'not decided'.
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
    rows.loc[rows["verdict"] == "", "verdict"] = np.select(
        [sure & (rows["high"] < 0), sure & (rows["low"] > 0)], ["supported", "contradicted"], "not decided"
    )[rows["verdict"] == ""]
    return rows


def hypothesis_verdict(rows: pd.DataFrame) -> str:
    """`hypothesis` in words: what each test says of each data set and unit, and what that comes to."""
    judged = rows[rows["verdict"].isin(["supported", "contradicted", "not decided"])]
    if judged.empty:
        reasons = "; ".join(
            f"{row.corpus} {row.unit}: {row.verdict}" for row in rows.drop_duplicates(["corpus", "unit"]).itertuples()
        )
        return f"Not decided: no data set has all three models with {HEADLINE_SEEDS} seeds that do their task" + (
            f" ({reasons})." if reasons else "."
        )
    lines = []
    for test, part in judged.groupby("test", sort=False):
        places = [f"{row.corpus} {row.unit} {told(row.mean, row.low, row.high, '.3f')}" for row in part.itertuples()]
        groups = pd.Series(places).groupby(part["verdict"].to_numpy(), sort=False)
        clauses = [f"{verdict} on {', '.join(some)}" for verdict, some in groups]
        lines.append(f"{TESTS[test]}: {'; '.join(clauses)}")
    found = {word: int((judged["verdict"] == word).sum()) for word in ("supported", "contradicted", "not decided")}
    summary = (
        "the statement holds" if found["supported"] == len(judged)
        else "the statement fails" if found["contradicted"] == len(judged)
        else "the statement depends on the model and the test" if found["supported"] and found["contradicted"]
        else "the statement is supported in part" if found["supported"]
        else "the statement is contradicted in part" if found["contradicted"]
        else "nothing is decided"
    )  # fmt: skip
    counted = f"{found['supported']} tests support it, {found['contradicted']} contradict it, {found['not decided']} do not decide, Holm-corrected for {len(judged)}"
    return f"{summary[0].upper()}{summary[1:]} ({counted}). {'. '.join(line[0].upper() + line[1:] for line in lines)}."
