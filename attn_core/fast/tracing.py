"""Traces of many texts at once: attention, contributions, gradient importance, leave-one-out.

Texts are cut into chunks of like length. On a CPU the chunks are shared out to as many Python threads as torch has
(`torch.get_num_threads`), each with single-threaded kernels: torch works outside the interpreter lock, every thread
keeps its own cache, and nothing waits at barriers, which cost a factor of ten as soon as another process wants a
core. Chunks do not depend on the number of threads, so results do not either.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from attn_core.corpora.documents import Documents, pad
from attn_core.fast.deletion import contexts_without
from attn_core.fast.gradient import importance
from attn_core.fast.states import Chunk, chunk, distinct_words, encode, prepare, read, with_queries
from attn_core.models.classifier import Classifier, output_slope
from attn_core.models.paired import Paired
from attn_core.traces import Traces, cut, output_change


@dataclass(frozen=True)
class Budget:
    """Size of a chunk: texts side by side make the products large, states and gates are to stay in cache."""

    texts: int
    tokens: int  # 3 kB of LSTM states and gates each
    rows: int  # with leave-one-out, (text, deleted word): 3.6 kB of new states and gates each


BUDGETS = {"cpu": Budget(200, 16_384, 1024), "cuda": Budget(8192, 131_072, 16_384)}


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


def trace(
    model: Classifier | Paired, documents: Documents, gradient: bool, leave_one_out: bool, progress: bool
) -> Traces:
    """As `attn_core.tracing.trace`, for the encoders and attentions that `states.prepare` knows."""
    distinct, slots = distinct_words(documents.ids)
    with torch.inference_mode():
        network = prepare(model, distinct)
        decoder, q = decoder_of(model, documents)

    def work(rows: np.ndarray) -> dict[str, np.ndarray]:
        part, own = chunk(slots, documents.offsets, decoder.bias.device, rows), decoder.of(rows)
        known = network
        if q is not None:
            known = with_queries(network, model.attention, q[torch.as_tensor(rows, device=q.device)])
        states = encode(known, part, keep_gates=gradient)
        score, contribution = read(known, part, states)
        masked = score.masked_fill(~part.real, -torch.inf)
        found = {"score": masked - masked.amax(0), "contribution": contribution}
        attention = masked.softmax(0)
        context = (attention[..., None] * contribution).sum(0)
        if gradient:
            found["gradient"] = importance(known, part, states, attention, own.slope(context))
        if leave_one_out:
            without = own.logits(contexts_without(known, part, states, score, contribution))  # (n + 1, B, K)
            if q is not None:  # total variation distance over all outputs
                without = 0.5 * (without.softmax(-1) - own.logits(context).softmax(-1)).abs().sum(-1)
            found["without"] = without
        return {name: ragged(part, values) for name, values in found.items()}

    device = decoder.bias.device.type
    budget = BUDGETS[device]
    parts = cut(documents.lengths, budget.texts, budget.rows if leave_one_out else budget.tokens)
    costs = documents.lengths.astype(np.float64) ** (2 if leave_one_out else 1)
    found = over_chunks(work, parts, costs, documents.lengths - 2, device, progress)
    without = found.pop("without", None)
    constants = {"bias": decoder.bias, "readout": decoder.readout, "query": decoder.query}
    traces = Traces(
        doc_id=documents.doc_ids,
        label=documents.labels,
        offsets=np.concatenate([[0], np.cumsum(documents.lengths - 2)]).astype(np.int64),
        allowed=documents.allowed(len(decoder.bias)),
        **{name: None if value is None else value.float().cpu().numpy().copy() for name, value in constants.items()},
        **found,
    )
    if not leave_one_out:
        return traces
    change = output_change(traces, without) if q is None else without
    alone = np.repeat(traces.lengths == 1, traces.lengths)
    return replace(traces, leave_one_out=np.where(alone, np.nan, change).astype(np.float32))


def ragged(part: Chunk, values: Tensor) -> np.ndarray:
    """The words' entries of values (L or fewer, B, ...), document after document."""
    return values.transpose(0, 1)[part.real[: len(values)].t()].float().cpu().numpy()


def over_chunks(
    work: Callable[[np.ndarray], dict[str, np.ndarray]],
    parts: list[np.ndarray],
    costs: np.ndarray,
    words: np.ndarray,
    device: str,
    progress: bool,
) -> dict[str, np.ndarray]:
    """work(rows) of each part; its token arrays are put together in document order, as float32.

    costs (D,): what the bar counts, in proportion to a document's time; words (D,) tokens of each in the results.
    """
    starts = np.concatenate([[0], np.cumsum(words)])
    results: dict[str, np.ndarray] = {}
    with tqdm(
        total=costs.sum(),
        desc="tracing",
        disable=not progress,
        delay=2,
        bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed} so far, {remaining} left",
    ) as bar:
        for rows, found in zip(parts, in_threads(work, parts, device), strict=True):
            tokens = np.concatenate([np.arange(starts[row], starts[row + 1]) for row in rows])
            for name, values in found.items():
                if name not in results:
                    results[name] = np.empty((starts[-1], *values.shape[1:]), np.float32)
                results[name][tokens] = values
            bar.update(costs[rows].sum())
    return results


def in_threads(work: Callable, parts: list, device: str) -> Iterator:
    """work(part) of each part, in order, without autograd; on a CPU in single-threaded Python threads."""

    def task(part):
        with torch.inference_mode():
            return work(part)

    before = torch.get_num_threads()
    if device != "cpu" or min(before, len(parts)) == 1:
        yield from map(task, parts)
        return
    pool = ThreadPoolExecutor(min(before, len(parts)), initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from pool.map(task, parts)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)  # what later threads start with; this thread's own setting never changed
