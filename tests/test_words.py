"""Numbers and their bounds in words."""

import numpy as np
import pytest

from attn_book import words as wording


def test_bounds_go_by_statistic():
    """What no share, ratio, change or JSD can be is never printed as the end of an interval."""
    assert wording.bounds("ratio_exact@0.05") == (0, 1) and wording.bounds("median_change", "median") == (0, 1)
    assert wording.bounds("jsd_search@0.05") == wording.bounds("ceiling") == (0, pytest.approx(np.log(2)))
    assert wording.bounds("jsd_search@0.05", "share_above_0.4") == (0, 1) == wording.bounds("accuracy", "value")
    assert wording.bounds("tau_attention_gradient") == (-1, 1)
    assert wording.bounds("difference_loo") == (-np.inf, np.inf)


def test_numbers_in_words():
    assert wording.told(0.5, 0.4, 1.2, bounds=(0, 1)) == "0.50 (0.40 to 1.00)"
    assert wording.told(0.5, np.nan, np.nan) == "0.50 (no interval)" and wording.told(np.nan, 0, 0) == "–"
    assert wording.told(-0.001, -0.02, 0.004) == "0.00 (-0.02 to 0.00)"
    assert wording.seeds_in_words(np.int64(1)) == "1 seed" and wording.seeds_in_words(3) == "3 seeds"
