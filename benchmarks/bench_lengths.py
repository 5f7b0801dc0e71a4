"""Leave-one-out against length: seconds a document, the fitted exponent, and the counted floor.

python -m benchmarks --lengths      measures 20 to 2,000 words and writes data/measured/leave_one_out_by_length.csv
"""

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from benchmarks import cost

LENGTHS = (20, 50, 100, 200, 500, 1000, 2000)
WORDS = 4_000
"""Words timed together at each length, in at least two and at most 64 texts."""


def cost_by_length(
    lengths: Sequence[int] = LENGTHS, encoder: str = "lstm", repeats: int = 2, words: int = WORDS, note: str = ""
) -> pd.DataFrame:
    """Leave-one-out of random texts by an untrained network (vectors of 300, BiLSTM of 128, additive attention).

    One thread. One row per length: encoder, tokens (words of a text), documents, forward and seconds (a text: one pass;
    leave-one-out with that pass; minimum over repeats), operations and naive (floating-point operations a text with
    shared states and with every text encoded anew, see cost.operations; BiLSTM only), floor_rate (operations a second
    of a large matrix product measured beside it), floor (operations / floor_rate, seconds), exponent (slope of log
    seconds over log tokens in the longer half of the lengths, the same in each row), machine, threads, torch, date,
    note.
    """
    rows = []
    for n in lengths:
        texts = int(np.clip(words // n, 2, 64))
        timed = cost.time_live(encoder, [n], texts, repeats).iloc[0]
        rows.append((encoder, n, texts, timed["forward"], timed["leave_one_out"], cost.product_rate()))
    table = pd.DataFrame(rows, columns=["encoder", "tokens", "documents", "forward", "seconds", "floor_rate"])
    if encoder == "lstm":
        counted = cost.operations(table["tokens"])
        table = table.assign(operations=counted["shared"], naive=counted["naive"])
        table["floor"] = table["operations"] / table["floor_rate"]
    long = table.iloc[len(table) // 2 :]
    return table.assign(
        exponent=cost.exponent(long["tokens"], long["seconds"])["slope"],
        machine=cost.machine(),
        threads=1,
        torch=torch.__version__,
        date=datetime.date.today().isoformat(),
        note=note,
    )


def write(path: Path, note: str, **options) -> pd.DataFrame:
    """Measure `cost_by_length` and store the table."""
    table = cost_by_length(note=note, **options)
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, float_format="%.6g")
    return table


def rows(long: bool = False) -> Iterator[dict]:
    """Rows of `make bench`: up to 200 words, with `long` up to 1,000."""
    table = cost_by_length(LENGTHS[:-1] if long else LENGTHS[:4])
    for row in table.itertuples():
        yield {
            "name": f"leave-one-out, one text of {row.tokens} words",
            "seconds": row.seconds,
            "floor": row.floor,
            "distance": row.seconds / row.floor,
            "note": f"one thread; floor at {row.floor_rate / 1e9:.0f} GFLOP/s; long half grows as n^{row.exponent:.2f}",
        }
