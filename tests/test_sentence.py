"""The archived sentence model: rounding, and what it says about sentences that a reader may type."""

import json
import re

import numpy as np
import pytest
import torch
from conftest import ROOT, alike, refused
from hypothesis import given
from hypothesis import strategies as st
from spacy.symbols import ORTH
from typer.testing import CliRunner

from attn_core.documents import Documents
from attn_core.models.classifier import from_arrays
from attn_core.tracing import trace
from attn_lab.cli import app
from attn_lab.data import encode
from attn_lab.data.arrays import to_ids
from attn_lab.data.cleaning import clean_sst, clean_typed, contractions, english
from attn_lab.runs import sentence
from attn_lab.runs.results import obtain
from attn_lab.runs.run import Run
from benchmarks.sentence_model import quantise


def test_table_holds_together():
    table, summary = sentence.read_sentence("The songs are lovely, but the plot is a mess.", epsilon=0.02)
    assert table.attention.sum() == pytest.approx(1)
    assert table.adversary.sum() == pytest.approx(1)
    logit = np.log(summary["p"] / (1 - summary["p"]))
    moved = logit + ((table.adversary - table.attention) * table.contribution).sum()
    assert summary["p_adversary"] == pytest.approx(1 / (1 + np.exp(-moved)), abs=1e-6)
    assert abs(summary["p_adversary"] - summary["p"]) <= 0.02 + 1e-6
    assert f"to {summary['p_adversary']:.3f}" in summary["line"]
    assert 0 <= summary["jsd_exact"] <= summary["ceiling"] + 1e-9


def test_one_word_as_json_knows_no_nan():
    def refuse(constant):
        raise AssertionError(constant)

    told = CliRunner().invoke(app, ["read", "good", "--json"])
    assert json.loads(told.stdout, parse_constant=refuse)["tokens"][0]["leave_one_out"] is None


def test_missing_model_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTN_ARCHIVE", str(tmp_path))
    with refused("git checkout"):
        sentence.load()


@pytest.mark.parametrize("shape", [(7,), (5, 6), (4, 3, 2)])
def test_rounding_errs_by_half_a_step_and_keeps_the_shape(shape):
    array = np.random.default_rng(0).uniform(-8, 8, shape).astype(np.float32)
    array[0] = 0  # a row of zeros has no step
    quantised = quantise(array)
    again = quantised.array()
    assert quantised.values.dtype == np.int8
    assert again.shape == shape
    half = quantised.scale.ravel() * 0.5001 + 1e-12
    assert (half >= np.abs(again - array).T).all()


@pytest.mark.parametrize("words", [1, 2, 30, 90])
def test_the_model_reads_as_torch_does(words):
    """Score, contribution, gradient and leave-one-out, more texts than are read at once, equal neighbours too."""
    arrays, told = sentence.load()
    ids = np.random.default_rng(words).integers(4, len(told["words"]), words + 2).astype(np.int32)
    ids[words // 2 + 1] = ids[words // 2]
    text = Documents(ids, np.array([0, words + 2]), np.zeros(1, np.int64), np.zeros(1, np.int64))
    mine, theirs = sentence.traced(arrays, ids), trace(from_arrays("lstm", "tanh", arrays), text)
    alike(mine, theirs, 1e-5, p=1e-5)
    assert mine.score.dtype == theirs.score.dtype


PIECES = [
    "dont",
    "Its",
    "cannot",
    "I",
    "'ll",
    "_",
    "5",
    "km",
    "km²",
    "K",
    "1am",
    " ",
    "-",
    "t",
    "-RRB-",
    "\n",
    "é",
    ".",
]


@given(
    st.lists(st.one_of(st.sampled_from(PIECES), st.characters(exclude_categories=["Lo"])), max_size=12).map(
        "".join
    )
)
def test_typed_text_is_split_as_by_spacy(text):
    assert clean_typed(text) == clean_sst(text)


def test_contractions_are_those_of_spacy():
    every = english().tokenizer.rules.items()
    rules = {word: [part[ORTH] for part in parts] for word, parts in every if re.fullmatch(r"\w+", word)}
    assert contractions() == {word: parts for word, parts in rules.items() if len(parts) > 1}


def test_a_model_trained_here_reads_it_as_it_read_its_test_texts():
    run = Run("planted", "average", epochs=1, options=(("n_train", 100), ("n_test", 20)))
    stored = obtain(run, train="fresh").traces
    assert sentence.trained_here(run.key) == run
    data = encode("planted", **dict(run.options))
    words = data.splits["test"].words(stored.doc_id[0], data.vocabulary)
    table, told = sentence.read_sentence(" ".join(words), run=run)
    assert table.token.tolist() == words
    assert table.known.all()
    assert told["p"] == pytest.approx(stored.p[0], abs=2e-3)  # the store keeps twelve bits
    assert table.attention.to_numpy() == pytest.approx(stored.attention[: len(words)], abs=1e-3)


def test_the_layer_on_the_page_is_that_of_the_model():
    """One model: the module of PyTorch that stands there gives the attention and the output of the archived model."""
    page = (ROOT / "notebooks" / "one-model.md").read_text()
    names = {"nn": torch.nn}
    exec(re.search(r"```python\n(class Attention.*?)```", page, re.DOTALL)[1], names)
    learned, about = sentence.load()
    reading = sentence.Reading(learned, to_ids([["film", "was", "not", "good"]], about["words"])[0][:, None])
    layer = names["Attention"](reading.h.shape[-1], len(learned["attention.project.bias"]))
    state = {name: learned.get(name, learned.get(f"attention.{name}")) for name in layer.state_dict()}
    layer.load_state_dict({name: torch.as_tensor(array) for name, array in state.items()})
    alpha, p = layer(torch.as_tensor(reading.h.swapaxes(0, 1)))
    traces = sentence.sentence_traces("film was not good")[2]
    np.testing.assert_allclose(alpha[0].detach(), traces.attention, atol=1e-6)
    assert p.item() == pytest.approx(traces.p[0], abs=1e-6)
