"""Base rates of Serrano and Smith's statements: the numbers where each document's weights are dealt anew."""

import dataclasses

import numpy as np
import pytest
from conftest import toy_traces

from attn_book import derived
from attn_book.derived import statements_of
from attn_core.experiments.erasure import document_table, summary_table
from attn_core.experiments.single import weights_dealt_anew


@pytest.fixture(scope="module")
def traces():
    return toy_traces(classes=3, lengths=tuple(np.random.default_rng(0).integers(2, 9, 200)))


def test_numbers_are_those_of_the_summary(traces):
    documents = document_table(traces)
    summary = summary_table(documents)
    of_runs = dict(
        zip(zip(summary["statistic"], summary["bin"], summary["measure"], strict=True), summary["value"], strict=True)
    )
    numbers = ("1a", "1b", "1c", "2b", "3a", "3b", "3c", "3d", "4a", "4b", "4c")
    asked = [statements_of(of_runs)[number] for number in numbers]
    assert derived.statements_in(documents, numbers) == pytest.approx(asked)


def test_equal_weights_leave_nothing_beyond_arithmetic(traces):
    even = dataclasses.replace(traces, score=np.zeros_like(traces.score), gradient=None, leave_one_out=None)
    found = derived.of_dealt({"toy": even}, ("1a", "3b", "4a"), deals=2)
    assert (found["difference"] == 0).all() and (found["low"] == 0).all() and (found["high"] == 0).all()


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
    row = derived.of_dealt({"toy": knows}, ("3b",), deals=3).iloc[0]
    assert row["attention"] == 1 and row["dealt"] < 0.5 and row["low"] > 0.3


def test_the_interval_of_a_mean_is_that_of_the_group_means(traces):
    """Delete-a-group jackknife of a mean over equal groups: Student's t interval of the groups' means."""
    found = derived.of_dealt({"toy": traces}, ("3b",), deals=1).iloc[0]
    per_document = []
    for table in (document_table(traces), document_table(weights_dealt_anew(traces, 0))):
        top, other = table["flips_attention"], table["flips_r_attention@coded"]
        per_document.append((top & ~other).astype(float) - (~top & other).astype(float))
    gap = (per_document[0] - per_document[1]).to_numpy()
    group = np.random.default_rng(0).permutation(len(gap)) % derived.GROUPS
    means = np.array([gap[group == k].mean() for k in range(derived.GROUPS)])
    assert found["difference"] == pytest.approx(gap.mean())
    reach = derived.student.ppf(0.975, derived.GROUPS - 1) * means.std(ddof=1) / np.sqrt(derived.GROUPS)
    assert found["high"] - found["difference"] == pytest.approx(reach)


def test_few_documents_have_no_interval():
    rows = derived.of_dealt({"toy": toy_traces(classes=3, lengths=(3, 4, 5))}, ("1a", "3b"), deals=1)
    assert rows["low"].isna().all() and rows["documents"].eq(3).all()
