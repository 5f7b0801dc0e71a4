"""What a GPU needs, on any machine: tensors on the model's device, gradients outside cuDNN, chunks by free memory."""

import copy
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import wraps
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import plain_hierarchical
import pytest
import test_net
import torch
from conftest import alike
from plain_network import SIZES, random_documents, random_model, random_paired, random_pairs

from attn_core import device, tracing
from attn_core.experiments.search import search
from attn_core.fast import search as fast_search
from attn_core.models import classifier, hierarchical, paired
from attn_core.models.attention import ATTENTIONS
from attn_core.tracing import items, texts, trace
from attn_lab.data import files
from attn_lab.more import pretrained, transformer  # noqa: F401  (registers its encoder)
from attn_lab.runs import families

TEXTS = random_documents([1, 2, 5, 9, 9], 60)
PAIRS = random_pairs([1, 2, 5, 9, 9], 60, answers=True)
SENTENCES = plain_hierarchical.documents([[3, 2], [4], [1, 5, 2], [2, 2]])


MODELS = {name: (plain_hierarchical.random_model(name), SENTENCES) for name in plain_hierarchical.SIX}
for encoder in SIZES:
    for attention in ATTENTIONS:
        MODELS[f"{encoder} {attention}"] = random_model(encoder, attention, 60, width=12), TEXTS
    if encoder != "transformer":
        pairs = random_paired(encoder, "tanh", 60, width=12, hidden=2).float()
        MODELS[f"pairs {encoder}"] = pairs, PAIRS
ALL = pytest.mark.parametrize("name", MODELS)


@ALL
@pytest.mark.usefixtures("form")
def test_every_tensor_of_a_reading_is_made_on_the_models_device(name):
    """Here the model's device is the CPU and torch's default another one, whose tensors mix with no others."""
    model, documents = MODELS[name]
    expected = trace(model, documents)
    with torch.device("meta"):
        found = trace(model, documents)
    alike(found, expected, 1e-5, bias=1e-5)


@ALL
def test_traces_do_not_depend_on_order_chunks_or_threads(name, monkeypatch):
    model, documents = MODELS[name]
    expected = trace(model, documents)
    rows = np.random.default_rng(0).permutation(len(documents))
    alike(trace(model, documents.take(rows)).take(np.argsort(rows)), expected, 1e-5)
    for place, value in ((tracing.BUDGETS, (3, 20, 20)), (texts.DELETION_TOKENS, 20)):
        monkeypatch.setitem(place, "cpu", value)
    monkeypatch.setattr(items, "WORDS", 9)
    monkeypatch.setattr(items, "DOCUMENTS", 2)
    small = trace(model, documents)
    alike(small, expected, 1e-5)
    with device.threads(3):
        threaded = trace(model, documents)
        with ThreadPoolExecutor(1) as pool:  # this thread and later ones keep the setting
            assert torch.get_num_threads() == pool.submit(torch.get_num_threads).result() == 3
    alike(threaded, small, 0.0)


on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@on_a_gpu
@ALL
def test_gpu_equals_cpu(name):
    model, documents = MODELS[name]
    found = trace(copy.deepcopy(model).cuda(), documents)
    alike(found, trace(model, documents), 1e-4)


@on_a_gpu
@pytest.mark.parametrize("steps", [2, 3, 4, 30])
@pytest.mark.parametrize("name", ["lstm tanh", "pairs lstm"])
def test_a_search_takes_as_many_steps_where_a_graph_repeats_them(name, steps, monkeypatch):
    traces = trace(*MODELS[name], leave_one_out=False)
    found = []
    for place in ("cpu", "cuda"):
        monkeypatch.setenv("ATTN_DEVICE", place)
        found.append(search(traces, k=2, steps=steps))
    np.testing.assert_allclose(*found, atol=1e-4)


def made_on_the_cpu(build):
    @wraps(build)
    def on_the_cpu(*arguments, **named):
        with torch.device("cpu"):
            return build(*arguments, **named)

    return on_the_cpu


TRAINED = ["text lstm", "text dot average", "text transformer", "tie", "hide", "mask", "han_rnn", "flan_conv"]
TRAINED += ["pair cnn", "adversary", "guide permuted", "pieces", "layer", "context of scores"]


@pytest.mark.parametrize("name", TRAINED)
def test_every_tensor_of_a_training_is_made_on_the_models_device(name, monkeypatch):
    """Models are built on the CPU and moved; all else as above."""
    made = [(families, name) for name in ("Tie", "minilm", "trained_model")]
    made += [(module, "build") for module in (classifier, paired, hierarchical, pretrained)]
    for module, function in made:
        monkeypatch.setattr(module, function, made_on_the_cpu(getattr(module, function)))
    with torch.device("meta"):
        test_net.test_a_training_gives_what_it_gave(name, monkeypatch)


@pytest.mark.parametrize("name", ["han_rnn", "flan_rnn", "lstm tanh", "pairs lstm"])
def test_gradients_are_taken_outside_cudnn(name, monkeypatch):
    """cuDNN gives recurrent networks none outside training mode: a GRU of Serrano & Smith's ended there."""
    within, gradient_of = [], torch.autograd.grad

    def recorded(*arguments, **named):
        within.append(torch.backends.cudnn.enabled)
        return gradient_of(*arguments, **named)

    monkeypatch.setattr(torch.autograd, "grad", recorded)
    trace(*MODELS[name])
    assert {*within} == {False}
    assert torch.backends.cudnn.enabled


@pytest.mark.parametrize("name", ["lstm tanh", "pairs lstm"])
def test_a_search_is_made_on_the_device_and_does_not_depend_on_how_a_device_lays_out_its_blocks(
    name, monkeypatch
):
    monkeypatch.setenv("ATTN_DEVICE", "cpu")
    traces = trace(*MODELS[name], leave_one_out=False)
    expected = search(traces, k=2, steps=30)
    monkeypatch.setitem(fast_search.ROUNDED, "cpu", fast_search.ROUNDED["cuda"])
    monkeypatch.setitem(fast_search.AXIS, "cpu", fast_search.AXIS["cuda"])
    with torch.device("meta"):
        found = search(traces, k=2, steps=30)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_chunks_shrink_with_a_gpus_free_memory(monkeypatch):
    for free, tokens in ((2 * device.PLENTY, 1000), (device.PLENTY // 4, 250), (0, 1)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _, free=free: (free, 4 * device.PLENTY))
        assert device.fitting(torch.device("cuda"), 1000) == tokens
        assert device.fitting(torch.device("cpu"), 1000) == 1000


def test_a_cache_that_is_named_needs_no_other_package(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path))
    assert files.cache_folder() == tmp_path


class OnNone(nullcontext):
    """In the place of a GPU: what is made there is made on the CPU."""

    type = "cuda"


@pytest.mark.parametrize("steps", [2, 3, 4, 30])
@pytest.mark.parametrize("name", ["lstm tanh", "pairs lstm"])
def test_a_graph_takes_all_steps_but_those_before_it(name, steps, monkeypatch):
    """Recorded once, which is no step, by a stand-in for CUDA; on a GPU see above."""
    traces = trace(*MODELS[name], leave_one_out=False)
    cuda = MagicMock()
    monkeypatch.setattr(fast_search, "cuda", cuda)
    monkeypatch.setattr(fast_search, "torch", SimpleNamespace(**vars(torch) | {"device": lambda _: OnNone()}))
    search(traces, k=2, steps=steps)
    assert cuda.CUDAGraph().replay.call_count == max(steps - fast_search.WARM, 0)
