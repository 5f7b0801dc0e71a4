"""Numbers in words."""

import numpy as np

from attn_book import words as wording


def test_numbers_in_words():
    assert wording.told(0.5, 0.4, 1.2, bounds=(0, 1)) == "0.50 (0.40 to 1.00)"
    assert wording.told(0.5, np.nan, np.nan) == "0.50 (no interval)" and wording.told(np.nan, 0, 0) == "–"
    assert wording.told(-0.001, -0.02, 0.004) == "0.00 (-0.02 to 0.00)"
