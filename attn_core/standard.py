"""The models of Jain & Wallace as they are trained and traced: single texts and pairs."""

import numpy as np
import torch
from torch import nn

from attn_core.computing import outputs_of
from attn_core.corpora import catalogue
from attn_core.corpora.documents import Encoded
from attn_core.models import classifier, paired
from attn_core.runs import Run
from attn_core.traces import Traces
from attn_core.tracing import trace
from attn_core.training import Trained, train

MODELS = {"text": classifier, "pair": paired}


def fit(run: Run, data: Encoded, matrix: np.ndarray, device: str, progress: bool) -> Trained:
    """One training, both checkpoints; see `training.train`."""
    model = MODELS[run.family].build(run.encoder, run.attention, matrix, outputs_of(run, data), run.hidden)
    turn(model, run)
    if run.rounding:
        nudge(model, run.rounding)
    return train(
        model.to(device), data, seed=run.seed, epochs=run.epochs, batch=run.batch, learning_rate=run.learning_rate,
        decay=run.decay, class_weights=run.class_weights, tie=run.tie, progress=progress,
    )  # fmt: skip


def turn(model: nn.Module, run: Run) -> None:
    """Set the dial of an average encoder, which is no weight, to the run's context, in place."""
    if run.context:
        model.encoder.context = run.context


def nudge(model: nn.Module, draw: int) -> None:
    """Move each weight that is not 0 to the next float32 above or below it, by the coins of a draw, in place.

    A change of the size of one rounding (2^-24 to 2^-23 of the weight), as it would come of sums in another order:
    another number of threads, processor or library. Seed, batches and all else stay. Zeros stay so that pads do.
    """
    coins = torch.Generator().manual_seed(draw)
    with torch.no_grad():
        for weight in model.parameters():
            up = torch.randint(2, weight.shape, generator=coins).bool().to(weight.device)
            moved = torch.nextafter(weight, torch.where(up, torch.inf, -torch.inf))
            weight.copy_(torch.where(weight == 0, weight, moved))


LONGEST_DELETED = 500
"""Words of a generated document up to which leave-one-out is traced: of one of 2,000 words it takes half a minute."""


LONGEST_SLOW = 100
"""Mean words of a test set up to which leave-one-out is traced for encoders without a fast form."""


def read(
    run: Run, arrays: dict[str, np.ndarray], data: Encoded, device: str, progress: bool, words: bool = True
) -> Traces:
    """Traces of the test set with gradient and leave-one-out; words False: attention and contributions alone.

    Without the latter, the dearest part, where no test reads it: uniform weights rank no words, untrained models and
    long generated documents. Of a training that differs by rounding only attention and outputs are compared: it is
    traced for these.
    """
    model = MODELS[run.family].from_arrays(run.encoder, run.attention, arrays).to(device)
    turn(model, run)
    test = data.splits["test"]
    long = catalogue.corpus(run.corpus).generated and int(test.lengths.max()) - 2 > LONGEST_DELETED
    words = words and not run.rounding
    slow = run.encoder == "transformer" and float(test.lengths.mean()) > LONGEST_SLOW
    delete = words and not long and not slow and run.attention != "uniform" and run.epochs > 0
    return trace(model, test, gradient=words, leave_one_out=delete, progress=progress)
