"""Experiments on traces of text pairs and of three classes or more: by hand, against loops, independence."""

import numpy as np
import pandas as pd
import plain
import pytest
from conftest import toy_pairs, toy_traces
from hypothesis import given, settings
from hypothesis import strategies as st
from test_search import same_bits_in_any_company

from attn_core import fast
from attn_core.experiments import derived, document_table, summary_table
from attn_core.experiments import draws as random
from attn_core.experiments.adversarial import adversarial
from attn_core.experiments.permutation import permutation
from attn_core.experiments.search import search, select
from attn_core.measures import jsd
from attn_core.traces import Traces

LENGTHS = (1, 2, 3, 5, 5, 8, 20)
KINDS = {
    "pairs": lambda **o: toy_pairs(LENGTHS, **o),
    "cloze": lambda **o: toy_pairs(LENGTHS, outputs=9, allowed=3, **o),
    "three classes": lambda **o: toy_traces(LENGTHS, classes=3, **o),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def question() -> Traces:
    """One question, two words, three answers. Weights 3/4 and 1/4 on hidden shares (ln 3, 0) and (0, ln 3).

    tanh(x) with x = w ln 3 is (9^w - 1) / (9^w + 1): 1/2 at w = 1/2, 0.8 at w = 1. Logits: the two hidden units, and 0.
    """
    return Traces(
        doc_id=np.array([3]),
        label=np.array([0]),
        offsets=np.array([0, 2]),
        score=np.log([1.0, 1 / 3]).astype(np.float32),
        contribution=np.array([[np.log(3), 0], [0, np.log(3)]], np.float32),
        bias=np.zeros(3, np.float32),
        query=np.zeros((1, 2), np.float32),
        readout=np.array([[1, 0], [0, 1], [0, 0]], np.float32),
    )


def answer(w: float) -> np.ndarray:
    """Output of `question` with weight w on the first word, written out."""
    hidden = [(9**w - 1) / (9**w + 1), (9 ** (1 - w) - 1) / (9 ** (1 - w) + 1)]
    weight = np.exp([*hidden, 0.0])
    return weight / weight.sum()


def test_question_by_hand():
    """Swapping the weights swaps the first two answers, so TVD is their difference; selection takes what is within."""
    traces = question()
    np.testing.assert_allclose(traces.outputs[0], answer(0.75), atol=1e-7)
    change = answer(0.75)[0] - answer(0.75)[1]
    assert permutation(traces, draws=np.array([[1, 0]]))["median_change"][0] == pytest.approx(change, abs=1e-6)
    half = permutation(traces, draws=np.array([[0, 1], [1, 0]]))["median_change"][0]
    assert half == pytest.approx(change / 2, abs=1e-6)
    weights = np.array([[1.0, 0.0], [0.7, 0.3], [0.0, 1.0]])
    moved = [0.5 * np.abs(answer(w) - answer(0.75)).sum() for w in weights[:, 0]]
    assert moved[1] < 0.03 < moved[0] < 0.2 < moved[2]
    for epsilon, chosen in ((0.03, 1), (0.2, 0), (1.0, 2), (0.001, -1)):
        row = select(traces, weights, epsilon).iloc[0]
        assert row["adversary"] == chosen
        assert row["tvd"] == pytest.approx(moved[chosen] if chosen >= 0 else 0.0, abs=1e-6)
        expected = jsd(weights[chosen], [0.75, 0.25]) if chosen >= 0 else 0.0
        assert row["jsd"] == pytest.approx(expected, abs=1e-6)


@kinds
def test_permutation_equals_the_loop(kind):
    traces = KINDS[kind]()
    rng = np.random.default_rng(0)
    draws = np.stack([np.concatenate([rng.permutation(n) for n in traces.lengths]) for _ in range(7)])
    fast = permutation(traces, draws=draws)["median_change"]
    np.testing.assert_allclose(fast, plain.median_change(traces, draws), atol=1e-14)


# The search


@kinds
@pytest.mark.parametrize("options", [{}, {"objective": "kl", "k": 2}, {"penalty": 5.0, "margin": 0.2, "lr": 0.1}])
def test_search_equals_automatic_differentiation(kind, options):
    """Weights after 10 steps within 2e-5 of the twin in double precision."""
    traces = KINDS[kind](seed=5)
    starts = 3 * random.normals(0, "starts", traces.doc_id, traces.offsets, options.get("k", 5))
    found = search(traces, steps=10, starts=starts, **options)
    with fast.off():
        assert np.abs(found - search(traces, steps=10, starts=starts, **options)).max() < 2e-5


@kinds
def test_search_has_the_same_bits_alone_and_in_company(kind):
    """At hidden layers of 32 and 6 units and at 3 classes: whatever documents stand beside one, in any order."""
    lengths = (1, 2, 3, 5, 5, 8, 13, 30, 31, 34)
    options = {"seed": 1, "doc_ids": (9, 4, 1, 30, 2, 8, 55, 6, 7, 0)}
    if kind == "three classes":
        traces = toy_traces(lengths, classes=3, **options)
    else:
        traces = toy_pairs(lengths, hidden=32 if kind == "pairs" else 6, **options)
    same_bits_in_any_company(traces)


# Tables, independence


@kinds
def test_tables_of_all_experiments(kind):
    traces = KINDS[kind](seed=4)
    documents = document_table(traces)
    assert documents.columns.is_unique and len(documents) == len(LENGTHS)
    np.testing.assert_array_equal(documents["p"], traces.outputs.max(axis=1))
    np.testing.assert_array_equal(documents["predicted"], traces.outputs.argmax(axis=1))
    for epsilon in ("0.01", "0.05"):
        shared = ("jsd_search", "tvd_search", "jsd_lower", "tvd_lower", "jsd_sparse", "jsd_shuffled")
        assert {f"{name}@{epsilon}" for name in shared} <= set(documents)
        assert not {f"jsd_exact@{epsilon}", f"jsd_permutation@{epsilon}"} & set(documents)
    assert (documents["jsd_lower@0.01"] <= documents["jsd_lower@0.05"] + 1e-12).all()
    assert {"ratio_lower@0.05", "ratio_search@0.01", "difference_loo"} <= set(derived(documents))
    pd.testing.assert_frame_equal(documents, document_table(traces), check_exact=True)


def test_summary_of_question_answering_has_no_classes():
    documents = document_table(toy_pairs((4, 5, 6, 7, 8), outputs=5))
    assert set(summary_table(documents, outputs=5)["predicted"]) == {"all"}
    of_three = summary_table(document_table(toy_pairs((4, 5, 6, 7, 8), outputs=3)), outputs=3)
    assert "all" in set(of_three["predicted"]) and len(set(of_three["predicted"])) > 1


@settings(max_examples=12)
@given(st.permutations(range(7)), st.integers(1, 7), st.sampled_from(list(KINDS)))
def test_documents_do_not_depend_on_one_another(order, kept, kind):
    """Any subset in any order: the same rows, up to a last bit in sums."""
    traces = KINDS[kind](seed=7, doc_ids=(5, 3, 11, 40, 2, 9, 77))
    rows = np.array(order[:kept])
    some = traces.take(rows)
    weights = search(traces, steps=15)
    whole, alone = adversarial(traces, 0.1, weights), adversarial(some, 0.1, search(some, steps=15))
    expected = whole.iloc[rows].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, expected, rtol=0, atol=1e-12)
    median = permutation(traces)["median_change"].iloc[rows].reset_index(drop=True)
    np.testing.assert_allclose(permutation(some)["median_change"], median, atol=1e-14)
