"""What leave-one-out costs: timed, counted in operations, fitted against length; and the minutes of whole sweeps."""

import platform
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from attn_core.errors import AttnError

FILE = "measured/leave_one_out_by_length.csv"
ALL_RUNS = "measured/minutes_of_all_runs.csv"
VECTOR, WIDTH = 300, 128
"""Widths of Jain & Wallace: word vectors, LSTM per direction."""

INPUT, RECURRENT, ATTENTION = 2 * VECTOR * 8 * WIDTH, 2 * WIDTH * 8 * WIDTH, 2 * 2 * WIDTH * WIDTH
"""Floating-point operations a token: input and recurrent products of both directions, additive attention."""


def operations(words: np.ndarray) -> pd.DataFrame:
    """Counted operations for a text of `words` words, BiLSTM with additive attention (products alone).

    Columns forward (one pass); naive (a pass for every deletion); shared (input products once, states beside a deletion
    shared: every pair of a deleted and another word costs one new direction and half of the attention layer).
    """
    words = np.asarray(words, float)
    token = INPUT + RECURRENT + ATTENTION
    forward = (words + 2) * token
    naive = words * (words + 1) * token
    shared = forward + words * (words - 1) * (RECURRENT + ATTENTION) / 2
    return pd.DataFrame({"words": words, "forward": forward, "naive": naive, "shared": shared})


def product_rate(size: int = 1024, repeats: int = 5) -> float:
    """Floating-point operations a second of a large matrix product in single precision, one thread, here and now."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        a, b = torch.randn(2, size, size).unbind()
        return 2.0 * size**3 / fastest(lambda: torch.mm(a, b), repeats)
    finally:
        torch.set_num_threads(threads)


def fastest(work, repeats: int) -> float:
    """Seconds of the fastest of some calls."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def time_live(
    encoder: str, words: list[int], texts: int = 8, repeats: int = 2, attention: str = "tanh"
) -> pd.DataFrame:
    """Seconds a text of a forward pass and of leave-one-out, untrained network, random texts, one thread.

    Columns words, forward, leave_one_out: minima over repeats.
    """
    import torch

    from attn_core.corpora.documents import Documents
    from attn_core.models.classifier import build
    from attn_core.tracing import trace

    if not words or min(words) < 2:
        raise AttnError(f"lengths must be whole numbers of at least 2 words, got {words}")
    vocabulary = 2_000
    rng = np.random.default_rng(0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = build(encoder, attention, rng.normal(size=(vocabulary, VECTOR)).astype(np.float32)).eval()
    threads, rows = torch.get_num_threads(), []
    torch.set_num_threads(1)
    try:
        for n in words:
            offsets = np.arange(texts + 1, dtype=np.int64) * (n + 2)
            ids = rng.integers(4, vocabulary, offsets[-1]).astype(np.int32)
            ids[offsets[:-1]], ids[offsets[1:] - 1] = 2, 3
            documents = Documents(ids, offsets, np.zeros(texts, np.int64), np.arange(texts))
            seconds = {
                name: fastest(partial(trace, model, documents, False, loo, progress=False), repeats) / texts
                for name, loo in (("forward", False), ("leave_one_out", True))
            }  # fmt: skip
            rows.append({"words": n} | seconds)
    finally:
        torch.set_num_threads(threads)
    return pd.DataFrame(rows)


def exponent(words: np.ndarray, seconds: np.ndarray, confidence: float = 0.95) -> dict[str, float]:
    """Slope of log seconds on log words by least squares, with its Student t interval; n points.

    NaN bounds for two points. The interval measures how straight the line is, not the machine's noise.
    """
    from scipy.stats import linregress, t

    x, y = np.log(np.asarray(words, float)), np.log(np.asarray(seconds, float))
    if len(x) < 2:
        return {"slope": np.nan, "low": np.nan, "high": np.nan, "factor": np.nan, "n": len(x)}
    fit = linregress(x, y)
    half = t.ppf(0.5 + confidence / 2, len(x) - 2) * fit.stderr if len(x) > 2 else np.nan
    return {
        "slope": fit.slope,
        "low": fit.slope - half,
        "high": fit.slope + half,
        "factor": float(np.exp(fit.intercept)),
        "n": len(x),
    }


def machine() -> str:
    """This machine in words."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
