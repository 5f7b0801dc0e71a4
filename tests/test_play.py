"""The arithmetic of the page's script (book/_static/core.js) in node, against the package."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import toy_traces

from attn_book import play
from attn_core import Run, index, obtain, store
from attn_core.errors import AttnError
from attn_core.experiments.adversarial import ceiling, exact
from attn_core.experiments.echo import echo
from attn_core.experiments.removal import NEVER, removals
from attn_core.measures import jsd
from attn_core.traces import sigmoid
from attn_data import sentence
from benchmarks.readings import SENTENCES, look

SCRIPT = Path(__file__).parents[1] / "book" / "_static" / "core.js"
EPSILONS = (0.01, 0.05, 0.2)
STORE = store.find_archive()
needs_model = pytest.mark.skipif(
    not STORE or not (STORE / sentence.FOLDER).is_dir(), reason="no sentence model in the archive"
)
node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def in_node(code: str, data: object) -> object:
    program = f"const attn = require({json.dumps(str(SCRIPT))}); const data = {json.dumps(data)}; {code}"
    return json.loads(subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True).stdout)


def sentences(traces) -> list[dict]:
    cuts = list(zip(traces.offsets[:-1], traces.offsets[1:], strict=True))
    rows = lambda array: [array[i:j].astype(float).tolist() for i, j in cuts]
    return [
        {"w": ["x"] * len(a), "a": a, "c": c, "b": float(traces.bias[0])}
        for a, c in zip(rows(traces.attention), rows(traces.contribution[:, 0]), strict=True)
    ]


@node
def test_outputs_optima_and_locked_texts_are_those_of_the_package():
    traces = toy_traces(lengths=(1, 2, 3, 4, 6, 9, 14) * 6, seed=4)
    code = """console.log(JSON.stringify(data.map(d => [attn.output(d, d.a),
        attn.alone(d).filter(p => p > 0.5 === attn.output(d, d.a) > 0.5).length / d.a.length,
        ...[0.01, 0.05, 0.2].map(e => attn.jsd(d.a, attn.farthest(d, e)))])))"""
    found = np.array(in_node(code, sentences(traces)), float)
    known = echo(traces)
    np.testing.assert_allclose(found[:, 0], traces.p, atol=1e-9)
    assert (found[:, 1] == known["locked"]).all()
    np.testing.assert_allclose(found[:, 2], known["echo"], atol=1e-12)
    for k, epsilon in enumerate(EPSILONS):
        np.testing.assert_allclose(found[:, 3 + k], exact(traces, epsilon)["jsd_exact"], atol=1e-6)


@node
def test_moving_a_weight_keeps_the_others_in_proportion():
    moves = "attn.moved([0.5, 0.3, 0.2], 0, 0.75), attn.moved([1, 0, 0], 0, 0.4), attn.moved([1], 0, 2)"
    found = in_node(f"console.log(JSON.stringify([{moves}]))", 0)
    np.testing.assert_allclose(found[0], [0.75, 0.15, 0.1])
    np.testing.assert_allclose(found[1], [0.4, 0.3, 0.3])
    np.testing.assert_allclose(found[2], [1])
    dealt = in_node("console.log(JSON.stringify(attn.shuffled([0.1, 0.2, 0.7])))", 0)
    assert sorted(dealt) == [0.1, 0.2, 0.7]


def test_what_the_page_hands_to_the_script(monkeypatch):
    """The sentence's own numbers."""
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython.display, "display", shown.append)
    play.widget("move", ["film was not good"], misread={"film was not good": "odd"})
    sentence_shown = json.loads(html.unescape(re.search(r'data-sentences="([^"]*)"', shown[0].data)[1]))[0]
    assert sentence_shown["note"] == "odd" and list(sentence_shown["by"]) == ["lstm", "average", "minilm"]
    first = sentence_shown["by"]["lstm"]
    table, told = sentence.read_sentence("film was not good")
    logit = first["b"] + np.dot(first["a"], first["c"])
    assert sigmoid(logit) == pytest.approx(told["p"], abs=1e-3)
    assert jsd(np.array(first["a"]), table["attention"].to_numpy()) < 1e-6 and first["w"] == table["token"].tolist()


@node
def test_erasing_is_that_of_the_package():
    traces = toy_traces(lengths=(2, 3, 4, 6, 9, 14) * 6, seed=5)
    code = """console.log(JSON.stringify(data.map(d => ["attention", "gradient", "product", "optimum"]
        .map(name => attn.flips(d, attn.order(d, name))))))"""
    gone = removals(traces)[[f"removed_{name}" for name in ("attention", "gradient", "product", "optimum")]]
    np.testing.assert_array_equal(in_node(code, sentences(traces)), gone)
    assert (gone.to_numpy() > 0).any() and (gone.to_numpy() == NEVER).any()


@node
def test_a_shuffle_deals_all_orders_alike_and_the_ceiling_is_the_packages():
    code = """const seen = {};
        for (let i = 0; i < 12000; i++) { const s = attn.shuffled([1, 2, 3]); seen[s] = (seen[s] || 0) + 1; }
        console.log(JSON.stringify(seen))"""
    seen = in_node(code, 0)
    assert len(seen) == 6 and all(abs(count - 2000) < 200 for count in seen.values())
    traces = toy_traces(lengths=(1, 2, 3, 5, 8) * 4, seed=6)
    found = in_node("console.log(JSON.stringify(data.map(d => attn.ceiling(d.a))))", sentences(traces))
    np.testing.assert_allclose(found, ceiling(traces), atol=1e-9)


@node
def test_the_triangle_is_drawn_where_jsd_and_output_say():
    traces = toy_traces(lengths=(3,) * 12, seed=7)
    code = """console.log(JSON.stringify(data.map(d => [[0.05, 0.2, 0.4].map(level => attn.contour(d.a, level)),
        attn.strip(d, attn.band(d, 0.05)), attn.weights(...attn.place(d.a)), attn.weights(-1, 9)])))"""
    for d, (lines, corners, back, outside) in zip(data := sentences(traces), in_node(code, data), strict=True):
        a, c = np.array(d["a"]), np.array(d["c"])
        for level, points in zip((0.05, 0.2, 0.4), lines, strict=True):
            for point in (np.array(point) for line in points for point in line):
                assert abs(jsd(point, a) - level) < 1e-6 and abs(point.sum() - 1) < 1e-9
        outputs = 1 / (1 + np.exp(-d["b"] - np.array([a, *corners]) @ c))
        assert (abs(outputs[1:] - outputs[0]) < 0.05 + 1e-9).all() and len(corners) >= 3
        np.testing.assert_allclose(back, a, atol=1e-9)
        assert min(outside) >= 0 and sum(outside) == pytest.approx(1)


# ---- one sentence in three encoders ----------------------------------------------------------------------------------

PLAYED = ("a warm and funny film about a terrible war", "film was not good")
ENCODERS = ("lstm", "average", "minilm")


def shorter(text: str, encoder: str, gone: int) -> tuple[np.ndarray, np.ndarray]:
    """Attention and contributions when the model reads a sentence without one word, by the package."""
    words = text.split()
    line = " ".join(words[:gone] + words[gone + 1 :])
    if encoder == "lstm":
        traces = sentence.sentence_traces(line)[2]
        return traces.attention, traces.contribution[:, 0]
    if encoder == "average":
        read = look(line.split(), play.stored()["average"])
    else:
        read = play.readings(text)["minilm"]["without"][gone]
    return np.array(read["a"]), np.array(read["c"])


@node
@needs_model
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("text", PLAYED)
def test_ticks_erasing_deleting_and_shuffling_are_those_of_the_package(text, encoder):
    """A tick is the output with all weight on a word; an erased word's weight goes to the others; a deleted one is not
    read; the histogram's numbers are those of its deals."""
    reading = play.readings(text)[encoder]
    code = """const random = attn.stream(1), deals = Array.from({ length: 300 }, () => attn.dealt(data, random));
        const at = d => [attn.output(d, d.a), ...attn.alone(d)];
        console.log(JSON.stringify({ whole: at(data), deals, 
            effect: attn.effect(data, deals.map(a => attn.output(data, a))),
            bins: attn.bins(deals.map(a => attn.output(data, a))),
            erased: data.w.map((_, t) => at(attn.erased(data, t))),
            deleted: data.w.map((_, t) => at(attn.deleted(data, t))),
            after: data.w.map((_, t) => attn.dealt(attn.deleted(data, t), random)) }))"""
    found = in_node(code, reading)
    attention, contribution, bias = np.array(reading["a"]), np.array(reading["c"]), reading["b"]
    if encoder == "lstm":  # the numbers handed over are rounded
        traces = sentence.sentence_traces(text)[2]
        attention, contribution, bias = traces.attention, traces.contribution[:, 0], float(traces.bias[0])
    own = sigmoid(bias + attention @ contribution)
    np.testing.assert_allclose(found["whole"], [own, *sigmoid(bias + contribution)], atol=1e-3)

    deals = np.array(found["deals"])
    assert np.allclose(np.sort(deals), np.sort(reading["a"])) and len(np.unique(deals, axis=0)) > 10
    outputs = sigmoid(bias + deals @ contribution)
    assert found["effect"]["typical"] == pytest.approx(np.median(np.abs(outputs - own)), abs=1e-3)
    assert found["effect"]["flips"] == np.sum((outputs > 0.5) != (own > 0.5))
    exact = sigmoid(reading["b"] + deals @ np.array(reading["c"]))
    np.testing.assert_array_equal(found["bins"], np.histogram(exact, 40, (0, 1))[0])

    for gone in range(len(reading["w"])):
        stays = np.arange(len(attention)) != gone
        kept = np.where(stays, attention, 0) / attention[stays].sum()
        expected = [sigmoid(bias + kept @ contribution), *sigmoid(bias + contribution)]
        np.testing.assert_allclose(found["erased"][gone], expected, atol=1e-3)
        there, words = shorter(text, encoder, gone)
        p, *alone = found["deleted"][gone]
        assert p == pytest.approx(sigmoid(bias + there @ words), abs=1e-3)
        np.testing.assert_allclose(np.array(alone)[stays], sigmoid(bias + words), atol=1e-3)
        assert found["after"][gone][gone] == 0, "a word that is out gets no weight by a shuffle"


@needs_model
def test_without_context_to_delete_is_to_erase_and_with_it_is_not():
    for text in PLAYED:
        for encoder in ENCODERS:
            reading = play.readings(text)[encoder]
            attention, contribution = np.array(reading["a"]), np.array(reading["c"])
            apart = []
            for gone in range(len(attention)):
                there, words = shorter(text, encoder, gone)
                kept = np.delete(attention, gone) / np.delete(attention, gone).sum()
                apart.append(
                    abs(
                        sigmoid(reading["b"] + there @ words)
                        - sigmoid(reading["b"] + kept @ np.delete(contribution, gone))
                    )
                )
            assert max(apart) < 1e-3 if encoder == "average" else max(apart) > 0.02, (text, encoder, apart)


@needs_model
def test_pictures_and_stored_sentences_are_up_to_date():
    assert list(play.stored()["sentences"]) == list(SENTENCES)
    for text in SENTENCES:
        words, _, traces = sentence.sentence_traces(text)
        by = play.readings(text)
        assert by["average"] | look(words, play.stored()["average"]) == by["average"]
        assert by["lstm"]["w"] == words and by["lstm"]["p"] == pytest.approx(traces.p[0], abs=1e-3)
        np.testing.assert_allclose(by["lstm"]["a"], traces.attention, atol=1e-3)
        for reading in by.values():
            attention, contribution = np.array(reading["a"]), np.array(reading["c"])
            own = sigmoid(reading["b"] + attention @ contribution)
            orders = np.random.default_rng(7).permuted([attention] * 2000, axis=1)
            outputs = sigmoid(reading["b"] + orders @ contribution)
            low, high = np.quantile(np.abs(outputs - own), [0.42, 0.58])
            assert low - 1e-3 <= reading["typical"] <= high + 1e-3
            assert reading["flips"] == pytest.approx(np.mean((outputs > 0.5) != (own > 0.5)), abs=0.05)
            np.testing.assert_allclose(reading["alone"], sigmoid(reading["b"] + contribution), atol=1e-3)


def test_another_sentence_is_refused_in_one_line():
    with pytest.raises(AttnError, match="is not stored; name one of"):
        play.widget("move", ["a film that nobody stored"])


@needs_model
def test_the_stored_readings_are_those_of_the_archived_runs():
    """Without context: in the run's stored texts each word has the contribution that is kept of it. The transformer was
    trained again on another processor: the book's own sentence must decide alike, piece by piece."""
    from attn_core.training.piecewise import SENTENCE

    stored = play.stored()
    assert stored["average"]["key"] == Run("sst", "average", seed=10, vectors="indomain-300").key
    traces = obtain(Run("sst", "average", seed=10, vectors="indomain-300")).traces
    assert traces.bias[0] == pytest.approx(stored["average"]["b"], abs=1e-3)
    kept = np.array(sorted(stored["average"]["c"])) / 1000
    there = traces.contribution[:, 0]
    nearest = np.abs(kept[np.clip(np.searchsorted(kept, there), 1, len(kept) - 1) - [[0], [1]]] - there).min(axis=0)
    assert np.mean(nearest < 1e-3) > 0.85, "rare words of the run are unknown to the sentence model"
    record = index.records([stored["minilm"]])[0]["sentence"]
    here = play.readings(SENTENCE)["minilm"]
    assert here["w"] == record["pieces"]
    assert (np.array(here["c"]) + here["b"] < 0).tolist() == [logit < 0 for logit in record["logit"]]


TEXTS = (
    "Film was not good.",
    "I can't say it wasn't moving, but they'd cannot win at 10am!",
    "naïve zzyzx -LRB- x_y -RRB-",
    "nai\u0308ve x\u0302 cafe\u0301",
    "She'll gonna love it; could've been worse...",
    "A quiet, tender film that trusts its actors.",
)


@node
@needs_model
def test_the_model_in_the_page_reads_as_torch_does(tmp_path):
    script = sentence.write_reader(tmp_path)
    code = f"""global.attn = attn; require({json.dumps(str(script))}); const model = attn.prepare(attn.model);
        console.log(JSON.stringify(data.map(text => attn.read(model, attn.tokens(text, model.split)))))"""
    for text, found in zip(TEXTS, in_node(code, TEXTS), strict=True):
        tokens, known, traces = sentence.sentence_traces(text)
        assert found["w"] == tokens
        assert found["unknown"] == [token for token, is_known in zip(tokens, known, strict=True) if not is_known]
        np.testing.assert_allclose(found["a"], traces.attention, atol=1e-5)
        np.testing.assert_allclose(found["c"], traces.contribution[:, 0], atol=1e-4)
        p = 1 / (1 + np.exp(-found["b"] - np.dot(found["a"], found["c"])))
        assert p == pytest.approx(float(traces.p[0]), abs=1e-4)
