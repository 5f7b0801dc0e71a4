"""Names and numbers as pages write them: models, intervals, seeds, lists."""

from collections.abc import Iterable

import numpy as np

from attn_core.archive import Result
from attn_core.measures import LN2

ENCODER_NAMES = {
    "lstm": "BiLSTM", "cnn": "CNN", "average": "Average", "none": "no encoder",
    "han_rnn": "HANrnn", "han_conv": "HANconv", "han_none": "HANnoenc",
    "flan_rnn": "FLANrnn", "flan_conv": "FLANconv", "flan_none": "FLANnoenc",
}  # fmt: skip
ATTENTION_NAMES = {"tanh": "additive", "dot": "scaled dot", "uniform": "uniform", "given": "given"}


def title(result: Result) -> str:
    """A run in words, for captions."""
    run = result.record["run"]
    model = f"{ENCODER_NAMES[run['encoder']]} with {ATTENTION_NAMES[run['attention']]} attention"
    name = f"{run['corpus']}, {model}, one seed ({run['seed']})"
    return name if run["selection"] == "dev" else f"{name}, checkpoint chosen on the {run['selection']} set"


def told(
    mean: float, low: float, high: float, form: str = ".2f", bounds: tuple[float, float] = (-np.inf, np.inf)
) -> str:
    """'0.42 (0.37 to 0.48)', the interval cut at the values that are possible; '–' for no value."""
    if not np.isfinite(mean):
        return "–"
    if not np.isfinite(low):
        return f"{number(mean, form)} (no interval)"
    return f"{number(mean, form)} ({number(max(low, bounds[0]), form)} to {number(min(high, bounds[1]), form)})"


def number(value: float, form: str) -> str:
    """A formatted number without the sign of a zero."""
    text = f"{value:{form}}"
    return text if any(digit in text for digit in "123456789") else text.lstrip("-")


def bounds(statistic: str, measure: str = "mean") -> tuple[float, float]:
    """Values that a number of the summaries can take: JSD 0 to ln 2, tau -1 to 1, shares, ratios and changes 0 to 1.

    Everything else, differences among it, has no bounds here.
    """
    kind = statistic.partition("@")[0]
    if measure.startswith("share") or kind in ("accuracy", "macro_f1", "median_change") or kind.startswith("ratio"):
        return 0.0, 1.0
    if kind == "ceiling" or kind.startswith("jsd"):
        return 0.0, LN2
    return (-1.0, 1.0) if kind.startswith("tau") else (-np.inf, np.inf)


def seeds_in_words(count: int, most: int | None = None) -> str:
    """'5 seeds', '1 seed'; '5 to 9 seeds' where models have different numbers."""
    return f"{count} to {most} seeds" if most not in (None, count) else f"{count} seed{'' if count == 1 else 's'}"


def told_seeds_of(name: str, seeds: list[int]) -> str:
    """'imdb (seeds 10, 50)'."""
    return f"{name} (seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))})"


def listed(names: Iterable[str]) -> str:
    """Names with commas; 'none' for none."""
    return ", ".join(names) or "none"


def spoken(parts: dict[str, str]) -> list[str]:
    """'what: names.' for each part that has names (see `listed`), for a list on a page; ['none'] where none has."""
    return [f"{what}: {names}." for what, names in parts.items() if names not in ("", "none")] or ["none"]
