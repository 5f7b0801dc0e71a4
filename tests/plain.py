"""Plain twins: the experiments as loops over documents and tokens, as one would write them first.

Tests hold the fast forms to these, benchmarks time against them.
"""

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
    context = attention @ traces.contribution[traces.offsets[row] : traces.offsets[row + 1]].astype(np.float64)
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


def kendall(x, y, offsets):
    """(tau, p) of every document, one SciPy call each; NaN for one token."""
    tau, p = np.full((2, len(offsets) - 1), np.nan)
    for row, (start, stop) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        if stop - start > 1:
            tau[row], p[row] = kendalltau(x[start:stop], y[start:stop])
    return tau, p


def median_change(traces, draws):
    """Median change of output over permutations draws (count, T), a loop over documents and permutations."""
    median = np.empty(len(traces))
    for row, tokens, attention, _ in documents(traces):
        original = output_under(traces, row, attention)
        changes = [
            0.5 * np.abs(output_under(traces, row, attention[order]) - original).sum() for order in draws[:, tokens]
        ]
        median[row] = np.median(changes)
    return median


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


def search(traces, starts, k=5, penalty=500.0, margin=0.01, diversity=None, objective="jsd", steps=500, lr=0.01):
    """The authors' search with automatic differentiation in double precision, one document at a time, (k, T)."""
    import torch

    def divergence(a, b):
        mean = (a + b) / 2
        return 0.5 * (a * (a / mean).log()).sum(-1) + 0.5 * (b * (b / mean).log()).sum(-1)

    diversity = 1 / k**2 if diversity is None else diversity
    found = np.empty(starts.shape)
    for row, tokens, attention, contribution in documents(traces):
        own, outputs = torch.tensor(attention), differentiable(traces, row, contribution)
        p = outputs(own)
        logits = torch.tensor(starts[:, tokens], dtype=torch.float64, requires_grad=True)
        optimiser = torch.optim.Adam([logits], lr=lr, amsgrad=True)
        for _ in range(steps):
            optimiser.zero_grad()
            a = torch.softmax(logits, -1)  # (k, n)
            first = divergence(a, own) if objective == "jsd" else (a * (a / own).log()).sum(-1)
            distance = (outputs(a) - p).abs().sum(-1)
            among = divergence(a[:, None], a[None, :])  # (k, k)
            loss = (-first + penalty * torch.relu(distance - margin)).sum() - diversity * among.sum()
            loss.backward()
            optimiser.step()
        found[:, tokens] = torch.softmax(logits.detach(), -1).numpy()
    return found


def differentiable(traces, row, contribution):
    """Function of weights (..., n) as a torch tensor: p (..., 1) of one logit, else the softmax outputs (..., K)."""
    import torch

    value, bias = torch.tensor(contribution), torch.tensor(traces.bias, dtype=torch.float64)
    if traces.readout is None:
        squash = torch.sigmoid if traces.classes == 1 else lambda logits: torch.softmax(logits, -1)
        return lambda a: squash(a @ value + bias)
    query, readout = (torch.tensor(x, dtype=torch.float64) for x in (traces.query[row], traces.readout))
    allowed = torch.tensor(np.ones(traces.classes, bool) if traces.allowed is None else traces.allowed[row])

    def outputs(a):
        logits = torch.tanh(query + a @ value) @ readout.T + bias
        return torch.softmax(logits.masked_fill(~allowed, -torch.inf), -1)

    return outputs
