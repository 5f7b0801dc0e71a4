"""What of the paper's statements is arithmetic: their numbers where each document's weights are dealt anew (ours).

Erasing an item moves the logits by its weight times its distance from the rest, so the heaviest item moves them most
whether or not attention knows anything. A statement is about attention as far as its number lies beyond that.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd
from scipy.stats import t as student

from attn_book.derived import statements_of
from attn_core import Run, obtain
from attn_core.baselines import weak
from attn_core.experiments.erasure import derived, document_table, removal_rows, single_rows
from attn_core.experiments.single import weights_dealt_anew
from attn_core.index import over_seeds, runs
from attn_core.measures import LEVEL
from attn_core.traces import Traces

GROUPS = 20
"""Groups of documents that are left out in turn for an interval."""


def asked(documents: pd.DataFrame, numbers: Iterable[str]) -> list[float]:
    """Numbers of `derived.statements_of` of a document table; r as coded, several items; NaN where none is defined."""
    documents = documents[documents["n"] > 1]
    rows = [*single_rows(documents, "coded"), *removal_rows(derived(documents), "")]
    found = statements_of(defaultdict(lambda: np.nan, {tuple(place): value for *place, value in rows}))
    return [float(found[number]) for number in numbers]


def beside(test: Callable[[Traces], float], deals: int = 5, **where: object) -> pd.DataFrame:
    """A number of stored documents of several items by attention and by weights dealt anew, one row a model.

    where: which models, see `index.runs` (those that enter no claim are left out). Columns corpus, encoder, own, dealt
    (means over seeds, and over deals within a seed), mean, low, high, n_seeds of their difference within seeds;
    fewest and most: documents of a seed.
    """
    rows, chosen = [], runs(**where)
    bad = weak(chosen)
    for (corpus, encoder), part in chosen.groupby(["corpus", "encoder"], sort=False):
        for seed in () if bad[corpus, encoder] else part["seed"]:
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
    """Statements' numbers by attention and by weights dealt anew over each document's items, of models by label.

    Columns number (of `derived.statements_of`), attention, dealt (mean over `deals` deals), difference, low, high: 95 %
    interval of the difference over documents, leaving out each of GROUPS groups of documents in turn (jackknife,
    Student t), label and documents (of more than one item). Deals are fixed, so the interval is for these. NaN where a
    number is not defined; no interval of fewer documents than groups.
    """
    wanted, columns = list(numbers), ["number", "attention", "dealt", "difference", "low", "high", "label", "documents"]
    parts = [pd.DataFrame(columns=columns)]
    for label, traces in models.items():
        tables = [document_table(traces), *(document_table(weights_dealt_anew(traces, deal)) for deal in range(deals))]
        group = np.random.default_rng(0).permutation(len(traces)) % GROUPS
        parted = [np.ones(len(traces), bool), *(group != k for k in range(GROUPS) if len(traces) >= GROUPS)]
        found = np.array([[asked(table[chosen], wanted) for table in tables] for chosen in parted])
        own, dealt = found[:, 0], found[:, 1:].mean(axis=1)  # all documents, then without each group
        difference, *without = own - dealt
        error = np.sqrt((GROUPS - 1) * np.var(without, axis=0)) if without else np.nan
        reach = student.ppf(1 - LEVEL / 2, GROUPS - 1) * error
        several = int((traces.lengths > 1).sum())
        values = (wanted, own[0], dealt[0], difference, difference - reach, difference + reach, label, several)
        parts.append(pd.DataFrame(dict(zip(columns, values, strict=True))))
    return pd.concat(parts[1:] or parts, ignore_index=True)
