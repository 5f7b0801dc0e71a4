"""The arithmetic of the page's script (book/_static/core.js) in node, against the package."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import toy_traces

from attn_book import sentence
from attn_core.experiments.adversarial import exact
from attn_core.experiments.echo import echo
from attn_core.measures import jsd
from attn_core.traces import positive_probability

SCRIPT = Path(__file__).parents[1] / "book" / "_static" / "core.js"
EPSILONS = (0.01, 0.05, 0.2)
node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def in_node(code: str, data: object) -> object:
    program = f"const attn = require({json.dumps(str(SCRIPT))}); const data = {json.dumps(data)}; {code}"
    return json.loads(subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True).stdout)


def sentences(traces) -> list[dict]:
    cuts = list(zip(traces.offsets[:-1], traces.offsets[1:], strict=True))
    rows = lambda array: [array[i:j].astype(float).tolist() for i, j in cuts]
    return [{"w": ["x"] * len(a), "a": a, "c": c, "b": float(traces.bias[0])}
            for a, c in zip(rows(traces.attention), rows(traces.contribution[:, 0]), strict=True)]  # fmt: skip


@node
def test_outputs_optima_and_locked_texts_are_those_of_the_package():
    traces = toy_traces(lengths=(1, 2, 3, 4, 6, 9, 14) * 6, seed=4)
    code = """console.log(JSON.stringify(data.map(d => [attn.output(d, d.a), attn.locked(d),
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
    """The sentence's own numbers; a word that looks like mark-up stays text."""
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython.display, "display", shown.append)
    sentence.play(["film was not good"])
    odd = pd.DataFrame({"token": ["<img src=x>", '"'], "attention": [0.5, 0.5], "contribution": [1.0, 2.0]})
    text = shown[0].data
    monkeypatch.setattr(sentence, "read_sentence", lambda *_: (odd, {"bias": 0.0}))
    sentence.play(["x"])
    assert "<img" not in shown[1].data and "&lt;img" in shown[1].data
    monkeypatch.undo()
    first = json.loads(html.unescape(re.search(r'data-sentences="([^"]*)"', text)[1]))[0]
    table, told = sentence.read_sentence("film was not good")
    logit = first["b"] + np.dot(first["a"], first["c"])
    assert float(positive_probability(np.array([[logit]]))[0]) == pytest.approx(told["p"], abs=1e-3)
    assert jsd(np.array(first["a"]), table["attention"].to_numpy()) < 1e-6 and first["w"] == table["token"].tolist()
