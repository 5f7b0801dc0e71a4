"""The page on extending: its very cells, their length, and the tracing of encoders of the user's."""

import ast
import builtins
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import plainly
from plain_network import random_documents, random_model

from attn_build import sources
from attn_core.errors import AttnError
from attn_core.models.attention import Additive
from attn_core.tracing import trace
from attn_core.tracing.texts import reach_of

ROOT = Path(__file__).parents[1]
LONGEST = 30
EXPECTED = {
    "corpus": 'assert report.record["n_test"] == 100 and report.record["accuracy"] > 0.9',
    "encoder": "assert len(gated.traces) == 60 and np.isfinite(gated.traces.gradient).all() "
    'and gated.record["accuracy"] > 0.9',
    "checkpoint": """
first = texts.splits["test"].ids[:texts.splits["test"].offsets[1]]
packed = theirs["rnn"](theirs["embed"](torch.as_tensor(first).long()))[0]
score = theirs["att2"](theirs["att1"](packed).tanh())[1:-1].softmax(0)
p = theirs["out"]((score * packed[1:-1]).sum(0)).sigmoid().item()
assert len(table) == 60 and abs(p - traces.p[0]) < 1e-6 and table["jsd_exact@0.05"].notna().all()""",
    "test": "assert found.shape == (len(found),) and set(found) <= {0.0, 1.0} and low <= found.mean() <= high",
}
"""What must hold behind each example, in the names of its cell; test_pages.py runs them."""


def examples() -> dict[str, str]:
    """Tag -> code of the example cells."""
    _, path = sources.locate("extending", ROOT)
    cells = [cell for cell in sources.read_source(path).cells if cell.cell_type == "code"]
    return {tag: cell.source for cell in cells for tag in cell.metadata.get("tags", []) if tag in EXPECTED}


def test_there_are_four_examples_of_at_most_thirty_lines():
    assert set(examples()) == set(EXPECTED)
    for name, code in examples().items():
        lines = [line for line in code.splitlines() if line.strip()]
        assert len(lines) <= LONGEST, f"the example '{name}' has {len(lines)} lines"


def test_an_example_needs_nothing_but_itself():
    """A reader copies one cell."""
    given = {*dir(builtins), "seed", "epochs"}
    for name, code in examples().items():
        nodes = list(ast.walk(ast.parse(code)))
        imported = {alias.asname or alias.name for node in nodes for alias in getattr(node, "names", ())}
        made = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        made |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        named = [(node.id, type(node.ctx)) for node in nodes if isinstance(node, ast.Name)]
        made |= {word for word, kind in named if kind is ast.Store}
        assert not {word for word, kind in named if kind is ast.Load} - given - imported - made, name


def test_an_unknown_encoder_is_traced_by_the_general_form():
    """The same module under a name the fast form does not know gives the same traces."""
    documents = random_documents(np.array([3, 6]), 30)
    model = random_model("average", "tanh", 30, width=20)
    known = trace(model, documents, progress=False)

    class Foreign(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner, self.embedding, self.width = inner, inner.embedding, inner.width

        def forward(self, ids, lengths, mask):
            return self.inner(ids, lengths, mask)

    whole = model.encoder.embedding.weight
    model.encoder = Foreign(model.encoder)
    assert reach_of(model) is None
    found = trace(model, documents, progress=False)
    np.testing.assert_allclose(found.leave_one_out, known.leave_one_out, atol=2e-6)
    np.testing.assert_allclose(found.gradient, known.gradient, atol=2e-5)
    alone = trace(model, documents, gradient=False, leave_one_out=False, progress=False)
    assert alone.gradient is None and alone.leave_one_out is None and np.allclose(alone.p, known.p, atol=1e-6)
    assert model.encoder.embedding.weight is whole and model.encoder.embedding.num_embeddings == 30
    model.encoder.embedding = torch.nn.Embedding(30, 300)  # which the encoder within never asks
    with pytest.raises(AttnError, match="Foreign: it reads the words otherwise than by its `embedding`"):
        trace(model, documents, progress=False)
    alone = trace(model, documents, gradient=False, progress=False)
    np.testing.assert_allclose(alone.leave_one_out, known.leave_one_out, atol=2e-6)


@pytest.mark.parametrize("encoder", ["lstm", "cnn", "average", "none"])
def test_an_attention_that_only_inherits_is_not_taken_for_its_parent(encoder):
    class Sharp(Additive):
        def forward(self, h):
            return 5 * super().forward(h)

    documents = random_documents(np.array([4, 7]), 30)
    model = random_model(encoder, "tanh", 30, width=20)
    parent = trace(model, documents, progress=False)
    model.attention.__class__ = Sharp
    found = trace(model, documents, progress=False)
    texts = [torch.from_numpy(ids).long()[None] for ids in np.split(documents.ids, documents.offsets[1:-1])]
    with torch.no_grad():
        p = [model(ids, torch.tensor([ids.shape[1]])).sigmoid().item() for ids in texts]
    np.testing.assert_allclose(found.p, p, atol=1e-6)
    assert np.abs(found.attention - parent.attention).max() > 1e-3
    with plainly():
        np.testing.assert_allclose(found.leave_one_out, trace(model, documents).leave_one_out, atol=1e-6)
