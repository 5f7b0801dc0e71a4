"""What exactness shows of Serrano & Smith's rankings, and the race of section 6.

All take summaries (`pages.summaries`: corpus, encoder, seed, statistic, bin, measure, value) and the models
that enter no claim (`pages.weak`), and return tables or words; every word follows from the numbers.
"""

from collections.abc import Collection, Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from attn_book.reported import reported
from attn_book.serrano.intervals import over_a_sample
from attn_book.words import ENCODER_NAMES, told
from attn_core.corpora.catalogue import CATALOGUE
from attn_core.experiments.erasure import RANKINGS, derived
from attn_core.experiments.removal import blocks_of
from attn_core.index import HEADLINE_SEEDS, over_seeds, side
from attn_core.measures import INTERVAL_SEEDS
from attn_core.runs import HIERARCHICAL
from attn_core.traces import Traces

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
"""The paper's four rankings from few removals to many, as reported of it (specification, section 5, target 4)."""


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

    Columns corpus, encoder, ranking, quantity (a key of QUANTITIES), mean, low, high, n_seeds, over, counts. Documents
    of more than one item; fraction and regret: those that flip under the ranking; equals: those that flip at all. One
    further quantity, regret_common: regret_fraction over the documents that flip under every ranking. The interval is
    Student's t over seeds (over = 'seeds'); a model of too few for that has one over the documents of `documents`, all
    or a random sample of its first seed's ('documents', see `over_a_sample`), where there are. item_left: a flip that
    comes with the zero vector counts as none. The optimum has no regret.
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
    shared = on_common(every, item_left)
    for ranking in RANKINGS if len(shared) else ():
        if ranking != "optimum":
            part = (shared[ranking] - shared["optimum"]).dropna().rename("value").reset_index()
            parts.append(over_seeds(part, "corpus", "encoder").assign(ranking=ranking, quantity="regret_common"))
    rows = pd.concat(parts, ignore_index=True)
    rows["over"] = np.where(rows["low"].notna(), "seeds", "")
    for model, table in (documents or {}).items():
        mine = rows[(rows["corpus"] == model[0]) & (rows["encoder"] == model[1]) & (rows["n_seeds"] < INTERVAL_SEEDS)]
        mine = mine[mine["quantity"].isin(list(QUANTITIES))]
        found, share = derived(table, item_left), (table["n"] > 1).sum() / several_items(every, *model)
        for row in mine.itertuples():
            values = found[f"{row.quantity}_{row.ranking}"].to_numpy(float)
            interval = over_a_sample(values, row.mean, share, QUANTITIES[row.quantity][2], row.quantity == "equals")
            rows.loc[row.Index, ["low", "high", "over"]] = [*interval, "documents" if np.isfinite(interval[0]) else ""]
    rows["counts"] = [counts(*model, weak) for model in zip(rows["corpus"], rows["encoder"], strict=True)]
    places = {encoder: i for i, encoder in enumerate(HIERARCHICAL)}
    rows = rows.sort_values("encoder", key=lambda names: names.map(places), kind="stable")
    return rows[
        ["corpus", "encoder", "ranking", "quantity", "mean", "low", "high", "n_seeds", "over", "counts"]
    ].reset_index(drop=True)


def several_items(every: pd.DataFrame, corpus: str, encoder: str) -> int:
    """Documents of more than one item that the summaries of a model are of, first seed; 0 without a run."""
    part = every[(every["corpus"] == corpus) & (every["encoder"] == encoder) & (every["bin"] == "all")]
    part = part[(part["statistic"] == "fraction_attention") & (part["measure"] == "n")]
    return int(part["value"].iloc[0]) if len(part) else 0


def on_common(every: pd.DataFrame, item_left: bool = False) -> pd.DataFrame:
    """Mean fraction removed over the documents that flip under every ranking: rows corpus, encoder, seed; a column per
    ranking. Their differences are differences on the same documents."""
    names = {f"fraction_{ranking}{'@left' * item_left}": ranking for ranking in RANKINGS}
    part = every[every["statistic"].isin(list(names)) & (every["measure"] == "mean") & (every["bin"] == "common")]
    wide = part.pivot_table(index=["corpus", "encoder", "seed"], columns="statistic", values="value", sort=False)
    return wide.rename(columns=names).reindex(columns=list(names.values()))


def steps(every: pd.DataFrame, weak: Collection[tuple[str, str]] = (), item_left: bool = False) -> pd.DataFrame:
    """The paper's order step by step: fraction removed under the later ranking minus the earlier, on common documents.

    Columns corpus, encoder, earlier, later, mean, low, high, n_seeds (differences within seeds, Student's t), counts.
    """
    shared, parts = on_common(every, item_left), []
    for earlier, later in pairwise(PAPERS_ORDER):
        part = (shared[later] - shared[earlier]).dropna().rename("value").reset_index()
        parts.append(over_seeds(part, "corpus", "encoder").assign(earlier=earlier, later=later))
    rows = pd.concat(parts, ignore_index=True)
    rows["counts"] = [counts(*model, weak) for model in zip(rows["corpus"], rows["encoder"], strict=True)]
    return rows


def nearer(every: pd.DataFrame) -> pd.DataFrame:
    """(random - attention) - (attention - gradient), fractions removed on common documents: above 0 where attention is
    nearer to the gradient order than to random. Columns corpus, encoder, mean, low, high, n_seeds."""
    shared = on_common(every)
    part = (shared["random"] + shared["gradient"] - 2 * shared["attention"]).dropna().rename("value").reset_index()
    return over_seeds(part, "corpus", "encoder")


def after_centring(traces: Traces) -> np.ndarray:
    """sum |alpha (g - mean g)| / sum |alpha g| (D,), mean g = sum alpha g: what of gradient times attention is left.

    The first is the numerator of an erasure's first-order effect; 0 where all items are alike. NaN for documents of one
    item, or with no gradient.
    """
    share = np.full(len(traces), np.nan)
    for rows, part in blocks_of(traces):
        product = part.attention * part.gradient
        left = np.abs(product - part.attention * product.sum(axis=1, keepdims=True)).sum(axis=1)
        whole = np.abs(product).sum(axis=1)
        share[rows] = np.where(whole > 0, left / np.where(whole > 0, whole, 1.0), np.nan)
    return np.where(traces.lengths > 1, share, np.nan)


def ranking_table(rows: pd.DataFrame, quantity: str, names: Mapping[str, str]) -> pd.DataFrame:
    """One quantity of `rankings` to show: a line per data set and model, a column per ranking.

    Models that do not count have an asterisk, seeds whose intervals are over documents a dagger. names: encoder ->
    name.
    """
    form, bounds = (
        (".2f", (0, np.inf)) if quantity == "regret" else (".3f" if quantity == "regret_fraction" else ".2f", (0, 1))
    )
    part, lines = rows[rows["quantity"] == quantity], []
    for (corpus, encoder), found in part.groupby(["corpus", "encoder"], sort=False):
        shown = [told(row.mean, row.low, row.high, form, bounds) for row in found.itertuples()]
        cells = {
            NAMES[name]: cell.removesuffix(" (no interval)") for name, cell in zip(found["ranking"], shown, strict=True)
        }
        mark = "" if found["counts"].iloc[0] else " *"
        seeds = f"{int(found['n_seeds'].max())}" + " †" * int((found["over"] == "documents").any())
        lines.append({"data set": corpus, "model": names[encoder] + mark, **cells, "seeds": seeds})
    there = [NAMES[ranking] for ranking in RANKINGS if (part["ranking"] == ranking).any()]
    return pd.DataFrame(lines, columns=["data set", "model", "seeds", *there])


def panels(
    rows: pd.DataFrame,
    names: Mapping[str, str],
    quantities: tuple[str, ...] = ("fraction", "equals", "regret_fraction"),
) -> pd.DataFrame:
    """`rankings` as rows of `figures.interval_panels`: a panel a quantity, a line a model, a series a ranking."""
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


def closest(rows: pd.DataFrame) -> list[str]:
    """Which rankings of `rankings` come closest to the optimum, on common documents, for a list: an item a unit.

    Over the models that count: with five seeds or more where there are such, else with fewer, which the words say.
    """
    told_seeds, mine = "", rows[rows["counts"] & (rows["ranking"] != "optimum")]
    if mine.empty:
        return ["No model that counts is stored, so nothing is said of the rankings."]
    if (mine["n_seeds"] >= HEADLINE_SEEDS).any():
        mine = mine[mine["n_seeds"] >= HEADLINE_SEEDS]
    else:
        told_seeds = f", none of them with {HEADLINE_SEEDS} seeds, so this decides nothing"
    wide = mine.pivot_table(index=["corpus", "encoder"], columns=["quantity", "ranking"], values="mean")
    if "regret_common" not in wide or wide["regret_common"].dropna().empty:
        return ["No document of a model that counts flips under every ranking, so nothing is said of the rankings."]
    beyond, units = wide["regret_common"].dropna(), []
    for unit, items in (("han", "Sentences"), ("flan", "Words")):
        part = beyond[beyond.index.get_level_values("encoder").str.startswith(unit)]
        if part.empty:
            continue
        order = part.mean().sort_values().index.tolist()
        best = part.idxmin(axis=1).value_counts()
        wins = ", ".join(f"{NAMES[name]} on {best[name]}" for name in order if name in best)
        equals = wide["equals"].loc[part.index]
        found = [
            f"{NAMES[name]} {part[name].mean():.1%} ({100 * part[name].min():.1f} to {100 * part[name].max():.1f}); "
            f"the smallest set in {equals[name].mean():.0%}"
            for name in order
        ]
        models = sorted(part.index, key=lambda model: (model[0], HIERARCHICAL.index(model[1])))
        names = ", ".join(f"{corpus} {ENCODER_NAMES[encoder]}" for corpus, encoder in models)
        lines = nested([*found, f"fewest too many, of {len(part)} model{'s' * (len(part) != 1)}: {wins}"])
        units.append(
            f"{items} too many, in brackets the least and the most of a model, mean over {names}{told_seeds}:{lines}"
        )
    return units


def nested(texts: list[str]) -> str:
    """Texts as a list under an item of a list."""
    return "".join(f"\n  - {text}" for text in texts)


def paper_order(rows: pd.DataFrame) -> list[str]:
    """What `steps` says of the paper's order, for a list: models that count, of five or more seeds, decide a step."""
    order = ", ".join(map(NAMES.get, PAPERS_ORDER))
    judged = rows[rows["counts"] & (rows["n_seeds"] >= HEADLINE_SEEDS)]
    if judged.empty:
        return [
            f"Whether the order is the one reported of the paper ({order}) is not decided, for no model that counts "
            f"has {HEADLINE_SEEDS} seeds; {NAMES['gradient']} and {NAMES['product']} in particular are not told apart."
        ]
    clauses, all_clear = [], True
    for (earlier, later), part in judged.groupby(["earlier", "later"], sort=False):
        as_told, reverse = (int((side(part, 0) == name).sum()) for name in ("above", "below"))
        all_clear &= as_told == len(part)
        first, second, n = NAMES[earlier], NAMES[later], len(part)
        clauses.append(
            f"{first} clearly needs less than {second} on {as_told} of {n}, clearly more on {reverse or 'none'}"
            if as_told + reverse
            else f"{first} and {second} are not told apart on any of {n}"
        )
    if all_clear:
        return [
            f"Every step of the order reported of the paper ({order}) is clear on every model that counts, of "
            f"{HEADLINE_SEEDS} or more seeds ({judged.groupby(['corpus', 'encoder']).ngroups})."
        ]
    return [
        f"The order reported of the paper ({order}), step by step on models of {HEADLINE_SEEDS} or more seeds:"
        f"{nested(clauses)}"
    ]


# ---- the race of section 6 -------------------------------------------------------------------------------------------


def races(every: pd.DataFrame, weak: Collection[tuple[str, str]] = ()) -> pd.DataFrame:
    """Share of documents of several items that gradients flip strictly sooner than attention, beside the authors' 16.

    Columns corpus, encoder, mean, low, high, n_seeds, reported (NaN where there is none: HANnoenc, FLANnoenc, other
    data sets), counts. Models that were not rerun stay with the reported share alone.
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
