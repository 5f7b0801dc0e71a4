"""What leave-one-out costs by length of text, timed and counted in operations; where the minutes of sweeps are kept.

python -m benchmarks --lengths      measures 20 to 2,000 words and writes data/measured/leave_one_out_by_length.csv
"""

import datetime
import platform
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
import torch

from attn_core.documents import END, START, Documents
from attn_core.models.classifier import build
from attn_core.tracing import trace

FILE = "measured/leave_one_out_by_length.csv"
ALL_RUNS = "measured/minutes_of_all_runs.csv"

DATA = Path(__file__).parents[1] / "data"

LENGTHS = (20, 50, 100, 200, 500, 1000, 2000)
WORDS = 4_000
"""Words timed together at each length, in at least two and at most 64 texts."""

VOCABULARY = 2_000

VECTOR = 300
WIDTH = 128
"""Widths of Jain & Wallace: word vectors, LSTM per direction."""

INPUT = 2 * VECTOR * 8 * WIDTH
RECURRENT = 2 * WIDTH * 8 * WIDTH
ATTENTION = 2 * 2 * WIDTH * WIDTH
"""Floating-point operations a token: input and recurrent products of both directions, additive attention."""


def operations(words: np.ndarray) -> pd.DataFrame:
    """Counted operations for a text of `words` words, BiLSTM with additive attention (products alone).

    Columns naive (a pass for every deletion); operations (input products once, states beside a deletion shared: every
    pair of a deleted and another word costs one new direction and half of the attention layer).
    """
    words = np.asarray(words, float)
    token = INPUT + RECURRENT + ATTENTION
    return pd.DataFrame({"operations": (words + 2) * token + beside(words), "naive": words * (words + 1) * token})


def beside(words: np.ndarray) -> np.ndarray:
    """Operations of all deletions from texts beside their one pass."""
    return words * (words - 1) * (RECURRENT + ATTENTION) / 2


def fastest(work, repeats: int) -> float:
    """Seconds of the fastest of some calls."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def cost_by_length(lengths: Sequence[int] = LENGTHS, repeats: int = 2, words: int = WORDS) -> pd.DataFrame:
    """Leave-one-out of random texts by an untrained BiLSTM with additive attention, on one thread.

    One row per length: encoder, tokens (words of a text), documents, forward and seconds (a text: one pass;
    leave-one-out with that pass; minimum over repeats), the columns of `operations`.
    """
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    model = build("lstm", "tanh", rng.normal(size=(VOCABULARY, VECTOR)).astype(np.float32)).eval()
    rows = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for n in lengths:
        texts = int(np.clip(words // n, 2, 64))
        offsets = np.arange(texts + 1, dtype=np.int64) * (n + 2)
        ids = rng.integers(4, VOCABULARY, offsets[-1]).astype(np.int32)
        ids[offsets[:-1]] = START
        ids[offsets[1:] - 1] = END
        documents = Documents(ids, offsets, np.zeros(texts, np.int64), np.arange(texts))
        row = {"encoder": "lstm", "tokens": n, "documents": texts}
        for name, leave_one_out in (("forward", False), ("seconds", True)):
            work = partial(trace, model, documents, gradient=False, leave_one_out=leave_one_out, progress=False)
            row[name] = fastest(work, repeats) / texts
        rows.append(row)
    torch.set_num_threads(threads)
    table = pd.DataFrame(rows)
    return pd.concat([table, operations(table["tokens"])], axis=1)


def write(path: Path, note: str, **options) -> pd.DataFrame:
    """Measure `cost_by_length` and store the table, with machine, threads, torch, date and a note."""
    table = stamped(cost_by_length(**options)).assign(threads=1, note=note)
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, float_format="%.6g")
    return table


def stamped(table: pd.DataFrame) -> pd.DataFrame:
    """A table with this machine, torch's version and the date in each row."""
    today = datetime.date.today().isoformat()
    return table.assign(machine=machine(), torch=torch.__version__, date=today)


def recorded() -> pd.Series:
    """Seconds that the authors' code took on SST, phase by phase: two threads of another machine."""
    table = pd.read_csv(DATA / "reported" / "baseline_timings.csv")
    return table[table["data"] == "SST"].set_index("phase")["seconds"]


def machine() -> str:
    """This machine in words."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
