"""From a trained classifier to traces: attention, contributions, gradient importance, leave-one-out.

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

from attn_core.corpora.batches import Documents
from attn_core.deletion import logits_without
from attn_core.errors import AttnError
from attn_core.gradient import importance
from attn_core.models.classifier import Classifier
from attn_core.states import Chunk, chunk, distinct_words, encode, prepare, read
from attn_core.traces import Traces


@dataclass(frozen=True)
class Budget:
    """Size of a chunk: texts side by side make the products large, states and gates are to stay in cache."""

    texts: int
    tokens: int  # 3 kB of LSTM states and gates each
    rows: int  # with leave-one-out, (text, deleted word): 3.6 kB of new states and gates each


BUDGETS = {"cpu": Budget(200, 16_384, 1024), "cuda": Budget(8192, 131_072, 16_384)}


def probabilities(model: Classifier, documents: Documents) -> np.ndarray:
    """Probability of class 1 of each document, (D,) float64."""
    return trace(model, documents, gradient=False, leave_one_out=False, progress=False).p


def trace(
    model: Classifier,
    documents: Documents,
    gradient: bool = True,
    leave_one_out: bool = True,
    progress: bool = True,
) -> Traces:
    """Traces of the documents in their order, unrounded; computed on the model's device.

    gradient: signed <e_t, dp/de_t>, attention held constant. leave_one_out: signed p(without t) - p, the text
    re-encoded and re-attended without word t; NaN where it is the only word. p is the probability of class 1, or with
    more than one logit that of the predicted class. Jain & Wallace 2019, Algorithm 1, take absolute values of both.
    Deviation: p (1 - p) is formed without cancellation, so the gradients of a saturated output do not vanish as in the
    authors' single precision. progress: a bar with the time left, for work of more than two seconds.
    """
    if len(documents) == 0:
        raise AttnError("there are no documents to trace; one text at least is needed, check the split")
    if len(empty := np.flatnonzero(documents.lengths < 3)):
        raise AttnError(
            f"document {documents.doc_ids[empty[0]]} has {documents.lengths[empty[0]]} tokens; tracing needs start, "
            "at least one word and end: leave empty texts out"
        )
    distinct, slots = distinct_words(documents.ids)
    with torch.inference_mode():
        network = prepare(model, distinct)
    def work(rows: np.ndarray) -> dict[str, np.ndarray]:
        part = chunk(slots, documents.offsets, network.bias.device, rows)
        states = encode(network, part, keep_gates=gradient)
        score, contribution = read(network, part, states)
        score = score.masked_fill(~part.real, -torch.inf)
        found = {"score": score - score.amax(0), "contribution": contribution}
        if gradient:
            attention = score.softmax(0)
            slope = output_slope(network.bias + (attention[..., None] * contribution).sum(0))
            found["gradient"] = importance(network, part, states, attention, slope)
        if leave_one_out:
            found["logits_without"] = logits_without(network, part, states)
        return {name: ragged(part, values) for name, values in found.items()}

    device = network.bias.device.type
    budget = BUDGETS[device]
    parts = cut(documents.lengths, budget.texts, budget.rows if leave_one_out else budget.tokens)
    costs = documents.lengths.astype(np.float64) ** (2 if leave_one_out else 1)
    found = over_chunks(work, parts, costs, documents.lengths - 2, device, progress)
    logits_without_each = found.pop("logits_without", None)
    traces = Traces(
        doc_id=documents.doc_ids,
        label=documents.labels,
        offsets=np.concatenate([[0], np.cumsum(documents.lengths - 2)]).astype(np.int64),
        bias=network.bias.float().cpu().numpy(),
        **found,
    )
    return replace(traces, leave_one_out=output_change(traces, logits_without_each)) if leave_one_out else traces


def output_slope(logits: Tensor) -> Tensor:
    """dp / dlogits (B, K): p of class 1 for one logit, of the predicted class for more."""
    if logits.shape[1] == 1:
        return logits.sigmoid() * (-logits).sigmoid()
    p = logits.softmax(1)
    predicted = logits.argmax(1, keepdim=True)
    p_predicted = p.gather(1, predicted)
    others = p.scatter(1, predicted, 0.0)
    return p_predicted * (-others).scatter(1, predicted, others.sum(1, keepdim=True))


def output_change(traces: Traces, logits: np.ndarray) -> np.ndarray:
    """p(without t) - p (T,) float32 from the logits (T, K) without each word; NaN in texts of one word."""

    def output(values: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        if values.shape[1] == 1:
            return 0.5 * (1.0 + np.tanh(0.5 * values[:, 0]))
        weight = np.exp(values - values.max(axis=1, keepdims=True))
        return weight[np.arange(len(values)), predicted] / weight.sum(axis=1)

    owner = np.repeat(np.arange(len(traces)), traces.lengths)
    p = output(traces.logits, traces.predicted)
    change = output(logits.astype(np.float64), traces.predicted[owner]) - p[owner]
    return np.where(traces.lengths[owner] > 1, change, np.nan).astype(np.float32)


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


def cut(lengths: np.ndarray, texts: int, tokens: int) -> list[np.ndarray]:
    """Documents from long to short, cut into chunks of at most `texts` texts and `tokens` tokens (or one long text)."""
    order = np.argsort(-lengths, kind="stable")
    parts = []
    start = 0
    while start < len(order):
        size = min(texts, max(1, tokens // int(lengths[order[start]])))
        parts.append(order[start : start + size])
        start += size
    return parts


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
