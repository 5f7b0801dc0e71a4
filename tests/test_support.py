"""Which class the most attended item speaks for, against a loop over documents."""

import numpy as np
import pytest

from attn_core.experiments.support import support
from attn_core.traces import Traces


def made_up(classes: int, documents: int = 60) -> Traces:
    rng = np.random.default_rng(classes)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 7, documents))])
    items = int(offsets[-1])
    return Traces(
        np.arange(documents),
        rng.integers(0, 2, documents),
        offsets,
        2 * rng.normal(size=items),
        2 * rng.normal(size=(items, classes)),
        rng.normal(size=classes),
    )


def plain(traces: Traces, d: int):
    """(fall of each class's probability when the top item goes, predicted class before, after)."""
    rows = slice(traces.offsets[d], traces.offsets[d + 1])
    alpha, c, b = traces.attention[rows], traces.contribution[rows], traces.bias

    def outputs(weight):
        logits = b + (weight / weight.sum()) @ c
        logits = np.concatenate([[0.0], logits]) if len(b) == 1 else logits
        return np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()

    kept = np.where(np.arange(len(alpha)) == alpha.argmax(), 0.0, alpha)
    return outputs(alpha) - outputs(kept), outputs(alpha).argmax(), outputs(kept).argmax()


@pytest.mark.parametrize("classes", [1, 2, 5])
def test_support_equals_a_loop(classes):
    traces = made_up(classes)
    found = support(traces)
    for d, row in enumerate(found.itertuples()):
        if row.n == 1:
            assert row.supported == -1 and not row.other and not row.flips and np.isnan(row.tvd)
            continue
        fall, own, after = plain(traces, d)
        assert row.supported == fall.argmax() and row.other == (fall.argmax() != own) and row.flips == (after != own)
        assert row.fall_own == pytest.approx(fall[own]) and row.tvd == pytest.approx(np.abs(fall).sum() / 2)
    assert found["other"].any() and not found["other"].all()


def test_an_item_that_speaks_for_another_class():
    """The most attended item speaks for class 1, the two others for class 0, which wins."""
    one = Traces(
        np.array([0]),
        np.array([0]),
        np.array([0, 3]),
        np.log([0.4, 0.3, 0.3]),
        np.array([[0.0, 1.0], [3.0, 0.0], [3.0, 0.0]]),
        np.zeros(2),
    )
    row = support(one).iloc[0]
    assert row["predicted"] == 0 and row["supported"] == 1 and row["other"] and row["fall_own"] < 0
