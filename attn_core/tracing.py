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
from attn_core.decoding import decoder_of, output_change, output_distance
from attn_core.deletion import contexts_without
from attn_core.errors import AttnError
from attn_core.gradient import importance
from attn_core.models.classifier import Classifier
from attn_core.models.paired import Paired
from attn_core.states import Chunk, chunk, distinct_words, encode, has_fast_form, prepare, read, with_queries
from attn_core.traces import Traces


@dataclass(frozen=True)
class Budget:
    """Size of a chunk: texts side by side make the products large, states and gates are to stay in cache."""

    texts: int
    tokens: int  # 3 kB of LSTM states and gates each
    rows: int  # with leave-one-out, (text, deleted word): 3.6 kB of new states and gates each


BUDGETS = {"cpu": Budget(200, 16_384, 1024), "cuda": Budget(8192, 131_072, 16_384)}


def probabilities(model: Classifier | Paired, documents: Documents) -> np.ndarray:
    """Probability of class 1 of each document, with more than two outputs of the predicted one, (D,) float64."""
    return trace(model, documents, gradient=False, leave_one_out=False, progress=False).p


def trace(
    model: Classifier | Paired,
    documents: Documents,
    gradient: bool = True,
    leave_one_out: bool = True,
    progress: bool = True,
) -> Traces:
    """Traces of the documents in their order, unrounded; computed on the model's device.

    gradient: signed <e_t, dp/de_t>, attention held constant. leave_one_out: the text re-encoded and re-attended
    without word t, NaN where it is the only word: signed p(without t) - p, for pairs the total variation distance over
    all outputs. p is the probability of class 1, or with more than one logit that of the predicted class. Of pairs
    only the first text's words are traced, the second is never changed. Jain & Wallace 2019, Algorithm 1, take
    absolute values of both.
    Deviation: p (1 - p) is formed without cancellation, so the gradients of a saturated output do not vanish as in the
    authors' single precision. progress: a bar with the time left, for work of more than two seconds.
    """
    check(model, documents)
    if not isinstance(model, Paired) and not has_fast_form(model):
        from attn_core.any_encoder import trace_any

        return trace_any(model, documents, gradient, leave_one_out, progress)
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
            without = own.logits(contexts_without(known, part, states, score, contribution))
            found["without"] = without if q is None else output_distance(own.logits(context), without)
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


def check(model: Classifier | Paired, documents: Documents) -> None:
    """AttnError where there is nothing to trace or the documents are not of the model's kind."""
    if len(documents) == 0:
        raise AttnError("there are no documents to trace; one text at least is needed, check the split")
    if len(empty := np.flatnonzero(documents.lengths < 3)):
        raise AttnError(
            f"document {documents.doc_ids[empty[0]]} has {documents.lengths[empty[0]]} tokens; tracing needs start, "
            "at least one word and end: leave empty texts out"
        )
    if isinstance(model, Paired) and documents.query_ids is None:
        raise AttnError("the documents have no second text (query_ids); models of pairs need a question or hypothesis")


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
