"""The authors' search for adversarial attention: Jain and Wallace 2019, section 4.2.2, Equations 1 and 2, Algorithm 3.

k sets of weights per document are moved by Adam so that each is far from the model's attention and from the other
sets while the output stays put. Documents do not influence each other.
"""

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.experiments import draws as random
from attn_core.experiments.search_outputs import search_outputs
from attn_core.experiments.tables import blocks, check_epsilon, has_one_logit, one_logit, pad, sigmoid, table, totals
from attn_core.measures import jsd_ragged
from attn_core.measures import tvd as distance
from attn_core.traces import Traces, probabilities

BLOCK = 1 << 17
"""Padded tokens searched at once; bounds memory (about 30 floats a token at k = 5)."""

LANES = 32
"""Blocks are filled up to multiples of this many documents. Torch works on the last few numbers of a row by other
instructions; so no document is among them, and its weights have the same bits whatever stands beside it."""

ROUNDING = 1e-12
"""By this much TVD may exceed epsilon: permutations that change nothing still move a sum in its last bits."""

LONG = 400_000_000
"""Number updates (k x tokens x steps) from which a search shows its progress: a few seconds."""


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
    noise: float = 3.0,
    seed: int = 0,
    starts: np.ndarray | None = None,
    progress: bool | None = None,
) -> np.ndarray:
    """k adversarial attention distributions per document, (k, T) float64, each summing to 1 within a document.

    Minimises, by Adam with amsgrad from random log-weights, the sum over documents and i = 1..k of
    -JSD(a_i, attention) + penalty * max(0, |p_i - p| - margin) - diversity * sum_j JSD(a_i, a_j). The last iterate
    counts.

    diversity: weight of each ordered pair (i, j); None is 1/k^2 as in the authors' code, `paper_diversity(k)` is the
    paper's text. objective: 'jsd', or 'kl' for -KL(a_i, attention) in the first term, as the first version had it.
    penalty has no factor 1/k (as in the code). noise: standard deviation of the starting log-weights. starts (k, T):
    the starting log-weights themselves, else normal numbers from (seed, doc_id). progress: a bar; None: only if long.
    One logit, or two taken as their difference: the hinge sees |p' - p| (the authors' code sees twice that in softmax
    models). Text pairs and three classes or more: it sees sum_c |p'_c - p_c|, twice the TVD, as in the authors' code.
    Select among the k with `select`.

    Arithmetic is in single precision with a written-out gradient; the tests bound its distance from automatic
    differentiation in double precision.
    """
    import torch
    from tqdm import tqdm

    for name, value, least in (("k", k, 1), ("steps", steps, 0), ("penalty", penalty, 0), ("margin", margin, 0)):
        if value < least:
            raise AttnError(f"{name} must be at least {least}, got {value}")
    if starts is None:
        starts = noise * random.normals(seed, "starts", traces.doc_id, traces.offsets, k)
    elif np.shape(starts) != (k, len(traces.score)):
        raise AttnError(f"starts must be (k, tokens) = {(k, len(traces.score))}, got {np.shape(starts)}")
    mixing = Mixing(k, 1.0 / k**2 if diversity is None else diversity, objective)
    size = len(traces.score) * steps
    shown = k * size > LONG if progress is None else progress
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with tqdm(total=size, unit=" token steps", unit_scale=True, desc="search", disable=not shown) as bar:
        try:
            run = search_one_logit if has_one_logit(traces) else search_outputs
            return run(traces, starts, mixing, penalty, margin, steps, lr, bar)
        finally:
            torch.set_num_threads(threads)


def search_one_logit(traces: Traces, starts, mixing, penalty, margin, steps, lr, bar) -> np.ndarray:
    """`search` for traces of one logit (or two as their difference): weights (k, T) float64 from starts (k, T)."""
    s, bias = one_logit(traces)
    p = sigmoid(totals(traces.attention * s, traces.offsets) + bias)
    found = np.empty(starts.shape)
    for documents, length in blocks(traces.lengths, BLOCK):
        rows = np.pad(documents, (0, -len(documents) % LANES), mode="edge")  # (B,)
        arrays = [
            pad(values, traces, rows, length, fill).swapaxes(-1, -2)  # (..., L, B)
            for values, fill in ((starts, -np.inf), (traces.attention, 0), (traces.score, 0), (s, 0))
        ]
        real = np.arange(length) < traces.lengths[documents, None]  # (documents, L)
        tokens = (traces.offsets[documents, None] + np.arange(length))[real]
        weights = descend(mixing, *arrays, bias, p[rows], penalty, margin, steps, lr, bar, len(tokens))
        found[:, tokens] = weights.swapaxes(-1, -2)[:, : len(documents)][:, real]
    return found


class Mixing:
    """The linear parts of the gradient as two small matrices: a step is two products around one logarithm.

    With l = log-weights, d(loss)/da_i = -1/2 (l_i - ln(a_i + attention)) - diversity sum_{j != i} (l_i - ln(a_i + a_j))
    up to terms constant over tokens, which the softmax's gradient removes; the hinge's part comes on top.
    sums (R, k + 2) times the rows [a_1..a_k, attention, guard] gives what is put into logarithms; combine
    (k, R + k + 1) times [logarithms, l_1..l_k, scores] gives the gradient with respect to a.
    """

    def __init__(self, k: int, diversity: float, objective: str) -> None:
        import torch

        if objective not in ("jsd", "kl"):
            raise AttnError(f"unknown objective '{objective}'; known: jsd, kl")
        pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
        own = k if objective == "jsd" else 0
        self.k, self.logs = k, len(pairs) + own
        self.sums = torch.zeros(self.logs, k + 2)
        self.combine = torch.zeros(k, self.logs + k + 1)
        self.sums[:, k + 1] = 1.0
        for row, (i, j) in enumerate(pairs):
            self.sums[row, [i, j]] = 1.0
            self.combine[[i, j], row] = diversity
        for i in range(k):
            self.combine[i, self.logs + i] = -diversity * (k - 1) - (0.5 if own else 1.0)
            if own:
                self.sums[len(pairs) + i, [i, k]] = 1.0
                self.combine[i, len(pairs) + i] = 0.5
            else:
                self.combine[i, -1] = 1.0  # -(l_i - ln attention)


class Buffers:
    """What a descent of one block keeps: log-weights, weights and slopes, in place; tokens along `axis` of start.

    start has k first; at padding it is -inf, attention and score are 0 there.
    """

    def __init__(self, mixing: Mixing, start, attention, score, axis: int) -> None:
        import torch

        def tensor(values):
            return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))

        k, self.logs, size = mixing.k, mixing.logs, attention.size
        self.real = tensor(start[0]) > -torch.inf
        self.mixed = torch.empty(self.logs + k + 1, size)  # logarithms, log-weights, scores
        self.mixed[-1] = tensor(score).reshape(-1)
        self.log_weights = self.mixed[self.logs : -1].view(start.shape)
        # exp(-200) is 0: padding has weight 0, gradient 0 and never moves
        self.log_weights.copy_(tensor(np.maximum(start - start.max(axis=axis, keepdims=True), -200.0)))
        self.log_weights.grad = torch.zeros_like(self.log_weights)
        self.weights = torch.empty(k + 2, size)  # a_1..a_k, attention, guard
        self.weights[k] = tensor(attention).reshape(-1)
        self.weights[k + 1] = torch.where(self.real, 1e-30, 1.0).reshape(-1)  # keeps every logarithm finite
        self.a = self.weights[:k].view(start.shape)
        self.slope = torch.empty(k, size)
        self.slope_of = self.slope.view(start.shape)

    def put_slopes(self, mixing: Mixing) -> None:
        """slope_of = gradient of the divergences with respect to the weights a."""
        import torch

        torch.mm(mixing.sums, self.weights, out=self.mixed[: self.logs])
        self.mixed[: self.logs].log_()
        torch.mm(mixing.combine, self.mixed, out=self.slope)

    def final(self, axis: int) -> np.ndarray:
        """The weights of the log-weights, float64."""
        import torch

        return torch.softmax(self.log_weights.double().masked_fill(~self.real, -torch.inf), axis).numpy()


def descend(mixing, start, attention, score, s, bias, p, penalty, margin, steps, lr, bar, tokens) -> np.ndarray:
    """Final weights (k, L, B) of a block, float64; at padding start (k, L, B) is -inf and the others (L, B) are 0."""
    import torch

    s, p = (torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)) for values in (s, p))
    held = Buffers(mixing, start, attention, score, axis=1)
    log_weights, a, slope_of = held.log_weights, held.a, held.slope_of
    product = torch.empty(2, *start.shape)
    optimiser = torch.optim.Adam([log_weights], lr=lr, amsgrad=True, fused=True)
    with torch.no_grad():
        for _ in range(steps):
            torch.softmax(log_weights, 1, out=a)
            held.put_slopes(mixing)
            torch.mul(a, s, out=product[0])
            torch.mul(a, slope_of, out=product[1])
            z, mean = product.sum(2, keepdim=True)  # sum a s and sum a slope, each (k, 1, B)
            output = torch.sigmoid(z + bias)
            outside = torch.nn.functional.hardshrink(output - p, margin).sign_()
            pull = outside.mul_(output - output.square()).mul_(penalty)  # d(penalty)/dz
            mean.addcmul_(pull, z)
            torch.addcmul(slope_of, pull, s, out=log_weights.grad).sub_(mean).mul_(a)
            optimiser.step()
            bar.update(tokens)
    return held.final(axis=1)


def select(traces: Traces, weights: np.ndarray, epsilon: float) -> pd.DataFrame:
    """The adversary the paper keeps: of the k found ones and the model's own attention, the largest JSD within epsilon.

    weights (k, T) from search.search, each document's k rows summing to 1. Columns: jsd, tvd (|p' - p| for one logit),
    adversary = its row in weights (-1: the model's own attention, JSD 0, which always qualifies, so every document has
    a value).
    TVD counts as within epsilon up to a rounding error of 1e-12.
    """
    check_epsilon(epsilon)
    weights = np.atleast_2d(np.asarray(weights, np.float64))
    if weights.shape[1] != len(traces.score):
        raise AttnError(f"weights must be (k, {len(traces.score)}) for these traces, got {weights.shape}")
    if has_one_logit(traces):
        s, bias = one_logit(traces)
        p = sigmoid(totals(traces.attention * s, traces.offsets) + bias)
        tvd = np.abs(sigmoid(totals(weights * s, traces.offsets) + bias) - p)  # (k, D)
    else:
        tvd = np.stack([distance(probabilities(traces.logits_under(row)), traces.outputs, axis=-1) for row in weights])
    jsd = np.where(tvd <= epsilon + ROUNDING, jsd_ragged(weights, traces.attention, traces.offsets), 0.0)
    chosen, documents = jsd.argmax(axis=0), np.arange(len(traces))
    jsd, tvd = jsd[chosen, documents], tvd[chosen, documents]
    own = jsd <= 0.0
    return table(traces, jsd=jsd, tvd=np.where(own, 0.0, tvd), adversary=np.where(own, -1, chosen))
