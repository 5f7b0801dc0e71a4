"""What of a seed's variance is rounding: means over shared documents, the verdict, its words."""

import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from tiny_runs import TINY
from wiegreffe_results import beside_table, result_of

from attn_book.wiegreffe import rounding
from attn_core import archive, packing, runs, standard
from attn_core.runs import SEEDS, Run, as_dict, obtain


def tiny(**fields) -> Run:
    return Run("planted", encoder="average", seed=10, epochs=1, options=TINY, **fields)


def made(of_rounding: list[float], of_seeds: list[float], corpus="sst") -> pd.DataFrame:
    tables = [{i: beside_table(jsd) for i, jsd in enumerate(values)} for values in (of_rounding, of_seeds)]
    return rounding.compared(rounding.distances(*tables, corpus))


def test_means_are_over_the_documents_that_all_trainings_have():
    whole, part = beside_table(0.1, 8), beside_table(0.1, 8).assign(jsd=np.arange(8.0)).iloc[[6, 2]]
    rows = rounding.distances({1: part}, {50: whole, 257: whole.assign(jsd=whole["doc_id"])}, "sst")
    assert rows["n"].tolist() == [2, 2, 2] and rows["jsd"].tolist() == [4.0, pytest.approx(0.1), 4.0]
    assert rows["kind"].tolist() == ["rounding", "seed", "seed"] and rows["number"].tolist() == [1, 50, 257]


def test_welch_by_hand():
    """Means 3 and 1, variances 4 and 1 over 3 values each: error sqrt(5/3), 2.941 degrees of freedom, t 3.2188."""
    low, high = rounding.welch(np.array([1.0, 3.0, 5.0]), np.array([0.0, 1.0, 2.0]))
    assert (low + high) / 2 == pytest.approx(2)
    assert (high - low) / 2 == pytest.approx(3.21876 * np.sqrt(5 / 3), rel=1e-5)
    assert np.isnan(rounding.welch(np.ones(2), np.ones(3))).all()


NEAR = [0.10, 0.11, 0.12, 0.11, 0.10]


@pytest.mark.parametrize(("of_rounding", "of_seeds", "lies", "words"), [
    ([1e-5] * 4 + [2e-5], NEAR, "none", "what differs is the seed's doing. Rounding 0.000012 ("),
    (NEAR, NEAR[::-1], "alike", "not told apart: trained again"),
    (NEAR, [0.2, 0.21, 0.22, 0.2, 0.2075], "seeds farther", "rounding alone is as large as 52% of their distance"),
    ([0.2, 0.21, 0.22, 0.2, 0.2], NEAR, "rounding farther", "farther than another seed"),
    (NEAR[:4], NEAR, "few", "a verdict needs 5 of each"),
    (NEAR, NEAR[:3], "few",
     "0.108 (0.098 to 0.118), 5 trainings; other seeds 0.110 (0.085 to 0.135), 3; outputs move by 0.050 and 0.050"),
])  # fmt: skip
def test_the_sentence_follows_the_numbers(of_rounding, of_seeds, lies, words):
    (row,) = made(of_rounding, of_seeds).itertuples()
    assert row.lies == lies and words in rounding.sentence(row)


def test_trainings_in_one_place_are_one_number():
    """Five that lie alike from the base, document by document, have no interval; equal means alone do not suffice."""
    alike = [1e-5, 1.01e-5, 1.02e-5, 1e-5, 1e-5]
    (row,) = made(alike, NEAR).itertuples()
    assert row.together and row.spread == pytest.approx(2e-7, rel=1e-3)
    assert "Rounding 0.000010, 5 trainings (one number, no interval: " in rounding.sentence(row)
    tables = {i: beside_table(0.1 + 0.01 * i, 6) for i in range(5)}
    moved = {i: table.assign(jsd=np.roll(np.linspace(0, 0.2, 6), i) + 0.001 * i) for i, table in tables.items()}
    (row,) = rounding.compared(rounding.distances(moved, tables, "sst")).itertuples()
    assert not row.together and "no interval" not in rounding.sentence(row)


def test_the_sets_that_rounding_moves_are_told_with_its_share():
    rows = pd.concat(
        [
            made([1e-5] * 4 + [2e-5], NEAR),
            made(NEAR, [0.2, 0.21, 0.22, 0.2, 0.2075], "agnews"),
            made(NEAR[:4], NEAR, "imdb"),
        ]
    )
    assert rounding.chaotic(rows) == "agnews (by 52% of what other seeds do)"
    assert rounding.chaotic(rows.iloc[[0, 2]]) == "none"


def test_kept_epochs():
    histories = [[{"dev_auc": value} for value in values] for values in ((0.9, 0.7, 0.8, 0.8), (0.9, 0.9), (0.5,))]
    assert [rounding.kept_epoch(history) for history in histories] == [3, 2, 1]
    results = [result_of(Run("sst", rounding=i + 1)) for i in range(3)]
    for result, history in zip(results, histories, strict=True):
        result.record["history"] = history
    assert rounding.kept_epochs({"sst": dict(enumerate(results)), "imdb": {1: results[0], 2: results[0]}}) == (
        "sst 1, 2, 3; imdb 3 (all)"
    )


def test_absent_trainings_are_named_by_data_set(tmp_path, monkeypatch):
    store = tmp_path / "archive"
    (tmp_path / "sweeps").mkdir()
    store.mkdir()
    (tmp_path / "sweeps" / "rounding.yml").write_text("- corpus: [sst, 20news]\n  rounding: [1, 2]\n")
    monkeypatch.setenv("ATTN_ARCHIVE", str(store))
    run = Run("sst", rounding=2)
    archive.write(store, run.key, {"key": run.key, "run": as_dict(run)}, {"against.parquet": beside_table(0.1)})
    found, lines = rounding.gather(["sst", "20news", "imdb"])
    assert {corpus: list(results) for corpus, results in found.items()} == {"sst": [2]}
    assert len(found["sst"][2].against) == len(beside_table(0.1))
    told = "trainings that differ by rounding absent"
    assert [line.split("\n")[0] for line in lines] == [f"sst: 1 of 2 {told}", f"20news: 2 of 2 {told}"]
    assert rounding.gather(["imdb"]) == ({}, [])


def test_strips_draw_a_point_a_training():
    import matplotlib.pyplot as plt

    rows = pd.concat([rounding.distances({1: beside_table(0.1)}, {s: beside_table(0.2) for s in SEEDS[1:3]}, name)
                      for name in ("sst", "20news")])  # fmt: skip
    _, ax = plt.subplots()
    rounding.strips(ax, rows)
    assert [len(line.get_xdata()) for line in ax.get_lines()] == [2, 4] and ax.get_xscale() == "log"
    plt.close()


def test_rounding_moves_each_weight_to_a_neighbour_and_keeps_zeros():
    model = torch.nn.Sequential(torch.nn.Embedding(50, 4, padding_idx=0), torch.nn.Linear(4, 3))
    before = [weight.detach().clone() for weight in model.parameters()]
    standard.nudge(model, 1)
    for old, new in zip(before, model.parameters(), strict=True):
        above = torch.nextafter(old, torch.tensor(torch.inf))
        below = torch.nextafter(old, torch.tensor(-torch.inf))
        assert torch.equal(new == 0, old == 0) and ((new == above) | (new == below) | (old == 0)).all()
    assert 0.4 < (model[0].weight[1:].abs() > before[0][1:].abs()).float().mean() < 0.6
    moved = model[0].weight.detach().clone()
    for draw, same in ((1, True), (2, False)):  # the draw decides, and nothing else
        with torch.no_grad():
            model[0].weight.copy_(before[0])
        standard.nudge(model, draw)
        assert torch.equal(moved, model[0].weight) == same


def test_a_training_that_differs_by_rounding_stands_beside_its_archived_twin(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTN_ARCHIVE", str(tmp_path / "archive"))
    (tmp_path / "archive").mkdir()
    base, twin = tiny(), tiny(rounding=1)
    assert runs.compared_with(twin) == base
    obtain(base, progress=False)
    traces = obtain(twin, progress=False).traces
    assert traces.gradient is None and traces.leave_one_out is None
    _, live = packing.beside(twin, traces)
    assert 0 < live["against"]["jsd"] < 1e-6  # one epoch of a small model: rounding stays what it is
    packing.pack_run(base)
    shutil.rmtree(archive.cache_store() / base.key)
    monkeypatch.setattr(packing, "at_hand", lambda run: pytest.fail("the archive has it"))
    packing.pack_run(twin)
    packed = archive.read(archive.archive_folder(), twin.key)
    assert packed.record["against"]["base"] == base.key and packed.traces is None and packed.summary is None
    assert packed.record["against"]["jsd"] == pytest.approx(packed.against["jsd"].mean(), abs=1e-9)
