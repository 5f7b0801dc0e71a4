"""Intervals over documents, and the documents for them: of models that have too few seeds for one over seeds."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from attn_core import archive
from attn_core.archive import Result
from attn_core.experiments.erasure import document_table
from attn_core.measures import INTERVAL_SEEDS, bootstrap_interval


def over_documents(values: np.ndarray, statistic: Callable = np.mean, share: bool = False) -> tuple[float, float]:
    """95 % interval over documents: bootstrap; where no resampling moves the number, Wilson's for a share, else NaN."""
    from scipy.stats import binomtest

    values = values[np.isfinite(values)]
    low, high = bootstrap_interval(values, statistic)
    if low < high:
        return low, high
    if len(values) and share:
        interval = binomtest(int(values.sum()), len(values)).proportion_ci(method="wilson")
        return float(interval.low), float(interval.high)
    return np.nan, np.nan


def over_a_sample(
    values: np.ndarray, whole: float, drawn: float, statistic: Callable = np.mean, share: bool = False
) -> tuple[float, float]:
    """95 % interval over documents of a number known of all of them, its width known of a random sample alone.

    values: of the sample, the share `drawn` of all. whole: the number over all documents. The sample's own interval
    (`over_documents`) is moved to it and its two halves shrunk by sqrt(drawn), as errors fall with the root of n.
    """
    found = over_documents(values, statistic, share)
    low, high = (whole + (end - statistic(values[np.isfinite(values)])) * np.sqrt(drawn) for end in found)
    return low, high


def documents_of_few(found: list[Result]) -> dict[tuple[str, str], pd.DataFrame]:
    """Data set and model -> the per-document table of its first seed, of models of too few seeds for an interval.

    Without those of whose documents nothing is stored, by their data set's licence.
    """
    models: dict[tuple[str, str], list[Result]] = {}
    for result in found:
        models.setdefault((result.record["run"]["corpus"], result.record["run"]["encoder"]), []).append(result)
    tables = {}
    for model, results in models.items():
        if len(results) < INTERVAL_SEEDS:
            first = results[0]
            if first.source == "archive":
                first = archive.read(archive.archive_folder(), first.key)
            if first.documents is not None or first.traces is not None:
                tables[model] = first.documents_or(document_table)[0]
    return tables
