"""Several seeds of one data set: two processes of one thread each, or all trained as one, against one after another.

Whole commands are timed, starts of processes, reading of data and storing included; each has a store of runs of its
own. A run of a second shows what a second process costs to start, `--long` with the real SST ($ATTN_DATA) what it saves
later.
"""

import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
import torch
import yaml

from attn_core.corpora.files import cache_folder
from attn_core.sweep import expand
from benchmarks import cost

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
    ways = {"--jobs 2": 1, "--batch-seeds 3": 2, "": 2}  # threads of a process
    for block in blocks or ([SHORT, REAL] if long and os.environ.get("ATTN_DATA") else [SHORT]):
        took = lambda words: seconds([block], words.split(), ways[words])
        *quick, plain = np.min([[took(words) for words in ways] for _ in range(repeats)], axis=0).tolist()
        note = "BiLSTM, additive attention; plain: one after another, two threads; "
        note += f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        for words, own in zip(ways, quick, strict=False):
            yield {"name": f"sweep, {block['corpus']}, {block['seed']}, {words}", "seconds": own, "plain": plain,
                   "ratio": plain / own, "note": note}  # fmt: skip


def wiegreffe(corpus: str) -> pd.DataFrame:
    """All runs of Wiegreffe & Pinter's sweeps on one data set in an empty store, two at a time; one row.

    Columns: corpus, runs, minutes, processes, cores, machine, torch, date.
    """
    if not (blocks := blocks_on(corpus)):
        raise SystemExit(
            f"no sweep of Wiegreffe & Pinter's names the data set {corpus!r}; see data/sweeps/wiegreffe-*.yml"
        )
    planned = {run for block in blocks for run in expand(block, Path("blocks"))}
    minutes = seconds(blocks, ["--jobs", "2"], 1) / 60
    row = {"corpus": corpus, "runs": len(planned), "minutes": minutes, "processes": 2, "cores": os.cpu_count()}
    today = datetime.date.today().isoformat()
    return pd.DataFrame([row | {"machine": cost.machine(), "torch": torch.__version__, "date": today}])


def keep(row: pd.DataFrame, path: Path) -> None:
    """Put a row of `wiegreffe` into the stored table, in the place of an earlier one of its data set."""
    if path.is_file():
        known = pd.read_csv(path)
        row = pd.concat([known[~known["corpus"].isin(row["corpus"])], row])
    row.to_csv(path, index=False, float_format="%.6g")


def blocks_on(corpus: str) -> list[dict]:
    """The blocks of data/sweeps/wiegreffe-*.yml that name a data set, for it alone."""
    sweeps = sorted((Path(__file__).parents[1] / "data" / "sweeps").glob("wiegreffe-*.yml"))
    blocks = [block for path in sweeps for block in yaml.safe_load(path.read_text())]
    return [block | {"corpus": corpus} for block in blocks if corpus in np.atleast_1d(block["corpus"])]
