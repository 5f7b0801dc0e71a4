"""Training models of text pairs: the question is used, the optimiser is Adam, checkpoints, storing."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from attn_core.documents import Documents, Encoded
from attn_core.models import paired
from attn_core.models.classifier import to_arrays
from attn_core.tracing import inputs, trace
from attn_core.training import accuracy
from attn_core.training.jain import JainWallace


def places(n: int, seed: int) -> Documents:
    """Three people, each in one of four places; the question names a person, the answer is the place."""
    rng = np.random.default_rng(seed)
    where = rng.integers(0, 4, (n, 3))
    order = np.argsort(rng.random((n, 3)), axis=1)
    words = np.stack([4 + order, 7 + np.take_along_axis(where, order, 1)], axis=2).reshape(n, 6)
    asked = rng.integers(0, 3, n)
    ids = np.pad(words, ((0, 0), (1, 1)), constant_values=((0, 0), (2, 3))).astype(np.int32)
    query = np.stack([np.full(n, 2), 4 + asked, np.full(n, 3)], axis=1).astype(np.int32)
    offsets = np.arange(n + 1)
    return Documents(
        ids.reshape(-1), offsets * 8, where[np.arange(n), asked], np.arange(n), query.reshape(-1), offsets * 3
    )


def encoded() -> Encoded:
    splits = {"train": places(1000, 1), "dev": places(200, 2), "test": places(200, 3)}
    return Encoded("places", splits, tuple("0123456789a"), "", {})


def fresh(encoder="cnn", attention="dot") -> paired.Paired:
    torch.manual_seed(0)
    vectors = np.random.default_rng(0).normal(size=(11, 16)).astype(np.float32)
    vectors[0] = 0  # of pads
    return paired.build(encoder, attention, vectors, 4, 8)


@pytest.mark.parametrize("attention", ["tanh", "dot"])
def test_training_learns_what_only_the_query_tells(attention):
    model, data = fresh(attention=attention), encoded()
    trained = JainWallace(epochs=20, batch=50, learning_rate=3e-3).train(model, data.splits, 1)
    best = paired.from_arrays("cnn", attention, trained.weights["dev"])
    traces = trace(best, data.splits["test"])
    assert (traces.predicted == traces.label).mean() == accuracy(best, data.splits["test"]) > 0.95
    # The story has three places; a model that did not read the question could not beat the share of its best guess.
    other = data.splits["test"].take(np.arange(200))
    shuffled = Documents(
        *(getattr(other, name) for name in ("ids", "offsets", "labels", "doc_ids")),
        np.roll(other.query_ids, 3),
        other.query_offsets,
    )
    assert accuracy(best, shuffled) < 0.7


def test_training_is_one_adam_on_mean_cross_entropy():
    """One batch of one epoch against torch's single-tensor Adam with decay on everything, attention included."""
    data = encoded()
    data = replace(data, splits={name: part.take(np.arange(40)) for name, part in data.splits.items()})
    model, twin = fresh("lstm", "tanh"), fresh("lstm", "tanh")
    trained = JainWallace(epochs=1, batch=40, decay=0.1).train(model, data.splits, 0)
    optimiser = torch.optim.Adam(twin.parameters(), lr=1e-3, amsgrad=True, weight_decay=0.1, foreach=False)
    logits = twin(**inputs(twin, data.splits["train"], np.arange(40)))
    loss = nn.functional.cross_entropy(logits, torch.as_tensor(data.splits["train"].labels))
    loss.backward()
    optimiser.step()
    assert trained.history[0]["loss"] == pytest.approx(loss.item(), rel=1e-5)
    for name, expected in to_arrays(twin).items():
        # Adam's first step is the sign of the gradient where it is not tiny: compare where it is clear.
        clear = np.abs(dict(twin.named_parameters())[name].grad.numpy()) > 1e-6
        np.testing.assert_allclose(trained.weights["dev"][name][clear], expected[clear], atol=2e-6, err_msg=name)


def test_checkpoints_follow_accuracy_and_never_the_first_epoch():
    data = encoded()
    trained = JainWallace(epochs=6, batch=50, learning_rate=3e-3).train(fresh(), data.splits, 1)
    for selection in ("dev", "test"):
        values = [row[f"{selection}_accuracy"] for row in trained.history]
        model = paired.from_arrays("cnn", "dot", trained.weights[selection])
        assert accuracy(model, data.splits[selection]) == max(values[1:])
    assert set(trained.history[0]) == {"epoch", "loss", "dev_accuracy", "test_accuracy"}
