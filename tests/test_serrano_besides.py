"""What the authors' code computes beside the paper's experiments: by hand, and by plain loops."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from conftest import toy_traces
from scipy.stats import spearmanr

from attn_book.serrano import besides
from attn_core.experiments.erasure import RANKINGS
from attn_core.experiments.removal import NEVER, removals
from attn_core.experiments.single import distributions


def table_of(attention, gradient, n=4):
    made = pd.DataFrame({"doc_id": np.arange(len(attention)), "n": n})
    for name in RANKINGS:
        made[f"removed_{name}"], made[f"zero_{name}"], made[f"mass_{name}"] = 2, False, 0.5
    return made.assign(removed_attention=attention, removed_gradient=gradient)


def test_overlap_by_hand():
    """The gradient wins on documents 0, 1 in one model, 0, 2 in the other: both on a quarter, as by chance."""
    first, second = table_of([3, 3, 1, 1], [1, 1, 3, 3]), table_of([3, 1, 3, 1], [1, 3, 1, 3])
    row = besides.overlaps({"han_rnn": first, "han_conv": second, "han_none": first}).iloc[0]
    assert (row["first"], row["second"], row["n"]) == ("han_rnn", "han_conv", 4)
    assert (row["both"], row["independent"], row["difference"]) == (0.25, 0.25, 0.0)
    same = besides.overlaps({"han_rnn": first, "flan_rnn": first.iloc[[0, 2, 3]]}).iloc[0]
    assert same["n"] == 3 and same["both"] == pytest.approx(1 / 3) and same["independent"] == pytest.approx(1 / 9)
    one = besides.overlaps({"han_rnn": first, "flan_rnn": first.assign(n=1)})
    assert one.empty and list(one) == ["first", "second", "both", "independent", "difference", "low", "high", "n"]


def test_an_overlap_beyond_chance_is_told():
    rng = np.random.default_rng(0)
    wins = rng.random(400) < 0.5
    table = table_of(np.where(wins, 3, 1), np.where(wins, 1, 3))
    row = besides.overlaps({"han_rnn": table, "han_conv": table}).iloc[0]
    assert 0.2 < row["low"] < row["difference"] < row["high"] < 0.3


def test_unevenness_by_loops():
    traces = toy_traces(classes=3, lengths=(1, 2, 3, 5, 5, 8))
    found = besides.unevenness(traces).set_index("doc_id")
    assert list(found.index) == [1, 2, 3, 4, 5], "one item has no other weights"
    for doc in range(1, 6):
        weight = traces.attention[traces.offsets[doc] : traces.offsets[doc + 1]]
        even = np.full(len(weight), 1 / len(weight))
        mean = (weight + even) / 2
        assert found.loc[doc, "kl"] == pytest.approx((weight * np.log(weight / even)).sum(), abs=1e-6)
        halves = [(part * np.log(part / mean)).sum() for part in (weight, even)]
        assert found.loc[doc, "js"] == pytest.approx(sum(halves) / 2, abs=1e-6)
        gone = removals(traces.take([doc]), rankings=("attention",))["removed_attention"].iloc[0]
        assert np.isnan(found.loc[doc, "fraction"]) if gone == NEVER else found.loc[doc, "fraction"] == gone / len(even)
    even = dataclasses.replace(traces, score=np.zeros_like(traces.score))
    assert besides.unevenness(even)[["kl", "js"]].to_numpy() == pytest.approx(0, abs=1e-6)


def test_evenness_and_removal_is_a_rank_correlation_of_flipping_documents():
    traces = toy_traces(classes=3, lengths=tuple(np.random.default_rng(1).integers(2, 9, 120)))
    found, table = besides.evenness_and_removal(traces), besides.unevenness(traces).dropna()
    assert found["n"] == len(table) < 120
    assert found["kl"] == pytest.approx(spearmanr(table["kl"], table["fraction"]).statistic)
    assert found["kl_low"] < found["kl"] < found["kl_high"] and found["js_low"] < found["js"] < found["js_high"]
    none = besides.evenness_and_removal(traces.take([0]))
    assert np.isnan(none["kl"]) and np.isnan(none["js_low"])


def test_firmness_by_loops():
    traces = toy_traces(classes=3, lengths=tuple(np.random.default_rng(2).integers(1, 9, 200)))
    found = besides.firmness(traces)
    p, gone = distributions(traces.logits), removals(traces, rankings=("attention",))["removed_attention"].to_numpy()
    sides = {True: [], False: []}
    for doc in range(len(traces)):
        if traces.lengths[doc] > 1:
            sides[bool(gone[doc] == NEVER)].append(-(p[doc] * np.log(p[doc])).sum())
    assert (found["never_n"], found["flips_n"]) == (len(sides[True]), len(sides[False])) and found["never_n"] > 5
    assert found["difference"] == pytest.approx(np.mean(sides[True]) - np.mean(sides[False]), abs=1e-6)
    assert found["low"] < found["difference"] < found["high"]
    label = p.argmax(axis=1)[(gone == NEVER) & (traces.lengths > 1)]
    assert set(label) == {int(traces.bias.argmax())}, "what never flips has the class of the bias"
    assert np.isnan(besides.firmness(traces.take([0]))["low"])
