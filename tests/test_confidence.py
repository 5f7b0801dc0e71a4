"""Models compared at equal confidence."""

import numpy as np
import pandas as pd
import pytest

from attn_book.confidence import enough, mean_of, weighed, weights


def texts(p, agreement):
    table = {"p": p, "single_state_agreement": agreement, "attention_invariant": np.equal(agreement, 1)}
    return pd.DataFrame(table).astype(float)


def means(own, others):
    return weighed(own, weights(own, others)).mean()


def of_five_seeds(own, others):
    """Mean and interval of five seeds that agree."""
    weight = weights(own, others)
    values = weighed(own, weight)["single_state_agreement"]
    return mean_of(np.tile(values, (5, 1)), enough(weight))


def test_texts_weigh_as_confidence_spreads_among_others():
    """Two unsure texts of agreement .5 and .7, a sure one of 1; among the others three of four are unsure."""
    own = texts([0.45, 0.55, 0.97], [0.5, 0.7, 1.0])
    others = texts([0.48, 0.52, 0.51, 0.03], [0, 0, 0, 0])
    assert means(own, others)["single_state_agreement"] == pytest.approx(0.75 * 0.6 + 0.25 * 1)
    assert means(own, others)["attention_invariant"] == pytest.approx(0.25)


def test_a_bin_without_texts_is_left_out():
    own = texts([0.5, 0.5], [0.4, 0.6])
    others = texts([0.5] * 19 + [0.99], [0] * 20)
    assert means(own, others)["single_state_agreement"] == pytest.approx(0.5)


def test_without_texts_as_sure_as_the_others_nothing_is_told():
    own = texts([0.5], [0.4])
    others = texts([0.5, 0.99], [0, 0])
    assert weights(own, others).isna().all()


@pytest.mark.parametrize(("sure", "told"), [(49, False), (50, True)])
def test_few_texts_that_are_as_sure_as_the_others_tell_nothing(sure, told):
    """However many unsure ones there are."""
    own = texts([0.5] * 500 + [0.99] * sure, np.linspace(0, 1, 500 + sure))
    others = texts([0.99] * 10, [1.0] * 10)
    assert enough(weights(own, others)) == pytest.approx(sure)
    assert np.isfinite(of_five_seeds(own, others)).all() == told


def test_the_interval_is_that_of_the_strata():
    """Unsure texts all agree to .2, sure ones to .8: with shares given, other texts would change nothing."""
    own = texts([0.5] * 60 + [0.99] * 40, [0.2] * 60 + [0.8] * 40)
    assert of_five_seeds(own, texts([0.5, 0.99], [0, 0])) == pytest.approx((0.5, 0.5, 0.5))
