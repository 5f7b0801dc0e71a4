"""What a model's accuracy is held against: the most frequent class, and a logistic regression on bags of words.

None of the papers has either. A model that does not learn its task, or learns it without the text that it attends
over, says nothing about attention: it is greyed on pages and enters no claim. `weak` is the one rule for all models.
"""

import numpy as np
import pandas as pd

from attn_core.measures import seed_interval
from attn_lab.data.catalogue import CATALOGUE
from attn_lab.runs.store import read_data

BELOW = 0.03
"""How far a model of texts may lie below the regression, and how far one of pairs must lie above it."""

BELOW_BEST = 0.10
"""How far a model of pairs may lie below the best encoder of its data set."""


def stored() -> pd.DataFrame:
    """The stored baselines, one row per data set, as `python -m benchmarks --baselines` measures them."""
    return pd.read_csv(read_data("measured/baselines.csv"))


def weak(runs: pd.DataFrame) -> pd.Series:
    """Whether the runs of a model did not do their task, so that it enters no claim; by corpus and encoder.

    runs: columns corpus, encoder, accuracy (one per seed), of one attention, all encoders of a data set together. Weak
    where their 95 % interval (below three seeds: the lowest) reaches the majority rate, or where no baseline was
    measured. A model of texts also where their mean lies more than BELOW under the regression. A model of pairs where
    it lies less than BELOW over the regression, which never reads the text that is attended to, or more than BELOW_BEST
    under the mean of the best encoder. Generated sets have no bar to pass.
    """
    accuracies = runs.groupby(["corpus", "encoder"])["accuracy"]
    models = accuracies.agg(["mean", "min"])
    models = models.join(stored().set_index("corpus"), on="corpus")
    low = accuracies.agg(lambda values: seed_interval(values)[0]).fillna(models["min"])
    passes = low > models["majority"]

    corpora = [CATALOGUE[corpus] for corpus in models.index.get_level_values("corpus")]
    pairs = np.array([corpus.task != "text" for corpus in corpora], bool)
    bar = models["regression"] + np.where(pairs, BELOW, -BELOW)
    passes &= models["mean"] >= bar
    best = models["mean"].groupby("corpus").transform("max")
    passes &= ~pairs | (models["mean"] >= best - BELOW_BEST)

    generated = np.array([corpus.generated for corpus in corpora], bool)
    return ~(passes | generated)
