"""The adversaries' page: four numbers against thresholds, and words that turn with them."""

import numpy as np
import pandas as pd
import pytest
from scorecard_runs import scored_rows

from attn_book.jain import adversarial_page, claims, heights

SETS = ["sst", "imdb", "snli"]


@pytest.fixture
def scored():
    """Claim 7: shown on SST, refuted on IMDB, open on SNLI; 7b: shown on SST and barely on IMDB, four seeds on SNLI."""
    return scored_rows(
        corpus=SETS * 2, item=[claims.CLAIMS[6].item] * 3 + [claims.LATER["7b"].item] * 3, reported=[0.7] * 6,
        measure=["eps_max_jsd"] * 3 + ["eps_max_jsd, exact optimum"] * 3,
        ours=[0.9, 0.4, 0.7, 0.95, 0.8, 0.8], low=[0.88, 0.3, 0.5, 0.94, 0.71, 0.75],
        high=[0.92, 0.5, 0.9, 0.96, 0.89, 0.85], n_seeds=[5] * 5 + [4],
    )  # fmt: skip


@pytest.fixture
def every():
    """Summaries: own contributions cost 0.1 of JSD on SST (ε 0.01) and 0.3 on SNLI (ε 0.05, one or two tokens)."""
    place = {"encoder": "lstm", "attention": "tanh", "bin": "all"}
    rows = [("sst", "jsd_shuffled@0.01", "mean", "all", 0.6), ("sst", "jsd_exact@0.01", "mean", "all", 0.5),
            ("sst", "jsd_exact@0.05", "mean", "all", 0.1), ("sst", "jsd_shuffled@0.05", "mean", "all", 0.6),
            ("snli", "jsd_shuffled@0.05", "mean", "all", 0.6), ("snli", "jsd_sparse@0.05", "mean", "all", 0.3),
            ("sst", "jsd_search@0.05", "share_above_0.6", "all", 0.4),
            ("sst", "jsd_search@0.05", "share_above_0.4", "0", 0.9),
            ("sst", "jsd_search@0.05", "share_above_0.4", "1", 0.6)]  # fmt: skip
    return pd.DataFrame([
        {**place, "corpus": corpus, "statistic": statistic, "measure": measure, "predicted": predicted, "seed": seed,
         "value": value}
        for corpus, statistic, measure, predicted, value in rows for seed in range(5)
    ])  # fmt: skip


def test_four_numbers_each_against_its_threshold(scored, every):
    assert claims.threshold(7) == 0.7
    sided = adversarial_page.sides(scored, every, 0.01, 0.05)
    found = {what: rows.set_index("corpus")["side"].to_dict() for what, rows in sided.items()}
    assert found == {
        "easy": {"sst": "above", "imdb": "below", "snli": "contains"},
        "best": {"sst": "above", "imdb": "above", "snli": "few"},
        "near": {"sst": "below"},
        "lost": {"sst": "above", "snli": "above"},
    }
    assert sided["lost"].set_index("corpus")["told"].str[:5].to_dict() == {"sst": "0.100", "snli": "0.300"}, (
        "single texts at the one ε, pairs at the other"
    )
    shown = adversarial_page.table(sided, 0.7, ["sst", "imdb", "snli"]).set_index("data")
    assert list(shown)[0] == "searched above 0.4, more than 70%?"
    assert shown.loc["sst"].tolist() == ["90% (88% to 92%) yes", "95% (94% to 96%) yes", "40% (40% to 40%) below",
                                         "0.100 (0.100 to 0.100) yes"]  # fmt: skip
    assert shown.loc["snli"].tolist()[:3] == ["70% (50% to 90%) open", "80% (4 seeds) too few seeds", "–"]


def test_lists_name_what_the_correction_takes(scored, every):
    sided, decided = adversarial_page.sides(scored, every, 0.01, 0.05), claims.claims(scored, SETS)
    decided["holm"] = decided["holm"].mask((decided["name"] == "7b") & (decided["corpus"] == "imdb"), 0.03)
    told = adversarial_page.lists(sided, 0.7, decided, every)
    assert told["easy_told"] == ["Shown on: sst.", "Interval wholly below: imdb.", "Interval contains it: snli.",
                                 "Predicted classes on both sides of that share, which the share over all documents "
                                 "pools: sst: negative 0.90, positive 0.60."]  # fmt: skip
    assert told["best_told"] == ["Above 70% on: sst, imdb.", "Too few seeds to decide: snli.",
                                 "Not after the correction: imdb."]  # fmt: skip
    assert told["near_told"] == ["Interval wholly below one half: sst."] and told["lost_told"] == [
        "Above zero: sst, snli."
    ]
    assert adversarial_page.kept(sided, decided) == {"easy_kept": "1 of 1", "best_kept": "1 of 2"}
    turned = every.assign(value=np.where(every["statistic"].str.contains("shuffled"), 0.0, 1 - every["value"]))
    told = adversarial_page.lists(adversarial_page.sides(scored, turned, 0.01, 0.05), 0.7, decided, turned)
    assert told["near_told"] == ["In our runs, on: sst."] and told["lost_told"] == ["Below zero: sst, snli."]
    assert not any("pools" in text for text in told["easy_told"]), "0.1 and 0.4 lie on one side"


def test_our_sides_beside_the_authors_figures(scored, every):
    easy = adversarial_page.sides(scored, every, 0.01, 0.05)["easy"]
    theirs = heights.authors_easy(0.7)
    assert theirs["final"]["sst"] and theirs["final"]["imdb"], "what the two counts below go by"
    found = adversarial_page.beside_authors(easy, theirs)
    assert (found["sides"], found["sides_alike"]) == (2, 1), "SNLI is open, and IMDB lies on the other side"
    assert found["theirs_told"][1] == "In neither: babi_1, snli."
    other = adversarial_page.beside_authors(easy, theirs | {"final": {"sst": False, "imdb": False}, "below": "none"})
    assert other["sides_alike"] == 1 and not any(text.startswith("In neither") for text in other["theirs_told"])
    assert adversarial_page.beside_authors(easy, theirs | {"final": {"sst": True, "imdb": False}})["sides_alike"] == 2
