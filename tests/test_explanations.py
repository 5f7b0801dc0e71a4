"""Ten rankings of word pieces, by hand: a model of two layers with random weights."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from test_net import small_transformers

from attn_core.documents import Documents
from attn_lab import Run
from attn_lab.data import encode
from attn_lab.more import cls, rankings
from attn_lab.more.cls import FirstState, after, gathered, last_logit, opened
from attn_lab.more.minilm import MiniLM
from attn_lab.runs import compute, packing, store

VOCABULARY = ("[PAD]", "[CLS]", "[SEP]", "[MASK]", ".", "##ly", "dull", "not", "film", "slow")
CLS, SEP, MASK = 1, 2, 3
LENGTHS = torch.tensor([7, 7])


def masked(ids):
    """All pieces but [CLS] and [SEP]."""
    return torch.cat([ids[:, :1], torch.full_like(ids[:, 1:-1], MASK), ids[:, -1:]], 1)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    encoder = MiniLM(words=len(VOCABULARY), width=8, heads=2, depth=2, positions=16)
    encoder.draw()
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return FirstState(encoder).eval()


@pytest.fixture(scope="module")
def ids():
    return torch.tensor([[CLS, 8, 7, 6, 5, 4, SEP], [CLS, 7, 6, 8, 4, 4, SEP]])


@pytest.fixture
def text(model, ids):
    return opened(model, model.encoder.embedding(ids).detach().requires_grad_())


def test_opened_layers_are_the_model(model, ids, text):
    torch.testing.assert_close(model(ids, LENGTHS)[:, 0], text.logit, atol=1e-5, rtol=0)
    torch.testing.assert_close(model.encoder(ids, LENGTHS, None), text.states[-1], atol=1e-5, rtol=0)
    assert text.attention[0].shape == (2, 2, 7, 7)


def test_rollout_by_hand(text):
    expected = torch.eye(7)
    for weights in text.attention:
        expected = (0.5 * weights.mean(1) + 0.5 * torch.eye(7)) @ expected
    torch.testing.assert_close(cls.rollout(text.attention), expected, atol=1e-6, rtol=0)


def test_gradient_times_the_whole_input_is_zero_and_that_of_the_word_is_not(model, ids, text):
    values = cls.ranked(model, ids, torch.randn(10, 8), MASK)
    assert set(values) == {*rankings.RANKINGS, "integrated_signed", "whole_input"}
    assert all(value.shape == (2, 5) for value in values.values())
    assert values["whole_input"].max() < 1e-6
    assert values["gradient_x_input"].max() > 0.01
    scaled = opened(model, 2 * text.embedded + text.word)  # the whole input three times as long
    assert torch.allclose(scaled.logit, text.logit, atol=1e-5)


def test_integrated_gradients_are_complete(model, ids):
    total = cls.integrated(model, ids, MASK, steps=400)
    gap = (model(ids, LENGTHS) - model(masked(ids), LENGTHS))[:, 0]
    assert gap.abs().min() > 0.01
    assert torch.allclose(total.sum(1), gap, atol=2e-3)
    assert torch.allclose(total[:, [0, -1]], torch.zeros(2, 2))  # [CLS] and [SEP] stay


def test_gradients_of_word_pieces_are_captums(model, ids):
    attr = pytest.importorskip("captum.attr")

    def logit(word):
        return cls.opened(model, word).logit

    table = model.encoder.embedding
    path = attr.IntegratedGradients(logit)
    theirs = path.attribute(table(ids), table(masked(ids)), n_steps=cls.STEPS, method="riemann_middle")
    torch.testing.assert_close(cls.integrated(model, ids, MASK), theirs.sum(-1).float(), atol=1e-5, rtol=1e-4)
    theirs = attr.InputXGradient(logit).attribute(table(ids))
    ours = cls.ranked(model, ids, torch.zeros(10, 8), MASK)["gradient_x_input"]
    torch.testing.assert_close(ours, theirs.sum(-1).abs()[:, 1:-1])


def test_the_value_of_a_piece_that_gets_no_weight_is_worth_nothing(model, text):
    row = text.attention[-1].clone()
    row[:, :, 0, 2] = 0
    layer = model.encoder.layers[-1]
    text.attention[-1] = row
    text.states[-1] = after(layer, gathered(row, text.value), text.states[-2])
    zeroed = cls.value_zeroing(model, text)
    assert torch.allclose(zeroed[:, 2], torch.zeros(2), atol=1e-6)
    assert zeroed[:, [0, 1, 3, 4, 5, 6]].min() > 1e-6


def test_of_one_value_the_norm_is_attention(model, text):
    text.value = torch.zeros_like(text.value)
    text.value[:, 0] = torch.arange(1.0, 5)  # the first head's, the same everywhere; the second adds nothing
    norms = cls.norm(model, text)
    weight = text.attention[-1][:, 0, 0]
    assert torch.allclose(norms / norms.sum(1, keepdim=True), weight, atol=1e-5)


@pytest.mark.parametrize(("layers", "slope", "moved"), [(2, 0, 0), (2, -1, 0), (1, 1, 1 / 3)])
def test_relevance_of_a_decision_that_no_attention_feeds_stays_at_home(layers, slope, moved):
    """Nor that which it speaks against feeds."""
    even = torch.full((1, 2, 3, 3), 1 / 3)
    found = cls.relevance([even] * layers, [torch.full_like(even, slope)] * layers)
    assert torch.equal(found[0], torch.eye(3) + moved)


def test_the_last_layer_under_other_weights(model, text):
    before, value = text.states[-2][:, :1], text.value
    as_it_is = last_logit(model, before, gathered(text.attention[-1][:, :, :1], value))
    assert torch.allclose(as_it_is[:, 0], text.logit, atol=1e-5)
    contexts = cls.contexts_of(text)
    assert contexts["alone"].shape == (2, 5, 8)
    second_piece = torch.eye(7)[2].expand(2, 2, 1, 7)  # in both heads
    assert torch.allclose(contexts["alone"][:, 1], gathered(second_piece, value)[:, 0])
    assert torch.allclose(contexts["uniform"], gathered(torch.full((2, 2, 1, 7), 1 / 7), value), atol=1e-6)


def test_where_cls_looks_is_all_there_is():
    found = cls.looks([torch.tensor([[[[0.1, 0.2, 0.3, 0.4]]]])], torch.tensor([[False, True]]))
    expected = {"self": 0.1, "separator": 0.4, "signs": 0.3, "words": 0.2}
    shares = {name.removeprefix("looks_").removesuffix(" depth=1"): share[0] for name, share in found.items()}
    assert shares == pytest.approx(expected)


def test_agreement_by_hand():
    offsets = np.array([0, 3, 4, 6])
    found = rankings.agreement(np.array([1.0, 3, 2, 5, 1, 2]), np.array([0.1, 0.9, 0.2, 1, 7, 3]), offsets)
    np.testing.assert_array_equal(found, [[1, np.nan, 0], [1, np.nan, -1]])


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(1)
    lists = [[CLS, *rng.integers(4, 10, n), SEP] for n in (1, 4, 4, 6, 3, 6)]
    offsets = np.cumsum([0, *map(len, lists)])
    return Documents(np.concatenate(lists), offsets, np.array([0, 1] * 3), np.arange(6))


@pytest.fixture(scope="module")
def table(model, documents):
    reader = cls.Reader(model, VOCABULARY, progress=False)
    return cls.read_documents(reader, documents, "sst", ranks=True)


def test_a_row_a_document(model, table):
    assert table.n.tolist() == [1, 4, 4, 6, 3, 6]
    assert table["top_deletion_deletion"].tolist()[1:] == [1] * 5
    assert np.isnan(table["top_deletion_deletion"][0])
    assert np.allclose(table["tau_deletion_deletion"][1:], 1)
    assert table["whole_input"].max() < 1e-4
    for layer in ("1", "2"):
        parts = [table[f"looks_{kind} depth={layer}"] for kind in ("self", "separator", "signs", "words")]
        assert np.allclose(sum(parts), 1)


def test_deletion_is_the_shortened_text_read_anew(model, documents, table):
    """Of the second text: the piece without which p moves most."""
    text = np.split(documents.ids, documents.offsets[1:-1])[1]
    reader = cls.Reader(model, VOCABULARY, progress=False)
    moved = [abs(reader.p([np.delete(text, place)])[0] - table["p"][1]) for place in range(1, len(text) - 1)]
    values = cls.ranking_values(reader, [text])["attention"]
    assert table["top_deletion_attention"][1] == (values.argmax() == np.argmax(moved))


def test_every_tensor_is_made_on_the_models_device(model, documents, table):
    """Here the CPU, and torch's default another one, whose tensors mix with no others."""
    with torch.device("meta"):
        reader = cls.Reader(model, VOCABULARY, progress=False)
        again = cls.read_documents(reader, documents, "sst", ranks=True)
    pd.testing.assert_frame_equal(again, table)


def test_a_run_is_trained_read_stored_and_packed(monkeypatch, tmp_path):
    """Generated texts under SST's name; the start is drawn in place of the downloaded weights."""
    data = encode("planted", n_train=60, n_dev=20, n_test=20)
    data = replace(data, vocabulary=(*data.vocabulary, "[MASK]"))
    monkeypatch.setattr(compute, "inputs_of", lambda run: (data, None, {"data": data.fingerprint}))
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path))
    monkeypatch.setenv("ATTN_DEVICE", "cpu")
    run = Run("sst", "minilm", attention="cls", epochs=1)
    assert run.family == "cls"
    with small_transformers(data):
        made = compute.compute(run)
    stored = store.read(store.cache_store(), run.key)
    assert stored.documents["p"].tolist() == pytest.approx(made.documents["p"].tolist(), abs=1e-5)
    assert stored.record["accuracy"] == (stored.documents["predicted"] == stored.documents["label"]).mean()
    packing.prepare(run)
    packed = store.read(packing.packed_store(), run.key)
    numbers = packed.numbers.set_index(["measure", "statistic"])["value"]
    assert numbers["top_deletion_deletion", "mean"] == 1
    assert len(packed.documents) == len(data.splits["test"])
