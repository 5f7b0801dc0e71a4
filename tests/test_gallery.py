"""The gallery: what it gathers of all models, what its pictures draw, and what its picker and table hold."""

import html
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import store_run

from attn_book import gallery
from attn_core.errors import AttnError
from attn_core.experiments import edges
from attn_core.index import runs
from attn_core.measures import seed_interval
from attn_core.runs import Run

LSTM = ("sst", "lstm", "tanh")
CODE = Path(gallery.__file__).with_suffix(".html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An archive with three seeds of SST's BiLSTM and one of its average encoder; (grid, document tables by seed)."""
    folder = tmp_path_factory.mktemp("data") / "archive"
    folder.mkdir()
    (folder.parent / "reported").symlink_to(Path(__file__).parents[1] / "data" / "reported")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTN_CACHE", str(folder.parent / "cache"))
        tables = {seed: store_run(folder, Run("sst", seed=seed), k, False) for k, seed in enumerate((10, 50, 257), 1)}
        store_run(folder, Run("sst", "average"), 7, False)
        patch.setenv("ATTN_ARCHIVE", str(folder))
        yield gallery.Grid(["sst", "diabetes"]), tables


@pytest.fixture(scope="module")
def shown():
    """The gallery of the archive: grid, picker and table as HTML."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ATTN_ARCHIVE", raising=False)
        grid = gallery.Grid([])
        yield grid, gallery.picker(grid).data, gallery.table(grid).data


def test_the_picker_holds_every_stored_model(shown):
    stored = runs(family=["text", "pair"], encoder=["lstm", "cnn", "average"], attention=["tanh", "dot"])
    stored = {tuple(model) for model in stored[gallery.MODEL].to_numpy() if model[0] in (*gallery.RUN, *gallery.UNRUN)}
    grid, page, _ = shown
    assert set(grid.models) == stored and len(stored) == 48
    drawn = re.findall(r'<figure class="attn-fig \w+" id="gallery-(\w+)-(\w+)-(\w+)-(\w+)">', page)
    assert len(drawn) == len(set(drawn)) == 12 * 6 * 5
    names = json.loads(html.unescape(re.search(r'data-names="([^"]*)"', page)[1]))
    picked = [(a, b, c, d) for a in names["Data"] for b in names["Encoder"] for c in names["Attention"]
              for d in names["Experiment"]]  # fmt: skip
    assert set(picked) == set(drawn), "every choice has its figure"
    for figure in re.findall(r'<figure .*?</figure>', page, re.DOTALL):
        model = tuple(re.search(r'id="gallery-(\w+)-(\w+)-(\w+)-', figure).groups())
        assert ("No run of ours" not in figure) == (model in stored)
        assert ("<circle" in figure) == (model in stored), "a mean of ours"


def test_the_page_stays_small(shown):
    assert len(shown[1].encode()) + len(shown[2].encode()) < 2_000_000
    sizes = [len(figure.encode()) for figure in re.findall(r"<figure .*?</figure>", shown[1], re.DOTALL)]
    assert max(sizes) < 6_500 and len(CODE) < 8_000


def test_without_the_script_folds_hold_all_figures(shown):
    folds = re.findall(r"<details><summary>(.*?)</summary>(.*?)</details>", shown[1], re.DOTALL)
    assert len(folds) == 12 and all(fold.count("<figure") == 30 for _, fold in folds)
    assert "http" not in CODE, "no network"


def test_the_table_holds_every_mean_of_the_stored_models(shown):
    grid, _, table = shown
    lines = [re.findall(r"<td>(.*?)</td>", line) for line in table.split("<tr>")[2:]]
    assert {len(line) for line in lines} == {len(gallery.HEADS)}
    name = ["SST", "BiLSTM", "additive", "negative", "τ attention, gradient"]
    row = next(line for line in lines if line[:5] == name)
    assert row[7:9] == ["0.40", "0.34"], "the authors' two runs"
    mean = grid.mean(LSTM, "tau_attention_gradient", group="0")
    assert row[5:7] == [f"{mean.mean:.2f}", f"{mean.low:.2f} to {mean.high:.2f}"] and row[9] == str(mean.n_seeds)
    assert sum(line[5] != "" for line in lines) > 48 * 12


def test_means_and_shares_are_those_of_the_documents(made):
    grid, tables = made
    for measure in ("tau_attention_gradient", "jsd_search"):
        column = measure if measure in next(iter(tables.values())) else f"{measure}@0.05"
        chosen = [table.loc[table["predicted"] == 1, column].dropna() for table in tables.values()]
        row = grid.mean(LSTM, measure, group="1")
        assert np.isclose(row.mean, np.mean([values.mean() for values in chosen])) and row.n_seeds == 3
        assert np.allclose([row.low, row.high], seed_interval([values.mean() for values in chosen]))
        counts = [np.histogram(values, edges(measure))[0] / len(values) for values in chosen]
        assert np.allclose(grid.shares[*LSTM, measure, "1", "h"], np.mean(counts, axis=0))
    assert grid.mean(("sst", "cnn", "tanh"), "jsd_search") is None
    assert set(grid.models) == {LSTM, ("sst", "average", "tanh")}


def test_few_seeds_are_open_and_absent_ones_are_the_authors(made):
    for experiment in gallery.EXPERIMENTS:
        drawn = gallery.picture(made[0], LSTM, experiment)
        assert "<circle class=o" in drawn and "<circle cx" not in drawn and "3 seeds, 15 test texts" in drawn
        assert "<circle" not in gallery.picture(made[0], ("diabetes", "lstm", "tanh"), experiment)
    assert gallery.picture(made[0], LSTM, "gradient").count('class="a"') == 2, "outlines of April, one a class"
    assert 'class="a"' not in gallery.picture(made[0], ("sst", "lstm", "dot"), "gradient"), "drawn for additive alone"
    assert ">optimum<" in gallery.picture(made[0], LSTM, "farthest")


def test_steps_and_points():
    assert gallery.steps(np.array([0.5, 0.5, 1.0]), [0, 10, 20, 30], 100, 50) == "M0 100V75H20V50H30V100"
    row = SimpleNamespace(mean=0.9, low=0.7, high=1.4, n_seeds=5, measure="median_change")
    assert gallery.point(row, lambda value: 100 * value, 7) == (
        '<path class="i" d="M70.0 7H100.0"/><circle cx="90.0" cy="7" r="5"/>'
    ), "an interval ends at what is possible"
    assert gallery.point(None, float, 7) == "" and gallery.mark(np.nan, "a", float, 7) == ""


def test_unknown_names_are_refused():
    with pytest.raises(AttnError, match="the grid has no data set 'planted'; there are: sst, imdb"):
        gallery.Grid(["planted"])
    with pytest.raises(AttnError, match="epsilon must be one of 0.05, 0.01, which are stored; got 0.1"):
        gallery.Grid([], 0.1)


def test_the_authors_classes_go_by_name(shown):
    """SNLI's class numbers change between the authors' runs; the values are those of their files for contradiction."""
    grid, model, measure = shown[0], ("lstm", "tanh"), "tau_attention_gradient"
    assert np.allclose([*grid.two(("snli", *model), measure, group="1").values()], [0.416067, 0.305903])
    assert np.isclose(grid.two(("babi_1", *model), measure)["z"], 0.25, atol=0.005)
    assert np.isnan(grid.two(("sst", "none", "tanh"), measure, group="0")["z"])
