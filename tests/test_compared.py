"""Measures of importance beside each other, and erased: by hand, against brute force, and against the network."""

from dataclasses import replace
from functools import partial
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, one, refused, toy_traces
from plain_network import random_documents, random_model

from attn_core.documents import UNKNOWN
from attn_core.experiments.single import logits_without
from attn_core.traces import sigmoid
from attn_core.tracing import trace
from attn_lab import Run, obtain
from attn_lab.more.compared import agreement, chosen, compared, erasure, importances, p_attending_to
from benchmarks import bench_compared

TABLE = ROOT / "data" / "measured" / "compared.csv.xz"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 3, 9])
def test_agreement_is_the_mean_over_all_ways_to_break_ties(seed, k):
    """Of a text that stands before another, of larger values."""
    a, b = np.random.default_rng(seed).integers(0, 3, (2, 5)).astype(float)
    tops = []
    for values in (a, b):
        ways = [sorted(way, key=lambda word: -values[word]) for way in permutations(range(5))]
        tops.append([set(way[:k]) for way in ways])
    expected = np.mean([len(one & two) / min(k, 5) for one, two in product(*tops)])
    a, b = (np.append(values, [7, 8, 9]) for values in (a, b))
    np.testing.assert_allclose(agreement(a, b, np.array([0, 5, 8]), k), [expected, 1])


@pytest.mark.parametrize("sign", [1, -1])
def test_importances_by_hand(sign):
    """Weights 3/4 and 1/4, contributions 2 and -2 (times sign), bias 0: the logit is 1 (times sign), and what raises p
    of class 1 speaks for the decision (or against it)."""
    given = {"gradient": np.array([0.3, -0.1]), "leave_one_out": np.array([-0.2, 0.1])}
    traces = one([0.75, 0.25], [2 * sign, -2 * sign], **given)
    found = importances(traces)
    expected = {
        "from_zero": [1.5, -0.5],
        "from_mean": [1.5, -0.5],  # the mean contribution is 0
        "state": sigmoid(1.0) - sigmoid(np.array([-2.0, 2.0])),
        "gradient": sign * given["gradient"],
        "deletion": -sign * given["leave_one_out"],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, err_msg=name)
    assert "deletion" not in importances(replace(traces, leave_one_out=None))


def test_importances_of_several_logits_are_refused():
    with refused("3 logits"):
        importances(toy_traces(classes=3))


def test_erasure_by_hand():
    """Two texts of 2 and 10 words: half of two is one; a tenth of ten is one, a twentieth too."""
    traces = toy_traces(lengths=(2, 10), seed=1)
    values, draws = np.arange(12.0), np.zeros(12)
    for share, words in ((0.05, [1, 11]), (0.1, [1, 11]), (0.5, [1, 7, 8, 9, 10, 11])):
        assert np.flatnonzero(chosen(values, traces.offsets, share, draws)).tolist() == words
    ties = chosen(np.zeros(12), traces.offsets, 0.1, -values)  # draws decide
    assert np.flatnonzero(ties).tolist() == [1, 11]
    lost = erasure(traces, {"a": values}, draws, partial(p_attending_to, traces))
    p = sigmoid(logits_without(traces, np.array([1, 11]))[:, 0])
    expected = np.where(traces.predicted == 1, traces.p - p, p - traces.p)
    np.testing.assert_allclose(lost["a", "", "comprehensiveness share=0.1"], expected)
    np.testing.assert_allclose(p_attending_to(traces, np.ones(12, bool)), traces.p, atol=1e-12)


def test_without_context_a_state_is_its_word():
    """The control: with no encoder to mix them, erasing states and erasing words is the same."""
    lost = {}
    for encoder in ("average", "lstm"):
        documents, model = random_documents([4, 9, 5, 12], 40), random_model(encoder, "tanh", 40)
        traces = trace(model, documents)
        words = bench_compared.erased(model, documents, traces).set_index(["measure", "statistic"])["value"]
        states = compared(traces).query("other == ''").set_index(["measure", "statistic"])["value"]
        lost[encoder] = (words - states).abs().max()
        # one word each: leave-one-out itself
        first = np.maximum.reduceat(importances(traces)["deletion"], traces.offsets[:-1])
        assert words["deletion", "comprehensiveness share=0.01"] == pytest.approx(first.mean(), abs=1e-6)
    assert lost["average"] < 1e-5
    assert lost["lstm"] > 1e-3


def test_hidden_words_are_the_unknown_word_one_by_one_and_together():
    documents = random_documents([4, 9], 40)
    model = random_model("lstm", "tanh", 40)
    traces = trace(model, documents)
    each = bench_compared.each_hidden(model, documents, traces)
    left = np.arange(len(each)) != 5  # the second word of the second text goes
    alone = bench_compared.hidden(documents, left)
    assert np.flatnonzero(alone.ids != documents.ids).tolist() == [documents.offsets[1] + 2]
    assert alone.ids[documents.offsets[1] + 2] == UNKNOWN
    change = trace(model, alone).p - traces.p
    assert change == pytest.approx([0, each[5]], abs=1e-6)


def test_both_ways_of_erasing_stand_in_the_table_of_masked_training():
    options = (("n_dev", 20), ("n_test", 30), ("n_train", 60))
    rows = bench_compared.masking_of(Run("planted", "average", epochs=2, options=options, mask=0.5))
    assert set(rows.erasing) == {"removed", "hidden", ""}
    assert set(rows["mask"]) == {0.5}
    top = rows.query("measure == 'attention' and other == 'deletion' and statistic == 'top1'")
    assert len(top) == 2
    assert top.value.between(0, 1).all()
    assert rows.query("measure == 'model' and statistic == 'auc'").value.between(0, 1).all()


def test_the_stored_table_fits_the_archive():
    """Whole test sets against the few texts that the archive keeps of every other of the runs: within chance."""
    table = pd.read_csv(TABLE, keep_default_na=False).query(
        "level == 'state' and statistic == 'top1' and measure == 'attention' and other == 'gradient' "
        "and encoder != 'adversary'"
    )
    away = []
    for row in table.iloc[::2].itertuples():
        if (row.corpus, row.encoder) == ("imdb", "transformer"):  # not archived, data/README says
            continue
        run = Run(row.corpus, row.encoder, seed=row.seed, vectors=row.vectors)
        few = compared(obtain(run).traces).set_index(["measure", "other", "statistic"])
        few = few.loc["attention", "gradient", "top1"]
        away.append((few.value - row.value) / max(few.error, row.error * (row.texts / 28) ** 0.5, 1e-9))
    assert len(away) >= 25
    assert np.mean(np.abs(away) < 2.5) > 0.9
