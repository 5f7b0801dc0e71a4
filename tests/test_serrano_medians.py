"""Medians under the paper's box plots: models whose flips come late, and the table."""

import numpy as np
import pandas as pd
import pytest

from attn_book.serrano import medians


def by_hand(**medians_of) -> pd.DataFrame:
    """Rows of `medians`: order -> median of amazon HANrnn; planted FLANrnn has 0.95 under each."""
    interval = {"low": np.nan, "high": np.nan, "n_seeds": 1}
    return pd.DataFrame([
        {"corpus": corpus, "encoder": encoder, "order": order, "mean": mean, **interval}
        for order, own in medians_of.items()
        for corpus, encoder, mean in (("amazon", "han_rnn", own), ("planted", "flan_rnn", 0.95))
    ])  # fmt: skip


def test_medians_are_means_over_seeds_of_each_order():
    every = pd.DataFrame([
        {"corpus": "amazon", "encoder": "han_rnn", "seed": seed, "statistic": f"fraction_{order}", "bin": "all",
         "measure": measure, "value": value}
        for order, values in {"random": (0.5, 0.7), "attention": (0.2, 0.4), "optimum": (0.1, 0.1)}.items()
        for seed, value in enumerate(values) for measure, value in (("median", value), ("mean", 0.0))
    ])  # fmt: skip
    rows = medians.medians(every, ("random", "attention"))
    assert rows["order"].tolist() == ["random", "attention"] and rows["n_seeds"].tolist() == [2, 2]
    assert rows["mean"].tolist() == pytest.approx([0.6, 0.3])


def test_late_models_are_those_above_the_limit_that_count():
    rows = by_hand(random=0.91, attention=0.4)
    may = medians.entering(rows, {})
    assert medians.late(rows) == ["amazon HANrnn", "planted FLANrnn"] and medians.late(may) == ["amazon HANrnn"]
    assert medians.late(may[may["order"] != "random"]) == []
    assert medians.late(medians.entering(by_hand(random=0.9), {})) == [], "above, not at"
    assert medians.late(medians.entering(by_hand(random=0.91, attention=0.95), {})) == ["amazon HANrnn"], "once"
    nobody = medians.entering(rows, {("amazon", "han_rnn"): "weak"})
    assert medians.late(nobody) == [] and list(nobody) == list(rows)
    assert list(medians.entering(rows.iloc[:0], {})) == list(rows)


def test_the_table_has_a_line_for_each_model_with_runs():
    rows = by_hand(random=0.625, attention=0.4)
    rows.loc[0, ["low", "high", "n_seeds"]] = [0.5, 1.2, 5]
    shown = medians.shown(rows.drop(index=3), ["planted", "amazon", "yelp"], ["han_rnn", "flan_rnn"], {})
    assert list(shown) == ["data set", "model", "Random", "Attention", "seeds"]
    assert shown.iloc[0].tolist() == ["planted (generated)", "FLANrnn *", "0.95", "–", 1]
    assert shown.iloc[1].tolist() == ["amazon", "HANrnn", "0.62 (0.50 to 1.00)", "0.40", 5], "cut at 1"
    weak = medians.shown(rows, ["amazon"], ["han_rnn"], {("amazon", "han_rnn"): "weak"})
    assert weak["model"].tolist() == ["HANrnn *"]
