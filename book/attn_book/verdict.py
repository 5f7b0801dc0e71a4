"""The claims of the three papers and what decides them; how well tests tell attention of known quality from bad."""

from typing import Any

import pandas as pd
import yaml

from attn_book.derived import measured
from attn_core import Run, store

PAPERS = {
    "jain": "Jain & Wallace",
    "serrano": "Serrano & Smith",
    "wiegreffe": "Wiegreffe & Pinter",
    "ours": "This book",
}

_FILE = yaml.safe_load((store.reported_folder() / "claims.yml").read_text(encoding="utf-8"))
TESTS = _FILE["tests"]
CLAIMS = _FILE["claims"]

CORPORA = ("sst", "agnews", "20news", "imdb")
"""Data sets of two classes with deletions, of which five seeds keep the same documents."""

PLANTED = {
    "evidence": 1,
    "longest": 60,
    "n_dev": 100,
    "n_test": 200,
    "n_train": 600,
    "shortest": 30,
}
"""Options of the generated texts, data/sweeps/testing-the-tests.yml: one word decides, and each word is read alone."""


def planted(seed: int, encoder: str = "average", n_train: int = 600, **fields: Any) -> Run:
    """A run on texts in which one word decides; with a guide or a divergence its base is the trained one."""
    options = PLANTED | {"n_train": n_train}
    if fields.keys() & {"guide", "divergence"}:
        fields.setdefault("base", planted(seed))
    fields.setdefault("attention", "given" if "guide" in fields else "tanh")
    return Run("planted", encoder, seed=seed, options=tuple(options.items()), **fields)


# ---- how well a test tells good attention from bad, data/measured ----------------------------------------------------


def areas() -> pd.DataFrame:
    """Areas under the curve of tests of texts, see benchmarks/bench_tests.py."""
    return measured("tests.csv")


def book_areas() -> pd.DataFrame:
    """Those that the book tells first: five seeds, vectors made by counting."""
    rows = areas()
    return rows[(rows["vectors"] == "ppmi-300") & (rows["n_seeds"] > 1)]


def survivors() -> set[tuple[str, str]]:
    """Tests and data sets where with every definition, alone and beside, the interval lies above one half."""
    least = book_areas().groupby(["measure", "corpus"])["low"].min()
    return set(least.index[least > 0.5])


def neighbours() -> pd.DataFrame:
    """What the verdict counts under other weights: corpus, test, kind, value, low, high, documents."""
    return measured("neighbours.csv")
