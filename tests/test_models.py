"""Encoders, attention and classifier against equations written out, and the claims of their docstrings."""

import copy
import math
from itertools import repeat

import numpy as np
import pytest
import torch
from conftest import refused
from plain_network import filled, random_documents, random_model, tensors
from torch import nn

from attn_core.documents import UNKNOWN, pad
from attn_core.models.attention import Additive, PairedAdditive, PairedDot, ScaledDot, Uniform
from attn_core.models.classifier import build
from attn_core.models.encoders import ENCODERS
from attn_core.training import jain
from attn_lab.data import encode
from attn_lab.more.interventions import Hide, Tie, masked, nudge
from attn_lab.more.transformer import waves


def test_cnn_windows_reach_start_and_end_and_then_zeros():
    model = build("cnn", "uniform", np.array([[0], [0], [4], [5], [1], [2]], np.float32), hidden=1)
    for weight in model.encoder.convolutions.parameters():
        weight.data.zero_()
    filled(model.encoder.convolutions[1], {"weight": [[[1.0, 10.0, 100.0]]]})
    filled(model.encoder.convolutions[3], {"weight": [[[0.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0]]]})
    h = model.states_and_scores(*tensors([2, 4, 5, 3]))[0][0]
    assert h[:, 1].tolist() == [0.0, 214.0, 521.0, 0.0]  # 4 + 10 + 200, 1 + 20 + 500; start and end zeroed
    assert h[:, 3].tolist() == [0.0, 0.0, 4.0, 0.0]  # ReLU(0 - 5), then start less nothing beyond the end


def test_attention_scores_by_hand():
    h, q = torch.tensor([[[1.0, 0.0], [0.5, -1.0]]]), torch.tensor([[2.0, 1.0]])
    projected = {"project.weight": [[1.0, 2.0]], "project.bias": 0.5, "v.weight": 3.0}
    of_question = {"project_query.weight": [[0.25, -0.5]], "project_query.bias": 0.125}
    found = [
        filled(Additive(2), projected)(h),
        filled(ScaledDot(2), {"w.weight": [[2.0, -1.0]]})(h),
        Uniform(2)(h),
        filled(PairedAdditive(2), projected | of_question)(h, q),
        PairedDot(2)(h, q),
    ]
    expected = [
        [3 * math.tanh(1.5), 3 * math.tanh(-1.0)],
        [2 / math.sqrt(2), 2 / math.sqrt(2)],
        [0.0, 0.0],
        [3 * math.tanh(1.625), 3 * math.tanh(-0.875)],
        [2 / math.sqrt(2), 0.0],
    ]
    torch.testing.assert_close(torch.cat(found), torch.tensor(expected), atol=1e-6, rtol=0)
    assert Additive(2).v.bias is None
    assert ScaledDot(2).w.bias is None
    assert not list(PairedDot(2).parameters())


def test_widths_are_the_papers():
    vectors = np.zeros((5, 300), np.float32)
    widths = {name: build(name, "tanh", vectors).encoder.width for name in ENCODERS}
    assert widths == {"lstm": 256, "cnn": 128, "average": 128, "none": 300, "transformer": 128}
    assert build("lstm", "tanh", vectors).attention.project.weight.shape == (128, 256)


def untrained(data):
    return build("average", "tanh", np.zeros((len(data.vocabulary), 4), np.float32))


def test_names_that_are_not_known_are_refused():
    vectors = np.zeros((5, 3), np.float32)
    with refused("unknown encoder 'LSTM'; known: lstm, cnn, average, none"):
        build("LSTM", "tanh", vectors)
    with refused("unknown attention ''; known: tanh, dot, uniform"):
        build("lstm", "", vectors)


def test_masks_hide_words_alone_and_about_a_quarter_of_them():
    """Of half of the texts a share with a mean of a half."""
    documents = encode("planted", n_train=400, n_dev=8, n_test=8).splits["train"]
    read = masked(documents, np.random.default_rng(0), 0.5)
    hidden = read.ids == UNKNOWN
    assert not hidden[~documents.inner].any()
    assert read.ids.dtype == documents.ids.dtype
    np.testing.assert_array_equal(read.ids[~hidden], documents.ids[~hidden])
    share = np.add.reduceat(hidden, documents.offsets[:-1]) / (documents.lengths - 2)
    assert 0.2 < share.mean() < 0.3
    assert 0.45 < (share == 0).mean() < 0.6
    assert (share == 1).any()
    assert ((share > 0.2) & (share < 0.8)).mean() > 0.2


def test_hooks_are_called_once_an_epoch_a_batch_and_a_training():
    data = encode("planted", n_train=64, n_dev=8, n_test=8)
    model, weight = untrained(data), torch.nn.Parameter(torch.ones(()))
    before = model.decoder.bias.item()
    fresh, texts, batches = [], [], []

    def transform(documents, rng):
        texts.append(masked(documents, rng, 1.0))
        return texts[-1]

    def penalty(ids, h, attention, mask):
        assert h.shape[:2] == ids.shape == attention.shape == mask.shape
        batches.append(ids[mask])
        return weight * len(ids)

    penalty.parameters = [weight]
    hooks = {
        "start": lambda net: fresh.append(net.decoder.bias.item()),
        "transform": transform,
        "penalty": penalty,
    }
    jain.JainWallace(epochs=2).train(model, data.splits, 0, **hooks)
    assert fresh == [before]
    assert weight.item() < 1, "what a penalty has is trained"
    first, second = texts
    assert (first.ids != second.ids).any(), "drawn anew in the second epoch"
    read = torch.cat(batches[:2])  # 64 texts, 32 a batch
    assert read.sort().values.tolist() == sorted(first.ids[first.inner].tolist())


def test_training_ends_once_nothing_can_be_better(monkeypatch):
    data = encode("planted", n_train=64, n_dev=8, n_test=8)

    # dev and test; the first epoch does not count; both at 1 after the third
    for values, epochs in ((iter([1.0, 1.0, 0.5, 1.0, 1.0, 0.5]), 3), (repeat(0.9), 5)):
        monkeypatch.setattr(jain, "roc_auc", lambda *_, values=values: next(values))
        trained = jain.JainWallace(epochs=5).train(untrained(data), data.splits, 0)
        assert len(trained.history) == epochs


def test_rounding_moves_each_weight_to_a_neighbour_and_keeps_zeros():
    model = torch.nn.Sequential(torch.nn.Embedding(50, 4, padding_idx=0), torch.nn.Linear(4, 3))
    before = copy.deepcopy(model)
    nudge(model, 1)
    for old, new in zip(before.parameters(), model.parameters(), strict=True):
        above, below = (torch.nextafter(old, torch.tensor(end)) for end in (torch.inf, -torch.inf))
        assert torch.equal(new == 0, old == 0)
        assert ((new == above) | (new == below) | (old == 0)).all()
    assert 0.4 < (model[0].weight[1:].abs() > before[0].weight[1:].abs()).float().mean() < 0.6


def test_the_tie_of_states_to_words_by_hand():
    tie = Tie(random_model("lstm", "tanh", 5, width=1, hidden=1).encoder, 1.0)
    filled(tie.map, {"weight": [[1.0], [0.0]], "bias": 0.0})
    h = torch.tensor([[[0.0, 1.0], [0.5, 0.0], [9.0, 9.0]]])  # the last is no word
    found = tie.distance(torch.tensor([[[1.0], [2.0], [0.0]]]), h, torch.tensor([[True, True, False]]))
    expected = ((math.tanh(1) ** 2 + 1) / 2 + ((0.5 - math.tanh(2)) ** 2 + 0) / 2) / 2
    assert found.item() == pytest.approx(expected, abs=1e-6)


def test_positions_of_a_transformer_by_hand():
    wave = waves(3, 4, torch.device("cpu"))
    np.testing.assert_allclose(wave[2], [math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)], atol=1e-6)


def test_the_penalty_on_attention_to_secret_words_by_hand():
    weights = torch.tensor([[0.25, 0.5, 0.25], [0.0, 1.0, 0.0]])
    ids = torch.tensor([[1, 0, 1], [1, 0, 0]])
    hide = Hide(np.array([False, True]), 2.0, torch.device("cpu"))
    assert hide(ids, None, weights, None).item() == pytest.approx(-2 * (math.log(1 - 0.5) + math.log(1)))
    assert 26 < hide(1 - ids[1:], None, weights[1:], None).item() < 30  # attention of 1: finite


def test_a_padded_lstm_is_torchs_bidirectional_one_of_each_text():
    documents = random_documents([1, 7, 3, 12], 30)
    model = random_model("lstm", "tanh", 30, width=5, hidden=4)
    both = nn.LSTM(5, 4, batch_first=True, bidirectional=True)
    backward = model.encoder.backward_lstm.state_dict()
    reverse = {f"{name}_reverse": weight for name, weight in backward.items()}
    both.load_state_dict(model.encoder.forward_lstm.state_dict() | reverse)
    ids, lengths = map(torch.from_numpy, pad(documents, np.arange(4)))
    found, _ = model.states_and_scores(ids, lengths)
    for row, n in enumerate(lengths):
        expected, _ = both(model.encoder.embedding(ids[[row], :n]))
        torch.testing.assert_close(found[[row], :n], expected, atol=1e-6, rtol=0)
