"""Experiments on traces: each is a function of traces and options that returns one row per document.

`document_table` holds every statistic at default parameters, `summary_table` the same by class and bin of maximum
attention; both are what the archive keeps.
"""

import numpy as np
import pandas as pd

from attn_core.experiments.adversarial import adversarial
from attn_core.experiments.correlation import correlation
from attn_core.experiments.echo import MEASURES, echo
from attn_core.experiments.optimum import exact
from attn_core.experiments.permutation import permutation
from attn_core.experiments.search import search
from attn_core.experiments.tables import identity
from attn_core.measures import share_significant
from attn_core.traces import Traces

ATTENTION_BINS = ("[0.00,0.25)", "[0.25,0.50)", "[0.50,0.75)", "[0.75,1.00]")
"""Bins of the largest weight of a document, as in Figures 6 and 8 of Jain and Wallace."""

QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}

COUNTED = ("tau_", "jsd_", "ceiling", "ratio_", "median_change")
"""Statistics whose summary holds a histogram."""

MOST_CLASSES = 3
"""With more outputs than this a summary has only the group 'all'. (The authors' code counts the different answers a
model gives, so that one which knows few answers is grouped after all.)"""

ONCE = ("ceiling", "ceiling_permutation", "max_attention")
"""Columns of the adversarial table that do not depend on epsilon."""


def document_table(traces: Traces, seed: int = 0, epsilons: tuple[float, ...] = (0.01, 0.05)) -> pd.DataFrame:
    """Every per-document statistic at default parameters, one row per document.

    Columns: doc_id, label, predicted, n (tokens), p; those of `correlation`; median_change (100 permutations);
    max_attention, ceiling, ceiling_permutation; then for every epsilon, with the suffix @0.01 and the like,
    jsd_search, tvd_search (one search, selected at each epsilon), jsd_exact, tvd_exact, n_support, jsd_shuffled,
    jsd_permutation; text pairs and three classes or more have jsd_sparse, jsd_lower, tvd_lower in place of jsd_exact,
    tvd_exact, n_support, jsd_permutation; last those of `echo`. Ratios to the ceiling follow from
    these columns and are left to `derived`. p is the probability of class 1, of the predicted class where there are
    more than two outputs.
    """
    weights = search(traces, seed=seed)
    parts = [correlation(traces, seed), permutation(traces, seed=seed)[["median_change"]]]
    for epsilon in epsilons:
        found = adversarial(traces, epsilon, weights, seed).drop(columns=[*identity(traces)])
        if epsilon == epsilons[0]:
            parts.append(found[list(ONCE)])
        parts.append(found.drop(columns=list(ONCE)).add_suffix(f"@{epsilon:g}"))
    parts.append(echo(traces)[list(MEASURES)])
    table = pd.concat(parts, axis=1)
    table.insert(4, "p", traces.p)
    return table


def derived(documents: pd.DataFrame) -> pd.DataFrame:
    """A document table with what follows from its columns.

    ratio_exact@e, ratio_lower@e, ratio_search@e: JSD divided by the ceiling (NaN where that is 0, in texts of one
    token); ratio_permutation@e: by ceiling_permutation. difference_loo, difference_gradient: tau(gradient,
    leave-one-out) minus tau(attention, leave-one-out) and minus tau(attention, gradient), the paper's Figures 3 and 4.
    """
    columns = {}
    for name in documents.columns:
        kind, _, epsilon = name.partition("@")
        if kind in ("jsd_exact", "jsd_lower", "jsd_search", "jsd_permutation"):
            ceiling = documents["ceiling_permutation" if kind == "jsd_permutation" else "ceiling"]
            columns[f"{kind.replace('jsd', 'ratio')}@{epsilon}"] = documents[name] / ceiling.where(ceiling > 0)
    for name in ("loo", "gradient"):
        if {"tau_gradient_loo", f"tau_attention_{name}"} <= set(documents.columns):
            columns[f"difference_{name}"] = documents["tau_gradient_loo"] - documents[f"tau_attention_{name}"]
    return documents.assign(**columns)


def asked(traces: Traces) -> dict[str, float]:
    """What the three papers would ask of a model of single texts, five numbers over the documents in seconds.

    tau: mean of Kendall's tau of attention and gradients. shuffled: share with a median change below 0.1. far twin:
    share whose exact optimum at epsilon 0.05 has a JSD over 0.4. erased: mean of `echo`'s top_erased. flat: share of
    its flat_flips.
    """
    own = echo(traces)
    return {
        "tau": correlation(traces)["tau_attention_gradient"].mean(),
        "shuffled": (permutation(traces)["median_change"] < 0.1).mean(),
        "far twin": (exact(traces, 0.05)["jsd_exact"] > 0.4).mean(),
        "erased": own["top_erased"].mean(),
        "flat": own["flat_flips"].mean(),
    }


def edges(statistic: str) -> np.ndarray:
    """Edges of the bins in which `summary_table` counts a statistic.

    tau: 30 bins on [-1, 1]; JSD and ceilings: 40 on [0, 0.7], both as in the paper's figures; ratios and changes of
    output: 40 on [0, 1]. The last bin includes its upper edge.
    """
    if statistic.startswith("tau_"):
        return np.linspace(-1, 1, 31)
    return np.linspace(0, 0.7 if statistic.startswith(("jsd_", "ceiling")) else 1, 41)


def attention_bin(max_attention: np.ndarray) -> np.ndarray:
    """The label in ATTENTION_BINS of each largest weight; the last bin includes 1."""
    return np.array(ATTENTION_BINS)[np.clip((np.asarray(max_attention) * 4).astype(int), 0, 3)]


def summary_table(documents: pd.DataFrame, outputs: int = 2) -> pd.DataFrame:
    """A document table by class and bin: tidy, one number per row, small enough to keep for every seed.

    outputs: how many the model has (`Traces.classes`); with more than MOST_CLASSES, as in question answering, documents
    are not grouped by predicted class, as in the paper.
    Columns statistic (numbers of `documents` and of `derived`), predicted ('0', '1', ... or 'all'), bin (a label of
    ATTENTION_BINS or 'all'), measure, value. Groups without documents have no rows. Measures:
    n documents, n_nan of them without a value; mean, std (ddof 0), q05, q25, median, q75, q95 of the others;
    share_significant for tau (p <= 0.05, NaN counts as not significant); share_below_0.1 for median_change,
    share_above_0.4 and share_above_0.6 for JSD and ceilings, among the documents with a value;
    for bin 'all' also hist:<k>, documents with a value in the k-th bin of `edges`, of tau, JSD, ceilings, ratios and
    median_change; empty ones are left out.
    """
    documents = derived(documents)
    skipped = ("doc_id", "label", "predicted", "n")
    statistics = [name for name in documents.columns if name not in skipped and not name.startswith("p_")]
    classes = {"all": np.ones(len(documents), bool)}
    if outputs <= MOST_CLASSES:
        classes |= {str(c): (documents["predicted"] == c).to_numpy() for c in sorted(documents["predicted"].unique())}
    binned = attention_bin(documents["max_attention"])
    bins = {"all": np.ones(len(documents), bool)} | {label: binned == label for label in ATTENTION_BINS}
    rows = []
    for statistic in statistics:
        values = documents[statistic].to_numpy(np.float64)
        p = documents["p_" + statistic.removeprefix("tau_")].to_numpy() if statistic.startswith("tau_") else None
        for predicted, of_class in classes.items():
            for label, of_bin in bins.items():
                rows += [
                    (statistic, predicted, label, measure, value)
                    for measure, value in summary(statistic, values, p, of_class & of_bin, label == "all")
                ]
    return pd.DataFrame(rows, columns=["statistic", "predicted", "bin", "measure", "value"])


def summary(statistic: str, values: np.ndarray, p: np.ndarray | None, group: np.ndarray, counts: bool):
    """Yields (measure, value) of one statistic in one group of documents, see `summary_table`."""
    inside = values[group]
    if not len(inside):
        return
    known = inside[~np.isnan(inside)]
    yield "n", float(len(inside))
    yield "n_nan", float(len(inside) - len(known))
    if p is not None:
        yield "share_significant", share_significant(p[group])
    if not len(known):
        return
    yield "mean", known.mean()
    yield "std", known.std()
    yield from zip(QUANTILES, np.quantile(known, list(QUANTILES.values())), strict=True)
    if statistic == "median_change":
        yield "share_below_0.1", float((known < 0.1).mean())
    if statistic.startswith(("jsd_", "ceiling")):
        yield "share_above_0.4", float((known > 0.4).mean())
        yield "share_above_0.6", float((known > 0.6).mean())
    if counts and statistic.startswith(COUNTED):
        limits = edges(statistic)
        count = np.histogram(np.clip(known, limits[0], limits[-1]), limits)[0]
        yield from ((f"hist:{k}", float(count[k])) for k in np.flatnonzero(count))
