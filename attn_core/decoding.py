"""From attended contributions to outputs, for tracing: the affine decoder and the hidden layer of the paired models."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from attn_core.corpora.batches import Documents, pad
from attn_core.models.classifier import Classifier
from attn_core.models.paired import Paired
from attn_core.traces import Traces


@dataclass(frozen=True)
class Decoder:
    """logits = bias + context, or bias + readout tanh(query + context) with disallowed outputs at minus infinity."""

    bias: Tensor  # (K,)
    readout: Tensor | None = None  # (K, M)
    query: Tensor | None = None  # (B, M), all constants of the hidden layer
    allowed: Tensor | None = None  # (B, K)

    def of(self, rows: np.ndarray) -> "Decoder":
        """The decoder of some of the documents."""
        index = torch.as_tensor(rows, device=self.bias.device)
        query, allowed = (None if part is None else part[index] for part in (self.query, self.allowed))
        return Decoder(self.bias, self.readout, query, allowed)

    def logits(self, context: Tensor) -> Tensor:
        """Logits (..., B, K) of attended contributions (..., B, K or M)."""
        if self.readout is None:
            return self.bias + context
        logits = (self.query + context).tanh() @ self.readout.t().to(context.dtype) + self.bias
        return logits if self.allowed is None else logits.masked_fill(~self.allowed, -torch.inf)

    def slope(self, context: Tensor) -> Tensor:
        """dp / dcontext (B, K or M); p as in `output_slope`."""
        slope = output_slope(self.logits(context))
        if self.readout is None:
            return slope
        hidden = (self.query + context).tanh()
        return (1 - hidden) * (1 + hidden) * (slope @ self.readout)


def decoder_of(model: Classifier | Paired, documents: Documents) -> tuple[Decoder, Tensor | None]:
    """The decoder of all documents, and for pairs the summaries q (D, H) of their second texts."""
    if not isinstance(model, Paired):
        return Decoder(model.decoder.bias.detach()), None
    decoder = model.decoder
    queries = documents.queries
    order = np.argsort(-queries.lengths, kind="stable")
    device = decoder.output.bias.device
    q = decoder.output.bias.new_empty(len(order), model.encoder.width)
    for rows in np.array_split(order, -(-len(order) // 512)):
        ids, lengths = (torch.as_tensor(array, device=device) for array in pad(queries, rows))
        q[torch.as_tensor(rows, device=device)] = model.summary(ids, lengths)
    allowed = documents.allowed(model.outputs)
    return Decoder(
        decoder.output.bias.detach(),
        decoder.output.weight.detach(),
        decoder.query(q) + decoder.context.bias,
        None if allowed is None else torch.as_tensor(allowed, device=device),
    ), q


def output_slope(logits: Tensor) -> Tensor:
    """dp / dlogits (B, K): p of class 1 for one logit, of the predicted class for more."""
    if logits.shape[1] == 1:
        return logits.sigmoid() * (-logits).sigmoid()
    p = logits.softmax(1)
    predicted = logits.argmax(1, keepdim=True)
    p_predicted = p.gather(1, predicted)
    others = p.scatter(1, predicted, 0.0)
    return p_predicted * (-others).scatter(1, predicted, others.sum(1, keepdim=True))


def output_distance(whole: Tensor, without: Tensor) -> Tensor:
    """Total variation distance over all outputs between logits (B, K) and (n + 1, B, K): (n + 1, B)."""
    return 0.5 * (without.softmax(-1) - whole.softmax(-1)).abs().sum(-1)


def output_change(traces: Traces, logits: np.ndarray) -> np.ndarray:
    """p(without t) - p (T,) float64 from the logits (T, K) without each word."""

    def output(values: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        if values.shape[1] == 1:
            return 0.5 * (1.0 + np.tanh(0.5 * values[:, 0]))
        weight = np.exp(values - values.max(axis=1, keepdims=True))
        return weight[np.arange(len(values)), predicted] / weight.sum(axis=1)

    owner = np.repeat(np.arange(len(traces)), traces.lengths)
    p = output(traces.logits, traces.predicted)
    return output(logits.astype(np.float64), traces.predicted[owner]) - p[owner]
