"""The store: whole or not at all, checked on reading, small, and the same documents for every run of a corpus."""

import dataclasses
import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import python, refused, toy_pairs, toy_traces
from hypothesis import given
from hypothesis import strategies as st

from attn_book import derived, play
from attn_core.errors import Damaged
from attn_core.traces import round_mantissa
from attn_lab.data.order import fixed_order
from attn_lab.runs import index, packing, rows, sentence, store, upkeep
from attn_lab.runs.run import Run, as_dict

RECORD = {"key": "toy", "run": {"corpus": "toy", "seed": 10}, "n_test": 6, "accuracy": 0.5}


def tables_of(record, **layers) -> dict[str, pa.Table]:
    """As `rows.tables` makes them, of a record that no run has."""
    tables = {"runs": pa.table({"key": [record["key"]], "record": [json.dumps(record)]})}
    for layer, frame in layers.items():
        tables[layer] = pa.Table.from_pandas(frame.assign(key=record["key"]), preserve_index=False)
    return tables


def toy(traces=None):
    """A made-up run: its record, tables and traces."""
    traces = (traces or toy_traces()).rounded()
    record = {**RECORD, "accuracy": float((traces.predicted == traces.label).mean())}
    return record, tables_of(record, documents=pd.DataFrame({"doc_id": traces.doc_id, "p": traces.p})), traces


def stored(folder, traces=None):
    """The made-up run in a store of one file a run."""
    _, tables, traces = toy(traces)
    store.write(folder, "toy", tables, traces)
    return traces


def merged(folder, traces=None, **changes):
    """The made-up run in an archive."""
    record, tables, traces = toy(traces)
    tables |= tables_of(record | changes)
    upkeep.merge(folder, "toy", tables, {record["key"]: store.traces_bytes(traces)})
    return traces


@pytest.mark.parametrize("traces", [toy_traces(), toy_traces(classes=3), toy_pairs(allowed=2)], ids=len)
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("put", [stored, merged])
def test_what_is_written_is_read(tmp_path, traces, whole, put):
    traces = traces if whole else dataclasses.replace(traces, gradient=None, leave_one_out=None)
    traces = put(tmp_path, traces)
    found = store.read(tmp_path, "toy")
    for field in dataclasses.fields(traces):
        np.testing.assert_array_equal(
            getattr(found.traces, field.name), getattr(traces, field.name), field.name
        )
    np.testing.assert_allclose(found.documents["p"], traces.p, atol=2e-6)
    upkeep.verify(tmp_path, "toy")


def test_values_that_are_not_defined_are_told_from_columns_that_a_run_has_not(tmp_path):
    """Two runs of one table: NaN stays, what only the other has is not there, whole numbers stay whole."""
    record, _, _ = toy()
    frame = pd.DataFrame({"doc_id": [1, 2], "tau": [np.nan, np.nan], "count": [3, 4]})
    first = rows_alone("toy-first", frame)
    second = rows_alone("toy-second", pd.DataFrame({"doc_id": [1], "p": [0.5]}))
    for key, documents in (("toy-second", second), ("toy-first", first)):
        runs = tables_of(record | {"key": key})
        upkeep.merge(tmp_path, "toy", runs | {"documents": documents}, {key: None})
    pd.testing.assert_frame_equal(store.rows_of(tmp_path, "documents", "toy-first"), frame)
    assert list(store.rows_of(tmp_path, "documents", "toy-second")) == ["doc_id", "p"]
    assert store.keys(tmp_path) == ["toy-first", "toy-second"]


def rows_alone(key, frame) -> pa.Table:
    return pa.table({"key": [key] * len(frame), **{name: pa.array(frame[name].to_numpy()) for name in frame}})


def test_a_record_that_tells_another_story_is_refused(tmp_path):
    _, _, traces = toy()
    told = tables_of(RECORD | {"accuracy": 0.123})
    store.write(tmp_path, "toy", told, traces)
    with refused("record says accuracy"):
        upkeep.verify(tmp_path, "toy")
    for text, reason in ((json.dumps(RECORD | {"key": "other"}), "holds key 'other'"), ("{", "unreadable")):
        store.write(tmp_path, "toy", {"runs": pa.table({"key": ["toy"], "record": [text]})}, traces)
        with pytest.raises(Damaged, match=reason):
            store.read(tmp_path, "toy")


def test_what_builds_on_another_training_of_its_base_is_refused(archive):
    """Same seed and settings, other weights: nobody could look up the model that a run was compared with."""
    base, traces = Run("sst"), toy_traces().rounded()
    packing.same_as_archived(base, traces)  # nothing is archived
    tables = tables_of({"key": base.key, "run": as_dict(base)})
    upkeep.merge(archive, "sst", tables, {base.key: None})
    packing.same_as_archived(base, traces)  # its documents are not
    upkeep.merge(archive, "sst", tables, {base.key: store.traces_bytes(traces.take([1, 2, 4]))})
    packing.same_as_archived(
        base, traces.take([5, 4, 3, 2, 1, 0])
    )  # in any order, and more than the archived ones
    other = dataclasses.replace(traces, score=toy_traces(seed=1).rounded().score)
    with refused(f"{base.key} became another model here .*--fresh"):
        packing.same_as_archived(base, other)


def test_sample_depends_on_the_corpus_alone():
    doc_ids = np.arange(100)
    first = doc_ids[fixed_order(doc_ids, "sst")]
    shuffled = np.random.default_rng(0).permutation(doc_ids)
    np.testing.assert_array_equal(shuffled[fixed_order(shuffled, "sst")], first)
    assert (doc_ids[fixed_order(doc_ids, "imdb")] != first).any()


@given(st.floats(-(2.0**100), 2.0**100, width=32), st.floats(-(2.0**100), 2.0**100, width=32))
def test_rounding_is_close_monotone_and_keeps_specials(a, b):
    rounded = round_mantissa(np.array([a, b, np.nan, np.inf, 0.0], np.float32))
    assert np.isnan(rounded[2])
    assert np.isinf(rounded[3])
    assert rounded[4] == 0
    if abs(a) > 1e-30:
        assert abs(rounded[0] - a) <= abs(a) * 2.0**-13 * (1 + 1e-6)
    assert (a <= b) <= (rounded[0] <= rounded[1])
    assert rounded[0].view(np.uint32) & 0x7FF == 0


def killed(*_):
    raise KeyboardInterrupt


@pytest.mark.faults
@pytest.mark.parametrize("moment", ["fdopen", "chmod", "replace"])
def test_a_cached_run_is_the_old_one_if_its_writer_is_killed(tmp_path, monkeypatch, moment):
    first = stored(tmp_path)
    monkeypatch.setattr(os, moment, killed)
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)  # nothing after the kill is done by the writer
    with pytest.raises(KeyboardInterrupt):
        stored(tmp_path, toy_traces(seed=1))
    monkeypatch.undo()
    monkeypatch.setattr("psutil.pid_exists", lambda process: False)
    np.testing.assert_array_equal(store.read(tmp_path, "toy").traces.score, first.score)
    store.sweep_away(tmp_path)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["toy.zip"]


@pytest.mark.faults
@pytest.mark.parametrize("moment", ["staging", "deciding", "moving 0", "moving 1", "moving 2"])
def test_an_archive_is_the_old_one_or_the_new_one_if_its_writer_is_killed(tmp_path, monkeypatch, moment):
    first = merged(tmp_path)
    calls = []

    def at_the_third(source, target, replace=os.replace):
        calls.append(target)
        if len(calls) > int(moment[-1]):
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(
        shutil, "rmtree", lambda *_, **__: None
    )  # nothing after the kill is done by the writer
    if moment == "staging":
        monkeypatch.setattr(Path, "write_bytes", killed)
    elif moment == "deciding":
        monkeypatch.setattr(os, "rename", killed)
    else:
        monkeypatch.setattr(os, "replace", at_the_third)
    with pytest.raises(KeyboardInterrupt):
        merged(tmp_path, toy_traces(seed=1))
    monkeypatch.undo()
    monkeypatch.setattr("psutil.pid_exists", lambda process: False)
    new = toy_traces(seed=1).rounded() if moment.startswith("moving") else first
    np.testing.assert_array_equal(store.read(tmp_path, "toy").traces.score, new.score)
    upkeep.verify(tmp_path, "toy")
    store.sweep_away(tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.name[0] == "." and path.name != ".lock"]
    assert upkeep.faults(tmp_path) == []


def damage(path):
    """One bit of the middle of a file."""
    data = path.read_bytes()
    path.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])


def forge(path):
    """A table of the same run with another number."""
    record, _, _ = toy()
    path.write_bytes(store.table_bytes(tables_of(record | {"accuracy": 0.9})["runs"]))


TAMPERING = {
    "forged record": ("runs/toy.parquet", forge, "runs/toy.parquet is not the file that was sealed"),
    "missing file": ("documents/toy.parquet", os.remove, "documents/toy.parquet is missing"),
    "extra file": ("notes.txt", lambda path: path.write_text("mine"), "notes.txt is no file of the archive"),
    "no manifest": ("MANIFEST", os.remove, "has no MANIFEST"),
}


@pytest.mark.faults
@pytest.mark.parametrize("kind", TAMPERING)
def test_what_is_not_as_sealed_is_named(tmp_path, kind):
    folder = tmp_path / "archive"
    name, tamper, told = TAMPERING[kind]
    merged(folder)
    assert upkeep.faults(folder) == []
    assert upkeep.seal(folder) == []
    tamper(folder / name)
    assert any(told in line for line in upkeep.faults(folder)), upkeep.faults(folder)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("reported/tolerances.csv", lambda: store.read_data("reported/tolerances.csv")),
        ("measured/permuted.csv", lambda: derived.measured("permuted.csv")),
        ("examples/readings.json", play.stored),
        (f"archive/{sentence.FOLDER}/model.npz", sentence.load),
    ],
)
def test_an_edited_number_beside_the_archive_is_named_and_refused(archive, tmp_path, name, read):
    play.stored.cache_clear()
    path = tmp_path / name
    for table in (tmp_path / "reported" / "tolerances.csv", path):
        table.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REAL.parent / table.relative_to(tmp_path), table)
    merged(archive)
    assert upkeep.faults(archive) == []
    damage(path)
    assert [told.removeprefix("../") for told in upkeep.faults(archive)] == [
        f"{name.removeprefix('archive/')} is not the file that was sealed"
    ]
    with pytest.raises(Damaged, match=f"{path.name} is not the file that MANIFEST names"):
        read()


@pytest.mark.faults
@pytest.mark.parametrize("layer", ["runs", "numbers"])
@pytest.mark.parametrize(
    "tamper", [damage, lambda path: os.truncate(path, 90)], ids=["flipped byte", "truncated"]
)
def test_what_is_not_as_sealed_enters_no_number(archive, capsys, layer, tamper):
    """Of two data sets the damaged one is left out and named, by each process."""
    runs = [Run("20news"), Run("sst")]
    for run in runs:
        result = store.read(REAL, run.key)
        upkeep.merge(archive, run.corpus, rows.tables(result.record, result.numbers), {run.key: None})
    tamper(archive / layer / "sst.parquet")
    for _ in range(2):
        index._read_runs.cache_clear()
        assert index.runs()["key"].tolist() == [runs[0].key]
        assert f"{layer}/sst.parquet" in capsys.readouterr().err
    with pytest.raises(Damaged):
        store.read(archive, runs[1].key)


def test_a_run_is_sealed_as_it_is_stored_and_what_cannot_be_read_never_taken(tmp_path):
    upkeep.seal(tmp_path)
    merged(tmp_path)
    merged(tmp_path, toy_traces(seed=1))
    assert upkeep.faults(tmp_path) == []
    damage(tmp_path / "traces" / "toy.parquet")
    assert upkeep.seal(tmp_path) == ["traces/toy.parquet is not the file that was sealed"]
    assert not upkeep.faults(tmp_path)
    with pytest.raises(Damaged, match=r"traces/toy\.parquet is unreadable"):
        store.read(tmp_path, "toy")


def test_runs_stored_at_once_are_all_sealed(tmp_path):
    """By threads here; by processes, each has a lock of its own kind on the same file."""
    keys = [f"toy-{name}" for name in range(12)]
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda key: upkeep.merge(tmp_path, "toy", tables_of(RECORD | {"key": key}), {key: None}), keys
            )
        )
    assert upkeep.faults(tmp_path) == []
    assert store.keys(tmp_path) == sorted(keys)


def test_the_command_names_what_was_changed_and_sealed_metrics_that_traces_deny(archive, called):
    merged(archive)
    store.sealed(archive, "runs/toy.parquet")
    forge(archive / "runs" / "toy.parquet")
    for told in ("runs/toy.parquet is not the file that was sealed", "the record says accuracy 0.9000"):
        status, out, _ = called("archive", "verify")
        assert status == 1
        assert told in out
        upkeep.seal(archive)


def test_posix_alone_has_fcntl():
    """Nothing of this package is imported for reading that other systems lack."""
    code = "import sys; sys.modules['fcntl'] = None; import attn_lab; print(attn_lab.numbers('accuracy').shape[0] > 9)"
    assert python("-c", code) == "True\n"


REAL = store.find_archive()


def test_the_archive_is_whole_and_small():
    assert upkeep.faults(REAL) == []
    for key in store.keys(REAL):
        upkeep.verify(REAL, key)
    size = sum(path.stat().st_size for path in REAL.rglob("*.*") if path.is_file())
    assert size < 43e6, f"{size:,} bytes; the archive may take 43 MB"
    first = {}
    for path in REAL.glob("traces/*.parquet"):
        run = store.read_record(REAL, path.stem)["run"]
        corpus = run["corpus"]
        ids = set(pd.read_parquet(path, columns=["doc_id"])["doc_id"])
        # A page shows the first texts of the models that were trained to hide, in the corpus's own order.
        if not re.search("-(han|flan)_", path.stem) and not run.get("hide"):
            kept = first.setdefault(corpus, ids)
            assert ids <= kept or kept <= ids, f"{path} keeps other documents than the other runs of {corpus}"


def test_the_columns_that_follow_from_a_record_are_what_it_says():
    """Fields, variant, kind of data and scores stand in the tables for those who read them alone; a field
    that came later is empty in older rows, where it is at its default."""
    default = {field.name: field.default for field in fields(Run)}
    for stem in store.stems(REAL):
        for row in store.table(REAL, "runs", stem).to_pylist():
            fresh = rows.run_row(json.loads(row["record"]))
            stored = {name: default.get(name) if value is None else value for name, value in row.items()}
            assert stored == {name: fresh.get(name) for name in row}, row["key"]
        numbers = upkeep.plain(
            store.table(REAL, "numbers", stem, ("key", *store.FIELDS_BESIDE_NUMBERS))
        ).to_pandas()
        runs = (
            store.table(REAL, "runs", stem, ("key", *store.FIELDS_BESIDE_NUMBERS))
            .to_pandas()
            .set_index("key")
        )
        shown = numbers.drop_duplicates().set_index("key")
        pd.testing.assert_frame_equal(shown, runs.loc[shown.index, list(shown)])
