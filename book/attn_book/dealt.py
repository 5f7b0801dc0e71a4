"""What of the paper's statements is arithmetic: their numbers where each document's weights are dealt anew (ours).

Erasing an item moves the logits by its weight times its distance from the rest, so the heaviest item moves them most
whether or not attention knows anything. A statement is about attention as far as its number lies beyond that.
"""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd
from scipy.stats import t as student

from attn_book.derived import STATEMENTS, weakness
from attn_core.experiments.erasure import derived, document_table, nearness
from attn_core.experiments.single import two_by_two, weights_dealt_anew
from attn_core.index import over_seeds, runs
from attn_core.measures import LEVEL
from attn_core.runs import Run, obtain
from attn_core.traces import Traces

NUMBERS = ("1a", "1b", "1c", "2b", "3a", "3b", "3c", "3d", "4a", "4b", "4c")
"""Statements whose number is one of attention's (`derived.STATEMENTS`); 2a is one minus 1a."""

GROUPS = 20
"""Groups of documents that are left out in turn for an interval."""


def numbers_of(documents: pd.DataFrame) -> dict:
    """What the statements of NUMBERS ask of a document table, keyed as a summary; r as coded, several items."""
    documents = documents[documents["n"] > 1]
    js, alpha = (documents[f"delta_{name}@coded"].to_numpy() for name in ("js", "alpha"))
    found = {("delta_js@coded", "all", name): value for name, value in nearness(js, alpha).items()}
    found["delta_js@coded", "all", "share_negative"] = float((js < 0).mean())
    cells = two_by_two(documents, "attention", "coded")
    found |= {("flips_attention@coded", "all", name): value for name, value in cells.items()}
    several = derived(documents)
    for order in ("random", "attention", "gradient", "product"):
        found[f"fraction_{order}", "common", "mean"] = float(several.loc[several["common"], f"fraction_{order}"].mean())
    return found


def beyond_arithmetic(traces: Traces, numbers: Iterable[str] = NUMBERS, deals: int = 10) -> pd.DataFrame:
    """Statements' numbers by attention and by weights dealt anew over each document's items: one row per number.

    Columns number (of NUMBERS), attention, dealt (mean over `deals` deals), difference, low, high: 95 % interval of the
    difference over documents, leaving out each of GROUPS groups of documents in turn (jackknife, Student t). Deals are
    fixed, so the interval is for these. NaN where a number is not defined; no interval of fewer documents than groups.
    """
    wanted = list(numbers)
    tables = [document_table(traces), *(document_table(weights_dealt_anew(traces, deal)) for deal in range(deals))]
    group = np.random.default_rng(0).permutation(len(traces)) % GROUPS

    def both(chosen: np.ndarray) -> np.ndarray:
        """(2, numbers): by attention, and the mean over deals, of some documents."""
        runs = [numbers_of(table[chosen]) for table in tables]
        found = np.array([[value_or_nan(name, run) for name in wanted] for run in runs])
        return np.array([found[0], found[1:].mean(axis=0)])

    whole = both(np.ones(len(traces), bool))
    difference, reach = whole[0] - whole[1], np.full(len(wanted), np.nan)
    if len(traces) >= GROUPS:
        without = np.array([np.subtract(*both(group != k)) for k in range(GROUPS)])
        error = np.sqrt((GROUPS - 1) / GROUPS * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
        reach = student.ppf(1 - LEVEL / 2, GROUPS - 1) * error
    columns = {"attention": whole[0], "dealt": whole[1], "difference": difference}
    return pd.DataFrame({"number": wanted, **columns, "low": difference - reach, "high": difference + reach})


def value_or_nan(number: str, run: dict) -> float:
    """A statement's number; NaN where no document has what it asks for."""
    try:
        return float(STATEMENTS[number](run))
    except KeyError:
        return np.nan


def beside(test: Callable[[Traces], float], deals: int = 5, **where: object) -> pd.DataFrame:
    """A number of stored documents of several items by attention and by weights dealt anew, one row a model.

    where: which models, see `index.runs` (those that enter no claim are left out). Columns corpus, encoder, own, dealt
    (means over seeds, and over deals within a seed), mean, low, high, n_seeds of their difference within seeds;
    fewest and most: documents of a seed.
    """
    rows = []
    for (corpus, encoder), part in runs(**where).groupby(["corpus", "encoder"], sort=False):
        for seed in () if weakness(corpus, part["accuracy"]) else part["seed"]:
            traces = obtain(Run(corpus, encoder, seed=seed)).traces
            traces = traces.take(np.flatnonzero(traces.lengths > 1))
            dealt = np.mean([test(weights_dealt_anew(traces, deal)) for deal in range(deals)])
            of_seed = {"own": test(traces), "dealt": dealt, "documents": len(traces)}
            rows.append({"corpus": corpus, "encoder": encoder, "seed": seed} | of_seed)
    table = pd.DataFrame(rows).assign(value=lambda rows: rows["own"] - rows["dealt"])
    found = table.groupby(["corpus", "encoder"]).agg(
        own=("own", "mean"), dealt=("dealt", "mean"), fewest=("documents", "min"), most=("documents", "max")
    )
    return over_seeds(table, "corpus", "encoder").join(found, on=["corpus", "encoder"])


def of_models(models: Mapping[str, Traces], numbers: Iterable[str], deals: int = 10) -> pd.DataFrame:
    """`beyond_arithmetic` of several models by label, with columns label and documents (of more than one item)."""
    parts = [
        beyond_arithmetic(traces, numbers, deals).assign(label=label, documents=int((traces.lengths > 1).sum()))
        for label, traces in models.items()
    ]
    columns = ["number", "attention", "dealt", "difference", "low", "high", "label", "documents"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
