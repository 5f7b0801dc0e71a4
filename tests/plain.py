"""Plain twins: the experiments as loops over documents and tokens, as one would write them first.

Tests hold the fast forms to these, benchmarks time against them.
"""

from itertools import pairwise

import numpy as np
from scipy.stats import kendalltau


def documents(traces):
    """(row, tokens slice, attention (n,), contribution (n, K)) of each document."""
    for row in range(len(traces)):
        tokens = slice(traces.offsets[row], traces.offsets[row + 1])
        yield row, tokens, traces.attention[tokens], traces.contribution[tokens].astype(np.float64)


def output(logits):
    """Probabilities from logits (K,): [1 - p, p] for one logit."""
    logits = np.concatenate([[0.0], logits]) if len(logits) == 1 else logits
    weight = np.exp(logits - logits.max())
    return weight / weight.sum()


def output_under(traces, row, attention):
    """Output probabilities of document `row` under weights (n,); text pairs and classifiers."""
    context = attention @ traces.contribution[traces.offsets[row] : traces.offsets[row + 1]].astype(
        np.float64
    )
    if traces.readout is None:
        return output(traces.bias.astype(np.float64) + context)
    hidden = np.tanh(traces.query[row].astype(np.float64) + context)
    logits = traces.readout.astype(np.float64) @ hidden + traces.bias
    if traces.allowed is None:
        return output(logits)
    answers = np.zeros(len(logits))
    answers[traces.allowed[row]] = output(logits[traces.allowed[row]])
    return answers


def jsd(a, b):
    """Jensen-Shannon divergence of two distributions, term by term."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        mean = (x + y) / 2
        total += 0.5 * (x * np.log(x / mean) if x > 0 else 0.0)
        total += 0.5 * (y * np.log(y / mean) if y > 0 else 0.0)
    return total


def median_change(traces, draws):
    """Median change of output over permutations draws (count, T), a loop over documents and permutations."""
    median = np.empty(len(traces))
    for row, tokens, attention, _ in documents(traces):
        original = output_under(traces, row, attention)
        changes = [
            0.5 * np.abs(output_under(traces, row, attention[order]) - original).sum()
            for order in draws[:, tokens]
        ]
        median[row] = np.median(changes)
    return median


def kendall(x, y, offsets):
    """tau (D,), p (D,) of documents laid end to end, SciPy's one by one; NaN where a vector is constant or NaN."""
    tau, p = np.full((2, len(offsets) - 1), np.nan)
    for row, (start, stop) in enumerate(pairwise(offsets)):
        if np.ptp(x[start:stop]) > 0 and np.ptp(y[start:stop]) > 0:
            tau[row], p[row] = kendalltau(x[start:stop], y[start:stop])
    return tau, p


def logit(p):
    """ln(p / (1 - p)), infinite at 0 and 1."""
    if p <= 0:
        return -np.inf
    return np.inf if p >= 1 else np.log(p / (1 - p))


def exact(traces, epsilon):
    """Largest JSD within epsilon by trying every vertex of simplex and slab, (D,); one logit."""
    best = np.empty(len(traces))
    for row, _, attention, contribution in documents(traces):
        s, bias = contribution[:, 0], float(traces.bias[0])
        z = (attention * s).sum()
        p = 1 / (1 + np.exp(-z - bias))
        low, high = (z, z) if epsilon == 0 else (logit(p - epsilon) - bias, logit(p + epsilon) - bias)
        slack = 1e-12 * (1 + np.abs(s).max())
        low, high = min(low, z) - slack, max(high, z) + slack
        n, values = len(s), []
        for i in range(n):
            if low <= s[i] <= high:
                values.append(jsd(np.eye(n)[i], attention))
            for j in range(n):
                for bound in (low, high):
                    if np.isfinite(bound) and s[i] < bound < s[j]:
                        vertex = np.zeros(n)
                        vertex[i] = (s[j] - bound) / (s[j] - s[i])
                        vertex[j] = 1 - vertex[i]
                        values.append(jsd(vertex, attention))
        best[row] = max(values)
    return best
