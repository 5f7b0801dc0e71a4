"""ATTN_FAST=0: a run made and tested on the plain forms alone stores the tables that the fast forms store."""

import numpy as np
import pytest

from attn_core import fast
from attn_core.experiments import document_table, summary_table
from attn_core.experiments.erasure import document_table as erasure_table
from attn_core.fast.gru import Steps
from attn_core.fast.hierarchical import QuickConvolutional
from attn_core.obtain import obtain
from attn_core.run import Run

SMALL = (("n_dev", 40), ("n_test", 12), ("n_train", 200))
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


@pytest.mark.parametrize("encoder", ["lstm", "cnn"])
def test_a_planted_run_stores_the_same_tables(encoder, tmp_path, monkeypatch):
    run, found = Run("planted", encoder, epochs=1, options=SMALL), {}
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


@pytest.mark.parametrize("encoder", ["han_rnn", "flan_conv"])
def test_networks_of_items_are_trained_alike(encoder, tmp_path, monkeypatch):
    """Dropout meets the same elements in both forms, so whole trainings agree; each form is really the one used."""
    cut = (("longest_sentence", 9), *SMALL, ("shortest_sentence", 4))
    run, found, calls = Run("planted", encoder, epochs=2, options=tuple(sorted(cut))), {}, []
    for kind, name in ((Steps, "apply"), (QuickConvolutional, "products")):
        once = getattr(kind, name)
        monkeypatch.setattr(kind, name, lambda *args, once=once: calls.append(1) or once(*args))
    for form in ("fast", "plain"):
        monkeypatch.setenv("ATTN_CACHE", str(tmp_path / form))
        monkeypatch.setenv("ATTN_FAST", "0" if form == "plain" else "1")
        before = len(calls)
        traces = obtain(run, "fresh", progress=False).traces
        assert (len(calls) > before) == (form == "fast")
        found[form] = traces, erasure_table(traces)
    np.testing.assert_allclose(found["fast"][0].contribution, found["plain"][0].contribution, atol=1e-3)
    for name, difference in apart(found["fast"][1], found["plain"][1]).items():
        assert difference <= 1e-3, (name, difference)
