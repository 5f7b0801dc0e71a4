"""How far an attention with the same answer can lie from a BiLSTM's own, and what that must be held against, at any ε.

Two pages' worth of numbers: at the ε of the archive, means over whole test sets and all seeds; at any other, live on
the stored texts of one seed, where there is one logit and hence an exact optimum.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attn_book import figures
from attn_book.derived import five
from attn_book.fasttext import newest
from attn_core.experiments.adversarial import ceilings, shuffles
from attn_core.experiments.optimum import exact
from attn_core.traces import Traces
from attn_lab import Run, obtain
from attn_lab.more.best_permutation import best_permutation
from attn_lab.runs import index
from attn_lab.runs.provenance import data_kind
from attn_lab.runs.run import SEEDS

SETS = ("sst", "imdb", "agnews", "20news")
"""Data sets of single texts: one logit."""


def yardsticks(epsilon: float, corpus: str, seed: int) -> pd.DataFrame:
    """Mean JSD to the BiLSTM's attention by data set and kind, rows as of `index.over_seeds` with `data` and `encoder`.

    Kinds: search, the paper's; optimal, the exact optimum (pairs: the best found); ceiling, whatever the answer;
    shuffled, the same after the contributions are permuted among the words; permuted, the best permutation of the
    model's own weights, as a share of what these could reach at any answer. corpus: added, live, where the archive's
    means lack it. At an ε that is not in the archive all is live: no search, and n_seeds is 1. seed: of the stored
    texts then taken.
    """
    stored = {
        f"jsd_search epsilon={epsilon:g}": "search",
        f"jsd_exact epsilon={epsilon:g}": "optimal",
        f"jsd_lower epsilon={epsilon:g}": "optimal",
        "ceiling": "ceiling",
        f"jsd_shuffled epsilon={epsilon:g}": "shuffled",
        f"ratio_permutation epsilon={epsilon:g}": "permuted",
    }
    if set(stored) <= index.has("measure"):
        where = {"encoder": "lstm", "attention": "tanh", "family": ["text", "pair"]}
        rows = newest(
            five(index.numbers),
            list(stored),
            "mean",
            source="archive",
            **where,
        )
        rows["kind"] = index.with_parameters(rows)["measure"].map(stored)
        means = index.over_seeds(rows, "corpus", "kind", "data", "encoder")
    else:
        means = pd.concat([live(name, epsilon, SEEDS[0]) for name in SETS if name != corpus])
    if corpus not in set(means["corpus"]):
        means = pd.concat([means, live(corpus, epsilon, seed)], ignore_index=True)
    return means


def live(corpus: str, epsilon: float, seed: int) -> pd.DataFrame:
    """The rows of one data set, computed now on the stored texts of one seed."""
    result = obtain(Run(corpus, "lstm", "tanh", seed))
    traces = result.traces
    assert traces is not None  # asked for
    at_ceiling = ceilings(traces)
    moved = best_permutation(traces, epsilon)["jsd"] / at_ceiling["ceiling_permutation"]
    means = {
        "optimal": exact(traces, epsilon)["jsd_exact"].mean(),
        "ceiling": at_ceiling["ceiling"].mean(),
        "shuffled": exact(permuted_contributions(traces), epsilon)["jsd_exact"].mean(),
        "permuted": moved.replace(np.inf, np.nan).mean(),
    }
    rows = pd.DataFrame({"kind": list(means), "mean": list(means.values())})
    kind = data_kind(result.record)
    return rows.assign(
        corpus=corpus,
        data=kind,
        encoder="lstm",
        low=np.nan,
        high=np.nan,
        n_seeds=1,
    )


def permuted_contributions(traces: Traces) -> Traces:
    """Contributions permuted over each text's words."""
    return replace(traces, contribution=traces.contribution[shuffles(0, "shuffle", traces)])


def drawn(means: pd.DataFrame, yours: pd.DataFrame) -> Figure:
    """Rows of `yardsticks` as one line a data set: optimum, search, ceiling, and the optimum after contributions were
    permuted as a bar; with the run that the reader chose."""
    sheet, axes = figures.sheet(height=3.8)
    order = figures.dots(axes, means[means["kind"] == "optimal"])
    lines = means.pivot(index="corpus", columns="kind", values="mean").loc[order]
    y = np.arange(len(order))
    axes.barh(
        y,
        lines["shuffled"],
        0.62,
        color=figures.RULE,
        zorder=0,
    )
    axes.plot(
        lines["ceiling"],
        y,
        "|",
        color=figures.INK,
        markersize=16,
    )
    axes.text(0.01, 0, "contributions permuted", va="center_baseline")
    axes.text(
        lines["ceiling"].iloc[-1] + 0.01,
        y[-1],
        "ceiling",
        va="center_baseline",
    )
    names = ["optimum"]
    if "search" in lines:
        names.append("the paper’s search")
        axes.plot(
            lines["search"],
            y,
            "D",
            color=figures.COLOURS["lstm"],
            mec=figures.SHEET,
            label=names[1],
        )
    axes.legend(axes.get_legend_handles_labels()[0], names, **figures.ABOVE)
    figures.scale(axes, 0, 0.8, "same", "")
    figures.yours_in_lines(axes, yours, order, "optimal")
    return sheet
