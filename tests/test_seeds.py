"""Many seeds at once: the LSTM of all models is torch's, and each model comes out as it does alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attn_core import compute, store
from attn_core.fast.lstm import Steps, packing
from attn_core.run import Run, as_dict
from attn_core.sweep import groups, sweep
from attn_core.training import jain, seeds

LENGTHS = st.integers(1, 3).flatmap(
    lambda texts: st.lists(st.lists(st.integers(1, 6), min_size=texts, max_size=texts), min_size=1, max_size=3)
)


@settings(max_examples=30, deadline=None)
@given(LENGTHS, st.integers(0, 9))
def test_states_and_gradients_are_those_of_torchs_lstm(lengths, seed):
    """Forward and backward states of every text by its own nn.LSTM call, in double precision; pads read nothing."""
    torch.manual_seed(seed)
    lengths = torch.tensor(lengths)
    models, texts = lengths.shape
    width, hidden = 3, 2
    lstms = [nn.LSTM(width, hidden, bidirectional=True).double() for _ in range(models)]
    x = torch.randn(models, texts, int(lengths.max()), width, dtype=torch.float64)
    slope = torch.randn(*x.shape[:3], 2 * hidden, dtype=torch.float64)

    def gradients():
        found = [parameter.grad.clone() for lstm in lstms for parameter in lstm.parameters()]
        for lstm in lstms:
            lstm.zero_grad()
        return found

    def both(lstm, name):
        return [getattr(lstm, f"{name}_l0{side}") for side in ("", "_reverse")]

    for s, lstm in enumerate(lstms):
        for b, length in enumerate(lengths[s].tolist()):
            (lstm(x[s, b, :length])[0] * slope[s, b, :length]).sum().backward()
    expected = gradients()

    packed = packing(lengths)
    sums = torch.stack([
        x[s] @ torch.cat(both(lstm, "weight_ih")).T + sum(torch.cat(both(lstm, f"bias_{k}")) for k in ("ih", "hh"))
        for s, lstm in enumerate(lstms)
    ])  # fmt: skip
    weight = torch.stack([torch.stack(both(lstms[s], "weight_hh")) for s in packed.order]).flatten(0, 1)
    h = Steps.apply(sums.view(-1, 4 * hidden)[packed.source], weight, packed)
    states = torch.cat([h[packed.ahead], h[packed.back]], -1)
    real = torch.arange(x.shape[2]) < lengths[..., None]
    for s, b in np.ndindex(models, texts):
        length = lengths[s, b]
        torch.testing.assert_close(states[s, b, :length], lstms[s](x[s, b, :length])[0])
    (states * slope)[real].sum().backward()
    for found, one in zip(gradients(), expected, strict=True):
        torch.testing.assert_close(found, one)


SMALL = (("n_dev", 40), ("n_test", 12), ("n_train", 203))
RUNS = [Run("planted", seed=seed, attention=attention, epochs=2, options=SMALL)
        for attention in ("tanh", "dot") for seed in (1, 2, 3)]  # fmt: skip


@pytest.mark.parametrize("runs", [RUNS[:3], RUNS[3:5]], ids=["tanh", "dot"])
def test_each_model_is_that_of_its_seed_alone(runs):
    """203 texts in batches of 32: one batch of an epoch is smaller, at another place for each seed."""
    data, matrix, _ = compute.inputs_of(runs[0])
    for run, found in zip(runs, seeds.fit(runs, data, matrix, "cpu", False), strict=True):
        torch.manual_seed(run.seed)
        expected = jain.fit(run, data, matrix, "cpu", False)
        assert [row["epoch"] for row in found.history] == [row["epoch"] for row in expected.history]
        for row, other in zip(found.history, expected.history, strict=True):
            assert row == pytest.approx(other, abs=1e-5)
        for selection, arrays in expected.weights.items():
            p, q = (jain.attended(run, one, data.splits["test"], "cpu", False).p
                    for one in (arrays, found.weights[selection]))  # fmt: skip
            np.testing.assert_allclose(p, q, atol=1e-5)


def test_what_is_trained_alone():
    assert seeds.fellows(Run("planted", seed=1, selection="test")) == seeds.fellows(Run("planted", seed=2))
    for other in (Run("snli"), Run("planted", "cnn"), Run("planted", tie=1.0), Run("planted", rounding=1)):
        assert seeds.fellows(other) is None


def test_a_sweep_of_many_seeds_trains_each_group_once(tmp_path, monkeypatch):
    """In several processes, too: test_sweep.py."""
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path))
    other = Run("planted", "average", seed=1, epochs=1, options=SMALL)
    runs = [*RUNS[:3], replace(RUNS[0], selection="test"), other]
    assert sweep(runs, progress=False, batch_seeds=2) == {}
    seconds = {}
    for run in runs:
        record = store.read_record(store.cache_store(), run.key)
        seconds[run] = record["seconds"]["train"]
        assert record["run"] == as_dict(run)
    assert seconds[RUNS[0]] == seconds[RUNS[1]] == seconds[runs[3]] != seconds[RUNS[2]]  # two, and the third alone


def test_a_run_of_which_something_is_cached_joins_no_group(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path))
    assert set(groups(RUNS[:3], 3)) == {*RUNS[:3]}
    monkeypatch.setattr("attn_core.sweep.fits", lambda run, folder: run == RUNS[0])
    assert set(groups(RUNS[:3], 3)) == {*RUNS[1:3]}
