"""Models that do their task badly: far below the best of their data set, or hardly above its largest class.

What their attention does says little about attention: no count of the verdict holds them, and beside every count of the
claims stands the one without them.
"""

from collections.abc import Iterable

import numpy as np

from attn_book.words import ENCODER_NAMES
from attn_core.archive import Result
from attn_core.index import difference
from attn_core.runs import SEEDS, from_dict

WEAK = 0.10
"""A model whose mean accuracy lies farther below the best model of its data set says nothing about attention there."""


def is_standard(result: Result) -> bool:
    """Whether a run has the default pipeline and a seed of the book's list."""
    run = from_dict(result.record["run"])
    return run.seed in SEEDS and not difference(run)


def has_cells(result: Result) -> bool:
    """Whether a run is in Jain & Wallace's part: a standard one of a known encoder with additive attention."""
    run = result.record["run"]
    return (
        result.summary is not None
        and is_standard(result)
        and (run["attention"], run["encoder"] in ENCODER_NAMES) == ("tanh", True)
    )


def accuracies(results: Iterable[Result]) -> dict[str, dict[str, list[float]]]:
    """Data set -> encoder -> test accuracy of each seed, of standard runs."""
    found: dict[str, dict[str, list[float]]] = {}
    for result in filter(has_cells, results):
        run = result.record["run"]
        found.setdefault(run["corpus"], {}).setdefault(run["encoder"], []).append(result.record["accuracy"])
    return found


def weak_models(results: Iterable[Result]) -> set[tuple[str, str]]:
    """Data set and encoder of the models that do their task badly."""
    return {(corpus, name) for corpus, models in accuracies(results).items() for name in below_the_best(models)}


def below_the_best(models: dict[str, list[float]]) -> list[str]:
    """Encoders whose mean accuracy lies more than WEAK below the best encoder's; models: encoder -> accuracies."""
    means = {encoder: np.mean(accuracies) for encoder, accuracies in models.items()}
    return [encoder for encoder, mean in means.items() if mean < max(means.values()) - WEAK]
