"""ATTN_FAST=0: a run made and tested on the plain forms alone stores the tables that the fast forms store."""

import numpy as np

from attn_core import fast
from attn_lab.more.erasure import document_table as erasure_table
from attn_lab.more.tables import document_table, summary_table
from attn_lab.runs.results import obtain
from attn_lab.runs.run import Run

SMALL = (("n_dev", 40), ("n_test", 6), ("n_train", 200))
LOOSE = {"search": 2e-3, "permutation": 2e-3, "tau_": 2e-2, "p_": 2e-2}
"""By a part of a name (its start, where the part ends in _), what may differ: roundings add up in 500 steps of a
search and in swaps, a near tie may turn."""


def belongs(name: str, part: str) -> bool:
    return name.startswith(part) if part.endswith("_") else part in name


def apart(first, second) -> dict[str, float]:
    """Column -> largest difference of two tables."""
    assert list(first) == list(second) and len(first) == len(second)
    numbers = first.select_dtypes("number").columns
    assert first[numbers].isna().equals(second[numbers].isna())
    return {name: float(np.abs(first[name] - second[name]).fillna(0).max()) for name in numbers}


def test_a_planted_run_stores_the_same_tables(tmp_path, monkeypatch):
    run, found = Run("planted", epochs=1, options=SMALL), {}
    for form in ("fast", "plain"):
        monkeypatch.setenv("ATTN_CACHE", str(tmp_path / form))
        monkeypatch.setenv("ATTN_FAST", "0" if form == "plain" else "1")
        assert fast.enabled() == (form == "fast")
        traces = obtain(run, "fresh", progress=False).traces
        documents = document_table(traces)
        found[form] = documents, erasure_table(traces), summary_table(documents)
    for first, second in zip(found["fast"][:2], found["plain"][:2], strict=True):
        for name, difference in apart(first, second).items():
            allowed = next((most for part, most in LOOSE.items() if belongs(name, part)), 2e-4)
            assert difference <= allowed, (name, difference)
    first, second = (found[form][2] for form in ("fast", "plain"))
    means = (part[(part["measure"] == "mean") & (part["bin"] == "all")]["value"].to_numpy() for part in (first, second))
    np.testing.assert_allclose(*means, atol=2e-3)
