"""The gallery: what its page gathers of all models, what its pictures draw, and what its picker and table hold."""

import html
import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import store_run

from attn_book import build, tables
from attn_core.experiments import edges
from attn_core.index import runs
from attn_core.measures import seed_interval
from attn_core.run import Run

ROOT = Path(__file__).parents[1]
LSTM = ("sst", "lstm", "tanh")
CODE = Path(tables.__file__).with_name("picker.html").read_text(encoding="utf-8")


def executed(corpora: list[str]) -> dict:
    """Names of the page's cells up to its table, run with these data sets."""
    cells = [cell.source for cell in build.read_source(build.locate("gallery", ROOT)[1]).cells
             if cell.cell_type == "code"]  # fmt: skip
    names = {}
    exec(cells[0], names)
    names["corpora"] = corpora
    for source in cells[1:3]:
        exec(source, names)
    return names


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An archive with three seeds of SST's BiLSTM and one of its average encoder; (page, document tables by seed)."""
    folder = tmp_path_factory.mktemp("data") / "archive"
    folder.mkdir()
    (folder.parent / "reported").symlink_to(ROOT / "data" / "reported")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTN_CACHE", str(folder.parent / "cache"))
        documents = {seed: store_run(folder, Run("sst", seed=seed), k, False)
                     for k, seed in enumerate((10, 50, 257), 1)}  # fmt: skip
        store_run(folder, Run("sst", "average"), 7, False)
        patch.setenv("ATTN_ARCHIVE", str(folder))
        yield executed(["sst", "diabetes"]), documents


@pytest.fixture(scope="module")
def shown():
    """The gallery of the archive: the page's names, its picker as HTML."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ATTN_ARCHIVE", raising=False)
        page = executed([])
        rows = {"Data": page["shown"], "Encoder": page["where"]["encoder"], "Attention": page["where"]["attention"],
                "Experiment": page["experiments"]}  # fmt: skip
        yield page, tables.picker(page["folds"], {row: {key: key for key in keys} for row, keys in rows.items()}).data


def test_the_picker_holds_every_stored_model(shown):
    page, text = shown
    stored = runs(family=["text", "pair"], encoder=["lstm", "cnn", "average"], attention=["tanh", "dot"])
    stored = {tuple(model) for model in stored[page["MODEL"]].to_numpy() if model[0] in page["shown"]}
    assert set(page["models"]) == stored and len(stored) == 48
    drawn = re.findall(r'<figure class="attn-fig \w+" id="gallery-(\w+)-(\w+)-(\w+)-(\w+)">', text)
    assert len(drawn) == len(set(drawn)) == 12 * 6 * 5
    names = json.loads(html.unescape(re.search(r'data-names="([^"]*)"', text)[1]))
    picked = [(a, b, c, d) for a in names["Data"] for b in names["Encoder"] for c in names["Attention"]
              for d in names["Experiment"]]  # fmt: skip
    assert set(picked) == set(drawn), "every choice has its figure"
    for figure in re.findall(r"<figure .*?</figure>", text, re.DOTALL):
        model = tuple(re.search(r'id="gallery-(\w+)-(\w+)-(\w+)-', figure).groups())
        assert ("No run of ours" not in figure) == (model in stored)
        assert ("<circle" in figure) == (model in stored), "a mean of ours"


def test_the_page_stays_small(shown):
    assert len(shown[1].encode()) < 2_000_000
    sizes = [len(figure.encode()) for figure in re.findall(r"<figure .*?</figure>", shown[1], re.DOTALL)]
    assert max(sizes) < 6_500 and len(CODE) < 8_000


def test_without_the_script_folds_hold_all_figures(shown):
    folds = re.findall(r"<details><summary>(.*?)</summary>(.*?)</details>", shown[1], re.DOTALL)
    assert len(folds) == 12 and all(fold.count("<figure") == 30 for _, fold in folds)
    assert "http" not in CODE, "no network"


def test_the_table_holds_every_mean_of_the_stored_models(shown):
    page = shown[0]
    name = ("SST", "BiLSTM", "additive", "negative", "τ attention, gradient")
    row = next(line for line in page["lines"] if line[:5] == name)
    assert row[7:9] == ("0.40", "0.34"), "the authors' two runs"
    mean = page["means"].loc[(*LSTM, "tau_attention_gradient", "mean", "0", "all")]
    assert row[5:7] == (f"{mean['mean']:.2f}", f"{mean.low:.2f} to {mean.high:.2f}") and row[9] == mean.n_seeds
    assert sum(line[5] != "" for line in page["lines"]) > 48 * 12
    assert (page["means"].low.dropna() >= -1).all() and not (page["means"].drop("n", level="statistic").high > 1).any()


def test_means_and_shares_are_those_of_the_documents(made):
    page, documents = made
    for measure in ("tau_attention_gradient", "jsd_search"):
        column = measure if measure in next(iter(documents.values())) else f"{measure}@0.05"
        chosen = [table.loc[table["predicted"] == 1, column].dropna() for table in documents.values()]
        row = page["means"].loc[(*LSTM, measure, "mean", "1", "all")]
        assert np.isclose(row["mean"], np.mean([values.mean() for values in chosen])) and row.n_seeds == 3
        low, high = seed_interval([values.mean() for values in chosen])
        most = 1 if measure.startswith("tau") else np.log(2)
        assert np.allclose([row.low, row.high], np.clip([low, high], -1 if most == 1 else 0, most))
        counts = [np.histogram(values, edges(measure))[0] / len(values) for values in chosen]
        assert np.allclose(page["shares"][*LSTM, measure, "1", "h"], np.mean(counts, axis=0))
    assert set(page["models"]) == {LSTM, ("sst", "average", "tanh")}


def test_few_seeds_are_open_and_absent_ones_are_the_authors(made):
    picture = made[0]["picture"]
    for experiment in made[0]["experiments"]:
        drawn = picture(LSTM, experiment)
        assert "<circle class=o" in drawn and "<circle cx" not in drawn and "3 seeds, 15 test texts" in drawn
        assert "<circle" not in picture(("diabetes", "lstm", "tanh"), experiment)
    assert picture(LSTM, "gradient").count('class="a"') == 2, "outlines of April, one a class"
    assert 'class="a"' not in picture(("sst", "lstm", "dot"), "gradient"), "drawn for additive alone"
    assert ">optimum<" in picture(LSTM, "farthest")


def test_the_authors_classes_go_by_name(shown):
    """SNLI's class numbers change between the authors' runs; the values are those of their files for contradiction."""
    place = (*LSTM[1:], "tau_attention_gradient", "mean")
    of = lambda corpus, group: shown[0]["theirs"].loc[(corpus, *place, group, "all")]
    assert np.allclose(of("snli", "1"), [0.416067, 0.305903])
    assert np.isclose(of("babi_1", "all")["z"], 0.25, atol=0.005)
