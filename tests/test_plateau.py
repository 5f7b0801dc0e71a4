"""Training of the six models, Serrano & Smith's settings, erasure through trained networks, unusual documents."""

from dataclasses import replace

import numpy as np
import pandas as pd
import plain_hierarchical as plain
import pytest
import torch
from conftest import ROOT, refused
from plain_hierarchical import SIX
from test_hierarchical import LENGTHS, run_model

from attn_core.documents import flat
from attn_core.models.hierarchical import build
from attn_core.tracing import trace_items as trace
from attn_core.training import serrano
from attn_lab.data.catalogue import SCHEDULES, schedule
from attn_lab.more.beside import curve
from attn_lab.runs.results import obtain
from attn_lab.runs.run import Run


@pytest.mark.parametrize(("count", "cap", "sizes"), [(64, 1000, [21, 21, 22]), (3, 10, [1, 1, 1])])
def test_caps_cut_a_group_into_equal_parts(count, cap, sizes):
    """64 documents of one 40-word sentence under a cap of 1,000: three parts, as in the specification's example."""
    texts = flat(plain.documents([[40]] * count), True, "these")
    made = serrano.batches(texts, 64, cap, np.random.default_rng(0))
    assert sorted(map(len, made)) == sizes


@pytest.mark.parametrize("sentences", [True, False])
def test_batches_hold_each_document_once_beside_others_of_its_length_in_random_order(sentences):
    lengths = np.random.default_rng(0).integers(1, 30, (300, 12))
    documents = plain.documents([list(row[: row[0] % 12 + 1]) for row in lengths])
    texts = flat(documents, sentences, "these")
    made = serrano.batches(texts, 64, 400, np.random.default_rng(1))
    assert sorted(np.concatenate(made)) == [*range(300)]
    for rows in made:  # equal parts of a group: at most one document more than the cap allows
        assert len(rows) == 1 or texts.longest[rows].max() * (len(rows) - 1) <= 400
    wide = serrano.batches(texts, 64, 1_000_000, np.random.default_rng(1), noise=0.0)
    assert sorted(map(len, wide)) == [44, 64, 64, 64, 64]
    items = np.diff(texts.items)
    ends = [(items[rows].min(), items[rows].max()) for rows in wide]
    assert ends != sorted(ends)
    assert (np.diff(np.ravel(sorted(ends))) >= 0).all()


@pytest.mark.parametrize(
    ("dev", "patience", "rates", "best"),
    [
        # not above the best by a ten-thousandth; two epochs without a strictly better dev accuracy end it
        ([0.5, 0.50001, 0.6, 0.6, 0.59, 0.7, 0.71], 2, [0.8, 0.8, 0.4, 0.4, 0.2], 3),
        ([0.5, 0.6, 0.6, 0.55], 5, [0.8, 0.8, 0.8, 0.4], 2),  # the first best checkpoint is kept
    ],
)
def test_rate_end_and_checkpoint_follow_the_dev_accuracy(dev, patience, rates, best, monkeypatch):
    """Which is prescribed; the decoder's bias tells the epoch in which weights were kept."""
    values, model = iter(dev), build("flan_none", np.ones((30, 4), np.float32), 3)

    def accuracy(model, _):
        with torch.no_grad():
            model.decoder.bias += 1000
        return next(values)

    monkeypatch.setattr(serrano, "accuracy", accuracy)
    recipe = serrano.SerranoSmith(len(dev), learning_rate=0.8, patience=patience)
    done = recipe.train(model, dict.fromkeys(("train", "dev"), plain.documents(LENGTHS)), 0)
    assert [row["learning_rate"] for row in done.history] == pytest.approx(rates)
    assert [row["dev_accuracy"] for row in done.history] == dev[: len(rates)]
    assert list(done.weights) == ["dev"]
    assert round(done.weights["dev"]["decoder.bias"][0] / 1000) == best


@pytest.mark.parametrize(("kind", "limit", "order"), [("norm", 1e-3, 2), ("value", 1e-4, np.inf)])
def test_gradients_are_clipped_by_norm_or_by_value(kind, limit, order):
    texts, model = flat(plain.documents(LENGTHS), False, "these"), plain.random_model("flan_rnn")
    serrano.mean_loss(model, texts, np.arange(len(texts))).descended.backward()
    serrano.clip_gradients(model, kind, limit)
    slopes = torch.cat([weight.grad.flatten() for weight in model.parameters()])
    assert slopes.norm(order).item() == pytest.approx(limit, rel=1e-3)


REPORTED = {
    "Adam learning rate": "learning_rate",
    "dropout on word embeddings": 0,
    "dropout on sentence vectors": 1,
    "dropout on output logits": 2,
    "batch size, documents": "batch",
    "batch cap, padded tokens per longest row": "cap",
    "epochs": "epochs",
    "early-stopping patience, epochs": "patience",
    "gradient norm rescaling": "norm",
    "gradient value clipping": "value",
}


def test_schedules_are_the_authors_configuration_files():
    reported = pd.read_csv(ROOT / "data/reported/serrano_hyperparameters.csv")
    reported = reported[reported["measure"].isin(REPORTED)]
    names = reported["model"].replace(r"(han|flan)", r"\1_", regex=True).str.replace("noenc", "none")
    corpora = reported["dataset"].replace("imdb", "imdb_stars")
    for corpus, name, row in zip(corpora, names, reported.itertuples(), strict=True):
        plan = schedule(corpus, name)
        numbers = plan | dict([plan["clip"]]) | dict(enumerate(plan["dropout"]))
        assert numbers[REPORTED[row.measure]] == float(row.value), row
    assert len(reported) == 24 * 8 + 12


def test_runs_take_the_schedule_and_what_has_none_is_refused():
    assert (Run("imdb_stars", "flan_none").epochs, Run("yelp", "han_conv").hidden) == (60, 50)
    assert Run("agnews_all", "flan_rnn").learning_rate == SCHEDULES["yahoo"]["learning_rate"]
    with refused("^no han_rnn here: most AG News texts are one sentence"):
        Run("agnews_all", "han_rnn")
    with refused("^no schedule of HAN and FLAN models for 'sst'"):
        Run("sst", "han_rnn")


@pytest.mark.parametrize("name", SIX)
def test_cumulative_sums_are_explicit_erasure(name):
    """Specification 8.6: every step of every ranking, in single precision, is the network with those items erased."""
    model, documents = plain.random_model(name), plain.documents(LENGTHS)
    model.decoder.weight.data *= 5
    traces = trace(model, documents, np.arange(0))
    changed = 0.0
    for row in range(len(documents)):
        document = plain.items(model, documents, row)
        for ranking in ("attention", "gradient", "product", "random"):
            steps = curve(traces, row, ranking)
            for count, p in enumerate(steps["p"]):
                gone = steps["position"][1 : count + 1].tolist()
                erased = plain.logits(model, document, gone).softmax(0)
                assert p == pytest.approx(erased[steps["label"][0]].item(), abs=1e-4)
            changed = max(changed, np.ptp(steps["p"]))
    assert changed > 0.5


# Unusual documents and bad input


@pytest.mark.parametrize("name", ["han_rnn", "flan_conv"])
def test_documents_of_one_word_and_of_three_thousand(name):
    documents = plain.documents([[1], [30] * 100, [3000], [2, 2]])
    model = plain.random_model(name)
    traces = trace(model, documents, np.arange(4))
    assert list(traces.lengths) == ([1, 100, 1, 2] if name == "han_rnn" else [1, 3000, 3000, 4])
    np.testing.assert_allclose(traces.logits, run_model(model, documents), atol=1e-4)
    assert np.isfinite(traces.gradient).all()
    passed_over = [0, 2] if name == "han_rnn" else [0, 1, 2]  # single items, and texts of more than 1,000
    assert np.array_equal(np.isnan(traces.leave_one_out), np.isin(traces.owner, passed_over))


CUT = plain.documents([[2], [3, 1, 4]])
UNCUT = replace(CUT, sentence_lengths=None, sentence_offsets=None)
WRONG = [replace(CUT, sentence_lengths=np.array([2, *sizes])) for sizes in ([3, 1, 3], [3, 1, 5], [8, 1, -1])]
UNREADABLE = [
    *((documents, "^sst test: sentence_lengths must count every word") for documents in WRONG),
    (UNCUT, "^sst test is not cut into sentences, which a HAN attends to"),
    (CUT.take([]), "^sst test holds no documents"),
    (plain.documents([[2], [0], [3]]), "document 101 has no words"),
]


@pytest.mark.parametrize(("documents", "told"), UNREADABLE)
def test_what_cannot_be_read_is_one_clear_line(documents, told):
    with refused(told):
        flat(documents, True, "sst test")


@pytest.mark.parametrize("documents", [UNCUT, *WRONG])
def test_a_flan_reads_no_sentences(documents):
    assert flat(documents, False, "sst test").sentence_lengths is None


def test_word_vectors_that_are_not_finite_are_refused():
    with refused("word vectors, must be finite"):
        build("han_rnn", np.full((5, 3), np.inf), 2)


# Live


def test_han_on_uncut_planted_documents_is_refused():
    with refused("^train is not cut .*shortest_sentence=4"):
        obtain(Run("planted", "han_none", options={"n_train": 64}))


def test_planted_is_learnt_live():
    """A training, its traces and its store from nothing; the same twice from the same seed."""
    options = {"shortest_sentence": 3, "longest_sentence": 8, "n_train": 400, "n_dev": 100, "n_test": 200}
    run = Run("planted", "han_rnn", options=options)
    result = obtain(run)
    assert result.source == "trained"
    assert result.record["accuracy"] > 0.9
    found = result.traces
    assert found.classes == 2
    assert found.lengths.mean() < 8
    assert np.isfinite(found.leave_one_out).mean() > 0.9
    assert (found.gradient != 0).mean() > 0.9
    assert np.array_equal(obtain(run, train="fresh").traces.score, found.score)
