"""Both papers' tests on made-up traces of either kind."""

import numpy as np
import pytest

from attn_core import exchanged
from attn_core.experiments import erasure
from attn_core.experiments.controls import ceiling
from attn_core.measures import LN2
from attn_core.traces import Traces


def made_up(classes: int, documents: int = 40) -> Traces:
    rng = np.random.default_rng(classes)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 9, documents))])
    items = int(offsets[-1])
    traces = Traces(
        np.arange(documents), rng.integers(0, 2, documents), offsets, rng.normal(size=items),
        2 * rng.normal(size=(items, classes)), rng.normal(size=classes),
        rng.normal(size=items), np.where(rng.random(items) < 0.1, np.nan, rng.normal(size=items)),
    )  # fmt: skip
    return traces.rounded()


@pytest.mark.parametrize("classes", [1, 2, 4])
def test_every_test_has_a_value_in_its_range(classes):
    traces = made_up(classes)
    table = exchanged.per_document(traces)
    assert len(table) == (traces.lengths > 1).sum() and set(exchanged.TESTS) <= set(table)
    assert table["little"].isin([0, 1]).all() and table["one_sided"].isin([-1, 0, 1]).all()
    for name in ("adversary", "adversary_upper", "fraction", "regret"):
        assert table[name].dropna().between(0, 1 + 1e-9).all(), name
    assert (table["adversary"] <= table["adversary_upper"] + 1e-9).all()
    assert (classes > 2) != np.allclose(table["adversary"], table["adversary_upper"]), (
        "exact up to two logits, else a bracket"
    )
    assert ceiling(traces).max() <= LN2 + 1e-12


def test_one_sided_is_the_difference_of_two_cells():
    traces = made_up(3, documents=200)
    table = exchanged.per_document(traces)
    cells = erasure.two_by_two(erasure.single(traces), "attention", "described")
    assert 100 * table["one_sided"].mean() == pytest.approx(cells["only_top"] - cells["only_random"])


def test_a_line_counts_what_is_defined():
    table = exchanged.per_document(made_up(2))
    found = exchanged.line(table).set_index("test")
    assert found.loc["tau_loo", "n"] == table["tau_loo"].notna().sum() < len(table)
    assert (found["low"] <= found["mean"]).all() and (found["mean"] <= found["high"]).all()
    assert found.loc["fraction", "mean"] == np.median(table["fraction"].dropna())
