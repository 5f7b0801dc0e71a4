"""How many seeds are planned, which are lacking, and means over data sets within shared seeds."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attn_book import across
from attn_book.across import lacking
from attn_core.runs import SEEDS, Run
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


def test_models_that_lack_seeds_are_named_with_the_next_run():
    models = {
        name: [Run("imdb", encoder, seed=seed) for seed in SEEDS[:5]] for name, encoder in (("A", "lstm"), ("B", "cnn"))
    }
    stored = [SimpleNamespace(key=run.key) for run in [*models["A"][:3], *models["B"][1:2]]]
    told = lacking("imdb", models, stored, 5, most_named=2)
    few = "imdb (3 planned; a verdict needs 5)"
    assert told.startswith(f"{few}: A (3 of 5 seeds), B (1 of 3 seeds); the next: ") and told.endswith(
        "--corpus imdb --encoder lstm --attention tanh --seed 500231"
    ), "five of the models that claims are about"
    every = [SimpleNamespace(key=run.key) for run in models["A"]]
    assert lacking("imdb", {"A": models["A"]}, every, 9, most_named=1) is None
    assert lacking("imdb", {"A": models["A"]}, stored, 5, most_named=1).startswith("imdb: A (3 of 5 seeds)")
    assert lacking("imdb", models, [], 5, most_named=1).startswith(f"{few}: no run of 2 models; the next: ")
    assert lacking("imdb", models, [], 5, most_named=2).startswith(
        f"{few}: A (0 of 5 seeds), B (0 of 3 seeds); the next: "
    )
    assert lacking("imdb", models, [], 2, most_named=2).startswith("imdb: A (0 of 2 seeds)"), "as many as asked for"
    five = {"A": [Run("sst", "lstm", seed=seed) for seed in SEEDS[:5]]}
    assert lacking("sst", five, [], 5, most_named=1).startswith("sst: A (0 of 5 seeds)")
    assert "\n" not in told


def test_the_mean_over_data_sets_is_taken_within_seeds_that_all_have():
    values = pd.DataFrame(
        {"corpus": ["a", "a", "a", "b", "b"], "seed": [1, 2, 3, 1, 2], "value": [0.0, 0.2, 9.0, 1.0, 0.8]}
    )
    found = across.mean_of_sets(values)
    assert found["mean"] == 0.5 and found["n_seeds"] == 2 and found["sets"] == 2
    assert found["seeds"] == (1, 2)
    assert np.isnan([found["low"], found["high"]]).all(), "two seeds give no interval"


def test_a_set_with_few_seeds_does_not_empty_the_mean_over_sets():
    rows = [(name, seed, value) for name, value in (("a", 0.2), ("b", 0.4), ("c", 0.9)) for seed in range(5)]
    values = pd.DataFrame([*rows, ("d", 9, 5.0)], columns=["corpus", "seed", "value"])
    found = across.means_of_sets(values, ["a", "b", "d"])
    assert found["own"]["mean"] == pytest.approx(0.3) and found["own"]["n_seeds"] == 5 and found["few"] == ["d"]
    assert found["every"]["mean"] == pytest.approx(0.5) and found["every"]["names"] == ["a", "b", "c"]
    two = across.means_of_sets(values[values["seed"] < 2], ["a"])
    assert two["few"] == [] and two["own"]["mean"] == pytest.approx(0.2) and two["every"]["sets"] == 3
