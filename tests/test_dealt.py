"""Base rates of Serrano and Smith's statements: the numbers where each document's weights are dealt anew."""

import dataclasses

import numpy as np
import pytest
from conftest import toy_traces

from attn_book import derived
from attn_book.derived import statements_of
from attn_core.experiments.erasure import document_table, summary_table


@pytest.fixture(scope="module")
def traces():
    return toy_traces(classes=3, lengths=tuple(np.random.default_rng(0).integers(2, 9, 200)))


def test_numbers_are_those_of_the_summary(traces):
    documents = document_table(traces)
    summary = summary_table(documents)
    of_runs = dict(
        zip(zip(summary["statistic"], summary["bin"], summary["measure"], strict=True), summary["value"], strict=True)
    )
    numbers = ["1a", "1b", "1c", "2b", "3a", "3b", "3c", "3d", "4a", "4b", "4c"]
    asked = [statements_of(of_runs)[number] for number in numbers]
    assert derived.statements_in(traces)[numbers].tolist() == pytest.approx(asked)


def test_equal_weights_leave_nothing_beyond_arithmetic(traces):
    even = dataclasses.replace(traces, score=np.zeros_like(traces.score), gradient=None, leave_one_out=None)
    found = derived.of_dealt({"toy": even}, ["1a", "3b", "4a"], deals=2)
    assert (found["attention"] == found["dealt"]).all()


def test_an_attention_that_knows_the_items_is_told_apart():
    """Six items, one for the label: with half the weight there its erasure flips; with it elsewhere none does."""
    like = toy_traces(classes=2, lengths=(6,) * 100)
    logits = np.tile([3.5, -1, -1, -1, -1, -1], 100)[:, None] * np.array([-0.5, 0.5])
    knows = dataclasses.replace(
        like,
        score=np.tile(np.log([5, 1, 1, 1, 1, 1]), 100).astype(np.float32),
        contribution=logits.astype(np.float32),
        bias=np.zeros_like(like.bias),
        gradient=None,
        leave_one_out=None,
    )
    row = derived.of_dealt({"toy": knows}, ["3b"], deals=3).iloc[0]
    assert row["attention"] == 1 and row["dealt"] < 0.5
