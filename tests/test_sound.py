"""Nothing lost, nothing believed: what is handed in, what is sealed, what is small and grows, what others leave."""

import errno
import os
import random
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
from conftest import ROOT, python, refused, toy_traces
from scipy.spatial.distance import jensenshannon
from sklearn.metrics import accuracy_score

import attn_core
from attn_core.errors import AttnError
from attn_core.experiments.correlation import kendall_ragged
from attn_core.measures import classification, jsd, jsd_ragged, tvd
from attn_lab import register_corpus
from attn_lab.data import files
from attn_lab.runs import store, upkeep

pytestmark = pytest.mark.faults
SEED = os.environ.get("ATTN_SEED", "0")
DATA = ROOT / "data"

# ---- arrays ----------------------------------------------------------------------------------------------------------

TRACES = toy_traces((3, 2, 4))
OFFSETS = TRACES.offsets
WEIGHTS = TRACES.attention[::-1].copy() * 0 + (1 / TRACES.lengths)[TRACES.owner]
OUTPUTS = np.random.default_rng(0).dirichlet(np.ones(100), 9)


def within(test):
    """A test of two vectors, in each text."""
    return lambda x: [test(x[a:b], TRACES.attention[a:b]) for a, b in pairwise(OFFSETS)]


divergences = within(lambda a, b: jensenshannon(a, b) ** 2)


def of_score(test):
    """A test of traces with these scores."""
    return lambda score: test(replace(TRACES, score=score))


def changed(logits):
    return np.abs(scipy.special.expit(logits) - TRACES.p)


FUNCTIONS = {  # name -> input, the function, and its answer by another way
    "tvd": (OUTPUTS, lambda p: tvd(p, OUTPUTS[0]), lambda p: np.abs(p - OUTPUTS[0]).sum(-1) / 2),
    "tvd of one class": (
        TRACES.outputs,
        lambda p: tvd(p, TRACES.outputs),
        lambda p: np.abs(p - TRACES.outputs)[:, 0],
    ),
    "jsd": (OUTPUTS[1], lambda p: jsd(p, OUTPUTS[0]), lambda p: jensenshannon(p, OUTPUTS[0]) ** 2),
    "jsd of one token": ([1.0], lambda p: jsd(p, [1.0]), lambda p: 0.0),
    "jsd_ragged": (
        WEIGHTS,
        lambda a: jsd_ragged(a, TRACES.attention, OFFSETS),
        divergences,
    ),
    "kendall_ragged": (
        TRACES.gradient,
        lambda x: kendall_ragged(x, TRACES.attention, OFFSETS)[0],
        within(lambda x, y: scipy.stats.kendalltau(x, y).statistic),
    ),
    "classification": (
        OUTPUTS,
        lambda p: classification(np.arange(9), p)["accuracy"],
        lambda p: accuracy_score(np.arange(9), p.argmax(1)),
    ),
    "select": (
        WEIGHTS[None],
        lambda a: attn_core.select(TRACES, a, 1.0)["jsd"],
        lambda a: divergences(a[0]),
    ),
    "logits_under": (
        WEIGHTS,
        lambda a: changed(TRACES.logits_under(a)[:, 0]),
        lambda a: changed(np.add.reduceat(a * TRACES.contribution[:, 0], OFFSETS[:-1]) + TRACES.bias[0]),
    ),
    "Traces": (
        TRACES.score,
        of_score(lambda traces: traces.attention),
        lambda s: np.concatenate([scipy.special.softmax(s[a:b]) for a, b in pairwise(OFFSETS)]),
    ),
}
CLEAN = {
    "correlation": lambda t: attn_core.correlation(t)["tau_attention_gradient"],
    "permutation": lambda t: attn_core.permutation(t)["median_change"],
    "optimum": lambda t: attn_core.optimum(t, 0.1)["jsd_exact"],
    "single": lambda t: attn_core.single(t)["flips_attention"],
    "removal": lambda t: attn_core.removal(t)["removed_attention"],
    "distance": lambda t: attn_core.distance(TRACES, t)["jsd"],
}
FUNCTIONS |= {  # of other kinds of arrays: as of the same numbers in double precision
    name: (TRACES.score, of_score(test), lambda s, test=test: of_score(test)(np.asarray(s, float)))
    for name, test in CLEAN.items()
}
KINDS = {
    "as it is": lambda x: x,
    "NaN": lambda x: np.where(np.arange(x.shape[-1]) == 1, np.nan, x),
    "inf": lambda x: np.where(np.arange(x.shape[-1]) == 1, np.inf, x),
    "negative": lambda x: -x,
    "unnormalised": lambda x: 2 * x,
    "empty": lambda x: x[..., :0],
    "wrong length": lambda x: x[..., :-1],
    "list": lambda x: x.tolist(),
    "float16": lambda x: x.astype(np.float16),
}
MUST = {"as it is", "list"}
ROUGH = {"float16": 1e-4}
"""Where the outside answer is of weights that were divided by their sum."""


def cell(name: str, kind: str) -> str:
    """A cell of the table: what a function makes of a kind of input."""
    values, function, outside = FUNCTIONS[name]
    given = KINDS[kind](np.asarray(values))
    try:
        found = np.asarray(function(given), float)
    except AttnError as error:
        assert "\n" not in str(error)
        return "one line"
    np.testing.assert_allclose(
        found, np.asarray(outside(np.asarray(given, float)), float), atol=ROUGH.get(kind, 1e-6)
    )
    return "right"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_handed_in_gives_the_outside_answer_or_one_line(name):
    row = {kind: cell(name, kind) for kind in KINDS}
    print(name, row)
    assert all(row[kind] == "right" for kind in MUST)


@pytest.mark.parametrize(
    ("told", "call"),
    {
        "k must be a whole number from 1, got 1.5": lambda: attn_core.search(TRACES, k=1.5),
        "known: jsd, kl": lambda: attn_core.search(TRACES, objective="tvd"),
        "steps must be a whole number from 0": lambda: attn_core.search(TRACES, steps=-1),
        r"\(5, 9\)": lambda: attn_core.search(TRACES, starts=np.zeros((5, 2))),
        "count must be a whole number from 1": lambda: attn_core.permutation(TRACES, count=0),
        "penalty, margin, diversity and lr must be finite": lambda: attn_core.search(TRACES, penalty=np.nan),
        "unknown ranking 'a'": lambda: attn_core.removal(TRACES, rankings="attention"),
        "seed must be a whole number": lambda: attn_core.permutation(TRACES, seed=None),
        "classes": lambda: attn_core.distance(TRACES, toy_traces((3, 2, 4), classes=3)),
        "rows": lambda: TRACES.take([9]),
    }.items(),
)
def test_options_that_mean_nothing_are_one_line(told, call):
    with refused(told):
        call()


def test_rows_are_counted_from_the_end_masked_or_none():
    np.testing.assert_array_equal(TRACES.take([-2]).score, TRACES.take([1]).score)
    np.testing.assert_array_equal(TRACES.take(np.array([True, False, True])).doc_id, [0, 2])
    assert len(TRACES.take([])) == 0


# ---- what was lost ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["my corpus", "..", "a/b", "a\nb", "x" * 101, ""])
def test_a_name_that_cannot_name_a_file_is_refused(name):
    with refused("cannot name a file"):
        register_corpus(SimpleNamespace(name=name), lambda: None)


def test_replicas_do_not_remove_each_others_stages(tmp_path):
    """Two machines in namespaces of their own, whose names share 20 letters."""
    told = []
    for end in ("x2k4p", "xq7zt"):
        code = "from attn_lab.data.files import half_written; print(half_written())"
        command = f"hostname attn-sweep-workers-{end} && {sys.executable} -c '{code}'"
        done = subprocess.run(
            ["unshare", "-r", "-u", "-p", "-f", "sh", "-c", command],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip("no namespaces here")
        told.append(done.stdout.strip())
    assert len({name.partition("@")[2] for name in (*told, files.half_written())}) == 3
    for name in told:
        (tmp_path / f"{name}toy").mkdir()
    store.remove_half_written(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_siblings_folder_that_vanishes_stops_nobody(tmp_path):
    ended = threading.Event()

    def sibling():
        while not ended.is_set():
            for name in (f"{files.half_written()}toy", f"{store.DECIDED}toy"):
                with suppress(OSError):
                    (tmp_path / name / "deep").mkdir(parents=True)
                shutil.rmtree(tmp_path / name, ignore_errors=True)

    thread = threading.Thread(target=sibling)
    thread.start()
    try:
        for _ in range(200):
            store.settle(tmp_path)
            store.remove_half_written(tmp_path)
    finally:
        ended.set()
        thread.join()


def test_what_cannot_be_moved_stays_and_stops_no_reader(tmp_path, monkeypatch):
    """As a leftover stage in a folder that may only be read."""
    upkeep.merge(tmp_path, "toy", {}, {"toy": b"first"})

    def refuse(*_):
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr(os, "replace", refuse)
    store.commit(tmp_path, "toy", {"traces/toy.parquet": b"second"})
    assert store.content(tmp_path, "traces", "toy") == b"first"
    assert store.stems(tmp_path) == []
    monkeypatch.undo()
    store.settle(tmp_path)
    assert (tmp_path / "traces" / "toy.parquet").read_bytes() == b"second"


def test_a_folder_may_be_a_link_to_another_disk(tmp_path):
    other = Path("/dev/shm") / f"attn{os.getpid()}"
    if not other.parent.is_dir() or other.parent.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no other disk")
    other.mkdir()
    try:
        (tmp_path / "traces").symlink_to(other)
        upkeep.merge(tmp_path, "toy", {}, {"toy": b"traces"})
        assert (other / "toy.parquet").read_bytes() == b"traces"
    finally:
        shutil.rmtree(other)


# ---- the seal --------------------------------------------------------------------------------------------------------


def test_a_hundred_edits_are_a_hundred_faults(tmp_path):
    shutil.copytree(DATA, tmp_path / "data")
    folder = tmp_path / "data" / "archive"
    sealed = sorted(store.manifest(folder))
    for path in DATA.glob("*/[!.R]*.*"):
        name = f"../{path.relative_to(DATA).as_posix()}"
        assert path.parent.name in ("archive", "sweeps") or name in sealed, name
    rng = random.Random(SEED)
    edited = rng.sample(sealed, 100)
    for name in edited:
        data = bytearray((folder / name).read_bytes())
        data[rng.randrange(len(data))] ^= 1
        (folder / name).write_bytes(data)
    assert upkeep.faults(folder) == sorted(f"{name} is not the file that was sealed" for name in edited)


# ---- small files that grow -------------------------------------------------------------------------------------------

MADE = {  # name -> what writes the file `path`
    "one.parquet": "text = pa.array(['0' * 10**6]).dictionary_encode(); "
    "pq.write_table(pa.table({'text': text.take([0] * 999)}), path)",
    "wide.parquet": "pq.write_table(pa.table({'text': pa.array([bytes(10**5)] * 1200, pa.binary(10**5))}), path)",
    "one.feather": "feather.write_feather(pa.table({'text': ['0' * 10**6] * 120}), path, compression='zstd')",
    "weights.npz": "np.savez_compressed(path, a=np.zeros(25_100_000, np.float32))",
    "weights.pt": "torch.save({'a': torch.zeros(1).expand(10**9)}, path)",
}
MAKE = (
    "import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq; from pyarrow import feather; import torch; "
    "path = sys.argv[1]; "
)
READ = """
import resource, sys, time
from pathlib import Path
import torch
from attn_core.errors import AttnError
from attn_lab import load_weights
from attn_lab.data.tables import read_table
path = Path(sys.argv[1])
size = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before, start = size(), time.process_time()
try:
    load_weights(path) if "weights" in path.name else read_table(path, ["text"])
except AttnError as error:
    assert "holds more than" in str(error), error
    print(path.stat().st_size, time.process_time() - start, (size() - before) / 1024)
"""


@pytest.mark.parametrize("name", MADE)
def test_a_bomb_is_refused_soon_and_before_it_grows(name, tmp_path):
    path = tmp_path / name
    python("-c", MAKE + MADE[name], path)
    size, seconds, megabytes = map(float, python("-c", READ, path).split())
    assert size <= 100_000
    assert seconds <= 2
    assert megabytes <= 300
