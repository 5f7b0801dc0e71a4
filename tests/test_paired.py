"""Models of text pairs: equations by hand, plain twins (autograd, naive deletion) in double precision, training."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import plain_network as plain
import pytest
import torch
from conftest import alike, plainly, refused
from plain_network import random_documents, random_model, random_paired, random_pairs
from scipy.special import softmax

from attn_core.documents import Documents
from attn_core.models import paired
from attn_core.models.attention import PAIRED_ATTENTIONS
from attn_core.tracing import forward, inputs, trace
from attn_core.training import accuracy
from attn_core.training.jain import JainWallace

ENCODERS = ("lstm", "cnn", "average", "none")
ALL = [(encoder, attention) for encoder in ENCODERS for attention in PAIRED_ATTENTIONS]
LENGTHS = [5, 1, 2, 3, 4, 17, 1, 9, 8, 7, 6, 2, 40, 16]
forms = pytest.mark.usefixtures("form")


def small(encoder, attention, outputs=3):
    return random_paired(encoder, attention, 30, outputs, width=6, **plain.SIZES[encoder])


def question() -> tuple[paired.Paired, Documents]:
    """Story "x y" of vectors (1, 0), (0, 1), question "z"; no encoder, dot attention, one hidden unit, 3 answers.

    The mean over <s> z </s> is q = (sqrt(2) ln 3, 0), so the scores h q / sqrt(2) are ln 3 and 0.
    """
    z = [3 * math.sqrt(2) * math.log(3), 0]
    model = paired.build("none", "dot", np.array([[0, 0]] * 4 + [[1, 0], [0, 1], z], np.float32), 3)
    numbers = {
        "context.weight": [[1.0, -1.0]],
        "context.bias": 0.1,
        "query.weight": [[0.0, 5.0]],
        "query.bias": 0.2,
        "output.weight": [[2.0], [-1.0], [0.5]],
        "output.bias": [0.0, 0.0, 0.3],
    }
    plain.filled(model.decoder, numbers)
    text, asked = np.array([2, 4, 5, 3], np.int32), np.array([2, 6, 3], np.int32)
    return model, Documents(text, np.array([0, 4]), np.array([1]), np.array([7]), asked, np.array([0, 3]))


@forms
@pytest.mark.parametrize("possible", [[0, 1, 2], [1, 2]])
def test_a_question_by_hand(possible):
    """Of the answers all, or the last two alone."""
    model, documents = question()
    if len(possible) < 3:
        ends = np.array([0, len(possible)])
        documents = replace(documents, answer_ids=np.array(possible, np.int32), answer_offsets=ends)
    traces = trace(model, documents)
    weight, bias = np.array([2, -1, 0.5]), np.array([0, 0, 0.3])

    def answers(context):
        p = np.zeros(3)
        p[possible] = softmax((weight * math.tanh(0.3 + context) + bias)[possible])
        return p

    p = answers(0.75 - 0.25)
    y = p.argmax()
    # dp_y / dhidden = p_y (U_y - sum_k p_k U_k); a word acts through its share of the context.
    slope = p[y] * (weight[y] - p @ weight) * (1 - math.tanh(0.8) ** 2)
    expected = {
        "attention": [0.75, 0.25],
        "contribution": [[1.0], [-1.0]],
        "query": [[0.3]],
        "outputs": [p],
        "predicted": [y],
        "gradient": [slope * 0.75, slope * -0.25],
        "leave_one_out": [0.5 * np.abs(answers(left) - p).sum() for left in (-1.0, 1.0)],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(traces, name), values, atol=1e-6, err_msg=name)
    assert np.flatnonzero(traces.outputs[0]).tolist() == possible


@pytest.mark.parametrize("encoder", ENCODERS)
def test_summary_reads_the_texts_own_positions(encoder):
    model = small(encoder, "dot").query_encoder
    ids, lengths = plain.tensors([2, 7, 5, 9, 3])
    mask = torch.tensor([[False, True, True, True, False]])
    with torch.no_grad():
        h, found = model(ids, lengths, mask)[0], model.summary(ids, lengths, mask)[0]
    expected = {
        "lstm": torch.cat([h[-1, :3], h[0, 3:]]),  # last forward state, last backward state
        "cnn": h[1:4].amax(0),
        "average": h.mean(0),
        "none": h.mean(0),
    }
    torch.testing.assert_close(found, expected[encoder])


@pytest.mark.parametrize(("encoder", "attention"), ALL)
@pytest.mark.parametrize("answers", [False, True])
def test_fast_equals_plain(encoder, attention, answers):
    model = small(encoder, attention, outputs=5)
    documents = random_pairs(LENGTHS, 30, outputs=5, answers=answers)
    traces = trace(model, documents)
    with plainly():
        plain_ones = trace(model, documents)
    names = ("gradient", "leave_one_out")
    alike(traces, plain_ones, 1e-7, names, attention=1e-6, contribution=1e-5, query=1e-6, readout=0.0)
    np.testing.assert_allclose(plain_ones.outputs, plain.outputs_of(model, documents), atol=1e-6)
    assert np.abs(traces.gradient).max() > 1e-3
    assert np.nanmax(traces.leave_one_out) > 1e-3


@pytest.mark.parametrize(("encoder", "attention"), [("lstm", "tanh"), ("lstm", "dot"), ("cnn", "tanh")])
def test_single_precision_at_the_papers_widths(encoder, attention):
    documents, model = random_pairs([1, 2, 20, 45], 200), random_paired(encoder, attention, 200)
    exact = trace(model, documents)
    alike(trace(model.float(), documents), exact, 1e-5)


@pytest.mark.parametrize("encoder", ["average", "none"])
@pytest.mark.parametrize("make", [(random_model, random_documents), (random_paired, random_pairs)])
def test_a_word_that_occurs_twice_makes_the_same_difference_twice(make, encoder):
    """Without context the deletion of either is the same text: a tie, which rounding errors must not break."""
    network, texts = make
    documents = texts(np.full(40, 60), 30)
    traces = trace(network(encoder, "tanh", 30, width=20, hidden=16).float(), documents).rounded()
    deletions = pd.Series(traces.leave_one_out).groupby([traces.owner, documents.ids[documents.inner]])
    assert (deletions.nunique() == 1).all()
    assert (deletions.size() > 1).sum() > 100


@forms
def test_texts_without_a_question_are_refused():
    with refused("no second text"):
        trace(small("none", "dot"), random_documents([3, 4], 30))


# Training


def splits(count: int) -> dict[str, Documents]:
    """Random pairs of four answers."""
    lengths = np.full(count, 6)
    return {name: random_pairs(lengths, 11, seed, 4) for seed, name in enumerate(("train", "dev", "test"))}


def fresh(encoder, attention) -> paired.Paired:
    return random_paired(encoder, attention, 11, 4, width=16, hidden=8).float()


def test_training_is_one_adam_on_mean_cross_entropy():
    """One batch of one epoch against torch's single-tensor Adam with decay on everything, attention included."""
    documents = splits(40)
    model, twin = fresh("lstm", "tanh"), fresh("lstm", "tanh")
    trained = JainWallace(epochs=1, batch=40, decay=0.1).train(model, documents, 0)
    optimiser = torch.optim.Adam(twin.parameters(), lr=1e-3, amsgrad=True, weight_decay=0.1, foreach=False)
    logits = twin(**inputs(twin, documents["train"], np.arange(40)))
    loss = torch.nn.functional.cross_entropy(logits, torch.as_tensor(documents["train"].labels))
    loss.backward()
    optimiser.step()
    assert trained.history[0]["loss"] == pytest.approx(loss.item(), rel=1e-5)
    for name, weight in twin.named_parameters():
        # Adam's first step is the sign of the gradient where it is not tiny: compare where it is clear.
        clear = weight.grad.abs() > 1e-6
        found = torch.as_tensor(trained.weights["dev"][name])
        torch.testing.assert_close(found[clear], weight.detach()[clear], atol=2e-6, rtol=1e-7, msg=name)


def test_checkpoints_follow_accuracy_and_never_the_first_epoch():
    documents = splits(200)
    recipe = JainWallace(epochs=6, batch=50, learning_rate=3e-3)
    trained = recipe.train(fresh("cnn", "dot"), documents, 1)
    for selection in ("dev", "test"):
        model = paired.from_arrays("cnn", "dot", trained.weights[selection])
        traces = forward(model, documents[selection])
        best = max(row[f"{selection}_accuracy"] for row in trained.history[1:])
        assert accuracy(model, documents[selection]) == best
        assert (traces.predicted == traces.label).mean() == best
    assert set(trained.history[0]) == {"epoch", "loss", "dev_accuracy", "test_accuracy"}
