"""The benchmark of leave-one-out against length, on very short texts."""

import json
from pathlib import Path

import numpy as np
import pytest

from attn_core.sweep import expand, read_grid
from benchmarks import bench_erasure, bench_lengths, bench_sweep
from benchmarks.cost import operations


def test_cost_by_length_counts_and_times(tmp_path):
    table = bench_lengths.cost_by_length((3, 6, 12), repeats=1, words=24, note="a test")
    assert table["tokens"].tolist() == [3, 6, 12] and table["documents"].tolist() == [8, 4, 2]
    assert (table[["forward", "seconds", "floor_rate", "floor"]] > 0).all(axis=None)
    assert (table["operations"] < table["naive"]).all() and (table["threads"] == 1).all()
    long = np.polyfit(np.log(table["tokens"][1:]), np.log(table["seconds"][1:]), 1)[0]
    assert table["exponent"].tolist() == pytest.approx([long] * 3)
    path = tmp_path / "new" / "table.csv"
    written = bench_lengths.write(path, "beside others", lengths=(3, 5), repeats=1, words=10)
    assert len(path.read_text().splitlines()) == 1 + len(written) == 3 and (written["note"] == "beside others").all()


def test_removal_orders_against_one_forward_per_removal():
    """Far below what `make bench` shows (90 and 180 times), so that a busy machine cannot fail it."""
    found = bench_erasure.compare(180, 1)
    assert 5 < found["removals"] <= 5 * 180
    assert found["decoder"] > 15 * found["fast"] and found["network"] > 25 * found["fast"]
    taken, _ = bench_erasure.by_length(lengths=(45, 720))
    assert taken[1] < 3 * 16 * taken[0]


def test_the_runs_of_one_data_set_are_those_of_the_sweeps(tmp_path):
    """What `--wiegreffe CORPUS` times is all that the four sweeps plan there, and nothing else."""
    path = tmp_path / "grid.yml"
    path.write_text(json.dumps(bench_sweep.blocks_on("agnews")))
    planned = {
        run
        for sweep in (Path(__file__).parents[1] / "data" / "sweeps").glob("wiegreffe-*.yml")
        for run in read_grid(sweep)
    }
    assert set(read_grid(path)) == {run for run in planned if run.corpus == "agnews"}
    with pytest.raises(SystemExit, match="names the data set 'news'"):
        bench_sweep.wiegreffe("news")


def test_the_benchmark_of_a_sweep_compares_both_ways(monkeypatch):
    block = {"corpus": "planted", "seed": "2 seeds", "epochs": 1}
    with pytest.raises(RuntimeError, match="failed"):
        bench_sweep.seconds([{**block, "options": [[["shortest", 0]]]}], [], 1)
    monkeypatch.setattr(bench_sweep, "seconds", lambda blocks, words, threads: 2.0 if words else 3.0 * len(blocks))
    rows = list(bench_sweep.rows(blocks=[block]))
    assert [(row["seconds"], row["plain"], row["ratio"]) for row in rows] == [(2, 3, 1.5)] * 2
    assert [row["name"].split(", ", 2)[2] for row in rows] == ["2 seeds, --jobs 2", "2 seeds, --batch-seeds 3"]


def test_the_minutes_are_of_every_run_of_the_data_set(monkeypatch):
    """The row counts the runs of the blocks that are timed."""
    timed = []
    monkeypatch.setattr(bench_sweep, "seconds", lambda *words: timed.append(words) or 120.0)
    row = bench_sweep.wiegreffe("sst").iloc[0]
    ((blocks, words, threads),) = timed
    assert row["runs"] == len({run for block in blocks for run in expand(block, Path("blocks"))}) > 100
    assert row["minutes"] == 2 and row["processes"] == int(words[-1]) == 2 and threads == 1
