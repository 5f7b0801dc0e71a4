"""Attention of two trainings beside each other: the fast form equals a loop, bounds, invariances, and bad input."""

import numpy as np
import pandas as pd
import pytest
from conftest import refused, toy_traces
from plain import documents, jsd, output_under

from attn_book import derived
from attn_core.experiments import distance
from attn_lab.more import beside


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_equals_the_loop(classes):
    base, other = (toy_traces((1, 2, 3, 5, 5, 8, 21), seed=seed, classes=classes) for seed in (1, 2))
    table = distance.against(base, other)
    expected = []
    for (row, tokens, attention, _), (*_, theirs, _) in zip(documents(base), documents(other), strict=True):
        p, q = output_under(base, row, attention), output_under(other, row, theirs)
        far = jsd(attention, theirs), 0.5 * abs(p - q).sum()
        expected.append((base.doc_id[row], p.argmax(), max(base.attention[tokens]), *far))
    expected = pd.DataFrame(expected, columns=["doc_id", "predicted", "max_attention", "jsd", "tvd"])
    pd.testing.assert_frame_equal(table, expected, rtol=0, atol=1e-12)


def test_only_documents_of_both_and_their_order_is_the_bases():
    base, other = toy_traces(seed=1), toy_traces(seed=2)
    table = distance.against(base, other)
    some = distance.against(base, other.take([3, 0, 5]))
    pd.testing.assert_frame_equal(some, table.iloc[[0, 3, 5]].reset_index(drop=True))
    again = distance.against(base.take([3, 0, 5]), other)
    pd.testing.assert_frame_equal(again, table.iloc[[3, 0, 5]].reset_index(drop=True))
    turned = distance.against(other, base)
    np.testing.assert_allclose(turned[["jsd", "tvd"]], table[["jsd", "tvd"]], atol=1e-12)


def test_bad_input_is_named():
    base = toy_traces((2, 3), doc_ids=[1, 2])
    with refused("document 2 has 3 tokens in the base and 5 in the other model"):
        distance.against(base, toy_traces((2, 5), doc_ids=[1, 2]))
    with refused("share no document"):
        distance.against(base, toy_traces((2, 3), doc_ids=[5, 6]))


# Several trainings, curves read off


def test_median_and_maximum_over_the_trainings_of_documents_that_all_have():
    base = toy_traces((3, 4, 5, 6), 1)
    first, second, third = (distance.against(base, toy_traces((3, 4, 5, 6), seed)) for seed in (2, 3, 4))
    found = beside.per_instance(
        [first, second.iloc[[3, 0, 1]], third]
    )  # one lacks a document and has another order
    values = np.stack([table["jsd"] for table in (first, second, third)])[:, found["doc_id"]]
    assert sorted(found["doc_id"]) == [0, 1, 3]
    np.testing.assert_allclose(found[["median", "max"]].T, [np.median(values, 0), values.max(0)])
    np.testing.assert_allclose(found["max_attention"], base.max_attention[found["doc_id"]])


@pytest.mark.parametrize(
    ("jsd", "tvd", "at", "expected"),
    [
        ([0.1, 0.3, 0.5], [0.0, 0.2, 0.3], 0.2, 0.1),
        ([0.1, 0.3, 0.5], [0.0, 0.2, 0.3], 0.5, 0.3),
        ([0.1, 0.3, 0.5], [0.0, 0.2, 0.3], 0.6, np.nan),
        ([0.1, 0.5, 0.1], [0.0, 0.4, 0.2], 0.3, (0.2 + 0.3) / 2),  # passes twice
        ([0.2], [0.7], 0.3, np.nan),  # one point is no line
    ],
)
def test_reading_off_a_curve(jsd, tvd, at, expected):
    assert derived.tvd_at(jsd, tvd, at) == pytest.approx(expected, nan_ok=True)
