"""Which tests of the book tell anything on these texts: good attention against the same weights dealt anew."""

import numpy as np
import pandas as pd

from attn_core.traces import Traces, has_one_logit
from attn_lab.more.known import GOOD, TESTS, told_apart
from attn_lab.study.numbers import NO_DELETIONS, mean_interval, verdict

TEXTS = 150
DEALS = 10
COIN = 0.5
CLOSE = 0.1
"""An AUC at most so far above a coin tells next to nothing."""

ASKS = {
    "names": "does it name the word whose deletion matters most",
    "permutation": "does shuffling it matter",
    "adversaries": "has it no far twin",
    "top item": "does its top item flip the decision",
    "order": "does it flip with fewer items than gradients",
    "gradients": "does it rank words like gradients",
}
"""Test of `experiments.known` -> what it asks of attention."""

CONTEXT = "models without context only"
TWO = "two classes only"
ONE_WORD = "texts of several words only"


def power(models: list[Traces], encoder: str) -> pd.DataFrame:
    """How well each test tells good attention from bad: one row for each test, meaning of good, and form.

    Columns test, asks, meaning, form (beside: bad weights of the same text; alone: of any), value (AUC, 0.5 a coin),
    low, high, why (of a dash). models: traces of each seed, of the same texts.
    """
    rows = []
    models = [sample(traces) for traces in models]
    for test, asks in ASKS.items():
        for meaning, weigh in GOOD.items():
            why = missing(test, meaning, models[0], encoder)
            if why:
                rows.append((test, asks, meaning, "", np.nan, np.nan, np.nan, why))
                continue
            tables = [told_apart(weigh(model), model, TESTS[test], seed, DEALS) for seed, model in enumerate(models)]
            for form in ("beside", "alone"):
                value, *ends, _ = mean_interval(np.array([table[form] for table in tables]))
                rows.append((test, asks, meaning, form, *np.clip([value, *ends], 0, 1), ""))
    return pd.DataFrame(rows, columns=["test", "asks", "meaning", "form", "value", "low", "high", "why"])


def sample(traces: Traces) -> Traces:
    """The first TEXTS texts of several words, one logit as two where a test wants these."""
    return traces.take(np.flatnonzero(traces.lengths > 1)[:TEXTS])


def missing(test: str, meaning: str, traces: Traces, encoder: str) -> str:
    """Why a test cannot be tried, '' where it can."""
    if not len(traces):
        return ONE_WORD
    if test == "gradients" and encoder not in ("average", "none"):
        return CONTEXT
    if not has_one_logit(traces) and (test == "adversaries" or meaning == "decision"):
        return TWO
    if traces.leave_one_out is None and (test == "names" or meaning == "deletion"):
        return NO_DELETIONS
    return ""


def verdicts(powers: pd.DataFrame) -> dict[str, str]:
    """Test -> whether it tells by each meaning of good, beside and alone; it does not where by one it is close to a
    coin. Tests that cannot be tried are left out."""
    worst = powers.dropna(subset="value").groupby("test", sort=False)[["low", "high"]].min()
    return {str(test): verdict(row.low, row.high, COIN, CLOSE) for test, row in worst.iterrows()}
