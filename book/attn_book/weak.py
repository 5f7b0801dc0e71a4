"""Models that do their task badly: far below the best of their data set, or hardly above its largest class.

What their attention does says little about attention: no count of the verdict holds them, and beside every count of the
claims stands the one without them.
"""

from collections.abc import Iterable

import numpy as np

from attn_book import across, words
from attn_book.words import ENCODER_NAMES
from attn_core.archive import Result
from attn_core.index import difference, parts_of
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


def untrained(found: list[Result], margin: float = 0.05) -> str:
    """Models with runs whose test accuracy is at most `margin` above the share of the largest class, in words."""
    groups: dict[tuple, list[tuple[float, float]]] = {}
    for result in found:
        run, parts = result.record["run"], parts_of(result.record, "test")
        classes = np.sum([part["per_class"] for part in parts], axis=0)
        groups.setdefault((run["corpus"], run["encoder"], run["attention"]), []).append(
            (result.record["accuracy"], classes.max() / classes.sum())
        )
    told = []
    for (corpus, *model), pairs in groups.items():
        accuracy, majority = np.array(pairs).T
        low = int((accuracy <= majority + margin).sum())
        if low:
            ran = (
                f"accuracy {accuracy.min():.2f} to {accuracy.max():.2f}"
                if len(pairs) > 1
                else f"accuracy {accuracy[0]:.2f}"
            )
            told.append(
                f"{corpus}, {across.model_name(*model)} ({low} of {words.seeds_in_words(len(pairs))}, {ran}; "
                f"largest class {majority.mean():.2f})"
            )
    return "; ".join(told) or "none"
