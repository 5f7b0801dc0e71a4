"""Sweeps on a Dask cluster of loopback workers, and what a sweep says is left."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from attn_core import archive, sweep
from attn_core import cluster as cluster_module
from attn_core.__main__ import main
from attn_core.cluster import demanded, sweep_cluster
from attn_core.errors import AttnError
from attn_core.runs import Run, obtain

distributed = pytest.importorskip("distributed")

TINY = (("n_dev", 40), ("n_test", 40), ("n_train", 80))
PATIENCE = 180
"""Seconds after which a wait has failed; none is meant to last so long, on however busy a machine."""

PRELOAD = """
# Imported by a worker of the tests before its first task.
import os, pathlib, time
from attn_core import archive

place = pathlib.Path(os.environ["TEST_PLACE"])
whole = archive.__dict__.setdefault("whole_write", archive.write_traces)  # Dask imports a preload more than once

def half(path, traces):
    # Writes half a file, says so, and never ends: the worst moment to be killed at.
    whole(path, traces)
    path.write_bytes(path.read_bytes()[:200])
    (place / "halfway").touch()
    time.sleep(3600)

def never(*_, **__):
    (place / "halfway").touch()
    time.sleep(3600)

if os.environ["TEST_HANGS"] == "writing":
    archive.write_traces = half
if os.environ["TEST_HANGS"] == "training":
    from attn_core import cluster

    cluster.make = never
"""


def tiny(seed, **options) -> Run:
    return Run("planted", encoder="average", seed=seed, epochs=1, options=(*TINY, *options.items()))


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

    def start(self, *words: str, hangs: str = "", cache=None) -> subprocess.Popen:
        """A worker; it stores its runs in this test's cache."""
        command = [sys.executable, "-m", "dask", "worker", self.address, "--no-nanny", "--nthreads", "2", *words]
        command += ["--no-dashboard", "--local-directory", str(self.place), "--preload", str(self.place / "preload.py")]
        environment = {**os.environ, "TEST_PLACE": str(self.place), "TEST_HANGS": hangs}
        environment["ATTN_CACHE"] = str(cache or os.environ["ATTN_CACHE"])
        with (self.place / f"worker{len(self.workers)}.log").open("w") as log:
            self.workers.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        return self.workers[-1]

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait()
        self.inner.close()


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    made.close()


def whole_store() -> set[str]:
    """The keys of the store, every run read and checked; nothing else lies there once the dead are swept away."""
    store = archive.cache_store()
    for key in archive.keys(store):
        archive.verify(store, key)
    archive.sweep_away(store)
    assert {path.name for path in store.iterdir()} == set(archive.keys(store))
    return set(archive.keys(store))


def called(monkeypatch, capsys, *words: str) -> tuple[int, str, list[str]]:
    """Exit status, output and error lines of a command."""
    monkeypatch.setattr("sys.argv", ["attn_core", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    said = capsys.readouterr()
    return stop.value.code, said.out, [line for line in said.err.splitlines() if "it/s" not in line and line.strip()]


@pytest.mark.slow
def test_two_workers_share_a_sweep_and_one_is_killed_while_it_writes(cluster, tmp_path, monkeypatch):
    (tmp_path / "archive").mkdir()
    monkeypatch.setenv("ATTN_ARCHIVE", str(tmp_path / "archive"))
    victim = cluster.start("--resources", "GPU=1", hangs="writing")
    runs = [tiny(seed) for seed in range(4)]
    failing = tiny(5, shortest=0)
    found = {}

    def work_off():
        found["failures"] = sweep_cluster(
            [*runs, failing], cluster.address, True, {"GPU": 1.0}, no_workers_timeout=PATIENCE, progress=False
        )

    client = threading.Thread(target=work_off, daemon=True)
    client.start()
    until((tmp_path / "halfway").exists, "the first worker to be in the middle of writing")
    assert archive.keys(archive.cache_store()) == []
    cluster.start("--resources", "GPU=1")
    until(lambda: len(archive.keys(archive.cache_store())) >= 1, "the second worker to take runs while the first hangs")
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    client.join(PATIENCE)
    assert not client.is_alive(), "the sweep hangs"
    assert list(found["failures"]) == [failing.key]
    assert found["failures"][failing.key].startswith("AttnError: ") and "\n" not in found["failures"][failing.key]
    assert found["failures"] == sweep.sweep([failing], progress=False), "here and on a cluster, the same words"
    assert whole_store() == {run.key for run in runs}
    for run in runs:
        archive.verify(tmp_path / "archive", run.key)
        assert obtain(run).record["n_test"] == 40
    assert set(os.listdir(tmp_path / "archive")) == {run.key for run in runs}
    # Nothing is left to do: no worker is needed, and a demand that none can meet is no obstacle.
    assert sweep_cluster(runs, cluster.address, True, {"NONE": 1.0}, no_workers_timeout=0, progress=False) == {}


def grid(tmp_path, seeds="[0, 1]"):
    path = tmp_path / "grid.yml"
    options = json.dumps([[list(pair) for pair in TINY]])
    path.write_text(f"- corpus: planted\n  encoder: average\n  epochs: 1\n  seed: {seeds}\n  options: {options}\n")
    return str(path)


def test_an_error_that_no_pickle_can_hold_reaches_the_client(monkeypatch, capsys):
    """As pickled by a worker: Dask's client waits for ever for an error whose traceback it cannot read."""
    import pickle

    from distributed.core import clean_exception, error_message

    def deep(*_, **__):
        return deep()

    monkeypatch.setattr(cluster_module, "make", deep)
    beacon = archive.staging(archive.cache_store(), "sweep")
    try:
        cluster_module.work(tiny(0), tiny(0).key, beacon.name)
    except cluster_module.RunFailed as error:
        message = error_message(error)
    kind, error, _ = clean_exception(message["exception"].data, message["traceback"].data)
    assert kind is cluster_module.RunFailed and str(error).startswith("RecursionError: maximum recursion depth")
    assert isinstance(pickle.loads(message["traceback"].data), type(error.__traceback__))
    assert "in deep" in capsys.readouterr().err, "the worker's log names the place"


@pytest.mark.slow
def test_a_demand_that_no_worker_meets_and_a_worker_with_another_store(cluster, tmp_path, monkeypatch, capsys):
    command = ["sweep", grid(tmp_path), "--scheduler", cluster.address]
    start = time.monotonic()
    status, _, errors = called(monkeypatch, capsys, *command, "--no-workers-timeout", "0.5")
    assert status == 2 and len(errors) == 1, errors
    assert errors[0].startswith(f"attn_core: no worker for 0.5 s at {cluster.address} (workers there: none); start one")
    cluster.start("--resources", "GPU=1", cache=tmp_path / "elsewhere")
    until(lambda: len(cluster.inner.scheduler.workers) == 1, "the worker")
    status, _, errors = called(monkeypatch, capsys, *command, "--resources", "GPU=2", "--no-workers-timeout", "1")
    assert status == 2 and len(errors) == 1, errors
    assert "no worker that offers GPU=2 for 1 s" in errors[0] and "workers there: 1 with GPU=1" in errors[0]
    assert not archive.cache_store().exists(), "a refused sweep left something behind"
    status, out, _ = called(monkeypatch, capsys, *command, "--resources", "GPU=1")
    assert status == 1 and "2 runs, 2 failed" in out
    assert out.count("set ATTN_CACHE to one shared folder for both") == 4  # each as it fails and at the end
    assert whole_store() == set() and not list((tmp_path / "elsewhere").glob("runs/*"))
    assert time.monotonic() - start < PATIENCE


def test_when_the_last_worker_is_lost_the_rest_fails_by_name(cluster, tmp_path):
    victim, found = cluster.start(hangs="training"), {}
    runs = [tiny(seed) for seed in range(3)]
    client = threading.Thread(
        target=lambda: found.update(sweep_cluster(runs, cluster.address, no_workers_timeout=2, progress=False)),
        daemon=True,
    )
    until(lambda: len(cluster.inner.scheduler.workers) == 1, "the worker")
    client.start()
    until((tmp_path / "halfway").exists, "the worker to be in the middle of a run")
    victim.kill()
    victim.wait()
    client.join(PATIENCE)
    assert not client.is_alive(), "the sweep hangs"
    assert set(found) == {run.key for run in runs}
    assert all(reason.startswith("AttnError: no worker for 2 s") for reason in found.values())
    assert whole_store() == set()


def test_a_lost_scheduler_ends_the_sweep(tmp_path, cluster):
    cluster.start(hangs="training")
    found = []

    def work_off():
        try:
            runs = [tiny(seed) for seed in range(4)]
            sweep_cluster(runs, cluster.address, no_workers_timeout=PATIENCE, progress=False)
        except AttnError as error:
            found.append(str(error))

    client = threading.Thread(target=work_off, daemon=True)
    client.start()
    until((tmp_path / "halfway").exists, "the worker to be in the middle of a run")
    cluster.inner.close()
    client.join(PATIENCE)
    assert not client.is_alive(), "the sweep hangs"
    assert found and "no longer answers" in found[0]


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "127.0.0.1:9", "no/address"])
def test_a_scheduler_that_does_not_answer_is_one_line(address, tmp_path, monkeypatch, capsys):
    status, _, errors = called(monkeypatch, capsys, "sweep", grid(tmp_path), "--scheduler", address)
    assert status == 2 and len(errors) == 1, errors
    assert errors[0].startswith(f"attn_core: no Dask scheduler answers at '{address}'")
    assert not archive.cache_store().exists()


def test_without_dask_it_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    status, _, errors = called(monkeypatch, capsys, "sweep", grid(tmp_path), "--scheduler", "tcp://127.0.0.1:9")
    assert status == 2 and len(errors) == 1 and "pip install 'dask[distributed]'" in errors[0]


def test_resources_are_those_of_dask_worker(tmp_path, monkeypatch, capsys):
    assert demanded("") is None
    assert demanded("GPU=1") == {"GPU": 1.0}
    assert demanded("GPU=1 MEMORY=8e9,DISK=.5") == {"GPU": 1.0, "MEMORY": 8e9, "DISK": 0.5}
    for wrong in ("GPU", "GPU=0", "GPU=-1", "=1", "GPU=many", "GPU=inf", "GPU=nan"):
        with pytest.raises(AttnError, match=f"such as GPU=1, got '{wrong}'"):
            demanded(wrong)
    status, _, errors = called(monkeypatch, capsys, "sweep", grid(tmp_path), "--resources", "GPU=1")
    assert status == 2 and len(errors) == 1 and "--scheduler" in errors[0]


def put(run: Run, train: float, trace: float, store=None) -> None:
    """A record of a run, with the seconds it took; all that `remains` reads."""
    from attn_core.runs import as_dict

    folder = (store or archive.cache_store()) / run.key
    folder.mkdir(parents=True)
    record = {"key": run.key, "run": as_dict(run), "seconds": {"train": train, "trace": trace}}
    (folder / "record.json").write_text(json.dumps(record))


def test_what_remains(tmp_path, monkeypatch, capsys):
    (tmp_path / "archive").mkdir()
    monkeypatch.setenv("ATTN_ARCHIVE", str(tmp_path / "archive"))
    runs = [Run("sst", seed=seed) for seed in range(4)]
    cnn = Run("sst", encoder="cnn")
    assert sweep.remains([*runs, cnn]) == (
        "0 of 5 runs stored; remaining: 4 sst lstm tanh, 1 sst cnn tanh; "
        "no stored run is like them, so their time is not known"
    )
    put(runs[0], 120.0, 60.0)
    put(Run("imdb"), 1e6, 1e6)  # not like them
    expected = "1 of 5 runs stored; remaining: 3 sst lstm tanh, 1 sst cnn tanh; about 9 minutes by the seconds of "
    assert sweep.remains([*runs, cnn]) == expected + "stored runs like them, without 1 that no stored run is like"
    assert sweep.remains(runs[:1]) == "1 of 1 runs stored"
    # In the cache but not packed: only tables are left, which take none of the seconds counted.
    assert sweep.remains(runs[:1], pack=True).startswith("0 of 1 runs stored; remaining: 1 sst lstm tanh; about 0 min")
    put(runs[0], 120.0, 60.0, tmp_path / "archive")
    assert sweep.remains(runs[:1], pack=True) == "1 of 1 runs stored"


def test_seconds_expected_by_hand(tmp_path, monkeypatch):
    (tmp_path / "archive").mkdir()
    monkeypatch.setenv("ATTN_ARCHIVE", str(tmp_path / "archive"))
    epochs = Run("sst").epochs
    put(Run("sst", seed=1), 100.0, 10.0)
    put(Run("sst", seed=2), 140.0, 12.0)
    put(Run("sst", seed=3, attention="dot"), 80.0, 20.0)
    half = Run("sst", seed=4, fraction=0.5, epochs=3 * epochs)  # 1.5 times the work of training, the same of tracing
    assert sweep.expected_seconds([half]) == (pytest.approx(120 * 1.5 + 11), [])
    dot = Run("sst", seed=5, attention="dot")
    assert sweep.expected_seconds([dot]) == (pytest.approx(80 + 20), [])
    uniform = Run("sst", seed=5, attention="uniform")  # none alike in attention: all of its encoder
    assert sweep.expected_seconds([uniform]) == (pytest.approx(100 + 12), [])
    both = [Run("sst", seed=6, selection=selection) for selection in ("dev", "test")]  # one training
    assert sweep.expected_seconds(both) == (pytest.approx(120 + 2 * 11), [])
    tuned = Run("sst", encoder="cnn")
    assert sweep.expected_seconds([tuned]) == (0.0, [tuned])
    (archive.cache_store() / Run("sst", seed=2).key / "record.json").write_text("{")  # one that cannot be read
    assert sweep.expected_seconds([half]) == (pytest.approx(100 * 1.5 + 10), [])


def test_a_dry_run_lists_and_counts_and_trains_nothing(tmp_path, monkeypatch, capsys):
    path = grid(tmp_path, "[0, 1, 2]")
    obtain(tiny(1), progress=False)
    monkeypatch.setattr("sys.argv", ["attn_core", "sweep", path, "--dry-run"])
    with pytest.raises(SystemExit) as stop:
        main()
    lines = capsys.readouterr().out.splitlines()
    assert stop.value.code == 0 and lines[:3] == [
        f"to do   {tiny(0).key}", f"stored  {tiny(1).key}", f"to do   {tiny(2).key}"
    ]  # fmt: skip
    assert lines[3].startswith("1 of 3 runs stored; remaining: 2 planted average tanh; about 0 minutes by the seconds")
    assert archive.keys(archive.cache_store()) == [tiny(1).key]
    status, out, _ = called(monkeypatch, capsys, "sweep", path)
    assert status == 0 and out.startswith("1 of 3 runs stored; remaining: 2 planted") and "3 runs, 0 failed" in out
    assert called(monkeypatch, capsys, "sweep", path)[1].startswith("3 of 3 runs stored\n")


def guided(seed=10, **fields) -> Run:
    return Run("planted", "average", "given", seed=seed, epochs=1, options=TINY, guide="own", **fields)


def test_bases_come_first_and_only_where_their_weights_are_missing(tmp_path, monkeypatch):
    (tmp_path / "archive").mkdir()
    monkeypatch.setenv("ATTN_ARCHIVE", str(tmp_path / "archive"))
    base, further = tiny(10), tiny(50)
    adversary = Run("planted", encoder="average", epochs=1, options=TINY, base=base, divergence=1e-3)
    own, swapped = guided(base=base), Run(**{**vars(guided(base=base)), "guide": "swapped"})
    untrained = Run(**{**vars(guided(base=base)), "guide": "untrained"})
    assert sweep.with_bases([own]) == {base: True, own: False}
    assert sweep.with_bases([untrained]) == {untrained: False}
    assert list(sweep.with_bases([swapped, base])) == [base, further, swapped]
    assert sweep.with_bases([guided(base=adversary)]) == {base: True, adversary: True, guided(base=adversary): False}
    assert sweep.sweep([guided(base=adversary), own], progress=False) == {}
    done = {run.key for run in (base, adversary, guided(base=adversary), own)}
    assert set(archive.keys(archive.cache_store())) == done
    assert sweep.with_bases([swapped, own]) == {further: True, swapped: False, own: False}
    # A base in the archive alone has no weights: it is trained again for those who need them, and not packed anew.
    archive.pack(base.key, None, "further")
    packed = (tmp_path / "archive" / base.key / "record.json").stat().st_mtime_ns
    (archive.cache_store().parent / "weights" / f"{base.key}.safetensors").unlink()
    again = Run(**{**vars(own), "words": "rank"})
    assert sweep.with_bases([base, again], pack=True) == {base: True, again: False}
    assert sweep.sweep([base, again], pack=True, progress=False) == {} and sweep.has_weights(base)
    assert (tmp_path / "archive" / base.key / "record.json").stat().st_mtime_ns == packed
    assert set(os.listdir(tmp_path / "archive")) == {base.key, again.key}


def test_next_ready_waits_for_bases_and_for_the_other_selection():
    from collections import deque

    base = tiny(10)
    test_chosen = Run(**{**vars(base), "selection": "test"})
    own, other = guided(base=base), tiny(50)
    waiting, flying = deque([base, test_chosen, own, other]), {}
    taken = []
    while (run := cluster_module.next_ready(waiting, flying)) is not None:
        taken.append(run)
        flying[run.key] = run, None
    assert taken == [base, other] and list(waiting) == [test_chosen, own]
    del flying[base.key]
    assert cluster_module.next_ready(waiting, flying) == test_chosen, "its training is done"
    assert cluster_module.next_ready(waiting, flying) == own


def test_a_failed_base_is_named_and_not_tried_again(monkeypatch):
    from attn_core import computing

    tried = []

    def compute(run, *_, **__):
        tried.append(run.key)
        raise AttnError("no memory")

    monkeypatch.setattr(computing, "compute", compute)
    base = tiny(10)
    failures = sweep.sweep([guided(base=base), tiny(50)], progress=False)
    assert tried == [base.key, tiny(50).key]
    assert failures[base.key] == "AttnError: no memory"
    assert failures[guided(base=base).key] == f"AttnError: its base {base.key} failed (AttnError: no memory)"


@pytest.mark.slow
def test_jobs_share_a_sweep_and_name_a_base_that_failed(tmp_path, monkeypatch, capsys):
    path = tmp_path / "grid.yml"
    options = json.dumps([list(pair) for pair in TINY])
    wrong = json.dumps([["shortest", 0]])
    block = "- corpus: planted\n  encoder: average\n  epochs: 1\n  attention: given\n  guide: own\n"
    path.write_text(
        f"{block}  base: {{encoder: average, epochs: 1}}\n  seed: 3 seeds\n  options: [{options}]\n"
        f"{block}  base: {{encoder: average, epochs: 1}}\n  seed: 10\n  options: [{wrong}]\n"
    )
    runs = sweep.read_grid(path)
    assert [run.base.seed for run in runs] == [10, 50, 257, 10]
    status, out, _ = called(monkeypatch, capsys, "sweep", str(path), "--jobs", "2")
    assert status == 1 and "4 runs, 2 failed" in out, "the base and the run that needed it"
    bad = runs[-1]
    assert f"failed  {bad.base.key}: AttnError: " in out
    assert f"failed  {bad.key}: AttnError: its base {bad.base.key} failed (AttnError: " in out
    assert whole_store() == {run.key for run in runs[:3]} | {run.base.key for run in runs[:3]}
    assert sweep.sweep(runs[:3], progress=False) == {}
    monkeypatch.setattr("distributed.LocalCluster", None)  # nothing left to do: no process is started
    assert cluster_module.sweep_jobs(runs[:3], 2, progress=False) == {}
    words = "sweep", str(path), "--jobs", "2", "--scheduler", "tcp://127.0.0.1:9"
    status, _, errors = called(monkeypatch, capsys, *words)
    assert status == 2 and len(errors) == 1 and "--jobs" in errors[0]


def test_base_of_a_grid_block(tmp_path):
    path = tmp_path / "grid.yml"
    path.write_text(
        "- corpus: sst\n  encoder: average\n  attention: given\n  guide: [own, permuted]\n  base: {}\n  seed: 2 seeds\n"
        "  selection: test\n"
        "- corpus: sst\n  divergence: [0.0, 1.0e-3]\n  base: {seed: 10, hidden: 64}\n  seed: [50]\n"
        "- corpus: sst\n  encoder: average\n  attention: given\n  guide: own\n"
        "  base: [{seed: 257, divergence: 0.1, base: {}}]\n"
    )
    runs = sweep.read_grid(path)
    own = [Run("sst", seed=seed, selection="test") for seed in (10, 50)]
    assert [(run.guide, run.base) for run in runs[:4]] == [(g, b) for g in ("own", "permuted") for b in own]
    assert [(run.divergence, run.seed, run.base) for run in runs[4:6]] == [
        (value, 50, Run("sst", seed=10, hidden=64)) for value in (0.0, 1e-3)
    ]
    assert runs[6].base == Run("sst", seed=257, divergence=0.1, base=Run("sst", seed=257))
    path.write_text("- corpus: sst\n  divergence: 0.1\n  base: sst\n")
    with pytest.raises(AttnError, match="base must be a mapping"):
        sweep.read_grid(path)


def test_the_books_grids_of_wiegreffe_and_pinter_use_bases_of_the_books_grids():
    from pathlib import Path

    folder = Path(__file__).parents[1] / "data" / "sweeps"
    names = ("seeds", "uniform", "adversaries", "guides")
    grids = {name: sweep.read_grid(folder / f"wiegreffe-{name}.yml") for name in names}
    trained = {*grids["seeds"], *grids["adversaries"]}
    needed = {base for name in ("adversaries", "guides") for run in grids[name] for base in sweep.bases(run)}
    assert needed <= trained
    pairs = [run for run in grids["guides"] if run.base is not None and run.base.family == "text"]
    assert pairs and all(run.base.seed == run.seed for run in pairs)
    assert {run.base for run in grids["adversaries"]} == {Run(corpus) for corpus in ("sst", "20news", "agnews", "imdb")}
