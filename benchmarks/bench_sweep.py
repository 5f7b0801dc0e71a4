"""The minutes of all runs of Wiegreffe & Pinter on a data set: one whole sweep, two processes of one thread each."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
import yaml

from attn_lab.data.files import cache_folder
from attn_lab.runs.sweep import expand
from benchmarks import cost


def seconds(blocks: list[dict], words: list[str], threads: int) -> float:
    """Time of `python -m attn_core sweep` over grid blocks, with data and vectors that this machine has prepared."""
    with tempfile.TemporaryDirectory() as folder:
        for prepared in ("corpora", "vectors"):
            if (cache_folder() / prepared).is_dir():
                (Path(folder) / prepared).symlink_to((cache_folder() / prepared).resolve())
        grid = Path(folder) / "grid.yml"
        archive = Path(folder) / "archive"
        grid.write_text(json.dumps(blocks))  # JSON is YAML
        archive.mkdir()  # empty: nothing is taken from the book's
        folders = {"ATTN_CACHE": folder, "ATTN_ARCHIVE": str(archive), "OMP_NUM_THREADS": str(threads)}
        command = [sys.executable, "-m", "attn_core", "sweep", str(grid), *words]
        start = perf_counter()
        done = subprocess.run(command, check=False, env={**os.environ, **folders}, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed: {done.stdout[-300:]} {done.stderr[-300:]}")
        return perf_counter() - start


def wiegreffe(corpus: str) -> pd.DataFrame:
    """All runs of Wiegreffe & Pinter's sweeps on one data set in an empty store, two at a time; one row.

    Columns: corpus, runs, minutes, processes, cores, machine, torch, date.
    """
    blocks = blocks_on(corpus)
    if not blocks:
        raise SystemExit(
            f"no sweep of Wiegreffe & Pinter's names the data set {corpus!r}; see data/sweeps/wiegreffe-*.yml"
        )
    planned = {run for block in blocks for run in expand(block)}
    minutes = seconds(blocks, ["--jobs", "2"], 1) / 60
    row = {"corpus": corpus, "runs": len(planned), "minutes": minutes, "processes": 2, "cores": os.cpu_count()}
    return cost.stamped(pd.DataFrame([row]))


def keep(row: pd.DataFrame, path: Path) -> None:
    """Put a row of `wiegreffe` into the stored table, in the place of an earlier one of its data set."""
    if path.is_file():
        stored = pd.read_csv(path)
        row = pd.concat([stored[~stored["corpus"].isin(row["corpus"])], row])
    row.to_csv(path, index=False, float_format="%.6g")


def blocks_on(corpus: str) -> list[dict]:
    """The blocks of data/sweeps/wiegreffe-*.yml that name a data set, for it alone."""
    sweeps = sorted((Path(__file__).parents[1] / "data" / "sweeps").glob("wiegreffe-*.yml"))
    blocks = [block for path in sweeps for block in yaml.safe_load(path.read_text())]
    return [block | {"corpus": corpus} for block in blocks if corpus in np.atleast_1d(block["corpus"])]
