"""Trainings that differ by one rounding of their starting weights."""

import pytest
import torch
from tiny_runs import pack_run, tiny

from attn_lab.more import interventions
from attn_lab.runs import packing, store, upkeep
from attn_lab.runs.packing import compared_with
from attn_lab.runs.results import obtain


def test_rounding_moves_each_weight_to_a_neighbour_and_keeps_zeros():
    model = torch.nn.Sequential(torch.nn.Embedding(50, 4, padding_idx=0), torch.nn.Linear(4, 3))
    before = [weight.detach().clone() for weight in model.parameters()]
    interventions.nudge(model, 1)
    for old, new in zip(before, model.parameters(), strict=True):
        above = torch.nextafter(old, torch.tensor(torch.inf))
        below = torch.nextafter(old, torch.tensor(-torch.inf))
        assert torch.equal(new == 0, old == 0) and ((new == above) | (new == below) | (old == 0)).all()
    assert 0.4 < (model[0].weight[1:].abs() > before[0][1:].abs()).float().mean() < 0.6


def test_a_training_that_differs_by_rounding_stands_beside_its_archived_twin(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTN_ARCHIVE", str(tmp_path / "archive"))
    (tmp_path / "archive").mkdir()
    base, twin = tiny(), tiny(rounding=1)
    assert compared_with(twin) == base
    obtain(base, progress=False)
    traces = obtain(twin, progress=False).traces
    assert traces.gradient is None and traces.leave_one_out is None
    _, live = packing.beside(twin, traces)
    assert 0 < live["against"]["jsd"] < 1e-6  # one epoch of a small model: rounding stays what it is
    pack_run(base)
    upkeep.remove(store.cache_store(), base.key)
    monkeypatch.setattr(packing, "at_hand", lambda run: pytest.fail("the archive has it"))
    pack_run(twin)
    packed = store.read(store.archive_folder(), twin.key)
    assert packed.record["against"]["base"] == base.key and packed.traces is None
    assert not set(packed.numbers["measure"]) & {"echo", "median_change"}
    assert packed.record["against"]["jsd"] == pytest.approx(packed.against["jsd"].mean(), abs=1e-9)
