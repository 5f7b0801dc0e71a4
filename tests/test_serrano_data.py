"""Statistics and accuracies of Serrano & Smith's sets: by hand, and with the models that enter no claim greyed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from serrano_results import bar, result_of  # noqa: F401  (bar: a fixture)

from attn_book.serrano import data
from attn_core.runs import SEEDS

pytestmark = pytest.mark.usefixtures("bar")

SPLITS = {
    "train": {"documents": 3, "mean_length": 4.0, "sd_length": 1.0, "mean_sentences": 2.0, "sd_sentences": 0.0,
              "one_sentence": 1, "dropped_empty": 0, "max_length": 9, "absent_classes": ["3"], "per_class": [3, 0],
              "dropped_sentences": 2},
    "dev": {"documents": 1, "mean_length": 8.0, "sd_length": 0.0, "mean_sentences": 2.0, "sd_sentences": 0.0,
            "absent_classes": [], "max_length": 8},
    "test": {"documents": 2, "mean_length": 6.0, "sd_length": 2.0, "mean_sentences": 5.0, "sd_sentences": 1.0,
             "absent_classes": [], "max_length": 3000},
}  # fmt: skip


def runs():
    found = [result_of("imdb_stars", encoder, seed, accuracy)
             for encoder, accuracies in (("han_rnn", (0.44, 0.45, 0.46)), ("flan_none", (0.30, 0.31, 0.32)))
             for seed, accuracy in zip(SEEDS[:3], accuracies, strict=True)]  # fmt: skip
    statistics = {"splits": SPLITS, "vocabulary": 12345, "classes": ["2", "3"], "train_share": 1.0}
    return [
        replace(result, record={**result.record, "statistics": statistics, "n_train": 3, "n_dev": 1, "n_test": 2})
        for result in found
    ]


def test_table_1_pools_the_splits():
    row = data.table_1(runs()).iloc[0]
    words = np.array([3, 4, 5, 8, 4, 8])  # a set with these means and deviations, but for train's deviation
    middle = words.mean()
    spread = np.sqrt((3 * (1 + (4 - middle) ** 2) + (8 - middle) ** 2 + 2 * (4 + (6 - middle) ** 2)) / 6)
    assert row["words"] == f"{middle:.1f} ({spread:.1f})" and row["sentences"] == "3.0 (1.5)"
    assert (row["train + dev"], row["test"], row["vocabulary"], row["classes"]) == (4, 2, 12345, 2)


def test_oddities_name_what_is_there():
    table = data.oddities(runs()).set_index("what")
    assert table.loc["documents of one sentence", ["train", "dev", "test"]].tolist() == ["1", "–", "–"]
    assert table.loc["longest document, words", "test"] == "3,000"
    assert table.loc["classes without documents", ["train", "dev"]].tolist() == ["3", "–"]
    assert table.loc["sentences without words, left out", "train"] == "2"
    assert "documents without words, left out" not in table.index


def test_accuracies_beside_their_yardsticks():
    rows = data.accuracies(runs()).set_index("encoder")
    assert rows.loc["han_rnn", ["majority", "regression", "n_seeds", "why"]].tolist() == [0.2, 0.45, 3, ""]
    assert rows.loc["han_rnn", "mean"] == pytest.approx(0.45) and rows.loc["han_rnn", "low"] < 0.44
    assert "below the regression" in rows.loc["flan_none", "why"]
    shown = data.accuracy_table(data.accuracies(runs()))
    page = shown.to_html()
    assert (
        page.count("#767676") == 1
        and shown.data["FLANnoenc"][0].endswith("3 s. *")
        and shown.data["HANrnn"][0].endswith("3 s.")
    )


def test_a_set_without_baseline_is_said_so(monkeypatch):
    monkeypatch.setattr(
        data.baselines, "stored", lambda: pd.DataFrame({"corpus": [], "majority": [], "regression": []})
    )
    rows = data.accuracies(runs())
    assert rows["majority"].isna().all() and (rows["why"] == "no baseline was measured").all()


def test_trainings_name_the_kept_epoch():
    """Dev accuracy 0.3, 0.5, 0.5 at rates 8, 4, 2: the second epoch is kept, the rate halved once by then."""
    history = [
        {"epoch": i, "dev_accuracy": a, "learning_rate": r} for i, (a, r) in enumerate(((0.3, 8), (0.5, 4), (0.5, 2)))
    ]
    found = [replace(r, record={**r.record, "history": history, "n_train": 100}) for r in runs()[:3]]
    (row,) = data.trainings(found).to_dict("records")
    assert row["model"] == "HANrnn" and row["training documents"] == 100
    assert (row["kept epoch"], row["epochs"], row["documents read"], row["rate halved"]) == (2, 3, 200, 1)
    assert row["at the last"] == 0, "30 epochs are allowed"
    assert row["enters no claim"] == "", "its accuracy is near the regression's"


@pytest.mark.parametrize(
    ("variant", "low", "told"),
    [(0.50, 0.1, "the rate is enough to bring the mean within the rule"),
     (0.45, 0.05, "the rate raises it, not enough"), (0.50, -0.01, "a gain is not shown"),
     (0.50, np.nan, "too few seeds")],
)  # fmt: skip
def test_a_higher_rate_is_a_cause_by_rule(variant, low, told):
    row = pd.Series({"corpus": "yelp", "encoder": "han_rnn", "standard": 0.34, "variant": variant,
                     "difference": variant - 0.34, "low": low, "high": 0.3, "n_seeds": 3})  # fmt: skip
    assert data.rate_told(row, 0.52).endswith(told)


def test_tables_without_a_run_are_empty_and_named():
    assert data.trainings([]).empty and "kept epoch" in data.trainings([])
    assert "regression" in data.accuracy_table(data.accuracies([])).to_html()
