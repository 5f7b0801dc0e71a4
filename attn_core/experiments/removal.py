"""Multi-weight removal: erase items in rank order until the decision flips. Serrano and Smith 2019, section 5.

The decoder is affine, so class k overtakes the predicted class y once the kept items' margins
m_tk = alpha_t (c_tk + b_k - c_ty - b_y) sum to more than 0 (at least 0 where k < y, as the first of equal logits is
taken): the positive normaliser cancels and the bias folds into the items. One reversed cumulative sum of margins gives
the whole removal sequence of a ranking.

The exact smallest set of items whose erasure changes the decision, which the paper takes for an exponential search
(section 5.1), is a sort: removing the most negative margins of rival k first raises their sum fastest, so the first
prefix that suffices is the smallest set for k, and the smallest over the rivals is the document's.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.experiments import draws as random
from attn_core.experiments.tables import table
from attn_core.traces import Traces, attending_only, decisions, probabilities

RANKINGS = ("random", "attention", "gradient", "product", "first_order", "optimum")
"""Orders of removal; 'product' is gradient times attention, 'optimum' the exact smallest flip set."""

KINDS = {"removed": np.int32, "mass": float, "zero": bool}
"""What is told of each order, see `removals`."""

NEVER = -1
"""Number removed where no step of the removal changes the decision."""

NONE = np.iinfo(np.int64).max
"""Size where no set with an item left flips the decision."""

NUMBERS = 1 << 17
"""Margins held at once: a megabyte stays in the processor's cache."""


@dataclass(frozen=True)
class Items:
    """B documents of n items, R = K - 1 rivals of the predicted class y.

    attention (B, n). margin (B, n, R + 1): m_tk for the classes k other than y in ascending order, then the attention,
    so that one gather and one sum serve both. lower (B, R): whether rival k < y and so wins ties. gradient (B, n):
    d p_y / d alpha_t. empty (B,): whether the zero vector, which decodes to the bias, has another label than y.
    """

    attention: np.ndarray
    margin: np.ndarray
    lower: np.ndarray
    gradient: np.ndarray
    empty: np.ndarray


def as_classes(traces: Traces) -> tuple[int, np.ndarray]:
    """Number of classes and their biases (K,) float64; one logit o is two classes with logits (0, o)."""
    if traces.readout is not None:
        raise AttnError("erasure takes affine decoders, these traces are of text pairs (Serrano & Smith, section 3)")
    bias = traces.bias.astype(np.float64)
    return (2, np.array([0.0, bias[0]])) if traces.classes == 1 else (traces.classes, bias)


def distributions(logits: np.ndarray) -> np.ndarray:
    """Output distributions (D, K), of one logit (D, 2)."""
    p = probabilities(logits)
    return np.concatenate([1.0 - p, p], axis=1) if p.shape[1] == 1 else p


def items(traces: Traces, rows: np.ndarray, tokens: np.ndarray) -> Items:
    """The documents `rows` (B,) of the tokens (B, n), in double precision."""
    classes, bias = as_classes(traces)
    attention, value = traces.attention[tokens], traces.contribution[tokens].astype(np.float64)  # (B, n), (B, n, K)
    if traces.classes == 1:
        value = np.concatenate([np.zeros_like(value), value], axis=2)
    outputs, y = distributions(traces.logits[rows]), decisions(traces.logits[rows])
    own = np.take_along_axis(value, y[:, None, None], axis=2)  # (B, n, 1)
    gradient = np.take_along_axis(outputs, y[:, None], axis=1) * (own - value @ outputs[:, :, None])[..., 0]
    rival = np.arange(classes - 1) + (np.arange(classes - 1) >= y[:, None])  # (B, R)
    ahead = np.take_along_axis(value, rival[:, None], axis=2) - own + (bias[rival] - bias[y, None])[:, None]
    margin = np.concatenate([attention[..., None] * ahead, attention[..., None]], axis=2)
    return Items(attention, margin, rival < y[:, None], gradient, bias.argmax() != y)


def blocks(traces: Traces) -> Iterator[tuple[np.ndarray, np.ndarray, Items]]:
    """(rows (B,), tokens (B, n), their items) until all documents are seen."""
    for rows, tokens in traces.equal_lengths(NUMBERS // as_classes(traces)[0]):
        yield rows, tokens, items(traces, rows, tokens)


def wins(kept: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Whether a rival overtakes by sums of margins `kept`: above 0, or at 0 where it also wins ties (lower)."""
    return kept > np.where(lower, np.nextafter(0.0, -1.0), 0.0)


def smallest_by_rival(margin: np.ndarray, attention: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Size of the smallest flip set for each rival, at least one item of positive weight left: (B, R), NONE where none.

    margin (B, n, R), attention (B, n), lower (B, R). Items of weight 0 change nothing and are in no smallest set.
    """
    held = attention[..., None] > 0
    sort = np.sort(np.moveaxis(np.where(held, margin, np.inf), 1, 2), axis=2)  # (B, R, n): most negative first
    sort[np.isinf(sort)] = 0.0  # items of weight 0 come last
    ahead = wins(sort[..., ::-1].cumsum(axis=2)[..., ::-1], lower[..., None])  # after j removals
    ahead &= np.arange(margin.shape[1]) < held.sum(axis=1, keepdims=True)
    ahead[..., 0] = False
    return np.where(ahead.any(axis=2), ahead.argmax(axis=2), NONE)


def first_order(attention: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """To first order, the loss of p_y when an item goes and the others are renormalised, (B, n) (not in the paper).

    alpha_t (g_t - sum alpha g) / (1 - alpha_t): the gradient with respect to the item's score, divided by what is left.
    An item that holds all weight comes first.
    """
    left = 1.0 - attention
    mean = (attention * gradient).sum(axis=1, keepdims=True)
    return np.where(left > 0, attention * (gradient - mean) / np.where(left > 0, left, 1.0), np.inf)


def order_of(name: str, part: Items, draws: np.ndarray) -> np.ndarray:
    """Positions (B, n) in order of removal, ties in order of the text; draws (B, n): importances of 'random'.

    'optimum' begins with a smallest flip set, for the first rival that has one; items of weight 0 come last.
    """
    a, g = part.attention, part.gradient
    known = {"attention": a, "ascending": -a, "gradient": g, "product": a * g, "random": draws}
    if name == "optimum":
        best = smallest_by_rival(part.margin[..., :-1], a, part.lower).argmin(axis=1)
        known[name] = np.where(a > 0, -np.take_along_axis(part.margin, best[:, None, None], axis=2)[..., 0], -np.inf)
    elif name == "first_order":
        known[name] = first_order(a, g)
    elif name not in known:
        raise AttnError(f"unknown ranking '{name}'; known: {', '.join((*known, 'first_order', 'optimum'))}")
    return np.argsort(-known[name], axis=1, kind="stable")


def first_flip(part: Items, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """removed, mass, zero, (B,) each, see `removals`, when items go in this order (B, n)."""
    rows, length, width = part.margin.shape
    backward = (order + length * np.arange(rows)[:, None])[:, ::-1]
    kept = part.margin.reshape(-1, width).take(backward, axis=0).cumsum(axis=1)[:, ::-1]  # (B, n, R + 1): j removed
    left = kept[..., -1]  # attention kept
    ahead = wins(kept[..., :-1], part.lower[:, None]).any(axis=2) & (left > 0)
    ahead[:, 0] = False  # nothing removed: the decision stands, whatever rounding says
    flips, last = ahead.any(axis=1), (left > 0).sum(axis=1)  # last: removals until no weight is left
    removed = np.where(flips, ahead.argmax(axis=1), np.where(part.empty, last, NEVER))
    after = np.where(removed < length, left[np.arange(rows), np.clip(removed, 0, length - 1)], 0.0)
    return removed, np.where(removed == NEVER, np.nan, left[:, 0] - after), ~flips & part.empty


def removals(
    traces: Traces, seed: int = 0, rankings: tuple[str, ...] = RANKINGS, draws: np.ndarray | None = None
) -> pd.DataFrame:
    """Items removed until the decision flips, for each ranking (sections 5.1 to 5.3), one row per document.

    Columns removed_<r>: number removed, NEVER where no step flips, the last step being the zero vector, which decodes
    to the bias; mass_<r>: attention removed by then (NaN where never); zero_<r>: whether the flip came with the zero
    vector, so that 'with an item left' the document never flips. Rankings: attention, gradient (signed, d p_y / d alpha
    at the unmodified weights), product, random, all largest first; and, not in the paper, first_order, optimum and
    'ascending' (attention, smallest first: what the authors' code makes of gradient signs). One logit is two classes.
    Documents of one item are in the table; the paper leaves them out. Deviations: double precision throughout (the
    authors decode in single precision), one random order (they draw five and plot the first).

    draws (T,): scores of the random order; by default uniform from (seed, doc_id).
    """
    draws = random.given(draws, seed, "removal", traces.doc_id, traces.offsets)
    columns = {f"{kind}_{name}": np.empty(len(traces), dtype) for name in rankings for kind, dtype in KINDS.items()}
    for rows, tokens, part in blocks(traces):
        for name in rankings:
            for kind, values in zip(KINDS, first_flip(part, order_of(name, part, draws[tokens])), strict=True):
                columns[f"{kind}_{name}"][rows] = values
    return table(traces, **columns)


def curve(traces: Traces, row: int, ranking: str, draws: np.ndarray | None = None) -> pd.DataFrame:
    """One document's whole removal sequence: position, removed (0 to n), mass, label, p (of the original label).

    position: the item that goes at this step (-1 at step 0). draws (n,): scores of a random order, by default from
    seed 0. The last row is the zero vector.
    """
    one = traces.take([row])
    draws = random.given(draws, 0, "removal", one.doc_id, one.offsets)
    ((_, _, part),) = blocks(one)
    order, removed = order_of(ranking, part, draws[None])[0], np.arange(one.lengths[0] + 1)
    kept = [attending_only(one, np.argsort(order) >= step) for step in removed]
    logits = np.concatenate([one.logits_under(weights) for weights in kept])  # (n + 1, K)
    return pd.DataFrame({
        "position": np.append(-1, order), "removed": removed, "mass": np.append(0.0, one.attention[order].cumsum()),
        "label": decisions(logits), "p": distributions(logits)[:, int(decisions(one.logits)[0])],
    })  # fmt: skip
