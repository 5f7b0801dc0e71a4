"""The appendix: what the archive holds of all models of a data set, and what its panels draw of it."""

from dataclasses import replace

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import toy_pairs, toy_traces

from attn_book.jain import grid_tables, grids, panels
from attn_book.reported import APRIL_RUN, FINAL_RUN
from attn_core import archive
from attn_core.errors import AttnError
from attn_core.experiments import document_table, edges, summary_table
from attn_core.measures import seed_interval
from attn_core.runs import Run, as_dict

LSTM, AVERAGE = ("lstm", "tanh"), ("average", "tanh")


LENGTHS = (4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 9, 8, 7, 6, 5)


def store_run(folder, run: Run, seed: int, with_documents: bool, traces=None) -> pd.DataFrame:
    """A made-up run in an archive: toy traces under a real run's key; returns its document table."""
    traces = traces or toy_traces(lengths=LENGTHS, seed=seed)
    table = document_table(traces)
    record = {
        "key": run.key, "run": as_dict(run), "n_train": 6355, "n_dev": 821, "n_test": len(traces),
        "accuracy": 0.5 + seed / 100, "macro_f1": 0.5, "f1_0": 0.5, "f1_1": 0.5, "auc": 0.5,
        "device": "cpu", "seconds": {"train": 1.0, "trace": 2.0 + seed},
        "statistics": {"splits": {name: {"documents": n, "per_class": [n // 2, n - n // 2], "mean_length": 9.0}
                                  for name, n in (("train", 6355), ("dev", 821), ("test", 15))}},
    }  # fmt: skip
    files = {"traces.parquet": traces, "summary.parquet": summary_table(table, traces.classes)}
    archive.write(folder, run.key, record, files | ({"documents.parquet": table} if with_documents else {}))
    return table


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An archive with two seeds of SST's BiLSTM and one of its average encoder; (grid, document tables by seed)."""
    folder = tmp_path_factory.mktemp("data") / "archive"
    folder.mkdir()
    tables = {
        seed: store_run(folder, Run("sst", seed=seed), number, seed == 10) for number, seed in enumerate((10, 50), 1)
    }
    store_run(folder, Run("sst", "average"), 7, True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTN_ARCHIVE", str(folder))
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        yield grids.collect(["sst", "babi_1"], 5), tables


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_values_over_seeds_are_those_of_the_documents(made):
    grid, tables = made[0]["sst"], made[1]
    for group in grid.groups:
        means = [
            table.loc[table["predicted"] == int(group), "tau_attention_gradient"].mean() for table in tables.values()
        ]
        assert np.allclose(grid.over_seeds(LSTM, "tau_attention_gradient", group), means)
    assert np.allclose(grid.over_seeds(LSTM, "accuracy", "all", "value"), [0.51, 0.52])
    assert not len(grid.over_seeds(("cnn", "dot"), "tau_attention_gradient", "all"))


def test_shares_are_histograms_of_each_seed(made):
    grid, tables = made[0]["sst"], made[1]
    for statistic in ("tau_attention_gradient", "jsd_search@0.05"):
        expected = []
        for table in tables.values():
            values = table.loc[table["predicted"] == 1, statistic].dropna()
            counts = np.histogram(values, edges(statistic))[0]
            expected.append(counts / counts.sum())
        assert np.allclose(grid.shares(LSTM, statistic, "1"), expected)
    assert grid.shares(("cnn", "dot"), "tau_attention_gradient", "1").shape == (0, 30)


def test_absent_runs_are_told(made):
    sst, babi = made[0].values()
    assert sst.missing()[LSTM] == [257, 500231, 100078] and len(sst.missing()[AVERAGE]) == 4
    lines = grids.gaps(made[0])
    assert (
        len(lines) == 2 and "sst: absent BiLSTM, additive (3 of 5 seeds), BiLSTM, scaled dot (5 of 5 seeds)" in lines[0]
    )
    assert (
        "--corpus sst --encoder lstm --attention tanh --seed 257" in lines[0]
        and "all 6 models (5 seeds each)" in lines[1]
    )
    told = sst.told("documents")
    assert (
        "Document layer, all 15 test documents (seed 10)" in told
        and "1 to 2 seeds a model" in told
        and "Not rerun: BiLSTM, scaled dot" in told
    )
    points = "Points: means over seeds of means over documents, with 95 % Student t intervals (none below three seeds;"
    assert points in told
    assert "Not rerun: BiLSTM, scaled dot; CNN, additive; " in told, "names hold commas"
    one = replace(sst, results={AVERAGE: sst.results[AVERAGE]}).told("documents", "medians")
    assert (
        "Points: medians over documents, of one seed, hence open and without an interval" in one
        and "Student" not in one
    )
    assert babi.told() == "No model of this data set was rerun; only the authors' numbers are drawn"


@pytest.mark.parametrize("corpus", ["diabetes", "anemia", "adr", "cnn"])
def test_a_data_set_without_runs_shows_the_authors_alone(corpus):
    panels.violins(grids.unrun(corpus), "median_change", (0, 1), "change")
    axes = plt.gcf().axes
    assert all("not rerun" in ax.get_title() for ax in axes) and any(ax.lines for ax in axes)
    panels.histograms(grids.unrun(corpus), "tau_attention_gradient", "τ")
    assert any(ax.patches for ax in plt.gcf().axes), "outlines of the authors' histograms"
    plt.close("all")
    sizes = {"diabetes": "1,615", "anemia": "1,262", "adr": "4,123", "cnn": "3,198"}
    assert grids.told_unrun(corpus).endswith(f"{sizes[corpus]} test documents")


def test_unknown_names_are_refused():
    with pytest.raises(AttnError, match="the appendix has no data set 'diabetes'; corpora takes: sst, imdb"):
        grids.collect(["diabetes"])
    with pytest.raises(AttnError, match="epsilon must be one of 0.05, 0.01, which are stored; got 0.1"):
        grids.stored_at("jsd_search", 0.1)


def test_the_authors_classes_go_by_name():
    """SNLI's class numbers change between the authors' runs; the values are those of their files for contradiction."""
    values = [
        grids.authors_mean("snli", LSTM, "1", "tau_attention_gradient", snapshot) for snapshot in (APRIL_RUN, FINAL_RUN)
    ]
    assert np.allclose(values, [0.416067, 0.305903])
    assert np.isclose(grids.authors_mean("babi_1", LSTM, "all", "tau_attention_gradient", FINAL_RUN), 0.25, atol=0.005)
    assert np.isnan(grids.authors_mean("sst", ("none", "tanh"), "0", "tau_attention_loo", FINAL_RUN))


def test_distance_from_the_authors_two_runs(made):
    row = (
        grid_tables.beside_authors(made[0], "tau_attention_gradient")
        .query("encoder == 'lstm' and group == '0'")
        .iloc[0]
    )
    assert np.allclose([row.april, row.final], [0.395443, 0.343248]) and np.isclose(row.spread, 0.052195)
    expected = max(0.343248 - row.ours, row.ours - 0.395443, 0)
    assert np.isclose(row.apart, expected) and row.apart > 0, "toy attention agrees with nothing"


def test_own_data_with_enough_seeds_are_counted_apart():
    near = pd.DataFrame({"data": ["same", "same", "same", "subset"], "n_seeds": [5, 9, 3, 9],
                         "apart": [0.0, 0.1, 0.2, 0.05]})  # fmt: skip
    own, rest = grid_tables.told_beside(near)
    assert own.startswith(
        "The paper's own data, 5 seeds or more: 1 of 2 between the two runs, 2 between them or within"
    )
    assert ": 0 of 2 between the two runs, 1 between them or within 0.1 of the nearer one." in rest
    assert grid_tables.told_beside(near[:0]) == ["none"]


def test_orderings_are_decided_by_five_seeds_that_both_have(made):
    def table(values):
        rows = {"predicted": "all", "bin": "all", "measure": "mean", "seed": list(values), "value": values.values()}
        return {"tau": pd.DataFrame(rows)}

    high = {seed: 0.5 + seed / 1000 for seed in range(5)}
    tables = {LSTM: table(high), AVERAGE: table({seed: value - 0.3 for seed, value in high.items()})}
    pair = {"pair": ((LSTM, "tau"), (AVERAGE, "tau"))}
    grid = replace(made[0]["sst"], tables=tables)
    assert grid_tables.orderings({"sst": grid}, pair)["pair"] == {"above": ["sst"], "below": [], "open": [], "few": []}
    other = replace(grid, tables=tables | {AVERAGE: table({seed + 1: value - 0.3 for seed, value in high.items()})})
    assert grid_tables.orderings({"sst": other}, pair)["pair"]["few"] == ["sst"], "four seeds are shared"
    assert sum(map(len, grid_tables.orderings(made[0], {"none": ((LSTM, "x"), (LSTM, "y"))})["none"].values())) == 0


def test_table_of_models(made):
    table = grid_tables.rows_of(made[0], {"tau_attention_gradient": "τ"})
    assert table[["data", "model", "class", "seeds"]].to_numpy().tolist() == [
        ["sst", "BiLSTM, additive", "negative", 2], ["sst", "BiLSTM, additive", "positive", 2],
        ["sst", "Average, additive", "negative", 1], ["sst", "Average, additive", "positive", 1],
    ]  # fmt: skip
    assert table["τ, April"].tolist() == ["0.40", "0.38", "0.69", "0.69"], "the numbers of the paper's Table 2"
    assert table["τ"].iloc[2].endswith("(no interval)")


@pytest.mark.parametrize(("corpus", "outputs"), [("snli", 3), ("babi_1", 36)])
def test_pairs_have_a_bracket_and_questions_one_group(corpus, outputs, tmp_path, monkeypatch):
    folder = tmp_path / "data" / "archive"
    folder.mkdir(parents=True)
    table = store_run(folder, Run(corpus), 1, True, toy_pairs(lengths=LENGTHS, seed=1, outputs=outputs))
    monkeypatch.setenv("ATTN_ARCHIVE", str(folder))
    grid = grids.collect([corpus], 1)[corpus]
    for group in grid.groups:
        chosen = table if group == "all" else table[table["predicted"] == int(group)]
        assert np.allclose(grid.over_seeds(LSTM, "median_change", group), chosen["median_change"].mean())
    panels.histograms(grid, "jsd_search@0.05", "JSD")
    labels = [label.get_text() for ax in plt.gcf().axes for label in ax.get_yticklabels()]
    assert labels.count("best found") == 3 and "exact" not in labels
    panels.violins(grid, "jsd_search@0.05", (0, 0.7), "JSD", ceiling=True)
    assert sum(int(text.get_text()) for text in axes_by_title()["BiLSTM, additive"].texts) == 15
    assert len(grid_tables.rows_of({corpus: grid}, {grids.stored_at("jsd_lower", 0.05): "best"}, authors=False)) == len(
        grid.groups
    )


# ---- drawing ---------------------------------------------------------------------------------------------------------


def axes_by_title() -> dict:
    return {ax.get_title().split(" (")[0]: ax for ax in plt.gcf().axes if ax.get_title()}


def test_a_panel_per_model_and_absent_ones_say_so(made):
    panels.histograms(made[0]["sst"], "tau_attention_gradient", "τ")
    titles = [ax.get_title() for ax in plt.gcf().axes if ax.get_title()]
    assert titles == [
        "BiLSTM, additive (2 seeds)", "BiLSTM, scaled dot, not rerun",
        "CNN, additive, not rerun", "CNN, scaled dot, not rerun",
        "Average, additive (1 seed)", "Average, scaled dot, not rerun",
    ]  # fmt: skip
    found = axes_by_title()
    assert len(found["BiLSTM, additive"].patches) == 6, "two classes of ours, and of two runs of the authors"
    assert len(found["CNN, additive, not rerun"].patches) == 4, "the authors' alone"
    assert len(found["BiLSTM, scaled dot, not rerun"].patches) == 0, "no bars were read off for scaled dot"


def test_filled_shares_are_means_over_seeds(made):
    panels.histograms(made[0]["sst"], "tau_attention_gradient", "τ")
    drawn = next(p for p in axes_by_title()["BiLSTM, additive"].patches if p.get_fill())
    assert np.allclose(drawn.get_data().values, made[0]["sst"].shares(LSTM, "tau_attention_gradient", "0").mean(axis=0))


def test_jsd_panels_show_their_yardsticks(made):
    panels.histograms(made[0]["sst"], "jsd_search@0.05", "JSD")
    labels = [label.get_text() for ax in plt.gcf().axes for label in ax.get_yticklabels()]
    for word in ("exact", "ceiling", "shuffled", "permuted"):
        assert labels.count(word) == 3, "once a row of panels"
    assert "best found" not in labels, "one-logit models have an exact optimum"


def test_violins_hold_medians_quartiles_and_numbers(made):
    grid = made[0]["sst"]
    panels.violins(grid, "median_change", (-0.05, 1.05), "change")
    ax = axes_by_title()["BiLSTM, additive"]
    counts = sum(int(text.get_text()) for text in ax.texts)
    assert counts == 15, "every document of the seed that has a table stands in one bin"
    medians = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    expected = [
        grid.over_seeds(LSTM, "median_change", g, "median", b) for b in panels.ATTENTION_BINS for g in grid.groups
    ]
    assert np.allclose(sorted(medians), sorted(values.mean() for values in expected if len(values)))
    assert sum(line.get_marker() == "D" for line in ax.lines) == 7, "the authors' final run has seven medians there"


def test_densities_of_the_authors_order(made):
    panels.densities(made[0]["sst"])
    curves = [line for line in axes_by_title()["BiLSTM, additive"].lines if len(line.get_xdata()) > 100]
    assert [line.get_linestyle() for line in curves] == ["-", "--", ":"]
    area = [np.trapezoid(line.get_ydata(), line.get_xdata()) for line in curves]
    assert all(0.5 < a <= 1.01 for a in area)
    assert not axes_by_title()["CNN, additive, not rerun"].lines


def test_few_seeds_are_open_points():
    _, ax = plt.subplots()
    panels.interval(ax, 0, np.array([1.0, 2, 3, 4, 5]), "red")
    panels.interval(ax, 1, np.array([1.0, 2, 3]), "red")
    panels.interval(ax, 2, np.array([np.nan]), "red")
    points = [line for line in ax.lines if line.get_marker() == "o"]
    assert [line.get_markerfacecolor() for line in points] == ["red", "white"] and points[0].get_xdata()[0] == 3
    assert np.allclose(ax.lines[0].get_xdata(), seed_interval(np.arange(1.0, 6)))


def test_without_a_grid_nothing_is_drawn():
    panels.histograms(None, "tau_attention_gradient", "τ")
    panels.densities(None)
    panels.violins(None, "median_change", (0, 1), "change")
    assert not plt.get_fignums()
