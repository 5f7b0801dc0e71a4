"""Intervals over documents of models of few seeds: hand-worked cases, samples against the whole."""

import dataclasses

import numpy as np
import pytest
from serrano_results import made_up, result_of, six_models

from attn_book.serrano.intervals import documents_of_few, over_a_sample, over_documents
from attn_book.serrano.pages import summaries
from attn_book.serrano.tables import rankings
from attn_core import archive
from attn_core.experiments import erasure
from attn_core.measures import bootstrap_interval
from attn_core.runs import SEEDS


def test_documents_that_are_all_alike_have_no_interval_of_width_zero():
    low, high = over_documents(np.ones(50), share=True)
    z = 1.959964
    assert low == pytest.approx(1 / (1 + z**2 / 50), abs=1e-5) and high == pytest.approx(1)  # Wilson at n of n
    assert np.isnan(over_documents(np.zeros(50))).all()
    assert np.isnan(over_documents(np.where(np.arange(500) < 10, 0.5, 1.0), np.median)).all(), "a median at the edge"
    mixed = np.arange(50) % 5 == 0
    assert over_documents(mixed.astype(float), share=True) == pytest.approx(
        bootstrap_interval(mixed.astype(float), np.mean)
    )


def test_the_interval_of_a_sample_is_moved_and_shrunk():
    sample = np.random.default_rng(0).random(100)
    low, high = bootstrap_interval(sample)
    assert over_a_sample(sample, sample.mean(), 1.0) == pytest.approx((low, high))  # all there is: its own
    moved = over_a_sample(np.append(sample, np.nan), 0.7, 0.25)  # a quarter: half as wide, about the number of all
    assert moved == pytest.approx((0.7 + (low - sample.mean()) / 2, 0.7 + (high - sample.mean()) / 2))
    assert np.isnan(over_a_sample(np.zeros(9), 0.1, 0.5)).all()


def test_intervals_from_samples_hold_the_truth_as_often_as_they_say():
    """Samples of 200 of 800 documents, drawn from a population of known mean: the number over all 800 is at hand."""
    rng, held = np.random.default_rng(1), []
    for _ in range(150):
        whole = rng.exponential(size=800)
        low, high = over_a_sample(whole[:200], whole.mean(), 0.25)
        held.append(low <= 1.0 <= high)
    assert 0.88 <= np.mean(held) <= 0.99


def test_a_sample_gives_a_narrow_interval_about_the_number_of_all():
    table = erasure.document_table(made_up(SEEDS[0]))
    every = summaries(six_models(1))
    whole, part = (rankings(every, documents={("imdb_stars", "han_rnn"): rows}) for rows in (table, table.iloc[::2]))
    names = ["corpus", "encoder", "ranking", "quantity"]
    both = whole.merge(part, on=names, suffixes=("", "_part"))
    both = both[(both["over"] == "documents") & (both["over_part"] == "documents")]
    assert len(both) > 10 and (both["mean"] == both["mean_part"]).all()
    ratio = (both["high_part"] - both["low_part"]) / (both["high"] - both["low"])
    assert 0.7 < ratio.median() < 1.4  # the same errors, known less well


def test_the_documents_of_models_of_few_seeds_are_read(monkeypatch):
    table, read = erasure.document_table(made_up(SEEDS[0])), []

    def whole(store, key):
        read.append(key)
        found = result_of()
        return dataclasses.replace(found, record=found.record | {"n_test": 300}, documents=table)

    monkeypatch.setattr(archive, "archive_folder", lambda required=True: None)
    monkeypatch.setattr(archive, "read", whole)
    three = [result_of(encoder="flan_rnn", seed=seed) for seed in SEEDS[:3]]
    two = [result_of(encoder="han_rnn", seed=seed) for seed in SEEDS[:2]]
    made = result_of("planted")
    live = dataclasses.replace(made, record=made.record | {"n_test": 300}, source="trained", traces=made_up(SEEDS[1]))
    found = documents_of_few([*three, *two, live])
    assert list(found) == [("imdb_stars", "han_rnn"), ("planted", "han_rnn")] and len(read) == 1
    assert found["imdb_stars", "han_rnn"] is table
    assert found["planted", "han_rnn"].equals(erasure.document_table(made_up(SEEDS[1])))
    monkeypatch.setattr(archive, "read", lambda store, key: two[0])  # its licence keeps documents out
    assert documents_of_few(two) == {}
