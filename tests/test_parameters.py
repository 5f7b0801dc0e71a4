"""What a page is refused before it runs, what it takes from the archive, and the run that a reader chose."""

import numpy as np
import pandas as pd
import pytest
import sentences
from conftest import ROOT, refused
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attn_book import page
from attn_book.yardsticks import live, yardsticks
from attn_build import sources
from attn_build.plain import html_of, outputs_of
from attn_lab import Run, obtain
from attn_lab.runs import index, rows, store
from attn_lab.runs.run import as_dict

CORRELATION = "jain/04-1-correlation"


def settled(name: str, **values: object) -> dict:
    """What a page runs with where these parameters are given."""
    declares = sources.declaration(name, ROOT)
    return declares.changed(declares.settle(values))


@pytest.mark.parametrize(
    ("name", "values", "holds", "lacks"),
    [
        (CORRELATION, {"encoder": "gru"}, "stored for this page: encoder average, cnn, lstm", "han_rnn"),
        (CORRELATION, {"corpus": "yahoo"}, "stored for this page: corpus 20news, agnews", "amazon"),
        (CORRELATION, {"seed": 3}, "seed 10, 50, 257", "indomain"),
        ("jain/06-discussion", {"top": 1.0}, "top: Input should be less than 1", "stored"),
        ("jain/04-2-1-permutation", {"corpus": "snli"}, "page: corpus 20news, agnews", "To train it"),
    ],
)
def test_what_is_not_stored_is_refused_in_one_line_that_says_what_is(name, values, holds, lacks):
    with refused(holds) as error:
        settled(name, **values)
    assert lacks not in str(error.value)


@pytest.mark.parametrize(
    ("name", "where"), [(CORRELATION, r"cpu \(x86_64\)"), ("transformer", "NVIDIA H100 80GB HBM3")]
)
def test_a_run_that_can_be_trained_comes_with_its_command_and_its_minutes(name, where):
    with refused(
        rf"To train it \(about \d+ min on {where}\): python -m attn_core run --corpus sst .*--seed 3$"
    ):
        settled(name, seed=3)


def test_parameters_in_peoples_words():
    said = page.in_text({"corpus": "sst", "encoder": "average", "epsilon": 0.050, "seed": 10, "bins": [1]})
    assert said == {
        "corpus": "SST",
        "encoder": "no context",
        "an_encoder": "an encoder without context",
        "the_encoder": "the encoder without context",
        "epsilon": "0.05",
        "seed": 10,
    }
    assert page.in_text({"corpus": "mine", "encoder": "gated"})["an_encoder"] == "a gated"


@pytest.mark.parametrize("name", sorted(sources.pages(ROOT)))
def test_every_number_has_bounds(name):
    """Those that choose a run are held against what is stored."""
    declares = sources.declaration(name, ROOT)
    numbers = {key for key, value in declares.defaults.items() if type(value) in (int, float)}
    assert numbers - {"seed", "second"} <= set(declares.takes)


@pytest.mark.parametrize("values", [{"seed": 50}, {"encoder": "transformer"}, {"corpus": "planted"}])
def test_a_stored_model_is_read_and_one_of_generated_texts_may_be_trained(values):
    assert settled(CORRELATION, **values) == values


def test_the_chosen_run_is_a_row_of_its_own_and_nothing_at_the_defaults(monkeypatch):
    table = pd.DataFrame({"corpus": ["sst"], "mean": [0.4], "n_seeds": [5]})
    monkeypatch.setattr(page, "CHANGED", {})
    pd.testing.assert_frame_equal(page.with_yours(table, page.chosen(mean=0.5)), table)
    page.guard({"corpus": "sst", "seed": 3, "words": 7}, "p", corpus="sst", seed=10, words=7)
    yours = page.chosen(mean=0.5)
    assert yours.to_dict("index") == {page.YOURS: {"corpus": "sst", "seed": 3, "mean": 0.5, "n_seeds": 1}}
    expected = pd.concat([table, yours], join="inner")
    pd.testing.assert_frame_equal(page.with_yours(table, yours), expected)


def test_any_epsilon_is_computed_and_none_replaced():
    """Stored means at two; live at any, near these where both are."""
    stored = yardsticks(0.05, "sst", 10).set_index(["corpus", "kind"])["mean"]
    narrow, now, wide = (
        live("20news", epsilon, 10).set_index("kind")["mean"] for epsilon in (0.01, 0.05, 0.2)
    )
    assert len(now) == 4
    assert np.abs(stored["20news"][now.index] - now).max() < 0.05
    assert narrow["optimal"] < now["optimal"] < wide["optimal"]
    assert narrow["ceiling"] == wide["ceiling"]


def test_a_run_that_the_reader_trained_is_read_and_stands_in_its_table_and_figure(monkeypatch):
    """In place of a training: the record of a stored model under the name of one that is not, with forty texts; and of
    one that is among the numbers of no page that did not ask for it."""
    like = obtain(Run("sst"))
    run = Run("sst", seed=3)
    for trained in (run, Run("planted")):
        record = like.record | {"key": trained.key, "run": as_dict(trained)}
        rows.save(store.cache_store(), record, like.traces.take(range(40)))
    assert settled(CORRELATION, seed="3") == {"seed": 3}
    assert list(index.numbers("tau_attention_gradient", "mean", corpus="sst", seed=3)["key"]) == [run.key]

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("attn_lab.runs.compute.compute", lambda *_, **__: pytest.fail("it trains"))
    executed = sentences.run_here(sources.convert(CORRELATION, ROOT), {"seed": 3}, monkeypatch)
    assert "SST, BiLSTM, seed 3: τ" in str(list(map(sentences.shown, executed.cells)))
    (figure,) = (html for html in map(html_of, outputs_of(executed)) if "fig-jain-agreement" in html)
    assert page.YOURS in figure


# ---- the comparison of sentences itself ------------------------------------------------------------------------------


def notebook(text: str, printed: str, **values: object):
    """An executed page of one paragraph and one cell, which glued these values and printed a line."""
    cell = new_code_cell("", outputs=[new_output("stream", text=printed)])
    for name, value in values.items():
        about = {"scrapbook": {"name": name}}
        cell.outputs.append(new_output("display_data", {page.RECORD: repr(value)}, metadata=about))
    return new_notebook(cells=[new_markdown_cell(text), cell])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("On {glue:text}`corpus`, {glue:text}`share` %.", None),
        ("On {glue:text}`corpus` it is so. It is {glue:text}`share` %.", None),
        ("On SST it is {glue:text}`fixed` %.", None),
        ("On SST, {glue:text}`share` %.", "says 'SST'"),
        ("It is {glue:text}`share` %.", "names nothing"),
        ("On {glue:text}`corpus` it is so.\n\nIt is {glue:text}`share` %.", "names nothing"),
    ],
)
def test_a_number_that_changes_under_an_unchanged_name_is_a_fault(text, fault):
    before = notebook(text, "SST: 4", corpus="SST", share=40, fixed=7)
    after = notebook(text, "IMDB: 5", corpus="IMDB", share=50, fixed=7)
    found = sentences.faults(before, after, {"corpus": "sst"}, {"corpus": "imdb"})
    assert any(fault in line for line in found) if fault else not found
