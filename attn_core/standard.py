"""The models of Jain & Wallace as they are trained and traced: single texts and pairs."""

import numpy as np

from attn_core.computing import outputs_of
from attn_core.corpora import catalogue
from attn_core.corpora.batches import Encoded
from attn_core.models import classifier, paired
from attn_core.runs import Run
from attn_core.traces import Traces
from attn_core.tracing import trace
from attn_core.training import Trained, train

MODELS = {"text": classifier, "pair": paired}


def fit(run: Run, data: Encoded, matrix: np.ndarray, device: str, progress: bool) -> Trained:
    """One training, both checkpoints; see `training.train`."""
    model = MODELS[run.family].build(run.encoder, run.attention, matrix, outputs_of(run, data), run.hidden).to(device)
    return train(
        model, data, seed=run.seed, epochs=run.epochs, batch=run.batch, learning_rate=run.learning_rate,
        decay=run.decay, class_weights=run.class_weights, progress=progress,
    )  # fmt: skip


LONGEST_DELETED = 500
"""Words of a generated document up to which leave-one-out is traced: of one of 2,000 words it takes half a minute."""


def read(run: Run, arrays: dict[str, np.ndarray], data: Encoded, device: str, progress: bool) -> Traces:
    """Traces of the test set with gradient and leave-one-out.

    Without the latter, the dearest part, where no test reads it: uniform weights rank no words, and long generated
    documents.
    """
    model = MODELS[run.family].from_arrays(run.encoder, run.attention, arrays).to(device)
    test = data.splits["test"]
    long = catalogue.corpus(run.corpus).generated and int(test.lengths.max()) - 2 > LONGEST_DELETED
    return trace(model, test, leave_one_out=not long and run.attention != "uniform", progress=progress)
