"""Runs and their keys; sweeps that are killed, that fail, that resume."""

import dataclasses
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import alike, python, refused
from tiny_runs import TINY, pack_run, tiny

from attn_lab.runs import compute, packing, store, upkeep
from attn_lab.runs.packing import compared_with
from attn_lab.runs.results import AbsentRun, obtain
from attn_lab.runs.run import BOUNDS, SEEDS, Run, as_dict, from_dict


def test_a_key_does_not_hang_on_how_options_and_numbers_are_written():
    """That it reads every field: test_archive.py, of all stored runs."""
    run = Run("planted", options=TINY)
    for options in (
        TINY,
        TINY[::-1],
        dict(TINY),
        [list(pair) for pair in TINY],
    ):  # a grid has pairs or a mapping
        assert from_dict(as_dict(run) | {"options": options}) == run
    assert Run("sst", decay=0).key == Run("sst", decay=0.0).key


@pytest.mark.parametrize("name", BOUNDS)
def test_a_number_lies_within_its_bounds(name):
    least, most = BOUNDS[name]
    for value in (least - 1, most * 2, float("nan"), True, str(least), [least]):
        with refused(f"^{name} must be a "):
            Run("planted", **{name: value})


def test_runs_without_archived_documents_have_their_record_and_name_the_way_to_the_rest():
    late = Run("sst", seed=SEEDS[0], hidden=16)
    result = obtain(late, traces=False)
    assert result.source == "archive"
    assert result.traces is None
    assert result.numbers is not None
    with pytest.raises(AbsentRun, match=f"no single documents of run {late.key}.*--fresh"):
        obtain(late)


def test_how_much_of_a_run_is_kept():
    kept = {
        Run("sst"): "main",
        Run("sst", "average"): "judged",
        Run("sst", seed=SEEDS[4]): "judged",
        Run("sst", "cnn"): "additive",
        Run("sst", attention="dot"): "dot",
        Run("sst", seed=SEEDS[5]): "summary",
        Run("sst", selection="test"): "summary",
        Run("sst", rounding=1): "summary",
        Run("sst", vectors="indomain-300"): "summary",
        Run("snli", "average"): "first seed",
        Run("snli", seed=SEEDS[4]): "further",
        Run("amazon", "han_rnn"): "first seed",
        tiny(): "judged",
    }
    assert {run: packing.role_of(run) for run in kept} == kept


def test_a_record_names_a_vector_file_by_its_content(tmp_path):
    (tmp_path / "glove.txt").write_text("the 1 2\n")
    run = Run("sst", vectors=str(tmp_path / "glove.txt"))
    kept = as_dict(run)
    assert kept["vectors"].startswith("sha256:")
    assert from_dict(kept).key == run.key


def test_smaller_shares_of_the_training_set_lie_within_larger_ones():
    from attn_lab.data import encode

    data = encode("planted", n_train=40, n_dev=5, n_test=5)
    shares = [compute.reduced(data, share).splits for share in (0.1, 0.25, 0.5, 1.0)]
    ids = [set(splits["train"].doc_ids) for splits in shares]
    assert [len(own) for own in ids] == [4, 10, 20, 40]
    assert all(fewer < more for fewer, more in pairwise(ids))
    assert shares[0]["test"] is data.splits["test"]
    assert obtain(tiny(fraction=0.5)).record["n_train"] == 40


def test_same_seed_same_numbers_and_the_cache_answers(tmp_path, monkeypatch):
    first = obtain(tiny())
    assert obtain(tiny()).source == "cache"
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path / "other"))
    again = obtain(tiny())
    alike(again.traces, first.traces, 0.0)
    assert again.record["auc"] == first.record["auc"]
    assert (obtain(tiny(seed=50)).traces.score != first.traces.score).any()


def test_who_comes_second_takes_what_the_first_trains(monkeypatch):
    trainings, plain = [], compute.fit

    def fit(run, *rest):
        trainings.append(run)
        time.sleep(0.3)
        return plain(run, *rest)

    monkeypatch.setattr(compute, "fit", fit)
    made = compute.inputs_of(tiny())
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: compute.trained(tiny(), made, False), range(2)))
    assert trainings == [tiny()]


def test_an_unwritable_weights_folder_is_named(tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "weights").touch()
    with refused("cannot write to .*weights.*make room there or set ATTN_CACHE"):
        store.write_weights("toy", {"dev": {"a": np.zeros(2, np.float32)}}, {}, {})


def test_weights_trained_on_other_data_are_not_used(monkeypatch, capsys):
    def seconds() -> float:
        return compute.compute(tiny()).record["seconds"]["train"]

    first = seconds()
    data, vectors, about = compute.inputs_of(tiny(seed=50))
    other = dataclasses.replace(data, fingerprint="0" * 64)
    monkeypatch.setattr(compute, "inputs_of", lambda run: (other, vectors, about | {"data": "0" * 64}))
    again = seconds()
    assert "trained on other data or vectors" in capsys.readouterr().err
    assert again != first
    assert seconds() == again
    assert capsys.readouterr().err == ""


KILLED_SWEEPS = """
import os, random, signal, sys, time
import torch
from attn_lab.runs import upkeep
from attn_lab.runs import store
from attn_lab.runs.run import SEEDS, Run, as_dict, from_dict
from attn_lab.runs.sweep import sweep

torch.set_num_threads(1)
runs = [Run("planted", encoder="average", seed=seed, epochs=1, options={options}) for seed in range(1000)]
sweep(runs[:1])  # everything imported, before the forks
start = time.perf_counter()
sweep(runs[1:4])
one = min((time.perf_counter() - start) / 3, 0.3)  # seconds a run takes on this machine, now
folder, rng, seen = store.cache_store(), random.Random(0), set()
kills = 0
while kills < {times} or len(seen) <= 8:  # fewer would say nothing: a busy machine takes more kills
    kills += 1
    child = os.fork()
    if child == 0:
        sweep(runs)
        os._exit(0)
    time.sleep(one * rng.uniform(1, 12))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    now = set(store.keys(folder))
    assert seen <= now, "a stored run was lost"
    for key in now - seen:
        upkeep.verify(folder, key)
    stages = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    assert len(stages) <= 1, "more than the run in flight was left unfinished: " + str(stages)
    one *= 1.0 if now > seen else 1.5  # the machine is busier than it was: else no run would ever be whole
    seen = now
store.sweep_away(folder)
assert set(store.keys(folder)) >= seen
assert not [name for name in os.listdir(folder) if name.startswith(".")]
"""


@pytest.mark.faults
def test_sigkill_at_any_moment_loses_at_most_the_run_in_flight():
    """The sweep is killed at random moments; what was whole stays whole, and the rest can be finished."""
    times = 10 if os.environ.get("ATTN_FAULTS") else 4
    script = KILLED_SWEEPS.replace("{options}", repr(TINY)).replace("{times}", str(times))
    python("-c", script)


def test_what_a_run_is_compared_with():
    first, second, chosen = Run("sst"), Run("sst", seed=50), Run("sst", selection="test")
    expected = {
        first: None,
        second: first,
        Run("sst", attention="uniform"): first,
        Run("sst", seed=50, selection="test"): chosen,
        Run("sst", rounding=1): first,
        Run("sst", divergence=1e-3, base=second, seed=257): second,
        Run("sst", attention="dot", seed=50): None,
        Run("sst", seed=50, fraction=0.5): None,
        Run("sst", encoder="average", seed=50): None,
        Run("sst", seed=50, vectors="random"): None,
    }
    assert {run: compared_with(run) for run in expected} == expected


def trained(selection="dev") -> tuple[Run, Run]:
    """Two seeds, cached, of which the second is compared with the first."""
    runs = [Run("planted", seed=seed, epochs=1, selection=selection, options=TINY) for seed in (10, 50)]
    for run in runs:
        obtain(run)
    return runs


def test_a_base_that_the_cache_lacks_is_read_again_without_leave_one_out(capsys):
    first, other = trained()
    traces = obtain(other).traces
    table, notes = packing.beside(other, traces)
    upkeep.remove(store.cache_store(), first.key)
    again, same = packing.beside(other, traces)
    assert notes == same
    pd.testing.assert_frame_equal(table, again)
    assert f"compared with {first.key}" in capsys.readouterr().err
    assert not store.has(store.cache_store(), first.key)


@pytest.mark.parametrize("selection", ["dev", "test"])
def test_a_test_chosen_model_keeps_its_means_beside_the_base_and_no_documents(archive, selection):
    first, other = trained(selection)
    for run in (first, other):
        pack_run(run)
    packed = store.read(archive, other.key)
    assert packed.record["against"]["base"] == first.key
    assert packed.record["against"]["jsd"] > 0
    assert (packed.against is None) == (selection == "test")
    assert "single_state_agreement" in set(packed.numbers["measure"])


def test_few_words_are_trained_by_one_thread_whatever_else_the_machine_does():
    """By the words alone, so that last digits do not follow the load; the record says how many there were."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert compute.compute(tiny(), fresh=True).record["threads"] == 1
        _, training = compute.trained(tiny(), compute.inputs_of(tiny()), fresh=True, few=10)
        assert training["threads"] == torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_a_record_names_the_commit_of_this_package_alone(tmp_path, monkeypatch):
    """Copied into another repository, or installed below one, the package has a version."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(compute, "__file__", str(tmp_path / "attn_core" / "compute.py"))
    assert compute.commit().startswith("version ")
    (tmp_path / "pyproject.toml").write_text('name = "another"\n')
    assert compute.commit().startswith("version ")
