"""The picture of the verdict matrix: a mark for each cell, at its place, in its verdict's shape."""

import matplotlib.pyplot as plt
import pytest
from test_matrix import HIGH, LOW, WIDE, cells

from attn_book.debate.matrix_figure import matrix_figure


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def marks(ax):
    """(column label, row label) -> (shape, size) as drawn."""
    across, down = ([t.get_text() for t in labels] for labels in (ax.get_xticklabels(), ax.get_yticklabels()))
    return {
        (across[int(line.get_xdata()[0])], down[int(line.get_ydata()[0])]): (line.get_marker(), line.get_markersize())
        for line in ax.lines
    }


def test_every_cell_stands_at_its_place_in_its_verdicts_shape():
    found = cells(
        ("permutation", "sst", "lstm", WIDE),
        ("gradients", "sst", "average", HIGH),
        ("gradients", "sst", "lstm", LOW),
        ("gradients", "imdb", "lstm", LOW[:2]),
        ("order", "amazon", "han_rnn", LOW),
    )
    found = found.assign(data=["same"] * 4 + ["subset"])
    first, second = matrix_figure(found, ["imdb", "sst", "amazon"]).axes
    drawn = marks(first)
    assert {place: shape for place, (shape, _) in drawn.items()} == {
        ("permutation, BiLSTM", "sst"): "o",
        ("gradients, Average", "sst"): "s",
        ("gradients, BiLSTM", "sst"): "x",
        ("gradients, BiLSTM", "imdb"): ".",
    }
    assert [t.get_text() for t in first.get_xticklabels()][0] == "gradients, BiLSTM", "tests, then BiLSTM first"
    ((place, (shape, size)),) = marks(second).items()
    assert place == ("order, HANrnn", "amazon") and shape in "sx"
    assert size < drawn["gradients, BiLSTM", "sst"][1], "other data are drawn small"
    told = [text.get_text() for text in second.get_legend().get_texts()]
    assert told == ["passes", "fails", "undecided", "too few seeds"], "what no cell has is not in the legend"


def test_without_runs_of_one_part_its_panel_is_left_out():
    found = cells(("gradients", "sst", "lstm", LOW)).assign(data="same")
    (only,) = matrix_figure(found, ["sst"]).axes
    assert [t.get_text() for t in only.get_legend().get_texts()] == ["fails"]
