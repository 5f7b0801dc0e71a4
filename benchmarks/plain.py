"""The work that `make bench` times, in plain torch: padded batches of 32, packed sequences, autograd throughout.

So Jain & Wallace's code does it, and so one would write it first. Each function gives the numbers of ours, to rounding.
"""

import copy
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import torch
from scipy.stats import kendalltau
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from attn_core.corpora.documents import Documents, pad
from attn_core.models.classifier import Classifier, real_tokens
from attn_core.models.encoders import BiLSTM
from attn_core.traces import Traces

BATCH = 32


class Packed(nn.Module):
    """A BiLSTM as packed sequences through one bidirectional nn.LSTM, with copies of its weights."""

    def __init__(self, encoder: BiLSTM) -> None:
        super().__init__()
        self.embedding, self.width = encoder.embedding, encoder.width
        self.lstm = nn.LSTM(encoder.embedding.embedding_dim, encoder.width // 2, batch_first=True, bidirectional=True)
        sides = (encoder.forward_lstm, ""), (encoder.backward_lstm, "_reverse")
        own = {name + suffix: value for side, suffix in sides for name, value in side.state_dict().items()}
        self.lstm.load_state_dict(own)

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        packed = pack_padded_sequence(self.embedding(ids), lengths.cpu(), batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=ids.shape[1])[0]


def packed(model: Classifier) -> Classifier:
    """A copy of a model with a BiLSTM, its encoder in the plain form."""
    model = copy.deepcopy(model)
    model.encoder = Packed(model.encoder)
    return model


def optimisers(model: Classifier, rate: float = 1e-3, decay: float = 1e-5) -> list[torch.optim.Adam]:
    """Adam with amsgrad for encoder, attention and decoder, each weight on its own, as the authors' library had it."""
    parts = (model.encoder, decay), (model.attention, 0.0), (model.decoder, decay)
    return [torch.optim.Adam(part.parameters(), rate, weight_decay=own, amsgrad=True, foreach=False, fused=False)
            for part, own in parts]  # fmt: skip


def step(model: Classifier, documents: Documents, rows: np.ndarray, adams: list[torch.optim.Adam]) -> float:
    """One training step on the documents in `rows`; returns the batch's loss."""
    ids, lengths = map(torch.as_tensor, pad(documents, rows))
    labels = torch.as_tensor(documents.labels[rows])[:, None].float()
    loss = nn.functional.binary_cross_entropy_with_logits(model(ids, lengths), labels, reduction="sum")
    for adam in adams:
        adam.zero_grad()
    loss.backward()
    for adam in adams:
        adam.step()
    return loss.item()


def by_length(lengths: np.ndarray, size: int = BATCH) -> list[np.ndarray]:
    """Rows of documents, the shortest first, in batches."""
    order = np.argsort(lengths, kind="stable")
    return [order[start : start + size] for start in range(0, len(order), size)]


def batches(documents: Documents) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
    """(rows, ids (B, L), lengths (B,)) of each batch."""
    for rows in by_length(documents.lengths):
        yield rows, *map(torch.as_tensor, pad(documents, rows))


def evaluate(model: Classifier, documents: Documents) -> np.ndarray:
    """Probability of class 1, (D,)."""
    found = np.empty(len(documents))
    for rows, ids, lengths in batches(documents):
        found[rows] = model(ids, lengths).sigmoid()[:, 0].detach()
    return found


def gradients(model: Classifier, documents: Documents) -> np.ndarray:
    """<e_t, dp/de_t> of each word (T,), the attention held constant, by a backward pass through the whole model."""
    parts, looked_up = [], []
    hook = model.encoder.embedding.register_forward_hook(lambda module, ids, e: looked_up.append(e))
    for rows, ids, lengths in batches(documents):
        h, scores = model.read(ids, lengths)
        looked_up[-1].retain_grad()
        weights = scores.softmax(-1).detach()
        model.decoder((weights[:, None] @ h).squeeze(1)).sigmoid().sum().backward()
        e = looked_up.pop()
        parts.append((rows, real_tokens(ids, lengths), (e.grad * e).sum(-1).detach()))
    hook.remove()
    return in_order(documents.word_offsets, parts)


def leave_one_out(model: Classifier, documents: Documents) -> np.ndarray:
    """p without each word minus p, (T,): column by column taken out of the whole batch, which is encoded anew."""
    parts = []
    for rows, ids, lengths in batches(documents):
        p, change = model(ids, lengths).sigmoid(), torch.zeros(ids.shape)
        for place in range(1, ids.shape[1] - 1):
            shorter = torch.cat([ids[:, :place], ids[:, place + 1 :]], 1)
            change[:, place] = (model(shorter, lengths - 1).sigmoid() - p)[:, 0].detach()
        parts.append((rows, real_tokens(ids, lengths), change))
    return in_order(documents.word_offsets, parts)


def in_order(offsets: np.ndarray, parts: list[tuple[np.ndarray, Tensor, Tensor]]) -> np.ndarray:
    """The numbers at a mask of batches (rows, mask (B, L), values (..., B, L)), document after document (..., T)."""
    found = np.empty((*parts[0][2].shape[:-2], offsets[-1]))
    for rows, mask, values in parts:
        found[..., np.concatenate([np.arange(offsets[row], offsets[row + 1]) for row in rows])] = values[..., mask]
    return found


def padded(traces: Traces, rows: np.ndarray, values: np.ndarray, fill: float = 0.0) -> Tensor:
    """Numbers of the words (T, ...) of some documents as a batch (B, L, ...)."""
    parts = [torch.tensor(values[slice(*traces.offsets[row : row + 2])]).float() for row in rows]
    return pad_sequence(parts, batch_first=True, padding_value=fill)


def kendall(x: np.ndarray, y: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """SciPy's tau, text by text, (D,)."""
    return np.array([kendalltau(x[start:stop], y[start:stop])[0] for start, stop in pairwise(offsets)])


def permutation(traces: Traces, count: int = 100) -> np.ndarray:
    """Median change of p under shuffled attention, (D,), one shuffle of a batch after the other; one logit."""
    found = np.empty(len(traces))
    for rows in by_length(traces.lengths):
        weights, values = padded(traces, rows, traces.attention), padded(traces, rows, traces.contribution)[..., 0]
        beyond = padded(traces, rows, np.zeros(len(traces.score)), 2.0)  # sorted behind every word
        p = lambda shuffled: ((shuffled * values).sum(-1) + traces.bias[0]).sigmoid()  # noqa: B023
        orders = ((beyond + torch.rand(beyond.shape)).argsort(-1) for _ in range(count))
        changes = [(p(weights.gather(1, order)) - p(weights)).abs().numpy() for order in orders]
        found[rows] = np.median(changes, axis=0)
    return found


def search(traces: Traces, starts: np.ndarray, steps: int = 500) -> np.ndarray:
    """`experiments.search.search` from the log-weights (k, T), a batch at a time under automatic differentiation."""
    parts, k = [], len(starts)
    for rows in by_length(traces.lengths):
        own, values = padded(traces, rows, traces.attention), padded(traces, rows, traces.contribution)[..., 0]
        mask = padded(traces, rows, np.ones(len(traces.score))) > 0
        free = torch.stack([padded(traces, rows, start) for start in starts]).requires_grad_()  # (k, B, L)
        adam = torch.optim.Adam([free], lr=0.01, amsgrad=True)
        p = lambda weights: ((weights * values).sum(-1) + traces.bias[0]).sigmoid()  # noqa: B023
        attention = lambda: free.masked_fill(~mask, -torch.inf).softmax(-1)  # noqa: B023
        for _ in range(steps):
            weights = attention()
            excess = ((p(weights) - p(own)).abs() - 0.01).relu()
            loss = (500 * excess - divergence(weights, own)).sum()
            loss = loss - divergence(weights[:, None], weights[None]).sum() / k**2
            adam.zero_grad()
            loss.backward()
            adam.step()
        parts.append((rows, mask, attention().detach()))
    return in_order(traces.offsets, parts)


def divergence(a: Tensor, b: Tensor) -> Tensor:
    """Jensen-Shannon divergence along the last axis."""
    log = lambda x: (x.clamp(0, 1) + 1e-10).log()
    mean = (a + b) / 2
    return 0.5 * ((a * (log(a) - log(mean))).sum(-1) + (b * (log(b) - log(mean))).sum(-1))


def removals(traces: Traces, ranks: np.ndarray) -> np.ndarray:
    """How many items are erased until the decision changes, (R, D), -1 where it never does: for each of R orders (R, T)
    of removal, 0 first, one forward pass of the decoder after each item taken from a batch."""
    found = np.full((len(ranks), len(traces)), -1)
    for rows in by_length(traces.lengths):
        weights, values = padded(traces, rows, traces.attention), padded(traces, rows, traces.contribution)
        decide = lambda kept: ((kept[..., None] * values).sum(1) + torch.tensor(traces.bias)).argmax(-1)  # noqa: B023
        own = decide(weights)
        for order, removed in zip(ranks, found, strict=True):
            rank, flipped = padded(traces, rows, order, np.inf), torch.full((len(rows),), -1)
            for count in range(1, weights.shape[1] + 1):
                kept = weights * (rank >= count)
                kept = kept / kept.sum(1, keepdim=True).clamp(min=1e-30)
                flipped[(decide(kept) != own) & (flipped < 0) & (count <= torch.tensor(traces.lengths[rows]))] = count
                if (flipped > 0).all():
                    break
            removed[rows] = flipped
    return found
