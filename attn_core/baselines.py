"""What a model's accuracy is held against: the most frequent class, and a logistic regression on bags of words.

None of the papers has either. A model that does not learn its task, or learns it without the text that it attends
over, says nothing about attention: it is greyed on pages and enters no claim. `weak` is the one rule for all models.
"""

import numpy as np
import pandas as pd

from attn_core.corpora.catalogue import CATALOGUE
from attn_core.measures import seed_interval
from attn_core.store import reported_folder

BELOW = 0.03
"""How far a model of texts may lie below the regression, and how far one of pairs must lie above it."""

BELOW_BEST = 0.10
"""How far a model of pairs may lie below the best encoder of its data set."""


def stored() -> pd.DataFrame:
    """The stored baselines, one row per data set, as `python -m benchmarks --baselines` measures them."""
    return pd.read_csv(reported_folder().parent / "measured" / "baselines.csv")


def weak(runs: pd.DataFrame) -> pd.Series:
    """`weakness` of the runs of each model, by corpus and encoder. runs: columns corpus, encoder, accuracy, of one
    attention, all encoders of a data set together."""
    models = runs.groupby(["corpus", "encoder"])["accuracy"]
    means = models.mean()
    best, bars = means.groupby("corpus").max(), stored().set_index("corpus")
    why = [weakness(model[0], values, best[model[0]], bars) for model, values in models]
    return pd.Series(why, means.index, dtype=str)


def weakness(corpus: str, accuracies: pd.Series, best: float, bars: pd.DataFrame) -> str:
    """Why the runs of one model did not do their task and enter no claim, in words; '' where they did.

    accuracies: one per seed. Weak where their 95 % interval (below three seeds: the lowest) reaches the majority rate.
    A model of texts also where their mean lies more than BELOW under the regression. A model of pairs where it lies
    less than BELOW over the regression, which never reads the text that is attended to, or more than BELOW_BEST under
    `best`, the mean of the best encoder. Generated sets have no bar to pass. bars: `stored`, by corpus.
    """
    if CATALOGUE[corpus].generated:
        return ""
    if corpus not in bars.index:
        return "no baseline was measured"
    majority, regression = bars.loc[corpus, ["majority", "regression"]]
    low, mean = seed_interval(accuracies)[0], accuracies.mean()
    low = accuracies.min() if np.isnan(low) else low
    if low <= majority:
        return f"its interval reaches the majority rate of {majority:.2f}"
    if CATALOGUE[corpus].task != "text":
        if mean < regression + BELOW:
            return f"{100 * (mean - regression):.1f} points above a regression that does not read the text attended to"
        if mean < best - BELOW_BEST:
            return f"{100 * (best - mean):.1f} points below the best encoder"
    elif mean < regression - BELOW:
        return f"{100 * (regression - mean):.1f} points below the regression"
    return ""
