"""The numbers of a study: each text's under each seed, their means, and intervals over texts and seeds at once."""

from collections.abc import Callable
from functools import reduce

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when first used
from numpy import ndarray

from attn_core.experiments.adversarial import ceilings
from attn_core.experiments.correlation import correlation
from attn_core.experiments.optimum import exact
from attn_core.experiments.permutation import permutation
from attn_core.experiments.removal import NEVER, removals
from attn_core.experiments.single import weights_dealt_anew
from attn_core.measures import jsd_ragged, without_nan
from attn_core.traces import Traces, has_one_logit
from attn_lab.more.bracket import bracket
from attn_lab.more.compared import agreement
from attn_lab.more.echo import echo
from attn_lab.more.known import names_the_word

RESAMPLES = 1_000
TAIL = 0.025
TINY = 1e-9
BRACKETED = 40
RANKINGS = ("attention", "gradient", "random", "optimum")

QUESTIONS = {
    "Is the model better than the majority?": (
        "accuracy",
        "accuracy of the majority",
        "macro F1",
        "macro F1 of the majority",
        "AUC",
    ),
    "Can attention matter?": ("locked", "words that alone decide", "moves < 0.1 when shuffled"),
    "Is attention needed?": ("accuracy, equal weights", "gain over equal weights", "decisions equal weights change"),
    "Does the top word matter?": ("top word", "top word by chance", "top word beyond chance", "top word of gradients"),
    "Does it rank like gradients?": ("tau with gradients", "tau of gradients and deletion"),
    "How far is a twin?": ("farthest twin", "farthest, dealt anew", "ceiling", "another seed"),
    "How few words must go?": tuple(f"removed by {ranking}" for ranking in RANKINGS),
}
"""What is asked -> the numbers that answer it."""

SIGNED = "gain over equal weights"

NO_DELETIONS = "deletions are not read of this model"
ALL_NAN = "no text has it"

HOLDS = "yes"
DOES_NOT = "no"
OPEN = "cannot be said"
"""Verdicts."""


def per_text(own: list, flat: list) -> pd.DataFrame:
    """One row a test text of one seed, of all its parts: doc_id, label, p of each class, what `numbers` averages."""
    tables = [of_model(a.traces, b.traces) for a, b in zip(own, flat, strict=True)]
    return pd.concat(tables).sort_values("doc_id", ignore_index=True)


def of_model(traces: Traces, flat: Traces) -> pd.DataFrame:
    """The numbers of each text of one model; flat: the model with equal weights."""
    n = traces.lengths
    several = np.where(n > 1, 1.0, np.nan)
    outputs = traces.outputs if traces.classes > 1 else np.hstack([1 - traces.outputs, traces.outputs])
    echoes = echo(traces)
    correlations = correlation(traces)
    columns = {
        "doc_id": traces.doc_id,
        "label": traces.label,
        "outputs": list(outputs),
        "attention": np.split(traces.attention, traces.offsets[1:-1]),
        "accuracy": traces.predicted == traces.label,
        "locked": echoes["locked"],
        "words that alone decide": echoes["echo"],
        "moves < 0.1 when shuffled": permutation(traces)["median_change"] < 0.1,
        "accuracy, equal weights": flat.predicted == flat.label,
        "decisions equal weights change": echoes["flat_flips"],
        "tau with gradients": correlations["tau_attention_gradient"],
        "ceiling": ceilings(traces)["ceiling"],
    }
    columns["gain over equal weights"] = 1.0 * columns["accuracy"] - columns["accuracy, equal weights"]
    gradient = traces.gradient
    if traces.leave_one_out is not None and gradient is not None:
        moved = np.abs(traces.leave_one_out)
        columns["top word"] = several * names_the_word(traces, traces)
        columns["top word by chance"] = several / n
        columns["top word of gradients"] = several * agreement(np.abs(gradient), moved, traces.offsets, 1)
        columns["tau of gradients and deletion"] = correlations["tau_gradient_loo"]
    columns["farthest twin"] = farthest(traces)
    columns["farthest, dealt anew"] = farthest(weights_dealt_anew(traces))
    removed = removals(traces, rankings=RANKINGS)
    for ranking in RANKINGS:
        steps = removed[f"removed_{ranking}"]
        columns[f"removed by {ranking}"] = steps.where(steps != NEVER) / n
    return pd.DataFrame(columns)


def farthest(traces: Traces) -> ndarray:
    """JSD (D,) of the farthest weights that move the output by at most 0.05; of more than two classes of the farthest
    that are found, for the first BRACKETED texts."""
    if has_one_logit(traces):
        return exact(traces, 0.05)["jsd_exact"].to_numpy()
    values = np.full(len(traces), np.nan)
    bracketed = bracket(traces.take(np.arange(min(BRACKETED, len(traces)))), 0.05)
    values[:BRACKETED] = bracketed["jsd_least"]
    return values


def numbers(seeds: list[pd.DataFrame]) -> pd.DataFrame:
    """The table of a study from the tables of its seeds, which are of the same texts."""
    label = seeds[0]["label"].to_numpy()
    outputs = np.array([np.stack(table["outputs"]) for table in seeds])  # (S, D, K)
    majority = np.bincount(label).argmax()
    most = np.full(outputs.shape[:2], 1.0 * (label == majority))
    constant = np.eye(outputs.shape[2])[np.full(outputs.shape[:2], majority)]
    results = top_words(seeds) | {
        "accuracy of the majority": mean_interval(most),
        "macro F1": interval(macro_f1, label, outputs),
        "macro F1 of the majority": interval(macro_f1, label, constant),
        "AUC": interval(auc, label, outputs),
        "another seed": mean_interval(between(seeds)),
    }
    rows = []
    for question, names in QUESTIONS.items():
        for name in names:
            result = results.get(name)
            if result is None and name in seeds[0]:
                values = np.array([table[name].to_numpy(float) for table in seeds])
                result = mean_interval(values, -1.0 if name == SIGNED else 0.0)
            value, low, high, texts = result or (np.nan, np.nan, np.nan, 0)
            why = "" if np.isfinite(value) else NO_DELETIONS if result is None else ALL_NAN
            rows.append((question, name, value, low, high, texts, len(seeds), why))
    return pd.DataFrame(rows, columns=["question", "number", "value", "low", "high", "texts", "seeds", "why"])


def top_words(seeds: list[pd.DataFrame]) -> dict:
    """The rows of the top word, and of what it is beyond chance; {} where deletions are not read."""
    if "top word" not in seeds[0]:
        return {}
    chance = seeds[0]["top word by chance"].to_numpy()
    top = share_interval(np.array([table["top word"] for table in seeds]), chance)
    line = without_nan(chance).sum() / max(1, top[3])
    return {"top word": top, "top word beyond chance": (*(np.array(top[:3]) - line), top[3])}


def between(seeds: list[pd.DataFrame]) -> ndarray:
    """JSD of each seed's attention to the next one's, (S, D)."""
    offsets = np.cumsum([0, *map(len, seeds[0]["attention"])])
    weights = np.array([np.concatenate(list(table["attention"])) for table in seeds])  # (S, T)
    return jsd_ragged(weights, np.roll(weights, -1, axis=0), offsets)


# ---- intervals over texts and seeds ----------------------------------------------------------------------------------


def mean_interval(values: ndarray, least: float = 0.0) -> tuple[float, float, float, int]:
    """Mean of values (S, D), the ends of its 95 % bootstrap interval over seeds and texts, both drawn anew, and how
    many texts have one. NaN entries are left out. least: that a value can be."""
    present = ~np.isnan(values)
    if not present.any():
        return np.nan, np.nan, np.nan, 0
    seeds, texts = values.shape
    rng = np.random.default_rng(0)
    seed_counts = rng.multinomial(seeds, np.full(seeds, 1 / seeds), RESAMPLES)  # how often each is drawn
    text_counts = rng.multinomial(texts, np.full(texts, 1 / texts), RESAMPLES)
    sums = (seed_counts @ np.where(present, values, 0.0) * text_counts).sum(axis=1)
    sizes = (seed_counts @ present.astype(float) * text_counts).sum(axis=1)
    value = float(values[present].mean())
    counted = int(present.any(axis=0).sum())
    return value, *ends(value, sums[sizes > 0] / sizes[sizes > 0], counted, least), counted


def share_interval(hits: ndarray, chance: ndarray) -> tuple[float, float, float, int]:
    """As `mean_interval` of hits (S, D), each of a chance (D,): it holds the mean chance unless the exact tail of a sum
    of such draws, one a text (Poisson binomial), is below 2.5 %.

    Hits that ties or seeds share are parts of one; the tail counts them whole, on the side of chance.
    """
    value, low, high, texts = mean_interval(hits)
    chance = without_nan(chance)
    total = without_nan(hits.mean(axis=0)).sum()
    probability = reduce(np.convolve, np.stack([1 - chance, chance], axis=1), np.ones(1))  # of 0 to D hits
    if probability[int(total + TINY) :].sum() >= TAIL:
        low = min(low, chance.sum() / max(1, texts))
    if probability[: int(np.ceil(total - TINY)) + 1].sum() >= TAIL:
        high = max(high, chance.sum() / max(1, texts))
    return value, float(low), float(high), texts


def interval(score: Callable, label: ndarray, outputs: ndarray) -> tuple[float, float, float, int]:
    """The same of a score (labels, outputs (D, K)) -> number of a whole test set; outputs (S, D, K)."""
    seeds, texts = outputs.shape[:2]
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        rows = rng.integers(texts, size=texts)
        drawn.append(score(label[rows], outputs[rng.integers(seeds), rows]))
    value = np.mean([score(label, of_seed) for of_seed in outputs])
    return float(value), *ends(value, np.array(drawn), texts), texts


def ends(value: float, drawn: ndarray, texts: int, least: float = 0.0) -> tuple[float, float]:
    """The ends of a 95 % interval from what was drawn. Where all draws are 0, or 1, as all texts are, another text may
    still differ: then what 3 texts in `texts` would change (the rule of three), from `least` to 1."""
    drawn = without_nan(drawn)
    if not len(drawn):
        return np.nan, np.nan
    low, high = np.quantile(drawn, [0.025, 0.975])
    if low == high and value in (0, 1):
        return max(least, low - 3 / texts), min(1.0, high + 3 / texts)
    return float(low), float(high)


def verdict(low: float, high: float, line: float, margin: float = 0.0) -> str:
    """Whether a number lies above a line by its interval; no where it is above by the margin at most."""
    if low > line:
        return HOLDS
    return DOES_NOT if high < line + margin else OPEN


def macro_f1(label: ndarray, outputs: ndarray) -> float:
    """Mean F1 of the classes that occur as label or as prediction."""
    classes = outputs.shape[1]
    predicted = outputs.argmax(axis=1)
    right = np.bincount(label[label == predicted], minlength=classes)
    either = np.bincount(label, minlength=classes) + np.bincount(predicted, minlength=classes)
    return float(np.mean(2 * right[either > 0] / either[either > 0]))


def auc(label: ndarray, outputs: ndarray) -> float:
    """Area under the ROC curve, of several classes each against the others and then the mean; NaN where only one class
    occurs."""
    areas = []
    for number, p in enumerate(outputs.T):
        positive = label == number
        pairs = positive.sum() * (~positive).sum()
        if pairs:
            ranks = scipy.stats.rankdata(p)[positive] - 1
            areas.append((ranks.sum() - positive.sum() * (positive.sum() - 1) / 2) / pairs)
    return float(np.mean(areas)) if areas else np.nan
