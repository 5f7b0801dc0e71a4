"""MiniLM under the papers' attention: fine-tuned end to end, or frozen with a head on the states of one layer.

Not in the three papers. AdamW with two rates, the encoder's and the head's, which rise for a tenth of the steps and
fall to 0; gradients clipped; mean binary cross-entropy; all epochs are run and the last weights kept, nothing is chosen
by dev. A head on a frozen layer has a rate that falls from the start, and reads states divided by their deviation, so
that a rate fits all layers.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.corpora.documents import Documents, Encoded, batches
from attn_core.corpora.encoding import from_files
from attn_core.corpora.order import fixed_order
from attn_core.models.attention import ATTENTIONS
from attn_core.models.classifier import Classifier, to_arrays
from attn_core.models.encoders import Encoder
from attn_core.models.minilm import MiniLM
from attn_core.run import Run
from attn_core.traces import Traces
from attn_core.tracing import inputs, trace
from attn_core.training import Arrays, Trained, compute_device, outputs_of, piecewise, progress_bar, train_epoch
from attn_core.training.jain import roc_auc

SHAPE: dict[str, int] = {}
"""Arguments of `MiniLM`; tests take fewer and smaller layers."""

HEAD_RATE = 1e-3
WARM_UP = 0.1
LARGEST_GRADIENT = 1.0

DELETED = 320
DELETED_PIECES = 20_000
"""Texts of the fixed order that leave-one-out is traced for, and the pieces that they hold at most: every deletion is a
text to be read."""

SCALED_TEXTS = 200
"""Training texts whose states say how large a layer's are."""


class Level(Encoder):
    """The states of a frozen encoder after its last layer, divided by `scale`."""

    MEMORY = MiniLM.MEMORY

    def __init__(self, frozen: MiniLM) -> None:
        super().__init__(frozen.embedding, frozen.width)
        self.frozen = frozen.requires_grad_(False)
        self.register_buffer("scale", torch.ones(()))

    def train(self, mode: bool = True) -> "Level":
        return super().train(False)  # nothing is dropped out of what does not learn

    def forward(self, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        with torch.no_grad():
            return self.frozen(ids, lengths, mask) / self.scale


def fit(run: Run, data: Encoded, matrix: np.ndarray | None, progress: bool, *bases: Arrays) -> Trained:
    """One training, see above. bases: of a layer of a trained encoder, that encoder's weights."""
    model = untrained(run, data, *bases).to(compute_device())
    if isinstance(model.encoder, Level):
        set_scale(model, data.splits["train"])
    trained = train(model, data, run, progress)
    arrays = {name: array for name, array in to_arrays(model).items() if not is_frozen(run, name)}
    return Trained({"dev": arrays}, trained)


def is_frozen(run: Run, name: str) -> bool:
    """Whether an array is of a frozen encoder, which is not kept twice."""
    return run.layer >= 0 and name.startswith("encoder.") and name != "encoder.scale"


def untrained(run: Run, data: Encoded, *bases: Arrays) -> Classifier:
    """A run's model before training, by torch's generator; of a layer with the base's encoder."""
    encoder = MiniLM(**SHAPE)
    if bases:
        prefix = "encoder."
        arrays = {name.removeprefix(prefix): array for name, array in bases[0].items() if name.startswith(prefix)}
        encoder.load_state_dict({name: torch.tensor(array) for name, array in arrays.items()})
    elif run.encoder == "minilm_random":
        encoder.draw()
    else:
        encoder.load(from_files("attn_data.pieces").folder() / "model.safetensors")
    reader: Encoder = encoder
    if run.layer >= 0:
        encoder.layers = encoder.layers[: run.layer]
        reader = Level(encoder)
    return Classifier(reader, ATTENTIONS[run.attention](encoder.width), outputs_of(run, data))


def set_scale(model: Classifier, documents: Documents) -> None:
    """Divide the states by their deviation in the first training texts, in place."""
    arguments = inputs(model, documents, np.arange(min(SCALED_TEXTS, len(documents))))
    model.eval()
    with torch.no_grad():
        h, scores = model.states_and_scores(**arguments)
        model.encoder.scale.copy_(h[scores.isfinite()].std())


def train(model: nn.Module, data: Encoded, run: Run, progress: bool, auc: Callable = roc_auc) -> list[dict[str, float]]:
    """Train a model in place; its history, with the `auc` of (model, documents) on dev. Products are in bfloat16,
    weights and sums in float32."""
    documents = data.splits["train"]
    device = next(model.parameters()).device.type
    optimiser = adamw(model, run)
    steps = run.epochs * -(-len(documents) // run.batch)
    warm_up = 0.0 if run.layer >= 0 else WARM_UP * steps
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, partial(share_of_rate, steps=steps, warm_up=warm_up))
    rng = np.random.default_rng(run.seed)

    def step(rows: np.ndarray) -> Tensor:
        with torch.autocast(device, torch.bfloat16):
            logits = model(**inputs(model, documents, rows))
        labels = torch.as_tensor(documents.labels[rows], device=logits.device)
        loss = nn.functional.binary_cross_entropy_with_logits(logits[:, 0].float(), labels.float())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), LARGEST_GRADIENT)
        optimiser.step()
        schedule.step()
        return loss.detach().double() * len(rows)

    history = []
    with progress_bar(run.epochs, len(documents), progress) as bar:
        for epoch in range(run.epochs):
            row = {"epoch": epoch, "loss": train_epoch(model, epoch, batches(documents, run.batch, rng), step, bar)}
            history.append(row | {"dev_auc": auc(model, data.splits["dev"])})
    return history


def adamw(model: nn.Module, run: Run) -> torch.optim.AdamW:
    """The run's rate for an encoder that learns, HEAD_RATE for the head; matrices decay, of the encoder alone."""
    learns = [(name, weight) for name, weight in model.named_parameters() if weight.requires_grad]
    encoder = [weight for name, weight in learns if name.startswith("encoder.")]
    head = {"params": [weight for name, weight in learns if not name.startswith("encoder.")]}
    if not encoder:
        return torch.optim.AdamW([head], lr=run.learning_rate, weight_decay=run.decay, fused=True)
    groups = [
        {"params": [weight for weight in encoder if weight.ndim > 1], "weight_decay": run.decay},
        {"params": [weight for weight in encoder if weight.ndim == 1]},
        head | {"lr": HEAD_RATE},
    ]
    return torch.optim.AdamW(groups, lr=run.learning_rate, weight_decay=0.0, fused=True)


def share_of_rate(step: int, steps: int, warm_up: float) -> float:
    """Of a rate that rises over the first steps and falls to 0 with the last."""
    rising = (step + 1) / warm_up if warm_up else 1.0
    return min(rising, (steps - step) / (steps - warm_up))


def trained_model(run: Run, arrays: Arrays, data: Encoded, *bases: Arrays) -> Classifier:
    """A run's model with trained weights, on the device; torch's generator stays as it was.
    RuntimeError where a name is left over or misshapen.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.seed)  # of a drawn encoder that is frozen: as `fit` has drawn it
        model = untrained(run, data, *bases)
    weights = {name: torch.tensor(array) for name, array in arrays.items()}
    model.load_state_dict(model.state_dict() | weights)
    return model.eval().to(compute_device())


def read(run: Run, arrays: Arrays, data: Encoded, progress: bool, *bases: Arrays) -> Traces:
    """Traces of the test set: with both gradients, and with leave-one-out of `deleted`; of equal weights and of a
    frozen layer scores and contributions alone."""
    model = trained_model(run, arrays, data, *bases)
    test = data.splits["test"]
    ranks = run.layer < 0 and run.attention != "uniform"
    traces = trace(model, test, gradient=ranks, leave_one_out=False, progress=progress)
    if not ranks:
        return traces
    rows = deleted(test, run.corpus)
    changes = trace(model, test.take(rows), gradient=False, progress=progress)
    return piecewise.with_changes(traces, rows, changes)


def deleted(documents: Documents, corpus: str) -> np.ndarray:
    """The documents whose pieces are deleted one by one, the first of the fixed order, in the documents' order."""
    order = fixed_order(documents.doc_ids, corpus)
    within = (documents.lengths[order] - 2).cumsum() <= DELETED_PIECES
    return np.sort(order[within][:DELETED])


def notes(run: Run, arrays: Arrays, data: Encoded, traces: Traces, *bases: Arrays) -> dict:
    """For the record: numbers that need the model or the pieces, see `piecewise`."""
    model = trained_model(run, arrays, data, *bases)
    test = data.splits["test"]
    numbers = piecewise.kinds(traces, test, data.vocabulary)
    if run.layer < 0:
        numbers |= piecewise.changed_texts(model, traces, test, data.vocabulary, run.seed)
    if traces.leave_one_out is not None:
        rows = deleted(test, run.corpus)
        numbers |= piecewise.whole_words(model, traces.take(rows), test.take(rows), data.vocabulary)
    sentence = piecewise.sentence(model, data.vocabulary) if run.corpus == "sst" else {}
    return {"numbers": numbers, **sentence}
