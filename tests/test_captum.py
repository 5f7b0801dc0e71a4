"""What captum computes too: its numbers are ours."""

import pytest
import torch
from test_explanations import MASK, ids, model  # noqa: F401  # fixtures

from attn_lab import check
from attn_lab.more import cls

attr = pytest.importorskip("captum.attr")


def test_gradients_of_word_pieces_are_captums(model, ids):  # noqa: F811
    def logit(word):
        return cls.opened(model, word).logit

    table = model.encoder.embedding
    masked = ids.clone()
    masked[:, 1:-1] = MASK
    path = attr.IntegratedGradients(logit)
    theirs = path.attribute(table(ids), table(masked), n_steps=cls.STEPS, method="riemann_middle")
    torch.testing.assert_close(cls.integrated(model, ids, MASK), theirs.sum(-1).float(), atol=1e-5, rtol=1e-4)
    theirs = attr.InputXGradient(logit).attribute(table(ids))
    ours = cls.ranked(model, ids, torch.zeros(10, 8), MASK)["gradient_x_input"]
    torch.testing.assert_close(ours, theirs.sum(-1).abs()[:, 1:-1])


def test_deletions_are_captums_ablations_where_a_word_less_is_a_zero():
    def sums(counts):
        return counts @ torch.tensor([[1.5], [-0.7], [0.2], [0.4]]) - 0.5

    class Summed:
        def tokens(self, text):
            return text.split()

        def read(self, texts):
            words = torch.tensor([[int(word) for word in text] for text in texts])
            return torch.ones(words.shape).softmax(1), sums(torch.eye(4)[words].sum(1))

    ours = check(Summed(), ["0 1 2 3"]).traces.leave_one_out
    theirs = attr.FeatureAblation(lambda counts: sums(counts).sigmoid()).attribute(torch.ones(1, 4))[0]
    torch.testing.assert_close(torch.tensor(-ours), theirs, check_dtype=False)
