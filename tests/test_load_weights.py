"""Weights and texts that come from elsewhere: names, files, and one line for each thing that is wrong."""

import numpy as np
import plain_hierarchical
import pytest
import torch
from conftest import alike, refused
from plain_network import SIZES, random_documents, random_model, random_paired, random_pairs
from safetensors.numpy import save_file

from attn_core.models.classifier import to_arrays
from attn_core.tracing import trace_items
from attn_lab import load_weights, trace

MODEL = random_model("lstm", "tanh", 30, width=6, hidden=3)
ARRAYS = to_arrays(MODEL)
TEXTS = random_documents([5, 1, 3], 30)


def same(found, expected, documents):
    alike(trace(found, documents), trace(expected, documents), 0.0)


@pytest.mark.parametrize("attention", ["tanh", "dot", "uniform"])
@pytest.mark.parametrize("encoder", SIZES)
def test_models_of_texts_and_pairs(encoder, attention):
    kind = {"encoder": encoder, "attention": attention}
    model = random_model(encoder, attention, 30, width=6, **SIZES[encoder])
    same(load_weights(to_arrays(model), **kind), model, TEXTS)
    if encoder != "transformer" and attention != "uniform":
        model = random_paired(encoder, attention, 30, width=6, **SIZES[encoder]).float()
        same(load_weights(to_arrays(model), **kind), model, random_pairs([4, 2], 30))


def test_networks_of_items():
    documents = plain_hierarchical.documents([[3, 1, 4], [2], [4, 4]])
    for name in plain_hierarchical.SIX:
        model = plain_hierarchical.random_model(name)
        found = trace(load_weights(to_arrays(model), encoder=name), documents)
        expected = trace_items(model, documents, np.arange(3))
        np.testing.assert_allclose(found.leave_one_out, expected.leave_one_out, atol=1e-6)


def test_files_and_their_names(tmp_path):
    """Half of the names by a pattern with a group, one weight left out."""
    theirs = {name.replace("encoder.", "enc."): array for name, array in ARRAYS.items()}
    theirs["step"] = np.zeros(1)
    names = {r"enc\.(.*)": r"encoder.\1", "step": None}
    np.savez(tmp_path / "a.npz", **theirs)
    save_file(theirs, tmp_path / "a.safetensors")
    torch.save({name: torch.from_numpy(array) for name, array in theirs.items()}, tmp_path / "a.pt")
    for file in ("a.npz", "a.safetensors", "a.pt"):
        same(load_weights(tmp_path / file, names), MODEL, TEXTS)


class Touch:
    """Unpickling it would run code."""

    def __reduce__(self):
        return exec, ("raise SystemExit('run')",)


def test_a_pickle_runs_no_code(tmp_path):
    torch.save({"encoder.embedding.weight": Touch()}, tmp_path / "bad.pt")
    with refused("cannot read weights from .*bad.pt"):
        load_weights(tmp_path / "bad.pt")


def put(name, change):
    return {**ARRAYS, name: change(ARRAYS[name].copy())}


def at(place, value):
    def change(array):
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (put("attention.v.weight", at((0, 1), np.nan)), "attention.v.weight in float32 must be finite"),
        (
            put("attention.v.weight", lambda array: torch.full((1, 3), 1e39, dtype=torch.float64)),
            "must be finite",
        ),
        (
            put("decoder.bias", lambda array: 10**30 * array.astype("O")),
            "decoder.bias holds object, not numbers",
        ),
        (put("encoder.embedding.weight", at((7, 0), np.nan)), "table of word vectors, must be finite"),
        (
            put("encoder.embedding.weight", at((0, 2), 1)),
            "row 0 of encoder.embedding.weight, the vector of pads",
        ),
        (put("encoder.embedding.weight", np.ravel), "table of word vectors, must have the shape"),
        (
            put("attention.project.weight", np.transpose),
            r"mismatch for attention.project.weight.*\[6, 3\].*\[3, 6\]",
        ),
        (
            put("decoder.bias", lambda array: np.ma.masked_array(array, array > -9)),
            "holds masked float32, not numbers",
        ),
        ({**ARRAYS, "extra": np.zeros(2)}, "classifier: .*Unexpected key.*extra"),
        (
            {name: ARRAYS[name] for name in ARRAYS if name != "decoder.bias"},
            "classifier: .*Missing key.*decoder.bias",
        ),
        ({}, "decoder.weight' is missing"),
        ("nowhere.npz", "nowhere.npz is no file"),
    ],
)
def test_wrong_weights_are_named_in_one_line(arrays, message):
    with refused(message):
        load_weights(arrays)


@pytest.mark.parametrize("cast", [lambda array: torch.tensor(array).bfloat16(), np.float16, np.float64])
def test_weights_of_other_kinds_are_cast(cast):
    found = trace(load_weights(put("decoder.weight", cast)), TEXTS)
    np.testing.assert_allclose(found.p, trace(MODEL, TEXTS).p, atol=0.01)


def test_two_weights_of_one_name():
    with refused("two weights are called decoder.bias after renaming"):
        load_weights({**ARRAYS, "b": np.zeros(1)}, {"b": "decoder.bias"})
