"""What `make bench` times does the work it says, and the stored tables of cost count it."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT, python
from plain_network import random_documents, random_model

from attn_core.experiments import draws as random
from attn_core.experiments.correlation import kendall_ragged
from attn_core.experiments.permutation import permutation
from attn_core.experiments.search import search
from attn_core.tracing import trace
from attn_lab.more.erasure import removals
from attn_lab.runs.run import HIERARCHICAL
from benchmarks import measured, on_device, plain, speed


@pytest.fixture(scope="module")
def traces():
    """Of 70 texts in three batches."""
    documents = random_documents(np.random.default_rng(0).integers(2, 14, 70), 60)
    return trace(random_model("lstm", "tanh", 60, width=12, hidden=8), documents)


def test_the_plain_experiments_find_what_ours_find(traces):
    x, y = traces.attention, np.abs(traces.gradient)
    np.testing.assert_allclose(
        plain.kendall(x, y, traces.offsets), kendall_ragged(x, y, traces.offsets)[0], atol=1e-12
    )
    torch.manual_seed(0)
    apart = plain.permutation(traces, 2000) - permutation(traces, 2000)["median_change"]
    assert np.abs(apart).max() < 0.03
    assert np.abs(apart).mean() < 0.004
    starts = 3 * random.normals(0, "starts", traces.doc_id, traces.offsets, 5)
    np.testing.assert_allclose(
        plain.search(traces, starts, 20), search(traces, starts=starts, steps=20), atol=1e-4
    )
    items = speed.items(40, 9)
    ranks = np.argsort(np.argsort(-items.attention.reshape(1, 40, 9)))
    assert plain.removals(items, ranks)[0].tolist() == removals(items)["removed_attention"].tolist()


def test_all_phases_run_by_turns_and_are_scaled_to_their_whole_work(monkeypatch):
    monkeypatch.setattr(speed, "TEST", 450)
    monkeypatch.setattr(speed, "VOCABULARY", 500)
    assert len({task.phase for task in speed.tasks()}) == 4
    slow = speed.Task("a tenth", lambda: sum(range(10_000)), lambda: sum(range(100_000)), share=0.1)
    ours, written = speed.seconds(slow, patience=0.1)
    assert 20 < written / ours < 500


def test_rows_made_anew_take_the_place_of_their_own_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(measured, "DATA", tmp_path)
    (tmp_path / "measured").mkdir()
    measured.put(
        "t.csv", pd.DataFrame({"corpus": ["a", "b"], "other": ["", "x"], "value": [1 / 3, 2]}), "corpus"
    )
    measured.put("t.csv", pd.DataFrame({"corpus": ["b"], "other": ["y"], "value": [4]}), "corpus")
    assert (tmp_path / "measured" / "t.csv").read_text() == "corpus,other,value\na,,0.33333\nb,y,4\n"


def test_headline_numbers_on_two_vectors_are_of_five_seeds_and_fifty_texts():
    table = pd.read_csv(ROOT / "data" / "measured" / "vectors.csv")
    assert (table["n_seeds"] == 5).all()
    assert table["documents"].min() >= 50
    assert table.value_counts(["corpus", "measure"]).eq(2).all()


def test_numbers_that_one_side_lacks_are_infinitely_far(traces):
    moved = replace(traces, gradient=traces.gradient + np.float32(0.5))
    assert on_device.apart(traces, moved) == pytest.approx(0.5, abs=1e-6)
    bare = replace(traces, leave_one_out=np.full(len(traces.score), np.nan, np.float32))
    assert on_device.apart(traces, bare) == np.inf


def test_a_device_is_held_against_the_processor(monkeypatch, tmp_path, capsys):
    """Here against itself: every family is read on both, and the table is stored."""
    monkeypatch.setattr(
        on_device,
        "SIZES",
        on_device.Sizes(parity=3, steps=2, test=30, long=2, search_steps=3, long_searched=2),
    )
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    on_device.main("cpu", "--to", str(tmp_path / "table.csv"))
    table = pd.read_csv(tmp_path / "table.csv")
    read = table[table["what"] == "parity"]
    assert set(HIERARCHICAL) <= set(read["model"])
    assert (read["difference"] == 0).all()
    assert len(read) == 19
    assert table["gpu"].notna().all()
    assert len(capsys.readouterr().out.splitlines()) == len(table) + 1


def test_a_device_is_measured_where_torch_is_and_the_book_is_not():
    absent = ["pydantic", "sklearn", "matplotlib", "attn_book"]
    code = f"import runpy, sys; sys.modules |= dict.fromkeys({absent}); sys.argv[1:] = ['--device', 'cuda', '--help']"
    code = f"{code}; runpy.run_module('benchmarks', run_name='__main__')"
    assert "--to" in python("-c", code)
