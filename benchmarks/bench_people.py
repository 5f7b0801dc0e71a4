"""Would a person have marked it? `python -m benchmarks --people` writes data/measured/people.csv.xz of the runs of
data/sweeps/people.yml, which says what is measured and what was predicted.

One row a model (encoder, seed), ranking, kind of sentences (texts) and group of six people: means over the group's
sentences. first, precision, tau: agreement with people (`more.people`); names_deletion, tau_deletion: with the size of
the model's deletions.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from attn_core.experiments.correlation import kendall_ragged
from attn_core.experiments.single import weights_dealt_anew
from attn_core.traces import totals
from attn_lab import Run, obtain
from attn_lab.data.prepare import marks
from attn_lab.more.compared import agreement, importances
from attn_lab.more.people import marks_of, plausible
from attn_lab.runs.compute import inputs_of
from attn_lab.runs.controls import naive_bayes, word_counts
from attn_lab.runs.sweep import read_grid

TIMES, TEXTS = 3, 10
"""A sentiment word is so many times as frequent in one class, and stands in so many training texts."""


def of_run(run: Run) -> pd.DataFrame:
    """The rows of a model."""
    splits = inputs_of(run)[0].splits
    traces = obtain(run, "auto", progress=False).traces
    rows = np.flatnonzero(np.isin(traces.doc_id, marks()["doc_id"]))
    traces = traces.take(rows)
    test = splits["test"].take(rows)
    assert (test.doc_ids == traces.doc_id).all()
    marked, groups = marks_of(traces.doc_id)

    words = test.ids[test.inner]
    counts = word_counts(splits["train"], 1 + max(splits["train"].ids.max(), words.max()))
    bayes = np.abs(naive_bayes(counts, splits["train"].labels))
    speaks = (bayes > np.log(TIMES)) & ((counts > 0).sum(axis=0) >= TEXTS)
    kinds = np.where(totals(speaks[words], traces.offsets) > 0, "sentiment word", "none")
    values = {name: np.abs(size).astype(float) for name, size in importances(traces, run.seed).items()}
    values |= {"permuted": weights_dealt_anew(traces, run.seed).attention, "lexicon": bayes[words], "person": marked}

    tables = []
    for ranking in ("attention", "gradient", "deletion", "random", "lexicon", "permuted", "person"):
        numbers = plausible(values[ranking], marked, traces.offsets)
        own = marked.mean(axis=0) if ranking == "person" else values[ranking]
        numbers["names_deletion"] = agreement(own, values["deletion"], traces.offsets, 1)
        numbers["tau_deletion"] = kendall_ragged(own, values["deletion"], traces.offsets)[0]
        table = pd.DataFrame(numbers).assign(group=groups, ranking=ranking)
        both = pd.concat([table.assign(texts="all"), table.assign(texts=kinds)])
        tables.append(both.groupby(["ranking", "texts", "group"], as_index=False).mean())
    return pd.concat(tables).assign(encoder=run.encoder, seed=run.seed)


def write(folder: Path) -> None:
    """Make the table anew; what is not in the cache is trained."""
    table = pd.concat(map(of_run, read_grid(folder / "sweeps" / "people.yml")))
    table.to_csv(folder / "measured" / "people.csv.xz", index=False, float_format="%.3g")
