"""The claims of the three papers and what decides them; how well tests tell attention of known quality from bad."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import yaml

from attn_book.derived import measured
from attn_core.measures import crossed_interval
from attn_lab import Run
from attn_lab.runs import index, store

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
    """Those that the book tells: of five seeds and FEWEST texts at least."""
    rows = areas()
    return rows[rows["documents"] >= FEWEST]


FEWEST = 50
"""Texts below which nothing is claimed."""


def survivors() -> set[tuple[str, str]]:
    """Tests and data sets where with every definition, alone and beside, the interval lies above one half."""
    least = book_areas().groupby(["measure", "corpus"])["low"].min()
    return set(least.index[least > 0.5])


def neighbours() -> pd.DataFrame:
    """What the verdict counts of texts, under the model's own weights, the same permuted, and each oracle attention.

    Columns corpus, test, kind (own, permuted, leverage, decision, deletion), value, low, high (over seeds and texts),
    documents, n_seeds. Of BiLSTMs; gradients: of the models without context.
    """
    rows = []
    for test, columns in COUNTS.items():
        encoder = "average" if test == "gradients" else "lstm"
        for corpus in CORPORA:
            tables = tables_of(corpus, encoder, "against" if test == "stable" else "documents")
            for kind, count in columns.items():
                values = [count(table) for table in tables]
                if values:
                    low, high = crossed_interval(np.array(values))
                    row = {"corpus": corpus, "test": test, "kind": kind, "value": np.mean(values)}
                    rows.append(row | {"low": low, "high": high, "documents": len(values[0]), "n_seeds": len(values)})
    return pd.DataFrame(rows)


@cache
def tables_of(corpus: str, encoder: str, layer: str) -> list[pd.DataFrame]:
    """A table of the archive for each seed that has the controls, of the texts that all of them keep."""
    keys = index.runs(corpus=corpus, encoder=encoder, attention="tanh", source="archive")["key"]
    read = [store.rows_of(store.archive_folder(), layer, key) for key in keys]
    tables = [table.set_index("doc_id") for table in read if table is not None and "permuted_jsd" in table]
    if not tables:
        return []
    shared = sorted(set.intersection(*(set(table.index) for table in tables)))
    return [table.loc[shared] for table in tables]


Count = Callable[[pd.DataFrame], np.ndarray]
"""A document table -> a number of each text."""


def below(name: str, line: float) -> Count:
    return lambda table: (table[name] < line).to_numpy(float)


def above(name: str, line: float) -> Count:
    return lambda table: (table[name] > line).to_numpy(float)


def column(name: str) -> Count:
    return lambda table: table[name].to_numpy(float)


def of_kinds(own: Count, permuted: Count, oracle: Callable[[str], Count]) -> dict[str, Count]:
    """What is counted under each kind of weights."""
    return {
        "own": own,
        "permuted": permuted,
        "leverage": oracle("leverage"),
        "decision": oracle("decision"),
        "deletion": oracle("deletion"),
    }


COUNTS = {
    "permutation": of_kinds(
        below("median_change", 0.1),
        column("permuted_little"),
        lambda kind: below(f"{kind}_shuffle", 0.1),
    ),
    "adversaries": of_kinds(
        above("jsd_exact@0.05", 0.4),
        column("permuted_far"),
        lambda kind: above(f"{kind}_jsd", 0.4),
    ),
    "names": of_kinds(
        column("names_attention"),
        lambda table: 1 / table["n"].to_numpy(float),
        lambda kind: column(f"{kind}_names"),
    ),
    "stable": of_kinds(
        column("jsd"),
        column("permuted_jsd"),
        lambda kind: column(f"{kind}_jsd"),
    ),
    "gradients": of_kinds(
        column("tau_attention_gradient"),
        column("permuted_tau"),
        lambda kind: column(f"{kind}_tau"),
    ),
}
"""Test -> kind of weights -> what is counted of a text (columns of attn_lab/runs/controls.py). Gradients: of the model
without context, the others of the BiLSTM."""
