"""Tracing against hand-worked models and differences; its fast forms against the plain ones."""

import copy
import math
from functools import partial

import numpy as np
import plain_network as plain
import pytest
import torch
from conftest import alike, plainly, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_network import SIZES, random_documents, random_model

from attn_core import tracing
from attn_core.documents import Documents
from attn_core.models.attention import ATTENTIONS
from attn_core.models.classifier import build
from attn_core.models.encoders import ENCODERS
from attn_core.traces import cut
from attn_core.tracing import forward, trace
from attn_core.tracing.texts import with_row_per_token
from attn_lab.more import transformer  # noqa: F401  (one of ENCODERS)
from attn_lab.more.interventions import Mixed

ALL = [(encoder, attention) for encoder in ENCODERS for attention in ATTENTIONS]
TWINS = [(encoder, attention) for encoder, attention in ALL if hasattr(ENCODERS[encoder], "REACH")]
forms = pytest.mark.usefixtures("form")
LENGTHS = [5, 1, 2, 3, 4, 17, 1, 9, 8, 7, 6, 2, 60, 16]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def one_text(*ids):
    return Documents(np.array(ids, np.int32), np.array([0, len(ids)]), np.zeros(1, np.int64), np.array([7]))


def assert_equals_plain(model, documents, tolerance=1e-6):
    """Every token array of the fast traces against the plain ones; returns the largest |gradient|, |leave-one-out|."""
    traces = trace(model, documents)
    with plainly():
        plain_ones = trace(model, documents)
    names = ("attention", "gradient", "leave_one_out", "p", "doc_id", "offsets", "label")
    alike(traces, plain_ones, tolerance, names, contribution=5 * tolerance)
    return np.abs(traces.gradient).max(), np.abs(np.nan_to_num(traces.leave_one_out)).max()


@forms
def test_two_words_without_encoder_by_hand():
    model = build("none", "dot", np.array([[0, 0], [0, 0], [9, 9], [9, 9], [1, 0], [0, 1]], np.float32))
    with torch.no_grad():
        model.attention.w.weight.copy_(torch.tensor([[math.sqrt(2) * math.log(3), 0.0]]))  # scores ln 3 and 0
        model.decoder.weight.copy_(torch.tensor([[2.0, -2.0]]))
        model.decoder.bias.fill_(0.5)
    traces = trace(model, one_text(2, 4, 5, 3))
    p = sigmoid(0.5 + 0.75 * 2 - 0.25 * 2)
    np.testing.assert_allclose(traces.score, [0.0, -math.log(3)], atol=1e-6)
    np.testing.assert_allclose(traces.attention, [0.75, 0.25], atol=1e-6)
    np.testing.assert_allclose(traces.contribution[:, 0], [2.0, -2.0], atol=1e-6)
    np.testing.assert_allclose(traces.gradient, p * (1 - p) * np.array([0.75 * 2, 0.25 * -2]), atol=1e-6)
    np.testing.assert_allclose(traces.leave_one_out, [sigmoid(-1.5) - p, sigmoid(2.5) - p], atol=1e-6)
    assert traces.p == pytest.approx(p, abs=1e-6)
    assert traces.bias == 0.5
    assert (traces.doc_id, traces.label, list(traces.offsets)) == (7, 0, [0, 2])


def test_average_encoder_by_hand():
    vectors = np.array([0, 0, 9, 9, 1, 2], np.float32)[:, None]
    model = build("average", "uniform", vectors, hidden=1)
    with torch.no_grad():
        model.encoder.project.weight.fill_(0.5)
        model.encoder.project.bias.fill_(-0.25)
        model.decoder.weight.fill_(3.0)
    traces = trace(model, one_text(2, 4, 5, 3))
    expected = 3 * np.tanh([0.25, 0.75])
    np.testing.assert_allclose(traces.contribution[:, 0], expected, atol=1e-6)


@pytest.mark.parametrize("context", [0.25, 0.9, 1.0])
def test_the_dial_of_context(context):
    """By hand: each token reads its own word and the mean word."""
    model = random_model(partial(Mixed, context=context), "tanh", 30, width=6, hidden=4)
    ids, lengths = plain.tensors(np.array([2, 4, 5, 3]))
    mask = torch.tensor([[False, True, True, False]])
    with torch.no_grad():
        own = model.encoder.project(model.encoder.embedding.weight[[4, 5]])
        expected = ((1 - context) * own + context * own.mean(0)).tanh()
        torch.testing.assert_close(model.encoder(ids, lengths, mask)[0, 1:3], expected)


@pytest.mark.parametrize(("encoder", "attention"), TWINS)
@pytest.mark.parametrize("outputs", [1, 3])
def test_fast_equals_plain(encoder, attention, outputs):
    model = random_model(encoder, attention, 30, outputs, width=6, **SIZES[encoder])
    largest = assert_equals_plain(model, random_documents(LENGTHS, 30))
    assert min(largest) > 1e-3  # the comparison is not one of zeros


def test_fast_equals_plain_at_the_papers_widths():
    assert_equals_plain(
        random_model("cnn", "tanh", 200), random_documents([1, 2, 30, 90], 200), tolerance=2e-6
    )


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("outputs", [1, 3])
def test_the_plain_form_against_differences_and_shortened_texts(encoder, outputs):
    """<e_t, dp/de_t> as the change of p when e_t grows by a millionth, in double precision; texts without a word."""
    model = random_model(encoder, "tanh", 30, outputs, width=6, **SIZES[encoder]).double()
    documents = random_documents([4, 1, 7], 30)
    with plainly():
        traces = trace(model, documents)
    for row, ids in enumerate(plain.texts(documents)):
        words, n = slice(*traces.offsets[row : row + 2]), len(ids) - 2
        whole, given = model(*plain.tensors(ids)), torch.zeros(1, n + 2, dtype=torch.double)
        given[0, 1:-1] = torch.tensor(traces.attention[words])
        chosen = int(whole.argmax())

        def p(logits, chosen=chosen):
            return (logits.sigmoid() if outputs == 1 else logits.softmax(1))[0, chosen].item()

        own = copy.deepcopy(model)
        own.encoder, places = with_row_per_token(model.encoder, plain.tensors(ids)[0])
        e = own.encoder.embedding.weight
        vectors = e.detach().clone()
        for t in range(1, n + 1):
            changes = []
            for step in (1e-6, -1e-6):
                with torch.no_grad():
                    e[t + 1] = vectors[t + 1] * (1 + step)
                    changes.append(p(own(places, torch.tensor([n + 2]), imposed=given)))
                    e.copy_(vectors)
            assert traces.gradient[words][t - 1] == pytest.approx((changes[0] - changes[1]) / 2e-6, abs=1e-7)
            if n > 1:
                without = p(model(*plain.tensors(np.delete(ids, t))))
                assert traces.leave_one_out[words][t - 1] == pytest.approx(without - p(whole), abs=1e-7)
            else:
                assert np.isnan(traces.leave_one_out[words])
    assert np.abs(traces.gradient).max() > 1e-3


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
    model = random_model("none", "dot", 6, width=2)
    with torch.no_grad():
        model.decoder.bias.fill_(30.0)  # sigmoid(30) is exactly 1 in single precision
    traces = trace(model, one_text(2, 4, 5, 3))
    expected = math.exp(-traces.logits[0, 0]) * traces.attention * traces.contribution[:, 0]
    np.testing.assert_allclose(traces.gradient, expected, rtol=1e-4)
    assert (traces.gradient != 0).all()


@forms
def test_attention_on_one_word_alone_survives_its_deletion():
    """Scores far apart: the words left after deleting the winner keep finite weights."""
    model = build("none", "dot", np.array([[0], [0], [0], [0], [1000], [1], [2]], np.float32))
    with torch.no_grad():
        model.attention.w.weight.fill_(1.0)
        model.decoder.weight.fill_(0.001)
        model.decoder.bias.fill_(0.0)
    found = trace(model, one_text(2, 4, 5, 6, 3)).leave_one_out
    share = 1 / (1 + math.exp(-1))
    expected = sigmoid(0.001 * (2 * share + 1 * (1 - share))) - sigmoid(1.0)
    np.testing.assert_allclose(found, [expected, 0.0, 0.0], atol=1e-6)


@forms
def test_tracing_leaves_the_model_as_it_was(capfd):
    model = random_model("lstm", "tanh", 30, width=6, hidden=3).train()
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    trace(model, random_documents(LENGTHS, 30))
    assert model.training and capfd.readouterr().err == ""  # no bar for short work
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name])
        assert parameter.requires_grad
        assert parameter.grad is None
    model(*plain.tensors(np.array([2, 4, 3]))).sum().backward()  # and it can still be trained


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_model_left_in_training_mode_drops_nothing(encoder):
    documents = random_documents([5, 2], 30)
    model = random_model(encoder, "tanh", 30, width=6, **SIZES[encoder])
    expected = trace(model.eval(), documents)
    model.train()
    model.attention.eval()
    for _ in range(2):
        np.testing.assert_array_equal(trace(model, documents).p, expected.p)
    assert model.training
    assert model.encoder.training
    assert not model.attention.training


@pytest.mark.parametrize("paired", [False, True], ids=["texts", "pairs"])
@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["lstm", "cnn", "average"]), st.lists(st.integers(1, 9), min_size=1), st.integers(0, 99)
)
def test_deleting_either_of_two_equal_neighbours_is_a_tie(paired, encoder, lengths, seed):
    """Both leave the same text; no other number moves by more than rounding."""
    make, texts = (plain.random_paired, plain.random_pairs) if paired else (random_model, random_documents)
    model, documents = make(encoder, "tanh", 8, width=4, **SIZES[encoder]).float(), texts(lengths, 8, seed)
    traces, words = trace(model, documents, gradient=False), documents.ids[documents.inner]
    for start, end in zip(traces.offsets, traces.offsets[1:], strict=False):
        for t in range(start + 1, end):
            assert words[t] != words[t - 1] or traces.leave_one_out[t] == traces.leave_one_out[t - 1]
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
        trace(model, one_text(2, 4, 3))
