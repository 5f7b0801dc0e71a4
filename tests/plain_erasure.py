"""Plain twins of Serrano and Smith's experiments: one decoder forward per removal, loops over documents and items."""

from itertools import combinations

import numpy as np

from tests.plain import documents, output


def decode(traces, attention, contribution):
    """Logits (K,) of one document under weights (n,), two for one logit; zero weights give the bias."""
    total = attention.sum()
    context = attention @ contribution / total if total > 0 else np.zeros(contribution.shape[1])
    logits = traces.bias.astype(np.float64) + context
    return np.concatenate([[0.0], logits]) if len(logits) == 1 else logits


def without(traces, attention, contribution, removed):
    """Logits with some items erased and the others renormalised."""
    weight = attention.copy()
    weight[list(removed)] = 0.0
    return decode(traces, weight, contribution)


def gradient(traces, attention, contribution):
    """d p_y / d alpha_t, weights held free, item by item, (n,)."""
    if contribution.shape[1] == 1:
        contribution = np.concatenate([np.zeros_like(contribution), contribution], axis=1)
    logits = decode(traces, attention, contribution[:, -len(traces.bias) :])
    p, y = output(logits), logits.argmax()
    return np.array([p[y] * (c[y] - sum(p[k] * c[k] for k in range(len(p)))) for c in contribution])


def slopes(traces, attention, contribution):
    """The same by central differences of the decoder."""
    y = decode(traces, attention, contribution).argmax()

    def p(weight):
        return output(traces.bias.astype(np.float64) + weight @ contribution)[y]

    step = 1e-6
    moves = step * np.eye(len(attention))
    return np.array([(p(attention + move) - p(attention - move)) / (2 * step) for move in moves])


def first_flip(traces, attention, contribution, order):
    """(removed, mass, zero): items erased one by one in this order until the label changes; -1 where it never does."""
    label = decode(traces, attention, contribution).argmax()
    weight = attention.copy()
    for count, item in enumerate(order, 1):
        weight[item] = 0.0
        if decode(traces, weight, contribution).argmax() != label:
            return count, attention[order[:count]].sum(), weight.sum() == 0
        if weight.sum() == 0:
            break
    return -1, np.nan, False


def removals(traces, draws):
    """(removed, mass, zero) for every document: dict of ranking -> list; draws (T,): importances of 'random'."""
    found = {}
    for _, tokens, attention, contribution in documents(traces):
        slope = gradient(traces, attention, contribution)
        with np.errstate(divide="ignore", invalid="ignore"):
            matched = attention * (slope - attention @ slope) / (1 - attention)
        scores = {"attention": attention, "gradient": slope, "product": attention * slope, "random": draws[tokens]}
        for name, values in (scores | {"first_order": np.where(attention < 1, matched, np.inf)}).items():
            order = np.argsort(-values, kind="stable")
            found.setdefault(name, []).append(first_flip(traces, attention, contribution, order))
    return found


def smallest_flip_set(traces, row, item_left=True):
    """Size of the smallest set whose erasure changes the label, over all subsets; None where there is none."""
    _, _, attention, contribution = list(documents(traces))[row]
    n, label = len(attention), decode(traces, attention, contribution).argmax()
    for size in range(1, n + 1):
        for removed in combinations(range(n), size):
            kept = attention.sum() > 0 and np.delete(attention, removed).sum() > 0
            if (kept or not item_left) and without(traces, attention, contribution, removed).argmax() != label:
                return size
    return None
