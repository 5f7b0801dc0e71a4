"""What the tables of cost share: the machine and the day in each row, the authors' recorded seconds."""

import datetime
import platform
from pathlib import Path

import pandas as pd
import torch

ALL_RUNS = "measured/minutes_of_all_runs.csv"

DATA = Path(__file__).parents[1] / "data"


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
