"""Measures of importance on whole test sets of cached runs, at state and at word level: data/measured/compared.csv.xz.

The archive keeps a few dozen texts of later seeds. Who has the weights in the cache, after
`python -m attn_core sweep data/sweeps/one-cause-standard.yml`, makes the table anew: `python -m benchmarks --compared`.
`--masking` trains all models of data/sweeps/gpu-masking.yml and their twins of ordinary training on one machine, and
compares them where words are removed and where they are hidden: data/measured/masking.csv.xz.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy import ndarray
from torch import nn

from attn_core.documents import UNKNOWN, Documents
from attn_core.experiments import draws as random
from attn_core.measures import classification
from attn_core.traces import Traces, totals
from attn_core.tracing import forward, trace
from attn_lab.data.order import fixed_order
from attn_lab.more.compared import compared, erasure, importances, means
from attn_lab.runs import index, store
from attn_lab.runs.compute import inputs_of, model_of, weights_of
from attn_lab.runs.families import LONGEST_SLOW
from attn_lab.runs.results import run_of
from attn_lab.runs.run import Run
from attn_lab.runs.sweep import read_grid
from benchmarks.measured import DATA, put

WORDS = 200_000
"""At most so many words of a test set."""

MASKING_WORDS = 40_000
"""The same of `masking`, where each word is hidden in a text of its own."""

ERASED_TEXTS = 200
ERASED_WORDS = 10_000
"""At most so many texts and words that are erased, since each takes 80 encodings."""


def shortened(documents: Documents, left: ndarray) -> Documents:
    """The documents with the words `left` (T,) alone, between their START and END."""
    stays = ~documents.inner
    stays[documents.inner] = left
    offsets = np.cumsum([0, *totals(stays, documents.offsets)])
    return replace(documents, ids=documents.ids[stays], offsets=offsets)


def hidden(documents: Documents, left: ndarray) -> Documents:
    """The documents with all words but `left` (T,) as the unknown word, as `interventions.masked` hides them."""
    ids = documents.ids.copy()
    ids[np.flatnonzero(documents.inner)[~left]] = UNKNOWN
    return replace(documents, ids=ids)


def each_hidden(model: nn.Module, documents: Documents, traces: Traces) -> ndarray:
    """What p gains (T,) when one word is hidden: what leave-one-out is where it is removed."""
    owner = traces.owner
    copies = documents.take(owner)  # one a word
    ids = copies.ids.copy()
    ids[copies.offsets[:-1] + 1 + np.arange(len(owner)) - traces.offsets[owner]] = UNKNOWN
    return forward(model, replace(copies, ids=ids)).p - traces.p[owner]


def erased(
    model: nn.Module,
    documents: Documents,
    traces: Traces,
    without: Callable = shortened,
) -> pd.DataFrame:
    """`compared`'s comprehensiveness and sufficiency with words erased and the text encoded anew: at level 'word'.

    without: `shortened` or `hidden`. gradient_unsigned: the gradient's size, which like attention does not say for
    which class a word speaks.
    """
    (draws,) = random.uniforms(0, "orders", traces.doc_id, traces.offsets)
    measures = importances(traces)
    measures["gradient_unsigned"] = np.abs(measures["gradient"])

    numbers = erasure(
        traces,
        measures,
        draws,
        lambda left: forward(model, without(documents, left)).p,
    )
    return means(numbers).assign(level="word")


def network(run: Run) -> nn.Module:
    """A run's model, trained where its weights are not cached."""
    weights_of(run)
    return model_of(run)


def texts_read(run: Run, words: int) -> tuple[nn.Module, Documents, ndarray]:
    """A run's model, trained where its weights are not cached; texts of several words of the corpus's fixed order, up
    to so many words together; and the rows of those whose words are erased. Of long texts in a transformer these alone
    are read."""
    test = inputs_of(run)[0].splits["test"]
    order = fixed_order(test.doc_ids, run.corpus)
    lengths = test.lengths[order] - 2
    read = (lengths > 1) & (np.cumsum(lengths) <= words)
    rows = np.flatnonzero(np.cumsum(lengths[read]) <= ERASED_WORDS)[:ERASED_TEXTS]
    order = order[read]
    if run.encoder == "transformer" and test.lengths.mean() > LONGEST_SLOW:
        order = order[rows]
    return network(run), test.take(order), rows


def at_both_levels(
    model: nn.Module,
    documents: Documents,
    traces: Traces,
    rows: ndarray,
    without: Callable = shortened,
) -> pd.DataFrame:
    """`compared` of all texts, and `erased` of those of some rows."""
    words = erased(model, documents.take(rows), traces.take(rows), without)
    states = compared(traces).assign(level="state", texts=len(traces))
    return pd.concat([states, words.assign(texts=len(rows))])


def of_run(run: Run) -> pd.DataFrame:
    """All rows of a cached run, with its corpus, encoder ('adversary' of an adversary's), seed and vectors."""
    model, documents, rows = texts_read(run, WORDS)
    traces = trace(model, documents).rounded()
    encoder = "adversary" if run.family == "adversary" else run.encoder
    about = {"corpus": run.corpus, "encoder": encoder, "vectors": run.vectors, "seed": run.seed}
    return at_both_levels(model, documents, traces, rows).assign(**about)


def write(*corpora: str) -> None:
    """Rows of the cached runs of some data sets, in place of theirs in the stored table.

    The runs: standard models, and adversaries of BiLSTMs, one strength and seed each.
    """
    asked = {"corpus": [*corpora], "attention": "tanh", "vectors": "ppmi-300"}
    for key in index.runs(**asked, divergence="any")["key"]:
        if store.has(store.cache_store(), key):
            put("compared.csv.xz", of_run(run_of(key)), "corpus", "encoder", "seed", digits=4)


def masking_of(run: Run) -> pd.DataFrame:
    """Rows of one training: `compared` beside deletion, and `erased`, with words removed and with words hidden (column
    erasing); measure 'model': its scores."""
    model, documents, rows = texts_read(run, MASKING_WORDS)
    removed = trace(model, documents, progress=False)
    change = each_hidden(model, documents, removed).astype(np.float32)
    masked = replace(removed, leave_one_out=change)
    ways = (("removed", removed, shortened), ("hidden", masked, hidden))
    tables = [
        at_both_levels(model, documents, traces, rows, without).assign(erasing=erasing)
        for erasing, traces, without in ways
    ]
    scores = classification(removed.label, removed.outputs)
    of_model = pd.DataFrame(scores.items(), columns=["statistic", "value"])
    of_model = of_model.assign(measure="model", level="text", erasing="", other="")
    table = pd.concat([*tables, of_model], ignore_index=True).query("other in ['', 'deletion']")
    about = {"corpus": run.corpus, "encoder": run.encoder, "seed": run.seed, "mask": run.mask}
    return table.assign(**about, texts=len(documents))


def write_masking() -> None:
    """The rows of all runs of the grid and of their twins without masks, into measured/masking.csv.xz."""
    runs = read_grid(DATA / "sweeps" / "gpu-masking.yml")
    runs += [replace(run, mask=0.0) for run in runs]
    put("masking.csv.xz", pd.concat(map(masking_of, runs)), digits=4)
