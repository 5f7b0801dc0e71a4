"""Serrano and Smith 2019 on traces: what erasing attention weights does to the decision.

single.py erases one item, removal.py items in the order of a ranking; here are `dispersion` and the tables the archive
keeps.
"""

import numpy as np
import pandas as pd

from attn_core.experiments.echo import MEASURES, echo
from attn_core.experiments.removal import NEVER, RANKINGS, removals
from attn_core.experiments.single import CHOICES, RULES, single, two_by_two
from attn_core.experiments.tables import MIDDLE, described, joined, table
from attn_core.traces import Traces, centred, totals

NEAR, SMALL_GAP = 0.05, 0.4
"""A JS difference called near 0 (7 % of ln 2), and the weight gap up to which the paper is reported to find most so."""


def dispersion(traces: Traces) -> pd.DataFrame:
    """How different a document's items are to the decoder, between 0 (all alike) and 1, one row each.

    Not in Serrano and Smith 2019; specification, section 8.3. Erasing item t changes the logits by exactly
    -alpha_t (c_t - s_t), s_t the weighted mean of the others' contributions: where an encoder makes all contributions
    alike, even a large weight does nothing. dispersion_weighted = sum_t a_t |c_t - m|^2 / sum_t a_t |c_t|^2
    = 1 - |m|^2 / sum_t a_t |c_t|^2 with a = attention and m = sum_t a_t c_t; dispersion = the same with a = 1/n. c is
    `centred`. NaN where n = 1 or all contributions are 0.
    """
    value, columns = centred(traces), {}
    squares = (value**2).sum(axis=1)
    for name, weight in (("dispersion_weighted", traces.attention), ("dispersion", 1 / traces.lengths[traces.owner])):
        mean = totals(weight * value.T, traces.offsets)  # (K, D)
        size = totals(weight * squares, traces.offsets)
        defined = (traces.lengths > 1) & (size > 0)
        columns[name] = np.where(defined, 1 - (mean**2).sum(axis=0) / np.where(defined, size, 1.0), np.nan)
    return table(traces, **columns)


def document_table(traces: Traces, seed: int = 0) -> pd.DataFrame:
    """Every statistic of this paper at default parameters, one row per document.

    Columns: doc_id, label, predicted, n (items), p, max_attention; those of `single`, of `removals` for RANKINGS, of
    `dispersion` and of `echo`. Fractions, regrets and gaps are left to `derived`.
    """
    own = table(traces, p=traces.p, max_attention=traces.max_attention)
    return joined(own, single(traces, seed), removals(traces, seed), dispersion(traces), echo(traces))


def derived(documents: pd.DataFrame, item_left: bool = False) -> pd.DataFrame:
    """A document table with what follows from its columns, for each ranking r; NaN for documents of one item.

    fraction_<r> = removed / n, NaN where the decision never flips. regret_fraction_<r> = items removed beyond the
    smallest flip set / n, NaN where r never flips; equals_<r> = 1 where r removes as few, 0 where it removes more or
    never flips, NaN where no set flips. common = whether every ranking flips. gradient_first = the gradient order flips
    with strictly fewer removals than the attention order (the side that never flips loses).
    item_left: whether flips that come with the zero vector count as none (the paper counts them, as fraction 1).
    """
    n, gone = documents["n"], {}
    for name in RANKINGS:
        flips = (documents[f"removed_{name}"] != NEVER) & (n > 1)
        if item_left:
            flips &= ~documents[f"zero_{name}"].astype(bool)
        gone[name] = documents[f"removed_{name}"].astype(float).where(flips)
    columns, fewest = {}, gone["optimum"]
    for name, removed in gone.items():
        columns[f"fraction_{name}"] = removed / n
        columns[f"mass_{name}"] = documents[f"mass_{name}"].where(removed.notna())
        columns[f"regret_fraction_{name}"] = (removed - fewest) / n
        columns[f"equals_{name}"] = (removed == fewest).astype(float).where(fewest.notna())
    columns["common"] = pd.DataFrame(gone).notna().all(axis=1)
    first = gone["gradient"].fillna(np.inf) < gone["attention"].fillna(np.inf)
    return documents.assign(**columns, gradient_first=first.astype(float).where(n > 1))


def summary_table(documents: pd.DataFrame) -> pd.DataFrame:
    """A document table in numbers, tidy and small enough to keep for every seed: what tables and figures need of a run.

    Columns as `experiments.summary_table`: statistic, predicted ('all'), bin ('all' unless said), measure, value. All
    but `single_item` (n: documents of one item) is over documents of more than one item:
    fraction_<r>, mass_<r>: n; n_flipped; of those mean, quartiles and whiskers, as Figures 5 and 6 draw them; bin
    'common': of the documents that flip under every ranking. regret_fraction_<r>, equals_<r>, gradient_first: n, mean,
    quartiles. All of these also with the suffix @left, where flips with the zero vector count as none.
    delta_js@<rule>: n, mean, quartiles, share_negative; and what the paper is reported to say of Figures 3 and 4, where
    defined: spearman of delta_js with delta_alpha; near_0, share of |delta_js| below NEAR among weight gaps up to
    SMALL_GAP; negative_near_0, share above -NEAR among negative delta_js.
    flips_<choice>@<rule>: see `two_by_two`. dispersion, dispersion_weighted and those of `echo`: n, mean, quartiles.
    """
    several = documents[documents["n"] > 1]
    found = {("single_item", "all"): {"n": len(documents) - len(several)}}
    further = [f"{kind}_{name}" for name in RANKINGS[:-1] for kind in ("regret_fraction", "equals")]
    for suffix, item_left in (("", False), ("@left", True)):
        flips = derived(several, item_left)
        for group, part in (("all", flips), ("common", flips[flips["common"]])):
            for name in (f"{kind}_{name}" for name in RANKINGS for kind in ("fraction", "mass")):
                counts = {"n": len(part), "n_flipped": part[name].count()}
                found[name + suffix, group] = counts | described(part[name], *MIDDLE, "whisker_low", "whisker_high")
        found |= {(name + suffix, "all"): middle(flips[name]) for name in (*further, "gradient_first")}
    for rule in RULES:
        found[f"delta_js@{rule}", "all"] = beside_gaps(several[f"delta_js@{rule}"], several[f"delta_alpha@{rule}"])
        found |= {(f"flips_{choice}@{rule}", "all"): two_by_two(several, choice, rule) for choice in CHOICES}
    found |= {(name, "all"): middle(several[name]) for name in ("dispersion", "dispersion_weighted", *MEASURES)}
    rows = [(name, "all", group, *pair) for (name, group), measures in found.items() for pair in measures.items()]
    return pd.DataFrame(rows, columns=["statistic", "predicted", "bin", "measure", "value"]).astype({"value": float})


def middle(values: pd.Series) -> dict[str, float]:
    """n of the known values, their mean and quartiles."""
    return {"n": values.count()} | described(values, *MIDDLE)


def beside_gaps(js: pd.Series, alpha: pd.Series) -> dict[str, float]:
    """Measures of the JS differences of `single` beside the weight gaps, see `summary_table`."""
    shares = {"share_negative": js < 0, "near_0": js[alpha <= SMALL_GAP].abs() < NEAR,
              "negative_near_0": js[js < 0] > -NEAR}  # fmt: skip
    found = middle(js) | {name: values.mean() for name, values in shares.items() if len(values)}
    if js.nunique() > 1 and alpha.nunique() > 1:
        found["spearman"] = np.corrcoef(js.rank(), alpha.rank())[0, 1]
    return found
