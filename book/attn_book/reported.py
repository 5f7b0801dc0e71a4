"""The papers' numbers, from data/reported; data sets under this book's names."""

import io
from functools import cache

import pandas as pd

from attn_core.corpora.catalogue import CATALOGUE, WIEGREFFE
from attn_core.errors import AttnError
from attn_core.store import read_reported, reported_folder

FINAL_RUN, APRIL_RUN = "2019-05-15", "2019-04-04"
"""Snapshots of Jain & Wallace's own results: their last run, and the run behind the paper's Table 2."""

OURS = ("kind", "side", "late", "selection", "measure_ours", "statistic_ours", "predicted", "bin", "encoder_ours",
        "minus")  # fmt: skip
"""Columns of tolerances.csv that say which number of ours a rule judges, and how."""


@cache
def _read(name: str) -> pd.DataFrame:
    paths = {path.name.partition(".")[0]: path.name for path in sorted(reported_folder().glob("*.csv*"))}
    if name not in paths:
        raise AttnError(f"no reported table '{name}'; known: {', '.join(paths)}")
    packed = "gzip" if paths[name].endswith(".gz") else None  # the largest, a twentieth of their size
    table = pd.read_csv(io.BytesIO(read_reported(paths[name])), dtype={"class": "string"}, compression=packed)
    if name == "tolerances":  # what names our number is text, empty where nothing is asked
        table = table.fillna(dict.fromkeys(OURS, "")).astype(dict.fromkeys(OURS, str))
    if "dataset" in table:
        ours = {pair: entry.name for entry in CATALOGUE.values() for pair in entry.reported}
        pairs = zip(table["paper"], table["dataset"], strict=True)
        if name.startswith("wiegreffe_"):  # these spell data sets that paper's way, whoever's numbers they hold
            pairs = (pair if pair in ours else (WIEGREFFE, pair[1]) for pair in pairs)
        table["corpus"] = [ours.get(pair, pair[1]) for pair in pairs]
    return table


def reported(table: str, **where: object) -> pd.DataFrame:
    """Rows of a reported table by values of its columns: reported('jain_table2_kendall_tau', corpus='sst')."""
    rows = _read(table)
    for column, value in where.items():
        rows = rows[rows[column] == value]
    return rows.copy()
