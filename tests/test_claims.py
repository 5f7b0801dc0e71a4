"""Jain & Wallace's claims: which side of a threshold, with how many seeds, corrected together."""

import numpy as np
import pandas as pd
import pytest

from attn_book import scorecard as card
from attn_core import measures

ITEM = {name: item for (item, _), name in card.CLAIMS.items()}
SHUFFLED, EASY = ITEM["6"], ITEM["7"]


@pytest.fixture(autouse=True)
def no_weak_model(monkeypatch):
    monkeypatch.setattr(card, "weak_models", lambda: set())


def scored(**columns) -> pd.DataFrame:
    """Rows of a scorecard with defaults for what a test does not name."""
    size = len(next(iter(columns.values())))
    plain = {
        "paper": "jain", "kind": "claim", "item": ITEM["2"], "corpus": "sst", "measure": "tau_gradient",
        "side": "above", "reported": 0.0, "ours": 0.2, "low": 0.1, "high": 0.3, "n_seeds": 5, "unjudged": "",
        "encoder_ours": "average", "minus": "encoder_ours=lstm", "data": "same",
    }  # fmt: skip
    return pd.DataFrame({name: columns.get(name, [value] * size) for name, value in plain.items()})


def test_claims_lie_on_a_side_only_with_five_seeds_and_enough_documents():
    rows = scored(corpus=["sst", "imdb", "20news", "agnews", "snli", "babi_1"], ours=[0.2] * 3 + [-0.2, 0.2, np.nan],
                  low=[0.1, 0.1, -0.1, -0.3, 0.1, np.nan], high=[0.3, 0.3, 0.5, -0.1, 0.3, np.nan],
                  unjudged=["", "few seeds", "", "", "few documents", "no run"],
                  n_seeds=[5, 4, 5, 5, 5, 0])  # fmt: skip
    found = card.claims(rows).set_index("corpus")
    assert found["lies"].to_dict() == {
        "sst": "above", "imdb": "few", "agnews": "below", "20news": "around", "snli": "few",
        "babi_1": "few",
    }  # fmt: skip
    assert found.index[found["shown"]].tolist() == ["sst"]
    assert found.index[found["p"].notna()].tolist() == found.index[found["holm"].notna()].tolist()
    assert (found["holm"] >= found["p"])[found["p"].notna()].all() and found["p"].notna().sum() == 3


def test_the_three_kinds_are_corrected_apart():
    """'Permutation often changes little' and 'changes much here' ask one number: a kind and a Holm family each."""
    rows = scored(
        corpus=["sst", "babi_1", "babi_1"], item=[SHUFFLED] * 2 + ["claim: permutation changes much here"],
        side=["above", "above", "below"], reported=[0.5] * 3, ours=[0.9, 0.04, 0.04], low=[0.8, 0.03, 0.03],
        high=[0.99, 0.05, 0.05],
    )  # fmt: skip
    found = card.claims(rows)
    assert found["name"].tolist() == ["6", "6", "pattern"] and found["shown"].tolist() == [True, False, True]
    alone = found[found["sort"] == "patterns"]
    assert alone["holm"].tolist() == alone["p"].tolist(), "a family of one is not corrected"


def test_a_lower_end_that_is_low_refutes_nothing():
    again = ITEM["7b"]
    rows = scored(
        corpus=["sst", "sst", "snli"], item=[EASY, again, again], reported=[0.7] * 3, ours=[0.4, 0.9, 0.4],
        measure=["eps_max_jsd", "eps_max_jsd, exact optimum", card.BEST_FOUND], low=[0.3, 0.8, 0.3],
        high=[0.5, 1.0, 0.5],
    )  # fmt: skip
    found = card.claims(rows).set_index(["corpus", "name"])["lies"].to_dict()
    assert found == {("sst", "7"): "below", ("sst", "7b"): "above", ("snli", "7b"): "around"}


def test_claims_about_an_encoder_that_does_its_task_badly_are_marked(monkeypatch):
    monkeypatch.setattr(card, "weak_models", lambda: {("sst", "average"), ("imdb", "cnn")})
    assert card.claims(scored(corpus=["sst", "imdb"])).set_index("corpus")["weak"].to_dict() == {
        "sst": True, "imdb": False,
    }  # fmt: skip


def test_weak_models_are_far_below_the_best(monkeypatch):
    monkeypatch.undo()
    runs = [("sst", "lstm", 0.9), ("sst", "average", 0.85), ("babi_1", "lstm", 1.0), ("babi_1", "average", 0.89)]
    table = pd.DataFrame(runs, columns=["corpus", "encoder", "accuracy"])
    monkeypatch.setattr(card.index, "runs", lambda **_: table)
    assert card.weak_models() == {("babi_1", "average")}


def test_the_one_sided_p_takes_its_error_from_the_interval():
    from scipy.stats import ttest_1samp

    values = np.array([0.1, 0.3, 0.2, 0.25, 0.4])
    half = ttest_1samp(values, 0).confidence_interval(0.95)
    rows = scored(ours=[values.mean()] * 2, low=[half.low] * 2, high=[half.high] * 2, reported=[0.05, 0.05],
                  side=["above", "below"])  # fmt: skip
    expected = ttest_1samp(values, 0.05, alternative="greater").pvalue
    assert card.one_sided(rows) == pytest.approx([expected, 1 - expected])


def test_holm_by_hand():
    assert measures.holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    assert measures.holm(np.array([0.6, 0.7])) == pytest.approx([1.0, 1.0]) and len(measures.holm(np.array([]))) == 0


def test_every_claim_asks_rows_of_the_rules():
    from attn_book.reported import reported

    items = set(reported("tolerances", paper="jain", kind="claim")["item"])
    assert set(ITEM.values()) <= items
