"""Serrano and Smith 2019 on traces: what erasing attention weights does to the decision.

single.py erases one item, removal.py items in the order of a ranking; here are `dispersion` and the tables the archive
keeps.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from attn_core.experiments.removal import NEVER, RANKINGS, removals
from attn_core.experiments.single import CHOICES, RULES, single, two_by_two
from attn_core.experiments.tables import MIDDLE, described, joined, table
from attn_core.traces import Traces, centred, totals
from attn_lab.more.single_state import MEASURES, single_state_agreement

NEAR = 0.05
"""A JS difference called near 0 (7 % of ln 2)."""

SMALL_GAP = 0.4
"""The weight gap up to which the paper is reported to find most differences near 0."""


def dispersion(traces: Traces) -> pd.DataFrame:
    """How different a document's items are to the decoder, between 0 (all alike) and 1, one row each.

    Not in Serrano and Smith 2019; specification, section 8.3. Erasing item t changes the logits by exactly
    -alpha_t (c_t - s_t), s_t the weighted mean of the others' contributions: where an encoder makes all contributions
    alike, even a large weight does nothing. dispersion_weighted = sum_t a_t |c_t - m|^2 / sum_t a_t |c_t|^2
    = 1 - |m|^2 / sum_t a_t |c_t|^2 with a = attention and m = sum_t a_t c_t; dispersion = the same with a = 1/n. c is
    `centred`. NaN where n = 1 or all contributions are 0.
    """
    c = centred(traces)
    squares = (c**2).sum(axis=1)
    weights = {"dispersion_weighted": traces.attention, "dispersion": 1 / traces.lengths[traces.owner]}
    columns = {}
    for name, a in weights.items():
        m = totals(a * c.T, traces.offsets)  # (K, D)
        size = totals(a * squares, traces.offsets)
        size = np.where((traces.lengths > 1) & (size > 0), size, np.nan)
        columns[name] = 1 - (m**2).sum(axis=0) / size
    return table(traces, **columns)


def document_table(traces: Traces, seed: int = 0) -> pd.DataFrame:
    """Every statistic of this paper at default parameters, one row per document.

    Columns: doc_id, label, predicted, n (items), p, max_attention; those of `single`, of `removals` for RANKINGS, of
    `dispersion` and of `single_state_agreement`. Fractions, regrets and gaps are left to `derived`.
    """
    return joined(
        table(traces, p=traces.p, max_attention=traces.max_attention),
        single(traces, seed),
        removals(traces, seed),
        dispersion(traces),
        single_state_agreement(traces),
    )


def derived(documents: pd.DataFrame, item_left: bool = False) -> pd.DataFrame:
    """A document table with what follows from its columns, for each ranking r; NaN for documents of one item.

    fraction_<r> = removed / n, NaN where the decision never flips. regret_fraction_<r> = items removed beyond the
    smallest flip set / n, NaN where r never flips; equals_<r> = 1 where r removes as few, 0 where it removes more or
    never flips, NaN where no set flips. common = whether every ranking flips. gradient_first = the gradient order flips
    with strictly fewer removals than the attention order (the side that never flips loses).
    item_left: whether flips that come with the zero vector count as none (the paper counts them, as fraction 1).
    """
    n = documents["n"]
    removed = {}  # by ranking; NaN where it never flips
    for name in RANKINGS:
        flips = (documents[f"removed_{name}"] != NEVER) & (n > 1)
        if item_left:
            flips &= ~documents[f"zero_{name}"].astype(bool)
        removed[name] = documents[f"removed_{name}"].astype(float).where(flips)

    columns = {}
    fewest = removed["optimum"]
    for name, number in removed.items():
        columns[f"fraction_{name}"] = number / n
        columns[f"mass_{name}"] = documents[f"mass_{name}"].where(number.notna())
        columns[f"regret_fraction_{name}"] = (number - fewest) / n
        columns[f"equals_{name}"] = (number == fewest).astype(float).where(fewest.notna())
    columns["common"] = pd.DataFrame(removed).notna().all(axis=1)

    of_gradient = removed["gradient"].fillna(np.inf)  # inf: never
    of_attention = removed["attention"].fillna(np.inf)
    sooner = of_gradient < of_attention
    columns["gradient_first"] = sooner.astype(float).where(n > 1)
    return documents.assign(**columns)


def summary_table(documents: pd.DataFrame) -> pd.DataFrame:
    """A document table in numbers, tidy and small enough to keep for every seed: what tables and figures need of a run.

    Columns as `experiments.summary_table`: statistic, predicted ('all'), bin ('all' unless said), measure, value. All
    but `single_item` (n: documents of one item) is over documents of more than one item:
    fraction_<r>, mass_<r>: n; n_flipped; of those mean, quartiles and whiskers, as Figures 5 and 6 draw them; bin
    'common': of the documents that flip under every ranking. regret_fraction_<r>, equals_<r>, gradient_first: n, mean,
    quartiles. All of these also with the suffix rule=left, where flips with the zero vector count as none.
    delta_js rule=<rule>: n, mean, quartiles, share_negative; and what the paper is reported to say of Figures 3 and 4,
    where defined: spearman of delta_js with delta_alpha; near_0, share of |delta_js| below NEAR among weight gaps up to
    SMALL_GAP; negative_near_0, share above -NEAR among negative delta_js.
    flips_<choice>@<rule>: see `two_by_two`. dispersion, dispersion_weighted and those of `single_state_agreement`: n,
    mean, quartiles.
    """
    several = documents[documents["n"] > 1]
    alone: dict[str, float] = {"n": len(documents) - len(several)}
    rows = [
        (statistic, "all", group, measure, float(value))
        for statistic, group, measures in [("single_item", "all", alone), *summaries(several)]
        for measure, value in measures.items()
    ]
    return pd.DataFrame(rows, columns=["statistic", "predicted", "bin", "measure", "value"])


def summaries(documents: pd.DataFrame) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Statistic, bin and its measures, of documents of several items, see `summary_table`."""
    for suffix, item_left in (("", False), (" rule=left", True)):
        table = derived(documents, item_left)
        for group, members in (("all", table), ("common", table[table["common"]])):
            for name in (f"{kind}_{ranking}" for ranking in RANKINGS for kind in ("fraction", "mass")):
                counts = {"n": len(members), "n_flipped": members[name].count()}
                box = described(members[name], *MIDDLE, "whisker_low", "whisker_high")
                yield name + suffix, group, counts | box
        beyond = [f"{kind}_{ranking}" for ranking in RANKINGS[:-1] for kind in ("regret_fraction", "equals")]
        for name in (*beyond, "gradient_first"):
            yield name + suffix, "all", middle(table[name])
    for rule in RULES:
        gaps = documents[f"delta_alpha rule={rule}"]
        yield f"delta_js rule={rule}", "all", beside_gaps(documents[f"delta_js rule={rule}"], gaps)
        for choice in CHOICES:
            yield f"flips_{choice} rule={rule}", "all", two_by_two(documents, choice, rule)
    for name in ("dispersion", "dispersion_weighted", *MEASURES):
        yield name, "all", middle(documents[name])


def middle(values: pd.Series) -> dict[str, float]:
    """n of the values that are not NaN, their mean and quartiles."""
    return {"n": values.count()} | described(values, *MIDDLE)


def beside_gaps(js: pd.Series, alpha: pd.Series) -> dict[str, float]:
    """Measures of the JS differences of `single` beside the weight gaps, see `summary_table`."""
    shares = {
        "share_negative": js < 0,
        "near_0": js[alpha <= SMALL_GAP].abs() < NEAR,
        "negative_near_0": js[js < 0] > -NEAR,
    }
    measures = middle(js)
    for name, values in shares.items():
        if len(values):
            measures[name] = values.mean()
    if js.nunique() > 1 and alpha.nunique() > 1:
        measures["spearman"] = np.corrcoef(js.rank(), alpha.rank())[0, 1]
    return measures
