"""Plain twins: the experiments as loops over documents and tokens, as one would write them first."""

from itertools import pairwise

import numpy as np
from scipy.special import logit, rel_entr, softmax
from scipy.stats import kendalltau


def documents(traces):
    """(row, tokens slice, attention (n,), contribution (n, K)) of each document."""
    for row in range(len(traces)):
        tokens = slice(traces.offsets[row], traces.offsets[row + 1])
        yield row, tokens, traces.attention[tokens], traces.contribution[tokens].astype(np.float64)


def output(logits):
    """Probabilities from logits (K,): [1 - p, p] for one logit."""
    return softmax([0.0, *logits] if len(logits) == 1 else logits)


def output_under(traces, row, attention):
    """Output probabilities of document `row` under weights (n,); text pairs and classifiers."""
    tokens = slice(*traces.offsets[row : row + 2])
    context = attention @ traces.contribution[tokens].astype(np.float64)
    if traces.readout is None:
        return output(traces.bias.astype(np.float64) + context)
    hidden = np.tanh(traces.query[row].astype(np.float64) + context)
    logits = traces.readout.astype(np.float64) @ hidden + traces.bias
    possible = ... if traces.allowed is None else traces.allowed[row]
    answers = np.zeros(len(logits))
    answers[possible] = output(logits[possible])
    return answers


def moved(traces, row, weights):
    """(k,) by how much weights (k, n) move the output of document `row`: half the L1 distance."""
    own = traces.attention[traces.offsets[row] : traces.offsets[row + 1]]
    outputs = [output_under(traces, row, attention) for attention in (own, *weights)]
    return 0.5 * np.abs(np.subtract(outputs[1:], outputs[0])).sum(axis=1)


def jsd(a, b):
    """Jensen-Shannon divergence of distributions (..., n)."""
    mean = (np.asarray(a) + b) / 2
    return (rel_entr(a, mean) + rel_entr(b, mean)).sum(axis=-1) / 2


def kendall(x, y, offsets):
    """tau (D,), p (D,) of documents laid end to end, SciPy's one by one; NaN where a vector is constant or NaN."""
    return np.transpose([kendalltau(x[start:stop], y[start:stop]) for start, stop in pairwise(offsets)])


def exact(traces, epsilon):
    """Largest JSD within epsilon by trying every vertex of simplex and slab, (D,); one logit."""
    best = np.empty(len(traces))
    for row, _, attention, contribution in documents(traces):
        s, bias = contribution[:, 0], float(traces.bias[0])
        z = (attention * s).sum()
        p = 1 / (1 + np.exp(-z - bias))
        bounds = logit(np.clip([p - epsilon, p + epsilon], 0, 1)) - bias if epsilon else [z, z]
        slack = 1e-12 * (1 + np.abs(s).max())
        low, high = min(bounds[0], z) - slack, max(bounds[1], z) + slack
        alone = np.eye(len(s))
        vertices = [*alone[(low <= s) & (s <= high)]]
        for bound in (low, high):
            for i in np.flatnonzero(s < bound):
                for j in np.flatnonzero(s > bound):
                    w = (s[j] - bound) / (s[j] - s[i])
                    vertices.append(w * alone[i] + (1 - w) * alone[j])
        best[row] = jsd(vertices, attention).max()
    return best
