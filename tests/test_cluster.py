"""Sweeps on a Dask cluster of loopback workers."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pandas as pd
import pytest
from conftest import refused
from tiny_runs import TINY, grid, tiny, whole_store

from attn_lab.runs import compute, packing, store, sweep, upkeep
from attn_lab.runs.results import obtain
from attn_lab.runs.run import SEEDS, Run

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.faults

PATIENCE = 180
"""Seconds after which a wait has failed; none is meant to last so long, on however busy a machine."""

PRELOAD = """
# Imported by a worker of the tests before its first task.
import os, pathlib, time
from attn_lab.data.files import replacing
from attn_lab.runs import store

place = pathlib.Path(os.environ["TEST_PLACE"])

def half(path):
    # Writes half of what is stored, says so, and never ends: the worst moment to be killed at.
    with replacing(path) as file:
        file.write(b"half")
        (place / "halfway").touch()
        time.sleep(3600)

def never(*_, **__):
    (place / "halfway").touch()
    time.sleep(3600)

if os.environ["TEST_HANGS"] == "writing":
    store.replacing = half
if os.environ["TEST_HANGS"] == "training":
    from attn_lab.runs import sweep

    sweep.make = never
"""


def until(condition, what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE} s for {what}"
        time.sleep(0.05)


class Cluster:
    """A scheduler in this process and workers that are processes of their own, all on the loopback device."""

    def __init__(self, place):
        self.place, self.workers = place, []
        self.inner = distributed.LocalCluster(
            n_workers=0, protocol="tcp://", host="127.0.0.1", dashboard_address=None, silence_logs=False
        )
        self.address = self.inner.scheduler_address
        (place / "preload.py").write_text(PRELOAD)

    def start(self, hangs: str = "", cache=None) -> subprocess.Popen:
        """A worker; it stores its runs in this test's cache."""
        line = f"-m dask worker {self.address} --no-nanny --no-dashboard --nthreads 2 --local-directory {self.place}"
        command = [sys.executable, *line.split(), "--preload", str(self.place / "preload.py")]
        own = {"TEST_PLACE": str(self.place), "TEST_HANGS": hangs}
        own["ATTN_CACHE"] = str(cache or os.environ["ATTN_CACHE"])
        with (self.place / f"worker{len(self.workers)}.log").open("w") as log:
            self.workers.append(subprocess.Popen(command, env=os.environ | own, stdout=log, stderr=log))
        return self.workers[-1]

    def sweep(self, runs, pack=True, patience=PATIENCE) -> dict[str, str]:
        return sweep.sweep(runs, pack, False, scheduler=self.address, no_workers_timeout=patience)

    @contextmanager
    def in_the_middle(self, work):
        """Within it the worker that hangs does, and work() waits; behind it work() has ended."""
        client = threading.Thread(target=work, daemon=True)
        client.start()
        until((self.place / "halfway").exists, "the worker to be in the middle of a run")
        yield
        client.join(PATIENCE)
        assert not client.is_alive(), "the sweep hangs"


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    for worker in made.workers:
        worker.kill()
        worker.wait()
    made.inner.close()


@pytest.mark.slow
def test_two_workers_share_a_sweep_and_one_is_killed_while_it_writes(cluster, archive, monkeypatch):
    victim = cluster.start(hangs="writing")
    runs = [tiny(seed) for seed in range(4)]
    failing = tiny(5, (*TINY, ("shortest", 0)))
    failures = {}
    with cluster.in_the_middle(lambda: failures.update(cluster.sweep([*runs, failing]))):
        assert store.keys(store.cache_store()) == []
        cluster.start()
        until(
            lambda: len(store.keys(store.cache_store())) >= 1,
            "the second worker to take runs while the first hangs",
        )
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    assert failures[failing.key].startswith("AttnError: ")
    assert "\n" not in failures[failing.key]
    assert failures == sweep.sweep([failing]), "here and on a cluster, the same words"
    assert whole_store() == {run.key for run in runs}
    for run in runs:
        upkeep.verify(archive, run.key)
        assert obtain(run).record["n_test"] == 40
    assert store.keys(archive) == sorted(run.key for run in runs)
    assert sweep.sweep(runs, True, False, scheduler="nowhere") == {}, "nothing is left to do"
    packed_by_the_workers(cluster, archive, monkeypatch)


def packed_by_the_workers(cluster, archive, monkeypatch):
    """A further seed is packed beside the first, which nobody has trained: the client neither trains nor reads it."""
    first, second = (Run("planted", seed=seed, epochs=1, options=TINY) for seed in SEEDS[:2])
    for at in ((compute, "trained"), (compute, "inputs_of"), (packing, "attended"), (packing, "beside")):
        monkeypatch.setattr(*at, lambda *_, **__: pytest.fail("computed by the client"))
    before, other = store.keys(archive), archive.with_name("before")
    assert cluster.sweep([second]) == {}
    assert sweep.has_weights(first), "by the worker"
    assert store.keys(archive) == sorted([*before, second.key])
    assert not upkeep.faults(archive)
    assert store.read(archive, second.key).record["against"]["base"] == first.key
    assert store.keys(packing.packed_store()) == []
    # Cached and not packed is the workers' work, too.
    archive.rename(other)
    archive.mkdir()
    assert cluster.sweep([second]) == {}
    for layer in store.LAYERS:
        old, new = (store.rows_of(folder, layer, second.key) for folder in (other, archive))
        assert (old is None and new is None) or pd.testing.assert_frame_equal(old, new) is None


def test_an_error_that_no_pickle_can_hold_reaches_the_client(monkeypatch, capsys):
    """As text: Dask's client waits for ever for an error whose traceback it cannot read."""

    def deep(*_, **__):
        return deep()

    monkeypatch.setattr(sweep, "make", deep)
    found = sweep.work(tiny(0), {}, True, False, expected=sweep.named(tiny(0)))
    assert found.startswith("RecursionError: maximum recursion depth")
    assert "in deep" in capsys.readouterr().err, "the worker's log names the place"


@pytest.mark.slow
def test_no_worker_and_a_worker_with_another_store(cluster, tmp_path, called):
    command = ["sweep", grid(tmp_path), "--scheduler", cluster.address]
    start = time.monotonic()
    status, _, errors = called(*command, "--no-workers-timeout", "0.5")
    assert status == 2 and len(errors) == 1, errors
    assert errors[0].startswith(f"attn_core: no worker at {cluster.address} for 0.5 s; start one")
    assert not store.cache_store().exists(), "a refused sweep left something behind"
    cluster.start(cache=tmp_path / "elsewhere")
    status, out, _ = called(*command, "--no-workers-timeout", str(PATIENCE))
    assert status == 1
    assert "2 runs, 2 failed" in out
    assert out.count("set ATTN_CACHE to one shared folder for both") == 4  # each as it fails and at the end
    assert not store.cache_store().exists()
    assert not (tmp_path / "elsewhere").exists()
    assert time.monotonic() - start < PATIENCE


def test_a_worker_with_other_data_is_refused(tables, monkeypatch):
    run = Run("sst")
    there = sweep.named(run)
    folder = tables("sst")
    for split in ("train", "dev", "test"):
        (folder / f"{split}.parquet").write_text(split)
    here = sweep.named(run)
    (folder / "dev.parquet").write_text("changed")
    for other in (there, here):
        told = sweep.work(run, {}, True, False, expected=other)
        assert f"the sweep for {other}; " in told
        assert "set ATTN_DATA to one shared folder" in told
    monkeypatch.setattr(sweep, "make", lambda *_: None)
    assert sweep.work(run, {}, True, False, expected=sweep.named(run)) == ""


@pytest.mark.parametrize(
    ("lost", "told"), [("worker", "no worker at .* for 2 s"), ("scheduler", "no longer answers")]
)
def test_a_lost_cluster_ends_the_sweep(cluster, monkeypatch, lost, told):
    monkeypatch.setattr(sweep, "CONNECT_SECONDS", 2)
    victim, ends = cluster.start(hangs="training"), []
    until(lambda: len(cluster.inner.scheduler.workers) == 1, "the worker")

    def work_off():
        with refused(told):
            cluster.sweep([tiny(seed) for seed in range(4)], False, patience=2)
        ends.append(told)

    with cluster.in_the_middle(work_off):
        victim.kill() if lost == "worker" else cluster.inner.close()
    assert ends
    assert not store.cache_store().exists()
