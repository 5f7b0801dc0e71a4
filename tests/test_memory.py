"""Memory: of tracing one text of 2,000 words, and of every analysis of such texts."""

import sys

from conftest import ROOT, python

CASES = """
import os, resource, sys
sys.path.insert(0, "tests")
import torch
torch.set_num_threads(1)
from conftest import toy_pairs, toy_traces
from plain_network import random_documents, random_model, random_paired, random_pairs
from attn_lab.more.tables import document_table
from attn_core.tracing import trace

def traced(make, texts, encoder, outputs):
    model = make(encoder, "tanh", 50, outputs=outputs, width=20, hidden=16).float()  # 32 or 64 wide
    trace(model, texts([30], 50))
    yield
    trace(model, texts([2000], 50))

def analysed(traces):
    yield
    table = document_table(traces)
    affine = ["attention_invariant", "permutation_expected"]  # not defined for pairs and many classes
    known = table if traces.readout is None else table.drop(columns=affine)
    assert len(table) == len(traces) and known.notna().all(axis=None)

peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for case in (
    traced(random_model, random_documents, "lstm", 32), traced(random_paired, random_pairs, "lstm", 3),
    traced(random_paired, random_pairs, "cnn", 3), analysed(toy_traces([2000] * 2)),
    analysed(toy_pairs([2000], outputs=40, hidden=128)),
):
    child = os.fork()  # each counts its own peak, and all share the imports
    if child == 0:
        next(case)
        before = peak()
        list(case)
        print(peak() - before, flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_memory_of_long_texts():
    """Contributions of all pairs of 2,000 words would take 250 MB at 16 numbers each, and twice that at 32; every
    analysis of such texts, of pairs with 40 outputs and 128 hidden numbers too, stays below 2 GB."""
    grown = python("-c", CASES, folder=ROOT).split()
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes on Linux
    *tracing, one, two = [int(number) * unit for number in grown]
    assert max(tracing) < 150e6 and max(one, two) < 1.5e9, grown
