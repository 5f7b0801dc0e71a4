"""Multi-weight removal: erase items in rank order until the decision flips. Serrano and Smith 2019, section 5.

The decoder is affine, so class k overtakes the predicted class y once the kept items' margins
m_tk = alpha_t (c_tk + b_k - c_ty - b_y) sum to more than 0: the positive normaliser cancels and the bias folds into the
items. One reversed cumulative sum of margins gives the whole removal sequence of a ranking.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.experiments import draws as random
from attn_core.experiments.flips import best_order, least
from attn_core.experiments.tables import table
from attn_core.traces import Traces, attending_only, cut, decisions, pad, probabilities

RANKINGS = ("random", "attention", "gradient", "product", "first_order", "optimum")
"""Orders of removal; 'product' is gradient times attention, 'optimum' the exact smallest flip set."""

KINDS = {"removed": np.int32, "mass": float, "zero": bool}
"""What is told of each order, see `removals`."""

NEVER = -1
"""Number removed where no step of the removal changes the decision."""

NUMBERS = 1 << 17
"""Margins held at once: a megabyte stays in the processor's cache."""


@dataclass(frozen=True)
class Items:
    """Documents of like length, padded: B documents, L items, R = K - 1 rivals of the predicted class y.

    attention (B, L): 0 at padding. margin (B, L, R + 1): m_tk for the classes k other than y in ascending order, then
    the attention, so that one gather and one sum serve both. lower (B, R): whether rival k < y, so that k also wins a
    tie (first-index arg-max). gradient (B, L): d p_y / d alpha_t, weights held free. real (B, L). empty (B,): whether
    the zero vector, which decodes to the bias, has another label than y.
    """

    attention: np.ndarray
    margin: np.ndarray
    lower: np.ndarray
    gradient: np.ndarray
    real: np.ndarray
    empty: np.ndarray


def as_classes(traces: Traces) -> tuple[int, np.ndarray]:
    """Number of classes and their biases (K,) float64; one logit o is two classes with logits (0, o)."""
    if traces.readout is not None:
        raise AttnError(
            "erasure takes affine decoders, these traces are of text pairs (see Serrano & Smith, section 3)"
        )
    bias = traces.bias.astype(np.float64)
    return (2, np.array([0.0, bias[0]])) if traces.classes == 1 else (traces.classes, bias)


def distributions(logits: np.ndarray) -> np.ndarray:
    """Output distributions (D, K), of one logit (D, 2)."""
    p = probabilities(logits)
    return np.concatenate([1.0 - p, p], axis=1) if p.shape[1] == 1 else p


def items(traces: Traces, rows: np.ndarray, length: int) -> Items:
    """The documents `rows`, padded to `length` items, in double precision."""
    classes, bias = as_classes(traces)
    real = np.arange(length) < traces.lengths[rows, None]  # (B, L)
    index = np.where(real, traces.offsets[rows, None] + np.arange(length), 0)
    attention = np.where(real, traces.attention[index], 0.0)
    value = traces.contribution[index].astype(np.float64)  # (B, L, K)
    outputs = distributions(traces.logits[rows])
    if traces.classes == 1:
        value = np.concatenate([np.zeros_like(value), value], axis=2)
    y = decisions(traces.logits[rows])
    own = np.take_along_axis(value, y[:, None, None], axis=2)  # (B, L, 1)
    p_own = np.take_along_axis(outputs, y[:, None], axis=1)
    gradient = p_own * (own - value @ outputs[:, :, None])[..., 0]
    rival = np.arange(classes - 1) + (np.arange(classes - 1) >= y[:, None])  # (B, R)
    ahead = np.take_along_axis(value, rival[:, None], axis=2) - own + (bias[rival] - bias[y, None])[:, None]
    margin = np.concatenate([attention[..., None] * ahead, attention[..., None]], axis=2)
    return Items(attention, margin, rival < y[:, None], gradient, real, bias.argmax() != y)


def blocks_of(traces: Traces) -> Iterator[tuple[np.ndarray, Items]]:
    """(rows (B,), their items, padded to the longest) until all documents are seen."""
    classes, _ = as_classes(traces)
    for rows in cut(traces.lengths, len(traces), NUMBERS // classes):
        yield rows, items(traces, rows, int(traces.lengths[rows[0]]))  # margins of 0 at padding change no sum


def first_order(attention: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """To first order, the loss of p_y when an item goes and the others are renormalised, (B, L) (not in the paper).

    alpha_t (g_t - sum alpha g) / (1 - alpha_t): the gradient with respect to the item's score, divided by what is left.
    An item that holds all weight comes first: only its removal changes anything.
    """
    left = 1.0 - attention
    mean = (attention * gradient).sum(axis=1, keepdims=True)
    return np.where(left > 0, attention * (gradient - mean) / np.where(left > 0, left, 1.0), np.inf)


def scores(name: str, part: Items, draws: np.ndarray) -> np.ndarray:
    """Importances (B, L) by which a ranking removes, largest first; `draws` (B, L) are those of 'random'."""
    if name == "first_order":
        return first_order(part.attention, part.gradient)
    if name not in (known := {
        "attention": part.attention, "ascending": -part.attention, "gradient": part.gradient,
        "product": part.attention * part.gradient, "random": draws,
    }):  # fmt: skip
        raise AttnError(f"unknown ranking '{name}'; known: {', '.join((*known, 'first_order', 'optimum'))}")
    return known[name]


def order_of(name: str, part: Items, draws: np.ndarray) -> np.ndarray:
    """Positions (B, L) in order of removal, ties in order of the text, padding last."""
    if name == "optimum":
        return best_order(part.margin[..., :-1], part.attention, part.lower)
    return np.argsort(-np.where(part.real, scores(name, part, draws), -np.inf), axis=1, kind="stable")


def first_flip(part: Items, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(removed, mass, zero), each (B,), when items go in this order (B, L).

    removed: how many have gone at the first other decision, NEVER where there is none. mass: their attention (NaN where
    never). zero: whether it came with the zero vector only, that is with the last item of positive weight.
    """
    rows, length, width = part.margin.shape
    backward = (order + length * np.arange(rows)[:, None])[:, ::-1]
    kept = part.margin.reshape(-1, width).take(backward, axis=0).cumsum(axis=1)[:, ::-1]  # (B, L, R + 1): j removed
    left = kept[..., -1]  # attention kept
    ahead = np.zeros((rows, length), bool)
    for rival in range(width - 1):
        ahead |= kept[..., rival] > least(part.lower[:, rival])[:, None]
    ahead &= left > 0
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
    at the unmodified weights), product (gradient times attention), random, all largest first; and, not in the paper,
    first_order, optimum (see flips.best_order) and 'ascending' (attention, smallest first: what the authors' code makes
    of gradient signs). One logit is two classes: a flip is a change of sign. Documents of one item are in the table;
    the paper leaves them out.
    Deviations: double precision throughout (the authors decode in single precision), one random order (they draw five
    and plot the first).

    draws (T,): scores of the random order; by default uniform from (seed, doc_id).
    """
    if draws is None:
        draws = random.uniforms(seed, "removal", traces.doc_id, traces.offsets)[0]
    elif np.shape(draws) != traces.score.shape:
        raise AttnError(f"draws must be {len(traces.score)} random scores; got {np.shape(draws)}")
    columns = {f"{kind}_{name}": np.empty(len(traces), dtype) for name in rankings for kind, dtype in KINDS.items()}
    for rows, part in blocks_of(traces):
        drawn = pad(draws, traces, rows, part.real.shape[1], 0.0)  # (B, L)
        for name in rankings:
            for kind, values in zip(KINDS, first_flip(part, order_of(name, part, drawn)), strict=True):
                columns[f"{kind}_{name}"][rows] = values
    return table(traces, **columns)


def curve(traces: Traces, row: int, ranking: str, draws: np.ndarray | None = None) -> pd.DataFrame:
    """One document's whole removal sequence: position, removed (0 to n), mass, label, p (of the original label).

    position: the item that goes at this step (-1 at step 0). draws (n,): scores of a random order, by default from
    seed 0. The last row is the zero vector.
    """
    one = traces.take([row])
    n = int(one.lengths[0])
    if draws is None:
        draws = random.uniforms(0, "removal", one.doc_id, one.offsets)[0]
    order = order_of(ranking, items(one, np.array([0]), n), np.asarray(draws)[None])[0]
    removed = np.arange(n + 1)
    kept = [attending_only(one, np.argsort(order) >= step) for step in removed]
    logits = np.concatenate([one.logits_under(weights) for weights in kept])  # (n + 1, K)
    return pd.DataFrame({
        "position": np.append(-1, order), "removed": removed, "mass": np.append(0.0, one.attention[order].cumsum()),
        "label": decisions(logits), "p": distributions(logits)[:, int(decisions(one.logits)[0])],
    })  # fmt: skip
