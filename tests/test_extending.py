"""The page on extending: its very cells, their length, and the tracing of encoders of the user's."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from plain_network import random_documents, random_model

from attn_book import build
from attn_core.errors import AttnError
from attn_core.fast.states import has_fast_form
from attn_core.models.attention import Additive
from attn_core.tracing import trace

ROOT = Path(__file__).parents[1]
LONGEST = 30
EXPECTED = {
    "corpus": 'assert report.record["n_test"] == 100 and report.record["accuracy"] > 0.9\nprint("checked")',
    "encoder": 'assert len(gated.traces) == 60 and np.isfinite(gated.traces.gradient).all() '
               'and gated.record["accuracy"] > 0.9\nprint("checked")',
    "checkpoint": """
first = texts.splits["test"].ids[:texts.splits["test"].offsets[1]]
packed = theirs["rnn"](theirs["embed"](torch.as_tensor(first).long()))[0]
score = theirs["att2"](theirs["att1"](packed).tanh())[1:-1].softmax(0)
p = theirs["out"]((score * packed[1:-1]).sum(0)).sigmoid().item()
assert len(table) == 60 and abs(p - traces.p[0]) < 1e-6 and table["jsd_exact@0.05"].notna().all()
print("checked")""",
    "test": 'assert found.shape == (len(found),) and set(found) <= {0.0, 1.0} '
            'and low <= found.mean() <= high\nprint("checked")',
}  # fmt: skip
"""What must hold behind each example, in the names of its cell."""


def examples() -> dict[str, str]:
    """Tag -> code of the example cells."""
    _, path = build.locate("extending", ROOT)
    cells = [cell for cell in build.read_source(path).cells if cell.cell_type == "code"]
    return {tag: cell.source for cell in cells for tag in cell.metadata.get("tags", []) if tag in EXPECTED}


def test_there_are_four_examples_of_at_most_thirty_lines():
    assert set(examples()) == set(EXPECTED)
    for name, code in examples().items():
        lines = [line for line in code.splitlines() if line.strip()]
        assert len(lines) <= LONGEST, f"the example '{name}' has {len(lines)} lines"


def test_each_example_runs(tmp_path):
    """Each with nothing but its own names and the imports of the first: a reader copies one cell."""
    own = examples()
    start = own["corpus"].split("\n\n\ndef ")[0]
    cells = ["\n".join(["seed, epochs = 10, 2", start if name != "corpus" else "", own[name], EXPECTED[name]])
             for name in EXPECTED]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", f"for cell in {cells!r}: exec(cell, {{}})"], cwd=ROOT,
        env={**os.environ, "ATTN_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.count("checked\n") == len(EXPECTED), done.stderr[-1500:]


def test_an_unknown_encoder_is_traced_by_the_general_form():
    """The same module under a name the fast form does not know gives the same traces."""
    from torch import nn

    documents = random_documents(np.array([3, 6]), 30)
    model = random_model("average", "tanh", 30, width=20)
    known = trace(model, documents, progress=False)

    class Foreign(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner, self.embedding, self.width = inner, inner.embedding, inner.width

        def forward(self, ids, lengths, mask):
            return self.inner(ids, lengths, mask)

    whole = model.encoder.embedding.weight
    model.encoder = Foreign(model.encoder)
    assert not has_fast_form(model)
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
    pair = random_model(encoder, "tanh", 30, width=20)
    pair.attention.__class__ = Sharp
    assert not has_fast_form(pair)
