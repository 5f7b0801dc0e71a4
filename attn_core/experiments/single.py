"""Erasing one item: the top item of a ranking against a random other. Serrano and Smith 2019, section 4."""

from dataclasses import replace

import numpy as np
import pandas as pd

from attn_core.errors import AttnError
from attn_core.experiments import draws as random
from attn_core.experiments.removal import as_classes, blocks, distributions
from attn_core.experiments.tables import table
from attn_core.experiments.adversarial import shuffles
from attn_core.measures import jsd
from attn_core.traces import Traces, attending_only, decisions, each_without, totals

CHOICES = ("attention", "gradient", "product")
"""Whose top item is erased: the largest attention, gradient, or gradient times attention."""

RULES = ("coded", "described")
"""How the other item r is drawn: as the authors' code does it, or as the paper says."""


def top_items(traces: Traces) -> dict[str, np.ndarray]:
    """Position within its document of each CHOICES' top item, the first of several: (D,) each."""
    found = {name: np.empty(len(traces), np.int64) for name in CHOICES}
    for rows, _, part in blocks(traces):
        for name, values in zip(CHOICES, (part.attention, part.gradient, part.attention * part.gradient), strict=True):
            found[name][rows] = values.argmax(axis=1)
    return found


def other_item(top: np.ndarray, n: np.ndarray, uniform: np.ndarray, rule: str) -> np.ndarray:
    """Position r of the other item in each document of n > 1 items, (D,), from uniform numbers in [0, 1).

    'described': uniform over the positions other than `top`. 'coded': uniform over all positions but the first, so it
    may be `top` itself and is never the first item. n = 1: 0 (there is no other item).
    """
    if rule not in RULES:
        raise AttnError(f"unknown rule '{rule}' for the other item; known: {', '.join(RULES)}")
    drawn = np.minimum((uniform * (n - 1)).astype(np.int64), np.maximum(n - 2, 0))  # 0 to n - 2
    others = drawn + 1 if rule == "coded" else drawn + (drawn >= top)
    return np.where(n > 1, others, 0)


def logits_without(traces: Traces, position: np.ndarray) -> np.ndarray:
    """Logits (D, K) when the item at `position` (D,) of each document is erased, see `attending_only`."""
    kept = np.ones(len(traces.attention), bool)
    kept[traces.offsets[:-1] + position] = False
    return traces.logits_under(attending_only(traces, kept))


def single(traces: Traces, seed: int = 0, draws: np.ndarray | None = None) -> pd.DataFrame:
    """The single-weight tests of sections 4.1 and 4.2, one row per document.

    For each choice of top item i*: flips_<choice>, whether erasing i* changes the decision; for each rule for r:
    flips_r_<choice>@<rule>, whether erasing r does. For attention's i* also delta_js@<rule> = JS(p, q_i*) - JS(p, q_r)
    in nats, delta_alpha@<rule> = alpha_i* - alpha_r, and same@<rule>, whether r is i* (then both are 0). n = 1: NaN and
    False; the paper leaves these out. Every choice draws its r anew; both rules use the same uniform number.
    Deviations: double precision throughout (the authors keep one weight in double and decode in single precision).

    draws (3, D): uniform numbers in [0, 1) in the order of CHOICES; by default from (seed, doc_id).
    """
    draws = random.given(draws, seed, "erased item", traces.doc_id, np.arange(len(traces) + 1), len(CHOICES))
    n, start, several = traces.lengths, traces.offsets[:-1], traces.lengths > 1
    p, y = distributions(traces.logits), decisions(traces.logits)
    columns = {}
    for (choice, top), uniform in zip(top_items(traces).items(), draws, strict=True):
        without = logits_without(traces, top)
        columns[f"flips_{choice}"] = (decisions(without) != y) & several
        for rule in RULES:
            r = other_item(top, n, uniform, rule)
            other = logits_without(traces, r)
            columns[f"flips_r_{choice}@{rule}"] = (decisions(other) != y) & several
            if choice == "attention":
                gap = jsd(p, distributions(without)) - jsd(p, distributions(other))
                alpha = traces.attention[start + top] - traces.attention[start + r]
                columns[f"delta_js@{rule}"] = np.where(several, gap, np.nan)
                columns[f"delta_alpha@{rule}"] = np.where(several, alpha, np.nan)
                columns[f"same@{rule}"] = (r == top) & several
    return table(traces, **columns)


def weights_dealt_anew(traces: Traces, seed: int = 0) -> Traces:
    """The same documents with each one's weights shuffled over its items: attention that knows nothing of these.

    Contributions and bias stay; gradients and leave-one-out belong to the model's own weights and are dropped.
    """
    score = traces.score[shuffles(seed, "shuffle", traces)]
    return replace(traces, score=score, gradient=None, leave_one_out=None)


def two_by_two(documents: pd.DataFrame, choice: str, rule: str) -> dict[str, float]:
    """Percentages of the documents of more than one item: both, only_top, only_random, neither; and n (section 4.2).

    documents: columns of `single`. only_top: erasing i* flips, erasing r does not. NaN without such documents.
    """
    part = documents[documents["n"] > 1]
    top, other = (part[name].astype(bool) for name in (f"flips_{choice}", f"flips_r_{choice}@{rule}"))
    cells = {"both": top & other, "only_top": top & ~other, "only_random": ~top & other, "neither": ~top & ~other}
    return {name: 100.0 * cell.mean() for name, cell in cells.items()} | {"n": len(part)}


def others_flip(traces: Traces) -> np.ndarray:
    """Share (D,) of the items other than the most attended one whose erasure alone flips the decision; NaN for n = 1.

    The expectation of what `single` estimates by one draw of r, 'described'.
    """
    as_classes(traces)
    without = traces.bias + each_without(traces, traces.contribution)  # (T, K)
    flips = decisions(without) != decisions(traces.logits)[traces.owner]
    others = totals(flips.astype(float), traces.offsets) - flips[traces.heaviest]
    return np.where(traces.lengths > 1, others / np.maximum(traces.lengths - 1, 1), np.nan)
