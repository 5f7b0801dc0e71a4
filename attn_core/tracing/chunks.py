"""Texts of like length read side by side, chunk after chunk, and their numbers put back in the order of the documents.

On a CPU the chunks are shared out to as many Python threads as torch has (`torch.get_num_threads`), each with
single-threaded kernels: torch works outside the interpreter lock, every thread keeps its own cache, and nothing waits
at barriers, which cost a factor of ten as soon as another process wants a core. Chunks do not depend on the number of
threads, so results do not either.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from tqdm import tqdm

from attn_core.documents import take_ragged
from attn_core.models.classifier import Tensors
from attn_core.traces import Arrays


def over_chunks(
    work: Callable[[np.ndarray], Tensors],
    chunks: list[np.ndarray],
    costs: np.ndarray,
    tokens: np.ndarray,
    device: torch.device,
    progress: bool,
) -> Arrays:
    """Arrays of tokens (T, ...) float32 in document order, from work(rows) of each chunk.

    work(rows): arrays by name, of these documents' tokens one document after the other. costs (D,): what the bar
    counts, in proportion to a document's time; tokens (D,) of each in the results.
    """
    starts = np.concatenate([[0], np.cumsum(tokens)])
    results: Arrays = {}
    bar = tqdm(
        total=costs.sum(),
        desc="tracing",
        disable=not progress,
        delay=2,
        bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed} so far, {remaining} left",
    )
    # cuDNN gives recurrent encoders no gradient outside training mode.
    with bar, torch.backends.cudnn.flags(enabled=False):
        for rows, arrays in zip(chunks, in_threads(work, chunks, device), strict=True):
            index, _ = take_ragged(np.arange(starts[-1]), starts, rows)
            for name, values in arrays.items():
                if name not in results:
                    results[name] = np.empty((starts[-1], *values.shape[1:]), np.float32)
                results[name][index] = values
            bar.update(costs[rows].sum())
    if device.type == "cuda":
        torch.cuda.empty_cache()  # for the processes beside this one
    return results


def in_threads(
    work: Callable[[np.ndarray], Tensors], chunks: list[np.ndarray], device: torch.device
) -> Iterator[Arrays]:
    """work(rows) of each chunk, in order, without autograd; on a CPU in single-threaded Python threads."""

    def task(rows: np.ndarray) -> Arrays:
        with torch.inference_mode():
            return {name: values.float().cpu().numpy() for name, values in work(rows).items()}

    threads = torch.get_num_threads()
    workers = min(threads, len(chunks)) if device.type == "cpu" else 1
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from pool.map(task, chunks)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # what later threads start with; this thread's own setting never changed
