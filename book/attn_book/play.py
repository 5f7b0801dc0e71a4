"""Elements to play with: book/_static/core.js brings them to life; what stands in them before is their picture."""

import json
from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import expit, softmax

from attn_book.page import PARTS
from attn_core import store
from attn_data import sentence

SHUFFLES = 1000
UNKNOWN = 1
"""The row of a word that the models do not know."""


def widget(kind: str, texts: list[str], paper: str | None = None, **options) -> None:
    """An element that book/_static/core.js brings to life, with what stands in it without a script and on paper.

    kind: 'move', sentences whose attention a reader can move (misread: text -> what a reader should know of it;
    path: with the steps guess, shuffle, switch the encoder, shuffle, why; epsilon: by how much the farthest attention
    may change p; own: with a line for the reader's own sentence), 'erase', 'strips', 'triangle', 'tiles' or 'dial'.
    paper: HTML without a script and on paper, by default a picture of the first sentence in each encoder.
    """
    from IPython.display import HTML, display

    misread = options.pop("misread", {})
    first = {}
    if kind == "move":
        options["sentences"] = [{"note": misread.get(text, ""), "by": readings(text)} for text in texts]
        first = options["sentences"][0]["by"]
    elif texts:
        options["sentences"] = [numbers(sentence.sentence_traces(text)) for text in texts]
        first = {"lstm": options["sentences"][0]}
    if paper is None:
        paper = PARTS.readings([picture(encoder, reading) for encoder, reading in first.items()])
    display(HTML(PARTS.play(kind, options, paper)))


def readings(text: str) -> dict[str, dict]:
    """A sentence in each encoder that can read it here: words w, attention a, contributions c, bias b; and `without`,
    the same numbers (a, c) when the model reads the sentence without word t."""
    read = sentence.sentence_traces(text)
    words = read[0]
    reading = numbers(read)
    if len(words) > 1:
        shorter = [" ".join(words[:gone] + words[gone + 1 :]) for gone in range(len(words))]
        reading["without"] = [numbers(sentence.sentence_traces(line)) for line in shorter]
    by_encoder = {"lstm": reading, "average": {**without_context(words), "unknown": reading["unknown"]}}
    stored = stored_readings()["minilm"]["sentences"].get(text)
    if stored:
        by_encoder["minilm"] = stored
    return by_encoder


def numbers(read: tuple) -> dict:
    """What `sentence_traces` returns, as the script wants it."""
    words, known, traces = read
    return {
        "w": words,
        "unknown": [word for word, knows in zip(words, known, strict=True) if not knows],
        "a": traces.attention.round(4).tolist(),
        "c": traces.contribution[:, 0].astype(float).round(4).tolist(),
        "b": round(float(traces.bias[0]), 4),
    }


@cache
def stored_readings() -> dict:
    """data/examples/readings.json, made by `python -m benchmarks --readings`."""
    file = store.archive_folder().parent / "examples" / "readings.json"
    return json.loads(file.read_text(encoding="utf-8"))


def without_context(words: list[str]) -> dict:
    """A sentence in the model whose states have read no other word: two numbers a word say all."""
    table = stored_readings()["average"]
    _, about = sentence.load()
    row_of = {word: row for row, word in enumerate(about["words"])}
    rows = [row_of.get(word, UNKNOWN) for word in words]
    attention = softmax(np.array(table["score"])[rows] / 1000)
    contribution = np.array(table["c"])[rows] / 1000
    return {"w": words, "a": attention.round(4).tolist(), "c": contribution.tolist(), "b": table["b"]}


def write_words(folder: Path) -> None:
    """The model without context as a script beside the sentence model's, for a reader's own sentence."""
    table = json.dumps(stored_readings()["average"])
    (folder / "sst-words.js").write_text(f"attn.model.average = {table};\n", encoding="utf-8")


def picture(encoder: str, reading: dict) -> dict:
    """A reading for the picture: weights, p of the whole and of each word alone, and what shuffling does."""
    attention = np.array(reading["a"])
    contribution = np.array(reading["c"])
    p = expit(reading["b"] + attention @ contribution)
    orders = np.random.default_rng(0).permuted([attention] * SHUFFLES, axis=1)
    shuffled = expit(reading["b"] + orders @ contribution)
    return {
        "encoder": encoder,
        "words": list(zip(reading["w"], attention, expit(reading["b"] + contribution), strict=True)),
        "p": p,
        "count": SHUFFLES,
        "typical": np.median(abs(shuffled - p)),
        "flips": np.mean((shuffled > 0.5) != (p > 0.5)),
    }
