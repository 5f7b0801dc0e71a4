"""No stored run, no key and no number changes unseen, see tests/golden."""

import pytest
from golden import CLOSE, CLOSE_SEARCHED, alike, digests, read, scorecard_rows, stored_tables

from attn_lab.runs import store
from attn_lab.runs.run import from_dict

TABLES = read("tables.json.xz")


def test_every_row_of_the_scorecard_is_what_it_was():
    rows, golden = scorecard_rows(), read("scorecard.json.xz")
    assert len(rows) == len(golden)
    for old, row in zip(golden, rows, strict=True):
        for name in old:
            assert alike(old[name], row.get(name)), (old["item"], old["corpus"], name)


@pytest.mark.parametrize("key", TABLES)
def test_stored_traces_give_the_same_tables(key):
    found, golden = stored_tables(key), TABLES[key]
    for name, table in golden.items():
        assert list(found[name]) == list(table), name
        for column, values in table.items():
            of = found[name].get("statistic", [""] * len(values))  # of a summary's rows
            for row, *pair in zip(of, values, found[name][column], strict=True):
                searched = "search epsilon" in column + row
                assert alike(*pair, CLOSE_SEARCHED if searched else CLOSE), (name, row, column, *pair)


def test_keys_are_what_they_were():
    for entry in read("runs.json"):
        assert from_dict(entry["run"]).key == entry["key"]


@pytest.mark.thorough
def test_no_stored_run_has_changed():
    now = digests()
    assert now == read("archive.json.xz")
    assert set(store.keys(store.archive_folder())) == set(now)


def test_a_changed_number_is_noticed():
    assert alike(1.0, 1.0 + 1e-12)
    assert alike(None, None)
    assert alike("x", "x")
    assert not alike(1.0, 1.1)
    assert not alike(None, 0.0)
    assert not alike(1.0, 1.0 + 1e-8)
    assert not alike("x", "y")
