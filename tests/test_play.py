"""The arithmetic of the page's script (book/_static/core.js) in node, against the package."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from conftest import ROOT, refused, toy_traces

from attn_book import play
from attn_core.experiments.adversarial import ceiling
from attn_core.experiments.optimum import exact
from attn_core.experiments.removal import removals
from attn_core.measures import jsd
from attn_core.traces import sigmoid
from attn_lab import Run, obtain
from attn_lab.more.piecewise import SENTENCE
from attn_lab.more.single_state import single_state_agreement
from attn_lab.runs import index, sentence
from benchmarks.readings import SENTENCES, look

SCRIPT = ROOT / "book" / "_static" / "core.js"
node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def in_node(value: str, data: object = 0, before: str = "") -> object:
    """The value of an expression of JavaScript that knows `attn` and `data`."""
    program = f"const attn = require({json.dumps(str(SCRIPT))}); const data = {json.dumps(data)}; {before}"
    program += f"console.log(JSON.stringify({value}))"
    return json.loads(
        subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True).stdout
    )


def sentences(traces) -> list[dict]:
    return [
        {
            "w": ["x"] * (j - i),
            "a": [*map(float, traces.attention[i:j])],
            "c": c.tolist(),
            "b": float(traces.bias[0]),
        }
        for i, j in zip(traces.offsets[:-1], traces.offsets[1:], strict=True)
        for c in [traces.contribution[i:j, 0].astype(float)]
    ]


# ---- one sentence ----------------------------------------------------------------------------------------------------

TOY = toy_traces(lengths=(1, 2, 3, 4, 6, 9, 14) * 6, seed=4)
THREE = toy_traces(lengths=(3,) * 12, seed=7)
AGREE = "attn.alone(d).filter(p => p > 0.5 === attn.output(d, d.a) > 0.5).length / d.a.length"


@node
@pytest.mark.parametrize(
    "of_a_sentence, expected",
    [
        ("attn.output(d, d.a)", TOY.p),
        (AGREE, single_state_agreement(TOY)["single_state_agreement"]),
        ("attn.ceiling(d.a)", ceiling(TOY)),
        ("attn.moved([0.5, 0.3, 0.2], 0, 0.75)", [[0.75, 0.15, 0.1]] * len(TOY)),
        ("attn.moved([1, 0, 0], 0, 0.4)", [[0.4, 0.3, 0.3]] * len(TOY)),
        ("attn.moved([1], 0, 2)", [[1]] * len(TOY)),
        *((f"attn.jsd(d.a, attn.optimal(d, {e}))", exact(TOY, e)["jsd_exact"]) for e in (0.01, 0.05, 0.2)),
        *(
            (f"attn.flips(d, attn.order(d, '{order}'))", removals(TOY)[f"removed_{order}"])
            for order in ("attention", "gradient", "product", "optimum")
        ),
    ],
)
def test_what_is_computed_of_a_sentence_is_the_packages(of_a_sentence, expected):
    found = in_node(f"data.map(d => {of_a_sentence})", sentences(TOY))
    np.testing.assert_allclose(np.array(found, float), expected, atol=1e-9)


@node
def test_a_shuffle_draws_all_orders_alike():
    count = "for (let i = 0; i < 12000; i++) { const s = attn.shuffled([1, 2, 3]); seen[s] = (seen[s] || 0) + 1; }"
    seen = in_node("seen", before=f"const seen = {{}}; {count}")
    assert len(seen) == 6
    assert all(abs(times - 2000) < 200 for times in seen.values())


# ---- the triangle ----------------------------------------------------------------------------------------------------


@node
@pytest.mark.parametrize("level", [0.05, 0.2, 0.4])
def test_a_line_of_the_triangle_lies_at_its_jsd(level):
    lines = in_node(f"data.map(d => attn.contour(d.a, {level}).flat())", sentences(THREE))
    for d, points in zip(sentences(THREE), lines, strict=True):
        np.testing.assert_allclose(
            [jsd(np.array(point), np.array(d["a"])) for point in points], level, atol=1e-6
        )
        np.testing.assert_allclose(np.sum(points, axis=1), 1)


@node
def test_the_corners_of_the_band_lie_within_it():
    corners = in_node("data.map(d => attn.strip(d, attn.band(d, 0.05)))", sentences(THREE))
    for d, points in zip(sentences(THREE), corners, strict=True):
        outputs = sigmoid(d["b"] + np.array([d["a"], *points]) @ d["c"])
        assert len(points) >= 3
        assert np.abs(outputs[1:] - outputs[0]).max() < 0.05 + 1e-9


@node
def test_a_point_of_the_triangle_is_an_attention():
    back = in_node("data.map(d => attn.weights(...attn.place(d.a)))", sentences(THREE))
    np.testing.assert_allclose(np.ravel(back), THREE.attention, atol=1e-9)


@node
def test_a_point_outside_is_drawn_in():
    outside = in_node("attn.weights(-1, 9)")
    assert min(outside) >= 0
    assert sum(outside) == pytest.approx(1)


# ---- one sentence in three encoders ----------------------------------------------------------------------------------

PLAYED = ("a warm and funny film about a terrible war", "film was not good")
each_reading = pytest.mark.parametrize(
    "text, encoder", [(text, encoder) for text in PLAYED for encoder in ("lstm", "average", "minilm")]
)


def outputs_of(reading: dict, way: str) -> np.ndarray:
    """A row for each word, erased or deleted: the output, then each word's with all the weight."""
    of = f"data.w.map((_, t) => attn.{way}(data, t)).map(d => [attn.output(d, d.a), ...attn.alone(d)])"
    return np.array(in_node(of, reading))


@node
@each_reading
def test_an_erased_words_weight_goes_to_the_others(text, encoder):
    reading = play.readings(text)[encoder]
    contribution = np.array(reading["c"])
    for gone, found in enumerate(outputs_of(reading, "erased")):
        kept = np.where(np.arange(len(contribution)) == gone, 0, reading["a"])
        mean = kept @ contribution / kept.sum()
        np.testing.assert_allclose(found, sigmoid(reading["b"] + np.array([mean, *contribution])))


def read_anew(words: list[str], encoder: str, stored: dict) -> dict:
    """Attention and contributions of these words, by the package; stored: what is kept of a model not at hand."""
    if encoder == "lstm":
        traces = sentence.sentence_traces(" ".join(words))[2]
        return {"a": traces.attention, "c": traces.contribution[:, 0]}
    return look(words, play.stored()["average"]) if encoder == "average" else stored


@node
@each_reading
def test_a_deleted_word_is_not_read(text, encoder):
    reading = play.readings(text)[encoder]
    for gone, found in enumerate(outputs_of(reading, "deleted")):
        words = [*reading["w"][:gone], *reading["w"][gone + 1 :]]
        again = read_anew(words, encoder, reading["without"][gone] if "without" in reading else {})
        mean = np.dot(again["a"], again["c"])
        expected = sigmoid(reading["b"] + np.array([mean, *again["c"]]))
        np.testing.assert_allclose(np.delete(found, gone + 1), expected, atol=1e-3)


@node
@each_reading
def test_what_is_said_of_shuffles_is_that_of_its_permutations(text, encoder):
    reading = play.readings(text)[encoder]
    draws = "const random = attn.stream(1), draws = Array.from({ length: 300 }, () => attn.permuted(data, random)); "
    draws += "const outputs = draws.map(a => attn.output(data, a)); "
    found = in_node("{ draws, ...attn.effect(data, outputs), bins: attn.bins(outputs) }", reading, draws)
    np.testing.assert_allclose(np.sort(found["draws"]), [np.sort(reading["a"])] * 300)
    assert len(np.unique(found["draws"], axis=0)) > 10
    logit = np.array([reading["a"], *found["draws"]]) @ np.array(reading["c"]) + reading["b"]
    own, *outputs = sigmoid(logit)
    assert found["typical"] == pytest.approx(np.median(np.abs(outputs - own)))
    assert found["flips"] == np.sum((logit[1:] > 0) != (logit[0] > 0))
    np.testing.assert_array_equal(found["bins"], np.histogram(outputs, 40, (0, 1))[0])


@node
def test_a_deleted_word_gets_no_weight_by_a_shuffle():
    permuted = "data.w.map((_, t) => attn.permuted(attn.deleted(data, t), attn.stream(1)))"
    assert not np.diag(in_node(permuted, play.readings(PLAYED[0])["lstm"])).any()


# ---- what is stored --------------------------------------------------------------------------------------------------


def test_another_sentence_is_refused_in_one_line():
    with refused("is not stored; name one of"):
        play.widget("move", ["a film that nobody stored"])


@pytest.mark.parametrize("text", SENTENCES)
def test_a_stored_sentence_is_as_the_models_read_it(text):
    words, _, traces = sentence.sentence_traces(text)
    by = play.readings(text)
    assert by["average"] | look(words, play.stored()["average"]) == by["average"]
    assert by["lstm"]["w"] == words
    assert by["lstm"]["p"] == pytest.approx(traces.p[0], abs=1e-3)
    np.testing.assert_allclose(by["lstm"]["a"], traces.attention, atol=1e-3)
    np.testing.assert_allclose(by["lstm"]["c"], traces.contribution[:, 0], atol=1e-3)


@pytest.mark.parametrize("text", SENTENCES)
def test_the_picture_of_a_stored_sentence_says_what_shuffling_does(text):
    for reading in play.readings(text).values():
        attention, contribution = np.array(reading["a"]), np.array(reading["c"])
        own = sigmoid(reading["b"] + attention @ contribution)
        orders = np.random.default_rng(7).permuted([attention] * 2000, axis=1)
        outputs = sigmoid(reading["b"] + orders @ contribution)
        low, high = np.quantile(np.abs(outputs - own), [0.42, 0.58])
        assert low - 1e-3 <= reading["typical"] <= high + 1e-3
        assert reading["flips"] == pytest.approx(np.mean((outputs > 0.5) != (own > 0.5)), abs=0.05)
        np.testing.assert_allclose(reading["alone"], sigmoid(reading["b"] + contribution), atol=1e-3)


def test_the_model_without_context_is_the_archived_run():
    """In the run's stored texts each word has the contribution that is kept of it; rare words have none here."""
    stored, run = play.stored()["average"], Run("sst", "average", seed=10)
    traces = obtain(run).traces
    assert stored["key"] == run.key
    assert traces.bias[0] == pytest.approx(stored["b"], abs=1e-3)
    apart = np.abs(np.subtract.outer(np.unique(traces.contribution[:, 0]), np.array(stored["c"]) / 1000))
    assert np.mean(apart.min(axis=1) < 1e-3) > 0.7


def test_the_transformer_decides_piece_by_piece_as_the_archived_run():
    """It was trained again on another processor."""
    record = index.records([play.stored()["minilm"]])[0]["sentence"]
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
@pytest.mark.parametrize("text", TEXTS)
def test_the_model_in_the_page_reads_as_torch_does(text, tmp_path):
    script = sentence.write_reader(tmp_path)
    model = (
        f"global.attn = attn; require({json.dumps(str(script))}); const model = attn.prepare(attn.model); "
    )
    found = in_node("attn.read(model, attn.tokens(data, model.split))", text, model)
    tokens, known, traces = sentence.sentence_traces(text)
    assert found["w"] == tokens
    assert found["unknown"] == [token for token, is_known in zip(tokens, known, strict=True) if not is_known]
    np.testing.assert_allclose(found["a"], traces.attention, atol=1e-5)
    np.testing.assert_allclose(found["c"], traces.contribution[:, 0], atol=1e-4)
    assert found["b"] == pytest.approx(float(traces.bias[0]), abs=1e-4)
