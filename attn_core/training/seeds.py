"""Many seeds of one BiLSTM at once, each on its own batches: parameters stacked, every operation on all of them.

One model of 128 units leaves a GPU idle, and on a CPU much of a step is calls of small operations. Each model comes out
as `jain.train` makes it alone, to rounding.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from attn_core import training
from attn_core.corpora.documents import Documents, Encoded, batches, pad
from attn_core.errors import AttnError
from attn_core.fast.lstm import Steps, packing
from attn_core.models.classifier import Classifier, real_tokens
from attn_core.run import Run
from attn_core.training import Trained, outputs_of
from attn_core.training.jain import Checkpoints, adam, fresh, positive_weight


def fellows(run: Run) -> Run | None:
    """What runs that can be trained at once have in common; None for a run that is trained alone."""
    alone = run.family != "text" or run.encoder != "lstm" or run.tie or run.hide or run.rounding
    return None if alone else replace(run, seed=0, selection="dev")


def fit(runs: list[Run], data: Encoded, matrix: np.ndarray, device: str, progress: bool) -> list[Trained]:
    """The trainings of runs of equal `fellows`; torch is seeded here, by each run's seed. Data of two classes."""
    if outputs_of(runs[0], data) != 1:
        raise AttnError(f"{data.name} has more than two classes; leave --batch-seeds out")
    models = []
    for run in runs:
        torch.manual_seed(run.seed)
        models.append(fresh(run, data, matrix).to(device))
    stack, first, texts = Stack(models), runs[0], data.splits["train"]
    weight = positive_weight(texts) if first.class_weights else 1.0
    loss_of = nn.BCEWithLogitsLoss(reduction="none", pos_weight=torch.tensor(weight, device=device))
    optimiser = adam(stack.stacked, True, first)
    kept = [Checkpoints(model, data, run) for model, run in zip(models, runs, strict=True)]
    rngs = [np.random.default_rng(run.seed) for run in runs]
    rows = lambda: zip_batches([batches(texts, first.batch, rng) for rng in rngs])
    summed = lambda rows: step(stack, texts, rows, loss_of, optimiser)
    left = set(range(len(runs)))
    for epoch, losses in training.trained(stack, first.epochs, len(texts), rows, summed, progress):
        left -= {s for s in sorted(left) if kept[s].see(epoch, float(losses[s]))}
        if not left:
            break
    return [each.trained() for each in kept]


def zip_batches(of_models: list[list[np.ndarray]]) -> list[np.ndarray]:
    """The models' batches of each step, (B, S) row indices; -1 fills up the one batch of an epoch that is smaller."""
    size = max(len(rows) for rows in of_models[0])
    filled = [[np.pad(rows, (0, size - len(rows)), constant_values=-1) for rows in own] for own in of_models]
    return list(np.array(filled).transpose(1, 2, 0))


def step(stack: "Stack", texts: Documents, rows: np.ndarray, loss_of: nn.Module, optimiser) -> Tensor:
    """One optimiser step of every model on its rows (B, S); returns each batch's loss (S,)."""
    device, shape = stack.stacked["decoder.weight"].device, rows.T.shape  # (S, B)
    real = torch.as_tensor(rows.T >= 0, device=device)
    taken = np.maximum(rows.T, 0).ravel()  # in the place of no text the first, whose loss does not count
    ids, lengths = (torch.as_tensor(array, device=device) for array in pad(texts, taken))
    labels = torch.as_tensor(texts.labels[taken], device=device).view(shape)
    losses = (loss_of(stack(ids.view(*shape, -1), lengths.view(shape)), labels.float()) * real).sum(1)  # (S,)
    optimiser.zero_grad(set_to_none=True)
    losses.sum().backward()
    optimiser.step()
    return losses.detach().double()


class Stack(nn.Module):
    """S classifiers of one shape as one; their parameters become views of the stacked ones, and so are trained."""

    def __init__(self, models: list[Classifier]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)
        named = [dict(model.named_parameters()) for model in models]
        self.stacked = {name: torch.stack([own[name].detach() for own in named]) for name in named[0]}  # (S, ...)
        for name, values in self.stacked.items():
            for own, value in zip(named, values, strict=True):
                own[name].data = value
            values.requires_grad_()

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Logits (S, B) of ids (S, B, L), lengths (S, B); see `Classifier`."""
        mask = real_tokens(ids.flatten(0, 1), lengths.flatten()).view_as(ids)
        h = self.states(ids, lengths)  # (S, B, L, 2H)
        weights = self.each("attention", h).masked_fill(~mask, -torch.inf).softmax(-1)  # (S, B, L)
        return self.each("decoder", (weights[:, :, None] @ h).squeeze(2)).squeeze(-1)

    def each(self, part: str, values: Tensor) -> Tensor:
        """A part of every model on its own values (S, ...)."""
        own = {name.removeprefix(f"{part}."): v for name, v in self.stacked.items() if name.startswith(f"{part}.")}
        call = partial(torch.func.functional_call, self.models[0].get_submodule(part))
        return torch.vmap(call)(own, (values,))

    def states(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """States (S, B, L, 2H) of the models' BiLSTMs, any numbers on pads."""
        both = lambda name: [self.stacked[f"encoder.{side}_lstm.{name}_l0"] for side in ("forward", "backward")]
        table = self.stacked["encoder.embedding.weight"]  # (S, V, E)
        count, size = table.shape[:2]
        own = ids + size * torch.arange(count, device=ids.device)[:, None, None]
        words, slots = torch.unique(own, return_inverse=True)  # of all models, one after the other
        each = torch.bincount(words // size, minlength=count).tolist()
        vectors = nn.functional.embedding(words, table.flatten(0, 1)).split(each)  # S times (U, E)
        weights = torch.cat(both("weight_ih"), 1)  # (S, 8H, E)
        biases = torch.cat(both("bias_ih"), 1) + torch.cat(both("bias_hh"), 1)
        sums = torch.cat([nn.functional.linear(*part) for part in zip(vectors, weights, biases, strict=True)])
        packed = packing(lengths)
        places = (2 * slots[..., None] + torch.arange(2, device=ids.device)).flatten()  # (S B L 2,)
        gates = nn.functional.embedding(places[packed.source], sums.view(2 * len(sums), -1))  # (N, 4H)
        recurrent = torch.stack(both("weight_hh"), 1)[packed.order].flatten(0, 1)  # (2 S, 4H, H)
        h = Steps.apply(gates, recurrent, packed)
        return torch.cat([nn.functional.embedding(place, h) for place in (packed.ahead, packed.back)], -1)
