"""Would a person have marked it? `python -m benchmarks --people` writes data/measured/people.csv.xz of the runs of
data/sweeps/people.yml, which says what is measured and what was predicted.

One row a model (encoder, seed), ranking, kind of sentences (texts) and group of six people: means over the group's
sentences. first, precision, tau: agreement with people (`more.people`); names_deletion, tau_deletion: with the size of
the model's deletions; right: share of sentences that the model judges right.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from attn_core.experiments.correlation import kendall_ragged
from attn_core.experiments.single import weights_dealt_anew
from attn_core.traces import Arrays, Traces, totals
from attn_lab import Run, obtain
from attn_lab.data.prepare import MARKED, MARKS
from attn_lab.more.compared import agreement, importances
from attn_lab.more.people import marks_of, plausible
from attn_lab.runs.compute import inputs_of
from attn_lab.runs.controls import naive_bayes, word_counts
from attn_lab.runs.sweep import read_grid

TIMES, TEXTS = 3, 10
"""A sentiment word is so many times as frequent in one class, and stands in so many training texts."""


def rankings(traces: Traces, bayes: np.ndarray, marked: np.ndarray, seed: int) -> Arrays:
    """Ranking -> values (T,), of a person (6, T)."""
    sizes = {name: np.abs(values) for name, values in importances(traces, seed).items()}
    found = {name: sizes[name] for name in ("attention", "gradient", "deletion", "random")}
    permuted = weights_dealt_anew(traces, seed).attention
    return found | {"lexicon": np.abs(bayes), "permuted": permuted, "person": marked}


def of_run(run: Run) -> pd.DataFrame:
    """The rows of a model."""
    data = inputs_of(run)[0]
    traces = obtain(run, "auto", progress=False).traces
    known = pd.read_csv(MARKS).query("split == 'test'")["row"]
    rows = np.flatnonzero((traces.doc_id >= MARKED) | np.isin(traces.doc_id, known))
    traces = traces.take(rows)
    train, test = data.splits["train"], data.splits["test"].take(rows)
    assert (test.doc_ids == traces.doc_id).all()
    marked, groups = marks_of(traces.doc_id)
    words = test.ids[test.inner]
    counts = word_counts(train, len(data.vocabulary))
    bayes = naive_bayes(counts, train.labels)
    speaks = (np.abs(bayes) > np.log(TIMES)) & ((counts > 0).sum(axis=0) >= TEXTS)
    kinds = np.where(totals(speaks[words], traces.offsets) > 0, "sentiment word", "none")
    deletion = np.abs(traces.leave_one_out).astype(float)
    tables = []
    for ranking, values in rankings(traces, bayes[words], marked, run.seed).items():
        numbers = plausible(values, marked, traces.offsets)
        own = marked.mean(axis=0) if ranking == "person" else values
        numbers["names_deletion"] = agreement(own, deletion, traces.offsets, 1)
        numbers["tau_deletion"] = kendall_ragged(own, deletion, traces.offsets)[0]
        numbers["right"] = traces.predicted == traces.label
        table = pd.DataFrame(numbers).astype(float).assign(group=groups)
        both = pd.concat([table.assign(texts="all"), table.assign(texts=kinds)])
        means = both.groupby(["texts", "group"]).mean().reset_index()
        tables.append(means.assign(ranking=ranking))
    return pd.concat(tables).assign(encoder=run.encoder, seed=run.seed)


def write(folder: Path) -> None:
    """Make the table anew; what is not in the cache is trained."""
    table = pd.concat(map(of_run, read_grid(folder / "sweeps" / "people.yml")))
    table.to_csv(folder / "measured" / "people.csv.xz", index=False, float_format="%.3g")
