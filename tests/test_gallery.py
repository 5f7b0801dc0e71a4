"""The gallery: what its page gathers of all models, what its pictures draw, and what its picker and table hold."""

import html
import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

from attn_book import tables
from attn_book.fasttext import newest
from attn_book.page import PARTS
from attn_build import sources
from attn_lab.runs.index import runs

LSTM = ("sst", "lstm", "tanh")
CODE = Path(tables.__file__).with_name("picker.html").read_text()


def executed(corpora: list[str]) -> dict:
    """Names of the page's cells up to its table, run with these data sets."""
    names = {}
    for number, cell in enumerate(sources.codes(sources.read_source("gallery", ROOT).cells)):
        exec(cell.source if number else f"{cell.source}\ncorpora = {corpora}", names)
        if "lines" in names:
            return names


@pytest.fixture(scope="module")
def shown():
    """The gallery of the archive: the page's names, its picker as HTML."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ATTN_ARCHIVE", raising=False)
        page = executed([])
        rows = {"Data": page["shown"], "Experiment": page["experiments"]}
        rows |= {name: page["where"][name.lower()] for name in ("Encoder", "Attention")}
        rows = {
            name: {key: key for key in rows[name]} for name in ("Data", "Encoder", "Attention", "Experiment")
        }
        yield page, PARTS.picker(page["folds"], rows)


def test_the_picker_holds_every_stored_model(shown):
    page, text = shown
    stored = newest(
        runs, family=["text", "pair"], encoder=["lstm", "cnn", "average"], attention=["tanh", "dot"]
    )
    stored = set(stored.query("corpus in @page['shown']").set_index(page["MODEL"]).index)
    assert set(page["models"]) == stored
    assert len(stored) == 48
    names = json.loads(html.unescape(re.search(r'data-names="([^"]*)"', text)[1]))
    drawn = re.findall(
        r'<figure class="attn-fig \w+" id="gallery-(\w+)-(\w+)-(\w+)-(\w+)">(.*?)</figure>', text, re.DOTALL
    )
    assert [tuple(key) for *key, _ in drawn] == list(product(*names.values())), "every choice has its figure"
    assert len(drawn) == 12 * 6 * 5
    for *model, _, figure in drawn:
        assert ("No run of ours" not in figure) == (tuple(model) in stored)
        assert ("<circle" in figure) == (tuple(model) in stored), "a mean of ours"


def test_without_the_script_folds_hold_all_figures(shown):
    folds = re.findall(r"<details><summary>(.*?)</summary>(.*?)</details>", shown[1], re.DOTALL)
    assert len(folds) == 12
    assert all(fold.count("<figure") == 30 for _, fold in folds)
    assert "http" not in CODE, "no network"


def test_the_table_holds_every_mean_of_the_stored_models(shown):
    page = shown[0]
    name = ("SST", "BiLSTM", "additive", "negative", "τ attention, gradient")
    row = next(line for line in page["lines"] if line[:5] == name)
    assert row[7:9] == ("0.40", "0.34"), "the authors' two runs"
    mean = page["means"].loc[(*LSTM, "tau_attention_gradient", "mean", "0", "all")]
    assert row[5:7] == (f"{mean['mean']:.2f}", f"{mean.low:.2f} to {mean.high:.2f}")
    assert row[9] == mean.n_seeds
    assert sum(line[5] != "" for line in page["lines"]) > 48 * 12
    assert page["means"].low.min() >= -1
    assert page["means"].drop("n", level="statistic").high.max() <= 1


def test_the_authors_classes_go_by_name(shown):
    """SNLI's class numbers change between the authors' runs; the values are those of their files for contradiction."""
    place = (*LSTM[1:], "tau_attention_gradient", "mean")
    of = lambda corpus, group: shown[0]["theirs"].loc[(corpus, *place, group, "all")]
    assert np.allclose(of("snli", "1"), [0.416067, 0.305903])
    assert np.isclose(of("babi_1", "all")["z"], 0.25, atol=0.005)
