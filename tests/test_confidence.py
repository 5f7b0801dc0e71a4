"""Models compared at equal confidence."""

import pandas as pd
import pytest

from attn_book.confidence import at_confidence_of


def texts(p, single_state_agreement):
    return pd.DataFrame(
        {
            "p": p,
            "single_state_agreement": single_state_agreement,
            "attention_invariant": [value == 1 for value in single_state_agreement],
        }
    )


def test_texts_weigh_as_confidence_spreads_among_others():
    """Two unsure texts of agreement .5 and .7, a sure one of 1; among the others three of four are unsure."""
    own = texts([0.45, 0.55, 0.97], [0.5, 0.7, 1.0])
    others = texts([0.48, 0.52, 0.51, 0.03], [0, 0, 0, 0])
    assert at_confidence_of(own, others)["single_state_agreement"] == pytest.approx(0.75 * 0.6 + 0.25 * 1)
    assert at_confidence_of(own, others)["attention_invariant"] == pytest.approx(0.25)


def test_a_bin_without_texts_is_left_out():
    own = texts([0.5], [0.4])
    others = texts([0.5, 0.99], [0, 0])
    assert at_confidence_of(own, others)["single_state_agreement"] == pytest.approx(0.4)
