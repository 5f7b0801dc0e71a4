"""What is cached and believed: a byte that flips anywhere, or an edit, is remade or refused, and the file is named."""

import os
import random
from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import refused
from test_archive import cached

from attn_core.errors import AttnError
from attn_lab.data import files, tables
from attn_lab.runs import store

pytestmark = pytest.mark.faults
FLIPS = 300 if os.environ.get("ATTN_FAULTS") else 40
"""Of all kinds of files together."""

KEY = "toy"
TABLE = pd.DataFrame({"text": [f"a fine film indeed, number {n}" for n in range(60)], "label": [0, 1] * 30})


def store_run() -> None:
    cached(store.cache_store())


def read_run() -> list:
    """As a process does that has read nothing yet."""
    store._table.cache_clear()
    result = store.read(store.cache_store(), KEY)
    return [result.record, result.documents["p"].tolist(), result.traces.score.tolist()]


def weights() -> list:
    """Those of the cache, or trained anew."""
    if store.read_weights(KEY, {"data": "x"}) is None:
        arrays = {"decoder.weight": np.linspace(-1, 1, 200, dtype=np.float32)}
        store.write_weights(KEY, {"dev": arrays, "test": arrays}, {"history": [1.0]}, {"data": "x"})
    checkpoints, training = store.read_weights(KEY, {"data": "x"})
    return [checkpoints["dev"]["decoder.weight"].tolist(), training]


def arrays_made() -> list:
    about, arrays = files.cached(
        files.cache_folder() / "arrays" / KEY,
        1,
        lambda: {"train": "y"},
        lambda: ({"fingerprint": "z", "words": ["good", "bad"]}, {"ids": np.arange(300)}),
    )
    return [about["words"], arrays["ids"].tolist()]


def store_table() -> None:
    files.keep(
        files.cache_folder() / "tables" / "sst" / "train.parquet", partial(TABLE.to_parquet, index=False)
    )


def read_table() -> list:
    return tables.read("sst", "train").to_numpy().tolist()


STORED = {  # what is stored -> the function that stores it, the one that reads it, where its files lie
    "run": (store_run, read_run, "runs/*"),
    "weights": (weights, weights, "weights/*"),
    "arrays": (arrays_made, arrays_made, "arrays/*"),
    "table": (store_table, read_table, "tables/sst/*"),
}


@pytest.mark.usefixtures("no_data_at_hand")
@pytest.mark.parametrize("kind", STORED)
def test_a_flipped_byte_is_remade_or_refused_by_name(kind, monkeypatch, capsys):
    monkeypatch.setattr(tables, "_from_official", lambda entry: store_table() or {"train": TABLE})
    keep, read, pattern = STORED[kind]
    keep()
    right = read()
    paths = [path for path in store.cache_store().glob(pattern) if path.suffix != ".lock"]
    assert len(paths) == (1 if kind == "run" else 2), "a run, or a file and its checksum"
    rng = random.Random(kind)
    for _ in range(-(-FLIPS // len(STORED))):
        path = rng.choice(paths)
        damaged = bytearray(path.read_bytes())
        place = rng.randrange(len(damaged))
        damaged[place] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        capsys.readouterr()
        try:
            assert read() == right, "taken as it is"
            said = capsys.readouterr().err
        except AttnError as error:
            said = str(error)
            keep()
        assert path.name.removeprefix(".").removesuffix(".sha256") in said, (path, place, said)
        assert read() == right, "whole again"
        assert not capsys.readouterr().err


def test_an_edited_run_is_refused_with_what_to_do():
    store_run()
    path = store.cache_store() / "runs" / f"{KEY}.zip"
    path.write_bytes(path.read_bytes() + b" ")
    with refused(r"runs/toy\.zip is not what was stored.*--fresh"):
        read_run()


@pytest.mark.parametrize("name", [".. .. mine", "runs .. .. .. mine", ".. mine", ".... ... mine"])
@pytest.mark.parametrize("content", [b"theirs", b""], ids=["replaced", "deleted"])
def test_what_another_has_decided_in_a_shared_cache_stays_in_it(name, content, tmp_path):
    cache = tmp_path / "shared" / "cache"
    (cache / "runs").mkdir(parents=True)
    outside = [tmp_path / "mine", tmp_path / "shared" / "mine"]
    for path in outside:
        path.write_bytes(b"mine")
    decided = cache / f"{store.DECIDED}.1@machine.toy"
    decided.mkdir()
    (decided / f"0000 {name}").write_bytes(content)
    store.settle(cache)
    assert not decided.exists()
    assert [path.read_bytes() for path in outside] == [b"mine"] * 2
