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
from dataclasses import replace

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.experiments import draws as random
from attn_core.experiments.tables import table
from attn_core.traces import Traces, attending_only, decisions, probabilities, totals

RANKINGS = ("random", "attention", "gradient", "product", "first_order", "optimum")
"""Orders of removal; 'product' is gradient times attention, 'optimum' the exact smallest flip set."""

KINDS = {"removed": np.int32, "mass": float, "zero": bool}
"""What is told of each order, see `removals`."""

NEVER = -1
"""Number removed where no step of the removal changes the decision."""

NUMBERS = 1 << 17
"""Margins held at once: a megabyte stays in the processor's cache."""


def by_class(traces: Traces) -> Traces:
    """The same with a logit for each class: 0 and o where there is one logit o. AttnError for text pairs."""
    if traces.readout is not None:
        raise AttnError("erasure takes affine decoders, these traces are of text pairs (Serrano & Smith, section 3)")
    if traces.classes > 1:
        return traces
    contribution = np.pad(traces.contribution, ((0, 0), (1, 0)))
    return replace(traces, contribution=contribution, bias=np.pad(traces.bias, (1, 0)))


def gradient(traces: Traces) -> np.ndarray:
    """d p_y / d alpha_t = p_y (c_ty - sum_k p_k c_tk) of the predicted class y, (T,); traces: `by_class`."""
    owner, c, p = traces.owner, traces.contribution, traces.outputs
    expected = sum(p[owner, k] * c[:, k] for k in range(traces.classes))
    return p.max(axis=1)[owner] * (c[np.arange(len(c)), traces.predicted[owner]] - expected)


def margins(traces: Traces, rows: np.ndarray, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the documents `rows` (B,) of the tokens (B, n): margins (B, n, R) of the R = K - 1 classes other than the
    predicted one, and the level (B, R) that such a rival's sum must exceed. traces: `by_class`."""
    bias, y = traces.bias.astype(np.float64), traces.predicted[rows, None]
    value, rival = traces.contribution[tokens].astype(np.float64), np.arange(traces.classes - 1)
    rival = rival + (rival >= y)
    ahead = np.take_along_axis(value, rival[:, None], axis=2) - np.take_along_axis(value, y[:, None], axis=2)
    margin = traces.attention[tokens][..., None] * (ahead + (bias[rival] - bias[y])[:, None])
    return margin, np.where(rival < y, np.nextafter(0.0, -1.0), 0.0)


def smallest_by_rival(margin: np.ndarray, attention: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Size of the smallest flip set for each rival, at least one item of positive weight left: (B, R), n where none.

    margin (B, n, R) and level (B, R) of `margins`, attention (B, n).
    """
    kept = np.sort(margin, axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]  # after j removals, the most negative first
    held = (attention > 0).sum(axis=1)
    ahead = (kept > level[:, None]) & (np.arange(margin.shape[1])[:, None] < held[:, None, None])
    ahead[:, 0] = False
    return np.where(ahead.any(axis=1), ahead.argmax(axis=1), margin.shape[1])


def smallest_first(margin: np.ndarray, attention: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Values (B, n) by which a smallest flip set goes first, for the first rival that has one; items of weight 0
    come last."""
    best = smallest_by_rival(margin, attention, level).argmin(axis=1)
    return np.where(attention > 0, -np.take_along_axis(margin, best[:, None, None], axis=2)[..., 0], -np.inf)


def ranking_values(traces: Traces, draws: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Ranking (but for 'optimum') -> value (T,) of each item, the largest goes first. draws (T,): of 'random'.

    first_order (not in the paper): to first order, the loss of p_y when an item goes and the others are renormalised,
    alpha_t (g_t - sum alpha g) / (1 - alpha_t): the gradient with respect to the item's score, divided by what is left.
    An item that holds all weight comes first. traces: `by_class`.
    """
    a, g = traces.attention, gradient(traces)
    left, mean = 1.0 - a, totals(a * g, traces.offsets)[traces.owner]
    first_order = np.where(left > 0, a * (g - mean) / np.where(left > 0, left, 1.0), np.inf)
    return {"random": draws, "attention": a, "gradient": g, "product": a * g, "first_order": first_order}


def orders(traces: Traces, rankings: tuple[str, ...], draws: np.ndarray) -> Iterator[tuple]:
    """For B documents of n items at a time and each ranking: rows (B,), the ranking, positions (B, n) in order of
    removal, ties in order of the text; and their margins, attention (B, n) and level. traces: `by_class`."""
    ranked = ranking_values(traces, draws)
    for rows, tokens in traces.equal_lengths(NUMBERS // traces.classes):
        attention, (margin, level) = traces.attention[tokens], margins(traces, rows, tokens)
        for name in rankings:
            score = smallest_first(margin, attention, level) if name == "optimum" else ranked[name][tokens]
            yield rows, name, np.argsort(-score, axis=1, kind="stable"), margin, attention, level


def first_flip(order: np.ndarray, margin: np.ndarray, attention: np.ndarray, level: np.ndarray, empty: np.ndarray):
    """removed, mass, zero, (B,) each, see `removals`, when items go in this order. The first four: of `orders`; empty
    (B,): whether the bias alone has another label."""
    row = np.arange(len(order))
    backward = row[:, None], order[:, ::-1]
    kept = margin[backward].cumsum(axis=1)[:, ::-1]  # (B, n, R): j removed
    left = np.zeros((len(order), order.shape[1] + 1))  # the weight then
    left[:, :-1] = attention[backward].cumsum(axis=1)[:, ::-1]
    ahead = (kept > level[:, None]).any(axis=2) & (left[:, :-1] > 0)
    ahead[:, 0] = False  # nothing removed: the decision stands, whatever rounding says
    flips, last = ahead.any(axis=1), (left > 0).sum(axis=1)  # last: removals until no weight is left
    removed = np.where(flips, ahead.argmax(axis=1), np.where(empty, last, NEVER))
    return removed, np.where(removed == NEVER, np.nan, left[:, 0] - left[row, removed]), ~flips & empty


def removals(
    traces: Traces, seed: int = 0, rankings: tuple[str, ...] = RANKINGS, draws: np.ndarray | None = None
) -> pd.DataFrame:
    """Items removed until the decision flips, for each ranking (sections 5.1 to 5.3), one row per document.

    Columns removed_<r>: number removed, NEVER where no step flips, the last step being the zero vector, which decodes
    to the bias; mass_<r>: attention removed by then (NaN where never); zero_<r>: whether the flip came with the zero
    vector, so that 'with an item left' the document never flips. Rankings: attention, gradient (signed, d p_y / d alpha
    at the unmodified weights), product, random, all largest first, ties in order of the text; and, not in the paper,
    first_order and optimum. Documents of one item are in the table; the paper leaves them out. Deviations: double
    precision throughout (the authors decode in single precision), one random order (they draw five and plot the first).

    draws (T,): scores of the random order; by default uniform from (seed, doc_id).
    """
    draws, model = random.given(draws, seed, "removal", traces.doc_id, traces.offsets), by_class(traces)
    empty = model.bias.argmax() != model.predicted
    columns = {f"{kind}_{name}": np.empty(len(traces), dtype) for name in rankings for kind, dtype in KINDS.items()}
    for rows, name, *removal in orders(model, rankings, draws):
        for kind, values in zip(KINDS, first_flip(*removal, empty[rows]), strict=True):
            columns[f"{kind}_{name}"][rows] = values
    return table(traces, **columns)


def curve(traces: Traces, row: int, ranking: str) -> pd.DataFrame:
    """One document's whole removal sequence: position, removed (0 to n), mass, label, p (of the original label).

    position: the item that goes at this step (-1 at step 0). The last row is the zero vector; 'random' is of seed 0.
    """
    one = by_class(traces.take([row]))
    draws = random.uniforms(0, "removal", one.doc_id, one.offsets)[0]
    ((_, _, (order,), *_),) = orders(one, (ranking,), draws)
    removed = np.arange(len(order) + 1)
    logits = np.concatenate([one.logits_under(attending_only(one, np.argsort(order) >= step)) for step in removed])
    return pd.DataFrame({
        "position": np.append(-1, order), "removed": removed, "mass": np.append(0.0, one.attention[order].cumsum()),
        "label": decisions(logits), "p": probabilities(logits)[:, one.predicted[0]],
    })  # fmt: skip
