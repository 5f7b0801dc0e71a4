"""The search of `experiments.search` in single precision with its gradient written out, many documents at once.

Documents are padded to blocks of like length; a document's weights have the same bits whatever stands beside it. The
hidden layer of text pairs is written with sigmoids, tanh(x) = 1 - 2 sigmoid(-2 x), which torch computes ten times as
fast: the factors go into query, contributions, readout and bias, so a step has no more operations.
"""

from collections.abc import Callable, Iterator
from itertools import combinations
from math import ceil, inf

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor, cuda
from tqdm import tqdm

from attn_core.device import compute_device, threads
from attn_core.traces import Traces, chunks, has_one_logit, one_logit, sigmoid, totals

BLOCK = {"cpu": 131_072, "cuda": 4_194_304}
"""Kind of device -> padded tokens searched at once; bounds memory (about 60 floats a token at k = 5)."""

GROWTH = 1.35
"""Steps of the ladder of padded lengths."""

ROUNDED = {"cpu": 1, "cuda": 64}
"""Kind of device -> padded lengths are multiples of this: on a GPU one block more costs as much as some padding."""

AXIS = {"cpu": -2, "cuda": -1}
"""Kind of device -> axis of the tokens with one logit. The processor works on documents side by side; of another axis
than the last, one thread of a GPU would take all tokens of a softmax, and most of its threads none."""

WARM = 3
"""Steps of a block on a GPU, in which torch makes ready, before the others repeat one graph."""

LANES = 32
"""Blocks are filled up to multiples of this many documents. Torch works on the last few numbers of a row by other
instructions; so no document is among them."""

NUMBERS = {"cpu": 524_288, "cuda": 67_108_864}
"""With several outputs: padded tokens times width of contributions searched at once; 2 MB stay in the cache."""

MULTIPLE = 16
"""With several outputs tokens, hidden numbers and outputs are padded to multiples of this, so that every row begins on
a cache line, which is faster and keeps a document's bits."""

FEW_LANES = 4
"""With several outputs blocks are filled up to multiples of this many documents."""

LONG = 400_000_000
"""Number updates (k x tokens x steps) from which a search shows its progress: a few seconds."""


def search(
    traces: Traces,
    starts: ndarray,
    penalty: float,
    margin: float,
    diversity: float,
    objective: str,
    steps: int,
    lr: float,
    progress: bool | None = None,
) -> ndarray:
    """Weights (k, T) float64 from starting log-weights (k, T); arguments and loss as in `experiments.search.search`."""
    device = torch.device(compute_device())
    kind = device.type
    single = has_one_logit(traces)
    lanes = LANES if single else FEW_LANES
    limit = BLOCK[kind] if single else NUMBERS[kind] // traces.contribution.shape[1]
    multiple = ROUNDED[kind] if single else max(ROUNDED[kind], MULTIPLE)
    axis = AXIS[kind] if single else -1
    weights = np.empty(starts.shape)

    shown = starts.size * steps > LONG if progress is None else progress
    bar = tqdm(total=len(traces.score) * steps, unit=" token steps", unit_scale=True, desc="search", disable=not shown)
    with threads(1), bar, torch.no_grad():
        for documents, length in blocks(traces.lengths, limit, multiple, lanes):
            rows = np.pad(documents, (0, -len(documents) % lanes), "edge")  # (B,)
            with device:  # where all tensors are made
                block = Block(traces, starts, rows, length, axis, mixing(len(starts), diversity, objective), lr)
                gradient = (one_output if single else several_outputs)(block, penalty, margin)

            def step(block=block, gradient=gradient) -> None:
                block.put_slopes()
                gradient()
                block.adam.step()

            inside = block.inside[: len(documents)]
            tokens = block.tokens[: inside.sum()]
            repeat = step  # a graph holds no tensors: the step has to live as long as it is replayed
            for number in range(steps):
                if kind == "cuda" and number == WARM:
                    graph = cuda.CUDAGraph()  # recorded, not yet run: a GPU is faster than Python asks for parts
                    with cuda.device(device), cuda.graph(graph, stream=cuda.Stream()):
                        step()
                    repeat = graph.replay
                repeat()
                bar.update(len(tokens))
            weights[:, tokens] = block.final()[:, : len(documents)][:, inside]
    return weights


def blocks(lengths: ndarray, limit: int, multiple: int, least: int) -> Iterator[tuple[ndarray, int]]:
    """`chunks` of documents of like padded length L: (rows (B,), L).

    Lengths are rounded up to a ladder whose steps grow by GROWTH, then to multiples of `multiple`; so each document
    is padded alike whatever is computed beside it.
    """
    ladder = [1]
    while ladder[-1] < np.max(lengths, initial=1):
        ladder.append(ceil(ladder[-1] * GROWTH))
    padded = np.asarray(ladder)[np.searchsorted(ladder, lengths)]
    return chunks(-(-padded // multiple) * multiple, limit, least)


def mixing(k: int, diversity: float, objective: str) -> tuple[Tensor, Tensor]:
    """The linear parts of the gradient as two small matrices: a step is two products around one logarithm.

    With l = log-weights, d(loss)/da_i = -1/2 (l_i - ln(a_i + attention)) - diversity sum_{j != i} (l_i - ln(a_i + a_j))
    up to terms constant over tokens, which the softmax's gradient removes; the hinge's part comes on top.
    sums (R, k + 2) times the rows [a_1..a_k, attention, guard] gives what is put into logarithms; combine
    (k, R + k + 1) times [logarithms, l_1..l_k, scores] gives the gradient with respect to a.
    """
    jsd = objective == "jsd"
    pairs = list(combinations(range(k), 2))
    logs = len(pairs) + k * jsd  # logarithms of pairs and, for the JSD, of each with the attention
    sums = torch.zeros(logs, k + 2)
    combine = torch.zeros(k, logs + k + 1)
    sums[:, -1] = 1.0
    for row, (i, j) in enumerate(pairs):  # ln(a_i + a_j)
        sums[row, [i, j]] = 1.0
        combine[[i, j], row] = diversity
    for i in range(k):
        combine[i, logs + i] = -diversity * (k - 1) - (0.5 if jsd else 1.0)
        if jsd:  # ln(a_i + attention)
            sums[len(pairs) + i, [i, k]] = 1.0
            combine[i, len(pairs) + i] = 0.5
        else:  # -(l_i - ln attention)
            combine[i, -1] = 1.0
    return sums, combine


def tensor(values: ndarray) -> Tensor:
    """The same numbers in single precision."""
    return torch.as_tensor(np.ascontiguousarray(values, np.float32))


class Block:
    """B documents padded to a length L, and what their search keeps, in place: log-weights, weights and slopes,
    (k, B, L), or (k, L, B) for axis -2.

    axis: of the tokens. At padding log-weights are -inf, attention and score are 0. matrices: of `mixing`.
    """

    def __init__(
        self,
        traces: Traces,
        starts: ndarray,
        rows: ndarray,
        length: int,
        axis: int,
        matrices: tuple[Tensor, Tensor],
        lr: float,
    ) -> None:
        self.traces = traces
        self.rows = rows
        self.axis = axis
        position = np.arange(length)
        self.inside = position < traces.lengths[rows, None]  # (B, L) which places hold a token
        self.tokens = (traces.offsets[rows, None] + position)[self.inside]  # (N,) these, in order
        start = self.pad(starts, -inf)
        k = len(starts)
        self.sums, self.combine = matrices
        self.real = tensor(start[0]) > -inf

        self.mixed = torch.empty(self.combine.shape[1], start[0].size)  # logarithms, log-weights, scores
        self.logs = self.mixed[: len(self.sums)]
        self.log_weights = self.mixed[len(self.sums) : -1].view(start.shape)
        # exp(-200) is 0: padding has weight 0, gradient 0 and never moves
        below = start - start.max(axis, keepdims=True)
        self.log_weights.copy_(tensor(np.maximum(below, -200.0)))
        self.log_weights.grad = self.gradient = torch.zeros_like(self.log_weights)
        self.adam = torch.optim.Adam([self.log_weights], lr=lr, amsgrad=True, fused=True, capturable=self.real.is_cuda)
        self.mixed[-1] = tensor(self.pad(traces.score)).ravel()

        self.weights = torch.empty(k + 2, start[0].size)  # a_1..a_k, attention, guard
        self.a = self.weights[:k].view(start.shape)
        self.weights[k] = tensor(self.pad(traces.attention)).ravel()
        self.weights[-1] = torch.where(self.real, 1e-30, 1.0).ravel()  # keeps every logarithm finite
        self.slope = torch.empty_like(self.a)

    def pad(self, values: ndarray, fill: float = 0.0) -> ndarray:
        """Numbers of tokens (..., T), filled up at the end, as (..., B, L), or (..., L, B) for axis -2."""
        padded = np.full((*values.shape[:-1], *self.inside.shape), fill, values.dtype)
        padded[..., self.inside] = values[..., self.tokens]
        return np.moveaxis(padded, -1, self.axis)

    def put_slopes(self) -> None:
        """a = the weights of the log-weights; slope = gradient of the divergences with respect to a."""
        torch.softmax(self.log_weights, self.axis, out=self.a)
        torch.mm(self.sums, self.weights, out=self.logs).log_()
        torch.mm(self.combine, self.mixed, out=self.slope.view(len(self.a), -1))

    def final(self) -> ndarray:
        """The weights (k, B, L) of the log-weights, float64."""
        log_weights = self.log_weights.double().masked_fill(~self.real, -inf)
        return torch.softmax(log_weights, self.axis).movedim(self.axis, -1).cpu().numpy()


def one_output(block: Block, penalty: float, margin: float) -> Callable[[], None]:
    """What puts the loss's gradient from the slopes, for one logit or two as their difference."""
    traces = block.traces
    axis = block.axis
    contribution, bias = one_logit(traces)
    z_model = totals(traces.attention * contribution, traces.offsets)
    p = tensor(sigmoid(z_model + bias)[block.rows]).unsqueeze(axis)  # (B, 1), or (1, B) for axis -2
    s = tensor(block.pad(contribution))  # (B, L), or (L, B)
    product = torch.empty(2, *block.a.shape)

    def gradient() -> None:
        torch.mul(block.a, s, out=product[0])
        torch.mul(block.a, block.slope, out=product[1])
        z, mean = product.sum(axis, keepdim=True)  # sum a s and sum a slope, over tokens
        output = torch.sigmoid(z + bias)
        outside = torch.hardshrink(output - p, margin).sign_()
        pull = outside.mul_(output - output.square()).mul_(penalty)  # d(penalty)/dz
        mean.addcmul_(pull, z)
        torch.addcmul(block.slope, pull, s, out=block.gradient)
        block.gradient.sub_(mean).mul_(block.a)  # through the softmax

    return gradient


def several_outputs(block: Block, penalty: float, margin: float) -> Callable[[], None]:
    """The same for text pairs and for three classes or more; the hinge sees sum_c |output_c - p_c|, p the model's.

    M and K are filled up to multiples of MULTIPLE: added hidden numbers are read out with weight 0, added outputs have
    probability 0, as disallowed ones.
    """
    traces = block.traces
    rows = block.rows
    units = traces.contribution.shape[1]  # M hidden numbers, or K classes
    width = -(-units // MULTIPLE) * MULTIPLE
    outputs = -(-traces.classes // MULTIPLE) * MULTIPLE
    bias = np.broadcast_to(traces.bias.astype(float), (len(rows), 1, traces.classes))
    readout = None
    factor = 1.0
    if traces.readout is not None and traces.query is not None:
        factor = -2.0  # tanh(x) = 1 - 2 sigmoid(-2 x); what the 1 adds to the logits goes into the bias
        query = filled(factor * traces.query[rows, None], (len(rows), 1, width))
        readout = filled(factor * traces.readout.T, (width, outputs))
        bias = bias + traces.readout.astype(float).sum(1)
    if traces.allowed is not None:
        bias = np.where(traces.allowed[rows, None], bias, -inf)
    bias = filled(bias, (len(rows), 1, outputs), -inf)
    p = filled(traces.outputs[rows, None], (len(rows), 1, outputs))
    value = torch.zeros(*block.inside.shape, width)
    value[block.real, :units] = tensor(traces.contribution[block.tokens] * np.float32(factor))

    def gradient() -> None:
        weights = block.a.transpose(0, 1)  # (B, k, L)
        if readout is not None:
            hidden = torch.baddbmm(query, weights, value).sigmoid_()
            logits = hidden @ readout
        else:
            logits = weights @ value
        output = torch.softmax(logits.add_(bias), -1)
        difference = output - p
        change = difference.abs().sum(-1, keepdim=True)  # (B, k, 1)
        sign = difference.sign_()
        slope = sign.sub_((sign * output).sum(-1, keepdim=True)).mul_(output).mul_(penalty * (change > margin))
        if readout is not None:  # through the logits to the hidden layer, and by the sigmoid's steepness
            slope = (slope @ readout.T).mul_(hidden.addcmul_(hidden, hidden, value=-1.0))
        pull = (slope @ value.mT).transpose(0, 1)  # (k, B, L)
        torch.add(block.slope, pull, out=block.gradient)
        torch.mul(block.a, block.gradient, out=block.slope)
        block.gradient.sub_(block.slope.sum(2, keepdim=True)).mul_(block.a)  # through the softmax

    return gradient


def filled(values: ndarray, shape: tuple[int, ...], fill: float = 0.0) -> Tensor:
    """A float32 tensor of this shape with values in its first corner; torch's own memory begins on a cache line."""
    corner = torch.full(shape, fill)
    corner[tuple(slice(size) for size in values.shape)] = tensor(values)
    return corner
