"""Distances between outputs and between attention distributions, rank correlation, scores, intervals.

Numpy arrays in, numpy arrays or floats out; scikit-learn and scipy's parts, which take a second to load, are imported
where they are used.
"""

import math
from collections.abc import Callable

import numpy as np
import scipy  # its parts are loaded when first used
from numpy import ndarray
from numpy.typing import ArrayLike

from attn_core import checks
from attn_core.errors import AttnError

LN2 = math.log(2.0)
"""Largest possible Jensen-Shannon divergence (printed as 0.69 in the papers)."""

LEVEL = 0.05
"""Two-sided level of every test that decides something; the same as a 95 % interval that leaves out the threshold."""


def tvd(p: ArrayLike, q: ArrayLike) -> ndarray:
    """Total variation distance of outputs (..., K) (Jain and Wallace 2019, section 4): half the L1 distance; where
    K = 1, of probabilities of class 1, |p - q|, which is the same of the two classes. AttnError for what are none."""
    p = checks.outputs("outputs", p)
    q = checks.outputs("outputs", q)
    if p.shape[-1] != q.shape[-1]:
        raise AttnError(f"outputs of {p.shape[-1]} and of {q.shape[-1]} classes have no distance; take equal models")
    return variation(p, q)


def variation(p: ndarray, q: ndarray) -> ndarray:
    """`tvd` of what was checked."""
    distance = np.abs(p - q)
    half = 1.0 if distance.shape[-1] == 1 else 0.5
    return half * distance.sum(axis=-1)


def jsd(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Jensen-Shannon divergence in nats of distributions (..., n) (Jain and Wallace 2019, section 4), 0 to ln 2.

    0 log 0 = 0. The authors' code adds 1e-10 inside the logarithms and clips to [0, 1]; that changes no digit anyone
    prints (less than 1e-8) and is left out. AttnError for what is no distribution.
    """
    terms = jsd_terms(checks.weights("weights", a), checks.weights("weights", b))
    return np.maximum(terms.sum(axis=-1), 0.0)


def jsd_ragged(a: ArrayLike, b: ArrayLike, offsets: ArrayLike) -> ndarray:
    """Jensen-Shannon divergence, in nats, of the distributions of D documents laid end to end.

    Parameters
    ----------
    a, b : (..., T) array
        Distributions; each sums to 1 within a document.
    offsets : (D + 1,) array of int
        Document d owns offsets[d]:offsets[d + 1].

    Returns
    -------
    (..., D) array
        0 to ln 2.

    Raises
    ------
    AttnError
        No distributions, an empty document, or offsets of another length.
    """
    offsets = checks.bounds(offsets, np.shape(b)[-1])
    return apart(checks.weights("weights", a, offsets), checks.weights("weights", b, offsets), offsets)


def apart(a: ndarray, b: ndarray, offsets: ndarray) -> ndarray:
    """`jsd_ragged` of what was checked."""
    jsd = np.add.reduceat(jsd_terms(a, b), offsets[:-1], axis=-1)
    return np.maximum(jsd, 0.0)


def jsd_terms(a: ndarray, b: ndarray) -> ndarray:
    """What each entry adds to the JSD of a and b."""
    mean = 0.5 * (a + b)
    of_a = scipy.special.rel_entr(a, mean)
    of_b = scipy.special.rel_entr(b, mean)
    return 0.5 * (of_a + of_b)


def jsd_point(weight: ndarray) -> ndarray:
    """JSD between all mass on one token and a distribution that gives this token `weight`; falls as weight grows."""
    mean = 0.5 * (1.0 + weight)
    elsewhere = LN2 * (1.0 - weight)  # of the tokens without new mass
    return 0.5 * (elsewhere + np.log(1.0 / mean) + scipy.special.rel_entr(weight, mean))


CLASS_SCORES = 20
"""Up to this many classes every class's own F1 is listed."""


def classification(labels: ArrayLike, p: ArrayLike) -> dict[str, float]:
    """Accuracy, F1 of every class and their mean, ROC AUC.

    One logit: labels (D,) in {0, 1}, p (D,) or (D, 1) probability of class 1, the predicted class is p rounded; f1_0,
    f1_1, macro_f1, auc (left out where the labels have one class). Of two outputs (D, 2) the second is p.
    K > 2 outputs (D, K): the predicted class is the largest; macro_f1 is the mean over the classes that occur as label
    or prediction; f1_<k> for K <= CLASS_SCORES, no auc. F1 is 0 where a class is neither present nor predicted.
    """
    from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

    p = checks.outputs("p", np.reshape(p, (np.shape(p)[0], -1)))
    classes = max(2, p.shape[1])
    labels = checks.indices("labels", labels, classes, len(p), "give the class of each text")
    binary = classes == 2
    predicted = np.round(p[:, -1]).astype(int) if binary else p.argmax(axis=1)
    scores = {"accuracy": accuracy_score(labels, predicted)}
    if classes <= CLASS_SCORES:
        f1 = f1_score(labels, predicted, labels=np.arange(classes), average=None, zero_division=0.0)
        scores |= {f"f1_{k}": value for k, value in enumerate(f1)}
    averaged = [0, 1] if binary else None  # None: the classes that occur
    scores["macro_f1"] = f1_score(labels, predicted, labels=averaged, average="macro", zero_division=0.0)
    if binary and len(np.unique(labels)) == 2:
        scores["auc"] = roc_auc_score(labels, p[:, -1])
    return {name: float(value) for name, value in scores.items()}


def without_nan(values: ArrayLike) -> ndarray:
    """Those that are not NaN, as float64."""
    values = np.asarray(values, float)
    return values[~np.isnan(values)]


# Intervals

RESAMPLES = 2_000

RESAMPLED_AT_ONCE = 50_000
"""Values that are drawn in one step: as many as stay in the processor's cache."""


def bootstrap_interval(values: ArrayLike, statistic: Callable = np.mean) -> tuple[float, float]:
    """Percentile bootstrap interval of a statistic over documents, RESAMPLES times drawn: (low, high), 95 %.

    values (D,): NaN entries are dropped first; NaN of fewer than two. statistic: of values (B, D) along `axis`, as
    NumPy's. It measures the spread over documents of one trained model, not over trainings; for those see
    seed_interval.
    """
    values = without_nan(values)
    if len(values) < 2:
        return math.nan, math.nan
    rng = np.random.default_rng(0)  # SciPy's own takes a second to import
    block = max(1, RESAMPLED_AT_ONCE // len(values))
    resampled = np.empty(RESAMPLES)
    for start in range(0, RESAMPLES, block):
        samples = min(block, RESAMPLES - start)
        drawn = rng.integers(len(values), size=(samples, len(values)))
        resampled[start : start + samples] = statistic(values[drawn], axis=1)
    ends = [LEVEL / 2, 1 - LEVEL / 2]
    low, high = np.quantile(resampled, ends)
    return float(low), float(high)


HEADLINE_SEEDS = 5
"""Cells with fewer seeds are drawn as points and decide no claim."""

INTERVAL_SEEDS = 3
"""Fewer seeds have no interval: of two, Student's t makes 12.7 standard errors to either side."""


def seed_interval(values: ArrayLike) -> tuple[float, float]:
    """95 % Student t interval of the mean of one number per trained seed: (low, high); NaN below INTERVAL_SEEDS."""
    values = without_nan(values)
    if len(values) < INTERVAL_SEEDS:
        return math.nan, math.nan
    t = scipy.special.stdtrit(len(values) - 1, 1 - LEVEL / 2)
    half = t * values.std(ddof=1) / math.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def crossed_interval(values: ArrayLike) -> tuple[float, float]:
    """95 % interval of a mean over another training and other documents at once: (low, high).

    values (S, D): one number for each of S seeds and D documents; a document without a number under some seed is left
    out. Random effects of both (two-way, one observation a cell), Student t with Satterthwaite's degrees of freedom;
    `seed_interval` where documents make no difference. NaN below INTERVAL_SEEDS seeds or two documents.
    """
    values = checks.numbers("values", values, None, None, finite=False)
    values = values[:, ~np.isnan(values).any(axis=0)]
    seeds, documents = values.shape
    if seeds < INTERVAL_SEEDS or documents < 2:
        return math.nan, math.nan
    mean = values.mean()
    of_seed = values.mean(axis=1, keepdims=True) - mean
    of_document = values.mean(axis=0) - mean
    parts = np.broadcast_arrays(of_seed, of_document, values - mean - of_seed - of_document)

    # Mean squares of seeds, documents and residuals, with their degrees of freedom.
    free = np.array([seeds - 1, documents - 1, (seeds - 1) * (documents - 1)])
    squares = np.square(parts).sum(axis=(1, 2)) / free
    variance = max(squares[0] + squares[1] - squares[2], squares[0])  # no less than over seeds alone
    if variance == 0:
        return float(mean), float(mean)
    satterthwaite = variance**2 / (squares**2 / free).sum()
    t = scipy.special.stdtrit(max(satterthwaite, seeds - 1), 1 - LEVEL / 2)
    half = t * math.sqrt(variance / values.size)
    return float(mean - half), float(mean + half)
