"""One document by hand: its sentences, and its output when some are erased."""

import numpy as np
import pytest
from conftest import toy_traces

from attn_book.serrano import one_document
from attn_core.corpora.batches import Documents
from attn_core.errors import AttnError
from attn_core.experiments.single import distributions, logits_without
from attn_core.traces import Traces

ONE = Traces(
    np.array([7]), np.array([0]), np.array([0, 3]), np.log([0.5, 0.3, 0.2]) - np.log(0.5),
    np.array([[2.0, 0.0], [-1.0, 0.0], [-3.0, 0.0]]), np.array([0.0, 0.0]),
)  # fmt: skip
"""The page's first exercise: log-odds 0.1, and only without item 0 another decision."""


def p(log_odds: float) -> float:
    return 1 / (1 + np.exp(-log_odds))


def test_outputs_of_the_exercise():
    table = one_document.erasures(ONE)
    assert table["attention"].tolist() == pytest.approx([0.5, 0.3, 0.2])
    assert table["p without it"].tolist() == pytest.approx([p(-0.9 / 0.5), p(0.4 / 0.7), p(0.7 / 0.8)])
    gradient = p(0.1) * (1 - p(0.1)) * np.array([2.0, -1.0, -3.0])  # d p_0 / d alpha_t, two classes
    assert table["gradient"].tolist() == pytest.approx(gradient)
    assert table["gradient × attention"].tolist() == pytest.approx(gradient * [0.5, 0.3, 0.2])
    assert one_document.output_without(ONE, [0, 1]) == pytest.approx([p(-3), 1 - p(-3)])


def test_nothing_erased_is_the_output_and_all_erased_the_bias():
    one = toy_traces(classes=3).take([3])
    assert one_document.output_without(one, []) == pytest.approx(one.outputs[0])
    assert one_document.output_without(one, range(5)) == pytest.approx(distributions(one.bias[None])[0])


@pytest.mark.parametrize("classes", [1, 3])
def test_erasing_one_item_is_that_of_the_single_weight_tests(classes):
    one = toy_traces(classes=classes).take([4])
    for place in range(5):
        wanted = distributions(logits_without(one, np.array([place])))[0]
        assert one_document.output_without(one, [place]) == pytest.approx(wanted)


def test_a_document_is_chosen_by_its_place():
    traces = toy_traces(lengths=(1, 2, 3), doc_ids=[5, 8, 9])
    assert one_document.chosen(traces, 2, [0, 2]).doc_id.tolist() == [9]
    for document in (-1, 3):
        with pytest.raises(AttnError, match=f"document must lie between 0 and 2, got {document}"):
            one_document.chosen(traces, document)
    for erased in ([3], [-1], [1, 1]):
        with pytest.raises(AttnError, match="different sentence numbers between 0 and 2"):
            one_document.chosen(traces, 2, erased)


def test_sentences_are_cut_where_they_end():
    vocabulary = ["<start>", "<end>", "a", "fine", "film", "never", "dull"]
    texts = Documents(
        np.array([0, 2, 1, 0, 2, 3, 4, 5, 6, 1], np.int32), np.array([0, 3, 10]), np.array([0, 1]), np.array([4, 6]),
        sentence_lengths=np.array([1, 3, 2]), sentence_offsets=np.array([0, 1, 3]),
    )  # fmt: skip
    assert one_document.sentences(texts, vocabulary, 6) == ["a fine film", "never dull"]
    assert one_document.sentences(texts, vocabulary, 4) == ["a"]
