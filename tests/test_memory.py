"""Memory of tracing one text of 2,000 words."""

import subprocess
import sys
from pathlib import Path

import pytest

MEMORY = """
import resource, sys
sys.path.insert(0, "tests")
import numpy as np, torch
torch.set_num_threads(1)
from plain_network import random_documents, random_model, random_paired, random_pairs
from attn_core.tracing import trace
encoder, kind = sys.argv[1:]
make, texts = {"single": (random_model, random_documents), "paired": (random_paired, random_pairs)}[kind]
outputs = {"single": 32, "paired": 3}[kind]
model = make(encoder, "tanh", 50, outputs=outputs, width=20, hidden=16).float()  # 32 or 64 wide
trace(model, texts([30], 50), progress=False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
trace(model, texts([2000], 50), progress=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize(("encoder", "kind"), [("lstm", "single"), ("lstm", "paired"), ("cnn", "paired")])
def test_memory_of_a_long_text(encoder, kind):
    """2,000 words: contributions of all pairs of words would take 250 MB at 16 numbers each, and twice that at 32."""
    command, root = [sys.executable, "-c", MEMORY, encoder, kind], Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 150_000  # kB
