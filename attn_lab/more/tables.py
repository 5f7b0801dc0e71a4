"""Experiments on traces: each is a function of traces and options that returns one row per document.

`document_table` holds every statistic at default parameters, `summary_table` the same by class and bin of maximum
attention; both are what the archive keeps.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attn_core.errors import AttnError
from attn_core.experiments import adversarial, correlation, permutation, search
from attn_core.experiments.correlation import LONGEST
from attn_core.experiments.tables import IDENTITY, QUANTILES, described, joined, table
from attn_core.measures import LEVEL, without_nan
from attn_core.traces import Traces, has_one_logit
from attn_lab.more.best_permutation import best_permutation
from attn_lab.more.single_state import single_state_agreement

ATTENTION_BINS = ("[0.00,0.25)", "[0.25,0.50)", "[0.50,0.75)", "[0.75,1.00]")
"""Bins of the largest weight of a document, as in Figures 6 and 8 of Jain and Wallace."""

COUNTED = ("tau_", "jsd_", "ceiling", "ratio_", "median_change")
"""Statistics whose summary holds a histogram."""

MOST_CLASSES = 3
"""With more outputs a summary has only the group 'all' (the authors' code counts the answers that a model gives)."""

EPSILONS = (0.01, 0.05)
"""By how much an adversary may move the output."""


def document_table(traces: Traces, seed: int = 0, epsilons: tuple[float, ...] = EPSILONS) -> pd.DataFrame:
    """Every per-document statistic at default parameters, one row per document.

    Columns: doc_id, label, predicted, n (tokens), `Traces.p`; those of `correlation`; median_change (100 permutations);
    those of `ceilings`; of `adversarial`, and jsd_permutation, of `best_permutation`, for each of epsilons, with the
    suffixes epsilon=0.01 and epsilon=0.05, from one search; of `single_state_agreement`. What follows from them is left
    to `derived`. Without epsilons it takes seconds; with them, AttnError for a document of more than LONGEST tokens.
    """
    longest = traces.lengths.argmax()
    if epsilons and traces.lengths[longest] > LONGEST:
        raise AttnError(
            f"document {traces.doc_id[longest]} has {traces.lengths[longest]:,} tokens, and its adversaries are sought "
            f"among all pairs of them; at most {LONGEST:,}: cut it, or ask without epsilons"
        )
    weights = search.search(traces, seed=seed) if epsilons else None
    at_epsilons = []
    for epsilon in epsilons:
        adversaries = adversarial.adversarial(traces, epsilon, weights, seed)
        if has_one_logit(traces):
            adversaries["jsd_permutation"] = best_permutation(traces, epsilon, seed)["jsd"]
        at_epsilons.append(adversaries.drop(columns=list(IDENTITY)).add_suffix(f" epsilon={epsilon:g}"))
    return joined(
        table(traces, p=traces.p),
        correlation.correlation(traces, seed),
        permutation.permutation(traces, seed=seed)[["median_change"]],
        adversarial.ceilings(traces),
        *at_epsilons,
        single_state_agreement(traces),
    )


def derived(documents: pd.DataFrame) -> pd.DataFrame:
    """A document table with what follows from its columns.

    ratio_exact epsilon=e, ratio_lower epsilon=e, ratio_search epsilon=e: JSD divided by the ceiling (NaN where that is
    0, in texts of one token); ratio_permutation epsilon=e: by ceiling_permutation. difference_loo, difference_gradient:
    tau(gradient, leave-one-out) minus tau(attention, leave-one-out) and minus tau(attention, gradient), the paper's
    Figures 3 and 4.
    """
    columns = {}
    for name in documents.filter(regex="^jsd_(exact|lower|search|permutation) "):
        ceiling = documents["ceiling_permutation" if "permutation" in name else "ceiling"]
        columns[name.replace("jsd", "ratio")] = documents[name] / ceiling.where(ceiling > 0)
    for name in ("loo", "gradient"):
        if {"tau_gradient_loo", f"tau_attention_{name}"} <= set(documents):
            columns[f"difference_{name}"] = documents["tau_gradient_loo"] - documents[f"tau_attention_{name}"]
    return documents.assign(**columns)


def edges(statistic: str) -> np.ndarray:
    """Edges of the bins in which `summary_table` counts a statistic, those of tau, JSD and ceilings as in the paper's
    figures; the last bin includes its upper edge."""
    if statistic.startswith("tau_"):
        return np.linspace(-1, 1, 31)
    highest = 0.7 if statistic.startswith(("jsd_", "ceiling")) else 1
    return np.linspace(0, highest, 41)


def attention_bin(max_attention: ArrayLike) -> np.ndarray:
    """The label in ATTENTION_BINS of each largest weight; the last bin includes 1."""
    quarter = (np.asarray(max_attention) * 4).astype(int)
    return np.array(ATTENTION_BINS)[quarter.clip(0, 3)]


def summary_table(documents: pd.DataFrame, outputs: int = 2) -> pd.DataFrame:
    """A document table by class and bin: tidy, one number per row, small enough to keep for every seed.

    outputs: `Traces.classes`; of more than MOST_CLASSES documents are not grouped by predicted class, as in the paper.
    Columns statistic (numbers of `documents` and of `derived`), predicted ('0', '1', ... or 'all'), bin (a label of
    ATTENTION_BINS or 'all'), measure, value. Groups without documents have no rows. Measures:
    n documents, n_nan of them without a value; mean, std (ddof 0), QUANTILES of the others; share_significant for tau
    (p <= 0.05, NaN counts as not significant); share_below_0.1 for median_change, share_above_0.4 and share_above_0.6
    for JSD and ceilings, among the documents with a value; for bin 'all' also hist:<k>, how many documents lie in the
    k-th bin of `edges`, of COUNTED, unless none.
    """
    documents = derived(documents)
    everything = np.ones(len(documents), bool)
    classes = {"all": everything}
    if outputs <= MOST_CLASSES:
        for c in np.unique(documents["predicted"]):
            classes[str(c)] = documents["predicted"] == c
    binned = attention_bin(documents["max_attention"])
    bins = {"all": everything} | {label: binned == label for label in ATTENTION_BINS}

    rows = []
    groups = {
        (predicted, label): documents[of_class & of_bin]
        for predicted, of_class in classes.items()
        for label, of_bin in bins.items()
    }
    for statistic in documents.columns.difference(IDENTITY, sort=False):
        if not statistic.startswith("p_"):
            for (predicted, label), group in groups.items():
                numbers = summary(statistic, group, counts=label == "all")
                rows += [(statistic, predicted, label, *pair) for pair in numbers.items()]
    return pd.DataFrame(rows, columns=["statistic", "predicted", "bin", "measure", "value"])


def summary(statistic: str, documents: pd.DataFrame, counts: bool) -> dict[str, float]:
    """Measure -> value of one statistic in one group of documents, see `summary_table`. counts: with hist:<k>."""
    if not len(documents):
        return {}
    values = without_nan(documents[statistic])
    numbers: dict[str, float] = {"n": len(documents), "n_nan": len(documents) - len(values)}
    if statistic.startswith("tau_"):
        p = documents["p_" + statistic.removeprefix("tau_")]
        numbers["share_significant"] = (p <= LEVEL).mean()
    if not len(values):
        return numbers

    numbers |= described(values, "mean", "std", *QUANTILES)
    if statistic == "median_change":
        numbers["share_below_0.1"] = (values < 0.1).mean()
    if statistic.startswith(("jsd_", "ceiling")):
        numbers["share_above_0.4"] = (values > 0.4).mean()
        numbers["share_above_0.6"] = (values > 0.6).mean()
    if counts and statistic.startswith(COUNTED):
        limits = edges(statistic)
        count, _ = np.histogram(values.clip(limits[0], limits[-1]), limits)
        numbers |= {f"hist:{k}": count[k] for k in np.flatnonzero(count)}
    return numbers
