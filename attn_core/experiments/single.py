"""Erasing one item: the top item of a ranking against a random other. Serrano and Smith 2019, section 4."""

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy import ndarray

from attn_core.experiments import draws as random
from attn_core.experiments.adversarial import shuffles
from attn_core.experiments.removal import by_class, ranking_values
from attn_core.experiments.tables import table
from attn_core.measures import jsd
from attn_core.traces import Traces, attending_only, decisions, each_without, probabilities, totals

CHOICES = ("attention", "gradient", "product")
"""Whose top item is erased: the largest attention, gradient, or gradient times attention."""

RULES = ("coded", "described")
"""How the other item r is drawn: as the authors' code does it, or as the paper says."""

ALL_ORDERS = 6
"""Items up to which a document's weights are permuted in all orders."""


def other_item(top: ndarray, n: ndarray, uniform: ndarray, rule: str) -> ndarray:
    """Position r of the other item in each document of n items, (D,), from uniform numbers in [0, 1).

    'described': uniform over the positions other than `top`. 'coded': uniform over all positions but the first, so it
    may be `top` itself and is never the first item. n = 1: 0 (there is no other item).
    """
    drawn = (uniform * (n - 1)).astype(int)
    drawn = np.minimum(drawn, np.maximum(n - 2, 0))  # 0 to n - 2
    shift = 1 if rule == "coded" else drawn >= top
    return np.where(n > 1, drawn + shift, 0)


def logits_without(traces: Traces, items: ndarray) -> ndarray:
    """Logits (D, K) when of each document one of `items` (D,), places among all tokens, is erased."""
    kept = np.arange(len(traces.score)) != items[traces.owner]
    context = traces.contexts_under(attending_only(traces, kept))
    return traces.decoded(context, np.arange(len(traces)))


def single(traces: Traces, seed: int = 0) -> pd.DataFrame:
    """The single-weight tests of Serrano & Smith 2019, sections 4.1 and 4.2, one row per document.

    Parameters
    ----------
    traces : Traces
        Of any model.
    seed : int
        Of the random items, which are drawn from (seed, doc_id).

    Returns
    -------
    DataFrame
        For each choice of top item i*: flips_<choice>, whether erasing i* changes the decision; for each rule for r:
        'flips_r_<choice> rule=<rule>', whether erasing r does. For attention's i* and each rule also delta_js =
        JS(p, q_i*) - JS(p, q_r) in nats, delta_alpha = alpha_i* - alpha_r, and same, whether r is i* (then both are 0).
        n = 1: NaN and False; the paper leaves these out.

    Notes
    -----
    Every choice draws its r anew; both rules use the same uniform number. Deviation: double precision throughout (the
    authors decode in single precision).
    """
    documents = np.arange(len(traces) + 1)  # one number per document, not per item
    draws = random.uniforms(seed, "erased item", traces.doc_id, documents, len(CHOICES))
    model = by_class(traces)
    values = ranking_values(model)
    alpha = model.attention
    start = model.offsets[:-1]
    several = model.lengths > 1

    columns = {}
    for choice, uniform in zip(CHOICES, draws, strict=True):
        top = model.first_largest(values[choice])  # i*
        logits_top = logits_without(model, top)
        columns[f"flips_{choice}"] = several & (decisions(logits_top) != model.predicted)
        for rule in RULES:
            r = start + other_item(top - start, model.lengths, uniform, rule)
            logits_r = logits_without(model, r)
            columns[f"flips_r_{choice} rule={rule}"] = several & (decisions(logits_r) != model.predicted)
            if choice == "attention":
                js_top = jsd(model.outputs, probabilities(logits_top))
                js_r = jsd(model.outputs, probabilities(logits_r))
                columns[f"delta_js rule={rule}"] = np.where(several, js_top - js_r, np.nan)
                columns[f"delta_alpha rule={rule}"] = np.where(several, alpha[top] - alpha[r], np.nan)
                columns[f"same rule={rule}"] = several & (r == top)
    return table(traces, **columns)


def permuted_weights(traces: Traces, seed: int = 0) -> Traces:
    """The same documents with each one's weights shuffled over its items: attention that knows nothing of these.

    Contributions and bias stay; gradients and leave-one-out belong to the model's own weights and are dropped.
    """
    score = traces.score[shuffles(seed, "shuffle", traces)]
    return replace(traces, score=score, gradient=None, leave_one_out=None)


def two_by_two(documents: pd.DataFrame, choice: str, rule: str) -> dict[str, float]:
    """Percentages of documents of several items: both, only_top, only_random, neither; and n (section 4.2).

    documents: columns of `single`. only_top: erasing i* flips, erasing r does not. NaN without documents.
    """
    top = documents[f"flips_{choice}"].astype(bool)
    r = documents[f"flips_r_{choice} rule={rule}"].astype(bool)
    cells = {
        "both": top & r,
        "only_top": top & ~r,
        "only_random": ~top & r,
        "neither": ~top & ~r,
    }
    percentages = {name: 100.0 * cell.mean() for name, cell in cells.items()}
    return percentages | {"n": len(documents)}


def others_flip(traces: Traces) -> ndarray:
    """Share (D,) of the items other than the most attended one whose erasure alone flips the decision; NaN for n = 1.

    The expectation of what `single` estimates by one draw of r, 'described'.
    """
    without = traces.bias + each_without(traces, traces.contribution)  # (T, K)
    flips = decisions(without) != decisions(traces.logits)[traces.owner]
    flips_of_others = totals(flips.astype(float), traces.offsets) - flips[traces.most_attended]
    n = traces.lengths
    return np.where(n > 1, flips_of_others / np.maximum(n - 1, 1), np.nan)
