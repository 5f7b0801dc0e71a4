"""The six models of Serrano & Smith (2019) as they are trained and traced."""

import numpy as np

from attn_core.archive import sample
from attn_core.computing import outputs_of
from attn_core.corpora.catalogue import schedule
from attn_core.corpora.documents import Encoded
from attn_core.fast.hierarchical import quick
from attn_core.flat import flat
from attn_core.models.hierarchical import build, from_arrays
from attn_core.plateau import train
from attn_core.runs import Run
from attn_core.traces import Traces
from attn_core.tracing import trace_items
from attn_core.training import Trained

DELETED = 300
"""Test documents, the first of the corpus's fixed sample, whose items are left out one by one."""


def fit(run: Run, data: Encoded, matrix: np.ndarray, device: str, progress: bool) -> Trained:
    """One training with the schedule of the run's corpus; see `plateau.train`."""
    plan, (shape, kind) = schedule(run.corpus), run.encoder.split("_")
    splits = {name: flat(part, shape == "han", f"{data.name} {name}") for name, part in data.splits.items()}
    model = build(run.encoder, matrix, outputs_of(run, data), run.hidden or 50, plan.dropout(run.encoder)).to(device)
    return train(
        quick(model), splits, seed=run.seed, epochs=run.epochs, batch=run.batch, learning_rate=run.learning_rate,
        decay=run.decay, cap=plan.cap[shape], patience=plan.patience[kind], clip=plan.clip[kind], progress=progress,
    )  # fmt: skip


def read(run: Run, arrays: dict[str, np.ndarray], data: Encoded, device: str, progress: bool) -> Traces:
    """Traces of the test set; leave-one-out of its first DELETED documents in the corpus's fixed order, else NaN."""
    model = quick(from_arrays(run.encoder, arrays)).requires_grad_(False).to(device)
    documents = data.splits["test"]
    return trace_items(model, documents, sample(documents.doc_ids, data.name)[:DELETED], data.name, progress)
