"""Serrano and Smith 2019 on traces: what erasing attention weights does to the decision.

single.py erases one item, removal.py items in the order of a ranking, flips.py finds the smallest set; here are
`dispersion` and the tables the archive keeps.
"""

import numpy as np
import pandas as pd

from attn_core.experiments.echo import MEASURES, echo
from attn_core.experiments.removal import NEVER, RANKINGS, as_classes, curve, removals
from attn_core.experiments.single import CHOICES, RULES, single, two_by_two
from attn_core.experiments.tables import identity, table
from attn_core.traces import Traces, totals

__all__ = [
    "CHOICES", "NEVER", "RANKINGS", "RULES", "curve", "derived", "dispersion", "document_table", "removals",
    "single", "summary_table", "two_by_two",
]  # fmt: skip

QUARTILES = {"q25": 0.25, "median": 0.5, "q75": 0.75}

NEAR, SMALL_GAP = 0.05, 0.4
"""A JS difference called near 0 (7 % of ln 2), and the weight gap up to which the paper is reported to find most so."""


def dispersion(traces: Traces) -> pd.DataFrame:
    """How different a document's items are to the decoder, between 0 (all alike) and 1, one row each.

    Not in Serrano and Smith 2019; specification, section 8.3. Erasing item t changes the logits by exactly
    -alpha_t (c_t - s_t), s_t the weighted mean of the others' contributions: where an encoder makes all contributions
    alike, even a large weight does nothing.

    Columns dispersion_weighted = sum_t a_t |c_t - m|^2 / sum_t a_t |c_t|^2 = 1 - |m|^2 / sum_t a_t |c_t|^2 with
    a = attention and m = sum_t a_t c_t; dispersion = the same with a = 1/n. Contributions are centred over the classes
    first, since a constant added to all logits changes no output; the scale of the decoder cancels. NaN where n = 1 or
    all contributions are 0.
    """
    as_classes(traces)
    value, columns = traces.contribution.astype(np.float64), {}
    if traces.classes > 1:
        value -= value.mean(axis=1, keepdims=True)
    squares = (value**2).sum(axis=1)
    for name, weight in (("dispersion_weighted", traces.attention), ("dispersion", 1 / traces.lengths[traces.owner])):
        mean = totals(weight * value.T, traces.offsets)  # (K, D)
        size = totals(weight * squares, traces.offsets)
        defined = (traces.lengths > 1) & (size > 0)
        columns[name] = np.where(defined, 1 - (mean**2).sum(axis=0) / np.where(defined, size, 1.0), np.nan)
    return table(traces, **columns)


def document_table(traces: Traces, seed: int = 0) -> pd.DataFrame:
    """Every statistic of this paper at default parameters, one row per document.

    Columns: doc_id, label, predicted, n (items), p, max_attention; those of `single`; those of `removals` for RANKINGS;
    those of `dispersion`; those of `echo`. Fractions, regrets and gaps follow from these and are left to `derived`.
    """
    parts = [single(traces, seed), removals(traces, seed), dispersion(traces), echo(traces)]
    parts = [part.drop(columns=list(identity(traces)), errors="ignore") for part in parts]
    documents = pd.concat([pd.DataFrame(identity(traces)), *parts], axis=1)
    documents.insert(4, "p", traces.p)
    documents.insert(5, "max_attention", traces.max_attention)
    return documents


def derived(documents: pd.DataFrame, item_left: bool = False) -> pd.DataFrame:
    """A document table with what follows from its columns, for each ranking r; NaN for documents of one item.

    fraction_<r> = removed / n, NaN where the decision never flips. regret_fraction_<r> = items removed beyond the
    smallest flip set / n, NaN where r never flips; equals_<r> = 1 where r removes as few, 0 where it removes more or
    never flips, NaN where no set flips. common = whether every ranking flips. gradient_first = the gradient order flips
    with strictly fewer removals than the attention order (the side that never flips loses).
    item_left: whether flips that come with the zero vector count as none (the paper counts them, as fraction 1).
    """
    several = (documents["n"] > 1).to_numpy()
    n, gone = documents["n"].to_numpy(np.float64), {}
    for name in RANKINGS:
        never = (documents[f"removed_{name}"] == NEVER).to_numpy() | ~several
        if item_left:
            never |= documents[f"zero_{name}"].to_numpy(bool)
        gone[name] = np.where(never, np.nan, documents[f"removed_{name}"].to_numpy(np.float64))
    columns = {}
    for name, removed in gone.items():
        columns[f"fraction_{name}"] = removed / n
        columns[f"mass_{name}"] = np.where(np.isnan(removed), np.nan, documents[f"mass_{name}"])
        if name != "optimum":
            columns[f"regret_fraction_{name}"] = (removed - gone["optimum"]) / n
            columns[f"equals_{name}"] = np.where(np.isnan(gone["optimum"]), np.nan, removed == gone["optimum"])
    columns["common"] = ~np.isnan(list(gone.values())).any(axis=0)
    first, second = (np.where(np.isnan(gone[name]), np.inf, gone[name]) for name in ("gradient", "attention"))
    columns["gradient_first"] = np.where(several, first < second, np.nan)
    return documents.assign(**columns)


def summary_table(documents: pd.DataFrame) -> pd.DataFrame:
    """A document table in numbers, tidy and small enough to keep for every seed: what tables and figures need of a run.

    Columns as `experiments.summary_table`: statistic, predicted and bin ('all' unless said), measure, value. All but
    `single_item` (n: documents of one item) is over documents of more than one item. Statistics and measures:
    fraction_<r>, mass_<r>, with the suffix @left where flips with the zero vector count as none: n; n_flipped; of those
    mean, q25, median, q75, whisker_low, whisker_high (most extreme value within 1.5 interquartile ranges of the box).
    bin 'common': the documents that flip under every ranking.
    regret_fraction_<r>, equals_<r>, gradient_first, likewise with and without @left: n, mean, quartiles.
    delta_js@<rule>: n, mean, quartiles, share_negative and the measures of `nearness`.
    flips_<choice>@<rule>: both, only_top, only_random, neither, percentages as `two_by_two`; n.
    dispersion, dispersion_weighted and the measures of `echo`: n, mean, quartiles.
    """
    rows: list[tuple] = [("single_item", "all", "n", float((documents["n"] == 1).sum()))]
    documents = documents[documents["n"] > 1]
    for suffix, item_left in (("", False), ("@left", True)):
        rows += removal_rows(derived(documents, item_left), suffix)
    for rule in RULES:
        rows += single_rows(documents, rule)
    for name in ("dispersion", "dispersion_weighted", *MEASURES):
        rows += [(name, "all", *pair) for pair in described(documents[name])]
    found = pd.DataFrame(rows, columns=["statistic", "bin", "measure", "value"])
    found.insert(1, "predicted", "all")
    return found


def described(values: pd.Series | np.ndarray) -> list[tuple[str, float]]:
    """(measure, value): n, mean and quartiles of the known values; of none only n."""
    known = np.asarray(values, np.float64)
    known = known[~np.isnan(known)]
    if not len(known):
        return [("n", 0.0)]
    quartiles = zip(QUARTILES, np.quantile(known, list(QUARTILES.values())).tolist(), strict=True)
    return [("n", float(len(known))), ("mean", float(known.mean())), *quartiles]


def box(values: np.ndarray) -> dict[str, float]:
    """q25, median, q75, whisker_low, whisker_high of known values, as Figures 5 and 6 draw them."""
    low, middle, high = np.quantile(values, list(QUARTILES.values()))
    reach = 1.5 * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    ends = {"whisker_low": min(inside.min(), low), "whisker_high": max(inside.max(), high)}
    return {"q25": low, "median": middle, "q75": high} | ends


def removal_rows(table: pd.DataFrame, suffix: str) -> list[tuple]:
    """(statistic, bin, measure, value) of the multi-weight tests; table: `derived` of documents of several items."""
    rows = []
    for group, part in (("all", table), ("common", table[table["common"]])):
        for name in RANKINGS:
            for kind in ("fraction", "mass"):
                values = part[f"{kind}_{name}"].dropna().to_numpy()
                found = {"n": float(len(part)), "n_flipped": float(len(values))}
                if len(values):
                    found |= {"mean": values.mean()} | box(values)
                rows += [(f"{kind}_{name}{suffix}", group, *pair) for pair in found.items()]
    further = [f"{kind}_{name}" for name in RANKINGS[:-1] for kind in ("regret_fraction", "equals")]
    for name in (*further, "gradient_first"):
        rows += [(name + suffix, "all", *pair) for pair in described(table[name])]
    return rows


def single_rows(documents: pd.DataFrame, rule: str) -> list[tuple]:
    """(statistic, bin, measure, value) of the single-weight tests under one rule for r; documents of several items."""
    js, alpha = (documents[f"delta_{name}@{rule}"].to_numpy() for name in ("js", "alpha"))
    found = described(js)
    if len(js):
        found += [("share_negative", float((js < 0).mean())), *nearness(js, alpha).items()]
    rows = [(f"delta_js@{rule}", "all", *pair) for pair in found]
    for choice in CHOICES:
        cells = two_by_two(documents, choice, rule)
        rows += [(f"flips_{choice}@{rule}", "all", name, float(value)) for name, value in cells.items()]
    return rows


def nearness(js: np.ndarray, alpha: np.ndarray) -> dict[str, float]:
    """What the paper is reported to say of Figures 3 and 4 in words, as numbers; undefined ones are left out.

    spearman: of delta_js with delta_alpha. near_0: share of |delta_js| below NEAR among weight gaps up to SMALL_GAP.
    negative_near_0: share above -NEAR among negative delta_js.
    """
    from scipy.stats import rankdata

    small, negative = np.abs(js[alpha <= SMALL_GAP]), js[js < 0]
    found = {"near_0": small < NEAR, "negative_near_0": negative > -NEAR}
    measures = {name: float(values.mean()) for name, values in found.items() if len(values)}
    if np.ptp(js) > 0 and np.ptp(alpha) > 0:
        measures["spearman"] = float(np.corrcoef(rankdata(js), rankdata(alpha))[0, 1])
    return measures
