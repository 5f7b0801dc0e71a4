"""MiniLM under the papers' attention: fine-tuned end to end, or frozen with a head on the states of one layer.

Not in the three papers. AdamW with two rates, the encoder's and the head's, which rise for a tenth of the steps and
fall to 0; gradients clipped; mean binary cross-entropy; all epochs are run and the last weights kept, nothing is chosen
by dev. A head on a frozen layer has a rate that falls from the start, and reads states divided by their deviation, so
that a rate fits all layers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from attn_core.documents import Documents, batches
from attn_core.models.attention import ATTENTIONS
from attn_core.models.classifier import Classifier, to_arrays
from attn_core.models.encoders import Encoder
from attn_core.tracing import inputs
from attn_core.training import BatchLoss, Trained, descend, passes
from attn_core.training.jain import roc_auc
from attn_lab.more.minilm import MiniLM

HEAD_RATE = 1e-3
WARM_UP = 0.1
LARGEST_GRADIENT = 1.0

SCALED_TEXTS = 200
"""Training texts whose states say how large a layer's are."""


FROZEN = ("encoder.frozen.", "encoder.embedding.")
"""Of a `Level`, another model's weights."""


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


def build(encoder: MiniLM, attention: str, outputs: int, layer: int = -1) -> Classifier:
    """A classifier of an encoder's states, by torch's generator; of those after one of its layers, 0 being the
    embedding, the encoder is frozen."""
    reader: Encoder = encoder
    if layer >= 0:
        encoder.layers = encoder.layers[:layer]
        reader = Level(encoder)
    return Classifier(reader, ATTENTIONS[attention](encoder.width), outputs)


def set_scale(model: Classifier, documents: Documents) -> None:
    """Divide the states by their deviation in the first training texts, in place."""
    arguments = inputs(model, documents, np.arange(min(SCALED_TEXTS, len(documents))))
    model.eval()
    with torch.no_grad():
        h, scores = model.states_and_scores(**arguments)
        model.encoder.scale.copy_(h[scores.isfinite()].std())


@dataclass(frozen=True)
class FineTuning:
    """The recipe, see above.

    Parameters
    ----------
    epochs, batch : int
        Passes over the training texts, and how many of them are a step.
    learning_rate : float
        Of the encoder; where it is frozen, of the head.
    decay : float
        Of the matrices that this rate moves.
    """

    epochs: int = 3
    batch: int = 32
    learning_rate: float = 3e-5
    decay: float = 0.01

    def train(
        self,
        model: nn.Module,
        splits: Mapping[str, Documents],
        seed: int,
        quality: Callable = roc_auc,
        progress: bool = True,
    ) -> Trained:
        """Train a model of one logit in place; its last weights, without those of a frozen encoder, and its history,
        with the quality of (model, documents) on dev. Products are in bfloat16, weights and sums in float32."""
        documents = splits["train"]
        frozen = isinstance(model.encoder, Level)
        if frozen:
            set_scale(model, documents)
        device = next(model.parameters()).device.type
        optimiser = adamw(model, self.learning_rate, self.decay)
        steps = max(1, self.epochs * -(-len(documents) // self.batch))
        warm_up = 0.0 if frozen else WARM_UP * steps
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, partial(share_of_rate, steps=steps, warm_up=warm_up))
        next_batches = partial(batches, documents, self.batch, np.random.default_rng(seed))
        clip = partial(nn.utils.clip_grad_norm_, [*model.parameters()], LARGEST_GRADIENT)

        def step(rows: np.ndarray) -> Tensor:
            with torch.autocast(device, torch.bfloat16):
                logits = model(**inputs(model, documents, rows))
            labels = torch.as_tensor(documents.labels[rows], device=logits.device)
            loss = nn.functional.binary_cross_entropy_with_logits(logits[:, 0].float(), labels.float())
            summed = descend(optimiser, BatchLoss(loss, loss.detach().double() * len(rows)), clip)
            schedule.step()
            return summed

        history = []
        for epoch, loss in passes(model, self.epochs, next_batches, step, progress):
            history.append({"epoch": epoch, "loss": loss, "dev_auc": quality(model, splits["dev"])})
        arrays = to_arrays(model)
        if frozen:
            arrays = {name: array for name, array in arrays.items() if not name.startswith(FROZEN)}
        return Trained({"dev": arrays}, history)


def adamw(model: nn.Module, learning_rate: float, decay: float) -> torch.optim.AdamW:
    """The rate for an encoder that learns, HEAD_RATE for the head; matrices decay, of the encoder alone."""
    learns = [(name, weight) for name, weight in model.named_parameters() if weight.requires_grad]
    encoder = [weight for name, weight in learns if name.startswith("encoder.")]
    head = [weight for name, weight in learns if not name.startswith("encoder.")]
    if not encoder:
        return torch.optim.AdamW(head, lr=learning_rate, weight_decay=decay, fused=True)
    groups = [
        {"params": [weight for weight in encoder if weight.ndim > 1], "weight_decay": decay},
        {"params": [weight for weight in encoder if weight.ndim == 1]},
        {"params": head, "lr": HEAD_RATE},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, weight_decay=0.0, fused=True)


def share_of_rate(step: int, steps: int, warm_up: float) -> float:
    """Of a rate that rises over the first steps and falls to 0 with the last."""
    rising = (step + 1) / warm_up if warm_up else 1.0
    return min(rising, (steps - step) / (steps - warm_up))
