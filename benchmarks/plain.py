"""The work that `make bench` times, in plain torch: padded batches of 32, autograd throughout.

So Jain & Wallace's code does it, and so one would write it first. Each function gives the numbers of ours, to rounding.
"""

from itertools import pairwise

import numpy as np
import torch
from numpy import ndarray
from scipy.stats import kendalltau
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attn_core.traces import Traces

BATCH = 32


def by_length(lengths: ndarray, size: int = BATCH) -> list[ndarray]:
    """Rows of documents, the shortest first, in batches."""
    order = np.argsort(lengths, kind="stable")
    return np.split(order, range(size, len(order), size))


def padded(traces: Traces, rows: ndarray, values: ndarray, fill: float = 0.0) -> Tensor:
    """Numbers of the words (T, ...) of some documents as a batch (B, L, ...)."""
    texts = [
        torch.tensor(values[slice(*traces.offsets[row : row + 2])]).float() for row in rows
    ]
    return pad_sequence(texts, batch_first=True, padding_value=fill)


def kendall(x: ndarray, y: ndarray, offsets: ndarray) -> ndarray:
    """SciPy's tau, text by text, (D,)."""
    return np.array(
        [kendalltau(x[start:stop], y[start:stop])[0] for start, stop in pairwise(offsets)]
    )


class Batch:
    """Some documents of traces: attention (B, L), contribution (B, L, K), mask (B, L), True on words."""

    def __init__(self, traces: Traces, rows: ndarray) -> None:
        self.attention = padded(traces, rows, traces.attention)
        self.contribution = padded(traces, rows, traces.contribution)
        self.mask = padded(traces, rows, np.ones(len(traces.score))) > 0
        self.bias = torch.tensor(traces.bias)

    def p(self, attention: Tensor) -> Tensor:
        """Probability of class 1 under weights (..., B, L), (..., B); one logit."""
        return ((attention * self.contribution[..., 0]).sum(-1) + self.bias[0]).sigmoid()

    def decision(self, attention: Tensor) -> Tensor:
        """The class under weights (B, L), (B,); several logits."""
        return ((attention[..., None] * self.contribution).sum(1) + self.bias).argmax(-1)


def permutation(traces: Traces, count: int = 100) -> ndarray:
    """Median change of p under shuffled attention, (D,), one shuffle of a batch after the other; one logit."""
    median_change = np.empty(len(traces))
    for rows in by_length(traces.lengths):
        batch = Batch(traces, rows)
        p = batch.p(batch.attention)
        changes = []
        for _ in range(count):
            keys = torch.rand(batch.mask.shape).masked_fill(
                ~batch.mask, 2.0
            )  # pads are sorted behind every word
            shuffled = batch.attention.gather(1, keys.argsort(-1))
            changes.append((batch.p(shuffled) - p).abs().numpy())
        median_change[rows] = np.median(changes, axis=0)
    return median_change


def search(traces: Traces, starts: ndarray, steps: int = 500) -> ndarray:
    """`experiments.search.search` from the log-weights (k, T), a batch at a time under automatic differentiation."""
    adversaries = np.empty_like(starts)
    for rows in by_length(traces.lengths):
        batch = Batch(traces, rows)
        logs = [padded(traces, rows, start, -torch.inf) for start in starts]
        free = torch.stack(logs).requires_grad_()  # (k, B, L)
        adam = torch.optim.Adam([free], lr=0.01, amsgrad=True)
        for _ in range(steps):
            weights = free.softmax(-1)
            excess = ((batch.p(weights) - batch.p(batch.attention)).abs() - 0.01).relu()
            loss = (500 * excess - divergence(weights, batch.attention)).sum()
            loss -= divergence(weights[:, None], weights).sum() / len(starts) ** 2
            adam.zero_grad()
            loss.backward()
            adam.step()
        tokens = [np.arange(*traces.offsets[row : row + 2]) for row in rows]
        adversaries[:, np.concatenate(tokens)] = free.detach().softmax(-1)[:, batch.mask]
    return adversaries


def divergence(a: Tensor, b: Tensor) -> Tensor:
    """Jensen-Shannon divergence along the last axis."""
    return entropy((a + b) / 2) - (entropy(a) + entropy(b)) / 2


def entropy(weights: Tensor) -> Tensor:
    """Of weights along the last axis, its slope finite where one is 0."""
    return -(weights * (weights + 1e-10).log()).sum(-1)


def removals(traces: Traces, ranks: ndarray) -> ndarray:
    """How many items are erased until the decision changes, (R, D), -1 where it never does: for each of R orders of
    removal (R, D, n), 0 first, one forward pass of the decoder after each item taken from a batch. All texts have n."""
    removed = np.full(ranks.shape[:2], -1)
    for rows in by_length(traces.lengths):
        batch = Batch(traces, rows)
        decision = batch.decision(batch.attention)
        for order, of_order in zip(torch.tensor(ranks[:, rows]), removed, strict=True):
            flipped = torch.full((len(rows),), -1)
            for count in range(1, ranks.shape[2] + 1):
                left = batch.attention * (order >= count)
                left = left / left.sum(1, keepdim=True).clamp(min=1e-30)
                flips = (batch.decision(left) != decision) & (flipped < 0)
                flipped[flips] = count
                if (flipped > 0).all():
                    break
            of_order[rows] = flipped
    return removed
