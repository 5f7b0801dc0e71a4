"""One word alone: agreement, invariance, uniform weights, the permutation test's closed form, against plain forms."""

from itertools import permutations, product

import numpy as np
import pytest
from conftest import KINDS, kinds, toy_traces
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import documents, output, output_under
from scipy.special import logit
from scipy.stats import norm

from attn_lab.more.single_state import elsewhere, single_state_agreement


@pytest.mark.parametrize("classes", [1, 3])
def test_words_of_other_texts(classes):
    traces = toy_traces(lengths=(1, 2, 5, 8), seed=classes, classes=classes)
    alone = np.array([output(logits).argmax() for logits in traces.bias + traces.contribution.astype(float)])
    for d, found in enumerate(elsewhere(traces)):
        assert found == pytest.approx(np.mean(alone[traces.owner != d] == traces.predicted[d]))


@kinds
def test_words_alone_and_uniform_weights_as_in_a_loop(kind):
    """What the decoder of pairs does is not affine: there nothing is said of all attentions, nor of permutations."""
    traces = KINDS[kind]((1, 2, 3, 5, 5, 8, 20) * 3, seed=3)
    table = single_state_agreement(traces)
    for row, _, attention, _ in documents(traces):
        *alone, uniform = (
            output_under(traces, row, weights).argmax() == traces.predicted[row]
            for weights in (*np.eye(len(attention)), np.full(len(attention), 1 / len(attention)))
        )
        assert table["single_state_agreement"][row] == pytest.approx(np.mean(alone))
        assert table["flips_under_uniform"][row] == (not uniform)
    assert table["flips_under_uniform"].nunique() == 2
    assert table["attention_invariant"].isna().all() == (kind in ("pairs", "cloze"))
    assert table["permutation_expected"].isna().all() == (kind != "one logit")


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 10_000))
def test_locked_is_what_a_grid_of_all_attentions_says(n, classes, seed):
    """Weights in steps of a twentieth: none flips a locked document; of another, a token alone does."""
    traces = toy_traces(lengths=(n,), seed=seed, classes=classes)
    grid = [np.array(w) / 20 for w in product(range(21), repeat=n) if sum(w) == 20]
    never = all(output_under(traces, 0, w).argmax() == traces.predicted[0] for w in grid)
    assert single_state_agreement(traces)["attention_invariant"][0] == never


@pytest.mark.parametrize("n", range(1, 8))
def test_half_of_a_normal_of_the_moments_of_all_permutations_changes_less(n):
    traces = toy_traces(lengths=(n,), seed=n)
    ((_, _, attention, contribution),) = documents(traces)
    logits = [traces.bias + attention[list(order)] @ contribution for order in permutations(range(n))]
    found = single_state_agreement(traces)["permutation_expected"][0]
    ends = logit(np.clip(traces.p + [-found, found], 0, 1))
    if n > 1:
        below = norm(np.mean(logits), np.std(logits)).cdf(ends)
        assert np.diff(below) == pytest.approx(0.5, rel=1e-9)
    else:
        assert found == 0
