"""What stands beside a model's own attention, for every test document: permuted weights, oracle attention, word lists.

Of models of single texts with one logit (or two) and deletions. A test tells something about attention as far as its
number differs from that of the same weights in another order; what oracle attention cannot pass is no reproach; and
what a list of words names as well needs no model. Not in the papers.
"""

import math
from collections.abc import Iterator
from itertools import permutations

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.naive_bayes import MultinomialNB

from attn_core.documents import Documents
from attn_core.experiments import draws as random
from attn_core.experiments.optimum import exact
from attn_core.experiments.permutation import permutation
from attn_core.experiments.single import ALL_ORDERS, permuted_weights
from attn_core.experiments.tables import table
from attn_core.measures import jsd_ragged
from attn_core.traces import Traces, maxima, one_logit, sigmoid, totals
from attn_lab.more.compared import agreement
from attn_lab.more.known import GOOD, better, ranks_like_gradients

ORDERS = 200
"""Random orders of the weights of a document of more than ALL_ORDERS words; of shorter ones all are taken."""

SOUGHT = 20
"""Orders of all documents' weights whose optimal adversarial attention is computed."""

BLOCK = 1 << 21
"""Numbers worked on at once."""

LITTLE, FAR, EPSILON = 0.1, 0.4, 0.05
"""The verdict's lines: a change of the output below which permuting changes little, a JSD beyond which an attention is
another one, how far the output may move."""


def controls(traces: Traces, train: Documents, test: Documents, alone: bool) -> pd.DataFrame:
    """Every control of a model, one row per document.

    Parameters
    ----------
    traces : Traces
        Of the whole test set, with deletions.
    train, test : Documents
        What the model was trained on, and what was traced.
    alone : bool
        Whether the model reads each word alone: then gradients under other weights follow from the model's.

    Returns
    -------
    DataFrame
        Columns of `of_permuted`, `of_adversaries`, `of_oracles` and `of_lists`.
    """
    columns = of_permuted(traces) | of_adversaries(traces) | of_oracles(traces, alone) | of_lists(traces, train, test)
    return table(traces, **columns)


def orders(traces: Traces) -> Iterator[tuple[ndarray, ndarray, ndarray]]:
    """(rows (B,), items (B, n), orders (B or 1, K, n)) of documents of one length: all orders of up to ALL_ORDERS
    words, the model's own first, else ORDERS random ones from doc_id."""
    for rows, items in traces.equal_lengths(BLOCK // ORDERS**2):
        n = items.shape[1]
        if n <= ALL_ORDERS:
            step = max(1, BLOCK // math.factorial(n) ** 2)
            every = np.array(list(permutations(range(n))))[None]
            for start in range(0, len(rows), step):
                yield rows[start : start + step], items[start : start + step], every
        else:
            yield rows, items, random.permutations(0, "controls", traces.doc_id[rows], n, ORDERS)


def of_permuted(traces: Traces) -> dict[str, ndarray]:
    """Three tests of the model's own weights and of the same in another order, name -> (D,).

    Change of the output, |p' - p|, by permuting (shuffle: its median over orders), by uniform weights (uniform) and
    without the most attended word (erasure). permuted_*: the expectation under permuted weights; permuted_little: their
    chance of a median below LITTLE; permuted_flips: of another decision than under uniform weights. *_own_wins: how
    often an edit moves the output more under own weights than under permuted ones; a tie is half, so its mean
    is an area under the curve.
    """
    s, bias = one_logit(traces)
    names = ("permuted_shuffle", "permuted_little", "permuted_uniform", "permuted_flips", "permuted_erasure")
    wins = ("shuffle_own_wins", "uniform_own_wins", "erasure_own_wins")
    columns = {name: np.empty(len(traces)) for name in (*names, *wins)}
    for rows, items, order in orders(traces):
        n = items.shape[1]
        learned = traces.attention[items][:, None]  # (B, 1, n)
        permuted = np.take_along_axis(learned, order, axis=2)  # (B, K, n)
        value = s[items][:, None]
        flat = sigmoid(bias + value.mean(axis=2))  # (B, 1) under uniform weights
        p, p_own = (output(weights, value, bias) for weights in (permuted, learned))

        # Each order beside all others: the smallest change is that to itself, the middle one of the rest comes after.
        change = np.abs(p[:, :, None] - p[:, None])  # (B, K, K)
        middle = np.partition(change, p.shape[1] // 2, axis=2)[:, :, p.shape[1] // 2]  # (B, K)
        of_own = middle[:, :1] if n <= ALL_ORDERS else np.median(np.abs(p - p_own), axis=1, keepdims=True)
        erased, erased_own = (erasure(weights, value, bias) for weights in (permuted, learned))

        numbers = {
            "permuted_shuffle": middle,
            "permuted_little": middle < LITTLE,
            "permuted_uniform": np.abs(p - flat),
            "permuted_flips": (p > 0.5) != (flat > 0.5),
            "permuted_erasure": erased,
            "shuffle_own_wins": better(of_own, middle),
            "uniform_own_wins": better(np.abs(p_own - flat), np.abs(p - flat)),
            "erasure_own_wins": better(erased_own, erased),
        }
        for name, values in numbers.items():
            columns[name][rows] = values.mean(axis=1)
    return columns


def output(weights: ndarray, value: ndarray, bias: float) -> ndarray:
    """Probability of class 1 (B, K) under weights (B, K, n) over contributions (B, 1, n)."""
    return sigmoid(bias + (weights * value).sum(axis=2))


def erasure(weights: ndarray, value: ndarray, bias: float) -> ndarray:
    """Change of the output (B, K) without the most attended word, the others' weights scaled up; 0 where it has all."""
    top = weights.argmax(axis=2, keepdims=True)
    largest = np.take_along_axis(weights, top, axis=2)[..., 0]
    of_top = np.take_along_axis(np.broadcast_to(value, weights.shape), top, axis=2)[..., 0]
    logit = (weights * value).sum(axis=2)
    left = np.where(largest < 1, 1 - largest, 1.0)
    without = np.where(largest < 1, (logit - largest * of_top) / left, logit)
    return np.abs(sigmoid(bias + without) - sigmoid(bias + logit))


def of_adversaries(traces: Traces) -> dict[str, ndarray]:
    """The same of the optimal adversarial attention within EPSILON of the output: permuted_jsd, its JSD, and
    permuted_adversarial, the chance that it lies beyond FAR, means over SOUGHT orders; adversary_own_wins: how often
    the model's own weights have the farther one."""
    optimal = exact(traces, EPSILON)["jsd_exact"].to_numpy()[:, None]
    sought = [exact(permuted_weights(traces, draw), EPSILON)["jsd_exact"] for draw in range(SOUGHT)]
    jsd = np.stack(sought, axis=1)  # (D, SOUGHT)
    return {
        "permuted_jsd": jsd.mean(axis=1),
        "permuted_adversarial": (jsd > FAR).mean(axis=1),
        "adversary_own_wins": better(optimal, jsd).mean(axis=1),
    }


def of_oracles(traces: Traces, alone: bool) -> dict[str, ndarray]:
    """What the tests give under oracle attention, three definitions: <definition>_shuffle, the median change by
    permuting; _jsd, of the optimal adversarial attention; _top1, whether the most attended word is the one whose
    deletion moves the output most; if alone _tau, Kendall's with the gradients, and permuted_tau, the same of the
    model's own weights in SOUGHT other orders."""
    assert traces.leave_one_out is not None
    moved = np.abs(traces.leave_one_out)
    columns = {}
    for name, weigh in GOOD.items():
        weights = weigh(traces)
        columns[f"{name}_shuffle"] = permutation(weights)["median_change"].to_numpy()
        columns[f"{name}_jsd"] = exact(weights, EPSILON)["jsd_exact"].to_numpy()
        columns[f"{name}_top1"] = agreement(weights.score, moved, traces.offsets, 1)
        if alone:
            columns[f"{name}_tau"] = ranks_like_gradients(weights, traces)
    if not alone:
        return columns
    permuted = [ranks_like_gradients(permuted_weights(traces, draw), traces) for draw in range(SOUGHT)]
    return columns | {"permuted_tau": np.mean(permuted, axis=0)}


def of_lists(traces: Traces, train: Documents, test: Documents) -> dict[str, ndarray]:
    """How well a list of words names the word whose deletion moves the output most (a chance, ties drawn), and by how
    much its own word moves it: attention, bayes (naive Bayes), rarity; change_random: of any word, change_best: of the
    best one. The lists have never seen the model."""
    assert traces.leave_one_out is not None
    words = test.ids[test.inner]  # (T,)
    moved = np.abs(traces.leave_one_out).astype(float)
    counts = word_counts(train, 1 + int(max(train.ids.max(), test.ids.max())))
    lists = {
        "attention": traces.score,
        "bayes": np.abs(naive_bayes(counts, train.labels))[words],
        "rarity": rarity(counts)[words],
    }
    columns = {
        "change_random": totals(moved, traces.offsets) / traces.lengths,
        "change_best": maxima(moved, traces.offsets),
    }
    for name, score in lists.items():
        columns[f"top1_{name}"] = agreement(score, moved, traces.offsets, 1)
        first = score == maxima(score, traces.offsets)[traces.owner]  # (T,) several where they tie
        columns[f"change_{name}"] = totals(first * moved, traces.offsets) / totals(first.astype(float), traces.offsets)
    return columns


def word_counts(documents: Documents, size: int) -> csr_array:
    """How often each of `size` ids stands in each document, (D, size)."""
    words = documents.ids[documents.inner]
    owner = np.repeat(np.arange(len(documents)), documents.lengths - 2)  # start and end are no words
    return csr_array((np.ones(len(words)), (owner, words)), shape=(len(documents), size))


def naive_bayes(counts: csr_array, labels: ndarray) -> ndarray:
    """How much more often a word stands in texts of class 1 than of class 0, as a logarithm, by id; counts plus one."""
    model = MultinomialNB().fit(counts, labels)
    return model.feature_log_prob_[1] - model.feature_log_prob_[0]


def rarity(counts: csr_array) -> ndarray:
    """Inverse document frequency by id, smoothed: ln((1 + D) / (1 + texts that hold the word)) + 1."""
    return TfidfTransformer().fit(counts).idf_


def beside_first(first: Traces, traces: Traces) -> dict[str, ndarray]:
    """JSD (D,) of weights to the first seed's, which `against` has of both models' own: permuted_jsd, the model's in
    SOUGHT other orders beside the first's own; <definition>_jsd, both under that oracle attention."""
    offsets = traces.offsets
    permuted = [
        jsd_ragged(permuted_weights(traces, draw).attention, first.attention, offsets) for draw in range(SOUGHT)
    ]
    columns = {"permuted_jsd": np.mean(permuted, axis=0)}
    for name, weigh in GOOD.items():
        columns[f"{name}_jsd"] = jsd_ragged(weigh(traces).attention, weigh(first).attention, offsets)
    return columns
