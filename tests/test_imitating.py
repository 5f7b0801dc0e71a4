"""Trained adversaries: the loss and its gradient, extreme attention, patience, and what divergence does."""

import re
from types import SimpleNamespace

import numpy as np
import plain_network as plain
import pytest
import torch
from conftest import ROOT, refused
from plain_network import random_documents, random_model
from scipy.special import rel_entr
from tiny_runs import TINY, tiny

from attn_core.documents import batches
from attn_core.errors import AttnError
from attn_core.tracing import at_positions, forward, inputs, trace
from attn_core.training import BatchLoss, descend, imitate, without_denormals
from attn_core.training.jain import adam, positive_weight
from attn_lab.data import encode
from attn_lab.data.vectors import vectors
from attn_lab.runs import families
from attn_lab.runs.compute import weights_of


@pytest.fixture
def data():
    return encode("planted", **dict(TINY))


def models(scale=3.0):
    """An adversary and a base of few numbers, and texts of unlike length, all in double precision."""
    networks = [
        random_model(encoder, "tanh", 12, width=5, hidden=4).double() for encoder in ("average", "cnn")
    ]
    for network in networks:
        network.attention.v.weight.data *= scale
        network.decoder.weight.data *= scale
    return *networks, random_documents([1, 6, 2, 4, 9], 12)


def value(model, guide, documents, divergence, factor):
    """The loss as `imitate.losses` forms it, kept in double precision."""
    rows = np.arange(len(documents))
    own, theirs = (imitate.attend(network, **inputs(network, documents, rows)) for network in (model, guide))
    return imitate.adversarial_loss(*own, *(part.detach() for part in theirs), divergence, factor)


@pytest.mark.parametrize("divergence", [0.0, 5e-4, 0.3])
def test_the_loss_is_that_of_the_paper(divergence):
    """TVD - lambda KL, summed over the texts, times a factor; its gradient is that of differences."""
    model, guide, documents = models()
    own, base = (forward(net, documents) for net in (model, guide))
    kl = rel_entr(own.attention, base.attention).sum()
    expected = np.abs(own.p - base.p).sum() / 2 - divergence * kl
    assert value(model, guide, documents, divergence, 7.1).item() == pytest.approx(7.1 * expected, rel=1e-6)
    assert abs(expected) > 0.01
    assert kl > 0.1
    assert torch.autograd.gradcheck(
        lambda *_: value(model, guide, documents, divergence, 7.1), [*model.parameters()]
    )


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e5])
def test_extreme_attention_gives_no_nan(scale):
    """Weights that underflow on either side, beside pads and texts of one word."""
    model, guide, documents = models(scale)
    guide.float()
    model.float()
    theirs = forward(guide, documents)
    targets = imitate.Targets(theirs)
    assert np.isfinite(targets.log_attention).all()
    if scale == 1e3:
        assert theirs.attention.astype(np.float32).min() == 0.0, "what is tested here does not happen"
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, amsgrad=True)
    for _ in range(3):
        loss = imitate.losses(model, documents, np.arange(5), targets, 5.0, 0.01)
        assert descend(optimiser, loss).isfinite()
    assert all(weight.isfinite().all() for weight in model.parameters())


@pytest.mark.parametrize(
    "losses, epochs, kept",
    [
        ([5, 4, *range(6, 30)], 12, 1),  # ten in a row that are not below 4
        ([5, 4, 4, *[9] * 8, 4, 3], 12, 1),  # equal is not below
        ([5, *[6] * 9, 4, *[7] * 20], 21, 10),  # an improvement in the tenth starts the count anew
        ([9, 8, 7], 3, 2),  # all epochs are run out
    ],
)
def test_patience_and_checkpoint(losses, epochs, kept, monkeypatch):
    model, guide, documents = models()

    def scripted(model, *_):
        for epoch, loss in enumerate(losses):
            torch.nn.init.constant_(model.decoder.bias, epoch)
            yield epoch, loss

    monkeypatch.setattr(imitate, "passes", scripted)
    splits = dict.fromkeys(("train", "dev", "test"), documents)
    target = dict.fromkeys(splits, trace(guide, documents, leave_one_out=False))
    fitted = imitate.Adversary(epochs=len(losses)).train(model, splits, 0, target=target)
    assert len(fitted.history) == epochs
    assert fitted.weights["dev"]["decoder.bias"] == kept


def test_denormals_are_back_after_a_training_that_fails():
    if not torch.set_flush_denormal(False):
        pytest.skip("this processor cannot flush denormals")
    tiny = torch.tensor(1e-40)
    with refused(), without_denormals():
        assert (tiny * 1).item() == 0.0
        raise AttnError("in between")
    assert (tiny * 1).item() > 0.0


def test_a_loss_that_is_not_finite_is_named(data, monkeypatch):
    monkeypatch.setattr(
        imitate, "losses", lambda model, *_: BatchLoss(model.decoder.bias.sum(), torch.tensor(torch.nan))
    )
    run = tiny(base=tiny(), divergence=0.0)
    matrix, _ = vectors(run.vectors, data.vocabulary)
    with refused("the training diverged: loss .*nan.* in epoch 0; lower .*divergence"):
        families.fit(run, data, matrix, False, weights_of(run.base, False))


def test_the_loop_on_the_page_trains_as_the_package_does(data):
    """The torch loop of the page on section 4, run as it is printed; the package without weight decay."""
    documents = data.splits["train"]
    guide, model, ours = (random_model("average", "tanh", len(data.vocabulary), hidden=8) for _ in range(3))
    plain.filled(guide, {"decoder.bias": 1.0, "attention.v.weight": 2.0})
    target = {name: forward(guide, split) for name, split in data.splits.items()}
    recipe = imitate.Adversary(epochs=2, decay=0.0, divergence=0.01)
    recipe.train(model, data.splits, seed=3, target=target)

    targets = imitate.Targets(target["train"])
    rows = np.arange(len(documents))
    every = inputs(ours, documents, rows)
    log_attention = at_positions(targets.log_attention, documents, rows)
    rng = np.random.default_rng(3)
    page = (ROOT / "notebooks" / "wiegreffe" / "04-adversaries.md").read_text()
    names = {
        "range": lambda epochs: [0, 1],
        "batches": lambda split: batches(split, recipe.batch, rng),
        "train": documents,
        "adversary": lambda rows: (part[rows] for part in imitate.attend(ours, **every)),
        "base": SimpleNamespace(p=torch.tensor(targets.p), log_attention=torch.tensor(log_attention)),
        "lam": 0.01,
        "class_weight": np.where(documents.labels == 1, positive_weight(documents), 1.0),
        "optimiser": adam(ours, recipe.learning_rate, 0.0),
    }
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], names)
    losses = [imitate.losses(net, documents, rows, targets, 1.0, 0.01)[1].item() for net in (model, ours)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6 * len(documents))
    for theirs, mine in zip(model.parameters(), ours.parameters(), strict=True):
        torch.testing.assert_close(theirs, mine, atol=1e-6, rtol=0)
