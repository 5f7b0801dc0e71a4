"""The exact smallest set of items whose erasure changes the decision.

Serrano and Smith 2019 (section 5.1) take the search for exponential; with an affine decoder it is a sort. For rival k
the kept items' margins m_tk = alpha_t (c_tk + b_k - c_ty - b_y) must sum to more than 0 (at least 0 where k < y, as the
first of equal logits is taken). Removing the most negative margins first raises that sum fastest, so the first prefix
that suffices is the smallest set for k, and the smallest over the rivals is the document's.
"""

import numpy as np

NONE = np.iinfo(np.int64).max
"""Size where no set with an item left flips the decision."""


def least(lower: np.ndarray) -> np.ndarray:
    """The sum of margins above which a rival wins: 0, or just below where it also wins ties (lower)."""
    return np.where(lower, np.nextafter(0.0, -1.0), 0.0)


def smallest_by_rival(margin: np.ndarray, attention: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Size of the smallest flip set for each rival, at least one item of positive weight left: (B, R), NONE where none.

    margin (B, L, R), attention (B, L) with 0 at padding, lower (B, R): whether the rival's class comes before the
    predicted one. Items of weight 0 change nothing and are in no smallest set.
    """
    held = attention[..., None] > 0
    sort = np.sort(np.moveaxis(np.where(held, margin, np.inf), 1, 2), axis=2)  # (B, R, L): most negative first
    sort[np.isinf(sort)] = 0.0  # items of weight 0 come last
    kept = sort[..., ::-1].cumsum(axis=2)[..., ::-1]  # sum after j removals
    ahead = kept > least(lower)[..., None]
    ahead &= np.arange(margin.shape[1]) < held.sum(axis=1, keepdims=True)
    ahead[..., 0] = False
    return np.where(ahead.any(axis=2), ahead.argmax(axis=2), NONE)


def best_order(margin: np.ndarray, attention: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Positions (B, L) whose first entries are a smallest flip set, in the order of the sort; shapes as above.

    The rival with the smallest set decides (the first of several); items of weight 0 and padding come last. Where the
    decision never changes with an item left this is the order for the first rival.
    """
    best = smallest_by_rival(margin, attention, lower).argmin(axis=1)
    chosen = np.take_along_axis(margin, best[:, None, None], axis=2)[..., 0]
    return np.argsort(np.where(attention > 0, chosen, np.inf), axis=1, kind="stable")
