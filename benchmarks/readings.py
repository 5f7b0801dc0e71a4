"""The sentences that a reader can play with, in three encoders: readings.json in data/examples.

The BiLSTM is the archive's sentence model. The other two have the settings of archived runs of seed 10. Without context
a word's score and contribution are the same in every sentence, so two numbers a word hold the whole model.
"""

import json

import numpy as np
from scipy.special import expit, softmax

from attn_lab.data.pieces import CLS, SEP
from attn_lab.more import piecewise
from attn_lab.more.language import without_each
from attn_lab.runs import sentence
from attn_lab.runs.compute import inputs_of
from attn_lab.runs.run import Run
from benchmarks.measured import DATA

WORDS = Run("sst", "average", "tanh", 10)
PIECES = Run("sst", "minilm", "tanh", 10)
SENTENCES = (
    piecewise.SENTENCE,
    "a warm and funny film about a terrible war",
    "the film is dull and the plot goes nowhere",
    "a funny and warm film with a weak ending",
    "the plot is dull but the cast is wonderful",
    "film was not good",
    "this is not a good film",
    "not one dull moment",
    "dull yet charming",
    "never boring and often very funny",
    "too long and too loud yet strangely moving",
    "i wanted to love this film but it bored me",
)
SHUFFLES = 1000
UNKNOWN = 1
"""The row of a word that the models do not know."""


def make_readings() -> None:
    """Write readings.json: of `average` the bias and, in the order of the sentence model's words, scores and
    contributions in thousandths; the sentences. Weights that are not cached are trained."""
    table = every_word()
    sentences = {}
    for text in SENTENCES:
        lstm = traced(text)
        by_encoder = {
            "lstm": lstm,
            "average": look(lstm["w"], table),
            "minilm": traced(text, PIECES),
        }
        sentences[text] = {
            encoder: reading | picture(reading) for encoder, reading in by_encoder.items()
        }
    target = DATA / "examples" / "readings.json"
    readings = {"average": table, "minilm": PIECES.key, "sentences": sentences}
    target.write_text(json.dumps(readings, separators=(",", ":")) + "\n", encoding="utf-8")
    print(target)


def every_word() -> dict:
    """The model without context as it reads all words of the sentence model in one text."""
    _, about = sentence.load()
    data, _, _ = inputs_of(WORDS)
    rows = {word: row for row, word in enumerate(data.vocabulary)}
    ids = np.array([CLS, *(rows[word] for word in about["words"]), SEP], np.int32)
    traces = sentence.read_by(WORDS, data, ids, np.array([0, len(ids)]))
    return {
        "key": WORDS.key,
        "b": round(float(traces.bias[0]), 4),
        "score": np.rint(1000 * traces.score).astype(int).tolist(),
        "c": np.rint(1000 * traces.contribution[:, 0]).astype(int).tolist(),
    }


def look(words: list[str], table: dict) -> dict:
    """A sentence in the model without context."""
    _, about = sentence.load()
    row_of = {word: row for row, word in enumerate(about["words"])}
    rows = [row_of.get(word, UNKNOWN) for word in words]
    attention = softmax(np.array(table["score"])[rows] / 1000)
    contribution = np.array(table["c"])[rows] / 1000
    return {
        "w": words,
        "a": attention.round(4).tolist(),
        "c": contribution.tolist(),
        "b": table["b"],
    }


def traced(text: str, run: Run | None = None) -> dict:
    """A sentence as a model reads it, whole and without each of its words or pieces."""
    words = sentence.sentence_traces(text, run)[0]
    assert not any(word.startswith("##") for word in words), f"{text}: a word of several pieces"
    return {
        "w": words,
        **numbers(text, run),
        "without": [numbers(shorter, run) for shorter in without_each(" ".join(words))],
    }


def numbers(text: str, run: Run | None) -> dict:
    """Attention, contributions and bias of one text."""
    traces = sentence.sentence_traces(text, run)[2]
    return {
        "a": traces.attention.round(4).tolist(),
        "c": traces.contribution[:, 0].astype(float).round(4).tolist(),
        "b": round(float(traces.bias[0]), 4),
    }


def picture(reading: dict) -> dict:
    """What the picture says: p, of the whole and of each word alone, and what shuffling the weights does."""
    attention = np.array(reading["a"])
    contribution = np.array(reading["c"])
    p = expit(reading["b"] + attention @ contribution)
    orders = np.random.default_rng(0).permuted([attention] * SHUFFLES, axis=1)
    shuffled = expit(reading["b"] + orders @ contribution)
    return {
        "p": round(p, 4),
        "alone": expit(reading["b"] + contribution).round(4).tolist(),
        "shuffles": SHUFFLES,
        "typical": round(np.median(abs(shuffled - p)), 4),
        "flips": round(np.mean((shuffled > 0.5) != (p > 0.5)), 4),
    }
