"""What is asked of word pieces beyond the traces: kinds of pieces, one sentence. Not in the three papers."""

from dataclasses import replace

import numpy as np

from attn_core.documents import Documents
from attn_core.models.classifier import Classifier
from attn_core.traces import Traces, each_alone
from attn_core.tracing import forward
from attn_lab.data.pieces import CLS, SEP

SENTENCE = "the film is dull , and the plot goes nowhere ."
"""The book's own, of no data set: its pieces, each a word or a sign, may be shown."""

FUNCTION_WORDS = (
    "a an the and or but of to in on at by for with from as is are was were be been it its this that these those he "
    "she they we you i his her their our your my not no so if than then there here what which who whom how when where "
    "while all any some such very too just also only own same can will would could should may might do does did has "
    "have had into about over out up down off"
)


def with_changes(traces: Traces, rows: np.ndarray, changes: Traces) -> Traces:
    """Traces with the leave-one-out of the documents `rows`; NaN elsewhere."""
    change = np.full(len(traces.score), np.nan, np.float32)
    change[np.isin(traces.owner, rows)] = changes.leave_one_out
    return replace(traces, leave_one_out=change)


def kinds(traces: Traces, documents: Documents, vocabulary: tuple[str, ...]) -> dict[str, float]:
    """single_state_agreement@<kind>: by kind of piece the share that alone decides as the text does."""
    ids = documents.ids[documents.inner]
    words = np.array(vocabulary)[ids]
    function = np.isin(words, FUNCTION_WORDS.split())
    alike = each_alone(traces)[0] == traces.predicted[traces.owner]
    of_kind = {
        "full stop": words == ".",
        "comma": words == ",",
        "the": words == "the",
        "function words": function,
        "content words": ~signs(vocabulary)[ids] & ~function,
    }
    return {
        f"single_state_agreement part={kind}": float(alike[pieces].mean())
        for kind, pieces in of_kind.items()
        if pieces.any()
    }


def signs(vocabulary: tuple[str, ...]) -> np.ndarray:
    """(V,) whether a piece has neither letter nor digit."""
    return np.array([not any(map(str.isalnum, piece)) for piece in vocabulary])


def of_lists(lists: list[np.ndarray], labels: np.ndarray, doc_ids: np.ndarray) -> Documents:
    """Documents of pieces, [CLS] and [SEP] put around each."""
    ids = [[CLS, *line, SEP] for line in lists]
    return Documents(np.concatenate(ids).astype(np.int32), np.cumsum([0, *map(len, ids)]), labels, doc_ids)


def sentence(model: Classifier, vocabulary: tuple[str, ...]) -> dict[str, dict]:
    """SENTENCE as a model reads it: its pieces and what each alone decides, a logit."""
    ids = np.array([vocabulary.index(piece) for piece in SENTENCE.split()])
    traces = forward(model, of_lists([ids], np.zeros(1, int), np.zeros(1, int)))
    logits = traces.contribution[:, 0] + traces.bias[0]
    return {"sentence": {"pieces": SENTENCE.split(), "logit": logits.tolist()}}
