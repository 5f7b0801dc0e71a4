"""Tables and sentences of Jain & Wallace's web appendix, from the models of `grids`."""

import numpy as np
import pandas as pd

from attn_book.jain.grids import MODELS, Grid, authors_mean, groups, name
from attn_book.reported import APRIL_RUN, FINAL_RUN
from attn_book.words import bounds, told
from attn_core.corpora import catalogue
from attn_core.experiments import ATTENTION_BINS
from attn_core.index import HEADLINE_SEEDS, data_kind
from attn_core.measures import seed_interval


def shown(values: np.ndarray, form: str = ".2f", possible: tuple[float, float] = (-np.inf, np.inf)) -> str:
    """Mean over seeds with its Student t interval cut at what is possible; '–' for no seed."""
    low, high = seed_interval(values)
    return told(float(np.nanmean(values)) if np.isfinite(values).any() else np.nan, low, high, form, possible)


def rows_of(
    grids: dict[str, Grid], statistics: dict[str, str], authors: bool = True, measure: str = "mean"
) -> pd.DataFrame:
    """One row per rerun model and predicted class: seeds, test accuracy, each statistic beside the authors'.

    statistics: statistic -> heading. Cells are texts, mean over seeds with interval. Only rerun models.
    """
    rows = []
    for grid in grids.values():
        for model, results in grid.results.items():
            for group, text in grid.groups.items() if results else ():
                row = {"data": grid.corpus, "model": name(model), "class": text, "seeds": len(results)}
                row["accuracy"] = shown(grid.over_seeds(model, "accuracy", "all", "value"), possible=(0.0, 1.0))
                for statistic, heading in statistics.items():
                    values = grid.over_seeds(model, statistic, group, measure)
                    row[heading] = shown(values, possible=bounds(statistic, measure))
                    if authors:
                        kind = statistic.partition("@")[0]
                        for snapshot, word in ((APRIL_RUN, "April"), (FINAL_RUN, "final")):
                            value = authors_mean(grid.corpus, model, group, kind, snapshot)
                            row[f"{heading}, {word}"] = f"{value:.2f}" if np.isfinite(value) else "–"
                rows.append(row)
    return pd.DataFrame(rows)


def beside_authors(grids: dict[str, Grid], statistic: str) -> pd.DataFrame:
    """Our mean of a statistic and the authors' two, one row per model and class that both have.

    Columns corpus, encoder, attention, group, n_seeds, data (see `data_kind`), ours, april, final, apart (distance
    from the nearer of their two values, 0 between them), spread (distance of their two values).
    """
    rows = []
    for grid in grids.values():
        for model, results in grid.results.items():
            for group in grid.groups if results else ():
                mean = float(np.mean(grid.over_seeds(model, statistic, group)))
                ends = [
                    authors_mean(grid.corpus, model, group, statistic.partition("@")[0], s)
                    for s in (APRIL_RUN, FINAL_RUN)
                ]
                apart = max(min(ends) - mean, mean - max(ends), 0.0)
                place = (grid.corpus, *model, group, len(results), data_kind(results[0].record))
                rows.append((*place, mean, *ends, apart, abs(ends[1] - ends[0])))
    columns = "corpus encoder attention group n_seeds data ours april final apart spread".split()
    return pd.DataFrame(rows, columns=columns).dropna()


def told_beside(near: pd.DataFrame, tolerance: float = 0.1) -> list[str]:
    """How many of `beside_authors` lie between the authors' two runs or near one of them: own data first, then all."""
    own = (near["data"] == "same") & (near["n_seeds"] >= HEADLINE_SEEDS)
    parts = {
        f"The paper's own data, {HEADLINE_SEEDS} seeds or more": near[own],
        "Subsets, generated data and models of fewer seeds": near[~own],
    }
    return [
        f"{what}: {(part['apart'] == 0).sum()} of {len(part)} between the two runs, "
        f"{(part['apart'] <= tolerance).sum()} between them or within {tolerance:g} of the nearer one."
        for what, part in parts.items()
        if len(part)
    ] or ["none"]


def distances_of_authors(corpora: list[str], statistic: str) -> dict[str, float]:
    """Median distances of a mean in the authors' files over data sets and classes.

    Keys encoder (Average and BiLSTM, additive attention, final run), attention (additive and scaled dot, one encoder,
    final run), runs (April and final run of one model). NaN where no pair is in their files.
    """
    value = {
        (corpus, group, model, run): authors_mean(corpus, model, group, statistic, run)
        for corpus in corpora for group in groups(corpus) for model in MODELS for run in (APRIL_RUN, FINAL_RUN)
    }  # fmt: skip
    found = {"encoder": [], "attention": [], "runs": []}
    for (corpus, group, (encoder, attention), run), mean in value.items():
        if run != FINAL_RUN:
            continue
        found["runs"].append(mean - value[corpus, group, (encoder, attention), APRIL_RUN])
        if attention == "tanh":
            found["attention"].append(mean - value[corpus, group, (encoder, "dot"), run])
            found["encoder"] += [mean - value[corpus, group, ("lstm", "tanh"), run]] if encoder == "average" else []
    return {name: float(np.nanmedian(np.abs(apart))) if np.isfinite(apart).any() else np.nan
            for name, apart in found.items()}  # fmt: skip


def orderings(
    grids: dict[str, Grid], pairs: dict[str, tuple[tuple, tuple]], measure: str = "mean"
) -> dict[str, dict[str, list[str]]]:
    """For each named pair of (model, statistic): data sets in which the first is above, below, or neither ('open').

    Decided by the Student t interval of the mean over the seeds that both have of the first minus the second (all
    documents); 'few': fewer such seeds than HEADLINE_SEEDS, which decide nothing.
    """
    found = {}
    for title, (first, second) in pairs.items():
        sides = {"above": [], "below": [], "open": [], "few": []}
        for corpus, grid in grids.items():
            one, other = (grid.by_seed(model, statistic, "all", measure) for model, statistic in (first, second))
            apart = (one - other).dropna().to_numpy()
            low, high = seed_interval(apart) if len(apart) else (np.nan, np.nan)
            if len(apart):
                enough = len(apart) >= HEADLINE_SEEDS
                sides["few" if not enough else "above" if low > 0 else "below" if high < 0 else "open"].append(corpus)
        found[title] = sides
    return found


# ---- permutation -----------------------------------------------------------------------------------------------------

MOST = 0.9
"""Share of the documents that counts as nearly all."""


def flat_but_moved(grids: dict[str, Grid], change: float = 0.1) -> list[str]:
    """Models whose weights are small and whose output permuting moves all the same, in words.

    Small: in nearly all documents (MOST) the largest weight is below a quarter. Moved: the median change, mean over
    HEADLINE_SEEDS or more, has its whole interval above `change`.
    """
    found = []
    for corpus, grid in grids.items():
        for model in grid.tables:
            whole = grid.over_seeds(model, "median_change", "all", "n").sum()
            lowest = grid.over_seeds(model, "median_change", "all", "n", ATTENTION_BINS[0]).sum()
            values = grid.over_seeds(model, "median_change", "all", "median")
            if lowest / whole >= MOST and len(values) >= HEADLINE_SEEDS and seed_interval(values)[0] > change:
                found.append(f"{corpus} {name(model)} {shown(values, possible=bounds('median_change'))}")
    return found


def small_changes(grids: dict[str, Grid]) -> pd.DataFrame:
    """One row per rerun model: corpus, model, text (a single text), side.

    side: 'small' or 'large' where the interval of the share of documents with a median change below 0.1 lies above or
    below one half, 'open' where it contains it, 'few' with fewer than HEADLINE_SEEDS.
    """
    rows = []
    for corpus, grid in grids.items():
        for model in grid.tables:
            values = grid.over_seeds(model, "median_change", "all", "share_below_0.1")
            if len(values):
                low, high = seed_interval(values)
                side = "small" if low > 0.5 else "large" if high < 0.5 else "open"
                side = side if len(values) >= HEADLINE_SEEDS else "few"
                rows.append((corpus, name(model), catalogue.corpus(corpus).task == "text", side))
    return pd.DataFrame(rows, columns=["corpus", "model", "text", "side"])


def told_small(rows: pd.DataFrame) -> list[str]:
    """`small_changes` in a sentence for each kind of data: where small changes prevail, where not, what is open."""
    sentences = []
    for text, what in ((True, "single texts"), (False, "questions and inference")):
        part = rows[rows["text"] == text]
        judged = part[part["side"] != "few"]
        if judged.empty:
            sentences.append(f"On {what} no model has the seeds to decide.")
            continue
        large = judged[judged["side"] == "large"]
        not_small = "; ".join(f"{r.corpus} {r.model}" for r in large.itertuples()) or "none"
        sentences.append(
            f"On {what} small changes prevail in {(judged['side'] == 'small').sum()} of {len(judged)} models with "
            f"enough seeds and large ones in {len(large)} ({not_small}); open: {(judged['side'] == 'open').sum()}."
        )
    return sentences
