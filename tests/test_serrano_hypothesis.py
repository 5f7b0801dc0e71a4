"""The untested hypothesis: made-up runs with a known answer."""

import matplotlib
import numpy as np
import pandas as pd
import pytest

from attn_book.serrano import erasure_figures
from attn_book.serrano.hypothesis import (
    TESTS,
    each_encoder,
    gaps,
    hypothesis,
    hypothesis_tests,
    hypothesis_verdict,
    side_by_side,
    slopes_twice,
    told_each,
    told_left,
)
from attn_core.archive import Result
from attn_core.experiments.erasure import RANKINGS
from attn_core.measures import seed_interval
from attn_core.runs import SEEDS

matplotlib.use("agg")

WEAK = {("imdb_stars", "flan_none"): "it does not do its task"}


def runs_by_hand(shift: float, noise: float = 0.01, corpus: str = "20news_all", seeds: int = 5) -> pd.DataFrame:
    """Runs whose gap falls by `shift` from rnn and conv (dispersion 0.2, 0.4) to none (dispersion 0.8)."""
    rng, lines = np.random.default_rng(0), []
    for seed in SEEDS[:seeds]:
        for kind, dispersion in (("rnn", 0.2), ("conv", 0.4), ("none", 0.8)):
            gap = 0.3 - shift * (kind == "none") + noise * rng.normal()
            lines.append({"corpus": corpus, "unit": "HAN", "encoder": f"han_{kind}", "seed": seed,
                          "dispersion": dispersion, "gap": gap, "relative": 2 * gap,
                          "slope": -shift + noise * rng.normal()})  # fmt: skip
    return pd.DataFrame(lines)


def test_the_hypothesis_is_decided_by_the_numbers():
    holds, fails, open_ = (hypothesis(runs_by_hand(shift)) for shift in (0.1, -0.1, 0.0))
    assert holds["test"].tolist() == ["gap", "relative", "between", "within"]
    assert (holds["verdict"] == "supported").all() and (fails["verdict"] == "contradicted").all()
    assert (open_["verdict"] == "not decided").all()
    found = holds.set_index("test")
    assert found["mean"]["gap"] == pytest.approx(-0.1, abs=0.02) and found["mean"]["relative"] == pytest.approx(
        -0.2, abs=0.04
    )
    runs = runs_by_hand(0.1)
    slopes = [np.polyfit(part["dispersion"], part["gap"], 1)[0] for _, part in runs.groupby("seed")]
    assert found["mean"]["between"] == pytest.approx(np.mean(slopes))
    assert (found["low"]["between"], found["high"]["between"]) == pytest.approx(seed_interval(np.array(slopes)))
    assert (found["holm"] >= found["p"]).all()
    assert hypothesis_verdict(holds).startswith("The statement holds (tests that support it: 4, contradict it: 0,")
    assert hypothesis_verdict(fails).startswith("The statement fails (tests that support it: 0, contradict it: 4,")
    assert hypothesis_verdict(open_).startswith("Nothing is decided")
    mixed = pd.concat([holds, fails])
    assert hypothesis_verdict(mixed).startswith("The statement depends on the model and the test")


def test_each_test_names_its_places_under_their_verdicts():
    holds, fails = (hypothesis(runs_by_hand(shift)) for shift in (0.1, -0.1))
    assert hypothesis_verdict(holds).endswith("do not decide: 0; Holm-corrected for 4).")
    one, both = hypothesis_tests(holds), hypothesis_tests(pd.concat([holds, fails.assign(corpus="amazon")]))
    assert [text.split(":")[0] for text in one] == list(TESTS.values()) == [text.split(":")[0] for text in both]
    row = holds.iloc[0]
    assert one[0].endswith(
        f":\n  - supported on 20news_all HAN {row['mean']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
    )
    assert both[0].startswith(one[0] + "\n  - contradicted on amazon HAN 0.")


def test_the_hypothesis_needs_five_seeds_of_models_that_do_their_task():
    few = hypothesis(runs_by_hand(0.1, seeds=4))
    assert (few["verdict"] == "few seeds").all() and few["mean"].notna().all()
    assert (hypothesis(runs_by_hand(0.1, corpus="planted"))["verdict"] == "generated").all()
    weak = hypothesis(runs_by_hand(0.1), {("20news_all", "han_conv"): "why"})
    assert (weak["verdict"] == "weak model").all()
    assert hypothesis_verdict(weak).startswith("Not decided") and hypothesis_tests(weak) == [
        "weak model: 20news_all HAN"
    ]
    runs = runs_by_hand(0.1)
    assert hypothesis(runs[runs["encoder"] != "han_rnn"]).empty
    none = hypothesis(runs[runs["encoder"] != "han_rnn"])
    assert hypothesis_verdict(none).startswith("Not decided") and hypothesis_tests(none) == ["no run"]
    dropped = hypothesis(runs.drop(index=0))  # one model of one seed
    assert (dropped["n_seeds"] == 4).all()


def test_the_tests_stand_side_by_side_judged_ones_first():
    few = hypothesis(runs_by_hand(0.1, corpus="amazon", seeds=1))
    made = hypothesis(pd.concat([runs_by_hand(0.1, corpus="amazon", seeds=1), runs_by_hand(0.1)]))
    table = side_by_side(pd.concat([few, made[made["corpus"] == "20news_all"]]))
    assert table["data set"].tolist() == ["20news_all HAN", "amazon HAN"]
    assert table["state"].tolist() == ["judged", "few seeds"] and table["seeds"].tolist() == ["5", "1"]
    assert table["gap"].iloc[0].endswith("; supported, p < 0.001") and "no interval" in table["gap"].iloc[1]
    unlike = made.assign(verdict=made["verdict"].where(made["test"] != "within", "few seeds"))
    cell = side_by_side(unlike[unlike["corpus"] == "20news_all"])["slope within"].iloc[0]
    assert cell.endswith("; few seeds"), "what is not judged in a judged row says why"
    assert side_by_side(hypothesis(runs_by_hand(0.1).iloc[:0])).empty


def test_correction_counts_all_tests_that_are_judged():
    """Alone the shift is shown; among many tests of nothing it is not."""
    alone = hypothesis(runs_by_hand(0.012, noise=0.005))
    assert "supported" in set(alone["verdict"])
    others = [runs_by_hand(0.0, corpus=name) for name in ("imdb_stars", "amazon", "yelp", "yahoo")]
    among = hypothesis(pd.concat([runs_by_hand(0.012, noise=0.005), *others]))
    mine = among[among["corpus"] == "20news_all"]
    assert (mine["high"] < 0).any() and (mine["verdict"] == "supported").sum() < (alone["verdict"] == "supported").sum()


def test_dispersions_draw_a_point_a_run_and_a_line_a_seed():
    _, ax = matplotlib.pyplot.subplots()
    erasure_figures.dispersions(
        ax, runs_by_hand(0.1), {"han_rnn": "HANrnn", "han_conv": "HANconv", "han_none": "HANnoenc"}
    )
    lines = [line for line in ax.lines if line.get_linestyle() == "-" and line.get_marker() == "None"]
    points = sum(len(line.get_xdata()) for line in ax.lines if line.get_marker() != "None")
    assert len(lines) == 5 and points == 15 and len({line.get_marker() for line in ax.lines}) == 4
    assert ax.get_ylim()[0] == 0


def test_dispersions_of_one_seed_have_no_line_and_weak_models_are_grey():
    names = {"han_rnn": "HANrnn", "han_conv": "HANconv", "han_none": "HANnoenc"}
    _, ax = matplotlib.pyplot.subplots()
    runs = runs_by_hand(0.1)
    one = runs[runs["seed"] == runs["seed"].iloc[0]]
    erasure_figures.dispersions(ax, one, names, {("20news_all", "han_rnn")})
    assert len(ax.lines) == 3 and {line.get_marker() for line in ax.lines} == {"o", "^", "s"}
    assert [line.get_color() == erasure_figures.PAPER for line in ax.lines if line.get_marker() == "o"] == [True]
    assert not any(line.get_color() == erasure_figures.PAPER for line in ax.lines if line.get_marker() != "o")
    matplotlib.pyplot.close("all")


def test_relative_is_of_the_documents_that_all_orders_flip():
    shares = {"attention": 0.5, "random": 0.9, "optimum": 0.1, "gradient": 0.3}
    rows = [(f"fraction_{name}", "common", "mean", value) for name, value in shares.items()]
    rows += [
        ("gap", "all", "mean", 0.7),
        ("dispersion_weighted", "all", "mean", 0.2),
        ("slope_gap", "all", "value", 1.0),
    ]
    every = pd.DataFrame(rows, columns=["statistic", "bin", "measure", "value"])
    found = gaps(every.assign(corpus="amazon", encoder="han_rnn", seed=10))
    assert found["relative"].tolist() == [pytest.approx(0.4 / 0.8)] and found["gap"].tolist() == [0.7]


def test_gaps_with_an_item_left_take_their_own_numbers():
    shares = {"attention": 0.5, "random": 0.9, "optimum": 0.1}
    rows = [(f"fraction_{name}@left", "common", "mean", value) for name, value in shares.items()]
    rows += [("gap", "all", "mean", 0.7), ("gap@left", "all", "mean", 0.3), ("dispersion_weighted", "all", "mean", 0.2)]
    rows += [("slope_gap", "all", "value", 1.0)]
    every = pd.DataFrame(rows, columns=["statistic", "bin", "measure", "value"])
    found = gaps(every.assign(corpus="amazon", encoder="han_rnn", seed=10), item_left=True).iloc[0]
    assert (found["gap"], found["relative"]) == pytest.approx((0.3, 0.5)) and np.isnan(found["slope"])


def test_tests_again_with_an_item_left_are_told_beside():
    whole, left = runs_by_hand(0.1), runs_by_hand(-0.1).assign(slope=np.nan)
    *texts, count = told_left(hypothesis(whole), hypothesis(left))
    assert [text.split(",")[0] for text in texts] == ["gap", "relative to random", "slope between"]
    assert all("with an item left" in text for text in texts)
    assert count == "of these 3 intervals, with an item left: 0 below 0, 3 above 0, 0 around 0"
    assert told_left(hypothesis(whole, {("20news_all", "han_rnn"): "weak"}), hypothesis(left)) == ["no test is judged"]


def test_documents_of_alike_items_bend_the_slope_and_are_left_out():
    n, alike = 40, np.arange(40) < 20
    removed = np.where(alike, 5, 2)  # alike: every order needs all five items
    table = pd.DataFrame({"n": 5, "dispersion_weighted": np.where(alike, 0.01, np.linspace(0.3, 0.9, n))})
    for name in RANKINGS:
        table[f"removed_{name}"], table[f"zero_{name}"], table[f"mass_{name}"] = removed, alike, 0.5
    table["removed_attention"] = np.where(alike, 5, np.linspace(4, 2, n).round().astype(int))  # falls with dispersion
    result = Result({"run": {"corpus": "amazon", "encoder": "han_rnn", "seed": 10}}, None, table, None, "archive")
    planted = Result({"run": {"corpus": "planted", "encoder": "han_rnn", "seed": 10}}, None, table, None, "archive")
    found = slopes_twice([result, planted])
    assert len(found) == 1 and found["all"][0] > 0 > found["left"][0]
    assert (found["n_all"][0], found["n_left"][0]) == (40, 20)


def test_each_encoder_apart_shows_what_the_mean_hides():
    """rnn: gap 0.05 below that of no encoder; conv: 0.25 above it, so that the mean of the two is 0.1 above."""
    runs = runs_by_hand(0.1, noise=0.0)
    runs.loc[runs["encoder"] == "han_rnn", "gap"] = 0.15 + 0.001 * np.arange(5)
    runs.loc[runs["encoder"] == "han_conv", "gap"] = 0.45
    found = each_encoder(runs).query("test == 'gap'").set_index("encoder")
    assert found["mean"].to_dict() == pytest.approx({"rnn": 0.048, "conv": -0.25})
    assert found["low"]["rnn"] > 0 > found["high"]["conv"] and (found["n_seeds"] == 5).all()
    assert hypothesis(runs).set_index("test")["verdict"]["gap"] == "supported"
    told = told_each(each_encoder(runs))
    assert told[0].startswith("20news_all HANnoenc minus HANrnn: gap +0.048 (") and "relative to random" in told[0]
    assert each_encoder(runs, {("20news_all", "han_conv")})["encoder"].unique().tolist() == ["rnn"]
    assert told_each(each_encoder(runs_by_hand(0.1, seeds=4))) == ["no pair of models can be judged"]
    assert each_encoder(runs_by_hand(0.1, corpus="planted")).empty
