"""Models compared at equal confidence."""

import pandas as pd
import pytest

from attn_book.confidence import at_confidence_of


def texts(p, echo):
    return pd.DataFrame({"p": p, "echo": echo, "locked": [value == 1 for value in echo]})


def test_texts_weigh_as_confidence_spreads_among_others():
    """Two unsure texts of agreement .5 and .7, a sure one of 1; among the others three of four are unsure."""
    own = texts([0.45, 0.55, 0.97], [0.5, 0.7, 1.0])
    others = texts([0.48, 0.52, 0.51, 0.03], [0, 0, 0, 0])
    assert at_confidence_of(own, others)["echo"] == pytest.approx(0.75 * 0.6 + 0.25 * 1)
    assert at_confidence_of(own, others)["locked"] == pytest.approx(0.25)


def test_beside_themselves_texts_have_their_mean():
    own = texts([0.1, 0.5, 0.99], [0.2, 0.4, 0.9])
    assert at_confidence_of(own, own)["echo"] == pytest.approx(0.5)


def test_a_bin_without_texts_is_left_out():
    own = texts([0.5], [0.4])
    others = texts([0.5, 0.99], [0, 0])
    assert at_confidence_of(own, others)["echo"] == pytest.approx(0.4)
