"""The controls with other documents' premises."""

from dataclasses import replace

import numpy as np
import pandas as pd
import plain
import pytest
from conftest import store_run, toy_pairs

from attn_book.jain import premise
from attn_core.runs import Run

COLUMNS = ("encoder own shuffled difference low high n_seeds majority n_train printed printed_train").split()


def test_pairs_of_runs_by_seed(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "archive"
    folder.mkdir(parents=True)
    monkeypatch.setenv("ATTN_ARCHIVE", str(folder))
    assert premise.control().empty and "No model trained on shuffled premises" in premise.told(premise.control())
    for number, seed in enumerate((10, 50, 257)):
        store_run(folder, Run("snli", seed=seed), number + 5, False)  # accuracy higher by 0.05
        if seed != 257:
            store_run(folder, Run("snli", seed=seed, options=premise.SHUFFLED), number, False)
    (row,) = premise.control().itertuples()
    assert (row.encoder, row.n_seeds) == ("lstm", 2) and np.isclose(row.difference, 0.05) and np.isclose(row.own, 0.555)
    assert row.printed == 0.78 and row.printed_train == 549_367, "Table 1"


def test_the_sentence_follows_the_numbers():
    used = pd.DataFrame([["lstm", 0.7, 0.6, 0.1, 0.05, 0.15, 3, 0.34, 20_000, 0.78, 549_367]], columns=COLUMNS)
    assert "the premise is used" in premise.told(used)
    assert "no use of the premise is shown" in premise.told(used.assign(low=-0.05, difference=0.05))
    assert "one seed decides nothing" in premise.told(used.assign(low=float("nan"), high=float("nan"), n_seeds=1))
    beside = "The paper's BiLSTM, trained on 549,367 documents where ours had 20,000, scores 0.78: "
    assert beside in premise.told(used)
    assert "The paper's" not in premise.told(used.assign(printed=0.59)) + premise.told(used.assign(printed=np.nan))


@pytest.mark.parametrize("traces", [toy_pairs(seed=2), toy_pairs(allowed=2)])
def test_replaced_premises_as_a_loop(traces):
    """Each draw is a cycle of donors; a document's output comes from its own query and its donor's context."""
    found, rng = premise.replaced(traces, draws=5, seed=3), np.random.default_rng(3)
    contexts = [attention @ contribution for _, _, attention, contribution in plain.documents(traces)]
    outputs = np.empty((5, len(traces), len(traces.bias)))
    for draw in range(5):
        order = rng.permutation(len(traces))
        for place, row in enumerate(order):
            hidden = np.tanh(traces.query[row].astype(float) + contexts[order[place - 1]])
            logits = traces.readout.astype(float) @ hidden + traces.bias
            if traces.allowed is not None:
                logits = np.where(traces.allowed[row], logits, -np.inf)
            outputs[draw, row] = plain.output(logits)
    for row, of in enumerate(found.itertuples()):
        own = plain.output_under(traces, row, traces.attention[traces.offsets[row] : traces.offsets[row + 1]])
        change = [0.5 * np.abs(other - own).sum() for other in outputs[:, row]]
        answers = outputs[:, row].argmax(axis=1)
        assert of.median_change == pytest.approx(np.median(change)) and of.correct == (
            own.argmax() == traces.label[row]
        )
        assert of.unchanged == pytest.approx((answers == own.argmax()).mean())
        assert of.correct_replaced == pytest.approx((answers == traces.label[row]).mean())


def test_a_model_that_ignores_its_premise_is_told():
    """Without contributions nothing of the premise reaches the decoder: no output moves."""
    traces = toy_pairs()
    deaf = replace(traces, contribution=np.zeros_like(traces.contribution))
    found = premise.replaced(deaf)
    assert (found["median_change"] == 0).all() and (found["unchanged"] == 1).all()
    names = "corpus encoder seed n own swapped unchanged permuted small low high hardly".split()
    table = pd.DataFrame(
        [
            ["snli", "lstm", 10, 6, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, True],
            ["snli", "cnn", 10, 6, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, True],
            ["babi_1", "lstm", 10, 6, 0.5, 0.5, 1.0, 1.0, 0.2, 0.1, 0.3, False],
        ],
        columns=names,
    )
    assert premise.hardly_used(table) == ["snli"]
    assert "100% of the decisions stay" in premise.told_hardly(table) and "cnn" not in premise.told_hardly(table)
    assert premise.told_hardly(table[2:]) == "none"


def test_only_models_of_pairs_with_traces_are_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTN_ARCHIVE", str(tmp_path))
    assert premise.swaps(["sst", "snli"]).empty
