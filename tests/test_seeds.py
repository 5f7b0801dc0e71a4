"""How many seeds are planned, and which are lacking."""

from types import SimpleNamespace

import pytest

from attn_core.runs import SEEDS, Run
from attn_core.seeds import lacking, planned


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
