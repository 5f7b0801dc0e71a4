"""Tracing against hand-worked models and autograd; its fast forms against the plain ones."""

import copy
import math
from functools import partial

import numpy as np
import pandas as pd
import plain_network as plain
import pytest
import torch
from conftest import alike, plainly, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_network import SIZES, random_documents, random_model
from scipy.special import expit

from attn_core import tracing
from attn_core.models.attention import ATTENTIONS
from attn_core.models.classifier import build
from attn_core.models.encoders import ENCODERS
from attn_core.traces import cut
from attn_core.tracing import forward, trace
from attn_lab.more import transformer  # noqa: F401  (one of ENCODERS)
from attn_lab.more.interventions import Mixed

ALL = [(encoder, attention) for encoder in ENCODERS for attention in ATTENTIONS]
TWINS = [(encoder, attention) for encoder, attention in ALL if hasattr(ENCODERS[encoder], "REACH")]
forms = pytest.mark.usefixtures("form")
LENGTHS = [5, 1, 2, 3, 4, 17, 1, 9, 8, 7, 6, 2, 60, 16]


@forms
def test_two_words_without_encoder_by_hand():
    model = build("none", "dot", np.array([[0, 0], [0, 0], [9, 9], [9, 9], [1, 0], [0, 1]], np.float32))
    numbers = {
        "attention.w.weight": [[math.sqrt(2) * math.log(3), 0.0]],  # scores ln 3 and 0
        "decoder.weight": [[2.0, -2.0]],
        "decoder.bias": 0.5,
    }
    traces = trace(plain.filled(model, numbers), plain.one_text(2, 4, 5, 3))
    p = expit(0.5 + 0.75 * 2 - 0.25 * 2)
    expected = {
        "score": [0.0, -math.log(3)],
        "attention": [0.75, 0.25],
        "contribution": [[2.0], [-2.0]],
        "gradient": p * (1 - p) * np.array([0.75 * 2, 0.25 * -2]),
        "leave_one_out": expit([-1.5, 2.5]) - p,
        "p": [p],
        "bias": [0.5],
        "doc_id": [7],
        "label": [0],
        "offsets": [0, 2],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(traces, name), values, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("context", [0.25, 0.9, 1.0])
def test_the_dial_of_context(context):
    """By hand: each token reads its own word and the mean word."""
    model = random_model(partial(Mixed, context=context), "tanh", 30, width=6, hidden=4)
    ids, lengths = plain.tensors([2, 4, 5, 3])
    mask = torch.tensor([[False, True, True, False]])
    with torch.no_grad():
        own = model.encoder.project(model.encoder.embedding.weight[[4, 5]])
        expected = ((1 - context) * own + context * own.mean(0)).tanh()
        torch.testing.assert_close(model.encoder(ids, lengths, mask)[0, 1:3], expected)


@pytest.mark.parametrize(("encoder", "attention"), TWINS)
@pytest.mark.parametrize("outputs", [1, 3])
def test_fast_equals_plain(encoder, attention, outputs):
    model, documents = (
        random_model(encoder, attention, 30, outputs, width=6, **SIZES[encoder]),
        random_documents(LENGTHS, 30),
    )
    traces = trace(model, documents)
    with plainly():
        expected = trace(model, documents)
    alike(traces, expected, 1e-6, ("attention", "gradient", "leave_one_out", "p"), contribution=5e-6)
    assert np.abs(traces.gradient).max() > 1e-3, "the comparison is not one of zeros"
    assert np.nanmax(np.abs(traces.leave_one_out)) > 1e-3


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("outputs", [1, 3])
def test_the_plain_form_against_autograd_of_the_whole_network_and_shortened_texts(encoder, outputs):
    """<e_t, dp/de_t> with the attention imposed, of a word that occurs twice the sum; and texts without a word."""
    model = random_model(encoder, "tanh", 30, outputs, width=6, **SIZES[encoder]).double()
    documents = random_documents([4, 1, 7], 30)
    with plainly():
        traces = trace(model, documents)
    vectors = model.encoder.embedding.weight

    def p(ids, **imposed):
        logits = model(*plain.tensors(ids), **imposed)[0]
        return logits.sigmoid() if outputs == 1 else logits.softmax(0)

    for row, ids in enumerate(plain.texts(documents)):
        tokens, whole = slice(*traces.offsets[row : row + 2]), p(ids)
        predicted = whole.argmax()
        weights = torch.tensor([[0, *traces.attention[tokens], 0]])
        (slopes,) = torch.autograd.grad(p(ids, imposed=weights)[predicted], vectors)
        expected = (slopes * vectors).sum(1)[ids[1:-1]].detach()
        found = pd.Series(traces.gradient[tokens]).groupby(ids[1:-1]).transform("sum")
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
        without = [(p(np.delete(ids, t)) - whole)[predicted].item() for t in range(1, len(ids) - 1)]
        np.testing.assert_allclose(traces.leave_one_out[tokens], without, rtol=0, atol=1e-7)
    assert np.abs(traces.gradient).max() > 1e-3
    assert np.isnan(traces.leave_one_out).sum() == 1


@pytest.mark.parametrize(("encoder", "attention"), ALL)
def test_p_from_the_trace_is_the_networks(encoder, attention):
    documents = random_documents(LENGTHS, 30)
    model = random_model(encoder, attention, 30, width=6, **SIZES[encoder])
    network = plain.outputs_of(model, documents)[:, 0].numpy()
    traces = forward(model, documents)
    np.testing.assert_allclose(traces.p, network, atol=1e-6)
    np.testing.assert_allclose(traces.rounded().p, network, atol=2e-4)
    assert traces.gradient is None
    assert traces.leave_one_out is None


@forms
def test_gradients_of_a_saturated_output_do_not_vanish():
    model = plain.filled(random_model("none", "dot", 6, width=2), {"decoder.bias": 30.0})
    traces = trace(model, plain.one_text(2, 4, 5, 3))  # sigmoid(30) is exactly 1 in single precision
    expected = math.exp(-traces.logits[0, 0]) * traces.attention * traces.contribution[:, 0]
    np.testing.assert_allclose(traces.gradient, expected, rtol=1e-4)
    assert (traces.gradient != 0).all()


@forms
def test_attention_on_one_word_alone_survives_its_deletion():
    """Scores far apart: the words left after deleting the winner keep finite weights."""
    model = build("none", "dot", np.array([[0], [0], [0], [0], [1000], [1], [2]], np.float32))
    plain.filled(model, {"attention.w.weight": 1.0, "decoder.weight": 0.001, "decoder.bias": 0.0})
    found = trace(model, plain.one_text(2, 4, 5, 6, 3)).leave_one_out
    expected = expit(0.001 * (2 * expit(1) + 1 * expit(-1))) - expit(1.0)
    np.testing.assert_allclose(found, [expected, 0.0, 0.0], atol=1e-6)


@forms
@pytest.mark.parametrize("encoder", ENCODERS)
def test_tracing_drops_nothing_and_leaves_the_model_as_it_was(encoder, capfd):
    documents, model = (
        random_documents(LENGTHS, 30),
        random_model(encoder, "tanh", 30, width=6, **SIZES[encoder]),
    )
    expected = trace(model.eval(), documents)
    model.train()
    model.attention.eval()
    before = copy.deepcopy(model.state_dict())
    np.testing.assert_array_equal(trace(model, documents).p, expected.p)
    assert [module.training for module in (model, model.encoder, model.attention)] == [True, True, False]
    assert capfd.readouterr().err == ""  # no bar for short work
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name])
        assert parameter.requires_grad
        assert parameter.grad is None
    model(*plain.tensors([2, 4, 3])).sum().backward()  # and it can still be trained


@pytest.mark.parametrize(
    ("make", "texts"), [(random_model, random_documents), (plain.random_paired, plain.random_pairs)]
)
@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["lstm", "cnn", "average"]), st.lists(st.integers(1, 9), min_size=1), st.integers(0, 99)
)
def test_deleting_either_of_two_equal_neighbours_is_a_tie(make, texts, encoder, lengths, seed):
    """Both leave the same text; no other number moves by more than rounding."""
    documents = texts(lengths, 8, seed)
    model = make(encoder, "tanh", 8, width=4, **SIZES[encoder]).float()
    traces, words = trace(model, documents, gradient=False), documents.ids[documents.inner]
    equal = (words[1:] == words[:-1]) & (traces.owner[1:] == traces.owner[:-1])
    np.testing.assert_array_equal(traces.leave_one_out[1:][equal], traces.leave_one_out[:-1][equal])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracing, "with_ties", lambda traces, words: traces)
        apart = trace(model, documents, gradient=False)
    np.testing.assert_allclose(traces.leave_one_out, apart.leave_one_out, atol=1e-6)


@given(st.lists(st.integers(3, 50), min_size=1, max_size=40), st.integers(1, 9), st.integers(1, 100))
def test_every_document_is_in_one_chunk_within_the_budget(lengths, texts, tokens):
    lengths = np.array(lengths)
    parts = cut(lengths, texts, tokens)
    assert sorted(np.concatenate(parts)) == list(range(len(lengths)))
    for rows in parts:
        assert len(rows) <= texts
        assert len(rows) == 1 or len(rows) * lengths[rows].max() <= tokens


def test_an_attention_that_scores_no_tokens_is_refused():
    model = random_model("none", "dot", 6, width=2)
    model.attention = torch.nn.Identity()
    with refused(r"Identity: an attention gives one score a token, \(1, 3\), not \(1, 3, 2\)"):
        trace(model, plain.one_text(2, 4, 3))
