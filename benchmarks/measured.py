"""Where tables of data/measured are put, and what those of speed say of the machine."""

import datetime
import platform
import re
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike

from attn_core.measures import crossed_interval, seed_interval

DATA = Path(__file__).parents[1] / "data"


def put(name: str, table: pd.DataFrame, *same: str, digits: int = 5) -> None:
    """Write a table; with columns `same`, rows of the stored one that are equal in none of the new ones there stay."""
    path = DATA / "measured" / name
    if same and path.is_file():
        kept = pd.read_csv(path, keep_default_na=False, na_values=[""])
        anew = kept.set_index([*same]).index.isin(table.set_index([*same]).index)
        table = pd.concat([kept[~anew], table])
    table.to_csv(path, index=False, float_format=f"%.{digits}g")
    print(f"{path}: {len(table)} rows", flush=True)


def mean_of(values: ArrayLike, **named) -> dict:
    """A row of a table: mean of values (S, D) of seeds and documents, with its interval over both, or (S,) of seeds."""
    interval = crossed_interval if np.ndim(values) == 2 else seed_interval
    low, high = interval(values)
    sizes = dict(zip(("n_seeds", "documents"), np.shape(values), strict=False))
    row = {
        "value": np.nanmean(values),
        "low": low,
        "high": high,
    }
    return named | row | sizes


def stamped(table: pd.DataFrame) -> pd.DataFrame:
    """A table with this machine, torch's version and the date in each row."""
    today = datetime.date.today().isoformat()
    return table.assign(machine=machine(), torch=torch.__version__, date=today)


def machine() -> str:
    """This machine in words."""
    about = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.+)", about.read_text()) if about.is_file() else None
    return model[1] if model else platform.processor() or platform.machine()
