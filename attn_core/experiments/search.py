"""The authors' search for adversarial attention: Jain and Wallace 2019, section 4.2.2, Equations 1 and 2, Algorithm 3.

k sets of weights per document are moved by Adam so that each is far from the model's attention and from the other
sets while the output stays put. Documents do not influence each other. The form below is the paper's equation under
automatic differentiation; `fast.search` has the same with the gradient written out.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy import ndarray
from numpy.typing import ArrayLike

from attn_core import checks, fast
from attn_core.errors import AttnError
from attn_core.experiments import draws as random
from attn_core.experiments.tables import ROUNDING, check_epsilon, table
from attn_core.measures import apart, variation
from attn_core.traces import Traces, has_one_logit, one_logit, probabilities

if TYPE_CHECKING:
    from torch import Tensor

NOISE = 3.0
"""Standard deviation of the starting log-weights."""


def paper_diversity(k: int) -> float:
    """The weight per ordered pair in the paper's Equation 1: 1/(k(k-1)) for each unordered pair."""
    return 0.5 / (k * (k - 1)) if k > 1 else 0.0


def search(
    traces: Traces,
    k: int = 5,
    penalty: float = 500.0,
    margin: float = 0.01,
    diversity: float | None = None,
    objective: str = "jsd",
    steps: int = 500,
    lr: float = 0.01,
    seed: int = 0,
    starts: ArrayLike | None = None,
    progress: bool | None = None,
) -> ndarray:
    """k adversarial attention distributions per document, as the authors search for them.

    Jain & Wallace 2019, section 4.2.2, Equations 1 and 2. Minimises, by Adam with amsgrad from random log-weights,
    the sum over documents and i = 1..k of -JSD(a_i, attention) + penalty * max(0, |p_i - p| - margin) - diversity *
    sum_j JSD(a_i, a_j). The last iterate counts; `select` chooses among the k.

    Parameters
    ----------
    traces : Traces
        Of any model.
    k : int
        Adversaries of each document.
    penalty : float
        Of a change of output; without a factor 1/k, as in the authors' code.
    margin : float
        The change that is free.
    diversity : float, optional
        Weight of each ordered pair (i, j); None is 1/k^2 as in the authors' code, `paper_diversity(k)` is the paper's
        text.
    objective : {'jsd', 'kl'}
        'kl': -KL(a_i, attention) in the first term, as the first version had it.
    steps : int
        Of Adam.
    lr : float
        Of Adam.
    seed : int
        Of the starts.
    starts : (k, T) array, optional
        The starting log-weights, else normal numbers of standard deviation NOISE from (seed, doc_id).
    progress : bool, optional
        A bar; None: only if long.

    Returns
    -------
    (k, T) array of float64
        Each row sums to 1 within a document.

    Notes
    -----
    One logit, or two taken as their difference: the hinge sees |p' - p| (the authors' code sees twice that in softmax
    models). Text pairs and three classes or more: it sees sum_c |p'_c - p_c|, twice the TVD, as in the authors' code.
    The fast form computes in single precision.
    """
    checks.whole("k", k, 1)
    checks.whole("steps", steps)
    if objective not in ("jsd", "kl"):
        raise AttnError(f"unknown objective '{objective}'; known: jsd, kl")
    if starts is None:
        starts = NOISE * random.normals(seed, "starts", traces.doc_id, traces.offsets, k)
    starts = checks.numbers("starts", starts, k, len(traces.score))
    if diversity is None:
        diversity = 1.0 / k**2
    checks.numbers("penalty, margin, diversity and lr", [penalty, margin, diversity, lr], 4)
    if fast.enabled():
        from attn_core.fast.search import search as fast_search

        return fast_search(traces, starts, penalty, margin, diversity, objective, steps, lr, progress)
    import torch

    distance_of = divergence if objective == "jsd" else kl
    weights = []
    for row, (start, stop) in enumerate(pairwise(traces.offsets)):
        document = traces.take([row])
        attention = torch.tensor(document.attention)
        outputs = differentiable(document)
        log_weights = torch.tensor(starts[:, start:stop], dtype=torch.float64, requires_grad=True)
        optimiser = torch.optim.Adam([log_weights], lr=lr, amsgrad=True)
        for _ in range(steps):
            a = log_weights.softmax(-1)  # (k, n)
            distance = distance_of(a, attention)
            change = (outputs(a) - outputs(attention)).abs().sum(-1)
            hinge = (change - margin).relu()
            between = divergence(a[:, None], a[None, :])  # (k, k)
            loss = (-distance + penalty * hinge).sum() - diversity * between.sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        weights.append(log_weights.detach().softmax(-1).numpy())
    return np.concatenate(weights, axis=1)


def divergence(a: "Tensor", b: "Tensor") -> "Tensor":
    """Jensen-Shannon divergence along the last axis; weights are above 0."""
    mean = (a + b) / 2
    return 0.5 * (kl(a, mean) + kl(b, mean))


def kl(a: "Tensor", b: "Tensor") -> "Tensor":
    """Kullback-Leibler divergence KL(a, b) along the last axis."""
    return (a * (a / b).log()).sum(-1)


def differentiable(traces: Traces) -> "Callable[[Tensor], Tensor]":
    """One document's outputs as a function of weights (..., n): p (..., 1) of one logit, else (..., K)."""
    import torch

    if has_one_logit(traces):
        contribution, one_bias = one_logit(traces)
        s = torch.tensor(contribution)[:, None]
        return lambda a: (a @ s + one_bias).sigmoid()
    value = torch.tensor(traces.contribution, dtype=torch.float64)
    bias = torch.tensor(traces.bias, dtype=torch.float64)
    if traces.readout is None or traces.query is None:
        return lambda a: (a @ value + bias).softmax(-1)
    query = torch.tensor(traces.query[0], dtype=torch.float64)
    readout = torch.tensor(traces.readout, dtype=torch.float64)
    if traces.allowed is not None:
        bias = bias.masked_fill(torch.tensor(~traces.allowed[0]), -torch.inf)
    return lambda a: ((query + a @ value).tanh() @ readout.T + bias).softmax(-1)


def output_changes(traces: Traces, weights: ndarray) -> ndarray:
    """Change of output (TVD) under weights (k, T), (k, D)."""
    moved = []
    for attention in weights:
        outputs = probabilities(traces.logits_under(attention))
        moved.append(variation(outputs, traces.outputs))
    return np.stack(moved)


def select(traces: Traces, weights: ArrayLike, epsilon: float) -> pd.DataFrame:
    """The adversary the paper keeps: of the k found ones and the model's own attention, the largest JSD within epsilon.

    Parameters
    ----------
    traces : Traces
        Those that were searched.
    weights : (k, T) array
        From `search`.
    epsilon : float
        By how much the output may move, 0 to 1.

    Returns
    -------
    DataFrame
        Columns jsd, tvd (|p' - p| for one logit), adversary: its row in weights, -1 for the model's own attention,
        JSD 0, which always qualifies.
    """
    check_epsilon(epsilon)
    weights = checks.weights("weights", np.atleast_2d(weights), traces.offsets)
    moved = output_changes(traces, weights)  # (k, D)
    jsd = apart(weights, traces.attention, traces.offsets)
    jsd = np.where(moved <= epsilon + ROUNDING, jsd, 0.0)

    adversary = jsd.argmax(axis=0)
    chosen = adversary, np.arange(len(traces))
    nowhere = jsd[chosen] <= 0.0  # the model's own attention is as far
    return table(
        traces,
        jsd=jsd[chosen],
        tvd=np.where(nowhere, 0.0, moved[chosen]),
        adversary=np.where(nowhere, -1, adversary),
    )
