"""The numbers of `study` and `check`: each text's under each seed, their means, and intervals over texts and seeds."""

from collections.abc import Iterable
from functools import reduce

import numpy as np
import pandas as pd
from numpy import ndarray

from attn_core.experiments.optimum import exact
from attn_core.experiments.permutation import permutation
from attn_core.experiments.removal import removals
from attn_core.experiments.single import permuted_weights
from attn_core.measures import crossed_interval, jsd_ragged, seed_interval, without_nan
from attn_core.traces import Traces, has_one_logit
from attn_lab.more.compared import agreement
from attn_lab.more.erasure import derived
from attn_lab.more.tables import document_table

FEWEST = 50
"""Of fewer texts nothing is decided."""

TAIL = 0.025
TINY = 1e-9
CHANCE = ", by chance"
"""Behind the name of a column: the same of each text by chance, or of permuted weights, where that is known."""

SHARES = ("top word", "word list")
"""How the names of columns begin that hold hits, each of a known chance."""

MEANS = {
    "accuracy": "chance: that of the most frequent class",
    "balanced accuracy": "mean over the classes; chance: of one class alone",
    "attention-invariant": "share of texts whose decision no attention can change",
    "single-state agreement": "share of states that give the decision when all the attention is on them",
    "stays when permuted": "share of texts whose output moves by less than 0.1; chance: of permuted weights",
    "gain over uniform": "accuracy beyond that of models trained with uniform weights",
    "flips under uniform": "decision flip rate under uniform attention",
    "top word": "share of texts whose most attended word is the most important one, by deletion",
    "top word of gradients": "the same of the word of the largest gradient",
    "tau with gradients": "Kendall's tau of attention and gradients",
    "adversarial attention": "JSD of the optimal one within 0.05 of the output; chance: of permuted weights",
    "ceiling": "JSD of the farthest attention, whatever the output",
    "another seed": "JSD of the attention of another training",
    "erased by attention": "share of words erased, most attended first, until the decision flips; chance: random order",
    "erased by gradient": "the same by gradients",
    "erased by optimum": "the same of the minimal set",
}
"""Column -> what its number is."""


def per_text(own: list[Traces], flat: list[Traces]) -> pd.DataFrame:
    """One row a test text of one seed, of all its parts: doc_id, label, attention, and the columns of MEANS.

    flat: of the model with uniform weights."""
    table = pd.concat(map(of_model, own, flat)).sort_values("doc_id", ignore_index=True)
    share = table["label"].map(table["label"].value_counts(normalize=True))
    one_class = 1 / table["label"].nunique()
    table["balanced accuracy"] = table["accuracy"] * one_class / share
    table[f"balanced accuracy{CHANCE}"] = one_class
    table[f"accuracy{CHANCE}"] = 1.0 * (table["label"] == table["label"].mode()[0])
    return table


def of_model(traces: Traces, flat: Traces) -> pd.DataFrame:
    """The numbers of each text of one model; flat: the model with uniform weights."""
    n = np.where(traces.lengths > 1, traces.lengths, np.nan)
    tested = document_table(traces, epsilons=())
    right = traces.predicted == traces.label
    columns = {
        "doc_id": traces.doc_id,
        "label": traces.label,
        "attention": np.split(traces.attention, traces.offsets[1:-1]),
        "accuracy": 1.0 * right,
        "attention-invariant": tested["attention_invariant"],
        "single-state agreement": tested["single_state_agreement"],
        "gain over uniform": 1.0 * right - (flat.predicted == flat.label),
        "flips under uniform": tested["flips_under_uniform"],
        "tau with gradients": tested["tau_attention_gradient"],
        "ceiling": tested["ceiling"],
        f"gain over uniform{CHANCE}": 0.0,
        f"tau with gradients{CHANCE}": 0.0,
    }
    for weights, behind in ((traces, ""), (permuted_weights(traces), CHANCE)):
        columns[f"stays when permuted{behind}"] = permutation(weights)["median_change"] < 0.1
        if has_one_logit(traces):
            columns[f"adversarial attention{behind}"] = exact(weights, 0.05)["jsd_exact"]
    if traces.leave_one_out is not None and traces.gradient is not None:
        moved = np.abs(traces.leave_one_out)
        columns |= hits("top word", traces, traces.score, moved, n)
        columns |= hits("top word of gradients", traces, np.abs(traces.gradient), moved, n)
    erased = derived(removals(traces))
    for ranking in ("attention", "gradient", "optimum"):
        columns[f"erased by {ranking}"] = erased[f"fraction_{ranking}"]
        columns[f"erased by {ranking}{CHANCE}"] = erased["fraction_random"]
    return pd.DataFrame(columns)


def hits(
    name: str,
    traces: Traces,
    scores: ndarray,
    moved: ndarray,
    n: ndarray,
) -> dict[str, ndarray]:
    """A column: whether the word of the largest of scores (T,) is the one without which the output moves most; and what
    chance gives of n words, NaN for texts that do not count."""
    return {name: agreement(scores, moved, traces.offsets, 1) + 0 * n, f"{name}{CHANCE}": 1 / n}


def numbers(seeds: list[pd.DataFrame]) -> pd.DataFrame:
    """The table of a study from the tables of its seeds, which are of the same texts: columns number, those of
    `summary`, seeds. Where the model is not shown to beat chance, nothing else has a verdict."""
    offsets = np.cumsum([0, *map(len, seeds[0]["attention"])])
    weights = np.array([np.concatenate(list(table["attention"])) for table in seeds])  # (S, T)
    apart = jsd_ragged(weights, np.roll(weights, -1, axis=0), offsets)  # each seed's to the next one's
    table = summary([one.assign(**{"another seed": row}) for one, row in zip(seeds, apart, strict=True)], MEANS)
    if table.side["balanced accuracy"] != 1:
        table["side"] = 0
    return table.assign(seeds=len(seeds)).reset_index(names="number")


# ---- intervals over texts and seeds ----------------------------------------------------------------------------------


def summary(seeds: list[pd.DataFrame], names: Iterable[str]) -> pd.DataFrame:
    """One row a column of `names`: value, low, high (95 %), chance, side (1: all of the interval lies above chance, -1
    below it, else 0; of fewer than FEWEST texts 0), texts; NaN for a column that the tables lack."""
    rows = {}
    for name in names:
        values, chance = (
            np.array([table[column] if column in table else np.full(len(table), np.nan) for table in seeds], float)
            for column in (name, f"{name}{CHANCE}")
        )
        expected = without_nan(chance + 0 * values)
        line = expected.mean() if len(expected) else np.nan
        value, low, high, texts = mean_interval(values)
        if name.startswith(SHARES) and texts:
            low, high = share_interval(values, chance[0])
        elif not np.isnan(line):
            low, high = np.clip(line + np.array(mean_interval(values - chance)[1:3]), 0.0 - (low < 0), 1)
        side = int(low > line) - int(high < line) if texts >= FEWEST else 0
        rows[name] = {"value": value, "low": low, "high": high, "chance": line, "side": side, "texts": texts}
    return pd.DataFrame.from_dict(rows, "index")


def mean_interval(values: ndarray) -> tuple[float, float, float, int]:
    """Mean of values (S, D), the ends of its 95 % interval over texts, with several seeds over both, and how many texts
    have a value under every seed.

    Where all values are 0, or 1, another text may still differ: the interval is as wide as 3 texts (the rule of three).
    """
    values = values[:, ~np.isnan(values).any(axis=0)]
    if not values.size:
        return np.nan, np.nan, np.nan, 0
    value = values.mean()
    ends = crossed_interval(values) if len(values) > 1 else seed_interval(values[0])
    if value in (0, 1) and values.std() == 0:
        ends = value - 3 / values.shape[1], value + 3 / values.shape[1]
    low, high = np.clip(ends, 0.0 - (values < 0).any(), 1)
    return float(value), float(low), float(high), values.shape[1]


def share_interval(
    hits: ndarray,
    chance: ndarray,
) -> tuple[float, float]:
    """The ends of `mean_interval` of hits (S, D), each of a chance (D,): they hold the mean chance unless the exact
    tail of a sum of such draws, one a text (Poisson binomial), is below 2.5 %.

    Hits that ties or seeds share are parts of one; the tail counts them whole, on the side of chance.
    """
    _, low, high, _ = mean_interval(hits)
    chance = without_nan(chance)
    total = without_nan(hits.mean(axis=0)).sum()
    probability = reduce(np.convolve, np.stack([1 - chance, chance], axis=1), np.ones(1))  # of 0 to D hits
    if probability[int(total + TINY) :].sum() >= TAIL:
        low = min(low, chance.mean())
    if probability[: int(np.ceil(total - TINY)) + 1].sum() >= TAIL:
        high = max(high, chance.mean())
    return float(low), float(high)
