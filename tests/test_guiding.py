"""Guided networks: whose weights they get, that training honours them, and what is left without words."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import refused
from plain_network import random_documents
from tiny_runs import TINY, pack_run, tiny

from attn_core.experiments.search import search, select
from attn_core.models.classifier import to_arrays
from attn_core.traces import softmax
from attn_lab.data import encode
from attn_lab.data.vectors import vectors
from attn_lab.more import guide
from attn_lab.runs import families, store
from attn_lab.runs.compute import weights_of
from attn_lab.runs.families import attended, guide_scores, read_guided
from attn_lab.runs.results import obtain
from attn_lab.runs.run import Run, bases, other_seed


def bases_of(run: Run) -> list[dict]:
    return [weights_of(base) for base in bases(run)]


def guided(guide="own", seed=10, **fields) -> Run:
    return tiny(seed, **{"base": tiny(), "attention": "given", "guide": guide} | fields)


@pytest.fixture
def data():
    return encode("planted", **dict(TINY))


def own_scores(run: Run, data, split: str) -> np.ndarray:
    """What a base's own traces say."""
    return attended(run, weights_of(run), data.splits[split], False).score


def scores_of(run: Run, data, split: str) -> np.ndarray:
    return guide_scores(run, data.splits[split], split, False, *bases_of(run))


ADVERSARY = Run("planted", "average", epochs=2, options=TINY, base=tiny(), divergence=0.01)


@pytest.mark.parametrize("base", [tiny(), ADVERSARY], ids=["base", "adversary"])
def test_the_given_attention_is_the_one_used_from_first_batch_to_traces(base, data):
    run, documents = guided(base=base), data.splits["test"]
    result = obtain(run)
    scores = own_scores(base, data, "test")
    np.testing.assert_array_equal(scores, scores_of(run, data, "test"))
    own = softmax(scores, documents.word_offsets)
    np.testing.assert_allclose(result.traces.attention, own, rtol=1e-3)  # the store's 12-bit mantissas
    arrays = store.read_weights(run.key)[0]["dev"]
    assert not [name for name in arrays if name.startswith("attention")]
    e = arrays["encoder.embedding.weight"][documents.ids[documents.inner]]
    h = np.tanh(e @ arrays["encoder.project.weight"].T + arrays["encoder.project.bias"])
    context = np.add.reduceat(own[:, None] * h, documents.word_offsets[:-1])
    logits = context @ arrays["decoder.weight"].T + arrays["decoder.bias"]
    exact = read_guided(run, arrays, data, False, *bases_of(run))
    np.testing.assert_allclose(exact.logits, logits, atol=1e-4)
    assert exact.gradient is None
    assert exact.leave_one_out is None
    assert obtain(run).source == "cache"
    assert result.record["run"]["guide"] == "own"


def test_a_base_without_cached_weights_is_trained_again_with_one_line(data, stored, capsys):
    stored([])
    before = own_scores(tiny(), data, "test")
    obtain(tiny())
    pack_run(tiny())
    store.weights_file(tiny().key).unlink()
    capsys.readouterr()
    obtain(guided())
    said = [line for line in capsys.readouterr().err.splitlines() if "not cached" in line]
    assert said == [f"the weights of {tiny().key} are not cached; training it"]
    np.testing.assert_array_equal(own_scores(tiny(), data, "test"), before)


@pytest.mark.parametrize("encoder", ["average", "lstm"])
def test_untrained_is_what_the_base_started_from(encoder, data):
    run = Run("planted", encoder, seed=50, epochs=2, options=TINY)
    (found,) = bases_of(guided("untrained", base=run))
    torch.manual_seed(run.seed)
    matrix, _ = vectors(run.vectors, data.vocabulary)
    start = to_arrays(families.FAMILIES[run.family].task(run, data, matrix, False).model)
    assert set(found) == set(start)
    for name, array in start.items():
        np.testing.assert_array_equal(array, found[name], err_msg=name)


def test_permuted_weights_are_the_same_within_each_document_whatever_else_there_is(data):
    documents = data.splits["train"]
    scores = pd.DataFrame({"text": np.repeat(np.arange(len(documents)), documents.lengths - 2)})
    scores["own"] = own_scores(tiny(), data, "train")
    scores["permuted"] = scores_of(guided("permuted"), data, "train")
    own, permuted = (scores.sort_values(["text", name])[name] for name in ("own", "permuted"))
    np.testing.assert_array_equal(own, permuted)
    assert scores[scores["own"] != scores["permuted"]]["text"].nunique() > 0.9 * len(documents)
    again = scores_of(guided("permuted", seed=50), data, "train")
    np.testing.assert_array_equal(scores["permuted"], again)
    few = replace(data, splits={"train": documents.take([3, 7])})
    expected = scores[scores["text"].isin([3, 7])]["permuted"]
    np.testing.assert_allclose(scores_of(guided("permuted"), few, "train"), expected, atol=1e-5)


def test_swapped_takes_the_next_seed_in_the_test_alone(data):
    run = guided("swapped", base=tiny(2))
    assert other_seed(tiny(2)) == tiny(10)
    assert other_seed(tiny(10)) == tiny(50)
    for split, theirs in (("train", tiny(2)), ("dev", tiny(2)), ("test", tiny(10))):
        np.testing.assert_array_equal(scores_of(run, data, split), own_scores(theirs, data, split))
    with refused("swapped.*got 3"):
        other_seed(tiny(3))


def test_searched_weights_move_far_and_leave_the_output(data):
    documents = data.splits["dev"].take(np.arange(12))
    found = softmax(
        scores_of(guided("searched"), replace(data, splits={"dev": documents}), "dev"), documents.word_offsets
    )
    traces = attended(tiny(), weights_of(tiny()), documents, False)
    expected = select(traces, search(traces), guide.EPSILON)["jsd"]
    kept = select(traces, found, guide.EPSILON + 1e-6)["jsd"]  # 0 where the output moves farther
    np.testing.assert_allclose(kept, expected, atol=1e-5)
    assert np.median(kept) > 0.2


def test_words_taken_away_leave_places_and_ranks():
    """Of two words of the same weight the first ranks higher; places beyond the longest training text are its last."""
    documents, short = random_documents([4], 9), {"train": random_documents([2, 3], 9)}
    scores = np.array([0, -1, 0, -3], np.float32)
    for mode, ids in (("position", [4, 5, 6, 6]), ("rank", [4, 6, 5, 6])):
        read = guide.as_read(documents, scores, mode, short)
        assert read.ids.tolist() == [2, *ids, 3]
    assert guide.as_read(documents, scores, "text", {}) is documents
