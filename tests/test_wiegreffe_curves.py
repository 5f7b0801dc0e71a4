"""Figures 3 and 5 and Table 4 of Wiegreffe & Pinter, in numbers and drawn."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import toy_traces
from wiegreffe_results import BASE_F1, CURVE, adversary_of, curve, result_of, runs_of, uniform_test

from attn_book import figures
from attn_book.wiegreffe import curves as wiegreffe_curves
from attn_book.wiegreffe import figures as wiegreffe_figures
from attn_book.wiegreffe import runs as wiegreffe_runs
from attn_core.measures import LN2
from attn_core.runs import Run

# ---- Figure 3 --------------------------------------------------------------------------------------------------------


def test_figure_3_beside_the_figure():
    runs = runs_of(uniform_test(count=9))
    documents = {
        ("sst", "seeds"): wiegreffe_curves.figure_3_documents(runs, "sst", "seeds"),
        ("sst", "search"): wiegreffe_curves.figure_3_documents(runs, "sst", "search"),
    }
    assert documents["sst", "search"] is None and documents["sst", "seeds"]["n_tables"].eq(8).all()
    rows = wiegreffe_curves.figure_3(documents)
    place = rows.set_index(["corpus", "kind", "predicted", "bin"])
    cell = place.loc[("sst", "seeds", 1, "[0.50,0.75)")]
    assert cell["theirs"] == 0.050 and cell["n"] == 25 and np.isfinite(cell["median"])
    searched = place.loc[("diabetes", "search", 0, "[0.75,1.00]")]
    assert searched["theirs"] == 0.683 and searched["n"] == 0 and np.isnan(searched["median"])
    assert place.loc[("imdb", "seeds", 0, "[0.00,0.25)"), "class_name"] == "negative"
    assert not rows.duplicated(["corpus", "kind", "predicted", "bin"]).any()


def test_a_live_run_is_compared_by_its_traces():
    base, other = toy_traces(np.full(30, 6), 1), toy_traces(np.full(30, 6), 2)
    live = [
        replace(result_of(Run("sst", seed=seed)), traces=traces, source="trained")
        for seed, traces in ((10, base), (50, other))
    ]
    found = wiegreffe_runs.seed_tables(runs_of(live), "sst")
    assert list(found) == [50] and len(found[50]) == 30 and found[50]["jsd"].between(0, LN2).all()
    assert (
        wiegreffe_curves.base_traces(runs_of(live), "sst") is base
        and len(wiegreffe_curves.figure_3_documents(runs_of(live), "sst", "search")) == 30
    )


# ---- Figure 5 and Table 4 --------------------------------------------------------------------------------------------


def test_points_of_figure_5():
    runs = runs_of(uniform_test(), curve())
    searched = pd.DataFrame({"jsd": [0.3, 0.5], "tvd": [0.004, 0.006]})
    points = wiegreffe_curves.figure_5(runs, "sst", searched)
    assert points["kind"].value_counts().to_dict() == {"adversary": 15, "uniform": 5, "seed": 4, "search": 1}
    plus = points[points["kind"] == "search"].iloc[0]
    assert (plus["jsd"], plus["tvd_halved"]) == pytest.approx((0.4, 0.0025))
    np.testing.assert_allclose(points["tvd_halved"] * 2, points["tvd"])
    theirs = wiegreffe_curves.figure_5_read("sst")
    assert theirs["kind"].value_counts().to_dict() == {"adversary": 16, "seed": 8, "uniform": 1, "search": 1}
    assert theirs[theirs["kind"] == "search"][["jsd", "tvd_halved"]].iloc[0].tolist() == [0.382, 0.0036]
    assert len(wiegreffe_curves.figure_5_read("agnews")) == 0


def test_table_4_lists_every_lambda_far_from_the_base():
    rows = wiegreffe_curves.table_4(
        runs_of(uniform_test(), curve(), curve("imdb", 1, {1e-4: (0.1, 0.02)})), wiegreffe_runs.CONTINUED
    ).set_index("corpus")
    far = rows.loc["sst"].set_index("divergence")
    assert list(far.index) == [5e-4, 2e-3] and far["best"].tolist() == [True, False] and far["n_seeds"].eq(3).all()
    assert far["f1"].tolist() == pytest.approx([BASE_F1["sst"] - 5 * divergence for divergence in far.index])
    assert far["jsd"].tolist() == pytest.approx([CURVE[d][0] for d in far.index]) and far["state"].eq("").all()
    assert far["tvd_halved"].tolist() == pytest.approx([CURVE[d][1] / 2 for d in far.index]) and far["settled"].all()
    base = wiegreffe_runs.f1_by_seed(runs_of(uniform_test()), "sst", "base")
    assert far["base_f1"].tolist() == pytest.approx([base[10]] * 2), "of the seed that is imitated, not of all"
    assert rows.loc["imdb", "state"] == "no adversary of JSD 0.4" and rows.loc["diabetes", "state"] == "not rerun"
    assert wiegreffe_curves.table_4(runs_of(), ["sst"])["state"].item() == "no run"
    late = curve()
    late[3].record["history"] = [{"test_jsd": 0.1}, {"test_jsd": 0.45}]
    moved = wiegreffe_curves.table_4(runs_of(late), ["sst"])
    assert moved["state"].tolist() == ["1 of 3 not converged", ""] and moved["settled"].tolist() == [False, True]


def test_epochs_show_what_has_not_settled():
    def history(jsd):
        return [
            {"epoch": i, "loss": -i, "test_jsd": value, "test_tvd": 0.01, "jsd": 9.0, "tvd": 9.0}
            for i, value in enumerate(jsd)
        ]

    still, settled = (result_of(adversary_of("sst", 10, divergence), jsd=0.5, tvd=0.1) for divergence in (1e-3, 1e-4))
    still.record["history"] = history([0.1 * i for i in range(7)])
    settled.record["history"] = history([0.0, 0.2, 0.3, 0.3, 0.31, 0.31, 0.31, 0.31])
    rows = wiegreffe_curves.epochs(runs_of([still, settled]), "sst")
    assert (
        len(rows) == 15
        and rows[rows["kept"].astype(bool)]["epoch"].tolist() == [7, 6]
        and rows["jsd"].max() == pytest.approx(0.6)
    )
    moving = wiegreffe_curves.unconverged(runs_of([still, settled]), "sst")
    assert (
        moving["divergence"].tolist() == [1e-3]
        and moving["moved"].iloc[0] == pytest.approx(0.5)
        and moving["epochs"].iloc[0] == 7
    )
    assert len(wiegreffe_curves.unconverged(runs_of([]), "sst")) == 0 == len(wiegreffe_curves.epochs(runs_of(), "sst"))
    points = wiegreffe_curves.figure_5(runs_of([still, settled]), "sst").set_index("divergence")
    assert points["settled"].to_dict() == {1e-4: True, 1e-3: False}
    assert np.isnan(wiegreffe_runs.last_moved([])) and np.isnan(wiegreffe_runs.last_moved([{}]))


def test_the_cheapest_model_of_any_epoch_is_chosen_on_development_data():
    """By hand: on test the second epoch would do better; a level is asked of dev; λ compete; a seed falls out."""
    near, far, other = (
        result_of(adversary_of("sst", seed, divergence), jsd=0.5, tvd=0.1)
        for seed, divergence in ((10, 0.0), (10, 1e-3), (50, 1e-3))
    )
    numbers = ("test_jsd", "test_tvd", "dev_jsd", "dev_tvd")
    for result, rows in (
        (near, [(0.05, 0.04, 0.04, 0.03), (0.06, 0.02, 0.05, 0.05)]),
        (far, [(0.40, 0.06, 0.61, 0.08), (0.62, 0.05, 0.59, 0.01)]),
        (other, [(0.70, 0.01, 0.10, 0.06)]),
    ):
        result.record["history"] = [
            {"epoch": i, "loss": -i, "jsd": 9.0, "tvd": 9.0, **dict(zip(numbers, row, strict=True))}
            for i, row in enumerate(rows)
        ]
    history = wiegreffe_curves.epochs(runs_of([near, far, other]), "sst")
    found = wiegreffe_curves.cheapest(history, (0.0, 0.05, 0.6, 0.65)).set_index(["at", "seed"])
    assert found["tvd_halved"].to_dict() == pytest.approx(
        {(0.0, 10): 0.025, (0.0, 50): 0.005, (0.05, 10): 0.025, (0.05, 50): 0.005, (0.6, 10): 0.03}
    )
    assert found.loc[(0.6, 10), ["divergence", "epoch", "jsd"]].tolist() == [1e-3, 0, 0.4]
    without = wiegreffe_curves.cheapest(history.assign(dev_jsd=np.nan), (0.0, 0.5))
    assert len(without) == 0 == len(wiegreffe_curves.cheapest(wiegreffe_curves.epochs(runs_of(), "sst"), (0.0,)))


def test_frontiers_need_traces():
    live = [replace(result_of(Run("sst")), traces=toy_traces(np.full(30, 6), 1))]
    found = wiegreffe_curves.frontiers(runs_of(live), "sst")
    assert set(found) == {"same epsilon", "best sharing"} and found["same epsilon"]["n"].eq(30).all()
    assert wiegreffe_curves.frontiers(runs_of(curve()), "sst") == {}


# ---- figures ---------------------------------------------------------------------------------------------------------


def test_violins_and_the_papers_medians():
    runs = runs_of(uniform_test(count=9))
    documents = wiegreffe_curves.figure_3_documents(runs, "sst", "seeds")
    documents["median"] += np.random.default_rng(0).normal(0, 0.01, len(documents))
    rows = wiegreffe_curves.figure_3({("sst", "seeds"): documents})
    part = rows[(rows["corpus"] == "sst") & (rows["kind"] == "seeds")]
    figure, axes = figures.canvas(columns=2)
    wiegreffe_figures.violins(axes[0, 0], documents, "median", part, {0: "negative", 1: "positive"})
    diamonds = [line.get_xdata()[0] for line in axes[0, 0].lines if line.get_marker() == "D"]
    assert sorted(diamonds) == sorted(part["theirs"]) and len(axes[0, 0].collections) == 8
    absent = rows[(rows["corpus"] == "diabetes") & (rows["kind"] == "search")]
    wiegreffe_figures.violins(axes[0, 1], None, "two", absent, {0: "no diabetes", 1: "diabetes"})
    assert not axes[0, 1].collections and sum(line.get_marker() == "D" for line in axes[0, 1].lines) == len(absent)
    plt.close(figure)


def test_the_trade_off_and_epochs():
    runs = runs_of(uniform_test(), curve())
    figure, axes = figures.canvas(columns=2)
    frontier = {"same epsilon": pd.DataFrame({"jsd": [0.5, 0.6], "tvd_halved": [0.0, 0.05]})}
    wiegreffe_figures.trade_off(
        axes[0, 0], wiegreffe_curves.figure_5(runs, "sst"), frontier, wiegreffe_curves.figure_5_read("sst")
    )
    wiegreffe_figures.trade_off_legend(figure)
    curves = [line for line in axes[0, 0].lines if line.get_marker() == "o" and line.get_linestyle() == "-"]
    assert len(curves) == 3 and all(len(line.get_xdata()) == len(CURVE) for line in curves)
    assert list(curves[0].get_xdata()) == [jsd for jsd, _ in CURVE.values()], "joined in the order of lambda"
    rows = pd.DataFrame(
        {
            "seed": 10,
            "divergence": [0.1, 0.1, 0.2],
            "epoch": [0, 1, 0],
            "jsd": [0.1, 0.2, 0.5],
            "kept": [False, True, True],
        }
    )
    wiegreffe_figures.by_epoch(axes[0, 1], rows)
    assert [text.get_text() for text in axes[0, 1].get_legend().get_texts()] == ["λ 0.1", "λ 0.2"]
    shades = [line.get_color() for line in axes[0, 1].lines if len(line.get_xdata()) and line.get_label()[0] == "λ"]
    assert len(set(shades)) == 2
    chosen = pd.DataFrame({"at": [0.0, 0.4], "seed": 10, "jsd": [0.1, 0.5], "tvd_halved": [0.01, 0.02]})
    ax = axes[0, 1]
    ax.clear()
    wiegreffe_figures.any_epoch(ax, rows.assign(tvd=0.06), chosen, pd.DataFrame({"tvd_halved": [0.02, 0.04]}))
    dots = [line for line in ax.lines if line.get_marker() == "."]
    assert {y for line in dots for y in line.get_ydata()} == {0.03} and sum(len(line.get_xdata()) for line in dots) == 3
    assert ax.lines[-1].get_ydata()[0] == pytest.approx(0.03), "the mean of the other seeds"
    plt.close(figure)


def test_climbs_of_the_papers_own_curves():
    """IMDb's curve as measured: 0.0208 at 0.6 by the line from (0.407, 0.0144) to (0.617, 0.0214), 0.0151 at 0.2."""
    rows = wiegreffe_curves.climbs_read((0.2, 0.6)).set_index("corpus")
    assert list(rows.index) == ["diabetes", "anemia", "sst", "imdb"]
    at = 0.0144 + (0.6 - 0.407) / (0.617 - 0.407) * (0.0214 - 0.0144)
    low = 0.0157 + (0.2 - 0.140) / (0.202 - 0.140) * (0.0151 - 0.0157)
    assert rows.loc["imdb", ["climb", "after", "end"]].tolist() == pytest.approx([at - low, 0.0385 - at, 0.691])
    assert wiegreffe_curves.climbs_read((0.2, 0.6), ["agnews"]).empty, "not drawn there"
    (told,) = wiegreffe_curves.told_climbs(wiegreffe_curves.climbs_read((0.2, 0.6), ["imdb"]), 0.6)
    assert told == "imdb: +0.006, and +0.018 from JSD 0.6 to the curve's end (JSD 0.69)"


def test_medians_of_figure_3_in_a_table():
    table = wiegreffe_curves.table_figure_3(wiegreffe_curves.figure_3({}, ["diabetes"]))
    assert len(table) == 16 and table["ours, median"].eq("–").all() and table["paper, median"].ne("–").all()
