"""The store: whole or not at all, checked on reading, small, and the same documents for every run of a corpus."""

import dataclasses
import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from conftest import toy_pairs, toy_traces
from hypothesis import given
from hypothesis import strategies as st
from tiny_runs import called

from attn_core import index, packing, reader, store
from attn_core.errors import AttnError, Damaged
from attn_core.run import Run, as_dict
from attn_core.traces import round_mantissa

RECORD = {"key": "toy", "run": {"corpus": "toy", "seed": 10}, "n_test": 6, "accuracy": 0.5}


def stored(tmp_path, traces=None):
    traces = (traces or toy_traces()).rounded()
    table = pd.DataFrame({"doc_id": traces.doc_id, "p": traces.p})
    record = {**RECORD, "accuracy": float((traces.predicted == traces.label).mean())}
    store.write(tmp_path, "toy", record, {"traces.parquet": traces, "documents.parquet": table})
    return traces


@pytest.mark.parametrize("traces", [toy_traces(), toy_traces(classes=3), toy_pairs(allowed=2)], ids=len)
@pytest.mark.parametrize("whole", [True, False])
def test_what_is_written_is_read(tmp_path, traces, whole):
    traces = traces if whole else dataclasses.replace(traces, gradient=None, leave_one_out=None)
    traces = stored(tmp_path, traces)
    found = store.read(tmp_path, "toy")
    for field in dataclasses.fields(traces):
        np.testing.assert_array_equal(getattr(found.traces, field.name), getattr(traces, field.name), field.name)
    np.testing.assert_allclose(found.documents["p"], traces.p, atol=2e-6)
    store.verify(tmp_path, "toy")


def test_a_record_that_tells_another_story_and_files_that_are_not_its_own_are_refused(tmp_path):
    stored(tmp_path)
    path = tmp_path / "toy" / "record.json"
    record = json.loads(path.read_text())
    for damage in (flip, os.remove):
        damage(tmp_path / "toy" / "traces.parquet")
        with pytest.raises(Damaged, match=r"traces\.parquet does not match its record"):
            store.read(tmp_path, "toy")
    stored(tmp_path)
    path.write_text(json.dumps({**record, "accuracy": record["accuracy"] + 0.1}))
    with pytest.raises(AttnError, match="record says accuracy"):
        store.verify(tmp_path, "toy")
    for text, told in ((json.dumps({**record, "key": "other"}), "holds key 'other'"), ("{", "unreadable")):
        path.write_text(text)
        with pytest.raises(Damaged, match=told):
            store.read(tmp_path, "toy")


def test_what_builds_on_another_training_of_its_base_is_refused(tmp_path, monkeypatch):
    """Same seed and settings, other weights: nobody could look up the model that a run was compared with."""
    monkeypatch.setenv("ATTN_ARCHIVE", str(tmp_path))
    base, traces = Run("sst"), toy_traces().rounded()
    packing.same_as_archived(base, traces)  # nothing is archived
    record = {"key": base.key, "run": as_dict(base)}
    store.write(tmp_path, base.key, record, {})
    packing.same_as_archived(base, traces)  # its documents are not
    store.write(tmp_path, base.key, record, {"traces.parquet": traces.take([1, 2, 4])})
    packing.same_as_archived(base, traces.take([5, 4, 3, 2, 1, 0]))  # in any order, and more than the archived ones
    other = dataclasses.replace(traces, score=toy_traces(seed=1).rounded().score)
    with pytest.raises(AttnError, match=f"{base.key} became another model here .*--fresh"):
        packing.same_as_archived(base, other)


def test_sample_depends_on_the_corpus_alone():
    doc_ids = np.arange(100)
    first = doc_ids[store.sample(doc_ids, "sst")]
    shuffled = np.random.default_rng(0).permutation(doc_ids)
    np.testing.assert_array_equal(shuffled[store.sample(shuffled, "sst")], first)
    assert (doc_ids[store.sample(doc_ids, "imdb")] != first).any()


@given(st.floats(-(2.0**100), 2.0**100, width=32), st.floats(-(2.0**100), 2.0**100, width=32))
def test_rounding_is_close_monotone_and_keeps_specials(a, b):
    rounded = round_mantissa(np.array([a, b, np.nan, np.inf, 0.0], np.float32))
    assert np.isnan(rounded[2]) and np.isinf(rounded[3]) and rounded[4] == 0
    if abs(a) > 1e-30:
        assert abs(rounded[0] - a) <= abs(a) * 2.0**-13 * (1 + 1e-6)
    assert (a <= b) <= (rounded[0] <= rounded[1])
    assert rounded[0].view(np.uint32) & 0x7FF == 0


@pytest.mark.faults
@pytest.mark.parametrize("killed", [False, True])
def test_a_run_is_kept_whole_if_its_writer_is_stopped_while_it_replaces_it(tmp_path, monkeypatch, killed):
    first, rename, calls = stored(tmp_path), os.rename, []

    def stop_at_the_second(source, target):
        calls.append(target)
        if len(calls) == 2:
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(os, "rename", stop_at_the_second)
    if killed:  # nothing after the kill is done by the writer
        monkeypatch.setattr(store, "clear", lambda stage: None)
    with pytest.raises(KeyboardInterrupt):
        stored(tmp_path, toy_traces(seed=1))
    monkeypatch.undo()
    assert ("toy" in store.keys(tmp_path)) != killed
    monkeypatch.setattr("psutil.pid_exists", lambda process: False)
    store.sweep_away(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]
    np.testing.assert_array_equal(store.read(tmp_path, "toy").traces.score, first.score)


def forge(path):
    path.write_text(path.read_text().replace('"accuracy": ', '"accuracy": 0.0'))


def flip(path):
    data = path.read_bytes()
    path.write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])


TAMPERING = {
    "forged record": ("toy/record.json", forge, "toy/record.json is not the file that was sealed"),
    "flipped byte": ("toy/traces.parquet", flip, "toy/traces.parquet is not the file that was sealed"),
    "truncated": ("toy/documents.parquet", lambda path: os.truncate(path, 90), "toy/documents.parquet is not the file"),
    "missing file": ("toy/documents.parquet", os.remove, "toy/documents.parquet is missing"),
    "missing run": ("toy", shutil.rmtree, "toy/record.json is missing"),
    "extra file": ("toy/notes.txt", lambda path: path.write_text("mine"), "toy/notes.txt is no file of the archive"),
    "extra run": ("toy", lambda path: shutil.copytree(path, path.with_name("twin")), "twin/record.json is no file"),
    "reported table": ("../reported/a.csv", lambda path: path.write_text("x\n"), "../reported/a.csv is not the file"),
    "no manifest": ("MANIFEST", os.remove, "has no MANIFEST"),
}


@pytest.mark.faults
@pytest.mark.parametrize("kind", TAMPERING)
def test_what_is_not_as_sealed_is_named(tmp_path, kind):
    folder, (name, tamper, told) = tmp_path / "archive", TAMPERING[kind]
    (tmp_path / "reported").mkdir()
    (tmp_path / "reported" / "a.csv").write_text("x\n1\n")
    stored(folder)
    changes, refused = store.seal(folder)
    assert "has no MANIFEST" in changes[0] and not refused and store.faults(folder) == []
    assert store.seal(folder) == ([], [])
    tamper(folder / name)
    assert any(told in line for line in store.faults(folder)), store.faults(folder)


@pytest.mark.faults
@pytest.mark.parametrize("kind", ["forged record", "flipped byte", "truncated", "extra run"])
def test_what_is_not_as_sealed_enters_no_number(tmp_path, monkeypatch, capsys, kind):
    """Of two runs the damaged one is left out and named, each time the tables are asked for."""
    folder, (name, tamper, _) = tmp_path / "archive", TAMPERING[kind]
    monkeypatch.setenv("ATTN_ARCHIVE", str(folder))
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path / "cache"))
    real = [key for key in store.keys(REAL) if (REAL / key / "documents.parquet").is_file()][:2]
    for key in real:
        shutil.copytree(REAL / key, folder / key)
    store.seal(folder)
    tamper(folder / name.replace("toy", real[0]))
    bad, kept = ("twin", real) if kind == "extra run" else (real[0], real[1:])
    for _ in range(2):
        index._joined.cache_clear()
        assert sorted(index.runs(generation="first")["key"]) == kept and bad in capsys.readouterr().err
    with pytest.raises(Damaged):
        store.read(folder, bad)


def test_a_run_is_sealed_as_it_is_stored_and_a_forged_one_never(tmp_path):
    store.seal(tmp_path)
    stored(tmp_path)
    stored(tmp_path, toy_traces(seed=1))
    assert store.faults(tmp_path) == []
    flip(tmp_path / "toy" / "traces.parquet")
    _, refused = store.seal(tmp_path)
    assert refused == ["toy does not hold the files that its record names; it is not sealed"]
    with pytest.raises(Damaged, match=r"record\.json is no file that MANIFEST names"):
        store.read(tmp_path, "toy")


def test_runs_stored_at_once_are_all_sealed(tmp_path):
    store.seal(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        keys = [f"toy-{name}" for name in range(40)]
        list(pool.map(lambda key: store.write(tmp_path, key, RECORD | {"key": key}, {}), keys))
    assert store.faults(tmp_path) == []


def test_the_command_names_what_was_changed_and_sealed_metrics_that_traces_deny(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ATTN_ARCHIVE", str(tmp_path))
    stored(tmp_path)
    store.seal(tmp_path)
    path = tmp_path / "toy" / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "accuracy": 0.123}))
    for told in ("toy/record.json is not the file that was sealed", "the record says accuracy 0.1230"):
        status, out, _ = called(monkeypatch, capsys, "archive", "verify")
        assert status == 1 and told in out
        store.seal(tmp_path)


def test_the_sentence_reader_with_another_sign_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "archive"
    shutil.copytree(REAL / reader.FOLDER, folder / reader.FOLDER)
    monkeypatch.setenv("ATTN_ARCHIVE", str(folder))
    store.seal(folder)
    path = folder / reader.FOLDER / "model.npz"
    with np.load(path) as file:
        arrays = {name: -array if name.startswith("decoder") else array for name, array in file.items()}
    reader.load()
    np.savez_compressed(path, **arrays)
    with pytest.raises(Damaged, match="model.npz is not the file that MANIFEST names"):
        reader.load()


REAL = store.archive_folder(required=False)


@pytest.mark.skipif(not REAL or not store.keys(REAL), reason="no archive")
def test_the_archive_is_whole_and_small():
    assert store.faults(REAL) == []
    for key in store.keys(REAL):
        store.verify(REAL, key)
    size = sum(path.stat().st_size for path in REAL.rglob("*.*") if path.is_file())
    assert size < 43e6, f"{size:,} bytes; the archive may take 43 MB"
    first = {}
    for path in REAL.glob("*/traces.parquet"):
        corpus, ids = path.parent.name.partition("-")[0], set(pd.read_parquet(path, columns=["doc_id"])["doc_id"])
        if not re.search("-(han|flan)_", path.parent.name):
            kept = first.setdefault(corpus, ids)
            assert ids <= kept or kept <= ids, f"{path} keeps other documents than the other runs of {corpus}"
