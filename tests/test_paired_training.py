"""Training models of text pairs: the optimiser is Adam, checkpoints follow accuracy."""

import numpy as np
import pytest
import torch
from plain_network import random_paired, random_pairs
from torch import nn

from attn_core.documents import Documents
from attn_core.models import paired
from attn_core.models.classifier import to_arrays
from attn_core.tracing import forward, inputs
from attn_core.training import accuracy
from attn_core.training.jain import JainWallace


def texts(count: int) -> dict[str, Documents]:
    """Random pairs of four answers, for each split."""
    lengths = np.full(count, 6)
    return {
        name: random_pairs(lengths, 11, seed, outputs=4) for seed, name in enumerate(("train", "dev", "test"))
    }


def fresh(encoder="cnn", attention="dot") -> paired.Paired:
    return random_paired(encoder, attention, 11, 4, width=16, hidden=8).float()


def test_training_is_one_adam_on_mean_cross_entropy():
    """One batch of one epoch against torch's single-tensor Adam with decay on everything, attention included."""
    splits = texts(40)
    model, twin = fresh("lstm", "tanh"), fresh("lstm", "tanh")
    trained = JainWallace(epochs=1, batch=40, decay=0.1).train(model, splits, 0)
    optimiser = torch.optim.Adam(twin.parameters(), lr=1e-3, amsgrad=True, weight_decay=0.1, foreach=False)
    logits = twin(**inputs(twin, splits["train"], np.arange(40)))
    loss = nn.functional.cross_entropy(logits, torch.as_tensor(splits["train"].labels))
    loss.backward()
    optimiser.step()
    assert trained.history[0]["loss"] == pytest.approx(loss.item(), rel=1e-5)
    for name, expected in to_arrays(twin).items():
        # Adam's first step is the sign of the gradient where it is not tiny: compare where it is clear.
        clear = np.abs(dict(twin.named_parameters())[name].grad.numpy()) > 1e-6
        np.testing.assert_allclose(
            trained.weights["dev"][name][clear], expected[clear], atol=2e-6, err_msg=name
        )


def test_checkpoints_follow_accuracy_and_never_the_first_epoch():
    splits = texts(200)
    trained = JainWallace(epochs=6, batch=50, learning_rate=3e-3).train(fresh(), splits, 1)
    for selection in ("dev", "test"):
        values = [row[f"{selection}_accuracy"] for row in trained.history]
        model = paired.from_arrays("cnn", "dot", trained.weights[selection])
        assert accuracy(model, splits[selection]) == max(values[1:])
        traces = forward(model, splits[selection])
        assert accuracy(model, splits[selection]) == (traces.predicted == traces.label).mean()
    assert set(trained.history[0]) == {"epoch", "loss", "dev_accuracy", "test_accuracy"}
