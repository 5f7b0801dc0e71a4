"""How many seeds are planned, and when two checkpoints are of one training."""

from types import SimpleNamespace

import pytest

from attn_core.seeds import LOSSES_ALIKE, planned, same_training


@pytest.mark.parametrize(
    ("corpus", "seeds", "expected"),
    [
        ("sst", 5, 5),
        ("imdb", 5, 3),
        ("imdb", 2, 2),
        ("imdb", 9, 3),
        ("sst", 9, 5),
        ("imdb_stars", 5, 5),
        ("amazon", 5, 5),
        ("yelp", 5, 3),
        ("planted", 5, 1),
    ],
)
def test_planned_seeds(corpus, seeds, expected):
    assert planned(corpus, seeds) == expected


def trained(*losses):
    return SimpleNamespace(record={"history": [{"epoch": i, "loss": loss} for i, loss in enumerate(losses, 1)]})


def test_two_checkpoints_of_one_training_have_its_losses():
    one = trained(0.6, 0.3, 0.1)
    assert same_training(one, trained(0.6, 0.3, 0.1)) and same_training(one, trained(0.6, 0.3 + LOSSES_ALIKE / 2, 0.1))
    assert not same_training(one, trained(0.6, 0.3, 0.1 + 2 * LOSSES_ALIKE))
    assert not same_training(one, trained(0.6, 0.3)), "another number of epochs is another training"
