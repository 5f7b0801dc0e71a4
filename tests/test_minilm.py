"""MiniLM as an encoder: two small layers of random weights; what needs the real weights is skipped where they are
not."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import refused
from plain_network import one_text

from attn_core.documents import pad
from attn_core.errors import AttnError
from attn_core.tracing import inputs, trace
from attn_lab import Run
from attn_lab.data import encode, pieces
from attn_lab.data.pieces import CLS, SEP
from attn_lab.more import minilm, piecewise
from attn_lab.more.minilm import MiniLM
from attn_lab.runs import families, index, store

RUN = Run("sst", "minilm_random", seed=10, epochs=2)


def weights_at_hand() -> Path | None:
    try:
        pieces.tokenizer()
        return pieces.folder()
    except (AttnError, ImportError):
        return None


REAL = weights_at_hand()
real_weights = pytest.mark.skipif(REAL is None, reason="without MiniLM's weights or tokenizers")


def test_states_are_read_by_the_layers_that_gradients_go_through():
    # the fused form differs on a GPU by more than gradients are checked to: a trace would be refused there
    model = MiniLM(words=20, width=16, heads=2, depth=1).eval()
    fused = []
    model.layers[0].register_forward_pre_hook(
        lambda *_: fused.append(torch.backends.mha.get_fastpath_enabled())
    )
    with torch.inference_mode():
        model.levels(torch.tensor([[2, 7, 3]]), torch.tensor([3]))
    assert fused == [False]
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.fixture
def data(monkeypatch):
    """Generated texts; a run's model has two layers."""
    encoded = encode("planted", n_train=200, n_test=40)
    words = max(len(encoded.vocabulary), 1 + SEP)
    shape = {"words": words, "width": 16, "heads": 2, "depth": 2}
    monkeypatch.setattr(families, "SHAPE", shape)
    monkeypatch.setenv("ATTN_DEVICE", "cpu")
    return encoded


def a_model(data, run=RUN):
    torch.manual_seed(0)
    model = families.tuned_task(run, data, None, False).model.eval()
    with torch.no_grad():
        for weight in model.encoder.parameters():
            weight *= 4  # not all states alike
    return model


def test_a_run_has_its_own_recipe_and_a_key_without_vectors_or_folder(monkeypatch):
    run = Run("sst", "minilm")
    recipe = run.family, run.epochs, run.batch, run.learning_rate, run.decay
    assert recipe == ("pretrained", 3, 32, 3e-5, 0.01)
    assert Run("agnews", "minilm").epochs == 2
    assert Run("sst", "minilm_random").learning_rate == 3e-4
    assert Run("sst", "minilm", layer=0).batch == 64
    monkeypatch.setenv("ATTN_MINILM", "/somewhere")
    assert Run("sst", "minilm", vectors="random").key == run.key
    assert Run("sst", "minilm", layer=3, base=run).key != Run("sst", "minilm", layer=3).key


@pytest.fixture
def trained(data):
    torch.manual_seed(RUN.seed)
    return families.fit(RUN, data, None, False)


def test_training_lowers_the_loss_and_its_weights_give_the_model_back(data, trained):
    assert trained.history[-1]["loss"] < trained.history[0]["loss"]
    weights, test = trained.weights["dev"], data.splits["test"]
    traces = families.read_tuned(RUN, weights, data, False)
    model = families.trained_model(RUN, weights)
    with torch.no_grad():
        logits = model(**inputs(model, test, np.arange(len(test))))
    np.testing.assert_allclose(traces.logits, logits, atol=1e-5)
    assert (traces.gradient_norm > 0).all()
    changed = traces.owner[~np.isnan(traces.leave_one_out)]
    assert set(changed) == set(families.deleted(test, "sst"))


def test_a_head_on_a_frozen_layer_reads_states_of_unit_deviation_and_leaves_the_encoder(data, trained):
    base = trained.weights["dev"]
    for layer in (0, 2):
        run = Run("sst", "minilm_random", seed=10, layer=layer, base=RUN, epochs=1)
        arrays = families.fit(run, data, None, False, base).weights["dev"]
        assert {name for name in arrays if "encoder" in name} == {"encoder.scale"}
        model = families.trained_model(run, arrays, base)
        arguments = inputs(model, data.splits["train"], np.arange(200))
        h, scores = model.states_and_scores(**arguments)
        assert float(h[scores.isfinite()].std()) == pytest.approx(1, abs=0.01)
        whole = families.trained_model(RUN, base).encoder.levels(arguments["ids"], arguments["lengths"])
        torch.testing.assert_close(h * model.encoder.scale, whole[layer])


def test_every_stored_output_is_the_weighted_sum_of_its_pieces_numbers():
    """Both are rounded in the archive."""
    asked = {"encoder": ["minilm", "minilm_random"], "family": "pretrained", "attention": "tanh"}
    texts = 0
    for key in index.runs(**asked, source="archive")["key"]:
        result = store.read(store.archive_folder(), key)
        if result.traces is None or result.documents is None:
            continue
        p = result.documents.set_index("doc_id").loc[result.traces.doc_id, "p"]
        assert np.abs(result.traces.p - p).max() < 2e-6, key
        texts += len(p)
    assert texts > 3000


@pytest.fixture
def another_folder(monkeypatch, tmp_path):
    """$ATTN_MINILM names it, until the test ends."""
    pieces.folder.cache_clear()
    monkeypatch.setenv("ATTN_MINILM", str(tmp_path))
    yield tmp_path
    pieces.folder.cache_clear()


@pytest.mark.parametrize("name", pieces.MODELS)
def test_absent_or_changed_weights_are_one_line_with_the_way_to_get_them(name, monkeypatch, another_folder):
    variable = f"ATTN_{name.upper()}"
    monkeypatch.setenv(variable, str(another_folder))
    for wanted in ("are not in", re.escape(pieces.MODELS[name]["install"]), variable):
        with refused(wanted):
            pieces.folder(name)
    for file in pieces.MODELS[name]["files"]:
        (another_folder / file).write_bytes(b"another")
    with refused("another model's, or damaged"):
        pieces.folder(name)


@real_weights
@pytest.mark.parametrize("name", pieces.MODELS["minilm"]["files"])
def test_a_changed_copy_of_weights_or_tokenizer_is_refused_by_name(name, another_folder):
    for other in pieces.MODELS["minilm"]["files"]:
        (another_folder / other).symlink_to(REAL / other)
    assert pieces.folder() == another_folder, "the same files elsewhere"
    pieces.folder.cache_clear()
    data = (REAL / name).read_bytes()
    (another_folder / name).unlink()
    (another_folder / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with refused(f"{name} is another model's, or damaged"):
        pieces.folder()


def test_gradients_are_autograds_of_the_whole_network_under_imposed_attention(data):
    """Of twelve different pieces."""
    model = a_model(data).double()
    text = one_text(*range(2, 16))
    traces = trace(model, text, leave_one_out=False)
    arguments = inputs(model, text, np.arange(1))
    imposed = model.states_and_scores(**arguments)[1].softmax(-1).detach()
    table = model.encoder.embedding.weight
    (slopes,) = torch.autograd.grad(model(**arguments, imposed=imposed).sigmoid().sum(), table)
    e, slope = table[3:15].detach(), slopes[3:15]
    np.testing.assert_allclose(traces.gradient, (e * slope).sum(1), rtol=0, atol=1e-7)
    np.testing.assert_allclose(traces.gradient_norm, slope.norm(dim=1), rtol=0, atol=1e-7)


@real_weights
def test_states_are_those_of_the_reference_implementation():
    transformers = pytest.importorskip("transformers")
    reference = transformers.BertModel.from_pretrained(str(pieces.folder()), add_pooling_layer=False).eval()
    model = MiniLM().eval()
    model.load(pieces.folder() / "model.safetensors")
    lists = pieces.pieces(["The film is dull, and the plot goes nowhere.", "A feast for the eyes"])
    ids, lengths = map(
        torch.as_tensor, pad(piecewise.of_lists(lists, np.zeros(2, np.int64), np.arange(2)), np.arange(2))
    )
    inside = torch.arange(ids.shape[1]) < lengths[:, None]
    with torch.no_grad():
        states = model.levels(ids, lengths)
        theirs = reference(ids, attention_mask=inside.long(), output_hidden_states=True).hidden_states
    for mine, other in zip(states, theirs, strict=True):
        assert (mine - other)[inside].abs().max() < 1e-5


def test_bytes_of_onnx_times_their_scale(tmp_path):
    onnx = pytest.importorskip("onnx")
    numbers = {
        "embeddings.kind_quantized": np.array([3, 5, 9], np.uint8),
        "embeddings.kind_zero_point": np.uint8(5),
        "embeddings.kind_scale": np.float32(0.5),
        "embeddings.LayerNorm.bias": np.float32([1, 2]),
        "7_quantized": np.array([[1, 2], [3, -4]], np.int8),
        "7_zero_point": np.int8(1),
        "7_scale": np.float32(2),
    }
    arrays = [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in numbers.items()]
    inputs = ["x", "7_quantized"]
    node = onnx.helper.make_node("MatMulInteger", inputs, ["y"], "/encoder/layer.0/output/dense/MatMul_quant")
    onnx.save(
        onnx.helper.make_model(onnx.helper.make_graph([node], "two", [], [], arrays)), tmp_path / "model.onnx"
    )
    stored = minilm.dequantised(tmp_path / "model.onnx")
    assert stored["embeddings.kind"].tolist() == [-1, 0, 2]
    assert stored["embeddings.LayerNorm.bias"].tolist() == [1, 2]
    assert stored["encoder.layer.0.output.dense.weight"].tolist() == [[0, 4], [2, -10]]


def test_bge_has_the_states_of_onnxruntime():
    """There the inputs of products are rounded to bytes: layers are compared from the same states, and once at the
    end."""
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    try:
        folder = pieces.folder("bge")
    except AttnError as error:
        pytest.skip(str(error))
    model = MiniLM(depth=12).eval()
    model.load(folder / "model.onnx")
    graph = onnx.load(folder / "model.onnx")
    ends = [f"/encoder/layer.{layer}/output/LayerNorm/Add_1_output_0" for layer in range(11)]
    graph.graph.output.extend(map(onnx.helper.make_empty_tensor_value_info, ends))
    session = runtime.InferenceSession(graph.SerializeToString())
    for text in ("The film is dull, and the plot goes nowhere.", "A feast for the eyes"):
        ids = np.array([[CLS, *pieces.pieces([text])[0], SEP]])
        read = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        theirs = [torch.tensor(states) for states in session.run([*ends, "last_hidden_state"], read)]
        with torch.no_grad():
            mine = model.levels(torch.tensor(ids), torch.tensor([ids.shape[1]]))[1:]
            from_theirs = [layer(before) for layer, before in zip(model.layers[1:], theirs, strict=False)]
        for ours, other in zip([mine[0], *from_theirs, mine[-1]], [*theirs, theirs[-1]], strict=True):
            assert torch.cosine_similarity(ours, other, dim=-1).min() > 0.995


@real_weights
def test_pieces_of_a_text():
    names = {number: piece for piece, number in pieces.tokenizer().get_vocab().items()}
    text = pieces.plain("sst", "It does n't feel -LRB- or look -RRB- like one .")
    shown = [names[i] for i in pieces.pieces([text])[0]]
    assert shown == ["it", "doesn", "'", "t", "feel", "(", "or", "look", ")", "like", "one", "."]
    assert len(pieces.pieces(["dull " * 500])[0]) == pieces.MOST
