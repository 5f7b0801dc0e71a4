"""The authors' search for adversarial attention against automatic differentiation; selection."""

import numpy as np
import plain
import pytest
import torch
from conftest import KINDS, kinds, one, plainly

from attn_core.experiments import draws as random
from attn_core.experiments.search import paper_diversity, search, select
from attn_core.fast.search import blocks

LENGTHS = (1, 2, 3, 5, 5, 8, 20)


@kinds
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"objective": "kl", "k": 2},
        {"diversity": paper_diversity(5)},
        {"penalty": 5.0, "margin": 0.2, "lr": 0.1},
    ],
)
def test_search_equals_automatic_differentiation(kind, options):
    """Weights after 10 steps within 1e-5 of the twin in double precision, of several outputs within 2e-5."""
    traces = KINDS[kind](LENGTHS, seed=5)
    starts = 3 * random.normals(0, "starts", traces.doc_id, traces.offsets, options.get("k", 5))
    found = search(traces, steps=10, starts=starts, **options)
    with plainly():
        far = np.abs(found - search(traces, steps=10, starts=starts, **options)).max()
    assert far < (1e-5 if kind == "one logit" else 2e-5)


@kinds
@pytest.mark.parametrize("hidden", [32, 6])
def test_search_has_the_same_bits_alone_and_in_company(kind, hidden):
    """Whatever documents stand beside one, in any order, at two widths of hidden layers: equal to the last bit."""
    options = {"hidden": hidden} if kind in ("pairs", "cloze") else {}
    doc_ids = (9, 4, 1, 30, 2, 8, 55, 6, 7, 0)
    traces = KINDS[kind]((1, 2, 3, 5, 5, 8, 13, 30, 31, 34), seed=1, doc_ids=doc_ids, **options)
    together = search(traces, steps=40)
    for rows in ([9, 2, 6, 0, 7], [9]):
        tokens = np.concatenate([np.flatnonzero(traces.owner == row) for row in rows])
        np.testing.assert_array_equal(search(traces.take(rows), steps=40), together[:, tokens])
    np.testing.assert_allclose(np.add.reduceat(together, traces.offsets[:-1], axis=1), 1)
    assert np.abs(search(traces, steps=40, seed=1) - together).max() > 0.01


def test_padding_follows_the_length_of_a_document_alone():
    lengths = np.arange(1, 5000)
    padded = np.empty_like(lengths)
    for rows, length in blocks(lengths, 20_000, 1, 1):
        padded[rows] = length
        assert len(rows) == 1 or len(rows) * length <= 20_000
    assert ((lengths <= padded) & (padded <= 1.35 * lengths + 1)).all()
    assert {length for _, length in blocks(lengths[[6, 2999]], 20_000, 1, 1)} == {*padded[[6, 2999]]}


@pytest.mark.parametrize("objective", ["jsd", "kl"])
def test_search_survives_extreme_starts_and_saturated_models_and_leaves_threads_as_they_were(objective):
    before, starts = torch.get_num_threads(), np.array([[0.0, 300.0, -300.0]] * 5)
    found = search(one([0.25, 0.5, 0.25], [60, 50, 40]), steps=20, starts=starts, objective=objective)
    assert np.isfinite(found).all()
    assert found.sum(axis=1) == pytest.approx(1)
    assert torch.get_num_threads() == before


@kinds
@pytest.mark.parametrize("epsilon", [0.001, 0.05, 0.3])
def test_select_takes_the_farthest_within_epsilon(kind, epsilon):
    """Of none within epsilon, or none farther away, the model's own."""
    traces = KINDS[kind](LENGTHS, seed=5)
    weights = search(traces, steps=20)
    table = select(traces, weights, epsilon)
    for row, tokens, attention, _ in plain.documents(traces):
        moved = plain.moved(traces, row, weights[:, tokens])
        far = np.where(moved <= epsilon, plain.jsd(weights[:, tokens], attention), 0)
        best = far.argmax()
        expected = (best, far[best], moved[best]) if far[best] > 0 else (-1, 0, 0)
        assert table.loc[row, ["adversary", "jsd", "tvd"]].tolist() == pytest.approx(expected, abs=1e-12)
