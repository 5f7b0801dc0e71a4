"""Several seeds of one data set: two processes of one thread each against one after another with two threads.

Whole commands are timed, starts of processes, reading of data and storing included; each has a store of runs of its
own. A run of a second shows what a second process costs to start, `--long` with the real SST ($ATTN_DATA) what it saves
later.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import yaml

from attn_core.corpora.load import cache_folder

SHORT = {
    "corpus": "planted",
    "seed": "6 seeds",
    "epochs": 2,
    "options": [[["n_train", 1000], ["n_dev", 100], ["n_test", 100]]],
}
REAL = {"corpus": "sst", "seed": "4 seeds"}
"""Grid blocks: runs of about a second and of about half a minute."""


def seconds(blocks: list[dict], words: list[str], threads: int) -> float:
    """Time of `python -m attn_core sweep` over grid blocks, with data and vectors that this machine has prepared."""
    with tempfile.TemporaryDirectory() as folder:
        for prepared in ("corpora", "vectors"):
            if (cache_folder() / prepared).is_dir():
                (Path(folder) / prepared).symlink_to((cache_folder() / prepared).resolve())
        grid, archive = Path(folder) / "grid.yml", Path(folder) / "archive"
        grid.write_text(json.dumps(blocks))  # JSON is YAML
        archive.mkdir()  # empty: nothing is taken from the book's
        places = {"ATTN_CACHE": folder, "ATTN_ARCHIVE": str(archive), "OMP_NUM_THREADS": str(threads)}
        command = [sys.executable, "-m", "attn_core", "sweep", str(grid), *words]
        start = perf_counter()
        done = subprocess.run(command, env={**os.environ, **places}, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed: {done.stdout[-300:]} {done.stderr[-300:]}")
        return perf_counter() - start


def rows(long: bool = False, blocks: list[dict] | None = None, repeats: int = 1) -> Iterator[dict]:
    """The rows of `make bench`: minimum over repeats of each, in turn, so that both meet the same machine."""
    for block in blocks or ([SHORT, REAL] if long and os.environ.get("ATTN_DATA") else [SHORT]):
        times = [(seconds([block], ["--jobs", "2"], 1), seconds([block], [], 2)) for _ in range(repeats)]
        side_by_side, in_turn = (min(column) for column in zip(*times, strict=True))
        machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        note = f"BiLSTM, additive attention; plain: one after another, two threads; {machine}"
        yield {"name": f"sweep, {block['corpus']}, {block['seed']}, --jobs 2", "seconds": side_by_side,
               "plain": in_turn, "ratio": in_turn / side_by_side, "note": note}  # fmt: skip


def wiegreffe(corpus: str) -> float:
    """Minutes that all runs of Wiegreffe & Pinter's sweeps on one data set take in an empty store, two at a time."""
    if not (blocks := blocks_on(corpus)):
        raise SystemExit(
            f"no sweep of Wiegreffe & Pinter's names the data set {corpus!r}; see data/sweeps/wiegreffe-*.yml"
        )
    return seconds(blocks, ["--jobs", "2"], 1) / 60


def blocks_on(corpus: str) -> list[dict]:
    """The blocks of data/sweeps/wiegreffe-*.yml that name a data set, for it alone."""
    sweeps = sorted((Path(__file__).parents[1] / "data" / "sweeps").glob("wiegreffe-*.yml"))
    blocks = [block for path in sweeps for block in yaml.safe_load(path.read_text())]
    return [block | {"corpus": corpus} for block in blocks if corpus in np.atleast_1d(block["corpus"])]
