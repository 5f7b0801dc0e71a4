"""The search of `experiments.search` in single precision with its gradient written out, many documents at once.

Documents are padded to blocks of like length; a document's weights have the same bits whatever stands beside it. The
hidden layer of text pairs is written with sigmoids, tanh(x) = 1 - 2 sigmoid(-2 x), which torch computes ten times as
fast: the factors go into query, contributions, readout and bias, so a step has no more operations.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from attn_core.traces import Traces, chunks, has_one_logit, one_logit, sigmoid, totals

BLOCK = 1 << 17
"""Padded tokens searched at once; bounds memory (about 30 floats a token at k = 5)."""

LANES = 32
"""Blocks are filled up to multiples of this many documents. Torch works on the last few numbers of a row by other
instructions; so no document is among them."""

NUMBERS = 1 << 19
"""With several outputs: padded tokens times width of contributions searched at once; 2 MB stay in the cache."""

MULTIPLE, FEW_LANES = 16, 4
"""With several outputs tokens, hidden numbers and outputs are padded to multiples of MULTIPLE, so that every row begins
on a cache line, which is faster and keeps a document's bits, and blocks are filled up to FEW_LANES documents."""

LONG = 400_000_000
"""Number updates (k x tokens x steps) from which a search shows its progress: a few seconds."""


def search(
    traces: Traces,
    starts: np.ndarray,
    penalty: float,
    margin: float,
    diversity: float,
    objective: str,
    steps: int,
    lr: float,
    progress: bool | None = None,
) -> np.ndarray:
    """Weights (k, T) float64 from starting log-weights (k, T); arguments and loss as in `experiments.search.search`."""
    mixed, found = mixing(len(starts), diversity, objective), np.empty(starts.shape)
    several = not has_one_logit(traces)
    lanes, limits = LANES, (BLOCK,)
    if several:
        lanes, limits = FEW_LANES, (NUMBERS // traces.contribution.shape[1], MULTIPLE, FEW_LANES)
    size = len(traces.score) * steps
    shown = len(starts) * size > LONG if progress is None else progress
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        bar = tqdm(total=size, unit=" token steps", unit_scale=True, desc="search", disable=not shown)
        with bar, torch.no_grad():
            for documents, length in blocks(traces.lengths, *limits):
                rows = np.pad(documents, (0, -len(documents) % lanes), mode="edge")  # (B,)
                held = Buffers(*mixed, traces, starts, rows, length, 2 if several else 1)
                put_gradient = (several_outputs if several else one_output)(traces, rows, length, held, penalty, margin)
                real, tokens = places(traces, documents, length)
                optimiser = torch.optim.Adam([held.log_weights], lr=lr, amsgrad=True, fused=True)
                for _ in range(steps):
                    held.put_slopes()
                    put_gradient()
                    optimiser.step()
                    bar.update(len(tokens))
                found[:, tokens] = held.final()[:, : len(documents)][:, real]
    finally:
        torch.set_num_threads(threads)
    return found


def blocks(lengths: np.ndarray, limit: int, multiple: int = 1, least: int = 1) -> Iterator[tuple[np.ndarray, int]]:
    """`chunks` of documents of like padded length L: (rows (B,), L).

    Lengths are rounded up to a ladder whose steps grow by 1.35, then to multiples of `multiple`; so each document is
    padded alike whatever is computed beside it.
    """
    ladder = [1]
    while ladder[-1] < np.max(lengths, initial=1):
        ladder.append(math.ceil(ladder[-1] * 1.35))
    padded = np.asarray(ladder)[np.searchsorted(ladder, lengths)]
    return chunks(-(-padded // multiple) * multiple, limit, least)


def pad(values: np.ndarray, traces: Traces, rows: np.ndarray, length: int, fill: float) -> np.ndarray:
    """Token values (..., T) of some documents as (..., B, length), filled up at the right."""
    real, tokens = places(traces, rows, length)
    found = np.full((*values.shape[:-1], *real.shape), fill, values.dtype)
    found[..., real] = values[..., tokens]
    return found


def places(traces: Traces, rows: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Of documents padded to a length: which places (B, length) hold a token, and these tokens (N,), in order."""
    position = np.arange(length)
    real = position < traces.lengths[rows, None]
    return real, (traces.offsets[rows, None] + position)[real]


def mixing(k: int, diversity: float, objective: str) -> tuple[Tensor, Tensor]:
    """The linear parts of the gradient as two small matrices: a step is two products around one logarithm.

    With l = log-weights, d(loss)/da_i = -1/2 (l_i - ln(a_i + attention)) - diversity sum_{j != i} (l_i - ln(a_i + a_j))
    up to terms constant over tokens, which the softmax's gradient removes; the hinge's part comes on top.
    sums (R, k + 2) times the rows [a_1..a_k, attention, guard] gives what is put into logarithms; combine
    (k, R + k + 1) times [logarithms, l_1..l_k, scores] gives the gradient with respect to a.
    """
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    own = k if objective == "jsd" else 0
    logs = len(pairs) + own
    sums, combine = torch.zeros(logs, k + 2), torch.zeros(k, logs + k + 1)
    sums[:, k + 1] = 1.0
    for row, (i, j) in enumerate(pairs):
        sums[row, [i, j]] = 1.0
        combine[[i, j], row] = diversity
    for i in range(k):
        combine[i, logs + i] = -diversity * (k - 1) - (0.5 if own else 1.0)
        if own:
            sums[len(pairs) + i, [i, k]] = 1.0
            combine[i, len(pairs) + i] = 0.5
        else:
            combine[i, -1] = 1.0  # -(l_i - ln attention)
    return sums, combine


def tensor(values: np.ndarray) -> Tensor:
    """The same numbers in single precision."""
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


class Buffers:
    """What the search of a block keeps, in place: log-weights, weights and slopes, (k, B, L), or (k, L, B) for axis 1.

    axis: of the tokens. At padding log-weights are -inf, attention and score are 0.
    """

    def __init__(
        self, sums: Tensor, combine: Tensor, traces: Traces, starts: np.ndarray, rows: np.ndarray, length: int,
        axis: int,
    ) -> None:  # fmt: skip
        start, attention, score = (
            np.moveaxis(pad(values, traces, rows, length, fill), -1, axis - 3)
            for values, fill in ((starts, -np.inf), (traces.attention, 0), (traces.score, 0))
        )
        self.sums, self.combine, self.axis, k, size = sums, combine, axis, len(combine), attention.size
        self.real = tensor(start[0]) > -torch.inf
        self.mixed = torch.empty(combine.shape[1], size)  # logarithms, log-weights, scores
        self.mixed[-1] = tensor(score).reshape(-1)
        self.logs, self.log_weights = self.mixed[: len(sums)], self.mixed[len(sums) : -1].view(start.shape)
        # exp(-200) is 0: padding has weight 0, gradient 0 and never moves
        self.log_weights.copy_(tensor(np.maximum(start - start.max(axis=axis, keepdims=True), -200.0)))
        self.log_weights.grad = torch.zeros_like(self.log_weights)
        self.weights = torch.empty(k + 2, size)  # a_1..a_k, attention, guard
        self.weights[k] = tensor(attention).reshape(-1)
        self.weights[k + 1] = torch.where(self.real, 1e-30, 1.0).reshape(-1)  # keeps every logarithm finite
        self.a = self.weights[:k].view(start.shape)
        self.slope = torch.empty(k, size)
        self.slope_of = self.slope.view(start.shape)

    def put_slopes(self) -> None:
        """a = the weights of the log-weights; slope_of = gradient of the divergences with respect to a."""
        torch.softmax(self.log_weights, self.axis, out=self.a)
        torch.mm(self.sums, self.weights, out=self.logs).log_()
        torch.mm(self.combine, self.mixed, out=self.slope)

    def final(self) -> np.ndarray:
        """The weights (k, B, L) of the log-weights, float64."""
        weights = torch.softmax(self.log_weights.double().masked_fill(~self.real, -torch.inf), self.axis).numpy()
        return weights if self.axis == 2 else weights.swapaxes(-1, -2)


def one_output(traces: Traces, rows: np.ndarray, length: int, held: Buffers, penalty: float, margin: float) -> Callable:
    """What puts the gradient of the loss into held.log_weights, for one logit or two as their difference."""
    s, bias = one_logit(traces)
    p = tensor(sigmoid(totals(traces.attention * s, traces.offsets) + bias)[rows])  # (B,)
    s = tensor(pad(s, traces, rows, length, 0).swapaxes(-1, -2))  # (L, B)
    product = torch.empty(2, *held.a.shape)

    def put_gradient() -> None:
        torch.mul(held.a, s, out=product[0])
        torch.mul(held.a, held.slope_of, out=product[1])
        z, mean = product.sum(2, keepdim=True)  # sum a s and sum a slope, each (k, 1, B)
        output = torch.sigmoid(z + bias)
        outside = torch.nn.functional.hardshrink(output - p, margin).sign_()
        pull = outside.mul_(output - output.square()).mul_(penalty)  # d(penalty)/dz
        mean.addcmul_(pull, z)
        torch.addcmul(held.slope_of, pull, s, out=held.log_weights.grad).sub_(mean).mul_(held.a)

    return put_gradient


def several_outputs(
    traces: Traces, rows: np.ndarray, length: int, held: Buffers, penalty: float, margin: float
) -> Callable:
    """The same for text pairs and for three classes or more; the hinge sees sum_c |output_c - own_c|.

    M and K are filled up to multiples of MULTIPLE: added hidden numbers are read out with weight 0, added outputs have
    probability 0, as disallowed ones.
    """
    texts, paired, hidden = len(rows), traces.readout is not None, traces.contribution.shape[1]
    width, outputs = (-(-size // MULTIPLE) * MULTIPLE for size in (hidden, traces.classes))
    bias = np.broadcast_to(traces.bias.astype(np.float64), (texts, 1, traces.classes))
    if paired:
        query = filled(-2.0 * traces.query[rows, None], (texts, 1, width))
        readout = filled(-2.0 * traces.readout.T, (width, outputs))
        bias = bias + traces.readout.astype(np.float64).sum(axis=1)
    if traces.allowed is not None:
        bias = np.where(traces.allowed[rows, None], bias, -np.inf)
    bias = filled(bias, (texts, 1, outputs), -np.inf)
    own = filled(traces.outputs[rows, None], (texts, 1, outputs))
    real, tokens = places(traces, rows, length)
    value = torch.zeros(texts, length, width)
    value[tensor(real) > 0, :hidden] = tensor(traces.contribution[tokens] * np.float32(-2.0 if paired else 1.0))

    def put_gradient() -> None:
        weights = held.a.transpose(0, 1)  # (B, k, L)
        if paired:
            hidden = torch.baddbmm(query, weights, value).sigmoid_()
            logits = torch.matmul(hidden, readout)
        else:
            logits = torch.bmm(weights, value)
        output = torch.softmax(logits.add_(bias), -1)
        difference = output - own
        outside = (difference.abs().sum(-1, keepdim=True) > margin).to(output.dtype).mul_(penalty)  # (B, k, 1)
        sign = difference.sign_()
        slope = sign.sub_((sign * output).sum(-1, keepdim=True)).mul_(output).mul_(outside)  # d/d logits
        if paired:
            slope = torch.matmul(slope, readout.t()).mul_(hidden.addcmul_(hidden, hidden, value=-1.0))
        pull = torch.bmm(slope, value.transpose(1, 2)).transpose(0, 1)  # (k, B, L)
        torch.add(held.slope_of, pull, out=held.log_weights.grad)
        torch.mul(held.a, held.log_weights.grad, out=held.slope_of)
        held.log_weights.grad.sub_(held.slope_of.sum(2, keepdim=True)).mul_(held.a)

    return put_gradient


def filled(values: np.ndarray, shape: tuple[int, ...], fill: float = 0.0) -> Tensor:
    """A float32 tensor of this shape with values in its first corner; torch's own memory begins on a cache line."""
    found = torch.full(shape, fill, dtype=torch.float32)
    found[tuple(slice(size) for size in values.shape)] = tensor(values)
    return found
