"""The store: whole or not at all, checked on reading, small, and the same documents for every run of a corpus."""

import dataclasses
import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import python, refused, toy_pairs, toy_traces
from hypothesis import given
from hypothesis import strategies as st
from scorecard_runs import result_of

from attn_book import derived, play
from attn_core.errors import Damaged
from attn_core.traces import round_mantissa
from attn_lab.data.order import fixed_order
from attn_lab.runs import index, packing, rows, sentence, store, upkeep
from attn_lab.runs.run import Run, as_dict, from_dict

RECORD = {"key": "toy", "run": {"corpus": "toy", "seed": 10}, "n_test": 6, "accuracy": 0.5}


def tables_of(record, documents=None) -> dict[str, pa.Table]:
    """As `rows.tables` makes them, of a record that no run has."""
    tables = {"runs": pa.table({"key": [record["key"]], "record": [json.dumps(record)]})}
    if documents is not None:
        columns = documents.assign(key=record["key"]).to_dict("list")
        tables["documents"] = pa.table(columns)
    return tables


def toy(traces=None, **changes):
    """A made-up run: its tables and traces. changes: of its record."""
    traces = (traces or toy_traces()).rounded()
    record = RECORD | {"accuracy": float((traces.predicted == traces.label).mean())} | changes
    return tables_of(record, pd.DataFrame({"doc_id": traces.doc_id, "p": traces.p})), traces


def cached(folder, *traces, **changes):
    """The made-up run in a store of one file a run."""
    tables, traces = toy(*traces, **changes)
    store.write(folder, "toy", tables, traces)
    return traces


def merged(folder, *traces):
    """The made-up run in an archive."""
    tables, traces = toy(*traces)
    upkeep.merge(folder, "toy", tables, {"toy": store.traces_bytes(traces)})
    return traces


@pytest.mark.parametrize("traces", [toy_traces(), toy_traces(classes=3), toy_pairs(allowed=2)], ids=len)
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("put", [cached, merged])
def test_what_is_written_is_read(tmp_path, traces, whole, put):
    traces = traces if whole else dataclasses.replace(traces, gradient=None, leave_one_out=None)
    traces = put(tmp_path, traces)
    found = store.read(tmp_path, "toy")
    for name, values in vars(traces).items():
        np.testing.assert_array_equal(getattr(found.traces, name), values, name)
    np.testing.assert_allclose(found.documents["p"], traces.p, atol=2e-6)
    upkeep.verify(tmp_path, "toy")


def test_values_that_are_not_defined_are_told_from_columns_that_a_run_has_not(tmp_path):
    """Two runs of one table: NaN stays, what only the other has is not there, whole numbers stay whole."""
    frames = {
        "toy-second": pd.DataFrame({"doc_id": [1], "p": [0.5]}),
        "toy-first": pd.DataFrame({"doc_id": [1, 2], "tau": [np.nan, np.nan], "count": [3, 4]}),
    }
    for key, frame in frames.items():
        upkeep.merge(tmp_path, "toy", tables_of(RECORD | {"key": key}, frame), {key: None})
    for key, frame in frames.items():
        pd.testing.assert_frame_equal(store.rows_of(tmp_path, "documents", key), frame)
    assert store.keys(tmp_path) == sorted(frames)


def test_a_record_that_tells_another_story_is_refused(tmp_path):
    cached(tmp_path, accuracy=0.123)
    with refused("record says accuracy"):
        upkeep.verify(tmp_path, "toy")
    for text, reason in ((json.dumps(RECORD | {"key": "other"}), "holds key 'other'"), ("{", "unreadable")):
        store.write(tmp_path, "toy", {"runs": pa.table({"key": ["toy"], "record": [text]})})
        with pytest.raises(Damaged, match=reason):
            store.read(tmp_path, "toy")


def test_what_builds_on_another_training_of_its_base_is_refused(archive):
    """Same seed and settings, other weights: nobody could look up the model that a run was compared with."""
    base, traces = Run("sst"), toy_traces().rounded()
    tables = tables_of({"key": base.key, "run": as_dict(base)})
    packing.same_as_archived(base, traces)  # nothing is archived
    for kept in (None, store.traces_bytes(traces.take([1, 2, 4]))):  # without its documents, and with some
        upkeep.merge(archive, "sst", tables, {base.key: kept})
        packing.same_as_archived(base, traces.take([5, 4, 3, 2, 1, 0]))
    other = dataclasses.replace(traces, score=toy_traces(seed=1).rounded().score)
    with refused(f"{base.key} became another model here .*--fresh"):
        packing.same_as_archived(base, other)


def test_sample_depends_on_the_corpus_alone():
    shuffled = np.random.default_rng(0).permutation(100)
    first, again = (doc_ids[fixed_order(doc_ids, "sst")] for doc_ids in (np.arange(100), shuffled))
    np.testing.assert_array_equal(again, first)
    assert (shuffled[fixed_order(shuffled, "imdb")] != first).any()


FLOATS = st.floats(-(2.0**100), 2.0**100, width=32)


@given(FLOATS, FLOATS)
def test_rounding_is_close_monotone_and_keeps_specials(a, b):
    rounded = round_mantissa(np.array([a, b, np.nan, np.inf, 0.0], np.float32))
    np.testing.assert_array_equal(rounded[2:], [np.nan, np.inf, 0])
    if abs(a) > 1e-30:
        assert abs(rounded[0] - a) <= abs(a) * 2.0**-13 * (1 + 1e-6)
    assert (a <= b) <= (rounded[0] <= rounded[1])
    assert rounded[0].view(np.uint32) & 0x7FF == 0


KILLED_AT = [  # how a run is stored, the function at which its writer is killed, after so many calls
    (cached, (os, "fdopen"), 0),
    (cached, (os, "chmod"), 0),
    (cached, (os, "replace"), 0),
    (merged, (Path, "write_bytes"), 0),
    (merged, (os, "rename"), 0),
]
DECIDED = [(merged, (os, "replace"), calls) for calls in range(3)]
"""From here on the new run stands: the next who comes moves the rest."""


@pytest.mark.faults
@pytest.mark.parametrize(("put", "at", "calls"), KILLED_AT + DECIDED)
def test_a_store_is_the_old_one_or_the_new_one_if_its_writer_is_killed(tmp_path, monkeypatch, put, at, calls):
    first = put(tmp_path)
    whole = getattr(*at)
    left = iter(range(calls))

    def killing(*given):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return whole(*given)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(*at, killing)
        for nothing in ((shutil, "rmtree"), (Path, "unlink")):  # is done by the writer after the kill
            patched.setattr(*nothing, lambda *_, **__: None)
        put(tmp_path, toy_traces(seed=1))
    monkeypatch.setattr("psutil.pid_exists", lambda process: False)
    right = toy_traces(seed=1).rounded() if (put, at, calls) in DECIDED else first
    np.testing.assert_array_equal(store.read(tmp_path, "toy").traces.score, right.score)
    upkeep.verify(tmp_path, "toy")
    store.sweep_away(tmp_path)
    assert not [path for path in tmp_path.rglob(".*") if path.name != ".lock"]
    assert put is cached or upkeep.faults(tmp_path) == []


def damage(path):
    """One bit of the middle of a file."""
    data = path.read_bytes()
    path.write_bytes(data[:200] + bytes([data[200] ^ 1]) + data[201:])


def test_what_is_not_as_sealed_is_named(tmp_path):
    merged(tmp_path)
    assert upkeep.seal(tmp_path) == []
    (tmp_path / "documents" / "toy.parquet").unlink()
    (tmp_path / "notes.txt").write_text("mine")
    assert upkeep.faults(tmp_path) == [
        "documents/toy.parquet is missing",
        "notes.txt is no file of the archive",
    ]
    (tmp_path / "MANIFEST").unlink()
    (told,) = upkeep.faults(tmp_path)
    assert "has no MANIFEST" in told


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
    (told,) = upkeep.faults(archive)
    assert told.removeprefix("../") == f"{name.removeprefix('archive/')} is not the file that was sealed"
    with pytest.raises(Damaged, match=f"{path.name} is not the file that MANIFEST names"):
        read()


@pytest.mark.faults
@pytest.mark.parametrize("layer", ["runs", "numbers"])
def test_what_is_not_as_sealed_enters_no_number(stored, capsys, layer):
    """Of two data sets the damaged one is left out and named, by each process."""
    kept, damaged = stored([result_of("20news"), result_of("sst")])
    damage(store.archive_folder() / layer / "sst.parquet")
    for _ in range(2):
        index._read_runs.cache_clear()
        assert index.runs()["key"].tolist() == [kept.key]
        assert f"{layer}/sst.parquet" in capsys.readouterr().err
    with pytest.raises(Damaged):
        store.read(store.archive_folder(), damaged.key)


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

    def put(key):
        upkeep.merge(tmp_path, "toy", tables_of(RECORD | {"key": key}), {key: None})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, keys))
    assert upkeep.faults(tmp_path) == []
    assert store.keys(tmp_path) == sorted(keys)


def test_the_command_names_what_was_changed_and_sealed_metrics_that_traces_deny(archive, called):
    merged(archive)
    tables, _ = toy(accuracy=0.9)
    (archive / "runs" / "toy.parquet").write_bytes(store.table_bytes(tables["runs"]))
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
        # A page shows the first texts of the models that were trained to hide, in the corpus's own order.
        if not re.search("-(han|flan)_", path.stem) and not run.get("hide"):
            ids = set(pd.read_parquet(path, columns=["doc_id"])["doc_id"])
            kept = first.setdefault(run["corpus"], ids)
            assert ids <= kept or kept <= ids, f"{path} keeps other documents than the others of its corpus"


def test_the_columns_that_follow_from_a_record_are_what_it_says():
    """Fields, variant, kind of data and scores stand in the tables for those who read them alone; a field
    that came later is empty in older rows, where it is at its default."""
    default = {field.name: field.default for field in dataclasses.fields(Run)}
    for stem in store.stems(REAL):
        table = store.table(REAL, "runs", stem)
        for row in table.to_pylist():
            record = json.loads(row["record"])
            assert from_dict(record["run"]).key == row["key"]
            fresh = rows.run_row(record)
            kept = {name: default.get(name) if value is None else value for name, value in row.items()}
            assert kept == {name: fresh.get(name) for name in row}, row["key"]
        beside = ("key", *store.FIELDS_BESIDE_NUMBERS)
        numbers = upkeep.plain(store.table(REAL, "numbers", stem, beside)).to_pandas()
        shown = numbers.drop_duplicates().set_index("key")
        runs = table.to_pandas().set_index("key")
        pd.testing.assert_frame_equal(shown, runs.loc[shown.index, list(shown)])
