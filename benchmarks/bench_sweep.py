"""Several seeds of one data set: two processes of one thread each against one after another with two threads.

Whole commands are timed, starts of processes, reading of data and storing included, each with a cache of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

RUNS, EPOCHS = 6, 2
OPTIONS = {"n_train": 1000, "n_dev": 100, "n_test": 100}


def seconds(words: list[str], threads: int, runs: int, epochs: int, options: dict) -> float:
    """Time of `python -m attn_core sweep` over `runs` seeds of the planted corpus, BiLSTM with additive attention."""
    with tempfile.TemporaryDirectory() as folder:
        grid = Path(folder) / "grid.yml"
        pairs = json.dumps([list(pair) for pair in options.items()])
        grid.write_text(f"- corpus: planted\n  epochs: {epochs}\n  seed: {runs} seeds\n  options: [{pairs}]\n")
        environment = {**os.environ, "ATTN_CACHE": folder, "OMP_NUM_THREADS": str(threads)}
        command = [sys.executable, "-m", "attn_core", "sweep", str(grid), *words]
        start = perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed: {done.stdout[-300:]} {done.stderr[-300:]}")
        return perf_counter() - start


def rows(
    long: bool = False, runs: int = RUNS, epochs: int = EPOCHS, options: dict | None = None, repeats: int = 1
) -> Iterator[dict]:
    """The row of `make bench`: minimum over repeats of each, in turn, so that both meet the same machine."""
    options = OPTIONS if options is None else options
    sizes = runs, epochs, options
    times = [(seconds(["--jobs", "2"], 1, *sizes), seconds([], 2, *sizes)) for _ in range(repeats)]
    side_by_side, in_turn = (min(column) for column in zip(*times, strict=True))
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    note = f"{epochs} epochs of {options['n_train']} texts, BiLSTM; plain: one after another, two threads; {machine}"
    yield {"name": f"sweep, {runs} seeds, --jobs 2", "seconds": side_by_side, "plain": in_turn,
           "ratio": in_turn / side_by_side, "note": note}  # fmt: skip
