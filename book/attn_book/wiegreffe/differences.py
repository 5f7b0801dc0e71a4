"""Differences between guides (section 3.4) as that page shows them: a table with one column a data set, and words.

differences: of `guides.differences`.
"""


import pandas as pd

from attn_book.wiegreffe import leakage
from attn_book.words import listed

UNSHOWN = "†"
"""Marks a difference that is clear of zero by its own interval, but not after Holm."""


def told_sides(differences: pd.DataFrame, contrast: str) -> str:
    """'above 0 on sst +0.140 (…); not shown on imdb, agnews †; below 0 on none': sides after Holm.

    Numbers stand with those that are shown.
    """
    mine = differences[(differences["contrast"] == contrast) & (differences["lies"] == "contains")]
    unshown = listed(f"{r.corpus}{f' {UNSHOWN}' if clear(r) else ''}" for r in mine.itertuples())
    above, below = (leakage.told_where(differences, contrast, side) for side in ("above", "below"))
    return f"above 0 on {above}; not shown on {unshown}; below 0 on {below}"


def clear(row) -> bool:
    """Whether the interval of a single difference leaves out zero."""
    return row.low > 0 or row.high < 0
