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
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy import ndarray

from attn_core.errors import AttnError
from attn_core.experiments import draws as random
from attn_core.experiments.tables import table
from attn_core.traces import Arrays, Traces, totals

RANKINGS = ("random", "attention", "gradient", "product", "first_order", "optimum")
"""Orders of removal; 'product' is gradient times attention, 'optimum' the exact smallest flip set."""

NEVER = -1
"""Number removed where no step of the removal changes the decision."""

NUMBERS = 1 << 17
"""Margins held at once: a megabyte stays in the processor's cache."""


@dataclass
class Block:
    """B documents of n items each: what every removal order of theirs needs; R = K - 1 rivals of the prediction."""

    rows: ndarray  # (B,) places of the documents in the traces
    tokens: ndarray  # (B, n) places of their items
    attention: ndarray  # (B, n)
    margin: ndarray  # (B, n, R) by which each item favours rival r over the prediction
    level: ndarray  # (B, R) what a rival's sum of margins must exceed to win


def removals(
    traces: Traces,
    seed: int = 0,
    rankings: tuple[str, ...] = RANKINGS,
) -> pd.DataFrame:
    """Items removed until the decision flips, for each ranking (Serrano & Smith 2019, sections 5.1 to 5.3).

    Parameters
    ----------
    traces : Traces
        Of any model.
    seed : int
        Of the random order, by scores that are uniform from (seed, doc_id).
    rankings : tuple of str
        Of attention, gradient (signed, d p_y / d alpha at the unmodified weights), product, random, all largest
        first, ties in order of the text; and, not in the paper, first_order and optimum.

    Returns
    -------
    DataFrame
        One row per document. removed_<r>: number removed, NEVER where no step flips, the last step being the zero
        vector, which decodes to the bias; mass_<r>: attention removed by then (NaN where never); zero_<r>: whether
        the flip came with the zero vector, so that 'with an item left' the document never flips.

    Raises
    ------
    AttnError
        Text pairs.

    Notes
    -----
    Documents of one item are in the table; the paper leaves them out. Deviations: double precision throughout (the
    authors decode in single precision), one random order (they draw five and plot the first).
    """
    if unknown := {*rankings} - {*RANKINGS}:
        raise AttnError(f"unknown ranking '{min(unknown)}'; give a list of {', '.join(RANKINGS)}")
    model = by_class(traces)
    values = ranking_values(model, seed)
    bias_flips = model.bias.argmax() != model.predicted  # (D,) does the zero vector decode to another class?

    columns: Arrays = {}
    for name in rankings:
        columns[f"removed_{name}"] = np.empty(len(traces), np.int32)
        columns[f"mass_{name}"] = np.empty(len(traces))
        columns[f"zero_{name}"] = np.empty(len(traces), bool)

    for block in equal_length_blocks(model):
        for name in rankings:
            order = removal_order(block, name, values)
            removed, mass, by_zero = first_flip(block, order, bias_flips[block.rows])
            columns[f"removed_{name}"][block.rows] = removed
            columns[f"mass_{name}"][block.rows] = mass
            columns[f"zero_{name}"][block.rows] = by_zero
    return table(traces, **columns)


def by_class(traces: Traces) -> Traces:
    """The same with a logit for each class: 0 and o where there is one logit o. AttnError for text pairs."""
    if traces.readout is not None:
        raise AttnError("erasure takes affine decoders, these traces are of text pairs (Serrano & Smith, section 3)")
    if traces.classes > 1:
        return traces
    return replace(
        traces,
        contribution=np.pad(traces.contribution, ((0, 0), (1, 0))),
        bias=np.pad(traces.bias, (1, 0)),
    )


def attention_gradient(model: Traces) -> ndarray:
    """d p_y / d alpha_t = p_y (c_ty - sum_k p_k c_tk) of the predicted class y, (T,); model: of `by_class`."""
    owner = model.owner
    c = model.contribution
    p = model.outputs
    expected = sum(p[owner, k] * c[:, k] for k in range(model.classes))
    chosen = c[np.arange(len(c)), model.predicted[owner]]  # c_ty
    return p.max(axis=1)[owner] * (chosen - expected)


def ranking_values(model: Traces, seed: int = 0) -> Arrays:
    """Ranking (but for 'optimum') -> value (T,) of each item, the largest goes first.

    first_order (not in the paper): to first order, the loss of p_y when an item goes and the others are renormalised,
    alpha_t (g_t - sum alpha g) / (1 - alpha_t): the gradient with respect to the item's score, divided by what is left.
    An item that holds all weight comes first. model: of `by_class`.
    """
    alpha = model.attention
    g = attention_gradient(model)
    mean = totals(alpha * g, model.offsets)[model.owner]
    left = 1.0 - alpha
    first_order = np.full(len(alpha), np.inf)
    np.divide(alpha * (g - mean), left, out=first_order, where=left > 0)
    drawn = random.uniforms(seed, "removal", model.doc_id, model.offsets)[0]
    return {"attention": alpha, "gradient": g, "product": alpha * g, "first_order": first_order, "random": drawn}


def equal_length_blocks(model: Traces) -> Iterator[Block]:
    """Blocks of documents of one length, small enough for the processor's cache; model: of `by_class`."""
    bias = model.bias.astype(float)
    for rows, tokens in model.equal_lengths(NUMBERS // model.classes):
        y = model.predicted[rows, None]  # (B, 1)
        rival = np.arange(model.classes - 1)
        rival = rival + (rival >= y)  # (B, R) all classes but y

        # m_tk = alpha_t (c_tk - c_ty + b_k - b_y)
        c = model.contribution[tokens].astype(float)  # (B, n, K)
        c_rival = np.take_along_axis(c, rival[:, None], axis=2)  # (B, n, R)
        c_y = np.take_along_axis(c, y[:, None], axis=2)
        bias_ahead = bias[rival] - bias[y]
        attention = model.attention[tokens]
        margin = attention[..., None] * (c_rival - c_y + bias_ahead[:, None])

        # A rival before y in the list of classes wins ties: its sum need only exceed the float below 0.
        level = np.where(rival < y, np.nextafter(0.0, -1.0), 0.0)
        yield Block(rows, tokens, attention, margin, level)


def removal_order(block: Block, ranking: str, values: Arrays) -> ndarray:
    """Positions (B, n) in order of removal: largest value first, ties in order of the text. values: by ranking, (T,)"""
    value = smallest_first(block) if ranking == "optimum" else values[ranking][block.tokens]
    return np.argsort(-value, axis=1, kind="stable")


def smallest_first(block: Block) -> ndarray:
    """Values (B, n) by which a smallest flip set goes first, for the first rival that has one.

    Items of weight 0 come last.
    """
    rival = smallest_by_rival(block).argmin(axis=1)
    margin = np.take_along_axis(block.margin, rival[:, None, None], axis=2)[..., 0]
    return np.where(block.attention > 0, -margin, -np.inf)


def smallest_by_rival(block: Block) -> ndarray:
    """Size of the smallest flip set for each rival, at least one item of positive weight left: (B, R), n where none."""
    n = block.attention.shape[1]
    margin_left = sum_from_back(np.sort(block.margin, axis=1))  # after j removals, the most negative first
    weighty = (block.attention > 0).sum(axis=1)[:, None, None]  # items of positive weight
    overtaken = margin_left > block.level[:, None]  # (B, n, R)
    flips = overtaken & (np.arange(n)[:, None] < weighty)
    flips[:, 0] = False  # nothing removed: the decision stands
    return np.where(flips.any(axis=1), flips.argmax(axis=1), n)


def first_flip(
    block: Block,
    order: ndarray,  # (B, n) positions, first to go first
    bias_flips: ndarray,  # (B,) whether the bias alone has another label
) -> tuple[ndarray, ndarray, ndarray]:
    """Number removed at the first flip, attention removed by then, was it the zero vector: each (B,)."""
    documents, n = order.shape
    row = np.arange(documents)
    gather = row[:, None], order

    # What is left after j removals is a sum over the items that go later: sum from the back.
    margin_left = sum_from_back(block.margin[gather])  # (B, n, R)
    attention_left = np.zeros((documents, n + 1))  # nothing is left after n removals
    attention_left[:, :n] = sum_from_back(block.attention[gather])

    # Step j flips if some rival's margins exceed its level while an item of positive weight is left.
    overtaken = (margin_left > block.level[:, None]).any(axis=2)
    flips = overtaken & (attention_left[:, :n] > 0)
    flips[:, 0] = False  # nothing removed: the decision stands, whatever rounding says

    # Where no step flips, the zero vector may: it decodes to the bias.
    any_flip = flips.any(axis=1)
    by_zero = ~any_flip & bias_flips
    steps_to_zero = (attention_left > 0).sum(axis=1)
    removed = np.full(documents, NEVER)
    removed[any_flip] = flips.argmax(axis=1)[any_flip]
    removed[by_zero] = steps_to_zero[by_zero]

    mass = attention_left[:, 0] - attention_left[row, removed]
    mass[removed == NEVER] = np.nan
    return removed, mass, by_zero


def sum_from_back(values: ndarray) -> ndarray:
    """Along axis 1: at j the sum of the values from j on."""
    from_back = values[:, ::-1].cumsum(axis=1)
    return from_back[:, ::-1]
