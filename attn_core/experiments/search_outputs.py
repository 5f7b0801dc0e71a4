"""The search of search.py for models of several outputs: text pairs, and classifiers of three classes or more.

The hinge acts on the L1 distance of the outputs, sum_c |p'_c - p_c|, twice the TVD, as in the authors' code (Jain and
Wallace 2019, section 4.2.2). All else is the loss of search.py.

The hidden layer of text pairs is written with sigmoids: tanh(x) = 1 - 2 sigmoid(-2 x), a function that torch computes
ten times as fast. The factors go into query, contributions, readout and bias, so a step has no more operations.
"""

from dataclasses import dataclass

import numpy as np

from attn_core.experiments.tables import blocks, pad
from attn_core.traces import Traces

BLOCK = 1 << 19
"""Numbers (padded tokens times width) of contributions searched at once: 2 MB stay in the processor's cache."""

MULTIPLE = 16
"""Tokens, hidden numbers and outputs are padded to multiples of this, so that every row begins on a cache line: that is
faster, and products of a document have the same bits wherever it stands in memory."""

LANES = 4
"""Blocks are filled up to multiples of this many documents, which with MULTIPLE fills every register."""


@dataclass(frozen=True)
class Decoder:
    """Outputs of a block of B documents from weights, and their gradient, in single precision.

    value (B, L, M), query (B, 1, M) or None, readout (M, K) or None, bias (B, 1, K) with minus infinity at disallowed
    outputs, own (B, 1, K): outputs under the model's attention. Without query and readout M = K.
    """

    value: object
    query: object
    readout: object
    bias: object
    own: object

    def outputs(self, weights):
        """(outputs (B, k, K), hidden (B, k, M) or None) under weights (B, k, L)."""
        import torch

        if self.readout is None:
            return torch.softmax(torch.bmm(weights, self.value).add_(self.bias), -1), None
        hidden = torch.baddbmm(self.query, weights, self.value).sigmoid_()
        return torch.softmax(torch.matmul(hidden, self.readout).add_(self.bias), -1), hidden

    def pull(self, weights, penalty: float, margin: float):
        """Gradient (B, k, L) with respect to weights of penalty * max(0, sum_c |output_c - own_c| - margin)."""
        import torch

        output, hidden = self.outputs(weights)
        difference = output - self.own
        outside = (difference.abs().sum(-1, keepdim=True) > margin).to(output.dtype).mul_(penalty)  # (B, k, 1)
        sign = difference.sign_()
        slope = sign.sub_((sign * output).sum(-1, keepdim=True)).mul_(output).mul_(outside)  # d/d logits
        if hidden is not None:
            slope = torch.matmul(slope, self.readout.t()).mul_(hidden.addcmul_(hidden, hidden, value=-1.0))
        return torch.bmm(slope, self.value.transpose(1, 2))


def decoder(traces: Traces, rows: np.ndarray, length: int) -> Decoder:
    """The decoder of some documents, padded to a length; M and K are filled up to multiples of MULTIPLE.

    Added hidden numbers are read out with weight 0, added outputs have probability 0.
    """
    paired = traces.readout is not None
    width, outputs = (-(-size // MULTIPLE) * MULTIPLE for size in (traces.contribution.shape[1], traces.classes))
    bias = np.broadcast_to(traces.bias.astype(np.float64), (len(rows), 1, traces.classes))
    query = readout = None
    if paired:
        query = filled(-2.0 * traces.query[rows, None], (len(rows), 1, width))
        readout = filled(-2.0 * traces.readout.T, (width, outputs))
        bias = bias + traces.readout.astype(np.float64).sum(axis=1)
        if traces.allowed is not None:
            bias = np.where(traces.allowed[rows, None], bias, -np.inf)
    real = np.arange(length) < traces.lengths[rows, None]  # (B, L)
    tokens = (traces.offsets[rows, None] + np.arange(length))[real]
    value = np.zeros((*real.shape, traces.contribution.shape[1]), np.float32)
    value[real] = traces.contribution[tokens] * np.float32(-2.0 if paired else 1.0)
    return Decoder(
        value=filled(value, (len(rows), length, width)),
        query=query,
        readout=readout,
        bias=filled(bias, (len(rows), 1, outputs), -np.inf),
        own=filled(traces.outputs[rows, None], (len(rows), 1, outputs)),
    )


def filled(values: np.ndarray, shape: tuple[int, ...], fill: float = 0.0):
    """A float32 tensor of this shape with values in its first corner; torch's own memory begins on a cache line."""
    import torch

    found = torch.full(shape, fill, dtype=torch.float32)
    found[tuple(slice(size) for size in values.shape)] = torch.from_numpy(np.ascontiguousarray(values, np.float32))
    return found


def search_outputs(traces: Traces, starts, mixing, penalty, margin, steps, lr, bar) -> np.ndarray:
    """search.search for traces of several outputs: weights (k, T) float64 from starts (k, T)."""
    found = np.empty(starts.shape)
    for documents, length in blocks(traces.lengths, BLOCK // traces.contribution.shape[1], MULTIPLE, LANES):
        rows = np.pad(documents, (0, -len(documents) % LANES), mode="edge")  # (B,)
        arrays = [
            pad(values, traces, rows, length, fill)
            for values, fill in ((starts, -np.inf), (traces.attention, 0), (traces.score, 0))
        ]
        real = np.arange(length) < traces.lengths[documents, None]  # (documents, L)
        tokens = (traces.offsets[documents, None] + np.arange(length))[real]
        weights = descend(mixing, *arrays, decoder(traces, rows, length), penalty, margin, steps, lr, bar, len(tokens))
        found[:, tokens] = weights[:, : len(documents)][:, real]
    return found


def descend(mixing, start, attention, score, outputs: Decoder, penalty, margin, steps, lr, bar, tokens) -> np.ndarray:
    """Final weights (k, B, L) of a block, float64; at padding start (k, B, L) is -inf, attention and score are 0."""
    import torch

    from attn_core.experiments.search import Buffers

    held = Buffers(mixing, start, attention, score, axis=2)
    optimiser = torch.optim.Adam([held.log_weights], lr=lr, amsgrad=True, fused=True)
    with torch.no_grad():
        for _ in range(steps):
            torch.softmax(held.log_weights, 2, out=held.a)
            held.put_slopes(mixing)
            pull = outputs.pull(held.a.transpose(0, 1), penalty, margin).transpose(0, 1)  # (k, B, L)
            torch.add(held.slope_of, pull, out=held.log_weights.grad)
            torch.mul(held.a, held.log_weights.grad, out=held.slope_of)
            mean = held.slope_of.sum(2, keepdim=True)
            held.log_weights.grad.sub_(mean).mul_(held.a)
            optimiser.step()
            bar.update(tokens)
    return held.final(axis=2)
