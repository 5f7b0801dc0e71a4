"""The six models of Serrano & Smith against torch's own kernels, one document at a time."""

import numpy as np
import plain_hierarchical as plain
import pytest
import torch
from plain_hierarchical import SIX

from attn_core.documents import flat
from attn_core.models.hierarchical import build, drop
from attn_core.tracing import trace_items as trace

LENGTHS = [[3, 1, 4], [2], [1], [5, 9, 2, 6, 5], [1, 1], [8, 7, 3, 2], [20], [4, 4]]


def run_model(model, documents):
    texts = flat(documents, model.sentence is not None, "these")
    with torch.no_grad():
        return model(**texts.inputs(np.arange(len(texts)), torch.device("cpu")))


@pytest.mark.parametrize("rate", [0.1, 0.44446746096594764, 0.7])
def test_dropout_drops_its_share_everywhere_and_keeps_the_mean(rate):
    torch.manual_seed(0)
    x = torch.ones(4001, 25)  # 100,025 elements: no multiple of four
    y = drop(x, rate, training=True)
    assert set(np.round(y.unique().numpy(), 5)) == {0.0, np.float32(round(1 / (1 - rate), 5))}
    dropped = (y == 0).float()
    fours = dropped.flatten()[:100_024].view(-1, 4)  # one draw serves four
    assert (fours.mean(0) - rate).abs().max() < 0.012
    assert (torch.corrcoef(fours.T) - torch.eye(4)).abs().max() < 0.03
    assert drop(x, rate, training=False) is x
    assert drop(x, 0.0, training=True) is x


# The whole models


@pytest.mark.parametrize(
    ("name", "changes"), [("han_rnn", [1, 1, 1]), ("flan_rnn", [1, 0, 1]), ("flan_conv", [1, 1, 1])]
)
def test_dropout_falls_on_words_sentence_vectors_and_logits(name, changes):
    """And, whatever the three rates, on what convolutions give."""
    documents = plain.documents(LENGTHS)
    for place, changed in enumerate(changes):
        model = plain.random_model(name, dropout=0.5 * np.eye(3)[place]).train()
        dropped = run_model(model, documents)
        assert ((dropped - run_model(model.eval(), documents)).abs().max() > 1e-4) == changed
        assert (dropped == 0).any() == (place == 2)


def test_initial_values_are_the_authors():
    """Recurrent matrix orthogonal as a whole, biases zero but for positions 37 to 73 of 150; see the specification."""
    torch.manual_seed(0)
    model = build("han_rnn", np.zeros((5, 200), np.float32), 10)
    drawn = [(model.decoder.weight, 110)]
    for encoder, inputs in ((model.sentence.encoder, 200), (model.document.encoder, 100)):
        for entry, recurrent, none, bias in encoder.gru.all_weights:
            drawn.append((entry, 150 + inputs))
            torch.testing.assert_close(recurrent.T @ recurrent, torch.eye(50), atol=1e-5, rtol=0)
            assert bias.tolist() == [37 <= place < 74 for place in range(150)]
            assert not none.any()
    assert not model.decoder.bias.any()
    for weight, ends in drawn:
        limit = (6 / ends) ** 0.5
        assert 0.98 * limit < weight.abs().max() <= limit


@pytest.mark.parametrize("name", SIX)
def test_trace_equals_its_plain_twin(name):
    """Nothing is dropped while a model is traced, which is left in training mode."""
    documents, model = plain.documents(LENGTHS), plain.random_model(name, (0.5, 0.5, 0.5)).train()
    deleted = np.array([0, 2, 3, 5, 6])
    traces = trace(model, documents, deleted)
    assert model.training
    model.eval()
    expected = []
    for row in range(len(documents)):
        document = plain.items(model, documents, row)
        with torch.no_grad():
            h = plain.document_states(model, plain.embed(model, document))
            arrays = {
                "attention": plain.weights(model.document, h),
                "contribution": h @ model.decoder.weight.T,
            }
        arrays["gradient"] = plain.gradient(model, document)
        arrays["leave_one_out"] = plain.leave_one_out(model, document) * (1 if row in deleted else np.nan)
        expected.append(arrays)
    for array in expected[0]:
        values = np.concatenate([arrays[array] for arrays in expected])
        np.testing.assert_allclose(getattr(traces, array), values, atol=1e-5, err_msg=array)
    assert np.abs(traces.gradient).max() > 0.01
    assert np.nanmax(np.abs(traces.leave_one_out)) > 0.01
    np.testing.assert_allclose(traces.logits, run_model(model, documents), atol=1e-5)
    assert np.array_equal(traces.bias, model.decoder.bias.detach().numpy())
    assert traces.readout is None
    assert (np.maximum.reduceat(traces.score, traces.offsets[:-1]) == 0).all()
