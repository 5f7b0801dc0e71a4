"""The matrix of tests exchanged as it is shown, the runs it takes, and where its question stands."""

import numpy as np
import pandas as pd
import pytest
from test_exchanged import made_up

from attn_book.debate import exchanged
from attn_book.debate import exchanged_words as words
from attn_core.archive import Result
from attn_core.errors import AttnError


def result(traces=None) -> Result:
    return Result({}, traces, None, None, "archive")


@pytest.fixture(scope="module")
def rows():
    """A model of each paper by made-up traces, and one without any."""
    models = {
        ("sst", "lstm"): (exchanged.JAIN, result(made_up(1, documents=150))),
        ("20news", "lstm"): (exchanged.JAIN, result()),
        ("amazon", "han_rnn"): (exchanged.SERRANO, result(made_up(3, documents=40))),
    }
    return exchanged.of_models(models, {}, 0.05, 120)


def test_runs_of_both_papers_are_gathered_and_absent_ones_named(monkeypatch):
    first = {"amazon": result(), "planted": result()}
    monkeypatch.setattr(exchanged.serrano_pages, "gather", lambda corpora, encoders, seeds: ([], ["a gap"]))
    monkeypatch.setattr(exchanged.serrano_pages, "firsts", lambda corpora, encoder, seed: (first, []))
    there = result()
    monkeypatch.setattr(exchanged, "obtain_all", lambda runs: ([there] * (runs[0].encoder == "lstm"), []))
    models, absent = exchanged.gather(["sst"], ["lstm", "average"], ["amazon", "planted"], ["han_rnn"], 20)
    assert absent == ["a gap", "sst: no run of Average with seed 20"]
    assert models == {
        ("sst", "lstm"): ("Jain & Wallace", there), ("amazon", "han_rnn"): ("Serrano & Smith", first["amazon"]),
        ("planted", "han_rnn"): ("Serrano & Smith", first["planted"]),
    }  # fmt: skip


def test_a_model_that_the_paper_lacks_is_refused():
    with pytest.raises(AttnError, match="no model 'lstm'"):
        exchanged.gather([], [], ["amazon"], ["lstm"], 10)


def test_every_model_has_its_line_of_each_test(rows):
    assert rows.groupby(["models", "label"]).size().to_dict() == {
        ("Jain & Wallace", "sst BiLSTM"): len(exchanged.TESTS),
        ("Serrano & Smith", "amazon HANrnn *"): len(exchanged.TESTS),
    }
    sst = exchanged.some(made_up(1, documents=150), "sst", 120)
    several = sst.lengths[sst.lengths > 1]
    one = rows[rows["corpus"] == "sst"]
    assert (one["documents"] == len(several)).all() and 100 <= len(several) < 120, "at most 120, of several items"
    assert (one["items"] == np.median(several)).all() and (one["classes"] == 2).all(), "one logit is two classes"
    mean = exchanged.per_document(sst)["equals"].mean()
    assert one.set_index("test").loc["equals", "mean"] == pytest.approx(mean)
    assert (rows.loc[rows["corpus"] == "amazon", "classes"] == 3).all()


def test_epsilon_and_reasons_are_passed_on():
    models = {("sst", "lstm"): (exchanged.JAIN, result(made_up(1, documents=150)))}
    tight, wide = (
        exchanged.of_models(models, {("sst", "lstm"): "weak"}, epsilon, 150).set_index("test")
        for epsilon in (0.01, 0.2)
    )
    assert tight.loc["adversary", "mean"] < wide.loc["adversary", "mean"]
    assert set(tight["label"]) == {"sst BiLSTM *"}


def test_the_matrix_shows_values_with_intervals(rows):
    shown = words.shown(rows)
    names = [name for _, name, _ in exchanged.TESTS.values()]
    assert list(shown) == ["models of", "model", *names, "documents", "items, median", "classes"]
    assert shown["model"].tolist() == ["sst BiLSTM", "amazon HANrnn *"] and shown["classes"].tolist() == [2, 3]
    row = rows[(rows["corpus"] == "sst") & (rows["test"] == "fraction")].iloc[0]
    assert shown["fraction removed"].iloc[0].startswith(f"{row['mean']:.2f} (")
    changed = rows.assign(mean=rows["mean"].mask(rows["test"] == "fraction", 0.123), low=np.nan)
    assert words.shown(changed)["fraction removed"].iloc[0] == "0.12 (no interval)"


def test_few_names_models_below_the_floor(rows):
    documents = int(rows.loc[rows["corpus"] == "amazon", "documents"].iloc[0])
    assert words.few(rows) == f"amazon HANrnn ({documents})"
    assert words.few(rows.assign(documents=exchanged.FEWEST_DOCUMENTS)) == "none"


def test_the_question_stays_open_for_a_reason_that_follows_the_models():
    of = lambda **labels: pd.DataFrame(
        [{"models": paper, "label": label} for paper, found in labels.items() for label in found] * 2,
        columns=["models", "label"],
    )
    assert words.standing(of()).endswith("stays open: no model that counts is stored.")
    assert words.standing(of(Theirs=["a", "b"])).endswith("stays open: only Theirs's models count.")
    both = words.standing(of(Theirs=["a", "b"], Others=["c"]))
    assert "models of both papers count (Others 1; Theirs 2), but with one seed each" in both
