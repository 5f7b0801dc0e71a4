"""The page on extending: its very cells, their length, and the tracing of encoders of the user's."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from conftest import ROOT, alike, no_names_without_a_meaning, one, plainly, refused
from plain_network import outputs_of, random_documents, random_model

from attn_build import sources
from attn_core.models.attention import Additive
from attn_core.tracing import forward
from attn_core.tracing.texts import reach_of
from attn_lab import Run, heat_map, obtain, trace
from attn_lab.data import encode
from attn_lab.data.planted import planted
from attn_lab.runs import store

EXPECTED = {
    "study": """
assert {"number", "value", "low", "high"} <= set(numbers) and numbers["value"].notna().any()
assert studied.traces[0].words(0)[:2] == ["on", "day"] and studied.texts.classes == ["rainy", "sunny"]""",
    "frame": """
first = data.splits["test"].doc_ids[0]
assert corpus.classes == ("False", "True") and data.splits["test"].words(first, data.vocabulary)
assert mine.words(0, data.vocabulary)[-3:] == ["saw", "sun", "<unk>"]""",
    "check": """
checked = check(model, texts[400:])
assert checked.table.loc["top word", "side"] == 1 and not checked.not_run
assert len(checked.documents) == 100""",
    "corpus": 'assert report.record["n_test"] == 100 and report.record["accuracy"] > 0.9',
    "encoder": "assert len(gated.traces) == 60 and np.isfinite(gated.traces.gradient).all() "
    'and gated.record["accuracy"] > 0.9',
    "checkpoint": """
first = texts.splits["test"].ids[:texts.splits["test"].offsets[1]]
packed = theirs["rnn"](theirs["embed"](torch.as_tensor(first).long()))[0]
score = theirs["att2"](theirs["att1"](packed).tanh())[1:-1].softmax(0)
p = theirs["out"]((score * packed[1:-1]).sum(0)).sigmoid().item()
assert len(table) == 60 and abs(p - traces.p[0]) < 1e-6 and table["jsd_exact epsilon=0.05"].notna().all()""",
    "test": "assert found.shape == (len(found),) and set(found) <= {0.0, 1.0} and low <= found.mean() <= high",
}
"""What must hold behind each example, in the names of its cell; test_pages.py runs them."""


def examples() -> dict[str, str]:
    """Tag -> code of the example cells."""
    cells = sources.codes(sources.read_source("extending", ROOT).cells)
    return {tag: cell.source for cell in cells for tag in cell.metadata.get("tags", []) if tag in EXPECTED}


def test_an_example_needs_nothing_but_itself(tmp_path):
    """A reader copies one cell."""
    assert set(examples()) == set(EXPECTED)
    for name, code in examples().items():
        (tmp_path / f"{name}.py").write_text(f"seed = epochs = 1\n{code}")
    no_names_without_a_meaning(tmp_path)


# ---- words, models, texts --------------------------------------------------------------------------------------------

SMALL = Run("planted", "average", seed=10, epochs=1, options=(("n_train", 60), ("n_dev", 20), ("n_test", 20)))


def test_a_result_knows_its_words_and_gives_its_model():
    result = obtain(SMALL)
    data = encode("planted", **dict(SMALL.options))
    lists = planted(**dict(SMALL.options)).splits["test"].lists
    known = set(data.vocabulary)
    for row in (0, 7, 19):
        assert result.traces.words(row) == [word if word in known else "<unk>" for word in lists[row]]
    assert result.traces.take([7]).words(0) == result.traces.words(7)
    again = trace(result.model, data.splits["test"], gradient=False, vocabulary=data.vocabulary)
    np.testing.assert_array_equal(again.rounded().score, result.traces.score)
    assert again.words(3) == result.traces.words(3)
    assert "spell" not in store.table(store.cache_store(), "traces", SMALL.key).column_names


def test_words_that_are_not_at_hand_are_told_in_a_line(monkeypatch, tmp_path):
    monkeypatch.delenv("ATTN_DATA", raising=False)
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path))
    archived = obtain(Run("sst", seed=10))
    with refused(r"the texts of 'sst' .* are not at hand; set ATTN_DATA"):
        archived.traces.words(0)
    with refused("weights of .* are not in the cache; train it: "):
        _ = archived.model
    documents = random_documents([3, 6], 30)
    traces = trace(random_model("average", "tanh", 30, width=20), documents)
    with refused(r"do not know their words; trace\(model, documents, vocabulary=…\)"):
        traces.words(0)
    with refused("has 0 words and 3 attended items"):
        replace(traces, spell=lambda doc_id: []).words(0)


def test_texts_are_numbered_by_a_vocabulary():
    vocabulary = ("<pad>", "<unk>", "<s>", "</s>", "a", "film", "3")
    texts = encode(["A film, a film", "film 3"], vocabulary)
    assert texts.words(0, vocabulary) == ["a", "film", "<unk>", "a", "film"]
    assert texts.words(1, vocabulary) == ["film", "3"]
    of_numbers = (*vocabulary[:6], "qqq")
    assert encode(["film 3"], of_numbers).words(0, of_numbers) == ["film", "qqq"]
    with refused("text 1 has no words"):
        encode(["a", " "], vocabulary)
    with refused("give the model's"):
        encode(["a"], None)


def test_a_heat_map_is_escaped_and_readable_without_colour():
    words = ["<b>bold</b>", "calm", '"&']
    traces = one([0.9, 0.06, 0.04], [2.0, 1.0, 1.0], spell={0: words}.get)
    page = BeautifulSoup(heat_map(traces, 0, ["<bad>", "good"])._repr_html_(), "html.parser")
    assert page.b.text == f"predicted good ({traces.p[0]:.2f}), true <bad>: wrong"
    spans = page.find_all("span")
    assert [span.contents[0].strip() for span in spans] == words
    assert spans[0].text.endswith("90%")
    lines = re.findall(r"border-bottom: ([\d.]+)px", str(spans))
    assert len(lines) == 3
    assert lines == sorted(lines, key=float, reverse=True)
    assert "true" not in heat_map(replace(traces, label=np.array([-1])), 0)
    with refused("no text 1 among 1"):
        heat_map(traces, 1)


# ---- encoders and attentions of the user's ---------------------------------------------------------------------------


def test_an_unknown_encoder_is_traced_by_the_general_form():
    """The same module under a name the fast form does not know gives the same traces."""
    documents = random_documents([3, 6], 30)
    model = random_model("average", "tanh", 30, width=20)
    known = trace(model, documents)

    class Foreign(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner, self.embedding, self.width = inner, inner.embedding, inner.width
            self.forward = inner.forward

    whole = model.encoder.embedding.weight
    model.encoder = Foreign(model.encoder)
    assert reach_of(model) is None
    alike(trace(model, documents), known, 2e-6, ("leave_one_out",), gradient=2e-5)
    alone = forward(model, documents)
    assert alone.gradient is None
    assert alone.leave_one_out is None
    assert np.allclose(alone.p, known.p, atol=1e-6)
    assert model.encoder.embedding.weight is whole
    assert model.encoder.embedding.num_embeddings == 30
    model.encoder.embedding = torch.nn.Embedding(30, 300)  # which the encoder within never asks
    with refused("Foreign: it reads the words otherwise than by its `embedding`"):
        trace(model, documents)
    alike(trace(model, documents, gradient=False), known, 2e-6, ("leave_one_out",))


@pytest.mark.parametrize("encoder", ["lstm", "cnn", "average", "none"])
def test_an_attention_that_only_inherits_is_not_taken_for_its_parent(encoder):
    class Sharp(Additive):
        def forward(self, h):
            return 5 * super().forward(h)

    documents = random_documents([4, 7], 30)
    model = random_model(encoder, "tanh", 30, width=20)
    parent = trace(model, documents)
    model.attention.__class__ = Sharp
    found = trace(model, documents)
    np.testing.assert_allclose(found.outputs, outputs_of(model, documents), atol=1e-6)
    assert np.abs(found.attention - parent.attention).max() > 1e-3
    with plainly():
        alike(found, trace(model, documents), 1e-6, ("leave_one_out",))
