"""A model's decoder as a function of what is attended to: all that traces need of it."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from attn_core.documents import Documents, pad
from attn_core.models.classifier import Classifier, output_slope
from attn_core.models.hierarchical import Hierarchical
from attn_core.models.paired import Paired
from attn_core.traces import Arrays, Traces

QUERIES = 512
"""Second texts read side by side."""


@dataclass(frozen=True)
class Queries:
    """What the decoder of a paired model takes besides the context, of B second texts."""

    summary: Tensor  # (B, H) q
    hidden: Tensor  # (B, M) their share in the hidden layer, with all its constants: a + B q + b
    readout: Tensor  # (K, M) U
    allowed: Tensor | None  # (B, K)


@dataclass(frozen=True)
class Decoder:
    """logits = bias + context, of pairs bias + readout tanh(hidden + context), minus infinity where not allowed."""

    bias: Tensor  # (K,)
    queries: Queries | None = None

    def take(self, rows: np.ndarray) -> "Decoder":
        """The decoder of some of the documents."""
        queries = self.queries
        if queries is None:
            return self
        index = torch.as_tensor(rows, device=self.bias.device)
        allowed = None if queries.allowed is None else queries.allowed[index]
        taken = replace(queries, summary=queries.summary[index], hidden=queries.hidden[index], allowed=allowed)
        return Decoder(self.bias, taken)

    def logits(self, context: Tensor) -> Tensor:
        """Logits (..., B, K) of attended contributions (..., B, K or M)."""
        if self.queries is None:
            return self.bias + context
        hidden = (self.queries.hidden + context).tanh()
        logits = hidden @ self.queries.readout.t().to(context.dtype) + self.bias
        return logits if self.queries.allowed is None else logits.masked_fill(~self.queries.allowed, -torch.inf)

    def slope(self, context: Tensor) -> Tensor:
        """dp / dcontext (B, K or M); p as in `output_slope`."""
        slope = output_slope(self.logits(context))
        if self.queries is None:
            return slope
        hidden = (self.queries.hidden + context).tanh()
        return (1 - hidden) * (1 + hidden) * (slope @ self.queries.readout)

    def traces(self, documents: Documents, offsets: np.ndarray, arrays: Arrays) -> Traces:
        """Traces of the tokens at offsets (D + 1,) from their arrays."""
        queries = self.queries
        pairs = {} if queries is None else {"query": queries.hidden, "readout": queries.readout}
        return Traces(
            documents.doc_ids,
            documents.labels,
            offsets.astype(np.int64),
            **arrays,
            bias=to_numpy(self.bias),
            allowed=documents.allowed(len(self.bias)),
            **{name: to_numpy(values) for name, values in pairs.items()},
        )


def to_numpy(values: Tensor) -> np.ndarray:
    """A copy in single precision."""
    return values.detach().float().cpu().numpy().copy()


def decoder_of(model: Classifier | Paired | Hierarchical, documents: Documents) -> Decoder:
    """The decoder of these documents."""
    if not isinstance(model, Paired):
        return Decoder(model.decoder.bias)
    joint = model.decoder
    bias = joint.output.bias
    q = bias.new_empty(len(documents), model.encoder.width)  # (D, H)
    by_length = np.argsort(-documents.queries.lengths, kind="stable")
    for rows in np.array_split(by_length, -(-len(by_length) // QUERIES)):
        ids, lengths = (torch.as_tensor(array, device=bias.device) for array in pad(documents.queries, rows))
        q[torch.as_tensor(rows, device=bias.device)] = model.summary(ids, lengths)
    mask = documents.allowed(model.outputs)
    allowed = None if mask is None else torch.as_tensor(mask, device=bias.device)
    return Decoder(bias, Queries(q, joint.query(q) + joint.context.bias, joint.output.weight, allowed))
