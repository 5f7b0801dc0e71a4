"""Measures of importance on whole test sets of cached runs, at state and at word level: data/measured/compared.csv.xz.

The archive keeps a few dozen texts of later seeds. Who has their traces and weights in the cache, after
`python -m attn_core sweep data/sweeps/one-cause-standard.yml`, makes the table anew: `python -m benchmarks --compared`.
`--masking` trains all models of data/sweeps/gpu-masking.yml and their twins of ordinary training, side by side on one
machine, and compares them where words are removed and where they are hidden: data/measured/masking.csv.xz.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pandas as pd

from attn_core.documents import UNKNOWN, Documents
from attn_core.experiments import draws as random
from attn_core.measures import classification
from attn_core.traces import Traces
from attn_core.tracing import trace
from attn_lab.data.order import fixed_order
from attn_lab.more.compared import SHARES, chosen, compared, importances
from attn_lab.runs import index, store
from attn_lab.runs.compute import inputs_of, weights_of
from attn_lab.runs.families import trained_model
from attn_lab.runs.run import Run, from_dict
from attn_lab.runs.sweep import read_grid
from benchmarks.measured import DATA, put
from benchmarks.plain import outputs

WORDS = 200_000
"""At most so many words of a test set."""

MASKING_WORDS = 40_000
"""The same of `masking`, where each word is hidden in a text of its own."""

ERASED_TEXTS = 200
ERASED_WORDS = 10_000
"""At most so many texts and words that are erased, since each takes 80 encodings."""


def staying(documents: Documents, left: np.ndarray) -> np.ndarray:
    """Which ids are START, END or words `left` (T,)."""
    stays = np.ones(len(documents.ids), bool)
    stays[documents.inner] = left
    return stays


def shortened(documents: Documents, left: np.ndarray) -> Documents:
    """The documents with the words `left` (T,) alone, between their START and END."""
    stays = staying(documents, left)
    lengths = np.add.reduceat(stays, documents.offsets[:-1])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Documents(documents.ids[stays], offsets, documents.labels, documents.doc_ids)


def hidden(documents: Documents, left: np.ndarray) -> Documents:
    """The documents with all words but `left` (T,) as the unknown word, as `interventions.masked` hides them."""
    return replace(
        documents, ids=np.where(staying(documents, left), documents.ids, np.int32(UNKNOWN))
    )


def each_hidden(model, documents: Documents, traces: Traces) -> np.ndarray:
    """What p gains (T,) when one word is hidden: what leave-one-out is where it is removed."""
    copies = documents.take(traces.owner)  # one a word
    word = (
        np.arange(len(traces.owner)) - traces.offsets[traces.owner]
    )  # its place among the words of its text
    ids = copies.ids.copy()
    ids[copies.offsets[:-1] + 1 + word] = UNKNOWN
    return outputs(model, replace(copies, ids=ids)) - traces.p[traces.owner]


def erased(
    model, documents: Documents, traces: Traces, without: Callable = shortened
) -> pd.DataFrame:
    """`compared`'s comprehensiveness and sufficiency with words erased and the text encoded anew: at level 'word'.

    without: `shortened` or `hidden`. gradient_unsigned: the gradient's size, which like attention does not say for
    which class a word speaks.
    """
    (draws,) = random.uniforms(0, "orders", traces.doc_id, traces.offsets)
    toward = np.where(traces.predicted == 1, 1.0, -1.0)
    values = importances(traces)
    values = values | {"gradient_unsigned": np.abs(values["gradient"])}
    rows = []
    for measure, value in values.items():
        for share in SHARES:
            words = chosen(value, traces.offsets, share, draws)
            for name, left in (("comprehensiveness", ~words), ("sufficiency", words)):
                lost = toward * (traces.p - outputs(model, without(documents, left)))
                rows.append(
                    (
                        measure,
                        f"{name} share={share:g}",
                        lost.mean(),
                        lost.std(ddof=1) / len(lost) ** 0.5,
                    )
                )
    return pd.DataFrame(rows, columns=["measure", "statistic", "value", "error"]).assign(
        other="", level="word"
    )


def first_texts(
    doc_ids: np.ndarray, lengths: np.ndarray, corpus: str, words: int
) -> np.ndarray:
    """Rows of texts of several words, of the corpus's fixed order, up to so many words together."""
    order = fixed_order(doc_ids, corpus)
    return order[(lengths[order] > 1) & (np.cumsum(lengths[order]) <= words)]


def at_both_levels(
    model, documents, traces: Traces, rows: np.ndarray, without: Callable = shortened
) -> pd.DataFrame:
    """`compared` of all texts, and `erased` of those of some rows."""
    words = erased(model, documents.take(rows), traces.take(rows), without)
    return pd.concat(
        [
            compared(traces).assign(level="state", texts=len(traces)),
            words.assign(texts=len(rows)),
        ]
    )


def of_run(run: Run) -> pd.DataFrame:
    """All rows of a cached run, with its corpus, encoder ('adversary' of an adversary's), seed and vectors."""
    traces = store.read(store.cache_store(), run.key).traces
    data, _, _ = inputs_of(run)
    adverse = run.family == "adversary"
    without_deletions = traces.leave_one_out is None and not adverse
    order = first_texts(traces.doc_id, traces.lengths, run.corpus, WORDS)
    erased_texts = np.flatnonzero(np.cumsum(traces.lengths[order]) <= ERASED_WORDS)[
        :ERASED_TEXTS
    ]
    if without_deletions:
        order = order[erased_texts]
    traces = traces.take(order)
    documents = data.splits["test"].take(order)
    model = trained_model(run, weights_of(run))
    if adverse:  # of which training keeps attention and output alone
        traces = trace(model, documents).rounded()
    elif (
        without_deletions
    ):  # long texts in a transformer, of which training's traces leave them out
        leave_one_out = trace(model, documents, gradient=False).leave_one_out
        traces = replace(traces, leave_one_out=leave_one_out).rounded()
    rows = at_both_levels(model, documents, traces, erased_texts)
    encoder = "adversary" if adverse else run.encoder
    about = {"corpus": run.corpus, "encoder": encoder, "vectors": run.vectors, "seed": run.seed}
    return rows.assign(**about)


def write(*corpora: str) -> None:
    """Rows of the cached runs of some data sets, in place of theirs in the stored table.

    The runs: standard models, and adversaries of BiLSTMs, one strength and seed each.
    """
    asked = {"corpus": [*corpora], "attention": "tanh", "vectors": "ppmi-300"}
    for key in pd.concat([index.runs(**asked), index.runs(**asked, divergence="any")])[
        "key"
    ].unique():
        if store.has(store.cache_store(), key):
            run = from_dict(store.read_record(store.cache_store(), key)["run"])
            put("compared.csv.xz", of_run(run), "corpus", "encoder", "seed", digits=4)


def masking_of(run: Run) -> pd.DataFrame:
    """Rows of one training, trained here where its weights are not cached.

    `compared` beside deletion, and `erased`, with words removed and with words hidden (column erasing); measure
    'model': its scores.
    """
    data, _, _ = inputs_of(run)
    model = trained_model(run, weights_of(run))
    test = data.splits["test"]
    documents = test.take(
        first_texts(test.doc_ids, test.lengths - 2, run.corpus, MASKING_WORDS)
    )
    first = np.arange(min(ERASED_TEXTS, len(documents)))
    removed = trace(model, documents, progress=False)
    tables = []
    for erasing, without in (("removed", shortened), ("hidden", hidden)):
        traces = removed
        if erasing == "hidden":
            traces = replace(
                removed, leave_one_out=each_hidden(model, documents, removed).astype(np.float32)
            )
        tables.append(
            at_both_levels(model, documents, traces, first, without).assign(erasing=erasing)
        )
    scores = classification(removed.label, removed.outputs)
    model_rows = pd.DataFrame(
        {"measure": "model", "statistic": scores.keys(), "value": scores.values()}
    )
    rows = pd.concat(
        [*tables, model_rows.assign(other="", level="text", erasing="")], ignore_index=True
    )
    rows = rows[rows["other"].isin(["", "deletion"])]
    about = {"corpus": run.corpus, "encoder": run.encoder, "seed": run.seed, "mask": run.mask}
    return rows.assign(**about, texts=len(documents))


def write_masking() -> None:
    """The rows of all runs of the grid and of their twins without masks, into measured/masking.csv.xz."""
    runs = read_grid(DATA / "sweeps" / "gpu-masking.yml")
    runs += [replace(run, mask=0.0) for run in runs]
    with ProcessPoolExecutor(8, mp_context=get_context("spawn")) as pool:  # CUDA takes no fork
        put("masking.csv.xz", pd.concat(pool.map(masking_of, runs)), digits=4)
