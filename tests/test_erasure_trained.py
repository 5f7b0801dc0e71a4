"""Acceptance tests of Serrano & Smith's experiments on trained models (specification, section 8.6)."""

import numpy as np
import plain_erasure as twin
import pytest

from attn_core.experiments import draws as random
from attn_core.experiments.erasure import RANKINGS, derived, document_table
from attn_core.experiments.removal import NEVER, removals
from attn_core.traces import decisions
from attn_core.obtain import obtain
from attn_core.run import HIERARCHICAL, Run

OPTIONS = (("longest", 10), ("n_dev", 60), ("n_test", 80), ("n_train", 200), ("shortest", 3))
SENTENCES = (("longest_sentence", 2), ("shortest_sentence", 1))
TRAINED = ("average", "lstm", *HIERARCHICAL)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


def train(encoder, cache, monkeypatch):
    """The run and its result: a model trained on planted texts of 3 to 10 words, for the six in sentences of 1 or 2."""
    monkeypatch.setenv("ATTN_CACHE", cache)
    run = Run("planted", encoder=encoder, epochs=4, options=OPTIONS + SENTENCES * (encoder in HIERARCHICAL))
    return run, obtain(run, progress=False)


@pytest.mark.parametrize("encoder", TRAINED)
def test_smallest_flip_set_of_a_trained_model(encoder, cache, monkeypatch):
    """The exact set equals all subsets for every document of up to 10 items, and bounds every ranking."""
    _, result = train(encoder, cache, monkeypatch)
    traces = result.traces
    table = derived(document_table(traces), item_left=True)
    for row in range(len(traces)):
        expected = twin.smallest_flip_set(traces, row) if traces.lengths[row] > 1 else None
        found = table["fraction_optimum"][row] * table["n"][row]
        assert (np.isnan(found) and expected is None) or round(found) == expected
    for name in RANKINGS[:-1]:
        assert (table[f"regret_fraction_{name}"].dropna() >= 0).all()
        never = (table[f"removed_{name}"] == NEVER).to_numpy()
        assert (decisions(traces.logits)[never] == decisions(traces.bias[None].astype(float))[0]).all()
        whole = (table[f"removed_{name}"] == table["n"]).to_numpy()
        assert (table[f"zero_{name}"].to_numpy() == whole).all()
    assert table["fraction_optimum"].notna().sum() > 5


@pytest.mark.parametrize("encoder", TRAINED)
def test_removals_of_a_trained_model(encoder, cache, monkeypatch):
    traces = train(encoder, cache, monkeypatch)[1].traces
    draws = random.uniforms(0, "removal", traces.doc_id, traces.offsets)[0]
    expected = twin.removals(traces, twin.orders(traces, draws))
    table = removals(traces, draws=draws)
    for name in RANKINGS[:-1]:
        assert table[f"removed_{name}"].tolist() == [removed for removed, _, _ in expected[name]]
