"""The base models of section 3.1 with both choices of checkpoint: what is stored, their data, their scores."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attn_book import across
from attn_book.reported import reported
from attn_book.wiegreffe.pages import not_rerun
from attn_book.wiegreffe.runs import GATED
from attn_book.wiegreffe.tables import NO_RUN, NOT_RERUN
from attn_core.archive import Result
from attn_core.commands import command
from attn_core.measures import seed_interval
from attn_core.runs import Run
from attn_core.seeds import book_seeds

CHOSEN = {"test": "on the test set (as the authors)", "dev": "on development data"}
"""How a checkpoint is chosen -> in words."""

Stored = dict[tuple[str, str], list[Result]]


def wanted(corpus: str, chosen: str, seeds: int) -> list[Run]:
    """The base models of one data set with one choice of checkpoint."""
    return [Run(corpus, seed=seed, selection=chosen) for seed in book_seeds(corpus, seeds)]


def stored_bases(corpora: Iterable[str], seeds: int) -> Stored:
    """(data set, key of CHOSEN) -> its archived base models."""
    return {(name, chosen): across.stored_runs(wanted(name, chosen, seeds)) for name in corpora for chosen in CHOSEN}


def absent_bases(stored: Stored, corpora: Iterable[str], seeds: int) -> list[str]:
    """Gap lines: the sets that need credentials, and the base models that are not archived."""
    lines = not_rerun(corpora)
    for name in (name for name in corpora if name not in GATED):
        have = {chosen: {r.record["run"]["seed"] for r in stored[name, chosen]} for chosen in CHOSEN}
        absent = [run for chosen in CHOSEN for run in wanted(name, chosen, seeds) if run.seed not in have[chosen]]
        if absent:
            lines.append(
                f"{name}: {len(absent)} of {len(CHOSEN) * seeds} planned runs absent\n"
                + ", ".join(f"checkpoint {CHOSEN[k]}: {len(v)} of {seeds} seeds" for k, v in have.items())
                + f"; the next: {command(absent[0])}"
            )
    return lines


def data_table(stored: Stored, corpora: Iterable[str]) -> pd.DataFrame:
    """Sizes and lengths in documents and words, printed (Jain & Wallace's Table 1) and ours, in words."""
    theirs = reported("wiegreffe_dataset_stats_context", paper="jain_wallace_2019").pivot_table(
        index="corpus", columns="measure", values="value", aggfunc="first"
    )
    rows = []
    for name in corpora:
        printed = theirs.loc[name] if name in theirs.index else {}
        record = stored[name, "dev"][0].record if stored[name, "dev"] else None
        none = NOT_RERUN if name in GATED else NO_RUN
        rows.append({
            "data": name,
            "mean length, printed": summed(printed, "average_length"),
            **{
                f"{title}, printed": summed(printed, f"{split}_negative", f"{split}_positive")
                for split, title in (("train", "training"), ("test", "test"))
            },
            "ours: training + development": f"{record['n_train']:,} + {record['n_dev']:,}" if record else none,
            "test": f"{record['n_test']:,}" if record else "–",
            "mean length": f"{record['statistics']['splits']['test']['mean_length']:.0f} (test)" if record else "–",
        })  # fmt: skip
    return pd.DataFrame(rows)


def summed(printed, *measures: str) -> str:
    """A sum of printed numbers, '–' where one is not printed."""
    values = [printed.get(measure, np.nan) for measure in measures]
    return "–" if pd.isna(values).any() else f"{sum(values):,.0f}"


def base_scores(stored: Stored, corpora: Iterable[str]) -> pd.DataFrame:
    """F1 of class 1 by data set and choice of checkpoint, beside Table 2.

    Columns panel, label (data set), series (value of CHOSEN), mean, low, high (95 % Student t over seeds), n_seeds,
    reproduced and jain (Table 2: the authors' base, and the score that they quote from Jain & Wallace; NaN for none).
    """
    names = {"bilstm_attention_reported_by_jain_wallace_2019": "jain", "bilstm_attention_reproduced": "reproduced"}
    table2 = reported("wiegreffe_table2_f1_uniform").set_index(["model", "corpus"])["value"]
    lines = []
    for name in corpora:
        for chosen, series in CHOSEN.items():
            values = np.array([result.record["f1_1"] for result in stored[name, chosen]], float)
            low, high = seed_interval(values)
            lines.append({
                "panel": "F1 of class 1", "label": name, "series": series,
                "mean": values.mean() if len(values) else np.nan,
                "low": np.maximum(low, 0), "high": np.minimum(high, 1), "n_seeds": len(values),
                **{kind: table2.get((model, name), np.nan) for model, kind in names.items()},
            })  # fmt: skip
    return pd.DataFrame(lines)
